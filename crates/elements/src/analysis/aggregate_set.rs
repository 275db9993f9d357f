//! A set of aggregates, small where their numbers are close to each other.

use table::flow::FlowTable;

/// The set: a bit for each aggregate, in words by the upper bits.
pub struct AggregateSet(FlowTable<u32, u64>);

fn place(aggregate: u32) -> (u32, u64) {
    (aggregate >> 6, 1 << (aggregate & 63))
}

impl Default for AggregateSet {
    fn default() -> AggregateSet {
        AggregateSet(FlowTable::new(u32::MAX))
    }
}

impl AggregateSet {
    /// Adds an aggregate; whether it was not in the set.
    #[inline(always)]
    pub fn insert(&mut self, aggregate: u32) -> bool {
        let (key, bit) = place(aggregate);
        let hash = self.0.hash_of(&key);
        match self.0.find_hashed(hash, &key).and_then(|idx| self.0.get_mut(idx)) {
            Some((_, word)) => {
                let is_new = *word & bit == 0;
                *word |= bit;
                is_new
            }
            None => self.0.insert_hashed(hash, key, bit).is_ok(),
        }
    }

    /// Takes an aggregate out.
    pub fn remove(&mut self, aggregate: u32) {
        let (key, bit) = place(aggregate);
        let Some(idx) = self.0.find(&key) else { return };
        let Some((_, word)) = self.0.get_mut(idx) else { return };
        *word &= !bit;
        if *word == 0 {
            self.0.remove(idx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn it_is_a_set(steps in prop::collection::vec((any::<bool>(), prop_oneof![0u32..200, any::<u32>()]), 0..100)) {
            let (mut set, mut model) = (AggregateSet::default(), HashSet::new());
            for (adds, aggregate) in steps {
                if adds {
                    prop_assert_eq!(set.insert(aggregate), model.insert(aggregate));
                } else {
                    set.remove(aggregate);
                    model.remove(&aggregate);
                }
            }
        }
    }
}
