//! Prints the flat graph of a file, or its errors as Click would; classes come from a table of `name ports processing
//! flow` lines. For comparing with `click -q -h flatconfig`.

use std::fs;
use std::process::ExitCode;

use graph::{ClassFacts, Diagnostics};
use lang::{Classes, Libraries, Options, Source};

struct Table(Vec<ClassFacts>);

impl Classes for Table {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        self.0.iter().find(|class| class.name == name)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|class| class.name).collect()
    }
}

struct Files;

impl Libraries for Files {
    fn find(&self, name: &str, directory: &str) -> Option<String> {
        let path = format!("{directory}/{name}");
        fs::metadata(&path).is_ok().then_some(path)
    }

    fn read(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(path).map_err(|error| error.to_string())
    }
}

fn table(path: &str) -> Table {
    let text = fs::read_to_string(path).expect("the table of classes can be read");
    let class = |line: &str| {
        let mut words = line.split('\t').map(|word| &*word.to_string().leak());
        let mut next = || words.next().unwrap_or("");
        let (name, ports, processing, flow) = (next(), next(), next(), next());
        ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" }
    };
    Table(text.lines().map(class).collect())
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(classes), Some(mode), Some(file)) = (args.next(), args.next(), args.next()) else {
        eprintln!("usage: flatten CLASSES-TABLE click|weir|format FILE [VAR=value]...");
        return ExitCode::FAILURE;
    };
    let table = table(&classes);
    let variables: Vec<_> = args
        .filter_map(|arg| arg.split_once('=').map(|(name, value)| (name.to_string(), value.to_string())))
        .collect();
    let text = String::from_utf8_lossy(&fs::read(&file).expect("the file can be read")).into_owned();
    let options = Options { variables: &variables, libraries: &Files, ..Options::new(&table) };
    let mut diagnostics = Diagnostics::default();
    let source = Source { name: &file, text: &text };
    if mode == "format" {
        return match lang::format(&source) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(diagnostics) => {
                diagnostics.list.iter().for_each(|diagnostic| eprint!("{}", lang::weir_text(diagnostic)));
                ExitCode::FAILURE
            }
        };
    }
    let checked = lang::parse(&source, &options, &mut diagnostics).filter(|graph| {
        let facts = |name: &str| table.facts(name);
        let ok = graph::check(graph, &facts, &mut diagnostics).is_some();
        if !ok && mode == "click" {
            diagnostics.error(&graph::Place::default(), "Router could not be initialized!");
        }
        ok
    });
    match mode.as_str() {
        "weir" => diagnostics.list.iter().for_each(|diagnostic| eprint!("{}", lang::weir_text(diagnostic))),
        _ => eprint!("{}", lang::click_texts(&diagnostics.list)),
    }
    match checked {
        Some(graph) => print!("{}", lang::flatten(&graph)),
        None => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}
