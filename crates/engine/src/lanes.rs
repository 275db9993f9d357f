//! Lanes: chains of elements that the engine takes plain packets through at once, by their joint fast path.

use element::fast_path::FastPath;
use element::{Batch, ElementIdx};

use crate::flow::Step;
use crate::wiring::Target;
use crate::world::World;

/// Most elements of a lane.
const LONGEST: usize = 16;

/// A chain of elements that follow each other by output 0 and input 0.
#[derive(Clone, Debug)]
pub struct Lane {
    path: FastPath,
    last: ElementIdx,
}

/// The lanes that are known, by the element that they begin at.
#[derive(Clone, Debug, Default)]
pub struct Lanes(Vec<State>);

#[derive(Clone, Debug, Default)]
enum State {
    /// It is looked for when it is first needed.
    #[default]
    Unknown,
    None,
    Found(Box<Lane>),
}

impl Lanes {
    /// Forgets all: an element has another fast path now, or is another one.
    pub fn forget(&mut self) {
        self.0.clear();
    }

    fn set(&mut self, first: ElementIdx, state: State) {
        if self.0.len() <= first {
            self.0.resize_with(first + 1, State::default);
        }
        self.0[first] = state;
    }
}

impl World {
    /// Takes packets of a batch along the lane that begins at an input, up to the first that is not plain; that one and those
    /// behind it are left for afterwards. Returns the element that the others leave; `None` if not even the first is plain.
    #[inline]
    pub(crate) fn take_lane(&mut self, to: Target, batch: &mut Batch) -> Option<ElementIdx> {
        let first = to.element();
        let lane = match self.wiring.lanes.0.get(first) {
            Some(State::Found(lane)) => lane,
            Some(State::None) => return None,
            Some(State::Unknown) | None => {
                self.find_lane(first);
                return None;
            }
        };
        let n = lane.path.take(batch);
        let last = lane.last;
        if n < batch.len() {
            if n == 0 {
                return None;
            }
            let mut plain = Batch::new();
            plain.extend(batch.drain_first(n));
            self.stack.push(Step::new(to, std::mem::replace(batch, plain)));
        }
        Some(last)
    }

    /// Looks for the lane that begins at an element.
    #[cold]
    fn find_lane(&mut self, first: ElementIdx) {
        let mut found: Option<FastPath> = None;
        let (mut at, mut last) = (first, first);
        for _ in 0..LONGEST {
            let Some(own) = self.fast_path(at) else { break };
            let joined = match &found {
                Some(path) => path.then(&own),
                None => Some(own),
            };
            let Some(joined) = joined else { break };
            (found, last) = (Some(joined), at);
            match self.wiring.target(at, 0).filter(|_| self.wiring.output_is_push(at, 0)) {
                // At a meeting others may wait.
                Some(next) if next.port() == 0 && !next.is_meeting() => at = next.element(),
                _ => break,
            }
        }
        let lane = found.filter(|_| last != first).map(|path| Box::new(Lane { path, last }));
        self.wiring.lanes.set(first, lane.map_or(State::None, State::Found));
    }

    /// The fast path of an element as it is now.
    fn fast_path(&self, element: ElementIdx) -> Option<FastPath> {
        let fast_path = self.classes.get(element)?.fast_path?;
        fast_path(self.slots.get(element)?.as_deref()?)
    }
}
