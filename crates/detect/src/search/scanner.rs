//! Finds which of many patterns are in a payload.
//!
//! Only the four bytes at every fourth place are looked at. A bit array tells, by their hash, whether they may belong
//! to a pattern. Of each pattern four such groups are entered, each beginning a byte behind the one before, so that one
//! of them is looked at wherever the pattern lies; they are chosen to be rare in what networks carry. The array fits
//! into the first-level cache, and no step waits for the one before. The steps of an automaton do: a deterministic one
//! for a thousand patterns has a table of some megabytes and takes twice the time. Where the bit is set, a hash table
//! leads to the patterns, which are then compared. Patterns of less than seven bytes have filters of their own, that
//! look at more places.
//!
//! The choice is made among a pattern's last bytes. So little of what was searched before is looked at again to find
//! patterns that end in the next segment, and nothing need be kept of a search.

use super::rarity::rarest_windows;
use super::short::Short;

/// Words of the bit array for long patterns, of which there are many: half of a first-level cache of 32 KiB.
const MANY: usize = 1 << 11;
/// Words of those for shorter patterns, so that all fit in.
const FEW: usize = 1 << 8;
/// Bytes that are looked at together.
pub const WINDOW: usize = 4;
/// Sets the bit that lower case letters have.
const FOLD: u32 = 0x2020_2020;
const SPREAD: u32 = 0x9E37_79B1;

/// What to search.
#[derive(Clone, Copy, Debug)]
pub struct Needle<'a> {
    /// The bytes; in lower case if case does not matter.
    pub bytes: &'a [u8],
    /// Whether case does not matter.
    pub ignores_case: bool,
    /// What to tell where it is found.
    pub id: u32,
}

/// A search for many patterns.
#[derive(Debug)]
pub struct Scanner {
    /// For patterns of at least seven bytes.
    long: Option<Filter<4, MANY>>,
    /// For patterns of five and six bytes, if there are none of four.
    medium: Option<Filter<2, FEW>>,
    /// For patterns of four to six bytes.
    every: Option<Filter<1, FEW>>,
    /// For those of one to three.
    short: Option<Box<Short>>,
}

/// A search for patterns that looks at every `STRIDE`th place, with a bit array of `WORDS` words, a power of two.
#[derive(Debug)]
struct Filter<const STRIDE: usize, const WORDS: usize> {
    bits: Box<[u64; WORDS]>,
    slots: Box<[Slot]>,
    entries: Vec<Entry>,
    patterns: Vec<u8>,
    /// How far before its end a pattern's first chosen byte can be.
    reach: usize,
}

/// Patterns with the same four bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    window: u32,
    first: u32,
    /// 0: the slot is free.
    n_entries: u32,
}

/// A pattern, as it is found by a part of it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What is told.
    pub id: u32,
    /// Where among the bytes of all patterns it begins.
    pub begin: u32,
    /// Its length.
    pub len: u16,
    /// Where in the pattern the four bytes are.
    pub at: u16,
    /// Whether case does not matter.
    pub ignores_case: bool,
}

impl Scanner {
    /// A search for these; empty ones are never found.
    pub fn new<'a>(needles: impl Iterator<Item = Needle<'a>>) -> Scanner {
        let needles: Vec<Needle<'a>> =
            needles.filter(|needle| (1..=usize::from(u16::MAX)).contains(&needle.bytes.len())).collect();
        let with = |lens: std::ops::RangeInclusive<usize>| -> Vec<Needle<'a>> {
            needles.iter().filter(|needle| lens.contains(&needle.bytes.len())).copied().collect()
        };
        let middle = with(4..=6);
        let (every, medium) = match middle.iter().any(|needle| needle.bytes.len() == 4) {
            true => (middle, Vec::new()),
            false => (Vec::new(), middle),
        };
        Scanner {
            long: Filter::new(&with(7..=usize::MAX)),
            medium: Filter::new(&medium),
            every: Filter::new(&every),
            short: Short::new(&with(1..=3)),
        }
    }

    /// Calls `found` with the id of each pattern that is in `buf` and ends behind `fresh`, once or several times.
    #[inline]
    pub fn scan(&self, buf: &[u8], fresh: usize, mut found: impl FnMut(u32)) {
        if let Some(filter) = &self.long {
            filter.scan(buf, fresh, &mut found);
        }
        if let Some(filter) = &self.medium {
            filter.scan(buf, fresh, &mut found);
        }
        if let Some(filter) = &self.every {
            filter.scan(buf, fresh, &mut found);
        }
        if let Some(short) = &self.short {
            short.scan(buf, fresh, &mut found);
        }
    }
}

