//! Joints between stages: what led into one side leads to where the other side led.

use std::collections::HashMap;

use graph::{Connection, Diagnostics, ElementIdx, Endpoint, Graph};

use super::{names, nowhere, Fused, Part};

/// One of the two directions of a joint. Joint N is between stages N - 1 and N.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Way {
    /// The number of the joint.
    pub joint: usize,
    /// Whether packets go to the right in it.
    pub to_right: bool,
}

/// Where packets that are given to a joint go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Into an input.
    Input(Endpoint),
    /// Into a joint that nobody takes from: to the element that gives to it.
    Lost(ElementIdx),
    /// Through joints for ever.
    Circle,
}

/// Where each joint leads.
pub struct Joints {
    /// What the receiver of each way leads to.
    beyond: HashMap<Way, Endpoint>,
}

impl Joints {
    pub fn of(graph: &Graph, parts: &[Part]) -> Joints {
        let mut beyond = HashMap::new();
        for connection in &graph.connections {
            if let Part::Receiver(way) = parts[connection.from.element] {
                beyond.insert(way, connection.to);
            }
        }
        Joints { beyond }
    }

    /// Where packets go that leave for `to`.
    fn target(&self, parts: &[Part], mut to: Endpoint) -> Target {
        for _ in 0..=parts.len() {
            let Part::Sender(way) = parts[to.element] else { return Target::Input(to) };
            match self.beyond.get(&way) {
                Some(next) => to = *next,
                None => return Target::Lost(to.element),
            }
        }
        Target::Circle
    }

    /// The graph in which all joints are edges.
    pub fn close(&self, fused: Fused, diagnostics: &mut Diagnostics) -> Graph {
        let Fused { mut graph, parts, burst } = fused;
        let mut edges = Vec::new();
        let mut lost = Vec::new();
        let leaving = std::mem::take(&mut graph.connections);
        let wanted = self.wanted(&mut graph, &parts, &leaving, burst, &mut lost);
        for connection in wanted {
            let to = match self.target(&parts, connection.to) {
                Target::Input(to) => to,
                Target::Lost(element) => {
                    lost.push(element);
                    Endpoint { element, port: 0 }
                }
                Target::Circle => {
                    diagnostics
                        .error(&connection.place, "packets would go round and round between two stages")
                        .help("let one of them not send back what it receives");
                    continue;
                }
            };
            edges.push(Connection { to, ..connection });
        }
        self.still(&mut graph, &parts, &leaving, &mut edges);
        lost.sort_unstable();
        lost.dedup();
        for element in &lost {
            names::become_class(&mut graph, *element, "Discard", String::new());
        }
        graph.connections = edges;
        let stays = |idx: usize| match parts[idx] {
            Part::Own | Part::Puller(_) => true,
            Part::Sender(_) => lost.contains(&idx),
            Part::Receiver(_) => graph.elements[idx].class == IDLE,
        };
        keep(&graph, stays)
    }

    /// What is connected from elements that stay. Who pulls for a joint pushes into it from now on, or is lost.
    fn wanted(
        &self,
        graph: &mut Graph,
        parts: &[Part],
        leaving: &[Connection],
        burst: usize,
        lost: &mut Vec<ElementIdx>,
    ) -> Vec<Connection> {
        let stays = |connection: &&Connection| !matches!(parts[connection.from.element], Part::Receiver(_));
        let mut wanted: Vec<Connection> = leaving.iter().filter(stays).cloned().collect();
        for (element, part) in parts.iter().enumerate() {
            let Part::Puller(way) = part else { continue };
            match self.beyond.get(way) {
                Some(next) => {
                    names::become_class(graph, element, "Unqueue", format!("BURST {burst}"));
                    let from = Endpoint { element, port: 0 };
                    wanted.push(Connection { from, to: *next, place: nowhere() });
                }
                None => lost.push(element),
            }
        }
        wanted
    }

    /// Puts what never sends where a joint leads to but nothing comes from.
    fn still(&self, graph: &mut Graph, parts: &[Part], leaving: &[Connection], edges: &mut Vec<Connection>) {
        for connection in leaving {
            let element = connection.from.element;
            if !matches!(parts[element], Part::Receiver(_)) {
                continue;
            }
            let Target::Input(to) = self.target(parts, connection.to) else { continue };
            if edges.iter().any(|edge| edge.to == to) {
                continue;
            }
            names::become_class(graph, element, IDLE, String::new());
            edges.push(Connection { to, ..connection.clone() });
        }
    }
}

/// The class of elements that never send.
const IDLE: &str = "Idle";

/// The graph without the elements that do not stay.
fn keep(graph: &Graph, stays: impl Fn(usize) -> bool) -> Graph {
    let mut numbers = vec![None; graph.elements.len()];
    let mut kept = Graph { requirements: graph.requirements.clone(), ..Graph::default() };
    for (idx, element) in graph.elements.iter().enumerate().filter(|(idx, _)| stays(*idx)) {
        numbers[idx] = Some(kept.elements.len());
        kept.elements.push(element.clone());
    }
    let moved = |end: Endpoint| Some(Endpoint { element: numbers[end.element]?, ..end });
    for connection in &graph.connections {
        if let (Some(from), Some(to)) = (moved(connection.from), moved(connection.to)) {
            kept.connections.push(Connection { from, to, place: connection.place.clone() });
        }
    }
    kept.connections = kept.sorted_connections().into_iter().cloned().collect();
    kept
}
