use expect_test::{expect, Expect};
use graph::{ClassFacts, Diagnostics};
use lang::{Options, Source};

use super::*;

/// The classes of these tests.
struct Classes;

impl lang::Classes for Classes {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        facts(name)
    }
    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

fn facts(name: &str) -> Option<&'static ClassFacts> {
    let (name, ports, processing, flow) = match name {
        "FromInterface" => ("FromInterface", "0/1", "h/h", "x/x"),
        "ToInterface" => ("ToInterface", "1/0", "a/h", "x/x"),
        "Unqueue" => ("Unqueue", "1/1", "l/h", "x/x"),
        _ => return crate::testing::facts(name),
    };
    Some(Box::leak(Box::new(ClassFacts {
        name,
        ports,
        processing,
        flow,
        args: &[],
        handlers: &[],
        drops: &[],
        page: "",
    })))
}

fn interface(name: &str, receives: Side, sends: Side) -> StageInterface {
    StageInterface { name: name.to_string(), renamed: format!("{name}!"), receives, sends }
}

/// A chain whose stages have `left`, `right` and, outside of the chain, `aux`.
fn stages(texts: &[&str], diagnostics: &mut Diagnostics) -> Vec<StageGraph> {
    let last = texts.len() - 1;
    let stage = |(idx, text): (usize, &&str)| {
        let options = Options::new(&Classes);
        let graph = lang::parse(&Source { name: "f", text }, &options, diagnostics).unwrap_or_default();
        let left = if idx == 0 { Side::Outside } else { Side::Left };
        let right = if idx == last { Side::Outside } else { Side::Right };
        let interfaces = vec![
            interface("left", left, left),
            interface("right", right, right),
            interface("aux", Side::Outside, Side::Outside),
        ];
        StageGraph { prefix: format!("s{idx}"), graph, interfaces }
    };
    texts.iter().enumerate().map(stage).collect()
}

fn check(texts: &[&str], expected: Expect) {
    let mut diagnostics = Diagnostics::default();
    let stages = stages(texts, &mut diagnostics);
    let fused = fuse(&stages, 64, &facts, &mut diagnostics);
    let text = match fused {
        Some(graph) => {
            graph::check(&graph, &facts, &mut diagnostics);
            lang::flatten(&graph)
        }
        None => "none\n".to_string(),
    };
    expected.assert_eq(&(text + &lang::click_texts(&diagnostics.list)));
}

const THROUGH: &str = "FromInterface(left) -> c :: Counter -> ToInterface(right);";

#[test]
fn joints_become_edges_and_names_get_prefixes() {
    check(
        &[THROUGH, THROUGH, THROUGH],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/c :: Counter;
        s1/c :: Counter;
        s2/c :: Counter;
        s2/ToInterface@3 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/c
            -> s1/c
            -> s2/c
            -> s2/ToInterface@3;
    "#]],
    );
}

#[test]
fn both_directions_are_joined() {
    let both = "FromInterface(left) -> r :: Counter -> ToInterface(right); \
                FromInterface(right) -> l :: Counter -> ToInterface(left);";
    check(
        &[both, both],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/r :: Counter;
        s0/l :: Counter;
        s0/ToInterface@6 :: ToInterface(left!);
        s1/r :: Counter;
        s1/ToInterface@3 :: ToInterface(right!);
        s1/FromInterface@4 :: FromInterface(right!);
        s1/l :: Counter;

        s0/FromInterface@1 -> s0/r
            -> s1/r
            -> s1/ToInterface@3;
        s1/FromInterface@4 -> s1/l
            -> s0/l
            -> s0/ToInterface@6;
    "#]],
    );
}

#[test]
fn stages_that_do_nothing_leave_nothing() {
    let bare = "FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left);";
    check(
        &[bare, bare, bare, bare],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/ToInterface@4 :: ToInterface(left!);
        s3/ToInterface@2 :: ToInterface(right!);
        s3/FromInterface@3 :: FromInterface(right!);

        s3/FromInterface@3 -> s0/ToInterface@4;
        s0/FromInterface@1 -> s3/ToInterface@2;
    "#]],
    );
}

