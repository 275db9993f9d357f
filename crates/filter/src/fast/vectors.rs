//! Bit vectors: for each dimension, a table from the word to the set of conjunctions that it allows.
//!
//! A packet's sets are intersected 64 conjunctions at a time, in order; the first left decides. A summary with a bit
//! for each 64 tells which to look at.

use super::conjunctions::Conjunction;
use super::dimensions::{self, Dimension};
use super::words::Words;
use crate::program::NEVER;
use std::collections::HashMap;

/// More memory than this is not spent on a filter.
const MAX_BYTES: usize = 64 << 20;

#[derive(Clone, Debug)]
pub struct Vectors {
    tables: Vec<Table>,
    conjunctions: Vec<Conjunction>,
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
    pub fn new(mut conjunctions: Vec<Conjunction>) -> Result<Vectors, Vec<Conjunction>> {
        let n_blocks = conjunctions.len().div_ceil(64).max(1);
        let mut tables = Vec::new();
        let mut n_bytes = 0;
        let mut rest = conjunctions.clone();
        for plan in dimensions::plan(&mut rest) {
            let Some(table) = Table::new(&plan, conjunctions.len(), MAX_BYTES - n_bytes) else {
                return Err(conjunctions);
            };
            n_bytes += table.n_bytes();
            if n_bytes > MAX_BYTES {
                return Err(conjunctions);
            }
            tables.push(table);
        }
        std::mem::swap(&mut conjunctions, &mut rest);
        Ok(Vectors { tables, conjunctions, n_blocks })
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        const MAX_TABLES: usize = super::dimensions::MAX_DIMENSIONS;
        let n_summary = self.n_blocks.div_ceil(64);
        let row_len = n_summary + self.n_blocks;
        let mut rows: [&[u64]; MAX_TABLES] = [&[]; MAX_TABLES];
        for (row, table) in rows.iter_mut().zip(&self.tables) {
            let start = table.dimension.row(words) as usize * row_len;
            *row = table.rows.get(start..start + row_len).unwrap_or_default();
        }
        let rows = &rows[..self.tables.len().min(MAX_TABLES)];
        let and = |at: usize| rows.iter().fold(u64::MAX, |all, row| all & row.get(at).copied().unwrap_or(0));
        for summary_at in 0..n_summary {
            let mut summary = and(summary_at);
            while summary != 0 {
                let block = summary_at * 64 + summary.trailing_zeros() as usize;
                summary &= summary - 1;
                if let Some(jump) = self.first_in_block(block, and(n_summary + block), words) {
                    return jump;
                }
            }
        }
        NEVER
    }

    #[inline]
    fn first_in_block(&self, block: usize, mut members: u64, words: &Words) -> Option<i32> {
        while members != 0 {
            let conjunction = self.conjunctions.get(block * 64 + members.trailing_zeros() as usize)?;
            if conjunction
                .equals
                .iter()
                .all(|equal| words[usize::from(equal.place) % words.len()] & equal.mask == equal.value)
                && conjunction.ranges_hold(words)
            {
                return Some(conjunction.jump);
            }
            members &= members - 1;
        }
        None
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
