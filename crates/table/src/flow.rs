//! Flow tables: per-flow entries under a keyed hash, each with an index that other structures can hold on to.
//!
//! - Find, insert, remove: O(1). A hit reads one 64-byte bucket and the entry; to overlap the cache misses of many keys,
//!   callers prefetch in two steps, [`FlowTable::prefetch`] then [`FlowTable::prefetch_entry`], and then use
//!   [`FlowTable::find_near`].
//! - Growth splits one bucket at a time and never moves an entry, so no insertion is slow: the worst allocates 2048
//!   entries' or buckets' worth of untouched memory, or, while the table is smaller than that, copies it.
//! - Memory: an entry takes the size of key and value and 8 bytes; the index about 25 bytes an entry. Memory is kept
//!   for reuse until [`FlowTable::clear`].
//! - The hash is keyed: see [`crate::keyed`].

mod index;
mod slab;

use std::hash::{BuildHasher, Hash};

use crate::keyed::Keyed;
use crate::prefetch::prefetch_whole;
use index::Index;
use slab::Slab;

/// What stands for an entry that there is none of.
pub const NO_ENTRY: u32 = index::NIL;

/// Aligns the entries of a [`FlowTable`] to cache lines: for keys and values of 56 bytes in all, which fill one with their hash.
#[repr(align(64))]
pub struct Line;

/// A hash table for flows; its entries are aligned as `A`.
pub struct FlowTable<K, V, A = ()> {
    hasher: Keyed,
    index: Index,
    slab: Slab<K, V, A>,
    limit: u32,
}

/// The table holds as many entries as its limit allows; the key and the value come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<K, V>(pub K, pub V);

impl<K: Hash + Eq, V, A> FlowTable<K, V, A> {
    /// An empty table that takes up to `limit` entries.
    pub fn new(limit: u32) -> Self {
        Self::with_hasher(limit, Keyed::default())
    }

    /// As [`Self::new`] with a chosen seed: for a table whose hash another part of the program must reproduce.
    pub fn with_seed(limit: u32, seed: u64) -> Self {
        Self::with_hasher(limit, Keyed::with_seed(seed))
    }

    fn with_hasher(limit: u32, hasher: Keyed) -> Self {
        FlowTable { hasher, index: Index::new(), slab: Slab::new(), limit: clamp_limit(limit) }
    }

    /// The hash that the functions named `*_hashed` and the prefetches of this table take.
    #[inline(always)]
    pub fn hash_of(&self, key: &K) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Starts loading what [`Self::prefetch_entry`] and [`Self::find_hashed`] read first.
    #[inline(always)]
    pub fn prefetch(&self, hash: u64) {
        self.index.prefetch(tag_of(hash));
    }

    /// Starts loading the entry that `hash` most likely stands for, and returns its index for [`Self::find_near`].
    #[inline(always)]
    pub fn prefetch_entry(&self, hash: u64) -> u32 {
        let probe = self.index.probe(tag_of(hash));
        let candidate = if probe.is_chained() { self.first_in_chain(tag_of(hash)) } else { probe.candidate };
        self.prefetch_at(candidate);
        candidate
    }

    /// Starts loading the entry at an index.
    #[inline(always)]
    pub fn prefetch_at(&self, idx: u32) {
        if let Some(slot) = self.slab.slot(idx) {
            prefetch_whole(slot);
        }
    }

    /// The index of the entry with this key.
    #[inline]
    pub fn find(&self, key: &K) -> Option<u32> {
        self.find_hashed(self.hash_of(key), key)
    }

    /// As [`Self::find`], with the key's hash known.
    #[inline]
    pub fn find_hashed(&self, hash: u64, key: &K) -> Option<u32> {
        let probe = self.index.probe(tag_of(hash));
        if self.has_key(probe.candidate, key) {
            return Some(probe.candidate);
        }
        if probe.is_miss() {
            return None;
        }
        let found = self.find_in_chain(tag_of(hash), key);
        (found != NO_ENTRY).then_some(found)
    }

