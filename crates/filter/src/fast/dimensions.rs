//! Dimensions: groups of bits of a word on which every condition is an interval, and tables over them.

use super::conjunctions::{Conjunction, Equal};
use super::words::{Words, N_WORDS};
use std::collections::HashSet;

/// At most this many dimensions are made; conditions on others are checked one by one.
pub const MAX_DIMENSIONS: usize = 8;

/// Conditions on the bits `mask` of a word, as intervals of the masked word.
#[derive(Debug)]
pub struct Plan {
    pub place: u8,
    pub mask: u32,
    /// At most one for each conjunction.
    pub intervals: Vec<Interval>,
}

#[derive(Debug)]
pub struct Interval {
    pub low: u32,
    pub high: u32,
    pub member: u32,
}

/// Moves the conditions that are intervals from the conjunctions to dimensions.
pub fn plan(conjunctions: &mut [Conjunction]) -> Vec<Plan> {
    let mut plans: Vec<Plan> = (0..N_WORDS as u8).flat_map(|place| split(place, conjunctions)).collect();
    for plan in &mut plans {
        let intervals = &mut plan.intervals;
        for (member, conjunction) in conjunctions.iter().enumerate() {
            let interval = interval(conjunction, plan.place, plan.mask);
            intervals.extend(interval.map(|(low, high)| Interval { low, high, member: member as u32 }));
        }
    }
    plans.retain(|plan| !plan.intervals.is_empty());
    // The most specific first.
    plans.sort_by_cached_key(|plan| {
        let distinct: HashSet<_> =
            plan.intervals.iter().map(|interval| (interval.low, interval.high)).collect();
        std::cmp::Reverse(distinct.len())
    });
    plans.truncate(MAX_DIMENSIONS);
    for plan in &plans {
        plan.intervals
            .iter()
            .for_each(|i| remove(&mut conjunctions[i.member as usize], plan.place, plan.mask));
    }
    plans
}

/// The word as a whole, in halves or in bytes: whichever makes all equalities prefixes. Parts that none can are left.
fn split(place: u8, conjunctions: &[Conjunction]) -> Vec<Plan> {
    let masks_of = |c: &Conjunction| -> Vec<u32> {
        let equals = c.equals.iter().filter(|equal| equal.place == place).map(|equal| equal.mask);
        equals.chain(c.ranges.iter().filter(|range| range.place == place).map(|range| range.mask)).collect()
    };
    let mut masks: Vec<u32> = conjunctions.iter().flat_map(masks_of).collect();
    masks.sort_unstable();
    masks.dedup();
    let mut best = Vec::new();
    for width in [32, 16, 8] {
        let parts: Vec<u32> = (0..32 / width).map(|n| u32::MAX >> (32 - width) << (n * width)).collect();
        let union = |part: &u32| masks.iter().fold(0, |all, mask| all | mask & part);
        let (parts, n_parts): (Vec<u32>, usize) =
            (parts.iter().map(union).filter(|&m| m != 0).collect(), parts.len());
        let good: Vec<u32> =
            parts.iter().copied().filter(|&m| masks.iter().all(|mask| is_top(mask & m, m))).collect();
        let is_complete = good.len() == parts.len();
        if is_complete || n_parts == 4 {
            best = good;
            break;
        }
    }
    best.into_iter().map(|mask| Plan { place, mask, intervals: Vec::new() }).collect()
}

/// Whether `bits` are the highest ones of `mask`.
fn is_top(bits: u32, mask: u32) -> bool {
    bits == 0 || bits == mask & u32::MAX << bits.trailing_zeros()
}

/// What the conjunction allows on these bits: the equality and the ranges that lie in them.
fn interval(conjunction: &Conjunction, place: u8, mask: u32) -> Option<(u32, u32)> {
    let (mut low, mut high) = (0, mask);
    let mut any = false;
    for equal in conjunction.equals.iter().filter(|equal| equal.place == place && equal.mask & mask != 0) {
        let bits = equal.mask & mask;
        (low, high) = (equal.value & mask, equal.value & mask | mask & !bits);
        any = true;
    }
    for range in conjunction.ranges.iter().filter(|range| fits(range, place, mask)) {
        // Bits below the range's mask may be anything, so that it starts and ends with multiples of its lowest bit.
        let first = range.low.checked_next_multiple_of(range.mask & range.mask.wrapping_neg())?;
        (low, high) = (low.max(first), high.min((range.high & range.mask) | mask & !range.mask));
        any = true;
    }
    // A masked word never lies in an empty interval; an impossible one keeps the conjunction out.
    any.then_some((low, high)).filter(|(low, high)| low <= high)
}

