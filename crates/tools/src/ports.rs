//! Whether the ports of a router's elements are there, connected, and not used twice.

use std::collections::HashMap;

use graph::{Diagnostics, OutputRule, Place, PortCode, Processing};

use crate::router::{port, Element, Port};
use crate::wiring::{traits, Link, Wiring};

impl Wiring<'_> {
    /// Tells ports that are used twice, missing or not connected.
    pub(crate) fn connections(&self, links: &[Link], diagnostics: &mut Diagnostics) {
        let mut users = Users { inputs: HashMap::new(), outputs: HashMap::new() };
        for (idx, link) in links.iter().enumerate() {
            let is_push = self.output(link.from).processing == Processing::Push;
            let is_pull = self.input(link.to).processing == Processing::Pull;
            let repeated = [
                (is_push, "push output", "output", link.from, &mut users.outputs),
                (is_pull, "pull input", "input", link.to, &mut users.inputs),
            ];
            for (is_exclusive, what, side, end, used) in repeated {
                match used.get(&end).filter(|_| is_exclusive && !link.is_bad) {
                    Some(other) => {
                        let (name, port) = (&self.router.elements[end.element].name, end.port);
                        let other: &Link = &links[*other];
                        diagnostics
                            .error(&place_of(link), format!("illegal reuse of '{name}' {what} {port}"));
                        let message = format!("'{name}' {side} {port} previously used here");
                        diagnostics.message(&place_of(other), message);
                    }
                    None => {
                        used.insert(end, idx);
                    }
                }
            }
        }
        for idx in self.router.live() {
            self.counts(idx, links, &users, diagnostics);
            let element = &self.router.elements[idx];
            let sides =
                [("input", &self.inputs[idx], &users.inputs), ("output", &self.outputs[idx], &users.outputs)];
            for (side, modes, used) in sides {
                for (number, mode) in
                    modes.iter().enumerate().filter(|(p, _)| !used.contains_key(&port(idx, *p)))
                {
                    let message = format!(
                        "'{}' {} {side} {number} not connected",
                        element.name,
                        mode.processing.name()
                    );
                    diagnostics.error(&element.place, message);
                }
            }
        }
    }

    fn counts(&self, idx: usize, links: &[Link], users: &Users, diagnostics: &mut Diagnostics) {
        let element = &self.router.elements[idx];
        let Some(class) = traits(element.class(), self.facts).filter(|class| !class.ports.is_empty()) else {
            return;
        };
        let Some(code) = PortCode::parse(class.ports) else {
            let message = format!("syntax error in port count code for '{}'", element.class());
            diagnostics.error(&element.place, message);
            return;
        };
        let used = Used { element, idx, links };
        let range = (code.inputs.lo, code.inputs.hi);
        let n_inputs = used.check("input", element.n_inputs, range, "", &users.inputs, diagnostics);
        let (range, with) = match code.outputs {
            OutputRule::Range(range) => ((range.lo, range.hi), String::new()),
            OutputRule::InputsPlus(extra) => {
                let plural = if n_inputs == 1 { "" } else { "s" };
                ((n_inputs + extra, n_inputs + extra), format!(" with {n_inputs} input{plural}"))
            }
        };
        used.check("output", element.n_outputs, range, &with, &users.outputs, diagnostics);
    }
}

fn place_of(link: &Link) -> Place {
    link.place.clone().unwrap_or_default()
}

/// For each port, the connection that used it last.
struct Users {
    inputs: HashMap<Port, usize>,
    outputs: HashMap<Port, usize>,
}

/// An element whose ports are counted.
struct Used<'a> {
    element: &'a Element,
    idx: usize,
    links: &'a [Link],
}

impl Used<'_> {
    /// Tells if there are too few or too many ports; returns how many there should be.
    fn check(
        &self,
        side: &str,
        n_ports: usize,
        (lo, hi): (usize, usize),
        with: &str,
        used: &HashMap<Port, usize>,
        diagnostics: &mut Diagnostics,
    ) -> usize {
        let (name, place) = (&self.element.name, &self.element.place);
        if n_ports < lo {
            let bound = if lo == hi { "" } else { "at least " };
            diagnostics.error(place, format!("too few {side}s for '{name}'{with}, {bound}{lo} required"));
            return lo;
        } else if n_ports > hi {
            let bound = if lo == hi { "" } else { "at most " };
            diagnostics.error(place, format!("too many {side}s for '{name}'{with}, {bound}{hi} allowed"));
            for number in hi..n_ports {
                if let Some(link) = used.get(&port(self.idx, number)) {
                    let place = place_of(&self.links[*link]);
                    diagnostics.message(&place, format!("'{name}' {side} {number} used here"));
                }
            }
            return hi;
        }
        n_ports
    }
}
