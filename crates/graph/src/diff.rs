//! The difference of two graphs as a list of actions: plan here, act elsewhere.

use std::collections::{HashMap, HashSet};

use crate::{Connection, Element, Endpoint, Graph, PortIdx};

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

/// Carries `actions` out on `graph`; an action that is not possible is the error.
///
/// Elements added stand after the old ones, so numbers may differ from those of the graph that was aimed at.
pub fn apply(graph: &Graph, actions: &[Action]) -> Result<Graph, Action> {
    let mut graph = graph.clone();
    for action in actions {
        step(&mut graph, action).ok_or_else(|| action.clone())?;
    }
    Ok(graph)
}

fn step(graph: &mut Graph, action: &Action) -> Option<()> {
    match action {
        Action::Disconnect { from, to } => {
            let (from, to) = (end(graph, from)?, end(graph, to)?);
            let idx = graph.connections.iter().position(|c| c.from == from && c.to == to)?;
            graph.connections.remove(idx);
        }
        Action::Remove { name } => {
            let removed = graph.find(name)?;
            if graph.connections.iter().any(|c| c.from.element == removed || c.to.element == removed) {
                return None;
            }
            graph.remove(removed);
        }
        Action::Add { element } => {
            if graph.find(&element.name).is_some() {
                return None;
            }
            graph.elements.push(element.clone());
        }
        Action::Replace { old, new } => {
            let idx = graph.find(&old.name)?;
            if graph.find(&new.name).is_some_and(|other| other != idx) {
                return None;
            }
            *graph.elements.get_mut(idx)? = (**new).clone();
        }
        Action::Reconfigure { name, config } => {
            let idx = graph.find(name)?;
            graph.elements.get_mut(idx)?.config.clone_from(config);
        }
        Action::Connect { from, to } => {
            let (from, to) = (end(graph, from)?, end(graph, to)?);
            let place = graph.elements.get(from.element)?.place.clone();
            let connection = Connection { from, to, place };
            let at = graph.connections.partition_point(|c| c.by_input(&connection).is_lt());
            graph.connections.insert(at, connection);
        }
    }
    Some(())
}