fn fits(range: &super::conjunctions::Range, place: u8, mask: u32) -> bool {
    // The upper end must be one that the masked word can reach, or be beyond all of them.
    let exact = range.high & !range.mask == 0 || range.high == u32::MAX;
    range.place == place && range.mask & !mask == 0 && !range.negated && exact && is_top(range.mask, mask)
}

fn remove(conjunction: &mut Conjunction, place: u8, mask: u32) {
    for equal in conjunction.equals.iter_mut().filter(|equal| equal.place == place) {
        *equal = Equal { mask: equal.mask & !mask, value: equal.value & !mask, ..*equal };
    }
    conjunction.equals.retain(|equal| equal.mask != 0);
    conjunction.ranges.retain(|range| !fits(range, place, mask));
}

/// A table from masked words to row numbers: 16 bits first, then 8, then 8, as far as needed.
#[derive(Clone, Debug)]
pub struct Dimension {
    place: u8,
    mask: u32,
    /// Brings the highest bit of the mask to the top.
    shift: u32,
    /// How many bits the first level leaves.
    low_bits: u32,
    /// Row numbers, or places of tables of 256 in `inner`, with `INNER` set.
    outer: Vec<u32>,
    inner: Vec<u32>,
}

const INNER: u32 = 1 << 31;

impl Dimension {
    /// `starts`: where each interval begins, ascending from 0, and its row. `None` if there are too many entries.
    pub fn new(place: u8, mask: u32, starts: &[(u32, u32)], max_entries: usize) -> Option<Dimension> {
        let shift = mask.leading_zeros();
        let n_bits = 32 - shift - mask.trailing_zeros();
        let low_bits = 32 - n_bits.min(16);
        let mut dimension = Dimension { place, mask, shift, low_bits, outer: Vec::new(), inner: Vec::new() };
        let starts: Vec<(u64, u32)> =
            starts.iter().map(|&(start, row)| (u64::from(start) << shift, row)).collect();
        for n in 0..1u64 << (32 - low_bits) {
            let entry = dimension.entry(n << low_bits, low_bits, &starts, max_entries)?;
            dimension.outer.push(entry);
        }
        Some(dimension)
    }

    pub fn n_bytes(&self) -> usize {
        4 * (self.outer.len() + self.inner.len())
    }

    #[inline]
    pub fn row(&self, words: &Words) -> u32 {
        let word = (words[usize::from(self.place) % N_WORDS] & self.mask) << (self.shift % 32);
        let mut entry = self.outer.get((word >> (self.low_bits % 32)) as usize).copied().unwrap_or(0);
        let mut bits = self.low_bits;
        while entry & INNER != 0 {
            bits = bits.wrapping_sub(8);
            let at = (entry ^ INNER) + (word >> (bits % 32) & 0xff);
            entry = self.inner.get(at as usize).copied().unwrap_or(0);
        }
        entry
    }

    /// The entry for the `1 << bits` words from `base` on.
    fn entry(&mut self, base: u64, bits: u32, starts: &[(u64, u32)], max_entries: usize) -> Option<u32> {
        let last = base + (1 << bits) - 1;
        let from = starts.partition_point(|&(start, _)| start <= base).saturating_sub(1);
        let to = starts.partition_point(|&(start, _)| start <= last);
        let within = &starts[from..to];
        // Words below the mask's lowest bit do not occur, so an interval may seem to end early.
        let lowest = u64::from(self.mask & self.mask.wrapping_neg()) << self.shift;
        let row = within.first().map_or(0, |&(_, row)| row);
        if within.iter().all(|&(_, other)| other == row) || bits < 8 || lowest > last - base {
            return Some(row);
        }
        let at = self.inner.len();
        if at + 256 > max_entries || at >= INNER as usize {
            return None;
        }
        self.inner.resize(at + 256, 0);
        for n in 0..256 {
            let entry = self.entry(base + (n << (bits - 8)), bits - 8, within, max_entries)?;
            self.inner[at + n as usize] = entry;
        }
        Some(at as u32 | INNER)
    }
}
