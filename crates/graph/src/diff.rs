//! The difference of two graphs as a list of actions: plan here, act elsewhere.

use std::collections::{HashMap, HashSet};

use crate::{Element, Endpoint, Graph, PortIdx};

/// One end of a connection, its element given by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamedEnd {
    /// Full name of the element.
    pub element: String,
    /// Its input or output port.
    pub port: PortIdx,
}

/// One step from an old graph to a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take a connection away.
    Disconnect {
        /// The output that it leaves.
        from: NamedEnd,
        /// The input that it enters.
        to: NamedEnd,
    },
    /// Take an element away; none of its connections is left by then.
    Remove {
        /// Full name of the element.
        name: String,
    },
    /// Add an element, not connected yet.
    Add {
        /// The element, as in the new graph.
        element: Element,
    },
    /// Give an element of unchanged class another configuration.
    Reconfigure {
        /// Full name of the element.
        name: String,
        /// Its new configuration string.
        config: String,
    },
    /// Put another element into the place of one: what is connected in both graphs stays connected.
    Replace {
        /// The element, as in the old graph.
        old: Box<Element>,
        /// The one in its place, as in the new graph.
        new: Box<Element>,
    },
    /// Add a connection.
    Connect {
        /// The connection's output.
        from: NamedEnd,
        /// The connection's input.
        to: NamedEnd,
    },
}

impl Action {
    /// Whether the action has to do with an element.
    pub fn concerns(&self, element: &str) -> bool {
        match self {
            Action::Disconnect { from, to } | Action::Connect { from, to } => {
                from.element == element || to.element == element
            }
            Action::Remove { name } | Action::Reconfigure { name, .. } => name == element,
            Action::Add { element: added } => added.name == element,
            Action::Replace { old, new } => old.name == element || new.name == element,
        }
    }
}

/// As a line of words: `bind a[0] [0]b`, `unbind a[0] [0]b`, `add NAME :: CLASS(CONFIG)`, `rm NAME`, `set NAME (CONFIG)`,
/// `replace NAME :: CLASS(CONFIG) by NAME :: CLASS(CONFIG)`.
impl std::fmt::Display for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let edge = |from: &NamedEnd, to: &NamedEnd| {
            format!("{}[{}] [{}]{}", from.element, from.port, to.port, to.element)
        };
        match self {
            Action::Disconnect { from, to } => write!(f, "unbind {}", edge(from, to)),
            Action::Connect { from, to } => write!(f, "bind {}", edge(from, to)),
            Action::Remove { name } => write!(f, "rm {name}"),
            Action::Reconfigure { name, config } => write!(f, "set {name} ({config})"),
            Action::Add { element } => write!(f, "add {}", whole(element)),
            Action::Replace { old, new } => write!(f, "replace {} by {}", whole(old), whole(new)),
        }
    }
}

/// An element's declaration with its configuration.
fn whole(element: &Element) -> String {
    match element.config.as_str() {
        "" => element.declaration(),
        config => format!("{}({config})", element.declaration()),
    }
}

/// The actions that turn `old` into `new`, in an order in which each is possible.
///
/// An element is the same one if its name is the same; `replaced` tells of others, by old and new name, that take the place of one.
/// An element that is told of there, or has another class, is replaced. Where things stand in the text makes no difference.
pub fn diff(old: &Graph, new: &Graph, replaced: &[(String, String)]) -> Vec<Action> {
    let successions = successions(old, new, replaced);
    let predecessors: HashMap<&str, &Element> =
        successions.iter().map(|(old, new)| (new.name.as_str(), *old)).collect();
    let successors: HashMap<&str, &str> =
        successions.iter().map(|(old, new)| (old.name.as_str(), new.name.as_str())).collect();
    let renamed = |end: &NamedEnd| {
        let element = successors.get(end.element.as_str())?.to_string();
        Some(NamedEnd { element, port: end.port })
    };
    let (old_edges, new_edges) = (edges(old), edges(new));
    let wanted: HashSet<&(NamedEnd, NamedEnd)> = new_edges.iter().collect();
    let mut kept = HashSet::new();
    let mut actions = Vec::new();
    for (from, to) in old_edges {
        let edge = renamed(&from).zip(renamed(&to)).filter(|edge| wanted.contains(edge));
        match edge {
            Some(edge) => drop(kept.insert(edge)),
            None => actions.push(Action::Disconnect { from, to }),
        }
    }
    for element in old.elements.iter().filter(|element| !successors.contains_key(element.name.as_str())) {
        actions.push(Action::Remove { name: element.name.clone() });
    }
    for element in &new.elements {
        let is_told = replaced.iter().any(|(_, new)| *new == element.name);
        actions.extend(match predecessors.get(element.name.as_str()) {
            None => Some(Action::Add { element: element.clone() }),
            Some(old) => step_of(old, element, is_told),
        });
    }
    for (from, to) in new_edges.iter().filter(|edge| !kept.contains(edge)).cloned() {
        actions.push(Action::Connect { from, to });
    }
    actions
}

/// What is to be done where an element was, for another one; nothing if they are the same.
fn step_of(old: &Element, new: &Element, is_told: bool) -> Option<Action> {
    let is_other = old.name != new.name || old.class != new.class;
    match old.config == new.config {
        true if !is_other => None,
        false if !is_other && !is_told => {
            Some(Action::Reconfigure { name: new.name.clone(), config: new.config.clone() })
        }
        _ => Some(Action::Replace { old: Box::new(old.clone()), new: Box::new(new.clone()) }),
    }
}

/// Elements of the old graph with those of the new one that take their places.
fn successions<'g>(
    old: &'g Graph,
    new: &'g Graph,
    replaced: &[(String, String)],
) -> Vec<(&'g Element, &'g Element)> {
    let (old_elements, new_elements) = (by_name(old), by_name(new));
    let renamed = replaced.iter().filter_map(|(before, after)| {
        let pair = (*old_elements.get(before.as_str())?, *new_elements.get(after.as_str())?);
        // Elements that keep their names are themselves.
        let is_free =
            !new_elements.contains_key(before.as_str()) && !old_elements.contains_key(after.as_str());
        is_free.then_some(pair)
    });
    let same = old.elements.iter().filter_map(|one| Some((one, *new_elements.get(one.name.as_str())?)));
    let mut all: Vec<(&Element, &Element)> = Vec::new();
    let (mut gone, mut come) = (HashSet::new(), HashSet::new());
    for (old, new) in same.chain(renamed) {
        if !gone.contains(old.name.as_str()) && come.insert(new.name.as_str()) {
            gone.insert(old.name.as_str());
            all.push((old, new));
        }
    }
    all
}

fn by_name(graph: &Graph) -> HashMap<&str, &Element> {
    graph.elements.iter().map(|element| (element.name.as_str(), element)).collect()
}

/// The connections by name, each once; those whose elements do not exist are left out.
fn edges(graph: &Graph) -> Vec<(NamedEnd, NamedEnd)> {
    let name = |end: Endpoint| {
        let element = graph.elements.get(end.element)?.name.clone();
        Some(NamedEnd { element, port: end.port })
    };
    graph.sorted_connections().into_iter().filter_map(|c| Some((name(c.from)?, name(c.to)?))).collect()
}

#[cfg(test)]
mod tests;
