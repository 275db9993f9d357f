//! Running graphs in tests: simulated time, what is printed, and handlers' values.

use std::sync::{Arc, Mutex};

use element::{Class, Runtime};
use engine::{BuildOptions, Engine, Time};
use graph::{ClassFacts, Diagnostics};
use lang::{Options, Source};

/// The classes of this crate.
struct Library;

impl Library {
    fn get(name: &str) -> Option<&'static Class> {
        crate::FOLDERS.iter().flat_map(|(_, classes)| classes.iter()).find(|class| class.facts.name == name)
    }
}

impl lang::Classes for Library {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        Library::get(name).map(|class| &class.facts)
    }

    fn names(&self) -> Vec<&str> {
        crate::FOLDERS.iter().flat_map(|(_, classes)| classes.iter()).map(|class| class.facts.name).collect()
    }
}

/// Runs a graph in simulated time until it stops, or nothing is left to do for `LIMIT` rounds; yields what it printed on
/// standard error, diagnostics first, then the value of each read handler in `reads` as `name: value`.
pub fn run(config: &str, reads: &[&str]) -> String {
    run_until(config, reads, || false)
}

/// As [`run`], until `is_done` says so, which is asked before each round.
pub fn run_until(config: &str, reads: &[&str], mut is_done: impl FnMut() -> bool) -> String {
    const LIMIT: usize = 100_000;
    let mut diagnostics = Diagnostics::default();
    let source = Source { name: "config", text: config };
    let graph = lang::parse(&source, &Options::new(&Library), &mut diagnostics);
    let lines = Arc::new(Mutex::new(String::new()));
    let printed = lines.clone();
    let options = BuildOptions {
        time: Time::Simulated { begin_ns: 1_000_000_000_000_000_000 },
        chatter: Box::new(move |text| *printed.lock().expect("nobody panics here") += &format!("{text}\n")),
        ..BuildOptions::default()
    };
    let engine = graph.and_then(|graph| Engine::build(graph, &Library::get, options, &mut diagnostics));
    let mut text = lang::click_texts(&diagnostics.list);
    let Some(mut engine) = engine else { return text };
    let mut rounds = 0;
    engine.run_while(|world| {
        rounds += 1;
        rounds < LIMIT && !world.is_idle() && !is_done()
    });
    text += &lines.lock().expect("nobody panics here");
    for name in reads {
        let value = engine.world.read_handler(usize::MAX, name, "").unwrap_or_else(|error| error);
        text += &format!("{name}: {value}\n");
    }
    engine.cleanup();
    text
}

/// Runs a graph and compares what it printed.
pub fn check(config: &str, expect: expect_test::Expect) {
    expect.assert_eq(&run(config, &[]));
}

/// Runs a graph and compares what it printed and the values of read handlers.
pub fn check_reading(config: &str, reads: &[&str], expect: expect_test::Expect) {
    expect.assert_eq(&run(config, reads));
}