    /// As [`Self::find_hashed`], with what [`Self::prefetch_entry`] returned, even if entries have come or gone since.
    #[inline(always)]
    pub fn find_near(&self, near: u32, hash: u64, key: &K) -> Option<u32> {
        if self.has_key(near, key) {
            return Some(near);
        }
        self.find_hashed(hash, key)
    }

    /// The entry at an index.
    #[inline(always)]
    pub fn get(&self, idx: u32) -> Option<(&K, &V)> {
        self.slab.get(idx)
    }

    /// The entry at an index, its value to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, idx: u32) -> Option<(&K, &mut V)> {
        self.slab.get_mut(idx)
    }

    /// Adds an entry, or replaces the value of the one with this key, and returns its index.
    pub fn insert(&mut self, key: K, value: V) -> Result<u32, Full<K, V>> {
        self.insert_hashed(self.hash_of(&key), key, value)
    }

    /// As [`Self::insert`], with the key's hash known.
    pub fn insert_hashed(&mut self, hash: u64, key: K, value: V) -> Result<u32, Full<K, V>> {
        if let Some(idx) = self.find_hashed(hash, &key) {
            if let Some((_, old)) = self.slab.get_mut(idx) {
                *old = value;
            }
            return Ok(idx);
        }
        if self.is_full() {
            return Err(Full(key, value));
        }
        let idx = self.slab.insert(tag_of(hash), key, value);
        self.index.insert(tag_of(hash), idx);
        Ok(idx)
    }

    /// Removes the entry at an index, which a later insertion may then use again.
    pub fn remove(&mut self, idx: u32) -> Option<(K, V)> {
        let (tag, key, value) = self.slab.remove(idx)?;
        self.index.remove(tag, idx);
        Some((key, value))
    }

    /// Removes the entry with this key.
    pub fn remove_key(&mut self, key: &K) -> Option<(K, V)> {
        self.find(key).and_then(|idx| self.remove(idx))
    }

    /// The entries by index.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &K, &V)> {
        self.slab.iter_from(0)
    }

    /// The entries from index `first` on: to walk a large table in parts.
    pub fn iter_from(&self, first: u32) -> impl Iterator<Item = (u32, &K, &V)> {
        self.slab.iter_from(first)
    }

    /// All indexes are below this one.
    pub fn end(&self) -> u32 {
        self.slab.end()
    }

    /// The entries by index, their values to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &K, &mut V)> {
        self.slab.iter_mut()
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.slab.len() == 0
    }

    /// Whether an insertion of a new key would be refused.
    pub fn is_full(&self) -> bool {
        self.slab.len() >= self.limit as usize
    }

    /// How many entries the table takes.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// Changes the limit; entries beyond a lower one stay until removed.
    pub fn set_limit(&mut self, limit: u32) {
        self.limit = clamp_limit(limit);
    }

    /// Removes all entries and gives their memory back.
    pub fn clear(&mut self) {
        self.index = Index::new();
        self.slab = Slab::new();
    }

    /// Bytes reserved, of which the operating system provides what was written.
    pub fn memory(&self) -> usize {
        self.index.memory() + self.slab.memory()
    }

    #[inline(always)]
    fn has_key(&self, idx: u32, key: &K) -> bool {
        self.slab.get(idx).is_some_and(|(known, _)| known == key)
    }

    /// The first entry of a tag that the first bucket does not tell; [`NO_ENTRY`] if there is none.
    #[cold]
    #[inline(never)]
    fn first_in_chain(&self, tag: u32) -> u32 {
        self.index.find(tag, |_| true)
    }

    /// The entry of a key that the first bucket does not tell; [`NO_ENTRY`] if there is none.
    #[cold]
    #[inline(never)]
    fn find_in_chain(&self, tag: u32, key: &K) -> u32 {
        self.index.find(tag, |idx| self.has_key(idx, key))
    }
}

/// The hash bits in use: 32, which a bucket keeps for each of its slots.
#[inline(always)]
fn tag_of(hash: u64) -> u32 {
    (hash ^ hash >> 32) as u32
}

/// The index addresses 2^31 buckets and keeps one entry number for "none".
fn clamp_limit(limit: u32) -> u32 {
    limit.min(1 << 31)
}

#[cfg(test)]
mod tests;
