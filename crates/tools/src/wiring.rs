//! How packets pass the ports of a router: push or pull, and from which input to which output.

use std::collections::{HashMap, HashSet};

use graph::{port_flow, Diagnostics, FlowCode, Place, Processing, ProcessingCode};
use lang::Kind;

use crate::router::{port, Port, Router, Side};
use crate::Facts;

/// What the tools want to know of a class.
#[derive(Clone, Copy)]
pub(crate) struct Traits {
    pub ports: &'static str,
    pub processing: &'static str,
    pub flow: &'static str,
}

/// The traits of a class. What `click-combine` puts between routers exists only in configurations.
pub(crate) fn traits(class: &str, facts: Facts) -> Option<Traits> {
    if class == "RouterLink" {
        return Some(Traits { ports: "", processing: "l/h", flow: "x/x" });
    }
    let facts = facts(class)?;
    Some(Traits { ports: facts.ports, processing: facts.processing, flow: facts.flow })
}

/// Push or pull at each port.
pub(crate) struct Wiring<'a> {
    pub router: &'a Router,
    pub(crate) facts: Facts<'a>,
    pub(crate) inputs: Vec<Vec<Mode>>,
    pub(crate) outputs: Vec<Vec<Mode>>,
    /// Flow codes that FlowInfo elements set.
    flows: HashMap<String, String>,
}

/// How packets pass a port, and whether that was the neighbours' choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub processing: Processing,
    pub is_agnostic: bool,
}

/// A connection, or a way through an element whose ends must agree.
pub(crate) struct Link {
    pub from: Port,
    pub to: Port,
    pub place: Option<Place>,
    pub is_bad: bool,
}

