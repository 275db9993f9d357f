//! Conjunctions one after the other, for a few of different shapes.

use super::conjunctions::{Conjunction, Equal};
use super::words::{Words, N_WORDS};
use crate::program::NEVER;

#[derive(Clone, Debug)]
pub struct List {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    /// The equality of the most bits: what most packets fail.
    first: Equal,
    all: Conjunction,
}

impl List {
    pub fn new(conjunctions: Vec<Conjunction>) -> List {
        let entry = |all: Conjunction| {
            let none = Equal { place: 0, mask: 0, value: 0 };
            let first =
                all.equals.iter().copied().max_by_key(|equal| equal.mask.count_ones()).unwrap_or(none);
            Entry { first, all }
        };
        List { entries: conjunctions.into_iter().map(entry).collect() }
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        let holds = |entry: &&Entry| {
            let Equal { place, mask, value } = entry.first;
            words[usize::from(place) % N_WORDS] & mask == value && entry.all.holds(words)
        };
        self.entries.iter().find(holds).map_or(NEVER, |entry| entry.all.jump)
    }
}
