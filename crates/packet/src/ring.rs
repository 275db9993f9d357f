//! A growable ring of packets, into and out of which batches move as blocks of memory.

use std::mem::MaybeUninit;

use crate::{Batch, Packet};

/// Packets in order, first in, first out; both ends are open.
#[derive(Default)]
pub struct Ring {
    /// A power of two slots, or none. Those from `head` on, `len` of them, wrapping around, hold packets.
    slots: Box<[MaybeUninit<Packet>]>,
    head: usize,
    len: usize,
}

impl Ring {
    /// An empty ring without storage.
    pub fn new() -> Ring {
        Ring::default()
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[cold]
    fn grow(&mut self, n: usize) {
        let n_slots = (self.len + n).next_power_of_two().max(64);
        let mut slots: Vec<MaybeUninit<Packet>> = Vec::with_capacity(n_slots);
        slots.resize_with(n_slots, MaybeUninit::uninit);
        let mut slots = slots.into_boxed_slice();
        let first = self.len.min(self.slots.len() - self.head);
        // SAFETY: both parts lie within the old storage and hold packets; the new storage is larger and apart. The old
        // storage is then dropped as uninitialised memory, so each packet keeps one owner.
        unsafe {
            let old = self.slots.as_ptr();
            let new = slots.as_mut_ptr();
            std::ptr::copy_nonoverlapping(old.add(self.head), new, first);
            std::ptr::copy_nonoverlapping(old, new.add(first), self.len - first);
        }
        self.slots = slots;
        self.head = 0;
    }

    /// Moves the first `n` packets of a batch, or all if there are fewer, to the end.
    #[inline]
    pub fn push_batch(&mut self, batch: &mut Batch, n: usize) {
        let n = n.min(batch.len());
        if self.len + n > self.slots.len() {
            self.grow(n);
        }
        if n == 0 {
            return;
        }
        let tail = (self.head + self.len) & (self.slots.len() - 1);
        let first = n.min(self.slots.len() - tail);
        // SAFETY: the slots from `tail` on, `n` of them, wrapping around, are free, because `len + n <= slots.len()`.
        // `take_front` forgets the packets, so that each keeps one owner.
        batch.take_front(n, |packets| unsafe {
            let slots = self.slots.as_mut_ptr().cast::<Packet>();
            std::ptr::copy_nonoverlapping(packets, slots.add(tail), first);
            if n > first {
                std::ptr::copy_nonoverlapping(packets.add(first), slots, n - first);
            }
        });
        self.len += n;
    }

    /// Moves the first `n` packets, or all if there are fewer, to the end of a batch, as many as it has room for.
    #[inline]
    pub fn pop_batch(&mut self, batch: &mut Batch, n: usize) {
        let n = n.min(self.len).min(batch.room());
        if n == 0 {
            return;
        }
        let first = n.min(self.slots.len() - self.head);
        // SAFETY: the slots from `head` on, `n` of them, wrapping around, hold packets, which are forgotten below.
        batch.add_back(n, |packets| unsafe {
            let slots = self.slots.as_ptr().cast::<Packet>();
            std::ptr::copy_nonoverlapping(slots.add(self.head), packets, first);
            if n > first {
                std::ptr::copy_nonoverlapping(slots, packets.add(first), n - first);
            }
        });
        self.head = (self.head + n) & (self.slots.len() - 1);
        self.len -= n;
    }

    /// Asks the processor to bring the first packets near: their metadata, and their first bytes of data.
    #[inline]
    pub fn prefetch(&self, n: usize) {
        self.iter().take(n).for_each(Packet::prefetch_data);
    }

    /// Adds a packet at the end.
    pub fn push_back(&mut self, packet: Packet) {
        if self.len == self.slots.len() {
            self.grow(1);
        }
        let tail = (self.head + self.len) & (self.slots.len() - 1);
        self.slots[tail] = MaybeUninit::new(packet);
        self.len += 1;
    }

    /// Adds a packet in front of all others.
    pub fn push_front(&mut self, packet: Packet) {
        if self.len == self.slots.len() {
            self.grow(1);
        }
        self.head = self.head.wrapping_sub(1) & (self.slots.len() - 1);
        self.slots[self.head] = MaybeUninit::new(packet);
        self.len += 1;
    }

    /// Takes the first packet.
    pub fn pop_front(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        let slot = self.head;
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        // SAFETY: the slot held a packet and is free from now on.
        Some(unsafe { self.slots[slot].assume_init_read() })
    }

    /// Takes the last packet.
    pub fn pop_back(&mut self) -> Option<Packet> {
        if self.len == 0 {
            return None;
        }
        self.len -= 1;
        let slot = (self.head + self.len) & (self.slots.len() - 1);
        // SAFETY: the slot held a packet and is free from now on.
        Some(unsafe { self.slots[slot].assume_init_read() })
    }

    /// The packets in order.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mask = self.slots.len().wrapping_sub(1);
        // SAFETY: the slots from `head` on, `len` of them, wrapping around, hold packets.
        (0..self.len).map(move |i| unsafe { self.slots[(self.head + i) & mask].assume_init_ref() })
    }

    /// Drops all but the first `n` packets.
    pub fn truncate(&mut self, n: usize) {
        while self.len > n {
            drop(self.pop_back());
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn random_operations_agree_with_a_deque() {
        let mut seed = 5u64;
        let mut random = move |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        let (mut ring, mut model) = (Ring::new(), VecDeque::new());
        for i in 0..if cfg!(miri) { 300 } else { 20_000u32 } {
            let packet = || Packet::from_bytes(&i.to_be_bytes());
            match random(7) {
                0 => {
                    ring.push_back(packet());
                    model.push_back(i);
                }
                1 => {
                    ring.push_front(packet());
                    model.push_front(i);
                }
                2 => assert_eq!(ring.pop_front().is_some(), model.pop_front().is_some()),
                3 => assert_eq!(ring.pop_back().is_some(), model.pop_back().is_some()),
                4 => {
                    let mut batch = Batch::new();
                    let (n, kept) = (random(50), random(60));
                    (0..n).for_each(|_| batch.push(packet()));
                    ring.push_batch(&mut batch, kept);
                    model.extend(vec![i; n.min(kept)]);
                    assert_eq!(batch.len(), n - n.min(kept));
                }
                _ => {
                    let mut batch = Batch::new();
                    let n = random(40);
                    ring.pop_batch(&mut batch, n);
                    let expected: Vec<u32> = model.drain(..n.min(model.len())).collect();
                    assert!(batch.iter().map(Packet::data).eq(expected.iter().map(|i| i.to_be_bytes())));
                }
            }
            assert_eq!(ring.len(), model.len());
            // Miri knows no prefetch.
            if !cfg!(miri) {
                ring.prefetch(random(80));
            }
        }
        assert!(ring.iter().map(Packet::data).eq(model.iter().map(|i| i.to_be_bytes())));
    }
}
