//! A queue with two ends and a limit, whose storage grows by powers of two up to what is needed.
//!
//! Single operations are O(1) amortised, those on batches a copy of the batch. The limit is only a number: it may be
//! huge or change, and what is stored beyond a lowered limit stays until taken. Memory: up to twice the largest number
//! of items ever held, kept until [`Ring::shrink`].

use std::collections::VecDeque;

/// A growable ring of at most [`Ring::limit`] items.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
    limit: usize,
}

impl<T> Ring<T> {
    /// An empty ring without storage.
    pub fn new(limit: usize) -> Self {
        Ring { items: VecDeque::new(), limit }
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no items.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Whether a push would be refused.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    /// How many items may be pushed.
    #[inline]
    pub fn room(&self) -> usize {
        self.limit.saturating_sub(self.items.len())
    }

    /// How many items the ring takes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Changes the limit; items beyond a lower one stay until taken.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Adds an item behind the last; a full ring gives it back.
    #[inline]
    pub fn push_back(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.reserve(1);
        self.items.push_back(item);
        Ok(())
    }

    /// Adds an item before the first; a full ring gives it back.
    #[inline]
    pub fn push_front(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.reserve(1);
        self.items.push_front(item);
        Ok(())
    }

    /// Takes the first item.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.items.pop_front()
    }

    /// Takes the last item.
    #[inline]
    pub fn pop_back(&mut self) -> Option<T> {
        self.items.pop_back()
    }

    /// Moves items from the start of `batch` behind the last as long as there is room; returns how many.
    ///
    /// What found no room stays in `batch`, in order.
    #[inline]
    pub fn push_back_batch(&mut self, batch: &mut Vec<T>) -> usize {
        let n_moved = batch.len().min(self.room());
        self.reserve(n_moved);
        self.items.extend(batch.drain(..n_moved));
        n_moved
    }

    /// Moves items from the end of `batch` before the first as long as there is room; returns how many.
    ///
    /// The order is kept: if all fit, `batch[0]` becomes the first item.
    pub fn push_front_batch(&mut self, batch: &mut Vec<T>) -> usize {
        let n_moved = batch.len().min(self.room());
        self.reserve(n_moved);
        for item in batch.drain(batch.len() - n_moved..).rev() {
            self.items.push_front(item);
        }
        n_moved
    }

    /// Copies items from the start of `batch` behind the last as long as there is room; returns how many.
    #[inline]
    pub fn push_back_slice(&mut self, batch: &[T]) -> usize
    where
        T: Copy,
    {
        let fitting = batch.get(..self.room()).unwrap_or(batch);
        self.reserve(fitting.len());
        self.items.extend(fitting);
        fitting.len()
    }

    /// Moves up to `n_wanted` of the first items to the end of `batch`, in order; returns how many.
    #[inline]
    pub fn pop_front_batch(&mut self, n_wanted: usize, batch: &mut Vec<T>) -> usize {
        let n_moved = n_wanted.min(self.items.len());
        let mut drained = self.items.drain(..n_moved);
        batch.extend((0..n_moved).map(|_| drained.next().expect("as many are drained")));
        drop(drained);
        n_moved
    }

    /// Moves up to `n_wanted` of the last items to the end of `batch`, the last first; returns how many.
    pub fn pop_back_batch(&mut self, n_wanted: usize, batch: &mut Vec<T>) -> usize {
        let n_moved = n_wanted.min(self.items.len());
        batch.extend(self.items.drain(self.items.len() - n_moved..).rev());
        n_moved
    }

    /// The first item.
    pub fn front(&self) -> Option<&T> {
        self.items.front()
    }

    /// The last item.
    pub fn back(&self) -> Option<&T> {
        self.items.back()
    }

