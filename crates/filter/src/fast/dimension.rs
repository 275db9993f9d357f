//! Tables from the bits of a word to row numbers.

use super::words::{Words, N_WORDS};

/// Row numbers for the masked values of a word.
#[derive(Clone, Debug)]
pub struct Dimension {
    bits: Bits,
    levels: Levels,
}

/// Which bits of a word are looked at.
#[derive(Clone, Copy, Debug)]
struct Bits {
    place: u8,
    mask: u32,
    /// Brings the highest bit of the mask to the top.
    shift: u32,
    /// How many bits the first level leaves.
    low: u32,
}

/// In small entries if they suffice, so that more of them are near.
#[derive(Clone, Debug)]
enum Levels {
    Narrow(Table<u16>),
    Wide(Table<u32>),
}

/// A table by 16 bits, then by 8, then by 8, as far as needed.
#[derive(Clone, Debug)]
struct Table<T> {
    /// Row numbers, or numbers of tables of 256 in `inner`, which have the highest bit set.
    outer: Vec<T>,
    inner: Vec<T>,
}

trait Entry: Copy + Into<u32> + TryFrom<u32> + Default {
    /// Set in numbers of inner tables.
    const INNER: u32;
}

impl Entry for u16 {
    const INNER: u32 = 1 << 15;
}

impl Entry for u32 {
    const INNER: u32 = 1 << 31;
}

impl Dimension {
    /// `starts`: where each interval begins, ascending from 0, and its row. `None` if it would take more than `max_bytes`.
    pub fn new(place: u8, mask: u32, starts: &[(u32, u32)], max_bytes: usize) -> Option<Dimension> {
        let shift = mask.leading_zeros();
        let n_bits = 32 - shift - mask.trailing_zeros();
        let bits = Bits { place, mask, shift, low: 32 - n_bits.min(16) };
        let starts: Vec<(u64, u32)> =
            starts.iter().map(|&(start, row)| (u64::from(start) << shift, row)).collect();
        let narrow = Table::new(bits, &starts, max_bytes).map(Levels::Narrow);
        let levels = narrow.or_else(|| Table::new(bits, &starts, max_bytes).map(Levels::Wide))?;
        Some(Dimension { bits, levels })
    }

    pub fn n_bytes(&self) -> usize {
        match &self.levels {
            Levels::Narrow(table) => table.n_bytes(),
            Levels::Wide(table) => table.n_bytes(),
        }
    }

    #[inline]
    pub fn row(&self, words: &Words) -> u32 {
        let Bits { place, mask, shift, low } = self.bits;
        let word = (words[usize::from(place) % N_WORDS] & mask) << (shift % 32);
        match &self.levels {
            Levels::Narrow(table) => table.row(word, low),
            Levels::Wide(table) => table.row(word, low),
        }
    }
}

impl<T: Entry> Table<T> {
    /// `None` if it would take more than `max_bytes`, or if there are too many rows or inner tables for the entries.
    fn new(bits: Bits, starts: &[(u64, u32)], max_bytes: usize) -> Option<Table<T>> {
        if starts.iter().any(|&(_, row)| row >= T::INNER) {
            return None;
        }
        let lowest = u64::from(bits.mask & bits.mask.wrapping_neg()) << bits.shift;
        let mut filler = Filler { inner: Vec::new(), lowest, max_entries: max_bytes / size_of::<T>() };
        let mut outer = vec![T::default(); 1 << (32 - bits.low)];
        filler.fill(&mut outer, 0, bits.low, starts)?;
        Some(Table { outer, inner: filler.inner })
    }

    fn n_bytes(&self) -> usize {
        (self.outer.len() + self.inner.len()) * size_of::<T>()
    }

    #[inline]
    fn row(&self, word: u32, low_bits: u32) -> u32 {
        let at = |table: &[T], at: u32| table.get(at as usize).copied().unwrap_or_default().into();
        let mut entry: u32 = at(&self.outer, word >> (low_bits % 32));
        let mut bits = low_bits;
        while entry & T::INNER != 0 {
            bits = bits.wrapping_sub(8);
            entry = at(&self.inner, (entry ^ T::INNER) << 8 | word >> (bits % 32) & 0xff);
        }
        entry
    }
}

