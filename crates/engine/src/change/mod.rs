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

use element::{at_place, ChangeOutcome, Class, Configure, Element, ElementIdx, Failed, Runtime};
use graph::{Action, Diagnostic, Diagnostics, Graph, Place};

use crate::told::NOT_INITIALIZED;
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
    /// The number of the graph in the history: as before if there was nothing to change.
    pub revision: u64,
    /// The steps from the graph before.
    pub actions: Vec<Action>,
}

/// A change that is made as soon as no element is busy.
pub(crate) struct Awaited {
    prepared: Prepared,
    text: String,
    /// Where the outcome goes, if somebody waits for it, and not to the user.
    pub outcome: Option<ChangeOutcome>,
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

/// What is to be printed of diagnostics, those in a row about one element under one heading.
fn texts<'d>(loader: &dyn Loader, diagnostics: &'d Diagnostics) -> Vec<(String, &'d Diagnostic)> {
    let mut before: Option<&Diagnostic> = None;
    let text = |told: &'d Diagnostic| {
        let mut text = loader.text(told);
        let is_same = |other: &Diagnostic| (&other.context, &other.place) == (&told.context, &told.place);
        if before.replace(told).is_some_and(is_same) {
            let heading = loader.text(&Diagnostic { message: String::new(), help: None, ..told.clone() });
            text = text.strip_prefix(&heading).map(str::to_string).unwrap_or(text);
        }
        (text, told)
    };
    diagnostics.list.iter().map(text).collect()
}

/// The same, with places as notes.
fn noted_all(loader: &dyn Loader, diagnostics: &Diagnostics) -> Vec<String> {
    texts(loader, diagnostics).into_iter().map(|(text, told)| noted(text, told)).collect()
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
                diagnostics.error(&Place::default(), NOT_INITIALIZED);
            }
            prepared
        });
        let lines = noted_all(&*snapshot.loader, &diagnostics);
        let Some(prepared) = prepared else {
            return Err(lines.join("\n"));
        };
        lines.iter().for_each(|line| self.tell(line));
        let awaited = Awaited { prepared, text: text.to_string(), outcome: None };
        let before = self.awaited_change.replace(awaited);
        if let Some(outcome) = before.and_then(|before| before.outcome) {
            // It was as good as the one that took its place.
            let _ = outcome.set(Ok(Vec::new()));
        }
        Ok(())
    }

    /// Makes the change that waits for all elements to be free.
    pub(crate) fn make_awaited_change(&mut self) {
        let Some(Awaited { prepared, text, outcome }) = self.awaited_change.take() else { return };
        let mut diagnostics = Diagnostics::default();
        let is_made = self.change(prepared, &mut diagnostics).is_ok();
        if is_made {
            self.source = text;
            // The new configuration has its own reason to run, whatever the old one's end, unless the user has asked to stop.
            if self.runcount > i32::MIN.into() {
                self.runcount = self.runcount.max(1);
            }
        } else {
            diagnostics.error(&Place::default(), NOT_INITIALIZED);
        }
        let Some(loader) = &self.loader else { return };
        let Some(outcome) = outcome else {
            for (text, _) in texts(&**loader, &diagnostics) {
                self.chatter.say(text.trim_end());
            }
            return;
        };
        let lines = noted_all(&**loader, &diagnostics);
        // Nobody else sets it.
        let _ = outcome.set(if is_made { Ok(lines) } else { Err(lines) });
    }
}
