//! Lanes: chains of elements that the engine takes plain packets through at once, by their joint fast path; and fans, where an
//! element sends packets by several outputs to lanes that end at one input.

use element::fast_path::{self, FastPath};
use element::{Batch, ElementIdx, PortIdx};

use crate::flow::Step;
use crate::meetings::Input;
use crate::wiring::{Target, Wiring};
use crate::world::World;

/// Most elements of a lane.
const LONGEST: usize = 16;

/// In the number of an output: it is output 0 of the element with the rest of the number.
const OF_ELEMENT: u32 = 1 << 31;

/// A chain of elements that follow each other by output 0 and input 0.
#[derive(Clone, Debug)]
struct Lane {
    path: FastPath,
    last: ElementIdx,
}

/// The lanes behind the outputs of an element that end at one input.
#[derive(Clone, Debug)]
struct Fan {
    paths: fast_path::Fan,
    /// What leads to where they end: an output, or that of an element.
    exit: PortIdx,
}

/// The lanes that are known, by the element that they begin at, and the fans, by the element that they begin behind.
#[derive(Clone, Debug, Default)]
pub struct Lanes {
    chains: Known<Lane>,
    fans: Known<Fan>,
}

/// What is known of each element. It is looked for when it is first needed.
#[derive(Clone, Debug)]
struct Known<T>(Vec<Option<Option<Box<T>>>>);

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known(Vec::new())
    }
}

impl<T> Known<T> {
    /// What there is for an element, if that is known.
    #[inline(always)]
    fn get(&self, element: ElementIdx) -> Option<Option<&T>> {
        self.0.get(element)?.as_ref().map(Option::as_deref)
    }

    fn set(&mut self, element: ElementIdx, found: Option<T>) {
        if self.0.len() <= element {
            self.0.resize_with(element + 1, || None);
        }
        self.0[element] = Some(found.map(Box::new));
    }
}

impl Lanes {
    /// Forgets all: an element has another fast path now, or is another one.
    pub fn forget(&mut self) {
        self.chains.0.clear();
        self.fans.0.clear();
    }
}

impl Wiring {
    /// The input that a fan's exit leads to, if that is the output of an element at its end.
    #[cold]
    pub(crate) fn end_of_fan(&self, exit: u32) -> Option<Target> {
        let last = (exit & OF_ELEMENT != 0).then_some(exit & !OF_ELEMENT)?;
        self.target(last as ElementIdx, 0)
    }
}

impl World {
    /// Takes packets of a batch along the lane that begins at an input, up to the first that is not plain; that one and those
    /// behind it are left for afterwards. Returns the element that the others leave; `None` if not even the first is plain.
    #[inline]
    pub(crate) fn take_lane(&mut self, to: Target, batch: &mut Batch) -> Option<ElementIdx> {
        let first = to.element();
        let Some(known) = self.wiring.lanes.chains.get(first) else {
            self.find_lane(first);
            return None;
        };
        let lane = known?;
        let n = lane.path.take(batch);
        let last = lane.last;
        if n < batch.len() {
            if n == 0 {
                return None;
            }
            let plain = batch.split_first(n);
            self.stack.push(Step::new(to, std::mem::replace(batch, plain)));
        }
        Some(last)
    }

    /// The lanes behind the outputs of an element that end at one input, and what leads there.
    pub(crate) fn fan_behind(&mut self, element: ElementIdx) -> Option<(&fast_path::Fan, PortIdx)> {
        if self.wiring.lanes.fans.get(element).is_none() {
            self.find_fan(element);
        }
        self.wiring.lanes.fans.get(element).flatten().map(|fan| (&fan.paths, fan.exit))
    }

    /// Looks for the lane that begins at an element.
    #[cold]
    fn find_lane(&mut self, first: ElementIdx) {
        let lane = self.lane(first).filter(|lane| lane.last != first);
        self.wiring.lanes.chains.set(first, lane);
    }

    /// The lane that begins at an element, which may be its end, too.
    fn lane(&self, first: ElementIdx) -> Option<Lane> {
        let mut lane = Lane { path: self.fast_path(first)?, last: first };
        for _ in 1..LONGEST {
            let next = self.wiring.target(lane.last, 0).filter(|_| self.wiring.output_is_push(lane.last, 0));
            // At a meeting others may wait.
            let Some(next) = next.filter(|next| next.port() == 0 && !next.is_meeting()) else { break };
            let own = self.fast_path(next.element());
            let Some(path) = own.and_then(|own| lane.path.then(&own)) else { break };
            lane = Lane { path, last: next.element() };
        }
        Some(lane)
    }

    /// Looks for the fan behind an element: the lanes that most of its outputs lead to, and that meet. An output that leads there at
    /// once is a lane without elements.
    #[cold]
    fn find_fan(&mut self, element: ElementIdx) {
        // Where branches meet is marked thereby.
        let can_meet = !self.wiring.meetings(element).is_empty();
        let n_outputs = if can_meet { self.wiring.n_ports(element).1 } else { 0 };
        let outputs: Vec<Option<(Input, u32, FastPath)>> =
            (0..n_outputs).map(|port| self.way_from(element, port)).collect();
        let mut ends: Vec<(Input, u32)> =
            outputs.iter().flatten().map(|(end, exit, _)| (*end, *exit)).collect();
        ends.sort_unstable();
        let most =
            ends.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1).max_by_key(|same| same.len());
        let fan = most.map(|same| {
            let (end, exit) = same[0];
            let paths = outputs.into_iter().map(|way| way.filter(|way| way.0 == end).map(|(.., path)| path));
            Fan { paths: paths.collect(), exit: exit as PortIdx }
        });
        self.wiring.lanes.fans.set(element, fan);
    }

    /// Where packets that leave by an output come by a lane, the output that they leave there by, and the lane's path.
    fn way_from(&self, element: ElementIdx, port: PortIdx) -> Option<(Input, u32, FastPath)> {
        let target = self.wiring.target(element, port)?;
        let may_begin = target.port() == 0 && !target.is_meeting();
        match self.lane(target.element()).filter(|_| may_begin) {
            Some(Lane { path, last }) => {
                let end = self.wiring.target(last, 0).filter(|_| self.wiring.output_is_push(last, 0))?;
                Some((end.input()?, OF_ELEMENT | last as u32, path))
            }
            None => Some((target.input()?, port as u32, FastPath::default())),
        }
    }

    /// The fast path of an element as it is now.
    fn fast_path(&self, element: ElementIdx) -> Option<FastPath> {
        let fast_path = self.classes.get(element)?.fast_path?;
        fast_path(self.slots.get(element)?.as_deref()?)
    }
}
