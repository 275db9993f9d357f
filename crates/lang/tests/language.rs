//! Texts to flat graphs and messages; the expectations are what Click 2.1 prints.

use expect_test::{expect, Expect};
use graph::{ClassFacts, Diagnostics, Graph};
use lang::{Classes, Libraries, Options, Source};
use proptest::prelude::*;

struct Table;

static TABLE: &[ClassFacts] = &[
    class("Idle", "-/-", "a/a", "x/y"),
    class("Null", "1/1", "a/a", "x/x"),
    class("Print", "1/1", "a/a", "x/x"),
    class("Paint", "1/1", "a/a", "x/x"),
    class("Queue", "1/1-2", "h/lh", "x/x"),
    class("PullNull", "1/1", "l/l", "x/x"),
    class("PushNull", "1/1", "h/h", "x/x"),
    class("InfiniteSource", "0-1/1", "a/a", "x/x"),
    class("Discard", "1/-", "a/ah", "x/x"),
    class("DriverManager", "0/0", "a/a", "x/x"),
    class("Script", "0/0", "a/a", "x/x"),
];

const fn class(
    name: &'static str,
    ports: &'static str,
    processing: &'static str,
    flow: &'static str,
) -> ClassFacts {
    ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" }
}

impl Classes for Table {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        TABLE.iter().find(|class| class.name == name)
    }

    fn names(&self) -> Vec<&str> {
        TABLE.iter().map(|class| class.name).collect()
    }
}

struct Files;

impl Libraries for Files {
    fn find(&self, name: &str, directory: &str) -> Option<String> {
        ["lib", "lib2", "self"].contains(&name).then(|| format!("{directory}/{name}"))
    }

    fn read(&self, path: &str) -> Result<String, String> {
        match path {
            "./lib" => Ok("require(library lib2) elementclass A { b :: B }".into()),
            "./lib2" => Ok("require(library lib)\nelementclass B { i :: Idle; }".into()),
            _ => Err("No such file or directory".into()),
        }
    }
}

fn parse(text: &str, variables: &[(String, String)]) -> (Option<Graph>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let options = Options { variables, libraries: &Files, ..Options::new(&Table) };
    let graph = lang::parse(&Source { name: "config", text }, &options, &mut diagnostics);
    (graph, diagnostics)
}

/// Messages in Click's form, then the flat text.
fn check(text: &str, expected: Expect) {
    let (graph, mut diagnostics) = parse(text, &[]);
    let facts = |name: &str| TABLE.iter().find(|class| class.name == name);
    let graph = graph.filter(|graph| graph::check(graph, &facts, &mut diagnostics).is_some());
    let flat = graph.map(|graph| lang::flatten(&graph)).unwrap_or_default();
    expected.assert_eq(&(lang::click_texts(&diagnostics.list) + &flat));
}

/// Messages in our form.
fn check_help(text: &str, expected: Expect) {
    let (_, diagnostics) = parse(text, &[]);
    expected.assert_eq(&diagnostics.list.iter().map(lang::weir_text).collect::<String>());
}

