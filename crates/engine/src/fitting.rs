//! How many packets may set out at a time, so that the queues that they come to have room for them.

use element::{Causes, ElementIdx};

use crate::readers;
use crate::wiring::Step;
use crate::world::World;

/// Runs in which the queues must be emptied before a larger burst is tried once one was too large.
const CALM: u32 = 64;

/// Where the packets come to that an element sends.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The elements that store them.
    stores: Box<[Filled]>,
    /// Whether an element looks at how many are stored, and may drop the more.
    is_looked_at: bool,
    pace: Pace,
}

/// An element that stores them.
#[derive(Clone, Debug)]
struct Filled {
    element: ElementIdx,
    /// At the last look, how often it had been emptied, and packets that had been taken out.
    n_emptied: u32,
    n_taken: u32,
}

/// How many packets go at a time.
#[derive(Clone, Debug)]
struct Pace {
    burst: usize,
    /// Runs since the queues were last found not to have been emptied.
    n_calm: u32,
    /// Whether they ever were found so, and whether at the last look.
    was_late: bool,
    is_late: bool,
}

impl Pace {
    /// At the start.
    const BEGIN: Pace = Pace { burst: 1, n_calm: 0, was_late: false, is_late: false };

    /// How many packets to send now, `most` at most. `n_taken`: packets that were taken since the last run out of the queue that is emptied
    /// most slowly; `None` if all have been emptied.
    fn next(&mut self, n_taken: Option<usize>, most: usize) -> usize {
        let Some(n_taken) = n_taken else {
            self.is_late = false;
            self.n_calm = (self.n_calm + 1) % CALM;
            if !self.was_late || self.n_calm == 0 {
                self.burst *= 2;
            }
            self.burst = self.burst.min(most);
            return self.burst;
        };
        (self.burst, self.n_calm, self.was_late) = ((self.burst / 2).max(1), 0, true);
        if !std::mem::replace(&mut self.is_late, true) {
            return 0;
        }
        // They are emptied more slowly whatever comes: as many go as are taken out, as would one by one.
        self.burst = n_taken.clamp(1, most);
        self.burst
    }
}

impl World {
    /// Of a burst that the user did not ask for, how many packets an element may send in this run so that what comes of them is what comes of
    /// single ones: none are lost in queues for want of room, and none are left there at the end, where single ones would not be. The burst
    /// grows as long as the queues are emptied between two runs. None are to be sent in the run after one that was too large.
    ///
    /// Where somebody sees their order, packets that part on the way are put in order where they meet, and what is told of them is told in
    /// order, if that is all that it takes; to move them causes `own`. In a turn each run moves one.
    pub(crate) fn fitting(&mut self, element: ElementIdx, burst: usize, own: Causes) -> usize {
        let n = self.fitting_ahead(element, burst);
        if n > 1 && self.wiring.shows_order && own != Causes::ANYTHING {
            self.explore(element, own);
            if self.way(element).is_some() {
                self.go_together(element);
            }
        }
        n
    }

    fn fitting_ahead(&mut self, element: ElementIdx, burst: usize) -> usize {
        if self.turn.is_on() {
            return 1;
        }
        if !matches!(self.wiring.ahead.get(element), Some(Some(_))) {
            self.look_ahead(element);
        }
        let Some(Some(ahead)) = self.wiring.ahead.get_mut(element) else { return burst };
        if ahead.is_looked_at {
            return 1;
        }
        let (mut left, mut n_taken) = (usize::MAX, None);
        for filled in &mut ahead.stores {
            let Some(room) = self.slots.get(filled.element).and_then(|store| store.as_ref()?.room()) else {
                continue;
            };
            if !room.is_empty && room.n_emptied == filled.n_emptied {
                let n = room.n_taken.wrapping_sub(filled.n_taken) as usize;
                n_taken = Some(n_taken.map_or(n, |least: usize| least.min(n)));
            }
            (filled.n_emptied, filled.n_taken) = (room.n_emptied, room.n_taken);
            left = left.min(room.left);
        }
        if left == usize::MAX {
            return burst;
        }
        match ahead.pace.next(n_taken, burst) {
            0 => 0,
            // Half of the room is left to copies and to others that send there; one may always go.
            n => n.min(left / 2).max(1),
        }
    }

    #[cold]
    fn look_ahead(&mut self, begin: ElementIdx) {
        let (stores, passed) = self.reached(begin);
        let causes = passed.into_iter().filter_map(|element| self.causes(element));
        let is_looked_at = causes
            .filter(|causes| *causes != Causes::ANYTHING)
            .any(|causes| causes.include(Causes::LOOKS_AT_STORES));
        let stores = stores.into_iter().map(|element| Filled { element, n_emptied: 0, n_taken: 0 }).collect();
        self.wiring.ahead.resize_with(self.slots.len(), || None);
        if let Some(place) = self.wiring.ahead.get_mut(begin) {
            *place = Some(Ahead { stores, is_looked_at, pace: Pace::BEGIN });
        }
    }

    /// The elements that store packets which a task of an element moves, but for those that it takes them from, and the elements that it pulls
    /// or pushes them through.
    fn reached(&self, begin: ElementIdx) -> (Vec<ElementIdx>, Vec<ElementIdx>) {
        let wiring = &self.wiring;
        // Each number is an element, and whether packets are pushed to it.
        let number =
            |(step, (next, _)): (Step, (ElementIdx, _))| next as u32 * 2 + u32::from(step == Step::Push);
        let next = |reached: u32| wiring.moves(reached as usize / 2).map(number).collect();
        let stores = |reached: u32| wiring.stores(reached as usize / 2);
        let (mut filled, mut emptied, mut passed) = (Vec::new(), Vec::new(), Vec::new());
        for reached in readers::behind(begin as u32 * 2, next, stores) {
            let place = match (stores(reached), reached % 2 == 1) {
                (true, true) => &mut filled,
                (true, false) => &mut emptied,
                (false, _) => &mut passed,
            };
            place.push(reached as usize / 2);
        }
        filled.retain(|store| !emptied.contains(store));
        (filled, passed)
    }
}

#[cfg(test)]
mod tests {
    use super::Pace;

    #[test]
    fn bursts_grow_while_queues_are_emptied_and_shrink_when_they_are_not() {
        let mut pace = Pace::BEGIN;
        let mut bursts =
            |n_taken: &[Option<usize>]| n_taken.iter().map(|n| pace.next(*n, 32)).collect::<Vec<_>>();
        assert_eq!(bursts(&[None; 7]), [2, 4, 8, 16, 32, 32, 32]);
        // One that is too large is waited for, and then half of it goes.
        assert_eq!(bursts(&[Some(1), None, None]), [0, 16, 16]);
        assert_eq!(bursts(&[None; 62])[60..], [16, 32]);
        // Queues that are emptied more slowly than packets can come get as many as are taken out.
        assert_eq!(bursts(&[Some(1), Some(1), Some(0), None]), [0, 1, 1, 1]);
        assert_eq!(bursts(&[Some(8), Some(8), Some(64), None]), [0, 8, 32, 32]);
    }
}