impl<const STRIDE: usize, const WORDS: usize> Filter<STRIDE, WORDS> {
    fn new(needles: &[Needle<'_>]) -> Option<Self> {
        let mut filter = Filter {
            bits: vec![0; WORDS].into_boxed_slice().try_into().ok()?,
            slots: Box::new([]),
            entries: Vec::new(),
            patterns: Vec::new(),
            reach: 0,
        };
        let mut keyed: Vec<(u32, Entry)> = Vec::new();
        for needle in needles {
            let begin = u32::try_from(filter.patterns.len()).unwrap_or(u32::MAX);
            filter.patterns.extend_from_slice(needle.bytes);
            let first = rarest_windows(needle.bytes, STRIDE);
            filter.reach = filter.reach.max(needle.bytes.len() - first);
            for at in first..first + STRIDE {
                let Some(window) = window(needle.bytes, at) else { continue };
                let (len, at) = (needle.bytes.len() as u16, at as u16);
                let entry = Entry { id: needle.id, begin, len, at, ignores_case: needle.ignores_case };
                keyed.push((window, entry));
            }
        }
        filter.fill(keyed);
        (!needles.is_empty()).then_some(filter)
    }

    #[inline]
    fn scan(&self, buf: &[u8], fresh: usize, found: &mut impl FnMut(u32)) {
        let mut at = (fresh + 1).saturating_sub(self.reach);
        while let Some(place) = self.next(buf, at) {
            self.look_up(buf, place, fresh, found);
            at = place + STRIDE;
        }
    }

    /// The next place, counted in strides from `at`, whose four bytes may be a pattern's.
    #[inline(never)]
    fn next(&self, buf: &[u8], mut at: usize) -> Option<usize> {
        let bits: &[u64; WORDS] = &self.bits;
        for chunk in buf.get(at..)?.windows(WINDOW + 3 * STRIDE).step_by(4 * STRIDE) {
            let four = [0, 1, 2, 3].map(|i| window(chunk, i * STRIDE).map_or(0, |window| bit(bits, window)));
            let [a, b, c, d] = four;
            if (a | b | c | d) & 1 != 0 {
                let i = four.iter().position(|bit| bit & 1 != 0)?;
                return Some(at + i * STRIDE);
            }
            at += 4 * STRIDE;
        }
        while let Some(window) = window(buf, at) {
            if bit(bits, window) & 1 != 0 {
                return Some(at);
            }
            at += STRIDE;
        }
        None
    }

    #[inline(never)]
    fn look_up(&self, buf: &[u8], at: usize, fresh: usize, found: &mut impl FnMut(u32)) {
        let Some(window) = window(buf, at) else { return };
        let mut idx = self.home(window);
        while let Some(slot) = self.slots.get(idx).filter(|slot| slot.n_entries != 0) {
            if slot.window == window {
                let entries = self.entries.get(slot.first as usize..).unwrap_or_default();
                for entry in entries.iter().take(slot.n_entries as usize) {
                    if entry.is_at(&self.patterns, buf, at, fresh) {
                        found(entry.id);
                    }
                }
                return;
            }
            idx = (idx + 1) & (self.slots.len() - 1);
        }
    }

    /// Where the search for a slot begins; their number is a power of two.
    fn home(&self, window: u32) -> usize {
        window.wrapping_mul(0x85EB_CA6B).rotate_left(15) as usize & (self.slots.len().max(1) - 1)
    }

    fn fill(&mut self, mut keyed: Vec<(u32, Entry)>) {
        keyed.sort_by_key(|(window, entry)| (*window, entry.id));
        self.slots = vec![Slot::default(); (keyed.len() * 2).next_power_of_two()].into();
        for (window, entry) in keyed {
            let hash = hash::<WORDS>(window);
            if let Some(word) = self.bits.get_mut((hash >> 6) as usize) {
                *word |= 1 << (hash & 63);
            }
            let mut idx = self.home(window);
            let last = self.slots.len() - 1;
            let first = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
            self.entries.push(entry);
            while let Some(slot) = self.slots.get_mut(idx) {
                if slot.n_entries == 0 {
                    *slot = Slot { window, first, n_entries: 0 };
                }
                if slot.window == window {
                    slot.n_entries += 1;
                    break;
                }
                idx = (idx + 1) & last;
            }
        }
    }
}

#[inline(always)]
fn hash<const WORDS: usize>(window: u32) -> u32 {
    window.wrapping_mul(SPREAD) >> (32 - 6 - WORDS.trailing_zeros())
}

/// In the lowest bit whether these four bytes may be a pattern's.
#[inline(always)]
fn bit<const WORDS: usize>(bits: &[u64; WORDS], window: u32) -> u64 {
    let hash = hash::<WORDS>(window);
    // The remainder changes nothing, but spares a comparison.
    bits[(hash >> 6) as usize % WORDS] >> (hash & 63)
}

/// Four bytes as a number, without the case of letters.
#[inline(always)]
fn window(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*four) | FOLD)
}

