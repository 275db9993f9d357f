//! Bit vectors: for each dimension, a table from the word to the set of conjunctions that it allows.
//!
//! A packet's sets are intersected 64 conjunctions at a time, in order; the first left decides. A summary with a bit
//! for each 64 tells which to look at.

use super::conjunctions::Conjunction;
use super::dimensions::{self, Dimension, MAX_DIMENSIONS};
use super::words::Words;
use crate::program::NEVER;
use std::collections::HashMap;

/// Lists shorter than this are not split.
const MIN_SPLIT: usize = 1024;
const MAX_PARTS: usize = 5;
/// An equality of this many bits is specific: few packets have it.
const MIN_SPECIFIC_BITS: u32 = 14;

/// More memory than this is not spent on a filter.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug)]
pub struct Vectors {
    parts: Vec<Part>,
}

/// Conjunctions that are specific in the same words, so that few of them are left by the summaries.
#[derive(Clone, Debug)]
struct Part {
    tables: Vec<Table>,
    conjunctions: Vec<Conjunction>,
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
    /// Gives the conjunctions back if the tables would be too large.
    pub fn new(conjunctions: Vec<Conjunction>) -> Result<Vectors, Vec<Conjunction>> {
        let mut parts = Vec::new();
        let mut n_bytes = 0;
        for members in split(&conjunctions) {
            let found = members.iter().map(|&member| conjunctions[member as usize].clone()).collect();
            let Some(part) = Part::new(found, members, MAX_BYTES - n_bytes) else { return Err(conjunctions) };
            n_bytes += part.tables.iter().map(Table::n_bytes).sum::<usize>();
            if n_bytes > MAX_BYTES {
                return Err(conjunctions);
            }
            parts.push(part);
        }
        Ok(Vectors { parts })
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
fn split(conjunctions: &[Conjunction]) -> Vec<Vec<u32>> {
    let specific = |conjunction: &Conjunction| -> u32 {
        let equals = conjunction.equals.iter().filter(|equal| equal.mask.count_ones() >= MIN_SPECIFIC_BITS);
        equals.fold(0, |places, equal| places | 1 << equal.place)
    };
    let mut members: HashMap<u32, Vec<u32>> = HashMap::new();
    for (member, conjunction) in conjunctions.iter().enumerate() {
        let key = if conjunctions.len() < MIN_SPLIT { 0 } else { specific(conjunction) };
        members.entry(key).or_default().push(member as u32);
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
    fn new(mut conjunctions: Vec<Conjunction>, ranks: Vec<u32>, max_bytes: usize) -> Option<Part> {
        let n_blocks = conjunctions.len().div_ceil(64).max(1);
        let mut tables: Vec<Table> = Vec::new();
        for plan in dimensions::plan(&mut conjunctions) {
            let used: usize = tables.iter().map(Table::n_bytes).sum();
            tables.push(Table::new(&plan, conjunctions.len(), max_bytes.checked_sub(used)?)?);
        }
        Some(Part { tables, conjunctions, ranks, n_blocks })
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
                if let Some(found) = self.first_in_block(block, and(n_summary + block), words) {
                    return self.ranked(found).filter(|&(rank, _)| rank < limit);
                }
            }
        }
        None
    }

    #[inline]
    fn first_in_block(&self, block: usize, mut members: u64, words: &Words) -> Option<usize> {
        while members != 0 {
            let member = block * 64 + members.trailing_zeros() as usize;
            if self.conjunctions.get(member)?.holds(words) {
                return Some(member);
            }
            members &= members - 1;
        }
        None
    }

    fn ranked(&self, member: usize) -> Option<(u32, i32)> {
        Some((*self.ranks.get(member)?, self.conjunctions.get(member)?.jump))
    }
}

impl Table {
    fn new(plan: &dimensions::Plan, n_members: usize, max_bytes: usize) -> Option<Table> {
        let n_blocks = n_members.div_ceil(64).max(1);
        let mut active = vec![0u64; n_blocks];
        let flip = |set: &mut [u64], member: u32| set[member as usize / 64] ^= 1 << (member % 64);
        (0..n_members as u32).for_each(|member| flip(&mut active, member));
        plan.intervals.iter().for_each(|interval| flip(&mut active, interval.member));
        // Where members come and go. The last interval may end with the space: nothing starts after it.
        let mut events: Vec<(u32, u32)> = Vec::with_capacity(2 * plan.intervals.len());
        for interval in &plan.intervals {
            events.push((interval.low, interval.member));
            if let Some(end) = interval.high.checked_add(1) {
                events.push((end, interval.member));
            }
        }
        events.sort_unstable();
        let mut rows = Rows { numbers: HashMap::new(), max: max_bytes / (8 * (n_blocks + 1)) };
        let mut starts = vec![(0, rows.number(&active)?)];
        for at in events.chunk_by(|a, b| a.0 == b.0) {
            at.iter().for_each(|&(_, member)| flip(&mut active, member));
            let row = rows.number(&active)?;
            match starts.last_mut() {
                Some(last) if last.0 == at[0].0 => last.1 = row,
                _ => starts.push((at[0].0, row)),
            }
        }
        let dimension = Dimension::new(plan.place, plan.mask, &starts, max_bytes / 4)?;
        Some(Table { dimension, rows: rows.into_words(n_blocks) })
    }

    fn n_bytes(&self) -> usize {
        self.rows.len() * 8 + self.dimension.n_bytes()
    }
}

/// Distinct sets, numbered.
struct Rows {
    numbers: HashMap<Vec<u64>, u32>,
    max: usize,
}

impl Rows {
    fn number(&mut self, set: &[u64]) -> Option<u32> {
        if let Some(&number) = self.numbers.get(set) {
            return Some(number);
        }
        let number = self.numbers.len();
        self.numbers.insert(set.to_vec(), number as u32);
        (number < self.max).then_some(number as u32)
    }

    fn into_words(self, n_blocks: usize) -> Vec<u64> {
        let n_summary = n_blocks.div_ceil(64);
        let row_len = n_summary + n_blocks;
        let mut words = vec![0; self.numbers.len() * row_len];
        for (set, number) in self.numbers {
            let row = &mut words[number as usize * row_len..][..row_len];
            for (block, &members) in set.iter().enumerate().filter(|(_, &members)| members != 0) {
                row[block / 64] |= 1 << (block % 64);
                row[n_summary + block] = members;
            }
        }
        words
    }
}
