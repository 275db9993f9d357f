//! The packets of which fragments are missing: found by what their fragments have in common, listed in Click's order.

use element::Packet;
use table::flow::{FlowTable, NO_ENTRY};

use super::fragments::{Fragment, Key, Queue};

/// Buckets of Click's table, whose order is that in which packets are listed and given up.
const N_BUCKETS: usize = 256;
/// Memory that is always there to be taken, in bytes.
const ROOMY: usize = 4 << 20;

/// The packets. Memory is counted twice: as Click does, which decides what is given up, and as it really is. Where that is more than
/// 4 MiB and twice Click's limit, packets take little more than they need.
pub struct Unfinished {
    table: FlowTable<Key, Entry>,
    /// For each bucket the packet begun last.
    newest: Box<[u32; N_BUCKETS]>,
    used: u32,
    memory: usize,
    roomy: usize,
    /// No packet is of before this second.
    oldest_s: i64,
}

/// A packet in the list of its bucket.
struct Entry {
    queue: Queue,
    newer: u32,
    older: u32,
}

/// What became of a fragment.
pub enum Added {
    /// Others are missing.
    Kept,
    /// It was the last one; it comes back, too.
    Whole(Queue, Packet),
    /// It lies behind the end of its packet.
    Superfluous(Packet),
}

impl Unfinished {
    /// Nothing yet; `himem` is the number of bytes that Click would keep.
    pub fn new(himem: u32) -> Unfinished {
        let (table, newest) = (FlowTable::new(u32::MAX), Box::new([NO_ENTRY; N_BUCKETS]));
        Unfinished { table, newest, used: 0, memory: 0, roomy: roomy(himem), oldest_s: i64::MAX }
    }

    /// Goes on with others.
    pub fn go_on_with(&mut self, others: Unfinished) {
        *self = Unfinished { roomy: self.roomy, ..others };
    }

    /// The bytes that they count for, as Click counts.
    pub fn used(&self) -> u32 {
        self.used
    }

    /// Adds a fragment to its packet.
    pub fn add(&mut self, packet: Packet, fragment: &Fragment, mtu_anno: Option<usize>) -> Added {
        let is_tight = self.memory > self.roomy;
        let hash = self.table.hash_of(&fragment.key);
        let Some(idx) = self.table.find_hashed(hash, &fragment.key) else {
            self.begin(hash, fragment.key, Queue::new(packet, fragment, mtu_anno, is_tight));
            return Added::Kept;
        };
        let Some((_, Entry { queue, .. })) = self.table.get_mut(idx) else { return Added::Kept };
        let (cost, memory) = (queue.cost(), queue.memory());
        if !queue.add(&packet, fragment, mtu_anno, is_tight) {
            return Added::Superfluous(packet);
        }
        self.used = self.used.wrapping_add(queue.cost()).wrapping_sub(cost);
        self.memory = self.memory.wrapping_add(queue.memory()).wrapping_sub(memory);
        self.oldest_s = self.oldest_s.min(queue.time_s());
        if !queue.is_whole() {
            return Added::Kept;
        }
        match self.remove(idx) {
            Some(queue) => Added::Whole(queue, packet),
            None => Added::Kept,
        }
    }

    /// Takes the packets of before `time_s`, in order, and gives each away with the bytes that are used then, until `each` has enough.
    /// Returns whether it had.
    pub fn take_before(&mut self, time_s: i64, mut each: impl FnMut(Queue, u32) -> bool) -> bool {
        if self.oldest_s >= time_s {
            return false;
        }
        let mut oldest_s = i64::MAX;
        for bucket in 0..N_BUCKETS {
            let mut idx = self.newest.get(bucket).copied().unwrap_or(NO_ENTRY);
            while let Some((_, entry)) = self.table.get(idx) {
                let (this, this_s) = (idx, entry.queue.time_s());
                idx = entry.older;
                if this_s >= time_s {
                    oldest_s = oldest_s.min(this_s);
                } else if self.remove(this).is_some_and(|queue| each(queue, self.used)) {
                    return true;
                }
            }
        }
        self.oldest_s = oldest_s;
        false
    }

    /// Describes them, a line each.
    pub fn describe(&self, text: &mut String) {
        for newest in self.newest.iter() {
            let mut idx = *newest;
            while let Some((key, entry)) = self.table.get(idx) {
                entry.queue.describe(key, text);
                idx = entry.older;
            }
        }
    }

