//! Bit vectors: for each dimension, a table from the word to the set of conjunctions that it allows.
//!
//! A packet's sets are intersected 64 conjunctions at a time, in order; the first left decides. A summary with a bit
//! for each 64 tells which to look at.

use super::conjunctions::{Conjunction, Conjunctions};
use super::dimension::Dimension;
use super::plan::{plan, remainder, Plan, MAX_DIMENSIONS};
use super::words::Words;
use crate::mixing::Mixing;
use crate::program::NEVER;
use std::collections::HashMap;

/// Lists shorter than this are not split.
const MIN_SPLIT: usize = 1024;
const MAX_PARTS: usize = 5;
/// An equality of this many bits is specific: few packets have it.
const MIN_SPECIFIC_BITS: u32 = 14;

/// Tables for conjunctions that have most words in common, part by part.
#[derive(Clone, Debug)]
pub struct Vectors {
    parts: Vec<Part>,
}

/// Conjunctions that are specific in the same words, so that few of them are left by the summaries.
#[derive(Clone, Debug)]
struct Part {
    tables: Vec<Table>,
    /// What the tables leave to be checked.
    conjunctions: Conjunctions,
    /// The place of each conjunction in the whole list.
    ranks: Vec<u32>,
    n_blocks: usize,
}

#[derive(Clone, Debug)]
struct Table {
    dimension: Dimension,
    /// The sets, `n_blocks` words each, after the words of their summary.
    rows: Vec<u64>,
}

impl Vectors {
    /// `None` if the tables would take more than `max_bytes`.
    pub fn new(conjunctions: &Conjunctions, max_bytes: usize) -> Option<Vectors> {
        let mut parts = Vec::new();
        let mut bytes_left = max_bytes;
        for members in split(conjunctions) {
            let part = Part::new(conjunctions, members, bytes_left)?;
            bytes_left = bytes_left.checked_sub(part.n_bytes())?;
            parts.push(part);
        }
        Some(Vectors { parts })
    }

    /// The memory that the tables take.
    pub fn n_bytes(&self) -> usize {
        self.parts.iter().map(Part::n_bytes).sum()
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        let (mut best, mut jump) = (u32::MAX, NEVER);
        for part in &self.parts {
            if let Some((rank, found)) = part.first(words, best) {
                (best, jump) = (rank, found);
            }
        }
        jump
    }
}

/// The conjunctions of each part, ascending.
fn split(conjunctions: &Conjunctions) -> Vec<Vec<u32>> {
    let specific = |conjunction: &Conjunction<'_>| -> u32 {
        let equals = conjunction.equals.iter().filter(|equal| equal.mask.count_ones() >= MIN_SPECIFIC_BITS);
        equals.fold(0, |places, equal| places | 1 << equal.place)
    };
    let mut members: HashMap<u32, Vec<u32>, Mixing> = HashMap::default();
    for (member, conjunction) in (0..).zip(conjunctions.iter()) {
        let key = if conjunctions.len() < MIN_SPLIT { 0 } else { specific(&conjunction) };
        members.entry(key).or_default().push(member);
    }
    let mut parts: Vec<Vec<u32>> = members.into_values().collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.len()), part.first().copied()));
    // What is too small to be worth a look of its own.
    let is_small = |part: &Vec<u32>| part.len() < MIN_SPLIT / 16;
    let n_own = parts.iter().position(is_small).unwrap_or(parts.len()).clamp(1, MAX_PARTS - 1);
    let mut rest = parts.split_off(n_own.min(parts.len())).concat();
    rest.sort_unstable();
    parts.extend(Some(rest).filter(|rest| !rest.is_empty()));
    parts
}

impl Part {
    fn new(all: &Conjunctions, ranks: Vec<u32>, max_bytes: usize) -> Option<Part> {
        let mut conjunctions = Conjunctions::new();
        for Conjunction { equals, ranges, jump } in ranks.iter().filter_map(|&rank| all.get(rank as usize)) {
            conjunctions.push(equals.iter().copied(), ranges.iter().copied(), jump);
        }
        let n_blocks = conjunctions.len().div_ceil(64).max(1);
        let mut tables: Vec<Table> = Vec::new();
        let mut bytes_left = max_bytes;
        let plans = plan(&conjunctions);
        for plan in &plans {
            let table = Table::new(plan, conjunctions.len(), bytes_left)?;
            bytes_left = bytes_left.checked_sub(table.n_bytes())?;
            tables.push(table);
        }
        let conjunctions = remainder(&conjunctions, &plans);
        Some(Part { tables, conjunctions, ranks, n_blocks })
    }

    fn n_bytes(&self) -> usize {
        self.tables.iter().map(Table::n_bytes).sum()
    }

