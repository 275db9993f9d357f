//! Adding Align elements where packets would not begin as an element wants, and taking out those that change nothing.

mod alignment;
mod rules;

use graph::{Diagnostics, Place};
use lang::Kind;

use self::alignment::Alignment;
use self::rules::{Effect, Rule};
use crate::router::{port, Element, Port, Router, Side};

/// Where elements stand that are added.
const PLACE: &str = "<click-align>";

/// Aligns the packets of a flat router for processors that read words only at aligned addresses, and notes down in an
/// AlignmentInfo where packets begin.
pub fn align(router: &mut Router, verbose: bool, diagnostics: &mut Diagnostics) {
    let mut work = Work::new(router);
    let have = work.have(diagnostics);
    let want = work.want();
    work.insert_aligns(&have, &want, |message| {
        if verbose {
            diagnostics.message(&Place::default(), message);
        }
    });
    work.join_neighbours();
    let have = work.have(&mut Diagnostics::default());
    let mut adjusted = have.clone();
    work.adjust(&mut adjusted);
    work.insert_aligns(&have, &adjusted, |_| ());
    while work.skip_redundant() {}
    work.remove_unused();
    work.note_down();
    if work.n_added > 0 {
        let s = if work.n_added > 1 { "s" } else { "" };
        let message = format!("added {} Align element{s}", work.n_added);
        diagnostics.warning(&Place::default(), message);
    }
}

/// Adds CheckAlign elements in front of the elements of a flat router that want packets to be aligned.
pub fn assert_alignment(router: &mut Router, diagnostics: &mut Diagnostics) {
    let mut work = Work::new(router);
    let rules = work.rules(diagnostics);
    let mut want = work.survey();
    work.step_want(&rules, &mut want);
    for at in work.inputs() {
        let wanted = want.input(at);
        if wanted.modulus() > 1 {
            let config = format!("{}, {}, ASSERT true", wanted.modulus(), wanted.offset());
            work.insert_before(at, "CheckAlign", config);
        }
    }
}

/// The router that is worked on.
struct Work<'a> {
    router: &'a mut Router,
    /// How many elements there were in the beginning: those that are added need no alignment.
    n_elements: usize,
    /// The number in the next name.
    number: usize,
    /// How many Align elements were added, and are still there.
    n_added: usize,
}

/// What is known or wanted of the packets at each port.
#[derive(Clone, PartialEq)]
struct Survey {
    inputs: Vec<Vec<Alignment>>,
    outputs: Vec<Vec<Alignment>>,
}

impl Survey {
    fn input(&self, at: Port) -> Alignment {
        look_up(&self.inputs, at)
    }

    fn output(&self, at: Port) -> Alignment {
        look_up(&self.outputs, at)
    }
}

fn look_up(list: &[Vec<Alignment>], at: Port) -> Alignment {
    list.get(at.element).and_then(|ports| ports.get(at.port)).copied().unwrap_or(Alignment::Unknown)
}

fn change(list: &mut [Vec<Alignment>], at: Port, change: impl FnOnce(Alignment) -> Alignment) {
    if let Some(place) = list.get_mut(at.element).and_then(|ports| ports.get_mut(at.port)) {
        *place = change(*place);
    }
}

