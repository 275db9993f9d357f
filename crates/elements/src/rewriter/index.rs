//! The hash index of a flow set: from the hash of a flow identifier to a link.
//!
//! Linear probing in 256 shards that grow one by one, so that the longest pause of an insertion is 1/256 of a rehash. A
//! slot holds 32 bits of the hash beside the link: most misses and all rehashes read no flow.

use table::prefetch::prefetch;

/// No link.
pub const NO_LINK: u32 = u32::MAX;

const N_SHARDS: usize = 256;
const SHARD_SHIFT: u32 = 24;
const MIN_SLOTS: usize = 8;

/// The index.
pub struct Index {
    shards: Vec<Shard>,
}

#[derive(Clone, Default)]
struct Shard {
    /// `tag << 32 | link + 1`, 0 for an empty slot; a power of two of them, or none.
    slots: Vec<u64>,
    n_used: usize,
}

impl Index {
    /// An empty index.
    pub fn new() -> Index {
        Index { shards: vec![Shard::default(); N_SHARDS] }
    }

    /// Starts loading what a lookup of `tag` reads first.
    #[inline(always)]
    pub fn prefetch(&self, tag: u32) {
        let Some(shard) = self.shards.get(shard_of(tag)) else { return };
        if let Some(slot) = shard.slots.get(tag as usize & shard.mask()) {
            prefetch(slot);
        }
    }

    /// The first link under `tag`, which need not be the one wanted; [`NO_LINK`] if there is none.
    #[inline(always)]
    pub fn candidate(&self, tag: u32) -> u32 {
        self.find(tag, |_| true)
    }

    /// The link under `tag` that `is_wanted`; [`NO_LINK`] if there is none.
    #[inline(always)]
    pub fn find(&self, tag: u32, mut is_wanted: impl FnMut(u32) -> bool) -> u32 {
        let Some(shard) = self.shards.get(shard_of(tag)) else { return NO_LINK };
        let mask = shard.mask();
        let mut at = tag as usize & mask;
        // Not all slots are in use, so that the loop meets an empty one.
        while let Some(slot) = shard.slots.get(at).copied().filter(|slot| *slot != 0) {
            if (slot >> 32) as u32 == tag && is_wanted(link_of(slot)) {
                return link_of(slot);
            }
            at = (at + 1) & mask;
        }
        NO_LINK
    }

    /// Adds a link under `tag`.
    pub fn insert(&mut self, tag: u32, link: u32) {
        if let Some(shard) = self.shards.get_mut(shard_of(tag)) {
            if shard.n_used * 2 >= shard.slots.len() {
                shard.grow();
            }
            shard.put(slot_of(tag, link));
            shard.n_used += 1;
        }
    }

    /// Removes a link that was inserted under `tag`; true if it was there.
    pub fn remove(&mut self, tag: u32, link: u32) -> bool {
        let Some(shard) = self.shards.get_mut(shard_of(tag)) else { return false };
        let wanted = slot_of(tag, link);
        let mask = shard.mask();
        let mut at = tag as usize & mask;
        while let Some(slot) = shard.slots.get(at).copied().filter(|slot| *slot != 0) {
            if slot == wanted {
                shard.close_gap(at);
                shard.n_used -= 1;
                return true;
            }
            at = (at + 1) & mask;
        }
        false
    }
}

impl Shard {
    #[inline(always)]
    fn mask(&self) -> usize {
        self.slots.len().wrapping_sub(1)
    }

    fn grow(&mut self) {
        let n = (self.slots.len() * 2).max(MIN_SLOTS);
        let old = std::mem::replace(&mut self.slots, vec![0; n]);
        old.into_iter().filter(|slot| *slot != 0).for_each(|slot| self.put(slot));
    }

    fn put(&mut self, new: u64) {
        let mask = self.mask();
        let mut at = (new >> 32) as usize & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if *slot == 0 {
                *slot = new;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Empties a slot and moves back those behind it that a lookup would no longer reach.
    fn close_gap(&mut self, mut gap: usize) {
        let mask = self.mask();
        let mut at = gap;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots.get(at).copied().unwrap_or(0);
            if slot == 0 {
                break;
            }
            let home = (slot >> 32) as usize & mask;
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(gap) & mask {
                self.set(gap, slot);
                gap = at;
            }
        }
        self.set(gap, 0);
    }

    fn set(&mut self, at: usize, value: u64) {
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = value;
        }
    }
}

#[inline(always)]
fn shard_of(tag: u32) -> usize {
    (tag >> SHARD_SHIFT) as usize
}

#[inline(always)]
fn slot_of(tag: u32, link: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(link.wrapping_add(1))
}

#[inline(always)]
fn link_of(slot: u64) -> u32 {
    (slot as u32).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Compares random operations with a set, tags being chosen so that many collide and wrap around.
    #[test]
    fn agrees_with_a_set() {
        let mut state = 1u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        let (mut index, mut known) = (Index::new(), BTreeSet::new());
        for step in 0..40_000u32 {
            let tag = (random(3) << 24 | [0, 1, 7, 0xfe, 0xff_ffff][random(5) as usize]) as u32;
            let link = random(40) as u32;
            // Fewer and fewer links towards the end.
            if random(40_000) as u32 > step {
                if known.insert((tag, link)) {
                    index.insert(tag, link);
                }
            } else {
                assert_eq!(index.remove(tag, link), known.remove(&(tag, link)));
            }
            let found = index.find(tag, |other| other == link);
            assert_eq!(found != NO_LINK, known.contains(&(tag, link)));
            let has_any = known.range((tag, 0)..=(tag, u32::MAX)).next().is_some();
            assert_eq!(index.candidate(tag) != NO_LINK, has_any);
        }
    }
}