    /// The first conjunction that holds, if it is before `limit`: its rank and its jump.
    #[inline]
    fn first(&self, words: &Words, limit: u32) -> Option<(u32, i32)> {
        if self.ranks.first().is_none_or(|&first| first >= limit) {
            return None;
        }
        let n_summary = self.n_blocks.div_ceil(64);
        let row_len = n_summary + self.n_blocks;
        let mut rows: [&[u64]; MAX_DIMENSIONS] = [&[]; MAX_DIMENSIONS];
        for (row, table) in rows.iter_mut().zip(&self.tables) {
            let start = table.dimension.row(words) as usize * row_len;
            *row = table.rows.get(start..start + row_len).unwrap_or_default();
        }
        let rows = &rows[..self.tables.len().min(MAX_DIMENSIONS)];
        let and = |at: usize| {
            let mut all = u64::MAX;
            for row in rows {
                all &= row.get(at).copied().unwrap_or(0);
                // Most words are empty after the first few dimensions, which are the most specific.
                if all == 0 {
                    break;
                }
            }
            all
        };
        for summary_at in 0..n_summary {
            let mut summary = and(summary_at);
            while summary != 0 {
                let block = summary_at * 64 + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                if let Some((member, jump)) = self.first_in_block(block, and(n_summary + block), words) {
                    let rank = *self.ranks.get(member)?;
                    return (rank < limit).then_some((rank, jump));
                }
            }
        }
        None
    }

    #[inline]
    fn first_in_block(&self, block: usize, mut members: u64, words: &Words) -> Option<(usize, i32)> {
        while members != 0 {
            let member = block * 64 + members.trailing_zeros() as usize;
            if let Some(jump) = self.conjunctions.decide(member, words) {
                return Some((member, jump));
            }
            members &= members - 1;
        }
        None
    }
}

impl Table {
    /// `None` if it would take more than `max_bytes`.
    fn new(plan: &Plan, n_members: usize, max_bytes: usize) -> Option<Table> {
        let mut rows = Rows::new(n_members, max_bytes / 8);
        (0..n_members as u32).for_each(|member| rows.flip(member));
        plan.intervals.iter().for_each(|interval| rows.flip(interval.member));
        // Where members come and go. The last interval may end with the space: nothing starts after it.
        let mut events: Vec<u64> = Vec::with_capacity(2 * plan.intervals.len());
        for interval in &plan.intervals {
            let ends = [Some(interval.low), interval.high.checked_add(1)];
            events.extend(
                ends.into_iter().flatten().map(|at| u64::from(at) << 32 | u64::from(interval.member)),
            );
        }
        events.sort_unstable();
        let mut starts = vec![(0, rows.number()?)];
        for at in events.chunk_by(|a, b| a >> 32 == b >> 32) {
            at.iter().for_each(|&event| rows.flip(event as u32));
            let (start, row) = ((at[0] >> 32) as u32, rows.number()?);
            match starts.last_mut() {
                Some(last) if last.0 == start => last.1 = row,
                _ => starts.push((start, row)),
            }
        }
        let dimension = Dimension::new(plan.place, plan.mask, &starts, max_bytes)?;
        Some(Table { dimension, rows: rows.numbered })
    }

    fn n_bytes(&self) -> usize {
        self.rows.len() * 8 + self.dimension.n_bytes()
    }
}

/// A set that changes member by member, and the distinct sets that it was, numbered.
struct Rows {
    /// As the numbered ones: the summary, then the blocks.
    now: Vec<u64>,
    n_summary: usize,
    /// Of the members that are in the set: what they have been given, by exclusive or.
    hash: u64,
    /// One of the rows with a hash. Another with the same hash is numbered each time, which does no harm.
    by_hash: HashMap<u64, u32, Mixing>,
    numbered: Vec<u64>,
    /// How long `numbered` may become.
    max_words: usize,
}

impl Rows {
    fn new(n_members: usize, max_words: usize) -> Rows {
        let n_blocks = n_members.div_ceil(64).max(1);
        let n_summary = n_blocks.div_ceil(64);
        let now = vec![0; n_summary + n_blocks];
        Rows { now, n_summary, hash: 0, by_hash: HashMap::default(), numbered: Vec::new(), max_words }
    }

    /// Puts a member in or takes it away.
    fn flip(&mut self, member: u32) {
        let (block, bit) = (member as usize / 64, 1 << (member % 64));
        let members = &mut self.now[self.n_summary + block];
        *members ^= bit;
        let is_any = u64::from(*members != 0) << (block % 64);
        let summary = &mut self.now[block / 64];
        *summary = *summary & !(1 << (block % 64)) | is_any;
        self.hash ^= random(member);
    }

    /// The number of the set as it is; `None` if there are too many.
    fn number(&mut self) -> Option<u32> {
        let next = (self.numbered.len() / self.now.len()) as u32;
        let known = *self.by_hash.entry(self.hash).or_insert(next);
        let start = known as usize * self.now.len();
        if self.numbered.get(start..start + self.now.len()) == Some(&self.now) {
            return Some(known);
        }
        if self.numbered.len() + self.now.len() > self.max_words {
            return None;
        }
        self.numbered.extend_from_slice(&self.now);
        Some(next)
    }
}

/// A number that looks random, always the same for a member (splitmix64).
fn random(member: u32) -> u64 {
    let mut z = (u64::from(member) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
