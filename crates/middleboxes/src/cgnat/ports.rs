//! The ports of one block for one protocol: those in use with their mappings, the others in the order of their release.

use super::NIL;

/// Marks the slot of a port in use.
const USED: u32 = 1 << 31;
/// No offset: blocks have at most 65,535 ports.
const NO_OFFSET: u32 = NIL >> 1;

/// A port in use with its mapping, or a free one and the next free port. Packets from outside read it, so that it is small.
#[derive(Clone, Copy, Debug)]
pub struct Slot(u32);

/// Free ports of one parity, the one released first at the head.
#[derive(Clone, Copy, Debug)]
struct Queue {
    head: u32,
    tail: u32,
}

/// The ports of one block for one protocol.
#[derive(Clone, Debug, Default)]
pub struct PortSet {
    slots: Vec<Slot>,
    /// The second from which on a free port may be used.
    ready_s: Vec<u32>,
    free: [Queue; 2],
    n_used: u32,
    /// Whether to begin with odd offsets next time, so that both parities are used alike.
    turn: usize,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { head: NO_OFFSET, tail: NO_OFFSET }
    }
}

/// Pseudo-random numbers (Marsaglia, "Xorshift RNGs", 2003) that spread ports over their block; a seed of 0 gives none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shuffle(pub u64);

impl Shuffle {
    /// A number below `n`.
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u64::from((self.0 >> 32) as u32) * u64::from(n)) >> 32) as u32
    }
}

impl PortSet {
    /// Makes all `n` ports free, in random order unless the seed is 0.
    pub fn reset(&mut self, n: u32, shuffle: &mut Shuffle) {
        self.slots.clear();
        self.slots.resize(n as usize, Slot(NO_OFFSET));
        (self.free, self.n_used, self.turn) = ([Queue::default(); 2], 0, 0);
        // The times hold the order until the ports are in their queues.
        self.ready_s.clear();
        self.ready_s.extend(0..n);
        if shuffle.0 != 0 {
            // Fisher and Yates.
            for last in (1..n).rev() {
                self.ready_s.swap(last as usize, shuffle.below(last + 1) as usize);
            }
        }
        for place in 0..n as usize {
            let offset = self.ready_s.get(place).copied().unwrap_or(0);
            self.add(offset);
        }
        self.ready_s.fill(0);
    }

    /// Takes the port that has been free for longest, of this parity of its offset if there is one.
    pub fn take(&mut self, parity: Option<usize>, now_s: u32, mapping: u32) -> Option<u32> {
        let first = parity.unwrap_or(self.turn) & 1;
        let offset = self.take_from(first, now_s).or_else(|| self.take_from(first ^ 1, now_s))?;
        if let Some(slot) = self.slots.get_mut(offset as usize) {
            *slot = Slot(USED | mapping);
        }
        self.turn = (offset as usize & 1) ^ 1;
        self.n_used += 1;
        Some(offset)
    }

    fn take_from(&mut self, parity: usize, now_s: u32) -> Option<u32> {
        let queue = self.free.get_mut(parity)?;
        let offset = queue.head;
        self.ready_s.get(offset as usize).filter(|ready_s| **ready_s <= now_s)?;
        queue.head = self.slots.get(offset as usize)?.0;
        if queue.head == NO_OFFSET {
            queue.tail = NO_OFFSET;
        }
        Some(offset)
    }

    /// Frees a port that may be used again from a second on.
    pub fn release(&mut self, offset: u32, ready_s: u32) {
        if self.slot(offset).and_then(Slot::mapping).is_none() {
            return;
        }
        self.add(offset);
        if let Some(place) = self.ready_s.get_mut(offset as usize) {
            *place = ready_s;
        }
        self.n_used = self.n_used.saturating_sub(1);
    }

    fn add(&mut self, offset: u32) {
        let parity = offset as usize & 1;
        let tail = std::mem::replace(&mut self.free[parity].tail, offset);
        match self.slots.get_mut(tail as usize) {
            Some(slot) => *slot = Slot(offset),
            None => self.free[parity].head = offset,
        }
        if let Some(slot) = self.slots.get_mut(offset as usize) {
            *slot = Slot(NO_OFFSET);
        }
    }

    /// Sets the mapping of a port in use.
    pub fn set_mapping(&mut self, offset: u32, mapping: u32) {
        if let Some(slot) = self.slots.get_mut(offset as usize).filter(|slot| slot.mapping().is_some()) {
            *slot = Slot(USED | mapping);
        }
    }

    /// The place of a port.
    #[inline(always)]
    pub fn slot(&self, offset: u32) -> Option<&Slot> {
        self.slots.get(offset as usize)
    }

    /// Ports in use.
    pub fn n_used(&self) -> u32 {
        self.n_used
    }

    /// Takes a certain port; false if it is in use.
    pub fn take_this(&mut self, offset: u32, mapping: u32) -> bool {
        let parity = offset as usize & 1;
        let (mut before, mut at) = (NO_OFFSET, self.free[parity].head);
        while at != offset {
            let Some(slot) = self.slots.get(at as usize) else { return false };
            (before, at) = (at, slot.0);
        }
        let Some(slot) = self.slots.get_mut(offset as usize) else { return false };
        let after = std::mem::replace(slot, Slot(USED | mapping)).0;
        match self.slots.get_mut(before as usize) {
            Some(slot) => *slot = Slot(after),
            None => self.free[parity].head = after,
        }
        if after == NO_OFFSET {
            self.free[parity].tail = before;
        }
        self.n_used += 1;
        true
    }
}

impl Slot {
    /// The mapping of a port in use.
    #[inline(always)]
    pub fn mapping(&self) -> Option<u32> {
        (self.0 & USED != 0).then_some(self.0 & !USED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(n: u32, seed: u64) -> PortSet {
        let mut set = PortSet::default();
        set.reset(n, &mut Shuffle(seed));
        set
    }

    #[test]
    fn every_port_is_taken_once_in_any_order() {
        for (n, seed) in [(1, 0), (2, 7), (5, 1), (64, 0), (511, 99)] {
            let mut set = set(n, seed);
            let mut taken: Vec<u32> = (0..n).map(|mapping| set.take(None, 0, mapping).unwrap()).collect();
            assert_eq!((set.take(None, 0, 9), set.n_used()), (None, n));
            taken.sort_unstable();
            assert_eq!(taken, (0..n).collect::<Vec<_>>());
        }
    }

    #[test]
    fn released_ports_wait_and_come_back_in_order() {
        let mut set = set(4, 0);
        let taken: Vec<_> = (0..4).map(|mapping| set.take(None, 0, mapping)).collect();
        assert_eq!(taken, [Some(0), Some(1), Some(2), Some(3)]);
        set.release(2, 120);
        set.release(2, 120);
        set.release(0, 130);
        assert_eq!((set.take(None, 119, 7), set.n_used()), (None, 2));
        assert_eq!(set.take(None, 120, 7), Some(2));
        assert_eq!(set.slot(2).and_then(Slot::mapping), Some(7));
        assert_eq!(set.take(None, 125, 8), None);
        assert_eq!(set.take(None, 130, 8), Some(0));
    }

    #[test]
    fn a_parity_is_kept_as_long_as_there_are_ports_of_it() {
        let mut set = set(4, 0);
        let taken: Vec<_> = (0..4).map(|mapping| set.take(Some(1), 0, mapping)).collect();
        assert_eq!(taken, [Some(1), Some(3), Some(0), Some(2)]);
    }
}
