//! Wiring: where each port of a checked graph leads, as flat tables for the run loop.

use std::collections::HashMap;

use element::Class;
use graph::{Checked, ElementIdx, Graph, PortIdx, Processing};

use crate::fitting::Ahead;
use crate::lanes::Lanes;
use crate::meetings::{self, Input};
use crate::readers;
use crate::turns::List;
use crate::ways::Known;

/// How an element moves packets over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Push,
    Pull,
}

/// A port that is connected to nothing.
const NOWHERE: u32 = u32::MAX;

/// An input that an output leads to, or nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    element: u32,
    /// The port. The highest bit tells whether branches meet there that began at one element, the next one whether a lane may begin
    /// there.
    port: u32,
}

impl Target {
    const NOWHERE: Target = Target { element: NOWHERE, port: 0 };
    const MEETING: u32 = 1 << 31;
    const LANE: u32 = 1 << 30;
    const PORT: u32 = Target::LANE - 1;

    /// An input at which branches meet.
    pub fn meeting((element, port): Input) -> Target {
        Target { element, port: port | Target::MEETING }
    }

    /// The element, if there is one.
    #[inline(always)]
    pub fn element(self) -> ElementIdx {
        self.element as usize
    }

    /// The element's port.
    #[inline(always)]
    pub fn port(self) -> PortIdx {
        (self.port & Target::PORT) as usize
    }

    /// Whether branches meet there that began at one element.
    #[inline(always)]
    pub fn is_meeting(self) -> bool {
        self.port & Target::MEETING != 0
    }

    /// Whether a lane may begin there.
    #[inline(always)]
    pub fn may_begin_lane(self) -> bool {
        self.port & Target::LANE != 0
    }

    /// The input, if there is one.
    #[inline]
    pub fn input(self) -> Option<Input> {
        (self.element != NOWHERE).then_some((self.element, self.port & Target::PORT))
    }
}

/// Where each port of a graph leads.
#[derive(Clone, Debug, Default)]
pub struct Wiring {
    /// First output of each element in `targets`, and one more entry at the end.
    first_output: Vec<u32>,
    /// First input of each element in `sources`, and one more entry at the end.
    first_input: Vec<u32>,
    /// For each output, the first input it is connected to.
    targets: Vec<Target>,
    /// Where output 0 of each element leads: the place that is looked up most.
    first_targets: Vec<Target>,
    /// For each element that has sent to several outputs at once, the inputs at which branches meet that begin there.
    meetings: Vec<Option<Box<[Input]>>>,
    /// For each element that has asked, whether packets that leave it may be looked at before they are stored again.
    leads_to_reader: Vec<Option<bool>>,
    /// Chains of elements that plain packets are taken through at once.
    pub lanes: Lanes,
    /// For each element that has asked, how packets may go that its tasks move.
    pub ways: Vec<Known>,
    /// For each element that has asked, where the packets come to that it sends.
    pub ahead: Vec<Option<Ahead>>,
    /// What is known of tasks that were on the list at the same time.
    pub lists: Vec<List>,
    /// Of elements that have told it, how long the packets are at most that they make.
    pub longest: HashMap<ElementIdx, usize>,
    /// Whether an element shows in what order packets come, or how many a burst has.
    pub shows_order: bool,
    /// For each input, the first output it is connected to.
    sources: Vec<(u32, u32)>,
    /// All connections, sorted by output and by input.
    by_output: Vec<[u32; 4]>,
    by_input: Vec<[u32; 4]>,
    output_is_push: Vec<bool>,
    input_is_push: Vec<bool>,
    output_is_agnostic: Vec<bool>,
    input_is_agnostic: Vec<bool>,
}

