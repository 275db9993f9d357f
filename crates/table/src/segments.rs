//! A growable array that never moves what it holds, so that growing costs no copy.
//!
//! Segments double in size. Pushing allocates at most one segment, which the operating system hands out untouched.

/// log2 of the first segment's size.
const FIRST_BITS: u32 = 6;
const FIRST: usize = 1 << FIRST_BITS;

pub struct Segments<T> {
    segments: Vec<Vec<T>>,
    len: usize,
}

impl<T> Segments<T> {
    pub fn new() -> Self {
        Segments { segments: Vec::new(), len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn get(&self, idx: usize) -> Option<&T> {
        let (segment, offset) = place(idx);
        self.segments.get(segment)?.get(offset)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, idx: usize) -> Option<&mut T> {
        let (segment, offset) = place(idx);
        self.segments.get_mut(segment)?.get_mut(offset)
    }

    pub fn push(&mut self, value: T) {
        let (segment, _) = place(self.len);
        if segment == self.segments.len() {
            self.segments.push(Vec::with_capacity(FIRST << segment));
        }
        if let Some(values) = self.segments.get_mut(segment) {
            values.push(value);
            self.len += 1;
        }
    }

    /// The values from index `first` on, in order.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = &T> {
        let (segment, offset) = place(first);
        let head = self.segments.get(segment).and_then(|values| values.get(offset..)).unwrap_or_default();
        head.iter().chain(self.segments.iter().skip(segment.saturating_add(1)).flatten())
    }

    /// The values in order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments.iter_mut().flatten()
    }

    /// Bytes reserved, of which the operating system provides what was written.
    pub fn memory(&self) -> usize {
        self.segments.iter().map(|values| values.capacity() * size_of::<T>()).sum()
    }
}

/// Segment and place in it: segment k starts at index FIRST * (2^k - 1).
#[inline(always)]
fn place(idx: usize) -> (usize, usize) {
    let biased = idx.wrapping_add(FIRST) | 1;
    let segment_bits = biased.ilog2();
    let offset = idx.wrapping_add(FIRST) ^ (1 << segment_bits);
    (segment_bits.wrapping_sub(FIRST_BITS) as usize, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_where_they_were_pushed() {
        let mut segments = Segments::new();
        for i in 0..1000usize {
            assert_eq!(segments.get(i), None);
            segments.push(i);
            assert_eq!(segments.len(), i + 1);
        }
        assert!((0..1000).all(|i| segments.get(i) == Some(&i)));
        for first in [0, 1, 63, 64, 65, 191, 192, 999, 1000, 5000] {
            assert!(segments.iter_from(first).copied().eq(first..1000), "from {first}");
        }
        for idx in [1000, 1 << 20, usize::MAX, usize::MAX - 63, usize::MAX - 64] {
            assert_eq!(segments.get(idx), None);
        }
        segments.iter_mut().for_each(|value| *value += 1);
        assert_eq!(segments.get_mut(70), Some(&mut 71));
    }

    #[test]
    fn growing_does_not_move_values() {
        let mut segments = Segments::new();
        segments.push(0);
        let first = std::ptr::from_ref(segments.get(0).unwrap());
        (1..10_000).for_each(|i| segments.push(i));
        assert_eq!(std::ptr::from_ref(segments.get(0).unwrap()), first);
    }
}
