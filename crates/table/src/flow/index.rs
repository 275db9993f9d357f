//! The hash index of a flow table: linear hashing over buckets of one cache line.
//!
//! The table grows by one bucket at a time: every few insertions, the next bucket in turn is split in two. A lookup
//! therefore has one place to look at, and no insertion waits for a rehash. A slot keeps the 32 bits of hash in use,
//! so that a split reads no entry.

use wide::u32x4;

use crate::chunks::Chunks;
use crate::prefetch::prefetch;

/// No entry, no bucket.
pub const NIL: u32 = u32::MAX;

const BUCKET_SLOTS: usize = 7;
/// Entries a bucket on average; beyond it the index grows. Buckets that wait for their split hold up to twice this.
const TARGET_LOAD: usize = 3;
const MIN_BUCKETS: usize = 16;
/// Marks the number of an overflow bucket.
const OVERFLOW: u32 = 1 << 31;

/// Seven slots and, in the eighth lane, the number of slots in use and the next bucket of the chain.
///
/// Slots in use come first, the links of others are 0, and only the last bucket of a chain has room.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Bucket {
    tags: [u32; BUCKET_SLOTS + 1],
    /// Entry numbers plus one.
    links: [u32; BUCKET_SLOTS + 1],
}

/// What one bucket tells of a tag.
#[derive(Clone, Copy)]
pub struct Probe {
    /// The entry it may stand for, to be checked by its key; [`NIL`] if the bucket has none.
    pub candidate: u32,
    next: u32,
}

/// From the hashes of keys to the numbers of their entries.
pub struct Index {
    buckets: Chunks<Bucket>,
    overflow: Chunks<Bucket>,
    /// Overflow buckets not in use, chained by their link.
    free: u32,
    /// 2^k - 1 with 2^(k-1) <= buckets < 2^k.
    mask: u32,
    len: usize,
}

impl Probe {
    /// No entry, for sure.
    const NOTHING: Probe = Probe { candidate: NIL, next: NIL };

    /// Whether only another bucket may tell of the tag.
    #[inline(always)]
    pub fn is_chained(self) -> bool {
        self.candidate == NIL && self.next != NIL
    }

    /// Whether there is surely no entry under the tag.
    #[inline(always)]
    pub fn is_miss(self) -> bool {
        self.candidate & self.next == NIL
    }
}

impl Index {
    pub fn new() -> Self {
        let mut buckets = Chunks::new();
        (0..MIN_BUCKETS).for_each(|_| buckets.push(Bucket::EMPTY));
        Index { buckets, overflow: Chunks::new(), free: NIL, mask: MIN_BUCKETS as u32 * 2 - 1, len: 0 }
    }

    pub fn memory(&self) -> usize {
        self.buckets.memory() + self.overflow.memory()
    }

    #[inline(always)]
    pub fn prefetch(&self, tag: u32) {
        if let Some(bucket) = self.buckets.get(self.home(tag) as usize) {
            prefetch(bucket);
        }
    }

    /// What the first bucket knows of `tag`, from one pass without branches.
    #[inline(always)]
    pub fn probe(&self, tag: u32) -> Probe {
        let Some(bucket) = self.buckets.get(self.home(tag) as usize) else { return Probe::NOTHING };
        Probe { candidate: bucket.candidate(tag), next: bucket.next() }
    }

    /// The first entry under `tag` that `is_wanted`; [`NIL`] if there is none.
    pub fn find(&self, tag: u32, mut is_wanted: impl FnMut(u32) -> bool) -> u32 {
        let mut at = self.home(tag);
        while let Some(bucket) = self.bucket(at) {
            for (other, entry) in bucket.slots() {
                if other == tag && is_wanted(entry) {
                    return entry;
                }
            }
            at = bucket.next();
        }
        NIL
    }

    pub fn insert(&mut self, tag: u32, entry: u32) {
        self.append(self.home(tag), tag, entry);
        self.len += 1;
        if self.len > self.buckets.len() * TARGET_LOAD {
            self.split_next();
        }
    }

    /// Forgets `entry`, which was inserted under `tag`. Returns whether it was there.
    pub fn remove(&mut self, tag: u32, entry: u32) -> bool {
        let mut at = self.home(tag);
        while let Some(bucket) = self.bucket(at) {
            let slot = bucket.slots().position(|slot| slot == (tag, entry));
            if let Some(slot) = slot {
                self.fill_hole(self.home(tag), at, slot);
                self.len = self.len.saturating_sub(1);
                return true;
            }
            at = bucket.next();
        }
        false
    }

    /// Bucket that `tag` belongs to: by the longer mask, or by the shorter one if that bucket does not exist yet.
    #[inline(always)]
    fn home(&self, tag: u32) -> u32 {
        let at = tag & self.mask;
        if (at as usize) < self.buckets.len() {
            at
        } else {
            tag & (self.mask >> 1)
        }
    }

    #[inline(always)]
    fn bucket(&self, at: u32) -> Option<&Bucket> {
        if at & OVERFLOW == 0 {
            self.buckets.get(at as usize)
        } else {
            self.overflow.get((at & !OVERFLOW) as usize)
        }
    }

    fn bucket_mut(&mut self, at: u32) -> Option<&mut Bucket> {
        if at & OVERFLOW == 0 {
            self.buckets.get_mut(at as usize)
        } else {
            self.overflow.get_mut((at & !OVERFLOW) as usize)
        }
    }