fn end(graph: &Graph, end: &NamedEnd) -> Option<Endpoint> {
    Some(Endpoint { element: graph.find(&end.element)?, port: end.port })
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
mod tests {
    use super::*;
    use crate::testing::graph;
    use crate::Place;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(old: &Graph, new: &Graph, expected: Expect) {
        let show = |end: &NamedEnd| format!("{}.{}", end.element, end.port);
        let lines = diff(old, new, &[]).into_iter().map(|action| match action {
            Action::Disconnect { from, to } => format!("disconnect {} {}", show(&from), show(&to)),
            Action::Remove { name } => format!("remove {name}"),
            Action::Add { element } => format!("add {}", element.declaration()),
            Action::Reconfigure { name, config } => format!("reconfigure {name} {config}"),
            Action::Replace { .. } => action.to_string(),
            Action::Connect { from, to } => format!("connect {} {}", show(&from), show(&to)),
        });
        expected.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn equal_graphs_need_no_action() {
        let old = graph("a:A b:B", "0.0-1.0");
        let mut new = graph("b:B a:A", "1.0-0.0 1.0-0.0");
        new.elements[0].place = Place::default();
        check(&old, &new, expect![[""]]);
    }

    #[test]
    fn an_element_of_another_class_takes_the_place_with_its_connections() {
        let old = graph("a:A b:B c:C", "0.0-1.0 1.0-2.0 0.1-2.1");
        let mut new = graph("a:A b:X c:C", "0.0-1.0 1.0-2.0 1.1-2.1");
        new.elements[1].config = "5".into();
        check(
            &old,
            &new,
            expect![[r#"
                disconnect a.1 c.1
                replace b :: B by b :: X(5)
                connect b.1 c.1"#]],
        );
    }

    #[test]
    fn what_is_told_to_take_a_place_replaces_under_any_name() {
        let old = graph("a:A b:B c:C", "0.0-1.0 1.0-2.0");
        let mut new = graph("a:A d:B c:C", "0.0-1.0 1.0-2.0");
        let told = |new: &Graph, pairs: &[(&str, &str)]| {
            let pairs: Vec<_> = pairs.iter().map(|(old, new)| (old.to_string(), new.to_string())).collect();
            let actions = diff(&old, new, &pairs);
            assert_eq!(normal(&apply(&old, &actions).unwrap()), normal(new));
            actions.iter().map(Action::to_string).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(&new, &[("b", "d")]), "replace b :: B by d :: B");
        // Nobody takes a place twice, nor that of one that stays.
        assert_eq!(
            told(&new, &[("b", "c"), ("a", "d"), ("nothing", "d"), ("b", "d"), ("b", "d")]),
            "replace b :: B by d :: B"
        );
        new.elements[1].name = "b".into();
        assert_eq!(told(&new, &[("b", "b")]), "");
        new.elements[1].config = "7".into();
        assert_eq!(told(&new, &[("b", "b")]), "replace b :: B by b :: B(7)");
        assert_eq!(told(&new, &[]), "set b (7)");
    }

    #[test]
    fn an_element_is_put_between_and_another_reconfigured() {
        let old = graph("a:A b:B", "0.0-1.0");
        let mut new = graph("a:A q:Q b:B", "0.0-1.0 1.0-2.0");
        new.elements[0].config = "10".into();
        check(
            &old,
            &new,
            expect![[r#"
                disconnect a.0 b.0
                reconfigure a 10
                add q :: Q
                connect a.0 q.0
                connect q.0 b.0"#]],
        );
    }

    #[test]
    fn an_impossible_action_is_refused() {
        let old = graph("a:A b:B", "0.0-1.0");
        let remove = Action::Remove { name: "a".into() };
        assert_eq!(apply(&old, std::slice::from_ref(&remove)), Err(remove));
        let add = Action::Add { element: old.elements[1].clone() };
        assert_eq!(apply(&old, std::slice::from_ref(&add)), Err(add));
    }

    /// Places and numbers do not count: by name, sorted.
    fn normal(graph: &Graph) -> (Vec<[String; 3]>, Vec<(NamedEnd, NamedEnd)>) {
        let elements = graph.elements.iter().map(|e| [e.name.clone(), e.class.clone(), e.config.clone()]);
        let mut elements: Vec<_> = elements.collect();
        elements.sort();
        let mut edges = edges(graph);
        edges.sort();
        (elements, edges)
    }

    prop_compose! {
        fn any_graph()(
            names in proptest::collection::btree_map(0..12u8, (0..3u8, 0..3u8), 1..10),
            edges in proptest::collection::vec((any::<prop::sample::Index>(), 0..3usize,
                any::<prop::sample::Index>(), 0..3usize), 0..20),
            order in any::<u64>(),
        ) -> Graph {
            let mut elements: Vec<Element> = names.iter().map(|(name, (class, config))| Element {
                name: format!("e{name}"),
                class: format!("C{class}"),
                config: format!("{config}"),
                place: Place::default(),
            }).collect();
            let n_elements = elements.len();
            elements.rotate_left(order as usize % n_elements);
            let connections = edges.iter().map(|(from, out_port, to, in_port)| Connection {
                from: Endpoint { element: from.index(n_elements), port: *out_port },
                to: Endpoint { element: to.index(n_elements), port: *in_port },
                place: Place::default(),
            });
            let mut graph = Graph { connections: connections.collect(), elements, requirements: Vec::new() };
            graph.connections = graph.sorted_connections().into_iter().cloned().collect();
            graph
        }
    }

    proptest! {
        #[test]
        fn applying_the_difference_gives_the_new_graph(
            old in any_graph(),
            new in any_graph(),
            replaced in proptest::collection::vec((0..12u8, 0..12u8), 0..6),
        ) {
            let replaced: Vec<_> =
                replaced.into_iter().map(|(old, new)| (format!("e{old}"), format!("e{new}"))).collect();
            let actions = diff(&old, &new, &replaced);
            let applied = apply(&old, &actions).expect("every action is possible");
            prop_assert_eq!(normal(&applied), normal(&new));
            prop_assert!(diff(&applied, &new, &[]).is_empty());
            prop_assert!(diff(&old, &old, &[]).is_empty());
        }
    }
}
