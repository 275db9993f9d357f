//! Functions as command lines in tests.

#[path = "../../../functions/tests/harness/mod.rs"]
mod harness;

use expect_test::Expect;
pub use harness::{Scratch, UDP};

/// Runs a function and compares what is told.
pub fn check(words: &[&str], left: &[&str], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run(words, left, right, reads));
}

/// Runs a function with frames on the left and on the right; tells what [`harness::run`] does.
pub fn run(words: &[&str], left: &[&str], right: &[&str], reads: &[&str]) -> String {
    run_among(words, &[("left", left), ("right", right)], reads)
}

/// As [`run`], with further interfaces, which must be on the command line, too.
pub fn run_among(words: &[&str], frames: &[(&str, &[&str])], reads: &[&str]) -> String {
    run_for(harness::TIME, words, frames, reads)
}

/// As [`run_among`], for a time.
pub fn run_for(time: &str, words: &[&str], frames: &[(&str, &[&str])], reads: &[&str]) -> String {
    match graph(words) {
        Ok(graph) => harness::run_graph(time, &graph.text, &graph.interfaces, frames, reads),
        Err(message) => message,
    }
}

/// Compares what a command line that is wrong is told.
pub fn fails(words: &[&str], expect: Expect) {
    match graph(words) {
        Ok(graph) => panic!("{words:?} is a graph:\n{}", graph.text),
        Err(message) => expect.assert_eq(&message),
    }
}

/// The graph of a command line.
pub fn graph(words: &[&str]) -> Result<super::FunctionGraph, String> {
    let command = clap::Command::new("weir").subcommands(super::command(words[0]));
    let matches = command
        .try_get_matches_from(std::iter::once("weir").chain(words.iter().copied()))
        .map_err(|error| error.to_string())?;
    let (name, matches) = matches.subcommand().expect("a function is named");
    super::graph(name, matches).map_err(|failure| failure.message().to_string())
}

/// All command lines of the examples are right.
#[test]
fn examples_are_graphs() {
    let scratch = Scratch::new();
    let rules = scratch.path("rules.txt");
    std::fs::write(&rules, "allow all\n").unwrap();
    let mut n = 0;
    let functions = functions::Functions::shipped();
    for (command, name) in functions::Package::shipped_commands() {
        let function = functions.get(name).unwrap();
        for (_, line) in super::command::examples_of(&function) {
            for words in stages(&line.replace("rules.txt", &rules)) {
                if words.get(1).is_some_and(|word| word == command) {
                    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
                    graph(&words).unwrap_or_else(|error| panic!("{line}: {error}"));
                    n += 1;
                }
            }
        }
    }
    assert!(n >= super::names().count(), "only {n} command lines were found");
}

/// The stages of a shell's line, by their words without redirections.
fn stages(line: &str) -> Vec<Vec<String>> {
    let (mut stages, mut quoted) = (vec![Vec::new()], false);
    for part in line.split('\'') {
        if quoted {
            stages.last_mut().unwrap().push(part.to_string());
        } else {
            let mut parts = part.split_whitespace();
            while let Some(word) = parts.next() {
                match word {
                    "2>" | "<" => drop(parts.next()),
                    "|" | "&" => stages.push(Vec::new()),
                    _ => stages.last_mut().unwrap().push(word.trim_end_matches(';').to_string()),
                }
            }
        }
        quoted = !quoted;
    }
    stages
}
