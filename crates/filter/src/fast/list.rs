//! Conjunctions one after the other, for a few of different shapes.

use super::conjunctions::{Conjunctions, Equal};
use super::words::{Words, N_WORDS};
use crate::program::NEVER;

/// The conjunctions, in order.
#[derive(Clone, Debug)]
pub struct List {
    /// For each conjunction the equality of the most bits: what most packets fail.
    firsts: Vec<Equal>,
    conjunctions: Conjunctions,
}

impl List {
    pub fn new(conjunctions: Conjunctions) -> List {
        let none = Equal { place: 0, mask: 0, value: 0 };
        let most = |equals: &[Equal]| equals.iter().copied().max_by_key(|equal| equal.mask.count_ones());
        let firsts = conjunctions.iter().map(|one| most(one.equals).unwrap_or(none)).collect();
        List { firsts, conjunctions }
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        for (at, &Equal { place, mask, value }) in self.firsts.iter().enumerate() {
            if words[usize::from(place) % N_WORDS] & mask == value {
                if let Some(jump) = self.conjunctions.decide(at, words) {
                    return jump;
                }
            }
        }
        NEVER
    }
}