    fn begin(&mut self, hash: u64, key: Key, queue: Queue) {
        self.used = self.used.wrapping_add(queue.cost());
        self.memory += queue.memory();
        self.oldest_s = self.oldest_s.min(queue.time_s());
        let Some(newest) = self.newest.get_mut(bucket(key)) else { return };
        let older = *newest;
        let Ok(idx) = self.table.insert_hashed(hash, key, Entry { queue, newer: NO_ENTRY, older }) else {
            return;
        };
        *newest = idx;
        if let Some((_, entry)) = self.table.get_mut(older) {
            entry.newer = idx;
        }
    }

    fn remove(&mut self, idx: u32) -> Option<Queue> {
        let (key, Entry { queue, newer, older }) = self.table.remove(idx)?;
        match self.table.get_mut(newer) {
            Some((_, entry)) => entry.older = older,
            None => self.newest.get_mut(bucket(key)).into_iter().for_each(|newest| *newest = older),
        }
        if let Some((_, entry)) = self.table.get_mut(older) {
            entry.newer = newer;
        }
        self.used = self.used.wrapping_sub(queue.cost());
        self.memory = self.memory.wrapping_sub(queue.memory());
        Some(queue)
    }
}

fn roomy(himem: u32) -> usize {
    (2 * himem as usize).max(ROOMY)
}

fn bucket(key: Key) -> usize {
    usize::from(key.id >> 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fragment of 8 bytes of the packet number `n`, `offset` bytes behind its beginning, at second 1 or later.
    fn fragment(n: u32, offset: u16, time_s: i64) -> (Packet, Fragment) {
        let mut bytes = [0; 28];
        bytes[0] = 0x45;
        bytes[3] = 28;
        bytes[6..8].copy_from_slice(&(0x2000 + offset / 8).to_be_bytes());
        bytes[12..16].copy_from_slice(&n.to_be_bytes());
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 20);
        packet.set_timestamp_ns(time_s * 1_000_000_000);
        let fragment = Fragment::of(&mut packet).expect("a fragment");
        (packet, fragment)
    }

    #[test]
    fn small_fragments_do_not_take_much_more_memory_than_they_count_for() {
        let mut unfinished = Unfinished::new(1 << 20);
        let before = packet::stats();
        for n in 0..100_000 {
            let (packet, fragment) = fragment(n, if n % 2 == 0 { 0 } else { 8 }, 1);
            assert!(matches!(unfinished.add(packet, &fragment, None), Added::Kept));
        }
        let after = packet::stats();
        let n_slots =
            (after.small_touched - before.small_touched, after.large_touched - before.large_touched);
        assert!(n_slots.0 <= 2000 && n_slots.1 == 0, "{n_slots:?}");
        assert_eq!(unfinished.used(), 50_000 * (48 + 56));
        assert!(unfinished.memory < ROOMY + 10 * unfinished.used() as usize, "{}", unfinished.memory);
        // What came later makes a packet longer, and brings its front.
        for n in (0..100_000).filter(|n| n % 1000 == 1) {
            for offset in [512, 0, 2000] {
                let (packet, fragment) = fragment(n, offset, 1);
                assert!(matches!(unfinished.add(packet, &fragment, None), Added::Kept));
            }
        }
        let after = packet::stats();
        assert_eq!(after.large_touched, before.large_touched);
        let really: usize = unfinished.table.iter().map(|(_, _, entry)| entry.queue.memory()).sum();
        assert_eq!(unfinished.memory, really);
    }

    #[test]
    fn packets_of_one_bucket_are_found_and_given_up_in_one_walk() {
        // All have the identification 0. Walking them for each would take minutes.
        let mut unfinished = Unfinished::new(1 << 20);
        for n in 0..200_000 {
            let (packet, fragment) = fragment(n, 0, 1 + i64::from(n % 2));
            assert!(matches!(unfinished.add(packet, &fragment, None), Added::Kept));
        }
        let mut n_taken = 0;
        assert!(!unfinished.take_before(2, |queue, _| {
            n_taken += 1;
            queue.time_s() != 1
        }));
        assert_eq!((n_taken, unfinished.used(), unfinished.oldest_s), (100_000, 100_000 * 48, 2));
        assert!(unfinished.take_before(3, |_, used| used <= 60_000 * 48));
        assert_eq!(unfinished.used(), 60_000 * 48);
        assert!(!unfinished.take_before(i64::MAX, |_, _| false));
        assert_eq!((unfinished.used(), unfinished.memory, unfinished.table.len()), (0, 0, 0));
    }
}
