//! Running graphs in tests: simulated time, what is printed, handlers' values, and network namespaces.
#![forbid(unsafe_code)]

mod namespace;

use std::sync::{Arc, Mutex};

use element::{Class, Runtime, TOP};
use engine::change::Loader;
use engine::saved::{Progress, Record};
use engine::world::World;
use engine::{BuildOptions, Engine, Time};
use graph::{ClassFacts, Diagnostic, Diagnostics, Graph};
use lang::{Options, Source};

pub use namespace::{cannot_run, in_namespace};

/// The classes that graphs of a test may use.
pub struct Library(Vec<&'static Class>);

impl Library {
    /// The classes of some folders.
    pub fn new(folders: impl IntoIterator<Item = &'static [Class]>) -> Library {
        Library(folders.into_iter().flatten().collect())
    }

    fn get(&self, name: &str) -> Option<&'static Class> {
        self.0.iter().find(|class| class.facts.name == name).copied()
    }

    /// Runs a graph until `is_done`; yields what it printed on standard error, diagnostics first, then the value of each
    /// read handler in `reads` as `name: value`.
    pub fn run(
        &self,
        options: BuildOptions,
        config: &str,
        reads: &[&str],
        mut is_done: impl FnMut(&mut World) -> bool,
    ) -> String {
        let mut diagnostics = Diagnostics::default();
        let source = Source { name: "config", text: config };
        let graph = lang::parse(&source, &Options::new(self), &mut diagnostics);
        let lines = Arc::new(Mutex::new(String::new()));
        let printed = lines.clone();
        let chatter = move |text: &str| *printed.lock().expect("nobody panics here") += &format!("{text}\n");
        let options = BuildOptions { chatter: Box::new(chatter), ..options };
        let class = |name: &str| self.get(name);
        let engine = graph.and_then(|graph| Engine::build(graph, &class, options, &mut diagnostics));
        let mut text = lang::click_texts(&diagnostics.list);
        let Some(mut engine) = engine else { return text };
        engine.world.loader = Some(Arc::new(Library(self.0.clone())));
        engine.world.has_hotconfig = true;
        engine.run_while(|world| !is_done(world));
        text += &lines.lock().expect("nobody panics here");
        for name in reads {
            let value = engine.world.read_handler(TOP, name, "").unwrap_or_else(|error| error);
            text += &format!("{name}: {value}\n");
        }
        engine.cleanup();
        text
    }

    /// Runs a graph in simulated time for `n_rounds`, then each of `changes` for as many; yields what errors changes have, and then
    /// what [`Library::run`] does.
    pub fn run_changing(&self, config: &str, changes: &[&str], n_rounds: usize, reads: &[&str]) -> String {
        let (mut round, mut told) = (0, String::new());
        let text = self.run(simulated(), config, reads, |world| {
            round += 1;
            if round % n_rounds != 0 {
                return false;
            }
            let Some(change) = changes.get(round / n_rounds - 1) else { return true };
            told += &world.change_to(change).err().map_or(String::new(), |error| error + "\n");
            false
        });
        told + &text
    }

    /// Runs a graph in simulated time for `n_rounds` and saves its state; then runs another one that begins with that, saved
    /// `passed_ms` ago. Yields what was saved, what the second one cannot take, and what [`Library::run`] does for it.
    pub fn run_restored(
        &self,
        before: &str,
        after: &str,
        passed_ms: i64,
        n_rounds: usize,
        reads: &[&str],
    ) -> String {
        let (mut round, mut records) = (0, Vec::new());
        self.run(simulated(), before, &[], |world| {
            round += 1;
            if round < n_rounds {
                return false;
            }
            let mut progress = Progress::default();
            while let Some(more) = world.save_some(&mut progress) {
                records.extend(more);
            }
            true
        });
        let line = |record: &Record| format!("{} {}: {}\n", record.element, record.class, record.line);
        let mut told: String = records.iter().map(line).collect();
        round = 0;
        let text = self.run(simulated(), after, reads, |world| {
            if round == 0 {
                told.extend(world.restore(&records, passed_ms).into_iter().map(|refused| refused + "\n"));
            }
            round += 1;
            round >= n_rounds
        });
        told + &text
    }

    /// Runs a graph in simulated time until it stops, or nothing is left to do, or for `most_rounds` rounds.
    pub fn run_simulated(&self, config: &str, reads: &[&str], most_rounds: usize) -> String {
        let mut rounds = 0;
        self.run(simulated(), config, reads, |world| {
            rounds += 1;
            rounds >= most_rounds || world.is_idle()
        })
    }
}

impl Loader for Library {
    fn parse(&self, name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph> {
        lang::parse(&Source { name, text }, &Options::new(self), diagnostics)
    }

    fn class(&self, name: &str) -> Option<&'static Class> {
        self.get(name)
    }

    fn text(&self, told: &Diagnostic) -> String {
        lang::click_text(told)
    }
}

impl lang::Classes for Library {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        self.get(name).map(|class| &class.facts)
    }

    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|class| class.facts.name).collect()
    }
}

/// Simulated time, from a round number of seconds on.
pub fn simulated() -> BuildOptions {
    BuildOptions { time: Time::Simulated { begin_ns: 1_000_000_000_000_000_000 }, ..BuildOptions::default() }
}
