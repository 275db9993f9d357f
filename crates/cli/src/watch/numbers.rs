//! The numbers of packets, as many as a trace can need.

use std::collections::HashMap;

/// Half of how many are kept: more packets are hardly on their way at a time.
const HALF: usize = 32_768;

/// Numbers by identity. When there are too many, those that were not given for longest are forgotten.
#[derive(Default)]
pub struct Numbers {
    new: HashMap<usize, u32>,
    old: HashMap<usize, u32>,
}

impl Numbers {
    /// The number of a packet.
    pub fn get(&self, id: usize) -> Option<u32> {
        self.new.get(&id).or_else(|| self.old.get(&id)).copied()
    }

    /// Gives a packet a number.
    pub fn insert(&mut self, id: usize, number: u32) {
        if self.new.len() >= HALF && !self.new.contains_key(&id) {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(id, number);
    }

    /// Forgets a packet; gives its number.
    pub fn remove(&mut self, id: usize) -> Option<u32> {
        let old = self.old.remove(&id);
        self.new.remove(&id).or(old)
    }

    /// Whether no packet has a number.
    pub fn is_empty(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_numbers_are_known_and_not_too_many() {
        let mut numbers = Numbers::default();
        for id in 0..10 * HALF {
            numbers.insert(id, id as u32);
            // One that is given again and again stays.
            numbers.insert(7, 7);
            assert!(numbers.new.len() <= HALF && numbers.old.len() <= HALF);
        }
        let last = 10 * HALF - 1;
        assert_eq!(
            [0, 7, last - HALF / 2, last].map(|id| numbers.get(id).is_some()),
            [false, true, true, true]
        );
        numbers.insert(last, 1);
        assert_eq!((numbers.remove(last), numbers.get(last)), (Some(1), None));
        for id in 0..10 * HALF {
            numbers.remove(id);
        }
        assert!(numbers.is_empty());
    }
}
