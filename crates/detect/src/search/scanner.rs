//! Finds which of many patterns may be in a payload.
//!
//! Of each pattern four bytes are chosen that are rare in what networks carry. A bit array tells for a hash of any four
//! bytes whether they may be among those; it fits into the first-level cache, and no step waits for the one before, which
//! is what an automaton's does: with a thousand patterns this takes half the time of a deterministic automaton, whose
//! table would have some megabytes. Where the bit is set, a hash table leads to the patterns. Letters' case does not count
//! until patterns are compared.
//!
//! The bytes before the chosen four are in the buffer, so nothing need be kept of a search to find patterns that end in
//! the next segment; those behind may be still to come, and then are left to who asks.

/// Log2 of the number of bits of the filter.
const FILTER_BITS: u32 = 16;
const FILTER_WORDS: usize = 1 << (FILTER_BITS - 6);
/// Bytes that are looked at together.
const WINDOW: usize = 4;
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
    /// What to tell if it may be there.
    pub id: u32,
}

/// A search for many patterns.
#[derive(Debug)]
pub struct Scanner {
    filter: Box<[u64; FILTER_WORDS]>,
    slots: Box<[Slot]>,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
    short: Option<Box<Short>>,
}

/// Patterns with the same four bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    window: u32,
    first: u32,
    /// 0: the slot is free.
    n_entries: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    id: u32,
    begin: u32,
    len: u16,
    /// Where in the pattern the four bytes are.
    at: u16,
    ignores_case: bool,
}

/// Patterns of up to three bytes, found by their last two.
#[derive(Debug)]
struct Short {
    filter: Box<[u64; FILTER_WORDS]>,
    by_last: Vec<Vec<Entry>>,
}

