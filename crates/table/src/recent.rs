//! What was noted lately, by key: a bounded table in which the oldest entry gives way and each ends after the same time.
//!
//! Note, find: O(1). Each operation forgets the entries whose time is over by then, so that each is forgotten once. Times never go back;
//! where they do, entries stay longer.

use std::hash::Hash;

use crate::flow::{FlowTable, NO_ENTRY};

/// The table.
pub struct Recent<K, V> {
    table: FlowTable<K, Noted<V>>,
    oldest: u32,
    newest: u32,
    timeout_ns: u64,
}

/// A value in the list by age.
struct Noted<V> {
    value: V,
    end_ns: u64,
    older: u32,
    newer: u32,
}

impl<K: Hash + Eq, V: Copy> Recent<K, V> {
    /// An empty table for up to `limit` entries, each of which ends `timeout_ns` after it was noted.
    pub fn new(limit: u32, timeout_ns: u64) -> Self {
        Recent { table: FlowTable::new(limit), oldest: NO_ENTRY, newest: NO_ENTRY, timeout_ns }
    }

    /// Notes a value, in place of the one that is known with this key. Where there is no room the oldest entry is forgotten.
    pub fn note(&mut self, key: K, value: V, now_ns: u64) {
        self.expire(now_ns);
        let hash = self.table.hash_of(&key);
        match self.table.find_hashed(hash, &key) {
            Some(idx) => self.remove(idx),
            None if self.table.is_full() => self.remove(self.oldest),
            None => {}
        }
        let end_ns = now_ns.saturating_add(self.timeout_ns);
        let noted = Noted { value, end_ns, older: self.newest, newer: NO_ENTRY };
        let Ok(idx) = self.table.insert_hashed(hash, key, noted) else { return };
        match self.table.get_mut(self.newest) {
            Some((_, newest)) => newest.newer = idx,
            None => self.oldest = idx,
        }
        self.newest = idx;
    }

    /// What was noted with this key, if its time is not over.
    pub fn find(&mut self, key: &K, now_ns: u64) -> Option<V> {
        self.expire(now_ns);
        self.table.get(self.table.find(key)?).map(|(_, noted)| noted.value)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.table.clear();
        (self.oldest, self.newest) = (NO_ENTRY, NO_ENTRY);
    }

    /// Number of entries, of which some may be over.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    fn expire(&mut self, now_ns: u64) {
        while self.table.get(self.oldest).is_some_and(|(_, noted)| noted.end_ns <= now_ns) {
            self.remove(self.oldest);
        }
    }

    fn remove(&mut self, idx: u32) {
        let Some((_, Noted { older, newer, .. })) = self.table.remove(idx) else { return };
        match self.table.get_mut(older) {
            Some((_, noted)) => noted.newer = newer,
            None => self.oldest = newer,
        }
        match self.table.get_mut(newer) {
            Some((_, noted)) => noted.older = older,
            None => self.newest = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_oldest_gives_way_and_all_end() {
        let mut recent = Recent::new(2, 10);
        recent.note('a', 1, 0);
        recent.note('b', 2, 1);
        recent.note('c', 3, 2);
        assert_eq!(['a', 'b', 'c'].map(|key| recent.find(&key, 2)), [None, Some(2), Some(3)]);
        assert_eq!((recent.find(&'b', 11), recent.len()), (None, 1));
        assert_eq!((recent.find(&'c', 11), recent.find(&'c', 12)), (Some(3), None));
        assert!(recent.is_empty());
    }

    #[test]
    fn what_is_noted_again_is_new_again() {
        let mut recent = Recent::new(2, 10);
        recent.note('a', 1, 0);
        recent.note('b', 2, 1);
        recent.note('a', 3, 2);
        recent.note('c', 4, 3);
        assert_eq!(['a', 'b', 'c'].map(|key| recent.find(&key, 11)), [Some(3), None, Some(4)]);
        assert_eq!(recent.find(&'a', 12), None);
        recent.clear();
        assert_eq!((recent.find(&'c', 12), recent.len()), (None, 0));
        recent.note('d', 5, 12);
        assert_eq!(recent.find(&'d', 12), Some(5));
    }

    #[test]
    fn without_room_nothing_is_noted() {
        let mut recent = Recent::new(0, 10);
        recent.note('a', 1, 0);
        assert_eq!((recent.find(&'a', 0), recent.len()), (None, 0));
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_list(
            steps in prop::collection::vec((any::<bool>(), 0u8..12, 0u64..4), 0..300)
        ) {
            let mut recent = Recent::new(5, 20);
            let mut list: Vec<(u8, usize, u64)> = Vec::new();
            let mut now_ns = 0;
            for (at, (notes, key, passed)) in steps.into_iter().enumerate() {
                now_ns += passed;
                list.retain(|(_, _, noted_ns)| noted_ns + 20 > now_ns);
                if notes {
                    recent.note(key, at, now_ns);
                    list.retain(|(known, ..)| *known != key);
                    list.push((key, at, now_ns));
                    let n_more = list.len().saturating_sub(5);
                    list.drain(..n_more);
                }
                let expected = list.iter().find(|(known, ..)| *known == key).map(|(_, value, _)| *value);
                prop_assert_eq!(recent.find(&key, now_ns), expected);
                prop_assert_eq!(recent.len(), list.len());
            }
        }
    }
}
