//! Tunnels: the ways into and out of compound elements and groups, and how they are replaced by connections.

use std::collections::{HashMap, HashSet};

use graph::{Diagnostics, Place};
use lang::Kind;

use crate::router::{Element, Port, Router, Side};

/// How many connections may come of tunnels.
const MAX_CONNECTIONS: usize = 1 << 22;

/// Tells that `name` was declared twice.
pub(crate) fn redeclared(what: &str, name: &str, place: &Place, old: &Place, diagnostics: &mut Diagnostics) {
    diagnostics.error(place, format!("redeclaration of {what} '{name}'"));
    diagnostics.error(old, format!("'{name}' previously declared here"));
}

impl Router {
    /// Makes a tunnel: what enters `input` leaves `output`.
    pub(crate) fn add_tunnel(
        &mut self,
        input: &str,
        output: &str,
        place: &Place,
        diagnostics: &mut Diagnostics,
    ) -> usize {
        let [entry, exit] = [input, output].map(|name| {
            self.get_or_add(Element::new(name.to_string(), Kind::Tunnel, String::new(), place.clone()))
        });
        let mut ok = true;
        for (idx, name) in [(entry, input), (exit, output)] {
            if !self.elements[idx].is_tunnel() {
                redeclared("element", name, place, &self.elements[idx].place, diagnostics);
                ok = false;
            }
        }
        if self.elements[entry].leads_to.is_some() {
            redeclared("connection tunnel input", input, place, &self.elements[entry].place, diagnostics);
            ok = false;
        }
        if self.elements[exit].comes_from.is_some() {
            redeclared("connection tunnel output", output, place, &self.elements[exit].place, diagnostics);
            ok = false;
        }
        if ok {
            self.elements[entry].leads_to = Some(exit);
            self.elements[exit].comes_from = Some(entry);
        }
        entry
    }

    /// Replaces tunnels by connections.
    pub(crate) fn remove_tunnels(&mut self, diagnostics: &mut Diagnostics) {
        let (mut inputs, mut outputs) = (Ends::default(), Ends::default());
        for wire in self.wires() {
            if self.elements[wire.from.element].is_tunnel()
                && self.elements[wire.from.element].comes_from.is_some()
            {
                outputs.add(wire.from);
            }
            if self.elements[wire.to.element].is_tunnel() && self.elements[wire.to.element].leads_to.is_some()
            {
                inputs.add(wire.to);
            }
        }
        // What the inputs lead to is asked for the errors only: each connection is found from its output.
        for idx in 0..inputs.ports.len() {
            self.reach(&mut inputs, Side::Input, idx, diagnostics);
        }
        for idx in 0..outputs.ports.len() {
            self.reach(&mut outputs, Side::Output, idx, diagnostics);
        }
        self.join(&outputs, diagnostics);
        for element in &mut self.elements {
            if element.is_tunnel() && (element.leads_to.is_some() || element.comes_from.is_some()) {
                element.is_dead = true;
            }
        }
        self.remove_repeated();
        self.free_dead();
    }

    fn join(&mut self, outputs: &Ends, diagnostics: &mut Diagnostics) {
        for idx in self.wire_numbers() {
            let wire = self.wire(idx).clone();
            if !self.elements[wire.from.element].is_tunnel() || self.elements[wire.to.element].is_tunnel() {
                continue;
            }
            let sources =
                outputs.numbers.get(&wire.from).and_then(|number| outputs.reached[*number].as_ref());
            for source in sources.into_iter().flatten() {
                if self.n_wires_ever() >= MAX_CONNECTIONS {
                    diagnostics.error(&wire.place, "too many connections");
                    return;
                }
                self.connect(*source, wire.to, wire.place.clone());
            }
        }
    }

    /// Finds what the tunnel end `first` is connected to in the end, through other tunnels.
    fn reach(&self, ends: &mut Ends, side: Side, first: usize, diagnostics: &mut Diagnostics) {
        if ends.is_begun[first] {
            return;
        }
        let mut stack = vec![self.begin(ends, side, first, diagnostics)];
        while let Some(mut frame) = stack.pop() {
            let Some(port) = frame.left.pop() else {
                ends.reached[frame.end] = Some(frame.found);
                continue;
            };
            let through =
                ends.numbers.get(&port).copied().filter(|_| self.elements[port.element].is_tunnel());
            match through {
                None => frame.take(port),
                Some(other) if !ends.is_begun[other] => {
                    frame.left.push(port);
                    let next = self.begin(ends, side, other, diagnostics);
                    stack.push(frame);
                    stack.push(next);
                    continue;
                }
                // A tunnel that leads into itself adds nothing.
                Some(other) => {
                    let reached = ends.reached[other].iter().flatten();
                    reached.for_each(|port| frame.take(*port));
                }
            }
            stack.push(frame);
        }
    }

    fn begin(&self, ends: &mut Ends, side: Side, end: usize, diagnostics: &mut Diagnostics) -> Frame {
        ends.is_begun[end] = true;
        let me = ends.ports[end];
        let element = &self.elements[me.element];
        let (other, there) = match side {
            Side::Output => (element.comes_from, Side::Input),
            Side::Input => (element.leads_to, Side::Output),
        };
        let other = other.expect("only tunnels with another end are collected");
        let mut left = self.neighbours(Port { element: other, port: me.port }, there);
        if left.is_empty() {
            self.tell_loose(me, other, side, diagnostics);
        }
        left.reverse();
        Frame { end, left, found: Vec::new(), seen: HashSet::new() }
    }

    fn tell_loose(&self, me: Port, other: usize, side: Side, diagnostics: &mut Diagnostics) {
        let (input, output) = match side {
            Side::Output => (&self.elements[other], &self.elements[me.element]),
            Side::Input => (&self.elements[me.element], &self.elements[other]),
        };
        let (from, to, port) = (&input.name, &output.name, me.port);
        let is_output = side == Side::Output;
        let (place, message) = if format!("{from}/input") == *to {
            let message = match is_output {
                true => format!("'{from}' input {port} unused"),
                false => format!("'{from}' has no input {port}"),
            };
            (&input.place, message)
        } else if *from == format!("{to}/output") {
            let message = match is_output {
                true => format!("'{to}' has no output {port}"),
                false => format!("'{to}' output {port} unused"),
            };
            (&output.place, message)
        } else {
            let what = if is_output { "input" } else { "output" };
            (&self.elements[other].place, format!("tunnel '{from} -> {to}' {what} {port} unused"))
        };
        diagnostics.error(place, message);
    }
}

/// Ends of tunnels that are connected, and what they reach.
#[derive(Default)]
struct Ends {
    ports: Vec<Port>,
    numbers: HashMap<Port, usize>,
    is_begun: Vec<bool>,
    reached: Vec<Option<Vec<Port>>>,
}

impl Ends {
    fn add(&mut self, port: Port) {
        if let std::collections::hash_map::Entry::Vacant(slot) = self.numbers.entry(port) {
            slot.insert(self.ports.len());
            self.ports.push(port);
            self.is_begun.push(false);
            self.reached.push(None);
        }
    }
}

/// The end of a tunnel that is being followed.
struct Frame {
    end: usize,
    /// Ports that are left to look at, the next one last.
    left: Vec<Port>,
    found: Vec<Port>,
    seen: HashSet<Port>,
}

impl Frame {
    fn take(&mut self, port: Port) {
        if self.seen.insert(port) {
            self.found.push(port);
        }
    }
}