impl Scanner {
    /// A search for these; empty ones are never found.
    pub fn new<'a>(needles: impl Iterator<Item = Needle<'a>>) -> Scanner {
        let mut scanner = Scanner {
            filter: Box::new([0; FILTER_WORDS]),
            slots: Box::new([]),
            entries: Vec::new(),
            bytes: Vec::new(),
            short: None,
        };
        let mut keyed: Vec<(u32, Entry)> = Vec::new();
        for needle in needles {
            let bytes = needle.bytes.get(..needle.bytes.len().min(usize::from(u16::MAX))).unwrap_or_default();
            let begin = u32::try_from(scanner.bytes.len()).unwrap_or(u32::MAX);
            scanner.bytes.extend_from_slice(bytes);
            let at = rarest_window(bytes);
            let (len, at_u16) = (bytes.len() as u16, at.unwrap_or(0) as u16);
            let entry = Entry { id: needle.id, begin, len, at: at_u16, ignores_case: needle.ignores_case };
            match at.and_then(|at| window(bytes, at)) {
                Some(window) => keyed.push((window, entry)),
                None => scanner.add_short(bytes, entry),
            }
        }
        scanner.fill(keyed);
        scanner
    }

    /// Calls `found` with the id of each pattern that may have a place in `buf` such that its chosen bytes end at or behind
    /// `fresh`. What of the pattern is in `buf` is there indeed. The same pattern may be told several times.
    #[inline]
    pub fn scan(&self, buf: &[u8], fresh: usize, mut found: impl FnMut(u32)) {
        let begin = (fresh + 1).saturating_sub(WINDOW);
        let bytes = buf.get(begin..).unwrap_or_default();
        let mut at = begin;
        if !self.entries.is_empty() {
            for eight in bytes.windows(8).step_by(WINDOW) {
                let word = u64::from_le_bytes(*eight.first_chunk().unwrap_or(&[0; 8])) | FOLD_8;
                let windows = [word as u32, (word >> 8) as u32, (word >> 16) as u32, (word >> 24) as u32];
                let [a, b, c, d] = windows.map(|window| self.bit(window));
                if (a | b | c | d) & 1 != 0 {
                    for (i, bit) in [a, b, c, d].into_iter().enumerate() {
                        if bit & 1 != 0 {
                            self.look_up(windows.get(i).copied().unwrap_or(0), buf, at + i, &mut found);
                        }
                    }
                }
                at += WINDOW;
            }
            while let Some(window) = window(buf, at) {
                if self.bit(window) & 1 != 0 {
                    self.look_up(window, buf, at, &mut found);
                }
                at += 1;
            }
        }
        if let Some(short) = &self.short {
            short.scan(&self.bytes, buf, fresh, &mut found);
        }
    }

    /// In the lowest bit whether these four bytes may be a pattern's.
    #[inline(always)]
    fn bit(&self, window: u32) -> u64 {
        let hash = hash(window);
        // The mask changes nothing, but spares a comparison.
        self.filter[(hash >> 6) as usize % FILTER_WORDS] >> (hash & 63)
    }

    #[inline(never)]
    fn look_up(&self, window: u32, buf: &[u8], at: usize, found: &mut impl FnMut(u32)) {
        let mut idx = self.home(window);
        while let Some(slot) = self.slots.get(idx).filter(|slot| slot.n_entries != 0) {
            if slot.window == window {
                let entries = self.entries.get(slot.first as usize..).unwrap_or_default();
                for entry in entries.iter().take(slot.n_entries as usize) {
                    if entry.begins(&self.bytes, buf, at) {
                        found(entry.id);
                    }
                }
                return;
            }
            idx = (idx + 1) % self.slots.len();
        }
    }

    fn home(&self, window: u32) -> usize {
        window.wrapping_mul(0x85EB_CA6B).rotate_left(15) as usize % self.slots.len().max(1)
    }

    fn fill(&mut self, mut keyed: Vec<(u32, Entry)>) {
        keyed.sort_by_key(|(window, entry)| (*window, entry.id));
        self.slots = vec![Slot::default(); (keyed.len() * 2).next_power_of_two()].into();
        for (window, entry) in keyed {
            let hash = hash(window);
            self.filter[(hash >> 6) as usize % FILTER_WORDS] |= 1 << (hash & 63);
            let mut idx = self.home(window);
            let n_slots = self.slots.len();
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
                idx = (idx + 1) % n_slots;
            }
        }
    }

    fn add_short(&mut self, bytes: &[u8], entry: Entry) {
        let Some((last, before)) = bytes.split_last() else { return };
        let short = self.short.get_or_insert_with(|| {
            Box::new(Short { filter: Box::new([0; FILTER_WORDS]), by_last: vec![Vec::new(); 256] })
        });
        let second = before.last().copied();
        for byte in (0..=u8::MAX).filter(|byte| second.is_none_or(|second| second | 0x20 == byte | 0x20)) {
            let pair = pair_of(byte, *last);
            short.filter[pair >> 6 & (FILTER_WORDS - 1)] |= 1 << (pair & 63);
        }
        if let Some(list) = short.by_last.get_mut(usize::from(*last | 0x20)) {
            list.push(entry);
        }
    }
}

const FOLD_8: u64 = (FOLD as u64) << 32 | FOLD as u64;

#[inline(always)]
fn hash(window: u32) -> u32 {
    window.wrapping_mul(SPREAD) >> (32 - FILTER_BITS)
}

/// Four bytes as a number, without the case of letters.
#[inline(always)]
fn window(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*four) | FOLD)
}

fn pair_of(before: u8, last: u8) -> usize {
    usize::from(before | 0x20) << 8 | usize::from(last | 0x20)
}

impl Short {
    #[inline(never)]
    fn scan(&self, patterns: &[u8], buf: &[u8], fresh: usize, found: &mut impl FnMut(u32)) {
        let mut before = fresh.checked_sub(1).and_then(|at| buf.get(at)).copied().unwrap_or(0);
        for (i, byte) in buf.get(fresh..).unwrap_or_default().iter().enumerate() {
            let pair = pair_of(before, *byte);
            if self.filter[pair >> 6 & (FILTER_WORDS - 1)] >> (pair & 63) & 1 != 0 {
                for entry in self.by_last.get(usize::from(byte | 0x20)).into_iter().flatten() {
                    let begin = (fresh + i + 1).checked_sub(usize::from(entry.len));
                    if begin.is_some_and(|begin| entry.begins(patterns, buf, begin)) {
                        found(entry.id);
                    }
                }
            }
            before = *byte;
        }
    }
}