impl Wiring {
    /// The wiring of a checked graph.
    pub fn new(graph: &Graph, checked: &Checked) -> Wiring {
        let mut wiring = Wiring::default();
        for ports in &checked.ports {
            wiring.first_output.push(wiring.targets.len() as u32);
            wiring.first_input.push(wiring.sources.len() as u32);
            wiring.targets.extend(ports.outputs.iter().map(|_| Target::NOWHERE));
            wiring.sources.extend(ports.inputs.iter().map(|_| (NOWHERE, 0)));
            wiring
                .output_is_push
                .extend(ports.outputs.iter().map(|port| port.processing != Processing::Pull));
            wiring.input_is_push.extend(ports.inputs.iter().map(|port| port.processing != Processing::Pull));
            wiring.output_is_agnostic.extend(ports.outputs.iter().map(|port| port.agnostic));
            wiring.input_is_agnostic.extend(ports.inputs.iter().map(|port| port.agnostic));
        }
        wiring.first_output.push(wiring.targets.len() as u32);
        wiring.first_input.push(wiring.sources.len() as u32);
        for connection in graph.sorted_connections() {
            let (from, to) = (connection.from, connection.to);
            if let Some(slot) = slot(&wiring.first_output, from.element, from.port) {
                let (element, port) = (to.element as u32, to.port as u32);
                if wiring.targets[slot].input().is_none() {
                    wiring.targets[slot] = Target { element, port };
                }
            }
            if let Some(slot) = slot(&wiring.first_input, to.element, to.port) {
                if wiring.sources[slot].0 == NOWHERE {
                    wiring.sources[slot] = (from.element as u32, from.port as u32);
                }
            }
            wiring.by_input.push([from.element, from.port, to.element, to.port].map(|n| n as u32));
        }
        wiring.by_output = wiring.by_input.clone();
        wiring.by_output.sort_unstable();
        let first_target = |element| wiring.target_of(element, 0).unwrap_or(Target::NOWHERE);
        wiring.first_targets = (0..checked.ports.len()).map(first_target).collect();
        wiring.meetings = vec![None; checked.ports.len()];
        wiring.leads_to_reader = vec![None; checked.ports.len()];
        wiring
    }

    /// Finds where branches meet that begin at an element's push outputs.
    #[cold]
    fn find_meetings(&mut self, fork: ElementIdx) {
        let targets = |element: u32| {
            let outputs = 0..self.n_ports(element as usize).1;
            let push = outputs.filter(|port| self.output_is_push(element as usize, *port));
            push.filter_map(|port| self.target_of(element as usize, port)?.input()).collect()
        };
        let found = meetings::of(fork as u32, targets);
        for input in &found {
            for (element, port) in self.upstream(input.0 as usize, input.1 as usize) {
                let is_here = |target: &&mut Target| target.input() == Some(*input);
                let own = slot(&self.first_output, element, port).and_then(|slot| self.targets.get_mut(slot));
                let first = self.first_targets.get_mut(element);
                for target in own.into_iter().chain(first).filter(is_here) {
                    target.port |= Target::MEETING;
                }
            }
        }
        if let Some(place) = self.meetings.get_mut(fork) {
            *place = Some(found.into());
        }
        self.lanes.forget();
    }

    /// Forgets the ways that were found: an element takes packets otherwise now, or is another one.
    pub fn forget_ways(&mut self) {
        self.lanes.forget();
        self.ways.clear();
        self.ahead.clear();
        self.lists.clear();
    }

    /// An element tells how long the packets are at most that it makes from now on.
    pub fn makes_no_longer(&mut self, element: ElementIdx, bytes: usize) {
        if self.longest.insert(element, bytes) != Some(bytes) {
            self.ways.clear();
            self.lists.clear();
        }
    }

    /// Goes on with what elements have told of the packets that they make, as another wiring knows it.
    pub fn keep_lengths(&mut self, other: &Wiring, is_meant: impl Fn(ElementIdx) -> bool) {
        self.longest.extend(other.longest.iter().filter(|(idx, _)| is_meant(**idx)));
    }

    /// Finds the ways that are shorter for elements of these classes, and whether it shows who is first, or where a burst ends.
    pub fn shorten(&mut self, classes: &[&Class]) {
        self.shows_order = classes.iter().any(|class| class.shows_order) || self.loses_pulled(classes);
        self.mark_lanes(classes);
        self.pull_through(classes);
    }

    /// Whether an element may lose packets that are pulled through it: a pull that finds its packet lost ends a burst.
    fn loses_pulled(&self, classes: &[&Class]) -> bool {
        let loses = |(element, class): (ElementIdx, &&Class)| {
            let (n_inputs, n_outputs) = self.n_ports(element);
            !class.facts.drops.is_empty()
                && (0..n_inputs).any(|port| !self.input_is_push(element, port))
                && (0..n_outputs).any(|port| !self.output_is_push(element, port))
        };
        classes.iter().enumerate().any(loses)
    }