    /// Adds a slot at the end of the chain that starts at `at`.
    fn append(&mut self, mut at: u32, tag: u32, entry: u32) {
        while let Some(bucket) = self.bucket_mut(at) {
            if bucket.push(tag, entry) {
                return;
            }
            at = match bucket.next() {
                NIL => self.extend_chain(at),
                next => next,
            };
        }
    }

    /// Hangs an empty overflow bucket behind the bucket `last`.
    fn extend_chain(&mut self, last: u32) -> u32 {
        let new = match self.free {
            NIL => {
                self.overflow.push(Bucket::EMPTY);
                (self.overflow.len() - 1) as u32 | OVERFLOW
            }
            free => {
                self.free = self.bucket(free).map_or(NIL, Bucket::next);
                free
            }
        };
        if let Some(bucket) = self.bucket_mut(new) {
            *bucket = Bucket::EMPTY;
        }
        if let Some(bucket) = self.bucket_mut(last) {
            bucket.set_next(new);
        }
        new
    }

    fn release(&mut self, at: u32) {
        let free = self.free;
        if let Some(bucket) = self.bucket_mut(at) {
            *bucket = Bucket::EMPTY;
            bucket.set_next(free);
            self.free = at;
        }
    }

    /// Moves the last slot of the chain `home` to the slot `hole` of its bucket `at`.
    fn fill_hole(&mut self, home: u32, at: u32, hole: usize) {
        let (mut before_last, mut last) = (NIL, home);
        while let Some(next) = self.bucket(last).map(Bucket::next).filter(|next| *next != NIL) {
            (before_last, last) = (last, next);
        }
        let Some((tag, entry, is_empty)) = self.bucket_mut(last).and_then(Bucket::pop) else { return };
        if let Some(bucket) = self.bucket_mut(at) {
            bucket.replace(hole, tag, entry);
        }
        if is_empty && before_last != NIL {
            if let Some(bucket) = self.bucket_mut(before_last) {
                bucket.set_next(NIL);
            }
            self.release(last);
        }
    }

    /// Grows by one bucket, which takes its share of the slots of the bucket it splits.
    fn split_next(&mut self) {
        let n_buckets = self.buckets.len();
        if n_buckets >= OVERFLOW as usize / 2 {
            return;
        }
        if n_buckets > self.mask as usize {
            self.mask = self.mask << 1 | 1;
        }
        let source = n_buckets as u32 & (self.mask >> 1);
        self.buckets.push(Bucket::EMPTY);
        let Some(bucket) = self.buckets.get_mut(source as usize) else { return };
        let mut taken = std::mem::replace(bucket, Bucket::EMPTY);
        loop {
            for (tag, entry) in taken.slots() {
                self.append(self.home(tag), tag, entry);
            }
            let next = taken.next();
            let Some(bucket) = self.bucket(next) else { return };
            taken = *bucket;
            self.release(next);
        }
    }
}

/// Eight lanes as two times four, which is what all processors compare at once.
#[inline(always)]
fn halves(lanes: &[u32; BUCKET_SLOTS + 1]) -> [u32x4; 2] {
    let halves = lanes.as_chunks::<4>().0;
    [u32x4::from(halves[0]), u32x4::from(halves[1])]
}

impl Bucket {
    const EMPTY: Bucket = {
        let mut links = [0; BUCKET_SLOTS + 1];
        links[BUCKET_SLOTS] = NIL;
        Bucket { tags: [0; BUCKET_SLOTS + 1], links }
    };

    /// The entry under `tag`; [`NIL`] if there is none, and any number if there are several.
    ///
    /// Unused slots hold 0, which is no entry's link. The eighth lane takes part, for the sake of vector code: a tag
    /// that equals its number of slots also yields any number.
    #[inline(always)]
    fn candidate(&self, tag: u32) -> u32 {
        let ([tags, more_tags], [links, more_links]) = (halves(&self.tags), halves(&self.links));
        let tag = u32x4::splat(tag);
        let found = (tags.cmp_eq(tag) & links) | (more_tags.cmp_eq(tag) & more_links);
        let [a, b, c, d] = found.to_array();
        (a | b | c | d).wrapping_sub(1)
    }

    #[inline(always)]
    fn n_used(&self) -> usize {
        (self.tags[BUCKET_SLOTS] as usize).min(BUCKET_SLOTS)
    }

    #[inline(always)]
    fn next(&self) -> u32 {
        self.links[BUCKET_SLOTS]
    }

    fn set_next(&mut self, next: u32) {
        self.links[BUCKET_SLOTS] = next;
    }

    fn slots(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let entries = self.links.iter().map(|link| link.wrapping_sub(1));
        self.tags.iter().copied().zip(entries).take(self.n_used())
    }

    fn push(&mut self, tag: u32, entry: u32) -> bool {
        let slot = self.n_used();
        if slot == BUCKET_SLOTS {
            return false;
        }
        self.tags[BUCKET_SLOTS] = slot as u32 + 1;
        self.replace(slot, tag, entry);
        true
    }

    /// Takes the last slot away; says also whether the bucket is empty then.
    fn pop(&mut self) -> Option<(u32, u32, bool)> {
        let slot = self.n_used().checked_sub(1)?;
        self.tags[BUCKET_SLOTS] = slot as u32;
        let entry = std::mem::take(&mut self.links[slot]).wrapping_sub(1);
        Some((self.tags[slot], entry, slot == 0))
    }

    /// Overwrites a slot, unless it is not in use.
    fn replace(&mut self, slot: usize, tag: u32, entry: u32) {
        if slot < self.n_used() {
            self.tags[slot] = tag;
            self.links[slot] = entry.wrapping_add(1);
        }
    }
}
