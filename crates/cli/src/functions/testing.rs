//! Runs functions in tests: frames in words go in on both sides in simulated time, and what comes out is told in words.

mod build;
mod tell;

use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::Expect;

/// A datagram that suits most tests.
pub const UDP: &str = "UDP(10.0.0.1, 1000, 10.0.0.2, 53)";

/// Rounds that a graph may take.
const LIMIT: usize = 1_000_000;
/// When simulated time begins.
const BEGIN_S: u64 = 1_000_000_000;

/// A folder that is removed on drop.
pub struct Scratch(std::path::PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-functions-test-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs a function and compares what is told.
pub fn check(words: &[&str], left: &[&str], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run(words, left, right, reads));
}

/// Runs a function with frames on the left and on the right; tells what it printed, the handlers' values, and what left it when.
///
/// A frame is its kind and what that takes (see `build`), perhaps with words `NAME=VALUE` in front. Without `at=MS`, frame number
/// i comes i milliseconds after the start, half of one later on the right.
pub fn run(words: &[&str], left: &[&str], right: &[&str], reads: &[&str]) -> String {
    run_among(words, &[("left", left), ("right", right)], reads)
}

/// As [`run`], with further interfaces, which must be on the command line, too.
pub fn run_among(words: &[&str], frames: &[(&str, &[&str])], reads: &[&str]) -> String {
    run_for("2.5s", words, frames, reads)
}

/// As [`run_among`], for a time.
pub fn run_for(time: &str, words: &[&str], frames: &[(&str, &[&str])], reads: &[&str]) -> String {
    let graph = match graph(words) {
        Ok(graph) => graph,
        Err(message) => return message,
    };
    let scratch = Scratch::new();
    let mut text = graph.text;
    for (i, name) in graph.interfaces.iter().enumerate() {
        let came = frames.iter().find(|(to, _)| to == name).map_or(&[][..], |(_, frames)| frames);
        let (input, output) = (scratch.path(&format!("{name}.in")), scratch.path(&format!("{name}.out")));
        std::fs::write(&input, build::capture(came, i)).unwrap();
        text = text.replace(&format!("FromInterface({name})"), &format!("{name}_in"));
        text = text.replace(&format!("ToInterface({name})"), &format!("{name}_out"));
        text = format!(
            "FromDump({input}, TIMING true) -> {name}_begin :: Classifier(0/fefefefefefe, -);\n\
             {name}_begin[0] -> Discard;\n{name}_begin[1] -> {name}_in :: Null;\n{name}_out :: SetTimestamp -> ToDump({output}, SNAPLEN 0);\n{text}"
        );
    }
    text += &format!("RandomSeed(1);\nDriverManager(wait {time}, stop);\n");
    let library = testing::Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes));
    let told = library.run_simulated(&text, reads, LIMIT);
    let mut lines = Vec::new();
    for name in &graph.interfaces {
        lines.extend(tell::capture(name, &scratch.path(&format!("{name}.out"))));
    }
    lines.sort_by_key(|(time_ns, _)| *time_ns);
    lines.iter().fold(told, |text, (_, line)| text + line + "\n")
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
    let command = clap::Command::new("weir").subcommands(super::commands());
    let matches = command
        .try_get_matches_from(std::iter::once("weir").chain(words.iter().copied()))
        .map_err(|error| error.to_string())?;
    let (name, matches) = matches.subcommand().expect("a function is named");
    super::graph(name, matches)
}

/// All command lines of the examples are right.
#[test]
fn examples_are_graphs() {
    let scratch = Scratch::new();
    let rules = scratch.path("rules.txt");
    std::fs::write(&rules, "allow all\n").unwrap();
    let mut n = 0;
    for function in super::FUNCTIONS {
        for example in function.examples {
            for words in stages(&example.line.replace("rules.txt", &rules)) {
                if words.get(1).is_some_and(|word| word == function.name) {
                    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
                    graph(&words).unwrap_or_else(|error| panic!("{}: {error}", example.line));
                    n += 1;
                }
            }
        }
    }
    assert!(n >= super::FUNCTIONS.len(), "only {n} command lines were found");
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
