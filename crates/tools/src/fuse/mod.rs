//! The graphs of a chain's stages made into one, joined by edges.
//!
//! What one stage gives to `ToInterface` on one side of a joint, the next one takes from `FromInterface` on the other. Here
//! both elements vanish, and what led into the one leads to where the other led.

mod joint;
mod names;

use std::collections::BTreeSet;

use graph::{Connection, Diagnostics, Element, Endpoint, Graph, Place, Processing};

use crate::Facts;
use joint::Joints;
pub use names::interface_of;

/// The class of elements that receive from an interface.
pub const RECEIVES: &str = "FromInterface";
/// The class of elements that send to one.
pub const SENDS: &str = "ToInterface";

/// A stage's graph, and what its interfaces are.
#[derive(Clone, Debug)]
pub struct StageGraph {
    /// What stands before the names of its elements; no two stages have the same.
    pub prefix: String,
    /// The graph.
    pub graph: Graph,
    /// Its interfaces.
    pub interfaces: Vec<StageInterface>,
}

/// What becomes of one of a stage's interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageInterface {
    /// What the graph calls it.
    pub name: String,
    /// What it is called from now on, as far as it is not a joint.
    pub renamed: String,
    /// Where what is received comes from.
    pub receives: Side,
    /// Where what is sent goes.
    pub sends: Side,
}

/// What is on the other side of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Something outside of the chain.
    Outside,
    /// The stage before.
    Left,
    /// The stage behind.
    Right,
}

/// What became of an element of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// It stays what it is.
    Own,
    /// It takes from a joint.
    Receiver(joint::Way),
    /// It gives to a joint, and has packets pushed to it.
    Sender(joint::Way),
    /// It gives to a joint, and pulls.
    Puller(joint::Way),
}

/// Makes one graph of the stages of a chain. Pullers take at most `burst` packets at a time. None if a graph is wrong.
pub fn fuse(
    stages: &[StageGraph],
    burst: usize,
    facts: Facts<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Graph> {
    let mut fused = Fused { burst, ..Fused::default() };
    for (idx, stage) in stages.iter().enumerate() {
        fused.include(idx, stage, facts, diagnostics);
    }
    if diagnostics.has_errors() {
        return None;
    }
    let joints = Joints::of(&fused.graph, &fused.parts);
    let graph = joints.close(fused, diagnostics);
    (!diagnostics.has_errors()).then_some(graph)
}

/// Whether a stage takes what the stage before it gives.
pub fn takes_from_left(stage: &StageGraph) -> bool {
    stage.graph.elements.iter().filter(|element| element.class == RECEIVES).any(|element| {
        stage.interface(&interface_of(&element.config)).is_some_and(|known| known.receives == Side::Left)
    })
}

/// The interfaces that a graph names.
pub fn interfaces(graph: &Graph) -> BTreeSet<String> {
    let elements = graph.elements.iter().filter(|element| [RECEIVES, SENDS].contains(&&*element.class));
    elements.map(|element| interface_of(&element.config)).collect()
}

/// The interfaces to the outside that a stage names, under their new names.
pub fn outside(stage: &StageGraph) -> Vec<&StageInterface> {
    let is_used = |interface: &&StageInterface| {
        stage.graph.elements.iter().any(|element| {
            let side = match element.class.as_str() {
                RECEIVES => interface.receives,
                SENDS => interface.sends,
                _ => return false,
            };
            side == Side::Outside && interface_of(&element.config) == interface.name
        })
    };
    stage.interfaces.iter().filter(is_used).collect()
}

impl StageGraph {
    fn interface(&self, name: &str) -> Option<&StageInterface> {
        self.interfaces.iter().find(|interface| interface.name == name)
    }
}

/// All stages' elements in one graph, not joined yet.
#[derive(Default)]
struct Fused {
    graph: Graph,
    parts: Vec<Part>,
    burst: usize,
}

impl Fused {
    fn include(&mut self, idx: usize, stage: &StageGraph, facts: Facts<'_>, diagnostics: &mut Diagnostics) {
        let Some(checked) = graph::check(&stage.graph, facts, diagnostics) else { return };
        let first = self.graph.elements.len();
        let mut received: Vec<String> = Vec::new();
        for (own, element) in stage.graph.elements.iter().enumerate() {
            let mut element = element.clone();
            element.name = format!("{}/{}", stage.prefix, element.name);
            let mut part = Part::Own;
            if element.class == RECEIVES || element.class == SENDS {
                let name = interface_of(&element.config);
                let Some(interface) = stage.interface(&name) else {
                    unknown(&name, stage, &element, diagnostics);
                    continue;
                };
                let pulls =
                    checked.ports[own].inputs.first().is_some_and(|port| port.processing == Processing::Pull);
                part = part_of(idx, &element, interface, pulls);
                if part == Part::Own {
                    names::rename(&mut element.config, &interface.renamed);
                }
                if matches!(part, Part::Receiver(_)) {
                    if received.contains(&name) {
                        let message = format!("interface '{name}' is read by another element");
                        diagnostics.error(&element.place, message).help("each has at most one FromInterface");
                    }
                    received.push(name);
                }
            }
            self.graph.elements.push(element);
            self.parts.push(part);
        }
        self.connect(first, &stage.graph);
        for requirement in &stage.graph.requirements {
            if !self.graph.requirements.contains(requirement) {
                self.graph.requirements.push(requirement.clone());
            }
        }
    }
}

impl Fused {
    /// Adds the connections of a graph whose elements begin at `first`.
    fn connect(&mut self, first: usize, graph: &Graph) {
        let moved = |end: Endpoint| Endpoint { element: first + end.element, ..end };
        self.graph.connections.extend(graph.connections.iter().map(|connection| Connection {
            from: moved(connection.from),
            to: moved(connection.to),
            place: connection.place.clone(),
        }));
    }
}

fn unknown(name: &str, stage: &StageGraph, element: &Element, diagnostics: &mut Diagnostics) {
    let known: Vec<&str> = stage.interfaces.iter().map(|interface| interface.name.as_str()).collect();
    diagnostics
        .error(&element.place, format!("no interface '{name}'; there are {}", known.join(", ")))
        .help(format!("`--if {name}=KIND` of the stage adds it"));
}

/// What becomes of an interface's element in stage `idx`.
fn part_of(idx: usize, element: &Element, interface: &StageInterface, pulls: bool) -> Part {
    use joint::Way;
    if element.class == RECEIVES {
        return match interface.receives {
            Side::Outside => Part::Own,
            Side::Left => Part::Receiver(Way { joint: idx, to_right: true }),
            Side::Right => Part::Receiver(Way { joint: idx + 1, to_right: false }),
        };
    }
    let way = match interface.sends {
        Side::Outside => return Part::Own,
        Side::Left => Way { joint: idx, to_right: false },
        Side::Right => Way { joint: idx + 1, to_right: true },
    };
    if pulls {
        Part::Puller(way)
    } else {
        Part::Sender(way)
    }
}

/// A place for what nobody has written.
fn nowhere() -> Place {
    Place::default()
}

#[cfg(test)]
mod tests;
