//! Timers: a four-ary heap by expiry, in Click's order.

use element::TimerId;
use graph::ElementIdx;

use crate::numbers::Numbers;

/// A timer of an element.
#[derive(Clone, Debug)]
pub struct Timer {
    /// The element whose [`element::Element::run_timer`] is called.
    pub element: ElementIdx,
    /// When it expires, or expired last, in steady nanoseconds.
    pub expiry_ns: i64,
    /// Its place in the heap.
    position: Option<usize>,
}

/// The timers of a thread.
#[derive(Debug, Default)]
pub struct Timers {
    timers: Vec<Timer>,
    heap: Vec<u32>,
    numbers: Numbers,
}

/// The element of a timer that was taken away.
const NOBODY: ElementIdx = ElementIdx::MAX;

/// Seconds a timer may be set into the past.
const BEHIND_NS: i64 = 1_000_000_000;

impl Timers {
    /// The same timers under the same numbers, of which only those of some elements are set.
    pub fn of_elements(&self, is_own: impl Fn(ElementIdx) -> bool) -> Timers {
        let mut own = Timers { timers: self.timers.clone(), heap: self.heap.clone(), ..Timers::default() };
        for (number, timer) in self.timers.iter().enumerate() {
            if !is_own(timer.element) {
                own.unschedule(TimerId(number as u32));
            }
        }
        own
    }

    /// Gives the timers that are made from now on numbers of their own.
    pub fn number_by(&mut self, numbers: Numbers) {
        self.numbers = numbers;
    }

    /// Takes over the timers that some elements have in another list, under their numbers.
    pub fn absorb(&mut self, other: Timers, is_own: impl Fn(ElementIdx) -> bool) {
        self.make_places(other.timers.len());
        for (number, timer) in other.timers.into_iter().enumerate().filter(|(_, timer)| is_own(timer.element))
        {
            self.unschedule(TimerId(number as u32));
            let is_set = timer.position.is_some();
            self.timers[number] = Timer { position: None, ..timer };
            if is_set {
                self.heap.push(number as u32);
                self.settle(self.heap.len() - 1);
            }
        }
    }

    /// Finds the numbers that no timer has.
    pub fn find_free(&mut self) {
        let numbered = self.timers.iter().enumerate();
        let free = numbered.filter(|(_, timer)| timer.element == NOBODY).map(|(number, _)| number as u32);
        self.numbers = Numbers::of_all(free);
    }

    /// Makes room for `n` timers.
    fn make_places(&mut self, n: usize) {
        let n = n.max(self.timers.len());
        self.timers.resize_with(n, || Timer { element: NOBODY, expiry_ns: 0, position: None });
    }

    /// Makes a timer that is not set.
    pub fn add(&mut self, element: ElementIdx) -> TimerId {
        let number = self.numbers.next(self.timers.len());
        self.make_places(number + 1);
        self.timers[number] = Timer { element, expiry_ns: 0, position: None };
        TimerId(number as u32)
    }