    /// The items from first to last.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter()
    }

    /// Takes all items, first to last; storage stays.
    pub fn drain(&mut self) -> impl DoubleEndedIterator<Item = T> + ExactSizeIterator + '_ {
        self.items.drain(..)
    }

    /// Gives back storage that the present items do not need.
    pub fn shrink(&mut self) {
        self.items.shrink_to(self.items.len().checked_next_power_of_two().unwrap_or(0));
    }

    /// Bytes of storage.
    pub fn memory(&self) -> usize {
        self.items.capacity() * size_of::<T>()
    }

    /// Makes storage a power of two that `n_more` items fit in.
    #[inline]
    fn reserve(&mut self, n_more: usize) {
        let needed = self.items.len() + n_more;
        if needed > self.items.capacity() {
            let capacity = needed.checked_next_power_of_two().unwrap_or(needed);
            self.items.reserve_exact(capacity - self.items.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push { front: bool, n: usize },
        PushSlice(usize),
        Pop { front: bool, n: usize },
        SetLimit(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (any::<bool>(), 0..40usize).prop_map(|(front, n)| Step::Push { front, n }),
            (0..40usize).prop_map(Step::PushSlice),
            (any::<bool>(), 0..40usize).prop_map(|(front, n)| Step::Pop { front, n }),
            (0..100usize).prop_map(Step::SetLimit),
        ]
    }

    /// Applies a step to a plain list by single operations; returns what a push leaves or a pop takes.
    fn apply_singly(list: &mut Vec<u32>, limit: usize, step: &Step, batch: &[u32]) -> Vec<u32> {
        let mut rest = batch.to_vec();
        match step {
            Step::Push { front: true, .. } => {
                while list.len() < limit && !rest.is_empty() {
                    list.insert(0, rest.pop().unwrap());
                }
            }
            Step::Push { .. } | Step::PushSlice(_) => {
                while list.len() < limit && !rest.is_empty() {
                    list.push(rest.remove(0));
                }
            }
            Step::Pop { front, n } => {
                for _ in 0..(*n).min(list.len()) {
                    rest.push(if *front { list.remove(0) } else { list.pop().unwrap() });
                }
            }
            Step::SetLimit(_) => {}
        }
        rest
    }

    proptest! {
        #[test]
        fn batches_do_what_single_operations_on_a_list_do(steps in prop::collection::vec(step(), 0..100)) {
            let mut ring = Ring::<u32>::new(70);
            let mut list = Vec::new();
            let mut next = 0u32;
            for step in steps {
                let mut batch = Vec::new();
                if let Step::Push { n, .. } | Step::PushSlice(n) = step {
                    batch.extend((next..).take(n));
                    next += n as u32;
                }
                let expected = apply_singly(&mut list, ring.limit(), &step, &batch);
                let (n_before, n_batch) = (ring.len(), batch.len());
                let n_moved = match step {
                    Step::Push { front: true, .. } => ring.push_front_batch(&mut batch),
                    Step::Push { front: false, .. } => ring.push_back_batch(&mut batch),
                    Step::PushSlice(_) => {
                        let n_moved = ring.push_back_slice(&batch);
                        batch.drain(..n_moved);
                        n_moved
                    }
                    Step::Pop { front: true, n } => ring.pop_front_batch(n, &mut batch),
                    Step::Pop { front: false, n } => ring.pop_back_batch(n, &mut batch),
                    Step::SetLimit(limit) => {
                        ring.set_limit(limit);
                        0
                    }
                };
                prop_assert_eq!(n_moved, ring.len().abs_diff(n_before));
                prop_assert_eq!(n_moved, batch.len().abs_diff(n_batch));
                prop_assert_eq!(batch, expected);
                prop_assert!(ring.iter().eq(&list));
            }
        }
    }

    #[test]
    fn a_full_ring_gives_items_back() {
        let mut ring = Ring::new(2);
        assert_eq!(
            (ring.push_back('b'), ring.push_front('a'), ring.push_back('c')),
            (Ok(()), Ok(()), Err('c'))
        );
        assert_eq!((ring.push_front('c'), ring.front(), ring.back()), (Err('c'), Some(&'a'), Some(&'b')));
        assert_eq!((ring.pop_back(), ring.pop_front(), ring.pop_front()), (Some('b'), Some('a'), None));
    }

    #[test]
    fn storage_follows_the_items_and_not_the_limit() {
        let mut ring = Ring::<u64>::new(usize::MAX);
        assert_eq!(ring.memory(), 0);
        assert_eq!(ring.push_back_slice(&[1; 33]), 33);
        assert_eq!(ring.memory(), 64 * 8);
        assert_eq!(ring.drain().count(), 33);
        ring.shrink();
        assert!(ring.memory() <= 8);
    }
}
