//! Click's configuration tools, as subcommands and under Click's names.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn folder() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("weir-tools-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    folder
}

fn file(name: &str, text: &str) -> String {
    let path = folder().join(name);
    std::fs::write(&path, text).expect("the folder can be written");
    path.to_string_lossy().into_owned()
}

/// Runs a tool by a link of its name, with `input` on its standard input.
fn tool(name: &str, args: &[&str], input: &str) -> Output {
    let link = folder().join(name);
    // Another test may have made it.
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weir"), &link);
    let mut command = Command::new(&link);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool runs");
    // A tool that reads no input may be gone already.
    let _ = child.stdin.take().expect("the input is a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("the tool ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn check(name: &str, args: &[&str], code: i32, out: &str, err: &str) {
    let output = tool(name, args, "Idle -> d :: Discard;\n");
    assert_eq!((stdout(&output).as_str(), stderr(&output).as_str()), (out, err), "{name} {args:?}");
    assert_eq!(output.status.code(), Some(code), "{name} {args:?}");
}

const FLAT: &str =
    "# 1 \"<stdin>\"\nIdle@1 :: Idle;\n# 1 \"<stdin>\"\nd :: Discard;\n# 6 \"\"\nIdle@1 -> d;\n";

#[test]
fn the_standard_input_is_read_where_nothing_else_is_named() {
    check("click-flatten", &[], 0, FLAT, "");
    check("click-flatten", &["-"], 0, FLAT, "");
    check("click-flatten", &["-f", "-", "-o-"], 0, FLAT, "");
    check("click-undead", &["-c"], 1, "", "warning: no live elements in configuration\n");
    check("click-check", &[], 0, "", "<stdin>: configuration OK in userlevel driver\n");
}

#[test]
fn lists_are_sorted() {
    check("click-flatten", &["-c"], 0, "Discard\nIdle\n", "");
    check("click-flatten", &["--names"], 0, "Idle@1\nd\n", "");
    check("click-flatten", &["--dec"], 0, "Idle@1 :: Idle\nd :: Discard\n", "");
}

#[test]
fn bad_command_lines_are_told_in_clicks_words() {
    let usage = |name: &str, words: &str| {
        format!("Usage: {name} [OPTION]... {words}\nTry '{name} --help' for more information.\n")
    };
    let flatten = usage("click-flatten", "[ROUTERFILE]");
    let told = |message: &str| format!("click-flatten: {message}\n{flatten}");
    check("click-flatten", &["--wrong"], 1, "", &told("unrecognized option ‘--wrong’"));
    check("click-flatten", &["-f"], 1, "", &told("‘-f’ requires an argument"));
    check("click-flatten", &["a", "b"], 1, "", &told("router configuration specified twice"));
    check("click-flatten", &["-oa", "-ob"], 1, "", &told("--output file specified twice"));
    let xform = usage("click-xform", "[ROUTERFILE] [PATTERNFILE]...");
    check("click-xform", &["-oa", "-ob"], 1, "", &format!("output file specified twice\n{xform}"));
    check("click-combine", &[], 1, "", "click-combine: no routers specified\n");
}

#[test]
fn bad_files_are_told() {
    check("click-flatten", &["/no/file"], 1, "", "/no/file: No such file or directory\n");
    check(
        "click-undead",
        &["-o/no/file", "-eInfiniteSource -> Discard"],
        1,
        "",
        "/no/file: No such file or directory\n",
    );
    check("click-uncombine", &["-"], 1, "", "<stdin>: not created by 'click-combine' (no 'componentmap')\n");
    check("click-xform", &["-p/no/file"], 1, "", "/no/file: No such file or directory\n");
    check("click-flatten", &["-e", "a -> ["], 1, "", "config:1: syntax error: expected port number\n");
}

#[test]
fn drivers_other_than_user_level_are_refused() {
    let message = "<stdin>: Click compiled without support for linuxmodule driver\n";
    check("click-check", &["-l"], 1, "", message);
    check("click-check", &["-q", "-u", "-l", "+l"], 0, "", "");
    check("click-check", &["-p"], 0, FLAT, "");
    let twice = "config:1: 'Queue@2' pull output 0 connected to 'Queue@3' push input 0\n";
    check("click-check", &["-e", "Idle -> Queue -> Queue -> Discard"], 1, "", twice);
}

#[test]
fn parts_come_out_of_a_combination_as_they_went_in() {
    let a = file("a", "x :: ThisIsA -> y :: ToDevice(eth1)");
    let b = file("b", "x :: FromDevice(eth0) -> y :: ThisIsB");
    let combined = folder().join("c").to_string_lossy().into_owned();
    let args = ["-n", "A", "-f", &a, &format!("B={b}"), "A.eth1=B.eth0", "-o", &combined];
    let output = tool("click-combine", &args, "");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    for (part, expected) in [
        ("A", "x :: ThisIsA;\ny :: ToDevice(eth1);\nx -> y;\n"),
        ("B", "y :: ThisIsB;\nx :: FromDevice(eth0);\nx -> y;\n"),
    ] {
        let archive = tool("click-uncombine", &[&combined, part], "");
        assert!(archive.stdout.starts_with(b"!<arch>\nconfig "), "{}", stdout(&archive));
        let text = stdout(&tool("click-flatten", &["--config"], &stdout(&archive)));
        assert_eq!(without_directives(&text), expected);
    }
    let missing = format!("{combined}: no 'Z' component\n");
    check("click-uncombine", &[&combined, "Z"], 1, "", &missing);
}

#[test]
fn passed_on_configurations_run() {
    let graph = "InfiniteSource(LIMIT 3, STOP true) -> { -> c :: Counter -> } -> Discard";
    for (name, args) in [
        ("click-devirtualize", &["-n", "Counter", "--devirtualize", "Print", "-i", "x", "-u"][..]),
        ("click-fastclassifier", &["-qu", "--no-combine", "-r"]),
    ] {
        let output = tool(name, &[args, &["-e", graph]].concat(), "");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
        let ran = tool("click", &["-h", "@2/c.count"], &stdout(&output));
        assert_eq!((stdout(&ran).trim(), ran.status.code()), ("3", Some(0)), "{}", stderr(&ran));
    }
}

#[test]
fn aligned_configurations_run() {
    let graph = "InfiniteSource(LENGTH 60, LIMIT 3, STOP true) -> Strip(1) -> c :: Classifier(12/00, -) -> m :: MarkIPHeader(2) -> d :: Discard; c [1] -> d";
    let align = |option: &str, added: &str, told: &str| {
        let output = tool("click-align", &[option, "-e", graph], "");
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), told));
        assert!(stdout(&output).contains(added), "no {added} in {}", stdout(&output));
        stdout(&output)
    };
    let aligned = align("-u", "Align@click_align@6 :: Align(4, 1)", "warning: added 1 Align element\n");
    let ran = tool("click", &["-h", "d.count"], &aligned);
    assert_eq!((stdout(&ran).trim(), ran.status.code()), ("3", Some(0)), "{}", stderr(&ran));
    // Neither Click nor weir has this class.
    align("--assertions", "CheckAlign@click_align@6 :: CheckAlign(4, 2, ASSERT true)", "");
}

