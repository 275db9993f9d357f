//! The order in which a chained hash table lists its entries, worked out afterwards.
//!
//! Click lists its hash tables bucket by bucket, the newest entry of a bucket first. Which bucket an entry is in, and
//! where in it, follows from the order of insertions and the moments at which the table grew: it is enough to remember
//! those, whatever structure the entries are really kept in.

/// When a table grew.
#[derive(Clone, Debug)]
pub struct Growth {
    n_buckets_first: u32,
    n_buckets: u32,
    /// Numbers of the entries before which the table grew, ascending.
    grown_at: Vec<u64>,
}

impl Growth {
    /// A table with so many buckets at first.
    pub fn new(n_buckets: u32) -> Growth {
        Growth { n_buckets_first: n_buckets.max(1), n_buckets: n_buckets.max(1), grown_at: Vec::new() }
    }

    /// Lets the table grow if it must with so many entries, the next one being number `next`.
    #[inline]
    pub fn grow(&mut self, n_entries: u64, next: u64) {
        if n_entries > 2 * u64::from(self.n_buckets) {
            self.n_buckets = self.n_buckets.saturating_mul(2).saturating_add(1);
            self.grown_at.push(next);
        }
    }

    /// Entries, given as number, hash and value in ascending order of their numbers, in the order of the table.
    pub fn order<T>(&self, entries: impl IntoIterator<Item = (u64, u32, T)>) -> Vec<T> {
        let mut buckets = empty(self.n_buckets_first as usize);
        let mut entries = entries.into_iter().peekable();
        for &at in &self.grown_at {
            while let Some((_, hash, value)) = entries.next_if(|(number, ..)| *number < at) {
                add(&mut buckets, hash, value);
            }
            let mut larger = empty(buckets.len().saturating_mul(2).saturating_add(1));
            in_order(buckets).for_each(|(hash, value)| add(&mut larger, hash, value));
            buckets = larger;
        }
        entries.for_each(|(_, hash, value)| add(&mut buckets, hash, value));
        in_order(buckets).map(|(_, value)| value).collect()
    }
}

/// Its head is last.
type Bucket<T> = Vec<(u32, T)>;

fn empty<T>(n: usize) -> Vec<Bucket<T>> {
    (0..n).map(|_| Vec::new()).collect()
}

fn add<T>(buckets: &mut [Bucket<T>], hash: u32, value: T) {
    let at = (hash as usize).checked_rem(buckets.len()).unwrap_or(0);
    if let Some(bucket) = buckets.get_mut(at) {
        bucket.push((hash, value));
    }
}

fn in_order<T>(buckets: Vec<Bucket<T>>) -> impl Iterator<Item = (u32, T)> {
    buckets.into_iter().flat_map(|bucket| bucket.into_iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(n_buckets: u32, hashes: &[u32]) -> Vec<u32> {
        let mut growth = Growth::new(n_buckets);
        for n in 1..=hashes.len() as u64 {
            growth.grow(n, n);
        }
        growth.order(hashes.iter().zip(0..).map(|(&hash, number)| (number, hash, hash)))
    }

    #[test]
    fn buckets_list_the_newest_first() {
        assert_eq!(listed(3, &[0, 3, 1, 4]), [3, 0, 4, 1]);
    }

    #[test]
    fn growing_turns_buckets_round() {
        // The third entry makes three buckets of one, and what was newest first is oldest first.
        assert_eq!(listed(1, &[0, 3]), [3, 0]);
        assert_eq!(listed(1, &[0, 3, 6]), [0, 3, 6]);
        assert_eq!(listed(1, &[0, 3, 6, 9, 1]), [9, 0, 3, 6, 1]);
    }
}
