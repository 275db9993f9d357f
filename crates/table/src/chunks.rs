//! A growable array whose growth never copies more than one small chunk, so that no push is slow.

/// log2 of the values in a chunk: few enough to copy or allocate in microseconds, many enough to have few chunks.
const CHUNK_BITS: u32 = 11;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Chunks of equal size. The first grows as needed; later ones are allocated whole, and the operating system provides
/// their memory as it is written.
pub struct Chunks<T> {
    chunks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Chunks<T> {
    pub fn new() -> Self {
        Chunks { chunks: Vec::new(), len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    pub fn get(&self, idx: usize) -> Option<&T> {
        self.chunks.get(idx >> CHUNK_BITS)?.get(idx % CHUNK)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, idx: usize) -> Option<&mut T> {
        self.chunks.get_mut(idx >> CHUNK_BITS)?.get_mut(idx % CHUNK)
    }

    pub fn push(&mut self, value: T) {
        let last = self.len >> CHUNK_BITS;
        if last == self.chunks.len() {
            self.chunks.push(if last == 0 { Vec::new() } else { Vec::with_capacity(CHUNK) });
        }
        if let Some(values) = self.chunks.get_mut(last) {
            values.push(value);
            self.len += 1;
        }
    }

    /// The values from index `first` on, in order.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = &T> {
        let chunk = first >> CHUNK_BITS;
        let head = self.chunks.get(chunk).and_then(|values| values.get(first % CHUNK..)).unwrap_or_default();
        head.iter().chain(self.chunks.iter().skip(chunk.saturating_add(1)).flatten())
    }

    /// The values in order, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }

    /// Bytes reserved, of which the operating system provides what was written.
    pub fn memory(&self) -> usize {
        self.chunks.iter().map(|values| values.capacity() * size_of::<T>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_where_they_were_pushed() {
        let mut chunks = Chunks::new();
        for i in 0..10_000usize {
            assert_eq!(chunks.get(i), None);
            chunks.push(i);
            assert_eq!(chunks.len(), i + 1);
        }
        assert!((0..10_000).all(|i| chunks.get(i) == Some(&i)));
        for first in [0, 1, 4095, 4096, 4097, 8192, 9999, 10_000, 50_000] {
            assert!(chunks.iter_from(first).copied().eq(first..10_000), "from {first}");
        }
        for idx in [10_000, 1 << 20, usize::MAX, usize::MAX - CHUNK] {
            assert_eq!(chunks.get(idx), None);
        }
        chunks.iter_mut().for_each(|value| *value += 1);
        assert_eq!(chunks.get_mut(5000), Some(&mut 5001));
    }
}
