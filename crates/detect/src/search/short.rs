//! The search for patterns of up to three bytes.

use super::scanner::{Entry, Needle};

/// Patterns of up to three bytes, found by their last two.
#[derive(Debug)]
pub struct Short {
    filter: Box<[u64; PAIR_WORDS]>,
    by_last: Vec<Vec<Entry>>,
    patterns: Vec<u8>,
}

const PAIR_WORDS: usize = 1 << (16 - 6);

fn pair_of(before: u8, last: u8) -> usize {
    usize::from(before | 0x20) << 8 | usize::from(last | 0x20)
}

impl Short {
    /// A search for these; `None` if there are none.
    pub fn new(needles: &[Needle<'_>]) -> Option<Box<Short>> {
        let bits = vec![0; PAIR_WORDS].into_boxed_slice().try_into().ok()?;
        let mut short = Short { filter: bits, by_last: vec![Vec::new(); 256], patterns: Vec::new() };
        for needle in needles {
            let (last, before) = needle.bytes.split_last()?;
            let second = before.last().copied();
            for byte in (0..=u8::MAX).filter(|byte| second.is_none_or(|second| second | 0x20 == byte | 0x20))
            {
                let pair = pair_of(byte, *last);
                if let Some(word) = short.filter.get_mut(pair >> 6) {
                    *word |= 1 << (pair & 63);
                }
            }
            let begin = u32::try_from(short.patterns.len()).unwrap_or(u32::MAX);
            short.patterns.extend_from_slice(needle.bytes);
            let len = needle.bytes.len() as u16;
            let entry = Entry { id: needle.id, begin, len, at: 0, ignores_case: needle.ignores_case };
            short.by_last.get_mut(usize::from(*last | 0x20))?.push(entry);
        }
        (!needles.is_empty()).then(|| Box::new(short))
    }

    /// Calls `found` with the id of each pattern that ends behind `fresh`.
    #[inline(never)]
    pub fn scan(&self, buf: &[u8], fresh: usize, found: &mut impl FnMut(u32)) {
        let mut before = fresh.checked_sub(1).and_then(|at| buf.get(at)).copied().unwrap_or(0);
        for (i, byte) in buf.get(fresh..).unwrap_or_default().iter().enumerate() {
            let pair = pair_of(before, *byte);
            before = *byte;
            if self.filter[(pair >> 6) % PAIR_WORDS] >> (pair & 63) & 1 == 0 {
                continue;
            }
            for entry in self.by_last.get(usize::from(byte | 0x20)).into_iter().flatten() {
                let begin = (fresh + i + 1).checked_sub(usize::from(entry.len));
                if begin.is_some_and(|begin| entry.is_at(&self.patterns, buf, begin, fresh)) {
                    found(entry.id);
                }
            }
        }
    }
}
