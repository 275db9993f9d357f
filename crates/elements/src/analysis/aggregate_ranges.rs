//! Ranges of aggregates that AggregateFilter sends somewhere.

/// How many aggregates of a range that were there before are told, at most.
const MOST_TOLD: usize = 1000;

/// Ranges, with a small number for each, that is not 0.
#[derive(Default)]
pub struct Ranges {
    /// First and last aggregate; in order, and apart.
    ranges: Vec<(u32, u32, u8)>,
}

impl Ranges {
    /// Adds the aggregates from `first` to `last` that have no number yet; 0 as a number adds none. Yields those, up to some
    /// number of them, that have one that is not `wanted`.
    pub fn add(&mut self, first: u32, last: u32, number: u8, wanted: usize) -> Vec<(u32, u8)> {
        let mut others = Vec::new();
        if first > last {
            return others;
        }
        let mut next = Some(first);
        let mut new = Vec::new();
        for &(from, to, other) in self.ranges.iter().filter(|(from, to, _)| *to >= first && *from <= last) {
            if let Some(begin) = next.filter(|&begin| begin < from) {
                new.push((begin, from - 1, number));
            }
            if usize::from(other) != wanted {
                let room = MOST_TOLD - others.len();
                others
                    .extend((from.max(first)..=to.min(last)).take(room).map(|aggregate| (aggregate, other)));
            }
            next = to.checked_add(1);
        }
        if let Some(begin) = next.filter(|&begin| begin <= last) {
            new.push((begin, last, number));
        }
        if number != 0 {
            self.ranges.append(&mut new);
            self.ranges.sort_unstable();
        }
        others
    }

    /// The number of an aggregate.
    #[inline(always)]
    pub fn find(&self, aggregate: u32) -> Option<u8> {
        let idx = self.ranges.partition_point(|(first, ..)| *first <= aggregate).checked_sub(1)?;
        self.ranges.get(idx).filter(|(_, last, _)| aggregate <= *last).map(|(.., number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_whole_space_is_no_trouble() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(7, 9, 1, 1), []);
        assert_eq!(ranges.add(0, u32::MAX, 2, 2), [(7, 1), (8, 1), (9, 1)]);
        assert_eq!(ranges.add(u32::MAX, u32::MAX, 3, 3), [(u32::MAX, 2)]);
        assert_eq!([0, 6, 7, 9, 10, u32::MAX].map(|n| ranges.find(n)), [2, 2, 1, 1, 2, 2].map(Some));
    }

    proptest! {
        #[test]
        fn it_is_a_table_in_which_the_first_entry_stays(adds in prop::collection::vec((0u32..40, 0u32..40, 0u8..4), 0..20)) {
            let (mut ranges, mut table) = (Ranges::default(), [0u8; 40]);
            for (first, last, number) in adds {
                let mut expected = Vec::new();
                for aggregate in first..=last {
                    let entry = &mut table[aggregate as usize];
                    match *entry {
                        0 => *entry = number,
                        other if other != number => expected.push((aggregate, other)),
                        _ => {}
                    }
                }
                prop_assert_eq!(ranges.add(first, last, number, number.into()), expected);
            }
            for (aggregate, number) in (0..).zip(table) {
                prop_assert_eq!(ranges.find(aggregate), (number != 0).then_some(number));
            }
        }
    }
}