    /// Marks where lanes may begin: where an element that has a fast path feeds another one.
    fn mark_lanes(&mut self, classes: &[&Class]) {
        let has_path = |element: usize| classes.get(element).is_some_and(|class| class.fast_path.is_some());
        let begins = |(element, next): (usize, &Target)| has_path(element) && has_path(next.element());
        let begins: Vec<bool> = self.first_targets.iter().enumerate().map(begins).collect();
        for target in self.targets.iter_mut().chain(&mut self.first_targets) {
            if target.port() == 0 && begins.get(target.element()) == Some(&true) {
                target.port |= Target::LANE;
            }
        }
    }

    /// Wires who pulls from an element that is pulled through to what feeds it. Where such elements feed each other in a ring,
    /// there is nothing to pull.
    fn pull_through(&mut self, classes: &[&Class]) {
        let direct = self.sources.clone();
        for source in &mut self.sources {
            let mut n_steps = 0;
            while let Some(input) = input_behind(classes, *source) {
                let slot = slot(&self.first_input, source.0 as usize, input);
                *source = match slot.filter(|_| n_steps < direct.len()) {
                    Some(slot) => direct[slot],
                    None => (NOWHERE, 0),
                };
                n_steps += 1;
            }
        }
    }

    /// Whether an element stores packets: it is pushed to and pulled from.
    pub fn stores(&self, element: ElementIdx) -> bool {
        let (n_inputs, n_outputs) = self.n_ports(element);
        (0..n_inputs).any(|port| self.input_is_push(element, port))
            && (0..n_outputs).any(|port| !self.output_is_push(element, port))
    }

    /// Whether an element behind this one may look at packets before they are stored again. It is found out when it is first
    /// asked for.
    #[inline]
    pub fn leads_to_reader(&mut self, element: ElementIdx, classes: &[&Class]) -> bool {
        match self.leads_to_reader.get(element) {
            Some(Some(known)) => *known,
            _ => self.find_reader(element, classes),
        }
    }

    #[cold]
    fn find_reader(&mut self, element: ElementIdx, classes: &[&Class]) -> bool {
        let found = self.is_behind(element, |element| classes.get(element).is_none_or(|class| !class.blind));
        if let Some(place) = self.leads_to_reader.get_mut(element) {
            *place = Some(found);
        }
        found
    }

    /// Whether packets that leave an element come to one of those that are sought before they are stored again.
    pub fn is_behind(&self, from: ElementIdx, is_sought: impl Fn(ElementIdx) -> bool) -> bool {
        let next = |element: u32| {
            let of_port = |port| self.downstream(element as usize, port);
            let all = (0..self.n_ports(element as usize).1).flat_map(of_port);
            all.map(|(next, _)| next as u32).collect()
        };
        let stores = |element: u32| self.stores(element as usize);
        let found = readers::behind(from as u32, next, stores);
        found.into_iter().any(|element| !stores(element) && is_sought(element as usize))
    }

