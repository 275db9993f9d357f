//! Whether ports push or pull.

use super::Checker;
use crate::{Endpoint, FlowCode, Place, Processing};

/// A way along which push and pull spread.
#[derive(Clone, Copy)]
struct Link {
    from: Endpoint,
    to: Endpoint,
    /// Inside one element, not a connection.
    inner: bool,
}

impl Checker<'_, '_, '_> {
    /// Spreads push and pull along connections and through agnostic elements until nothing changes.
    pub fn push_and_pull(&mut self) -> bool {
        let before = self.diagnostics.n_errors();
        let mut links: Vec<Link> =
            self.connections.iter().map(|c| Link { from: c.from, to: c.to, inner: false }).collect();
        links.extend(self.agnostic_links());
        loop {
            let mut changed = false;
            // A link whose ends are decided has no more to say.
            links.retain(|link| {
                let from = self.ports[link.from.element].outputs[link.from.port].processing;
                let to = self.ports[link.to.element].inputs[link.to.port].processing;
                match (from, to) {
                    (Processing::Agnostic, Processing::Agnostic) => return true,
                    (_, Processing::Agnostic) => {
                        self.ports[link.to.element].inputs[link.to.port].processing = from;
                        changed = true;
                    }
                    (Processing::Agnostic, _) => {
                        self.ports[link.from.element].outputs[link.from.port].processing = to;
                        changed = true;
                    }
                    _ if from != to => self.mixed_error(*link, from),
                    _ => {}
                }
                false
            });
            if !changed {
                break;
            }
        }
        for ports in &mut self.ports {
            for port in ports.inputs.iter_mut().chain(&mut ports.outputs) {
                if port.processing == Processing::Agnostic {
                    port.processing = Processing::Push;
                }
            }
        }
        self.diagnostics.n_errors() == before
    }

    /// Agnostic inputs tied to the agnostic outputs of the same element that their packets may leave by.
    fn agnostic_links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (element, ports) in self.ports.iter().enumerate() {
            let Some(flow) = FlowCode::parse(self.facts[element].map_or("x/x", |facts| facts.flow)) else {
                continue;
            };
            for (input, _) in ports.inputs.iter().enumerate().filter(|(_, port)| port.agnostic) {
                for (output, _) in ports.outputs.iter().enumerate().filter(|(_, port)| port.agnostic) {
                    if flow.reaches(input, output) {
                        let (from, to) =
                            (Endpoint { element, port: output }, Endpoint { element, port: input });
                        links.push(Link { from, to, inner: true });
                    }
                }
            }
        }
        links
    }

    fn mixed_error(&mut self, link: Link, from: Processing) {
        let (out_word, in_word) = if from == Processing::Push { ("push", "pull") } else { ("pull", "push") };
        let element = |end: Endpoint| self.graph.elements[end.element].declaration();
        let (from, to) = (link.from, link.to);
        let message = if link.inner {
            format!(
                "agnostic '{}' in mixed context: {in_word} input {}, {out_word} output {}",
                element(from),
                to.port,
                from.port
            )
        } else {
            format!(
                "'{}' {out_word} output {} connected to '{}' {in_word} input {}",
                element(from),
                from.port,
                element(to),
                to.port
            )
        };
        let help = match out_word {
            "push" => "put a Queue between them: it turns push into pull",
            _ => "put an Unqueue between them: it turns pull into push",
        };
        let place = match self.connections.iter().find(|c| !link.inner && c.from == from && c.to == to) {
            Some(connection) => &connection.place,
            None => &self.graph.elements[from.element].place,
        };
        self.diagnostics.error(place, message).help(help).landmark(Place::default());
    }
}