#[test]
fn overloads_are_chosen_by_arguments_and_ports() {
    check(
        "require(compact_config)
elementclass Foo {
   $a, $b | input -> Print(1) -> output
|| $a, __REST__ $b | input -> Print(2) -> output
|| $a, TWO $b, __REST__ $c | input -> Print(3) -> output
}
InfiniteSource(DATA \"\", LIMIT 1, STOP true)
  -> Foo(A)
  -> f::Foo(A, TWO B)
elementclass Foo {
   $a, $b | input -> Print(4) -> output
|| ...
}
f -> Foo(A, B) -> Foo(A, B, C) -> Discard
",
        expect![[r#"
            require(compact_config);

            InfiniteSource@1 :: InfiniteSource(DATA "", LIMIT 1, STOP true);
            Discard@6 :: Discard;
            Foo@2/Print@1 :: Print(2);
            f/Print@1 :: Print(1);
            Foo@4/Print@1 :: Print(4);
            Foo@5/Print@1 :: Print(2);

            InfiniteSource@1 -> Foo@2/Print@1
                -> f/Print@1
                -> Foo@4/Print@1
                -> Foo@5/Print@1
                -> Discard@6;
        "#]],
    );
}

#[test]
fn no_overload_fits() {
    check(
        "elementclass Foo { $a | input -> Print(4) -> output }
elementclass Foo { $a,$b | input -> Print(4) -> output || ... }
Idle->Foo(1,2,3)->Idle;
",
        expect![[r#"
            config:4: no match for 'Foo[3 arguments, 1 input, 1 output]'
            config:2: candidates are:
            config:2:   Foo(<arg>, <arg>)[1 input, 1 output]
            config:2:   Foo[0 inputs, 0 outputs]
            config:1:   Foo(<arg>)[1 input, 1 output]
        "#]],
    );
}

#[test]
fn parameters_are_scoped_by_the_text() {
    check(
        "elementclass Foo {
$a |
   elementclass Bar {
   $b |
      DriverManager($a);
   }
   elementclass Baz {
   $a |
      Idle; Bar($a);
   }
   Baz(inner);
}
Foo(stop);",
        expect![[r#"
            Foo@1/Baz@1/Idle@1 :: Idle;
            Foo@1/Baz@1/Bar@2/DriverManager@1 :: DriverManager(stop);

        "#]],
    );
}

#[test]
fn variables_in_all_forms() {
    check(
        "define($e , $w zero one  two, $T TYPE PASSIVE, $n)
c :: Script($T, set x ${w[3]}. ${z-d$w} ${z [1] - y} $);
d :: Script($T, set x $( x $e)$(w)); h::Script($e, x)
i :: Script(${w[1 ]}/ ${w[1}/ $(($w))/ ${w[$e]}/ ${w[1 ]-x}/ ${q[1 ]-x} ${q[1 -x} ${q w-x} ${ w }
${w[ 0x1]}/${w[-1]}/${w[ +1]}/${w[1_]}/ \"$w\"/${w[0]}$$ $(w $w x))",
        expect![[r#"
            c :: Script(TYPE PASSIVE, set x . dzero one  two  y $);
            d :: Script(TYPE PASSIVE, set x $( x )zero one  two);
            h :: Script($e, x);
            i :: Script(zero one  two/ zero one  two/ $((zero one  two))/ zero one  two/ zero one  two/ ${q[1 ]-x} ${q[1 -x} ${q w-x} zero one  two
            one/zero one  two/one/zero one  two/ "zero one  two"/zero$$ $(w zero one  two x));

        "#]],
    );
}

#[test]
fn the_command_line_replaces_variables() {
    let variables = [("x".to_string(), "2".to_string()), ("y".to_string(), "3".to_string())];
    let (graph, diagnostics) = parse("define($x 1) a, b :: Idle($x $y $z)", &variables);
    assert!(diagnostics.list.is_empty());
    assert_eq!(lang::flatten(&graph.unwrap()), "a :: Idle(2 3 $z);\nb :: Idle(2 3 $z);\n\n");
    let twice = [variables[0].clone(), variables[0].clone()];
    assert_eq!(parse("", &twice).1.list[0].message, "parameter 'x' multiply defined");
}

#[test]
fn lists_connect_many_ports() {
    check(
        "a, b, c :: Idle;
a => b, c, [0,1] a;
b [] => [1-2] c; c [] => Null -> [3] c",
        expect![[r#"
            a :: Idle;
            b :: Idle;
            c :: Idle;
            Null@4 :: Null;

            a [2] -> a
                -> b
                -> [1] c;
            a [3] -> [1] a;
            a [1] -> c
                -> Null@4
                -> [3] c;
            b [1] -> [2] c;
        "#]],
    );
}

#[test]
fn mismatched_lists() {
    check(
        "a, b, c, d :: Idle;
a [0,1] => [0,1,2] b;
c [] => [] d;
a [0,1,2] -> [0,1,2] b;
a [1] -> [0",
        expect![[r#"
            config:2: connection mismatch: 2 outputs connected to 3 inputs
            config:3: at most one expandable port allowed per connection
            config:4: syntax error: many-to-many connections require '=>'
            config:5: syntax error: expected ','
            config:5: syntax error: expected port number
            config:5: stranded port ignored
            config:5: syntax error near ''
            config:5: output ports ignored at end of chain
        "#]],
    );
}

#[test]
fn groups_and_anonymous_compounds() {
    check(
        "analyzer, x1, x2 :: Idle;
x1 -> analyzer -> x2;
c :: Idle =>
         [1] analyzer [1],
         foo :: { -> c2 :: Idle => (->), Paint(1) -> }
-> post :: Idle; post -> ( -> Null -> ) -> { -> Null -> } -> x1",
        expect![[r#"
            analyzer :: Idle;
            x1 :: Idle;
            x2 :: Idle;
            c :: Idle;
            post :: Idle;
            Null@10 :: Null;
            foo/c2 :: Idle;
            foo/Paint@5 :: Paint(1);
            @11/Null@1 :: Null;

            c -> [1] analyzer;
            analyzer [1] -> post
                -> Null@10
                -> @11/Null@1
                -> x1
                -> analyzer
                -> x2;
            c [1] -> foo/c2
                -> post;
            foo/c2 [1] -> foo/Paint@5
                -> post;
        "#]],
    );
}

#[test]
fn ports_of_compounds() {
    check(
        "elementclass A { input [1] -> Null -> output; output -> Idle; -> [2] output }
a :: A; Idle -> a; b :: { input -> Idle } Idle [0,1] => [0,1] b -> Idle; (->), ( Idle -> [1] output )",
        expect![[r#"
            config:1: warning: suggest 'input ->' or '[0] ->' to start connection
            config:1: 'A' pseudoelement 'output' may only be used as input
            config:1: 'A' output 1 missing
            config:2: '<anonymous group>' output 0 missing
            config:2: input ports ignored at start of chain
            config:2: output ports ignored at end of chain
            config:2: 'a' output 2 unused
            config:2: 'b' has no input 1
            config:2: 'b' has no output 0
            config:2: '@6' input 0 unused
            config:2: '@6' output 0 unused
            config:2: '@9' output 1 unused
            config:2: 'a' input 1 unused
            config:2: 'a' output 0 unused
            config:2: 'a/output' used as output
        "#]],
    );
    check(
        "{ => -> output -> ; -> } -> y",
        expect![[r#"
            config:1: syntax error near '->'
            config:1: '<anonymous>' pseudoelement 'output' may only be used as input
            config:1: undeclared element 'y'
            config:1: '@1/output' used as output
            config:1: '@1' input 0 unused
            config:1: '@1/output' used as output
        "#]],
    );
}

#[test]
fn libraries_are_read_once() {
    check(
        "require(library lib, library lib2)\na :: A;",
        expect![[r#"
            a/b/i :: Idle;

        "#]],
    );
    check(
        "require(library none); require(library self); { require(library lib) }; require(package p); require(x y)",
        expect![[r#"
            config:1: library 'none' not found in CLICKPATH/conf
            config:1: ./self: No such file or directory
            config:1: 'require library' must be used at file scope
            requirement 'p' not available
            config:1: syntax error at requirement
        "#]],
    );
}

#[test]
fn port_reuse() {
    check(
        "i::InfiniteSource -> Print -> d::Discard;\ni -> Print -> d;",
        expect![["config:1: illegal reuse of 'i :: InfiniteSource' push output 0\n"]],
    );
    check(
        "i::InfiniteSource -> Print -> d::Discard;\nInfiniteSource -> p::Print;",
        expect![["config:2: 'p :: Print' output 0 unused\n"]],
    );
    check(
        "PushNull -> PullNull;",
        expect![[
            "'PushNull@1 :: PushNull' push output 0 connected to 'PullNull@2 :: PullNull' pull input 0\n"
        ]],
    );
}

#[test]
fn redeclarations_are_told_at_both_places() {
    check(
        "# 1 \"A\"
x :: Idle;
# 1 \"B\"
x :: Idle;
elementclass Foo { A :: A -> B } Idle :: Null",
        expect![[r#"
            B:1: redeclaration of element 'x'
            A:1: element 'x' previously declared here
            B:2: unknown element class 'A'
            B:2: undeclared element 'B'
            B:2: class 'Idle' used as element name
        "#]],
    );
}

#[test]
fn syntax_errors_are_all_told() {
    check(
        "->Null; provide(foo); a :: ; Idle(1; elementclass { } Idle) }",
        expect![[r#"
            config:1: syntax error near '->'
            config:1: syntax error near 'provide'
            config:1: undeclared element 'foo'
            config:1: missing element type in declaration
            config:1: unknown element class 'a'
            config:1: syntax error near '}'
        "#]],
    );
}

#[test]
fn a_byte_order_mark_is_told_as_what_it_is() {
    check_help(
        "\u{feff}Idle -> Discard;",
        expect![[r#"
            config:1:1: syntax error near '\357'
              help: the text begins with a byte-order mark; save it without
            config:1:2: syntax error near '\273'
            config:1:2: syntax error near '\277'
        "#]],
    );
    check_help(
        " \u{feff}Idle -> Discard;",
        expect![[r#"
        config:1:2: syntax error near '\357'
        config:1:3: syntax error near '\273'
        config:1:3: syntax error near '\277'
    "#]],
    );
}

#[test]
fn help_names_the_nearest_class() {
    check_help(
        "a :: Prnt;\nPaintt -> Nul;\nqueue :: Queue -> quue\nx -> Zzzzzzzz",
        expect![[r#"
        config:1:6: unknown element class 'Prnt'
          help: did you mean `Print`? `weir elements` lists all
        config:2:1: undeclared element 'Paintt'
          help: did you mean `Paint`? `weir elements` lists all
        config:2:11: undeclared element 'Nul'
          help: did you mean `Null`? `weir elements` lists all
        config:3:19: undeclared element 'quue'
          help: did you mean the element `queue`? Else declare it: `quue :: Class`
        config:4:1: undeclared element 'x'
          help: declare it: `x :: Class`
        config:4:6: undeclared element 'Zzzzzzzz'
          help: `weir elements` lists all
    "#]],
    );
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [("{", "}"), ("(", ")"), ("x :: { (", ") }")] {
        let text = open.repeat(20_000) + &close.repeat(20_000);
        assert!(
            parse(&text, &[]).1.list.iter().any(|d| d.message.contains("nesting depth exceeded")),
            "{open}"
        );
    }
    let mut text = String::from("elementclass A0 { Idle }\n");
    for level in 1..20_000 {
        text += &format!("elementclass A{level} {{ A{} }}\n", level - 1);
    }
    let (_, diagnostics) = parse(&(text + "A19999"), &[]);
    assert!(diagnostics.list.iter().any(|d| d.message == "compound element nested too deep"));
}

#[test]
fn a_text_that_doubles_itself_is_an_error() {
    let mut text = String::from("elementclass A0 { Idle }\n");
    for level in 1..40 {
        text += &format!("elementclass A{level} {{ A{0}; A{0} }}\n", level - 1);
    }
    let (_, diagnostics) = parse(&(text + "A39"), &[]);
    assert!(diagnostics.list.iter().any(|d| d.message == "compound element expanded to too many elements"));
    let mut text = String::from("Idle -> ");
    text += &"{ -> output; input -> output; input -> Null -> output } -> ".repeat(300);
    let (graph, diagnostics) = parse(&(text + "Idle"), &[]);
    assert!(graph.is_some(), "{:?}", diagnostics.list);
}

/// Words that make many texts right and many nearly so.
fn soup() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "a",
        "b",
        "Idle",
        "Null",
        "Foo",
        "input",
        "output",
        "->",
        "->",
        "=>",
        "::",
        ":",
        "(",
        ")",
        "{",
        "}",
        "[",
        "1",
        "]",
        "[0]",
        "[0,1]",
        "[]",
        "[1-2]",
        ",",
        ";",
        ";",
        "|",
        "||",
        "...",
        "$x",
        "KW $z",
        "__REST__ $r",
        "elementclass",
        "elementclass Foo {",
        "elementclass Foo Bar",
        "define($x 1)",
        "define",
        "require",
        "provide",
        "require(compact_config)",
        "require(library lib)",
        "$",
        "\"s\"",
        "'",
        "\n",
        "\n",
        "// c\n",
        "/* c */",
        "\n#line 5 \"q\"\n",
        "\n#x\n",
        "input ->",
        "-> output",
        "(->)",
        "{->}",
        "a :: Idle",
        "a, b :: Null",
        "Foo(1)",
        "Foo($x, 2)",
        "@3",
        "12",
        "\u{e9}",
        "&",
        "\r\n",
    ]);
    let gap = prop::sample::select(vec!["", " ", " ", "\n"]);
    prop::collection::vec((words, gap), 0..40)
        .prop_map(|words| words.into_iter().flat_map(|(word, gap)| [word, gap]).collect())
}

/// Elements, connections and requirements, without places.
fn meaning(text: &str) -> Option<String> {
    parse(text, &[]).0.map(|graph| lang::flatten(&graph))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let text = String::from_utf8_lossy(&bytes);
        let (graph, diagnostics) = parse(&text, &[]);
        prop_assert_eq!(graph.is_none(), diagnostics.has_errors());
    }

    #[test]
    fn any_tokens_are_read_without_a_panic(text in soup()) {
        let (graph, diagnostics) = parse(&text, &[]);
        prop_assert_eq!(graph.is_none(), diagnostics.has_errors());
        let flat = graph.map(|graph| lang::flatten(&graph));
        if let Some(flat) = flat {
            prop_assert_eq!(meaning(&flat), Some(flat));
        }
    }

    #[test]
    fn formatting_keeps_the_meaning_and_settles(text in soup()) {
        if let Ok(formatted) = lang::format(&Source { name: "config", text: &text }) {
            let again = lang::format(&Source { name: "config", text: &formatted });
            prop_assert_eq!(again.ok(), Some(formatted.clone()));
            prop_assert_eq!(meaning(&formatted), meaning(&text));
            let messages = |text: &str| {
                parse(text, &[]).1.list.into_iter().map(|d| d.message).collect::<Vec<_>>()
            };
            prop_assert_eq!(messages(&formatted), messages(&text));
        }
    }
}

fn check_format(text: &str, expected: Expect) {
    let formatted = match lang::format(&Source { name: "config", text }) {
        Ok(text) => text,
        Err(diagnostics) => diagnostics.list.iter().map(lang::weir_text).collect(),
    };
    expected.assert_eq(&formatted);
}

#[test]
fn texts_are_laid_out() {
    check_format(
        "elementclass Foo { $a,KW $b|input->Null[0,1 ] => [ 1-2]  x :: Idle(a,
  b) -> output // tail
  || // second
   $a | [0] -> ( -> q :: Idle; -> [0] ) , {input[1]->output} => output
   ||
   ...
}


  a, b
   :: Idle  c::Foo ; /* x */ elementclass A B // y
// own
a ->
  b [1]
->  // mid
    c; define($x 1,
  $y 2) require(package   x)
a -> { -> b :: Null ->
}
  -> c
",
        expect![[r#"
            elementclass Foo { $a, KW $b |
                input -> Null [0, 1] => [1-2] x :: Idle(a,
              b) -> output; // tail
            || // second
                $a |
                [0] -> (-> q :: Idle; -> [0]), { input [1] -> output } => output;
            || ...
            }

            a, b :: Idle;
            c :: Foo; /* x */
            elementclass A B; // y
            // own
            a
                -> b [1]
                -> // mid
                c;
            define($x 1,
              $y 2);
            require(package   x);
            a -> {
                -> b :: Null ->;
            }
                -> c;
        "#]],
    );
}

#[test]
fn only_right_syntax_is_formatted() {
    check_format(
        "a :: Idle;\n  a -> -> b",
        expect![[r#"
        config:2:8: syntax error near '->'
    "#]],
    );
    check_format(
        "Unknown(1)->Other",
        expect![[r#"
        Unknown(1) -> Other;
    "#]],
    );
}