    /// The other ends of the connections over which an element moves packets when its task runs or packets come to it: those that it
    /// pushes to, and then those that it pulls from.
    pub fn moves(&self, element: ElementIdx) -> impl Iterator<Item = (Step, (ElementIdx, PortIdx))> + '_ {
        let (n_inputs, n_outputs) = self.n_ports(element);
        let pushes = (0..n_outputs).filter(move |port| self.output_is_push(element, *port));
        let pulls = (0..n_inputs).filter(move |port| !self.input_is_push(element, *port));
        let pushed = pushes.flat_map(move |port| self.downstream(element, port)).map(|end| (Step::Push, end));
        let pulled = pulls.flat_map(move |port| self.upstream(element, port)).map(|end| (Step::Pull, end));
        pushed.chain(pulled)
    }

    /// The input that a push output leads to.
    #[inline(always)]
    pub fn target(&self, element: ElementIdx, port: PortIdx) -> Option<Target> {
        let target = match port {
            0 => *self.first_targets.get(element)?,
            _ => self.target_of(element, port)?,
        };
        (target.element != NOWHERE).then_some(target)
    }

    #[inline(never)]
    fn target_of(&self, element: ElementIdx, port: PortIdx) -> Option<Target> {
        self.targets.get(slot(&self.first_output, element, port)?).copied()
    }

    /// The inputs at which branches meet that begin at an element's push outputs, the nearest last.
    /// They are looked for when they are first asked for: in a large graph most elements never are.
    #[inline]
    pub fn meetings(&mut self, element: ElementIdx) -> &[Input] {
        if let Some(None) = self.meetings.get(element) {
            self.find_meetings(element);
        }
        self.meetings.get(element).and_then(Option::as_deref).unwrap_or_default()
    }

    /// The output that a pull input is fed by.
    #[inline]
    pub fn source(&self, element: ElementIdx, port: PortIdx) -> Option<(ElementIdx, PortIdx)> {
        let (element, port) = self.sources[slot(&self.first_input, element, port)?];
        (element != NOWHERE).then_some((element as usize, port as usize))
    }

    /// Number of inputs and outputs of an element.
    #[inline]
    pub fn n_ports(&self, element: ElementIdx) -> (usize, usize) {
        let count = |first: &[u32]| match first.get(element..element + 2) {
            Some(&[from, to]) => (to - from) as usize,
            _ => 0,
        };
        (count(&self.first_input), count(&self.first_output))
    }

    /// Whether an output is push.
    pub fn output_is_push(&self, element: ElementIdx, port: PortIdx) -> bool {
        slot(&self.first_output, element, port).is_some_and(|slot| self.output_is_push[slot])
    }

    /// Whether an input is push.
    pub fn input_is_push(&self, element: ElementIdx, port: PortIdx) -> bool {
        slot(&self.first_input, element, port).is_some_and(|slot| self.input_is_push[slot])
    }

    /// Whether the same ports are connected as in another wiring.
    pub fn has_same_connections(&self, other: &Wiring) -> bool {
        self.by_output == other.by_output
    }

    /// Whether an element has the same ports here as in another wiring: as many, each as it was.
    pub fn has_same_ports(&self, other: &Wiring, element: ElementIdx) -> bool {
        let (n_inputs, n_outputs) = self.n_ports(element);
        let is_same_input = |port| self.input_is_push(element, port) == other.input_is_push(element, port);
        let is_same_output = |port| self.output_is_push(element, port) == other.output_is_push(element, port);
        other.n_ports(element) == (n_inputs, n_outputs)
            && (0..n_inputs).all(is_same_input)
            && (0..n_outputs).all(is_same_output)
    }

    /// Whether an output's class left open how it passes packets.
    pub fn output_is_agnostic(&self, element: ElementIdx, port: PortIdx) -> bool {
        slot(&self.first_output, element, port).is_some_and(|slot| self.output_is_agnostic[slot])
    }

    /// Whether an input's class left open how it passes packets.
    pub fn input_is_agnostic(&self, element: ElementIdx, port: PortIdx) -> bool {
        slot(&self.first_input, element, port).is_some_and(|slot| self.input_is_agnostic[slot])
    }

    /// The inputs connected to an output.
    pub fn downstream(&self, element: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)> {
        let key = |c: &[u32; 4]| (c[0] as usize, c[1] as usize);
        let begin = self.by_output.partition_point(|c| key(c) < (element, port));
        let matching = self.by_output[begin..].iter().take_while(|c| key(c) == (element, port));
        matching.map(|c| (c[2] as usize, c[3] as usize)).collect()
    }

    /// The outputs connected to an input.
    pub fn upstream(&self, element: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)> {
        let key = |c: &[u32; 4]| (c[2] as usize, c[3] as usize);
        let begin = self.by_input.partition_point(|c| key(c) < (element, port));
        let matching = self.by_input[begin..].iter().take_while(|c| key(c) == (element, port));
        matching.map(|c| (c[0] as usize, c[1] as usize)).collect()
    }
}

/// The input whose source is pulled from instead of an output.
fn input_behind(classes: &[&Class], (element, output): (u32, u32)) -> Option<PortIdx> {
    let (through, input) = classes.get(element as usize)?.pulls_through?;
    (through == output as usize).then_some(input)
}

#[inline]
fn slot(first: &[u32], element: ElementIdx, port: PortIdx) -> Option<usize> {
    let slot = *first.get(element)? as usize + port;
    (slot < *first.get(element + 1)? as usize).then_some(slot)
}