/// Fills the levels of a table.
struct Filler<T> {
    inner: Vec<T>,
    /// The lowest bit that is looked at, moved as words are.
    lowest: u64,
    max_entries: usize,
}

impl<T: Entry> Filler<T> {
    /// Fills entries for `1 << bits` words each, from `base` on, behind which the first of `starts` is not.
    fn fill(&mut self, entries: &mut [T], base: u64, bits: u32, starts: &[(u64, u32)]) -> Option<()> {
        let mut rest = starts;
        let mut at = 0;
        while at < entries.len() {
            let first = base + ((at as u64) << bits);
            let last = first + (1 << bits) - 1;
            let n_before = rest.iter().take_while(|&&(start, _)| start <= first).count();
            rest = &rest[n_before.saturating_sub(1)..];
            let n_within = rest.iter().take_while(|&&(start, _)| start <= last).count();
            if n_within > 1 {
                entries[at] = self.entry(first, bits, &rest[..n_within])?;
                at += 1;
                continue;
            }
            // One row up to where the next starts.
            let row = rest.first().map_or(0, |&(_, row)| row);
            let next = rest.get(1).map_or(entries.len(), |&(start, _)| ((start - base) >> bits) as usize);
            let end = next.clamp(at + 1, entries.len());
            entries[at..end].fill(T::try_from(row).ok()?);
            at = end;
        }
        Some(())
    }

    /// The entry for the `1 << bits` words from `base` on.
    fn entry(&mut self, base: u64, bits: u32, within: &[(u64, u32)]) -> Option<T> {
        let row = within.first().map_or(0, |&(_, row)| row);
        // Words below the mask's lowest bit do not occur, so an interval may seem to end early.
        if within.iter().all(|&(_, other)| other == row) || bits < 8 || self.lowest >= 1 << bits {
            return T::try_from(row).ok();
        }
        let (at, number) = (self.inner.len(), (self.inner.len() / 256) as u32);
        if at + 256 > self.max_entries || number >= T::INNER.min(1 << 23) {
            return None;
        }
        self.inner.resize(at + 256, T::default());
        let mut entries = [T::default(); 256];
        self.fill(&mut entries, base, bits - 8, within)?;
        self.inner[at..at + 256].copy_from_slice(&entries);
        T::try_from(number | T::INNER).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(mask: u32, starts: &[(u32, u32)], words: impl IntoIterator<Item = u32>) {
        let dimension = Dimension::new(3, mask, starts, usize::MAX).expect("there is memory");
        let mut packet = [0; N_WORDS];
        for word in words {
            packet[3] = word;
            let before = starts.partition_point(|&(start, _)| start <= word & mask);
            assert_eq!(dimension.row(&packet), starts[before - 1].1, "{word:x} & {mask:x}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_last_start(
            mask in prop::sample::select(&[u32::MAX, 0xffff, 0xffff_0000, 0xff00, 0xfff0_0000, 0x1fff, 0xff_fff0][..]),
            starts in prop::collection::btree_map(any::<u32>(), 0..6u32, 0..200),
            words in prop::collection::vec(any::<u32>(), 0..200),
        ) {
            let mut starts: Vec<(u32, u32)> = starts.into_iter().map(|(start, row)| (start & mask, row)).collect();
            starts.push((0, 7));
            starts.sort_by_key(|&(start, _)| start);
            starts.dedup_by_key(|&mut (start, _)| start);
            let near = starts.iter().flat_map(|&(start, _)| [start.wrapping_sub(1), start, start.wrapping_add(1)]);
            check(mask, &starts, near.chain(words.iter().copied()));
        }
    }

    #[test]
    fn more_rows_than_narrow_entries_can_name() {
        let starts: Vec<(u32, u32)> = (0..40_000).map(|row| (row * 100_000, row)).collect();
        check(u32::MAX, &starts, (0..400_000).map(|n| n * 10_007));
    }

    #[test]
    fn memory_is_limited() {
        let starts: Vec<(u32, u32)> = (0..1000).map(|row| (row * 1_000_000, row)).collect();
        let of = |max_bytes| Dimension::new(0, u32::MAX, &starts, max_bytes);
        let n_bytes = of(usize::MAX).expect("there is memory").n_bytes();
        assert!(of(n_bytes).is_some() && of(n_bytes / 4).is_none());
    }
}
