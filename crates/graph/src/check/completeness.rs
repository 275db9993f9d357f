//! Ports that are connected to nothing, or to too much.

use super::{Checker, Port, Side, Unused};
use crate::{Endpoint, Processing};

impl Checker<'_, '_, '_> {
    /// Push outputs and pull inputs take one connection; every port takes at least one.
    pub fn completeness(&mut self, unused: Unused) -> bool {
        let before = self.diagnostics.n_errors();
        for side in [Side::Input, Side::Output] {
            let ends = self.ends(side);
            for pair in ends.windows(2) {
                if pair[0] == pair[1] && self.is_active(pair[0], side) {
                    self.reuse_error(pair[0], side);
                }
            }
        }
        for side in [Side::Input, Side::Output] {
            let mut ends = self.ends(side).into_iter().peekable();
            for element in 0..self.ports.len() {
                for port in 0..self.side(element, side).len() {
                    let end = Endpoint { element, port };
                    while ends.next_if(|used| *used < end).is_some() {}
                    if ends.peek() != Some(&end) {
                        self.unused(end, side, unused);
                    }
                }
            }
        }
        self.diagnostics.n_errors() == before
    }

    fn unused(&mut self, end: Endpoint, side: Side, unused: Unused) {
        let told = |element: &str, kind: &str, port| format!("'{element}' {kind} {port} unused");
        if unused == Unused::Warning {
            let element = &self.graph.elements[end.element];
            self.diagnostics.warning(&element.place, told(&element.declaration(), side.word(), end.port));
            return;
        }
        self.hookup_error(end, told, side).help(match side {
            Side::Input => "connect it, or feed it from an Idle",
            Side::Output => "connect it, or end it in a Discard",
        });
    }

    fn reuse_error(&mut self, end: Endpoint, side: Side) {
        let (kind, help) = match side {
            Side::Input => ("pull input", "join the sources with a scheduler, such as RoundRobinSched"),
            Side::Output => ("push output", "split the packets with a Tee"),
        };
        self.hookup_error(
            end,
            |element, _, port| format!("illegal reuse of '{element}' {kind} {port}"),
            side,
        )
        .help(help);
    }

    /// The connected ports of one side, sorted.
    fn ends(&self, side: Side) -> Vec<Endpoint> {
        let mut ends: Vec<Endpoint> =
            self.connections.iter().map(|c| if side == Side::Input { c.to } else { c.from }).collect();
        ends.sort_unstable();
        ends
    }

    fn side(&self, element: usize, side: Side) -> &[Port] {
        match side {
            Side::Input => &self.ports[element].inputs,
            Side::Output => &self.ports[element].outputs,
        }
    }

    /// Whether the element itself starts transfers at this port.
    fn is_active(&self, end: Endpoint, side: Side) -> bool {
        let starts = if side == Side::Input { Processing::Pull } else { Processing::Push };
        self.side(end.element, side).get(end.port).is_some_and(|port| port.processing == starts)
    }
}
