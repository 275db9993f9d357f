//! Finds dimensions: groups of bits of a word on which every condition is an interval.

use super::conjunctions::{Conjunction, Conjunctions, Equal, Range};
use super::words::N_WORDS;
use crate::mixing::MixingSet;

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

/// Values of a masked word, and the conjunction that allows them.
#[derive(Debug)]
pub struct Interval {
    pub low: u32,
    pub high: u32,
    pub member: u32,
}

/// The dimensions that suit the conjunctions, the most specific first.
pub fn plan(conjunctions: &Conjunctions) -> Vec<Plan> {
    let mut plans: Vec<Plan> =
        (0..).zip(masks(conjunctions)).flat_map(|(place, masks)| split(place, &masks)).collect();
    for plan in &mut plans {
        let intervals = &mut plan.intervals;
        for (member, conjunction) in (0..).zip(conjunctions.iter()) {
            let interval = interval(&conjunction, plan.place, plan.mask);
            intervals.extend(interval.map(|(low, high)| Interval { low, high, member }));
        }
    }
    plans.retain(|plan| !plan.intervals.is_empty());
    plans.sort_by_cached_key(|plan| {
        let distinct: MixingSet<_> =
            plan.intervals.iter().map(|interval| (interval.low, interval.high)).collect();
        std::cmp::Reverse(distinct.len())
    });
    plans.truncate(MAX_DIMENSIONS);
    plans
}

/// What dimensions leave of the conjunctions.
pub fn remainder(conjunctions: &Conjunctions, plans: &[Plan]) -> Conjunctions {
    let mut left = Conjunctions::new();
    let mut intervals: Vec<_> = plans.iter().map(|plan| (plan, plan.intervals.iter().peekable())).collect();
    for (member, Conjunction { equals, ranges, jump }) in (0..).zip(conjunctions.iter()) {
        // One that allows nothing has no interval, and keeps its conditions.
        let mut planned = [0; N_WORDS];
        for (plan, intervals) in &mut intervals {
            if intervals.next_if(|interval| interval.member == member).is_some() {
                planned[usize::from(plan.place) % N_WORDS] |= plan.mask;
            }
        }
        let is_planned = |plan: &Plan| planned[usize::from(plan.place) % N_WORDS] & plan.mask == plan.mask;
        let is_left =
            |range: &Range| !plans.iter().any(|plan| is_planned(plan) && fits(range, plan.place, plan.mask));
        let rest = |equal: &Equal| {
            let mask = equal.mask & !planned[usize::from(equal.place) % N_WORDS];
            Some(Equal { mask, value: equal.value & mask, ..*equal }).filter(|_| mask != 0)
        };
        left.push(equals.iter().filter_map(rest), ranges.iter().copied().filter(is_left), jump);
    }
    left
}

/// The different masks of the conditions on each word.
fn masks(conjunctions: &Conjunctions) -> Vec<Vec<u32>> {
    let mut masks = vec![Vec::new(); N_WORDS];
    let mut seen = MixingSet::default();
    for conjunction in conjunctions.iter() {
        let equals = conjunction.equals.iter().map(|equal| (equal.place, equal.mask));
        let ranges = conjunction.ranges.iter().map(|range| (range.place, range.mask));
        for (place, mask) in equals.chain(ranges) {
            if seen.insert((u32::from(place), mask)) {
                masks[usize::from(place) % N_WORDS].push(mask);
            }
        }
    }
    masks
}

/// The word as a whole, in halves or in bytes: whichever makes all equalities prefixes. Parts that none can are left.
fn split(place: u8, masks: &[u32]) -> Vec<Plan> {
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
fn interval(conjunction: &Conjunction<'_>, place: u8, mask: u32) -> Option<(u32, u32)> {
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

fn fits(range: &Range, place: u8, mask: u32) -> bool {
    // The upper end must be one that the masked word can reach, or be beyond all of them.
    let exact = range.high & !range.mask == 0 || range.high == u32::MAX;
    range.place == place && range.mask & !mask == 0 && !range.negated && exact && is_top(range.mask, mask)
}