#[test]
fn a_page_is_whole_and_linked() {
    let args = [
        "-e",
        "elementclass Foo { -> Counter -> } // why <not>?\nIdle -> f :: Foo -> d :: Discard",
        "-u",
        "doc/%s",
    ];
    let output = tool("click-pretty", &args, "");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let page = stdout(&output);
    for part in [
        "<svg ",
        "id='e-f'",
        "href='#c-Foo'",
        "id='c-Foo'",
        "doc/Discard",
        "// why &lt;not&gt;?",
        "href=\"#et-d\"",
    ] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    let loads = ["src=", "<script", "<link", "@import", "url(http"];
    assert!(!loads.iter().any(|load| page.contains(load)), "the page loads something: {page}");
    check("click-pretty", &["--dot", "--gml"], 1, "", "click-pretty: action specified twice\nUsage: click-pretty [OPTION]... [ROUTERFILE]\nTry 'click-pretty --help' for more information.\n");
}

#[test]
fn every_tool_has_help_a_version_and_a_manual_page() {
    let weir =
        |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_weir")).args(args).output().expect("weir runs");
    let pages = folder().join("man");
    assert!(weir(&["man", &pages.to_string_lossy()]).status.success());
    let completions = stdout(&weir(&["completions", "--static", "bash"]));
    for name in [
        "flatten",
        "check",
        "pretty",
        "undead",
        "combine",
        "uncombine",
        "xform",
        "align",
        "devirtualize",
        "fastclassifier",
    ] {
        let click_name = format!("click-{name}");
        let help = stdout(&tool(&click_name, &["--help"], ""));
        assert!(help.contains(&format!("Usage: {click_name} [OPTION]...")), "{help}");
        assert!(stdout(&tool(&click_name, &["-v"], "")).starts_with(&format!("{click_name} (Click) 2.1\n")));
        let subcommand = if matches!(name, "flatten" | "check") { click_name.as_str() } else { name };
        assert!(pages.join(format!("weir-{subcommand}.1")).exists(), "no page for {subcommand}");
        assert!(completions.contains(&format!("weir,{subcommand})")), "no completions for {subcommand}");
        assert!(weir(&[subcommand, "--help"]).status.success());
    }
}