impl<'a> Work<'a> {
    fn new(router: &'a mut Router) -> Work<'a> {
        let n_elements = router.elements.len();
        let mut number = n_elements + 1;
        while router.find(&format!("Align@click_align@{number}")).is_some() {
            number += 1;
        }
        Work { router, n_elements, number, n_added: 0 }
    }

    fn rules(&self, diagnostics: &mut Diagnostics) -> Vec<Rule> {
        self.router.elements.iter().map(|element| rules::rule(element, diagnostics)).collect()
    }

    /// The connected inputs of the elements that were there in the beginning.
    fn inputs(&self) -> Vec<Port> {
        let elements = self.router.elements.iter().take(self.n_elements).enumerate();
        elements.flat_map(|(idx, element)| (0..element.n_inputs).map(move |at| port(idx, at))).collect()
    }

    /// Nothing is known of any port.
    fn survey(&self) -> Survey {
        let ports = |n_ports: fn(&Element) -> usize| {
            self.router.elements.iter().map(|element| vec![Alignment::Unknown; n_ports(element)]).collect()
        };
        Survey { inputs: ports(|element| element.n_inputs), outputs: ports(|element| element.n_outputs) }
    }

    /// More steps than there are connections change nothing, unless packets run in circles.
    fn n_steps(&self) -> usize {
        2 * self.router.connections.len() + 100
    }

    /// What is known of the packets at each port.
    fn have(&self, diagnostics: &mut Diagnostics) -> Survey {
        let rules = self.rules(diagnostics);
        let mut have = self.survey();
        for _ in 0..self.n_steps() {
            for (idx, rule) in rules.iter().enumerate() {
                have.outputs[idx] = self.flow(idx, rule.have, &have.inputs[idx], Side::Output);
            }
            let mut inputs = self.survey().inputs;
            for wire in self.router.wires() {
                let known = have.output(wire.from);
                change(&mut inputs, wire.to, |other| other.or(known));
            }
            if std::mem::replace(&mut have.inputs, inputs) == have.inputs {
                break;
            }
        }
        have
    }

    /// What is wanted of the packets at each port.
    fn want(&self) -> Survey {
        let rules = self.rules(&mut Diagnostics::default());
        let mut want = self.survey();
        for _ in 0..self.n_steps() {
            self.step_want(&rules, &mut want);
            let mut outputs = self.survey().outputs;
            for wire in self.router.wires() {
                let wanted = want.input(wire.to);
                change(&mut outputs, wire.from, |other| other.and(wanted));
            }
            if std::mem::replace(&mut want.outputs, outputs) == want.outputs {
                break;
            }
        }
        want
    }

    /// What is wanted at inputs, given what is wanted at outputs.
    fn step_want(&self, rules: &[Rule], want: &mut Survey) {
        for (idx, rule) in rules.iter().enumerate() {
            want.inputs[idx] = self.flow(idx, rule.want, &want.outputs[idx], Side::Input);
        }
    }

    /// What holds at the ports of one side of an element, given what holds at `others`, those of the other side.
    fn flow(&self, element: usize, effect: Effect, others: &[Alignment], side: Side) -> Vec<Alignment> {
        let element = &self.router.elements[element];
        let (n_ports, join): (_, fn(Alignment, Alignment) -> Alignment) = match side {
            Side::Output => (element.n_outputs, Alignment::or),
            Side::Input => (element.n_inputs, Alignment::and),
        };
        let shift = |alignment: Alignment, n: i64| match side {
            Side::Output => alignment.shifted(n),
            Side::Input => alignment.shifted(-n),
        };
        let free = Alignment::At { modulus: 1, offset: 0 };
        match effect {
            Effect::Fixed(alignment) => vec![alignment; n_ports],
            Effect::Shift(n) => {
                vec![shift(others.iter().copied().reduce(join).unwrap_or(free), n); n_ports]
            }
            Effect::FirstShifts(..) if others.is_empty() && side == Side::Output => {
                vec![Alignment::Unknown; n_ports]
            }
            Effect::FirstShifts(n, alignment) => {
                let first = others.first().map_or(alignment, |first| shift(*first, n));
                (0..n_ports).map(|port| if port == 0 { first } else { alignment }).collect()
            }
            Effect::Pass => vec![others.iter().copied().fold(Alignment::Unknown, join); n_ports],
        }
    }

    /// Puts what elements that take any alignment to words want in the place of what is known.
    fn adjust(&self, survey: &mut Survey) {
        for (idx, rule) in self.rules(&mut Diagnostics::default()).iter().enumerate() {
            let inputs = &mut survey.inputs[idx];
            if let (true, Some(known)) = (rule.adjusts, inputs.iter().copied().reduce(Alignment::or)) {
                let enough = Alignment::At { modulus: 4, offset: known.offset() };
                inputs.fill(if known.modulus() < 4 { enough } else { known });
            }
        }
    }

    /// Puts an element in front of an input.
    fn insert_before(&mut self, at: Port, class: &str, config: String) {
        let idx = self.add(class, config);
        let place = self.router.elements[idx].place.clone();
        let coming = self.router.at(at, Side::Input);
        self.router.connect(port(idx, 0), at, place);
        for connection in coming {
            self.router.reconnect(connection, Side::Input, port(idx, 0));
        }
    }

    fn add(&mut self, class: &str, config: String) -> usize {
        let place = Place { file: Some(PLACE.into()), line: 0, column: 0 };
        let name = format!("{class}@click_align@{}", self.number);
        self.number += 1;
        self.router.get_or_add(Element::new(name, Kind::Class(class.to_string()), config, place))
    }

    /// Puts an Align wherever packets are not known to be aligned as wanted, if they can be.
    fn insert_aligns(&mut self, have: &Survey, want: &Survey, mut tell: impl FnMut(String)) {
        for at in self.inputs() {
            let (known, wanted) = (have.input(at), want.input(at));
            if known.meets(wanted) || wanted == Alignment::Impossible {
                continue;
            }
            let (modulus, offset) = (wanted.modulus(), wanted.offset());
            let name = &self.router.elements[at.element].name;
            tell(format!("{name}[{}]: adding Align({modulus}, {offset}) to fix {known}", at.port));
            self.insert_before(at, "Align", format!("{modulus}, {offset}"));
            self.n_added += 1;
        }
    }

    /// Leads packets around the first of two Aligns in a row, where the second does not need it.
    fn join_neighbours(&mut self) {
        for wire in self.router.wire_numbers() {
            if self.router.wire(wire).is_dead {
                continue;
            }
            let (from, to) = (self.router.wire(wire).from, self.router.wire(wire).to);
            let align = |at: Port| {
                let element = &self.router.elements[at.element];
                (at.port == 0 && element.is("Align")).then(|| rules::of_align(element))
            };
            let (Some(first), Some(second)) = (align(from), align(to)) else { continue };
            if first.meets(second) {
                // The second is redundant, and goes later.
                continue;
            }
            let coming = self.router.at(port(from.element, 0), Side::Input);
            if let ([_], [only]) = (self.router.at(to, Side::Input).as_slice(), coming.as_slice()) {
                let source = self.router.end(*only, Side::Output);
                self.router.reconnect(wire, Side::Output, source);
            } else if self.router.at(from, Side::Output).len() == 1 {
                for connection in coming {
                    self.router.reconnect(connection, Side::Input, to);
                }
                self.router.disconnect(wire);
            }
        }
    }

    /// Leads packets around Aligns that they need not pass; whether there were any.
    fn skip_redundant(&mut self) -> bool {
        let have = self.have(&mut Diagnostics::default());
        let mut changed = false;
        let mut wire = 0;
        while wire < self.router.connections.len() {
            let (from, to) = (self.router.wire(wire).from, self.router.wire(wire).to);
            let is_align = !self.router.wire(wire).is_dead && self.router.elements[to.element].is("Align");
            if is_align && have.output(from).meets(have.output(port(to.element, 0))) {
                changed = true;
                for next in self.router.neighbours(to, Side::Output) {
                    self.router.connect(from, next, Place::default());
                }
                self.router.disconnect(wire);
            }
            wire += 1;
        }
        self.router.remove_repeated();
        changed
    }

    /// Takes out what packets no longer pass, and what was noted down before.
    fn remove_unused(&mut self) {
        for idx in self.router.of_class("AlignmentInfo").collect::<Vec<_>>() {
            self.router.kill(idx);
        }
        let is_unused =
            |element: &Element| element.is("Align") && (element.n_inputs == 0 || element.n_outputs == 0);
        loop {
            let unused: Vec<usize> =
                self.router.live().filter(|idx| is_unused(&self.router.elements[*idx])).collect();
            if unused.is_empty() {
                break;
            }
            for idx in unused {
                let is_ours = self.router.elements[idx].place.file.as_deref() == Some(PLACE);
                self.n_added -= usize::from(is_ours);
                self.router.kill(idx);
            }
        }
        self.router.compact();
    }

    /// Adds an AlignmentInfo that tells where the packets of elements begin that ask.
    fn note_down(&mut self) {
        let have = self.have(&mut Diagnostics::default());
        let mut lines = Vec::new();
        for (element, known) in self.router.elements.iter().zip(&have.inputs) {
            if rules::asks(element.class()) && !known.is_empty() {
                let ports = known.iter().map(|at| format!("  {} {}", at.modulus(), at.offset()));
                lines.push(element.name.clone() + &ports.collect::<String>());
            }
        }
        if !lines.is_empty() {
            self.add("AlignmentInfo", lines.join(",\n  "));
        }
    }
}

#[cfg(test)]
mod tests;
