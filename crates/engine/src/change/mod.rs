//! Changing a graph while it runs.
//!
//! What stays goes on as it is: its tasks, timers and places keep their numbers. What is new, or has another configuration, is
//! configured beside the running graph ([`Snapshot::prepare`], on any thread), and between two batches the edges move, new
//! elements are initialised and take their predecessors' state ([`World::change`]). If any of that fails, the graph is as it was.

mod apply;
mod by_name;
mod plan;
mod revisions;
mod subscribers;

use std::sync::Arc;

use element::{at_place, Class, Configure, Element, ElementIdx, Failed};
use graph::{Action, Diagnostic, Diagnostics, Graph, Place};

use crate::world::World;

pub(crate) use plan::{compact, How, New};
pub use plan::{Prepared, Snapshot};
pub use revisions::{Revision, Revisions};
pub use subscribers::{Follower, Subscriber};

/// Reads configurations and knows classes, for graphs that change.
pub trait Loader: Send + Sync {
    /// The graph that a text describes, which diagnostics call `name`.
    fn parse(&self, name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph>;
    /// The class of this name.
    fn class(&self, name: &str) -> Option<&'static Class>;
    /// What is to be printed of a diagnostic.
    fn text(&self, told: &Diagnostic) -> String;
}

/// A loader that a world shares with its snapshots.
type SharedLoader = Arc<dyn Loader>;

/// The graph that is wanted.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// What is to run.
    pub graph: Graph,
    /// Whether ports may be connected to nothing: more changes will follow.
    pub is_unfinished: bool,
    /// Elements, by their new names, that begin without their predecessors' state.
    pub without_state: Vec<String>,
    /// Elements that take the place of others: the old name and the new one.
    pub replaced: Vec<(String, String)>,
    /// What the change is called in the history.
    pub title: String,
}

/// Why a graph did not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has changed since the snapshot was taken: take another one.
    Stale,
    /// An element could not be initialised, of which the diagnostics tell.
    Failed,
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    /// The number of the graph in the history.
    pub revision: u64,
    /// The steps from the graph before.
    pub actions: Vec<Action>,
}

/// What stands where an element was taken away, until another is added.
pub(crate) static VACANT: Class = Class::new::<Vacancy>("", "0/0", "a/a", "x/x");

struct Vacancy;

impl Element for Vacancy {
    fn configure(_conf: &mut Configure<'_>) -> Result<Vacancy, Failed> {
        Ok(Vacancy)
    }
}

/// An element that is not there.
fn vacant() -> graph::Element {
    let (name, class, config) = Default::default();
    graph::Element { name, class, config, place: Place::default() }
}

/// Whether a place is nobody's: the element that stood there was taken away, or there never was one.
fn is_vacant(graph: &Graph, idx: ElementIdx) -> bool {
    graph.elements.get(idx).is_none_or(|element| element.name.is_empty())
}

/// The elements that are there, with their places.
pub(crate) fn present(graph: &Graph) -> impl Iterator<Item = (ElementIdx, &graph::Element)> {
    graph.elements.iter().enumerate().filter(|(_, element)| !element.name.is_empty())
}

/// What is told of a diagnostic, with the place as a note in front of each line, so that it stays there when the lines are
/// indented.
fn noted(text: String, told: &Diagnostic) -> String {
    let place = told.landmark.as_ref().unwrap_or(&told.place);
    let names = [told.place.to_string(), told.place.landmark(), place.landmark()];
    let lines = text.trim_end().lines().map(|line| {
        let rest = |name: &&String| !name.is_empty() && line.starts_with(&format!("{name}: "));
        let placed = names.iter().find(rest).map(|name| at_place(name, &line[name.len() + 2..]));
        placed.unwrap_or_else(|| line.to_string())
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl World {
    /// What there is to know of the graph in order to prepare a change of it.
    pub fn snapshot(&self) -> Result<Snapshot, String> {
        let loader = self.loader.clone().ok_or("this graph cannot be changed while it runs")?;
        Ok(Snapshot {
            version: self.version,
            graph: self.present_graph(),
            classes: self.classes.clone(),
            wiring: self.wiring.clone(),
            names: self.names.clone(),
            chatter: self.chatter.clone(),
            burst: self.burst,
            replica: self.replica,
            n_threads: self.n_threads,
            loader,
        })
    }

    /// Gives the graph another configuration, as soon as no element is busy; an error if the text cannot be a graph.
    pub fn change_to(&mut self, text: &str) -> Result<(), String> {
        let snapshot = self.snapshot()?;
        let mut diagnostics = Diagnostics::default();
        let graph = snapshot.loader.parse("config", text, &mut diagnostics);
        let wish = graph.map(|graph| Wish { graph, title: "hotconfig".into(), ..Wish::default() });
        let prepared = wish.and_then(|wish| {
            let prepared = snapshot.prepare(wish, &mut diagnostics);
            if prepared.is_none() {
                diagnostics.error(&Place::default(), "Router could not be initialized!");
            }
            prepared
        });
        let Some(prepared) = prepared else {
            let lines = diagnostics.list.iter().map(|told| noted(snapshot.loader.text(told), told));
            return Err(lines.collect::<Vec<_>>().join("\n"));
        };
        self.awaited_change = Some((prepared, text.to_string()));
        Ok(())
    }

    /// Makes the change that waits for all elements to be free.
    pub(crate) fn make_awaited_change(&mut self) {
        let Some((prepared, text)) = self.awaited_change.take() else { return };
        let mut diagnostics = Diagnostics::default();
        if self.change(prepared, &mut diagnostics).is_ok() {
            self.source = text;
            // The new configuration has its own reason to run, whatever the old one's end, unless the user has asked to stop.
            if self.runcount > i32::MIN.into() {
                self.runcount = self.runcount.max(1);
            }
        }
        let Some(loader) = &self.loader else { return };
        for told in &diagnostics.list {
            self.chatter.say(loader.text(told).trim_end());
        }
    }
}
