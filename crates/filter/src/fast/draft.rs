//! A conjunction in the making.

use super::conjunctions::{Equal, Range};

/// What is known so far of a packet that fulfils some conditions.
#[derive(Debug, Default)]
pub struct Draft {
    /// In the order of words.
    pub equals: Vec<Equal>,
    pub ranges: Vec<Range>,
}

impl Draft {
    /// Adds a condition; whether both can be fulfilled.
    pub fn add_equal(&mut self, new: Equal) -> bool {
        let at = self.equals.partition_point(|equal| equal.place < new.place);
        let equal = match self.equals.get_mut(at).filter(|equal| equal.place == new.place) {
            Some(old) if (old.value ^ new.value) & old.mask & new.mask != 0 => return false,
            Some(old) => {
                (old.mask, old.value) = (old.mask | new.mask, old.value | new.value);
                *old
            }
            None => {
                self.equals.insert(at, new);
                new
            }
        };
        let is_decided = |range: &Range| range.place == equal.place && range.mask & !equal.mask == 0;
        let is_possible = self.ranges.iter().all(|range| !is_decided(range) || range.contains(equal.value));
        self.ranges.retain(|range| !is_decided(range));
        is_possible
    }

    /// Adds a condition, joined with others on the same masked word; whether all can be fulfilled.
    pub fn add_range(&mut self, new: Range) -> bool {
        let decides = |equal: &&Equal| equal.place == new.place && new.mask & !equal.mask == 0;
        if let Some(equal) = self.equals.iter().find(decides) {
            return new.contains(equal.value);
        }
        let joins =
            |old: &&mut Range| old.place == new.place && old.mask == new.mask && !old.negated && !new.negated;
        match self.ranges.iter_mut().find(joins) {
            Some(old) => {
                (old.low, old.high) = (old.low.max(new.low), old.high.min(new.high));
                old.low <= old.high
            }
            None => {
                if !self.ranges.contains(&new) {
                    self.ranges.push(new);
                }
                true
            }
        }
    }

    /// Whether it holds for all packets.
    pub fn is_empty(&self) -> bool {
        self.equals.is_empty() && self.ranges.is_empty()
    }

    pub fn copy_from(&mut self, other: &Draft) {
        self.equals.clone_from(&other.equals);
        self.ranges.clone_from(&other.ranges);
    }
}
