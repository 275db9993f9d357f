//! How many ports elements have, and connections to ports that they do not have.

use super::{Checker, Port, Ports, Side};
use crate::{ClassFacts, Place, PortCode, Processing, ProcessingCode};

impl Checker<'_, '_, '_> {
    /// Counts the ports of each element and finds connections to ports that it does not have.
    pub fn ranges(&mut self) -> bool {
        let before = self.diagnostics.n_errors();
        let mut used = vec![(0usize, 0usize); self.graph.elements.len()];
        for connection in &self.connections {
            let n_outputs = &mut used[connection.from.element].1;
            *n_outputs = (*n_outputs).max(connection.from.port.saturating_add(1));
            let n_inputs = &mut used[connection.to.element].0;
            *n_inputs = (*n_inputs).max(connection.to.port.saturating_add(1));
        }
        let mut counts = Vec::with_capacity(used.len());
        for (idx, (n_inputs, n_outputs)) in used.into_iter().enumerate() {
            counts.push(self.count(idx, n_inputs, n_outputs));
        }
        self.connections_in_range(&counts);
        if self.diagnostics.n_errors() > before {
            return false;
        }
        self.ports = counts.iter().enumerate().map(|(idx, count)| self.coded_ports(idx, *count)).collect();
        self.diagnostics.n_errors() == before
    }

    fn count(&mut self, idx: usize, n_inputs: usize, n_outputs: usize) -> (usize, usize) {
        let Some(facts) = self.facts[idx] else { return (n_inputs, n_outputs) };
        match PortCode::parse(facts.ports) {
            Some(code) => code.counts(n_inputs, n_outputs),
            None => {
                let element = &self.graph.elements[idx];
                let message = format!("{}: bad port count", element.declaration());
                self.diagnostics.error(&element.place, message).landmark(Place::default());
                (0, 0)
            }
        }
    }

    /// Click takes a bad connection out by moving the last one into its place; so do we, for the messages' order.
    fn connections_in_range(&mut self, counts: &[(usize, usize)]) {
        let mut idx = 0;
        while let Some(connection) = self.connections.get(idx).copied() {
            let mut bad = false;
            for (end, side) in [(connection.to, Side::Input), (connection.from, Side::Output)] {
                let (n_inputs, n_outputs) = counts[end.element];
                let n_ports = if side == Side::Input { n_inputs } else { n_outputs };
                if end.port >= n_ports {
                    bad = true;
                    let help = range_help(self.facts[end.element], side)
                        .unwrap_or_else(|| format!("it has {n_ports} here"));
                    self.hookup_error(
                        end,
                        |element, kind, port| format!("'{element}' has no {kind} {port}"),
                        side,
                    )
                    .help(help);
                }
            }
            if bad {
                self.connections.swap_remove(idx);
            } else {
                idx += 1;
            }
        }
    }

    /// The ports of element `idx` as its class's code has them, not resolved yet.
    fn coded_ports(&mut self, idx: usize, (n_inputs, n_outputs): (usize, usize)) -> Ports {
        let code = self.facts[idx].map_or("a/a", |facts| facts.processing);
        let Some(code) = ProcessingCode::parse(code) else {
            let place = &self.graph.elements[idx].place;
            self.diagnostics.error(place, "bad processing code").landmark(Place::default());
            return Ports::default();
        };
        let port = |processing| Port { processing, agnostic: processing == Processing::Agnostic };
        Ports {
            inputs: (0..n_inputs).map(|idx| port(code.input(idx))).collect(),
            outputs: (0..n_outputs).map(|idx| port(code.output(idx))).collect(),
        }
    }
}

fn range_help(facts: Option<&ClassFacts>, side: Side) -> Option<String> {
    let facts = facts?;
    let (inputs, outputs) = facts.ports.split_once('/').unwrap_or((facts.ports, facts.ports));
    Some(match side {
        Side::Input => format!("{} allows this many inputs: {inputs}", facts.name),
        Side::Output if outputs.starts_with('=') => {
            let extra = match outputs.len() - 1 {
                0 => String::new(),
                extra => format!(", plus {extra}"),
            };
            format!("{} has as many outputs as inputs{extra}", facts.name)
        }
        Side::Output => format!("{} allows this many outputs: {outputs}", facts.name),
    })
}
