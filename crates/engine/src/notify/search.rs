//! Searches for notifiers, and what they found.

use std::collections::HashSet;

use element::{ElementIdx, PortIdx, SearchOp, Signal, Wake};
use graph::FlowCode;
use smallvec::SmallVec;

use super::{Kind, Listener};
use crate::world::World;

/// A search that an element made, and what was found.
#[derive(Clone, Debug)]
pub struct Searched {
    pub element: ElementIdx,
    pub port: PortIdx,
    pub kind: Kind,
    pub wake: Wake,
    pub found: Found,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Something that does not notify.
    Busy,
    /// Nothing.
    Idle,
    /// These notifiers.
    AnyOf(SmallVec<[u32; 2]>),
}

impl World {
    /// Searches for notifiers from a port of `element`: upstream for empty ones, downstream for full ones.
    pub fn search_notifiers(&mut self, element: ElementIdx, port: PortIdx, kind: Kind, wake: Wake) -> Signal {
        let found = self.look_for_notifiers(element, port, kind, wake);
        Signal::Found(self.notifiers.number(Searched { element, port, kind, wake, found }))
    }

    /// Makes all searches anew after the graph has changed, and wakes those who find something that is active.
    pub(crate) fn search_anew(&mut self) {
        self.notifiers.list.iter_mut().for_each(|notifier| notifier.listeners.clear());
        for at in 0..self.notifiers.searches.len() {
            let Some(Some(made)) = self.notifiers.searches.get(at) else { continue };
            let Searched { element, port, kind, wake, .. } = *made;
            let found = self.look_for_notifiers(element, port, kind, wake);
            let Some(Some(made)) = self.notifiers.searches.get_mut(at) else { continue };
            let is_other = std::mem::replace(&mut made.found, found.clone()) != found;
            if is_other && self.notifiers.is_found_active(&found) {
                self.wake_listener(Listener { element, wake });
            }
        }
    }

    fn look_for_notifiers(&mut self, element: ElementIdx, port: PortIdx, kind: Kind, wake: Wake) -> Found {
        let mut search = Search { kind, found: Vec::new(), busy: false, wakes_beyond: false };
        search.run(self, element, port, false);
        if search.busy {
            return Found::Busy;
        }
        // What is beyond a notifier that speaks for it only wakes the listeners.
        let n_heeded = search.found.len();
        if search.wakes_beyond {
            search.run(self, element, port, true);
        }
        if wake != Wake::Nobody {
            for id in &search.found {
                self.notifiers.listen(*id, Listener { element, wake });
            }
        }
        if search.found.is_empty() {
            return Found::Idle;
        }
        let mut ids: SmallVec<[u32; 2]> = SmallVec::from_slice(&search.found[..n_heeded]);
        ids.sort_unstable();
        ids.dedup();
        Found::AnyOf(ids)
    }
}

struct Search {
    kind: Kind,
    /// One that several ports of its element lead to is there as often.
    found: Vec<u32>,
    busy: bool,
    wakes_beyond: bool,
}

impl Search {
    /// Visits the far ends of a port's connections and, through elements, what is beyond them, breadth first.
    fn run(&mut self, world: &World, element: ElementIdx, port: PortIdx, second: bool) {
        let mut frontier = vec![(element, port)];
        let mut seen: HashSet<(ElementIdx, PortIdx)> = HashSet::new();
        while !frontier.is_empty() && (second || !self.busy) {
            let mut next = Vec::new();
            for (element, port) in std::mem::take(&mut frontier) {
                let ends = match self.kind {
                    Kind::Empty => world.wiring.upstream(element, port),
                    Kind::Full => world.wiring.downstream(element, port),
                };
                for end in ends {
                    if seen.insert(end) && self.visit(world, end, second) {
                        next.extend(beyond(world, end, self.kind));
                    }
                }
            }
            frontier = next;
        }
    }

    /// Looks at a port; true if the search goes on beyond its element.
    fn visit(&mut self, world: &World, (element, port): (ElementIdx, PortIdx), second: bool) -> bool {
        if let Some(id) = world.notifiers.of(element, self.kind) {
            self.found.push(id);
            return match world.notifiers.list[id as usize].search {
                SearchOp::Stop => false,
                SearchOp::Continue => true,
                SearchOp::ContinueWake => {
                    self.wakes_beyond |= !second;
                    second
                }
            };
        }
        if self.kind == Kind::Empty && world.classes[element].dormant {
            return false;
        }
        let turned = match self.kind {
            Kind::Empty => world.wiring.output_is_push(element, port),
            Kind::Full => !world.wiring.input_is_push(element, port),
        };
        let ends_here = beyond(world, (element, port), self.kind).is_empty();
        if turned || (ends_here && world.classes[element].generates) {
            self.busy = true;
            return false;
        }
        true
    }
}

/// The ports on the other side of an element that packets through `port` come from or go to.
fn beyond(world: &World, (element, port): (ElementIdx, PortIdx), kind: Kind) -> Vec<(ElementIdx, PortIdx)> {
    let (n_inputs, n_outputs) = world.wiring.n_ports(element);
    let own = world.flow_codes.get(&element).map(String::as_str);
    let Some(flow) = FlowCode::parse(own.unwrap_or(world.classes[element].facts.flow)) else {
        return Vec::new();
    };
    match kind {
        Kind::Empty => (0..n_inputs).filter(|i| flow.reaches(*i, port)).map(|i| (element, i)).collect(),
        Kind::Full => (0..n_outputs).filter(|o| flow.reaches(port, *o)).map(|o| (element, o)).collect(),
    }
}