/// The text without the lines that tell where statements come from.
fn without_directives(text: &str) -> String {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_examples_in_the_document_do_what_it_says() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tools.md");
    let text = std::fs::read_to_string(document).expect("the document exists");
    let path = Path::new(env!("CARGO_BIN_EXE_weir")).parent().expect("a file is in a folder");
    let mut n = 0;
    for block in text.split("```sh\n$ ").skip(1) {
        let block = block.split("```").next().expect("there is a first part");
        let (script, expected) = split_commands(block);
        let script = script.replace("/tmp/", &format!("{}/", folder().to_string_lossy()));
        let path = format!("{}:{}", path.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh").args(["-c", &script]).env("PATH", path).output().expect("sh runs");
        let printed = stdout(&output) + &stderr(&output);
        assert_eq!(without_directives(&printed).trim(), expected.trim(), "{script}");
        n += 1;
    }
    assert!(n >= 6, "only {n} examples were found");
}

/// Commands, which begin with `$ ` and end where the next does or output begins, and the output of the last.
fn split_commands(block: &str) -> (String, String) {
    let (mut script, mut expected) = (String::new(), String::new());
    for line in block.lines() {
        let is_open = script.matches('\'').count() % 2 == 1;
        match line.strip_prefix("$ ") {
            Some(command) => script += &format!("{command}\n"),
            None if script.is_empty() || is_open => script += &format!("{line}\n"),
            None => expected += &format!("{line}\n"),
        }
    }
    (script, expected)
}

#[test]
fn classes_that_the_text_does_not_define_can_be_extended() {
    let text = "elementclass Null { $a | -> Print($a) -> || ... } Idle -> Null(1) -> Null -> d :: Discard";
    let names = "Idle@1\nNull@2/Print@1\nNull@3\nd\n";
    check("click-flatten", &["--names", "-e", text], 0, names, "");
    check("click-check", &["-e", text], 0, "", "config: configuration OK in userlevel driver\n");
}

#[test]
fn mistakes_in_a_text_are_told_as_clicks_tools_tell_them() {
    let cases = [
        ("define($a 5, $a 6)", "parameter 'a' multiply defined"),
        ("Idle, , Discard", "syntax error before ','"),
        (
            "elementclass F { input :: Idle; input -> output }",
            "redeclaration of element 'input'\nconfig:1: 'input' previously declared here",
        ),
    ];
    for (text, told) in cases {
        check("click-flatten", &["-e", text], 1, "", &format!("config:1: {told}\n"));
    }
    check("click-flatten", &["-n", "-e", "require(library) Idle"], 0, "Idle@1\n", "");
    let output = tool("click-combine", &["A="], "");
    assert!(stderr(&output).starts_with("<stdin>: warning: empty configuration\n"), "{}", stderr(&output));
}

#[test]
fn an_archive_may_tell_of_its_own_classes() {
    let member = |name: &str, text: &str| format!("{name:<16}{:<32}{:<10}`\n{text}", "0", text.len());
    let map =
        "<elementmap><entry name='Foo' portcount='1/1' processing='a/a' flowcode='x/x' /></elementmap>\n";
    let config = member("config", "Idle -> Foo -> Discard;\n");
    let archive = format!("!<arch>\n{config}{}", member("elementmap.xml", map));
    let output = tool("click-check", &[], &archive);
    assert_eq!(stderr(&output), "<stdin>: configuration OK in userlevel driver\n");
    assert_eq!(
        stderr(&tool("click-undead", &["-c"], &archive)),
        "warning: no live elements in configuration\n"
    );
    let output = tool("click-check", &[], &format!("!<arch>\n{config}"));
    assert_eq!(stderr(&output).lines().next(), Some("unknown element class 'Foo'"));
}
