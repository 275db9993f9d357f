//! Storage for the entries of a flow table, each under an index that stays the same while it lives.

use super::index::NIL;
use crate::chunks::Chunks;

/// The tag and the hash share one word, so that a 16-byte key and a 40-byte value fill one cache line, if `A` is aligned to it.
pub enum Slot<K, V, A = ()> {
    Free { next: u32, _align: [A; 0] },
    Used { tag: u32, key: K, value: V },
}

/// The entries, and the places that are free for more.
pub struct Slab<K, V, A = ()> {
    slots: Chunks<Slot<K, V, A>>,
    /// Freed slots, last freed first: its cache lines are the likeliest to be warm.
    free: u32,
    len: usize,
}

impl<K, V, A> Slab<K, V, A> {
    pub fn new() -> Self {
        Slab { slots: Chunks::new(), free: NIL, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// How many slots there are, used or free.
    pub fn end(&self) -> u32 {
        self.slots.len() as u32
    }

    pub fn memory(&self) -> usize {
        self.slots.memory()
    }

    #[inline(always)]
    pub fn slot(&self, idx: u32) -> Option<&Slot<K, V, A>> {
        self.slots.get(idx as usize)
    }

    #[inline(always)]
    pub fn get(&self, idx: u32) -> Option<(&K, &V)> {
        match self.slot(idx) {
            Some(Slot::Used { key, value, .. }) => Some((key, value)),
            _ => None,
        }
    }

    #[inline(always)]
    pub fn get_mut(&mut self, idx: u32) -> Option<(&K, &mut V)> {
        match self.slots.get_mut(idx as usize) {
            Some(Slot::Used { key, value, .. }) => Some((key, value)),
            _ => None,
        }
    }

    /// Stores an entry; the caller keeps the number of entries below `u32::MAX`.
    pub fn insert(&mut self, tag: u32, key: K, value: V) -> u32 {
        let used = Slot::Used { tag, key, value };
        let idx = self.free;
        if let Some(slot) = self.slots.get_mut(idx as usize) {
            if let Slot::Free { next, .. } = *slot {
                self.free = next;
                *slot = used;
                self.len += 1;
                return idx;
            }
        }
        self.slots.push(used);
        self.len += 1;
        (self.slots.len() - 1) as u32
    }

    pub fn remove(&mut self, idx: u32) -> Option<(u32, K, V)> {
        let slot = self.slots.get_mut(idx as usize)?;
        if let Slot::Free { .. } = slot {
            return None;
        }
        match std::mem::replace(slot, Slot::Free { next: self.free, _align: [] }) {
            Slot::Used { tag, key, value } => {
                self.free = idx;
                self.len = self.len.saturating_sub(1);
                Some((tag, key, value))
            }
            Slot::Free { .. } => None,
        }
    }

    /// The entries from index `first` on.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &K, &V)> {
        (first..).zip(self.slots.iter_from(first as usize)).filter_map(|(idx, slot)| match slot {
            Slot::Used { key, value, .. } => Some((idx, key, value)),
            Slot::Free { .. } => None,
        })
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &K, &mut V)> {
        (0..).zip(self.slots.iter_mut()).filter_map(|(idx, slot)| match slot {
            Slot::Used { key, value, .. } => Some((idx, &*key, value)),
            Slot::Free { .. } => None,
        })
    }
}