    /// The timers of an element.
    pub fn of_element(&self, element: ElementIdx) -> impl Iterator<Item = TimerId> + '_ {
        let numbered = self.timers.iter().enumerate();
        numbered.filter(move |(_, timer)| timer.element == element).map(|(id, _)| TimerId(id as u32))
    }

    /// Takes a timer away; its number is given to the next one that is made.
    pub fn remove(&mut self, id: TimerId) {
        self.unschedule(id);
        if let Some(timer) = self.timers.get_mut(id.0 as usize) {
            timer.element = NOBODY;
            self.numbers.give_back(id.0);
        }
    }

    /// The timer, if it exists.
    pub fn get(&self, id: TimerId) -> Option<&Timer> {
        self.timers.get(id.0 as usize)
    }

    /// Whether a timer is set.
    pub fn is_scheduled(&self, id: TimerId) -> bool {
        self.get(id).is_some_and(|timer| timer.position.is_some())
    }

    /// Whether a timer is set to this time.
    pub fn is_scheduled_at(&self, id: TimerId, at_ns: i64) -> bool {
        self.get(id).is_some_and(|timer| timer.position.is_some() && timer.expiry_ns == at_ns)
    }

    /// Sets a timer; one set more than a second before `now_ns` expires at `now_ns`.
    pub fn schedule(&mut self, id: TimerId, at_ns: i64, now_ns: i64) {
        let Some(timer) = self.timers.get_mut(id.0 as usize) else { return };
        timer.expiry_ns = if at_ns.saturating_add(BEHIND_NS) < now_ns { now_ns } else { at_ns };
        match timer.position {
            Some(position) => self.settle(position),
            None => {
                self.heap.push(id.0);
                self.settle(self.heap.len() - 1);
            }
        }
    }

    /// Stops a timer.
    pub fn unschedule(&mut self, id: TimerId) {
        let Some(position) = self.timers.get_mut(id.0 as usize).and_then(|timer| timer.position.take())
        else {
            return;
        };
        let Some(last) = self.heap.pop() else { return };
        if position < self.heap.len() {
            self.heap[position] = last;
            self.settle(position);
        }
    }

    /// The timers that have expired by `now_ns`, in the order in which [`Timers::pop`] yields them; they stay set.
    pub fn expired(&mut self, now_ns: i64) -> Vec<(TimerId, ElementIdx, i64)> {
        let mut expired = Vec::new();
        while let Some((id, element)) = self.pop(now_ns) {
            expired.push((id, element, self.expiry(id.0)));
        }
        expired.iter().for_each(|(id, _, at_ns)| self.schedule(*id, *at_ns, *at_ns));
        expired
    }

    /// When the first timer expires.
    pub fn next_expiry(&self) -> Option<i64> {
        self.heap.first().map(|id| self.expiry(*id))
    }

    /// Takes the first timer if it has expired by `now_ns`.
    pub fn pop(&mut self, now_ns: i64) -> Option<(TimerId, ElementIdx)> {
        let first = *self.heap.first()?;
        if self.expiry(first) > now_ns {
            return None;
        }
        let element = self.timers[first as usize].element;
        self.unschedule(TimerId(first));
        Some((TimerId(first), element))
    }

    fn expiry(&self, id: u32) -> i64 {
        self.timers.get(id as usize).map_or(i64::MAX, |timer| timer.expiry_ns)
    }

    fn place(&mut self, position: usize, id: u32) {
        self.heap[position] = id;
        self.timers[id as usize].position = Some(position);
    }

    /// Moves the timer at `position` up, or else down, to where it belongs.
    fn settle(&mut self, mut position: usize) {
        let id = self.heap[position];
        let expiry = self.expiry(id);
        while position > 0 && self.expiry(self.heap[(position - 1) / 4]) > expiry {
            let parent = self.heap[(position - 1) / 4];
            self.place(position, parent);
            position = (position - 1) / 4;
        }
        loop {
            let first = position * 4 + 1;
            let children = first..(first + 4).min(self.heap.len());
            // Of equal children the first, and none that is only equal.
            let mut least = (position, expiry);
            for child in children {
                let child_expiry = self.expiry(self.heap[child]);
                if child_expiry < least.1 {
                    least = (child, child_expiry);
                }
            }
            if least.0 == position {
                break;
            }
            let child = self.heap[least.0];
            self.place(position, child);
            position = least.0;
        }
        self.place(position, id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_expire_in_order_whatever_is_done_to_them() {
        let mut random = fastrand::Rng::with_seed(7);
        let mut timers = Timers::default();
        let ids: Vec<TimerId> = (0..50).map(|element| timers.add(element)).collect();
        let mut naive = std::collections::BTreeMap::new();
        for _ in 0..5000 {
            let id = ids[random.usize(..ids.len())];
            if random.u8(..4) == 0 {
                timers.unschedule(id);
                naive.remove(&id);
            } else {
                let at = random.i64(0..1000);
                timers.schedule(id, at, 0);
                naive.insert(id, at);
            }
            assert_eq!(timers.next_expiry(), naive.values().min().copied());
        }
        let mut last = 0;
        while let Some((id, _)) = timers.pop(i64::MAX) {
            let at = naive.remove(&id).expect("the timer is set");
            assert!(at >= last);
            last = at;
        }
        assert!(naive.is_empty());
    }
}