#[test]
fn all_that_leads_into_a_joint_leads_out_of_it() {
    check(
        &[
            "FromInterface(left) -> t :: Tee; t[0] -> a :: Counter -> ToInterface(right); t[1] -> ToInterface(right);",
            THROUGH,
        ],
        expect![[r#"
            s0/FromInterface@1 :: FromInterface(left!);
            s0/t :: Tee;
            s0/a :: Counter;
            s1/c :: Counter;
            s1/ToInterface@3 :: ToInterface(right!);

            s0/FromInterface@1 -> s0/t
                -> s0/a
                -> s1/c
                -> s1/ToInterface@3;
            s0/t [1] -> s1/c;
        "#]],
    );
}

#[test]
fn what_is_pulled_is_pushed_into_the_next_stage() {
    check(
        &["FromInterface(left) -> Queue -> to :: ToInterface(right);", THROUGH],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/Queue@2 :: Queue;
        s0/to :: Unqueue(BURST 64);
        s1/c :: Counter;
        s1/ToInterface@3 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/Queue@2
            -> s0/to
            -> s1/c
            -> s1/ToInterface@3;
    "#]],
    );
    check(
        &["FromInterface(left) -> Queue -> ToInterface(right);", THROUGH],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/Queue@2 :: Queue;
        s0/Unqueue@3 :: Unqueue(BURST 64);
        s1/c :: Counter;
        s1/ToInterface@3 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/Queue@2
            -> s0/Unqueue@3
            -> s1/c
            -> s1/ToInterface@3;
    "#]],
    );
    check(
        &[THROUGH, "FromInterface(left) -> Queue -> ToInterface(right);"],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/c :: Counter;
        s1/Queue@2 :: Queue;
        s1/ToInterface@3 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/c
            -> s1/Queue@2
            -> s1/ToInterface@3;
    "#]],
    );
}

#[test]
fn what_nobody_takes_is_discarded_and_what_nobody_gives_never_comes() {
    check(
        &[
            "FromInterface(left) -> ToInterface(right); FromInterface(right) -> Counter -> ToInterface(left);",
            "FromInterface(left) -> Discard;",
        ],
        expect![[r#"
            s0/FromInterface@1 :: FromInterface(left!);
            s0/Idle@3 :: Idle;
            s0/Counter@4 :: Counter;
            s0/ToInterface@5 :: ToInterface(left!);
            s1/Discard@2 :: Discard;

            s0/Idle@3 -> s0/Counter@4
                -> s0/ToInterface@5;
            s0/FromInterface@1 -> s1/Discard@2;
        "#]],
    );
    check(
        &[THROUGH, "FromInterface(aux) -> ToInterface(left); Idle -> ToInterface(right);"],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/c :: Counter;
        s0/Discard@3 :: Discard;
        s1/FromInterface@1 :: FromInterface(aux!);
        s1/Discard@2 :: Discard;
        s1/Idle@3 :: Idle;
        s1/ToInterface@4 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/c
            -> s0/Discard@3;
        s1/FromInterface@1 -> s1/Discard@2;
        s1/Idle@3 -> s1/ToInterface@4;
    "#]],
    );
    check(
        &["FromInterface(left) -> Queue -> ToInterface(right);", "Idle -> ToInterface(right);"],
        expect![[r#"
        s0/FromInterface@1 :: FromInterface(left!);
        s0/Queue@2 :: Queue;
        s0/Discard@3 :: Discard;
        s1/Idle@1 :: Idle;
        s1/ToInterface@2 :: ToInterface(right!);

        s0/FromInterface@1 -> s0/Queue@2
            -> s0/Discard@3;
        s1/Idle@1 -> s1/ToInterface@2;
    "#]],
    );
}

#[test]
fn other_interfaces_keep_their_elements() {
    check(
        &[
            THROUGH,
            "FromInterface(left) -> ToInterface(aux, BURST 4); FromInterface(aux) -> ToInterface(right);",
        ],
        expect![[r#"
            s0/FromInterface@1 :: FromInterface(left!);
            s0/c :: Counter;
            s1/ToInterface@2 :: ToInterface(aux!, BURST 4);
            s1/FromInterface@3 :: FromInterface(aux!);
            s1/ToInterface@4 :: ToInterface(right!);

            s0/FromInterface@1 -> s0/c
                -> s1/ToInterface@2;
            s1/FromInterface@3 -> s1/ToInterface@4;
        "#]],
    );
}

#[test]
fn mistakes_are_told() {
    check(
        &[THROUGH, "FromInterface(left) -> ToInterface(middle);"],
        expect![[r#"
        none
        f:1: no interface 'middle'; there are left, right, aux
    "#]],
    );
    check(
        &[THROUGH, "FromInterface(left) -> ToInterface(right); FromInterface(left) -> Discard;"],
        expect![[r#"
            none
            f:1: interface 'left' is read by another element
        "#]],
    );
    check(
        &[
            "FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(right);",
            "FromInterface(left) -> ToInterface(left);",
        ],
        expect![[r#"
            none
            f:1: packets would go round and round between two stages
        "#]],
    );
    check(
        &["FromInterface(left) -> Nothing -> ToInterface(right);", "Idle -> Queue -> Counter"],
        expect![[r#"
        none
        f:1: undeclared element 'Nothing'
        f:1: 'Counter@3 :: Counter' output 0 unused
    "#]],
    );
}

#[test]
fn the_fused_text_is_a_graph_again() {
    let mut diagnostics = Diagnostics::default();
    let stages =
        stages(&[THROUGH, "FromInterface(left) -> Queue -> ToInterface(right)", THROUGH], &mut diagnostics);
    let fused = fuse(&stages, 64, &facts, &mut diagnostics).unwrap();
    let text = lang::flatten(&fused);
    let again =
        lang::parse(&Source { name: "f", text: &text }, &Options::new(&Classes), &mut diagnostics).unwrap();
    assert_eq!(lang::flatten(&again), text);
    assert!(!diagnostics.has_errors());
}
