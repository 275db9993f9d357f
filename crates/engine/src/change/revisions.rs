//! The graphs that ran, so that one can come back.

use std::collections::VecDeque;
use std::sync::Arc;

use graph::{Action, Graph};

/// Most graphs that are remembered.
const MAX: usize = 100;
/// Most bytes of configurations that they have together, the last two graphs apart.
const MAX_BYTES: usize = 8 << 20;

/// A graph that ran, or runs.
#[derive(Clone, Debug)]
pub struct Revision {
    /// Its number; the first graph has 0.
    pub number: u64,
    /// Since when it ran, in nanoseconds since the epoch.
    pub since_ns: i64,
    /// What the change was called.
    pub title: String,
    /// The graph.
    pub graph: Arc<Graph>,
    /// The steps from the graph before.
    pub actions: Arc<[Action]>,
}

/// The graphs that ran, the last of which runs now.
#[derive(Clone, Debug, Default)]
pub struct Revisions {
    list: VecDeque<Revision>,
}

impl Revisions {
    /// The revisions, the oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Revision> {
        self.list.iter()
    }

    /// The revision of this number, if it is remembered.
    pub fn get(&self, number: u64) -> Option<&Revision> {
        self.list.iter().find(|revision| revision.number == number)
    }

    /// Adds a graph; its number.
    pub(super) fn add(&mut self, since_ns: i64, title: &str, graph: Graph, actions: &[Action]) -> u64 {
        let number = self.list.back().map_or(0, |last| last.number + 1);
        let bytes = |graph: &Graph| graph.elements.iter().map(|element| element.config.len()).sum::<usize>();
        let mut n_bytes =
            self.list.iter().map(|revision| bytes(&revision.graph)).sum::<usize>() + bytes(&graph);
        while self.list.len() == MAX || (n_bytes > MAX_BYTES && self.list.len() > 1) {
            let gone = self.list.pop_front();
            n_bytes -= gone.map_or(0, |gone| bytes(&gone.graph));
        }
        let (title, graph, actions) = (title.to_string(), Arc::new(graph), actions.into());
        self.list.push_back(Revision { number, since_ns, title, graph, actions });
        number
    }

    /// The number of the graph that runs.
    pub(super) fn last(&self) -> u64 {
        self.list.back().map_or(0, |last| last.number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