impl Entry {
    /// Whether what is in `buf` of the pattern whose chosen bytes are at `at` is as it should be.
    fn begins(&self, patterns: &[u8], buf: &[u8], at: usize) -> bool {
        let begin = self.begin as usize;
        let pattern = patterns.get(begin..begin + usize::from(self.len)).unwrap_or_default();
        let Some(there) = at.checked_sub(usize::from(self.at)).and_then(|at| buf.get(at..)) else { return false };
        let n_bytes = there.len().min(pattern.len());
        let (there, pattern) = (there.get(..n_bytes), pattern.get(..n_bytes));
        match (there, pattern) {
            (Some(there), Some(pattern)) if self.ignores_case => there.eq_ignore_ascii_case(pattern),
            (there, pattern) => there == pattern,
        }
    }
}

/// Where the four bytes begin that are the least to be expected; `None` if there are no four.
fn rarest_window(bytes: &[u8]) -> Option<usize> {
    let cost = |four: &[u8]| -> u32 {
        let repeated = four.windows(2).filter(|pair| pair.first() == pair.last()).count() as u32;
        let is_common = COMMON.iter().any(|common| common.eq_ignore_ascii_case(four));
        four.iter().map(|byte| commonness(*byte)).sum::<u32>() + repeated * 4 + u32::from(is_common) * 40
    };
    let windows = bytes.windows(WINDOW).enumerate();
    windows.min_by_key(|(_, four)| cost(four)).map(|(at, _)| at)
}

/// Four bytes that are in nearly every message of HTTP.
const COMMON: &[&[u8]] = &[
    b"http", b"ttp/", b"tp/1", b"p/1.", b"/1.1", b"\r\n\r\n", b"www.", b".com", b"cont", b"onte", b"nten", b"tent",
    b"-typ", b"host", b"acce", b"cept", b"agen", b"user", b"text", b"html", b"ion:", b"tion", b"\0\0\0\0",
];

/// How often a byte is to be expected.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' | 0 => 10,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'/' | b'.' | b'\r' | b'\n' => 7,
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'=' | b':' | b'"' | 0xFF => 4,
        b'<' | b'>' | b'&' | b'_' | b',' | b';' | b'(' | b')' => 3,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(needles: &[(Vec<u8>, bool)], buf: &[u8], fresh: usize) -> Vec<u32> {
        let needles = needles.iter().enumerate();
        let lower: Vec<(Vec<u8>, bool)> = needles
            .map(|(_, (bytes, folds))| (if *folds { bytes.to_ascii_lowercase() } else { bytes.clone() }, *folds))
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
        prop::collection::vec(prop::sample::select(b"abAB \0xy".to_vec()), 1..8)
    }

    proptest! {
        #[test]
        fn every_pattern_that_an_automaton_finds_is_found(
            needles in prop::collection::vec((text(), any::<bool>()), 1..20),
            buf in prop::collection::vec(prop::sample::select(b"abAB \0xy".to_vec()), 0..60),
        ) {
            let found = found(&needles, &buf, 0);
            for (id, (bytes, ignores_case)) in needles.iter().enumerate() {
                let automaton = aho_corasick::AhoCorasick::builder()
                    .ascii_case_insensitive(*ignores_case)
                    .build([bytes])
                    .expect("small");
                if automaton.is_match(&buf) {
                    prop_assert!(found.contains(&(id as u32)), "{needles:?} in {buf:?}");
                } else {
                    // Only its beginning may have been there, at the end.
                    let begins = (1..bytes.len()).any(|n| buf.len() >= n && bytes[..n].eq_ignore_ascii_case(&buf[buf.len() - n..]));
                    prop_assert!(!found.contains(&(id as u32)) || begins);
                }
            }
        }

        #[test]
        fn what_was_there_before_is_not_told_again(needle in text(), buf in text(), more in text()) {
            let whole = [&buf[..], &more].concat();
            let both: Vec<u32> = found(&[(needle.clone(), false)], &buf, 0)
                .into_iter().chain(found(&[(needle.clone(), false)], &whole, buf.len())).collect();
            let at_once = found(&[(needle, false)], &whole, 0);
            prop_assert!(at_once.iter().all(|id| both.contains(id)));
        }
    }
}