impl<'a> Wiring<'a> {
    /// Finds out about `router`; what is wrong goes to `diagnostics`.
    pub fn new(router: &'a Router, facts: Facts<'a>, diagnostics: &mut Diagnostics) -> Wiring<'a> {
        let mut wiring =
            Wiring { router, facts, inputs: Vec::new(), outputs: Vec::new(), flows: flow_overrides(router) };
        wiring.begin(diagnostics);
        let mut links: Vec<Link> = router
            .wires()
            .map(|wire| Link { from: wire.from, to: wire.to, place: Some(wire.place.clone()), is_bad: false })
            .collect();
        let n_links = links.len();
        wiring.agnostic_links(&mut links);
        wiring.spread(&mut links, diagnostics);
        links.truncate(n_links);
        for mode in wiring.inputs.iter_mut().chain(&mut wiring.outputs).flatten() {
            if mode.processing == Processing::Agnostic {
                mode.processing = Processing::Push;
            }
        }
        wiring.connections(&links, diagnostics);
        wiring
    }

    /// Takes it that packets leave elements of `class` by any output.
    pub fn flow_freely(&mut self, class: &str) {
        for idx in self.router.of_class(class) {
            self.flows.insert(self.router.elements[idx].name.clone(), "x/x".to_string());
        }
    }

    pub fn input(&self, end: Port) -> Mode {
        self.inputs[end.element][end.port]
    }

    pub fn output(&self, end: Port) -> Mode {
        self.outputs[end.element][end.port]
    }

    fn begin(&mut self, diagnostics: &mut Diagnostics) {
        let mut told = HashSet::new();
        for element in &self.router.elements {
            let class = traits(element.class(), self.facts);
            if class.is_none() && matches!(element.kind, Kind::Class(_)) && told.insert(element.class()) {
                diagnostics.warning(&element.place, format!("unknown element class '{}'", element.class()));
            }
            let code = class.and_then(|class| ProcessingCode::parse(class.processing));
            let mode = |processing: Option<Processing>| {
                let processing = processing.unwrap_or(Processing::Agnostic);
                Mode { processing, is_agnostic: processing == Processing::Agnostic }
            };
            let inputs = (0..element.n_inputs).map(|port| mode(code.as_ref().map(|code| code.input(port))));
            self.inputs.push(inputs.collect());
            let outputs =
                (0..element.n_outputs).map(|port| mode(code.as_ref().map(|code| code.output(port))));
            self.outputs.push(outputs.collect());
        }
    }

    fn agnostic_links(&self, links: &mut Vec<Link>) {
        for (idx, inputs) in self.inputs.iter().enumerate() {
            for (input, _) in
                inputs.iter().enumerate().filter(|(_, mode)| mode.processing == Processing::Agnostic)
            {
                let reached = self.forward(port(idx, input));
                for output in reached.filter(|end| self.output(*end).processing == Processing::Agnostic) {
                    links.push(Link { from: output, to: port(idx, input), place: None, is_bad: false });
                }
            }
        }
    }

    /// Lets ports that can do both follow their neighbours.
    fn spread(&mut self, links: &mut [Link], diagnostics: &mut Diagnostics) {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for link in links.iter_mut().filter(|link| !link.is_bad) {
                let from = self.output(link.from).processing;
                let to = self.input(link.to).processing;
                if to == Processing::Agnostic {
                    if from != Processing::Agnostic {
                        self.inputs[link.to.element][link.to.port].processing = from;
                        changed = true;
                    }
                } else if from == Processing::Agnostic {
                    self.outputs[link.from.element][link.from.port].processing = to;
                    changed = true;
                } else if from != to {
                    link.is_bad = true;
                    self.conflict(link, from, to, diagnostics);
                }
            }
        }
    }

    fn conflict(&self, link: &Link, from: Processing, to: Processing, diagnostics: &mut Diagnostics) {
        let [out, input] = [link.from, link.to].map(|end| &self.router.elements[end.element]);
        let (from, to) = (from.name(), to.name());
        let (out_port, in_port) = (link.from.port, link.to.port);
        match &link.place {
            None => diagnostics.error(
                &out.place,
                format!(
                    "agnostic '{}' in mixed context: {to} input {in_port}, {from} output {out_port}",
                    out.name
                ),
            ),
            Some(place) => diagnostics.error(
                place,
                format!(
                    "'{}' {from} output {out_port} connected to '{}' {to} input {in_port}",
                    out.name, input.name
                ),
            ),
        };
    }

    fn flow(&self, element: usize) -> &str {
        let element = &self.router.elements[element];
        match self.flows.get(&element.name) {
            Some(code) => code,
            None if element.is_tunnel() => "x/y",
            None => traits(element.class(), self.facts).map_or("x/x", |class| class.flow),
        }
    }

    /// The outputs that packets from an input may leave by.
    pub fn forward(&self, input: Port) -> impl Iterator<Item = Port> {
        let n_outputs = self.router.elements[input.element].n_outputs;
        let reached = port_flow(self.flow(input.element), input.port, n_outputs);
        let reached = reached.into_iter().enumerate().filter(|(_, reached)| *reached);
        reached.map(move |(output, _)| port(input.element, output))
    }

    /// The inputs from which packets may leave by an output.
    pub fn backward(&self, output: Port) -> impl Iterator<Item = Port> + '_ {
        let code = FlowCode::parse(self.flow(output.element));
        let inputs = 0..self.router.elements[output.element].n_inputs;
        let inputs =
            inputs.filter(move |input| code.as_ref().is_some_and(|code| code.reaches(*input, output.port)));
        inputs.map(move |input| port(output.element, input))
    }

    /// All ports of a side that are reached from these, through elements: inputs forwards, outputs backwards.
    pub fn follow(&self, from: Vec<Port>, side: Side) -> HashSet<Port> {
        let mut reached: HashSet<Port> = from.iter().copied().collect();
        let mut left = from;
        while let Some(end) = left.pop() {
            let through: Vec<Port> = match side {
                Side::Input => self.forward(end).collect(),
                Side::Output => self.backward(end).collect(),
            };
            for end in through.into_iter().flat_map(|end| self.router.neighbours(end, side.other())) {
                if reached.insert(end) {
                    left.push(end);
                }
            }
        }
        reached
    }
}

/// Flow codes that FlowInfo elements give to others.
fn flow_overrides(router: &Router) -> HashMap<String, String> {
    let infos = router.of_class("FlowInfo").flat_map(|idx| args::split_args(&router.elements[idx].config));
    let pairs = infos.filter_map(|info| match args::split_words(&info).as_slice() {
        [name, code] => Some((name.clone(), code.clone())),
        _ => None,
    });
    pairs.collect()
}