impl Entry {
    /// Whether the pattern whose chosen bytes are at `at` is there, and ends behind `fresh`.
    pub fn is_at(&self, patterns: &[u8], buf: &[u8], at: usize, fresh: usize) -> bool {
        let (begin, len) = (self.begin as usize, usize::from(self.len));
        let Some(from) = at.checked_sub(usize::from(self.at)) else { return false };
        let Some(there) = buf.get(from..from + len).filter(|_| from + len > fresh) else { return false };
        let pattern = patterns.get(begin..begin + len).unwrap_or_default();
        match self.ignores_case {
            true => there.eq_ignore_ascii_case(pattern),
            false => there == pattern,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(needles: &[(Vec<u8>, bool)], buf: &[u8], fresh: usize) -> Vec<u32> {
        let lower: Vec<(Vec<u8>, bool)> = needles
            .iter()
            .map(|(bytes, folds)| (if *folds { bytes.to_ascii_lowercase() } else { bytes.clone() }, *folds))
            .collect();
        let needles = lower.iter().enumerate().map(|(id, (bytes, ignores_case))| Needle {
            bytes,
            ignores_case: *ignores_case,
            id: id as u32,
        });
        let mut ids = Vec::new();
        Scanner::new(needles).scan(buf, fresh, |id| ids.push(id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"abAB".to_vec()), 1..10)
    }

    proptest! {
        #[test]
        fn every_pattern_that_an_automaton_finds_is_found(
            needles in prop::collection::vec((text(), any::<bool>()), 1..20),
            buf in prop::collection::vec(prop::sample::select(b"abAB".to_vec()), 0..60),
        ) {
            let found = found(&needles, &buf, 0);
            for (id, (bytes, ignores_case)) in needles.iter().enumerate() {
                let automaton = aho_corasick::AhoCorasick::builder()
                    .ascii_case_insensitive(*ignores_case)
                    .build([bytes])
                    .expect("small");
                prop_assert_eq!(automaton.is_match(&buf), found.contains(&(id as u32)), "{:?} in {:?}", needles, buf);
            }
        }

        #[test]
        fn only_what_ends_in_new_bytes_is_told(needle in text(), buf in text(), more in text()) {
            let whole = [&buf[..], &more].concat();
            let ends_in_new = (0..whole.len()).any(|at| whole[at..].starts_with(&needle) && at + needle.len() > buf.len());
            prop_assert_eq!(!found(&[(needle, false)], &whole, buf.len()).is_empty(), ends_in_new);
        }
    }
}
