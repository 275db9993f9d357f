//! Counts by aggregate: what AggregateCounter keeps and writes to files.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;

use element::output::create_text_file;
use table::flow::FlowTable;

/// How counts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Aggregate and count in decimal.
    Text,
    /// Both as 32-bit words of the host.
    Packed,
    /// Aggregate as an IP address, count in decimal.
    Ip,
    /// Aggregate in decimal and its share of the total.
    Share,
}

/// A count for each aggregate.
pub struct Counts {
    /// Entries stay in the order in which aggregates were first seen, as none is ever removed alone.
    counts: FlowTable<u32, u32>,
    n_nonzero: u32,
    total: u64,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { counts: FlowTable::new(u32::MAX), n_nonzero: 0, total: 0 }
    }
}

impl Counts {
    /// Number of aggregates whose count is not 0.
    pub fn n_nonzero(&self) -> u32 {
        self.n_nonzero
    }

    /// Sum of the counts.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Whether an aggregate has a count that is not 0.
    pub fn is_counted(&self, aggregate: u32) -> bool {
        self.counts
            .find(&aggregate)
            .and_then(|idx| self.counts.get(idx))
            .is_some_and(|(_, &count)| count != 0)
    }

    /// Adds to an aggregate's count, unless it is frozen and has none; whether it was counted.
    #[inline(always)]
    pub fn add(&mut self, aggregate: u32, amount: u32, is_frozen: bool) -> bool {
        let hash = self.counts.hash_of(&aggregate);
        let found = self.counts.find_hashed(hash, &aggregate).and_then(|idx| self.counts.get_mut(idx));
        match found {
            Some((_, count)) if *count != 0 => {
                *count = count.wrapping_add(amount);
                self.total = self.total.wrapping_add(u64::from(amount));
                true
            }
            _ => !is_frozen && self.add_first(hash, aggregate, amount),
        }
    }

    #[cold]
    fn add_first(&mut self, hash: u64, aggregate: u32, amount: u32) -> bool {
        if self.counts.insert_hashed(hash, aggregate, amount).is_err() {
            return false;
        }
        self.n_nonzero = self.n_nonzero.wrapping_add(u32::from(amount != 0));
        self.total = self.total.wrapping_add(u64::from(amount));
        true
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Counts::default();
    }

    /// Makes the counts the aggregates, counted by how often each occurs.
    ///
    /// Click keeps its counts in a binary tree and counts the tree's inner nodes as well, as aggregates whose count is 0.
    pub fn reaggregate(&mut self) {
        let old = std::mem::take(self);
        let sorted = old.sorted();
        let n_empty = old.n_tree_nodes().saturating_sub(sorted.len() as u64);
        // The tree begins with the node of aggregate 0, which has no count yet.
        self.add(0, u32::try_from(n_empty).unwrap_or(u32::MAX), false);
        for (_, count) in sorted {
            self.add(count, 1, false);
        }
    }

    /// Nodes of the tree that Click would have made: a root for aggregate 0, and two more whenever an aggregate came that
    /// no node stood for. A node stands for its prefix, with zeros behind it.
    fn n_tree_nodes(&self) -> u64 {
        let mut leaves = BTreeSet::from([0u32]);
        for (_, &aggregate, _) in self.counts.iter() {
            if !is_branch(&leaves, aggregate) {
                leaves.insert(aggregate);
            }
        }
        leaves.len() as u64 * 2 - 1
    }

    /// Aggregates and their counts that are not 0, in order of aggregates.
    fn sorted(&self) -> Vec<(u32, u32)> {
        let counted = self.counts.iter().map(|(_, &aggregate, &count)| (aggregate, count));
        let mut counted: Vec<(u32, u32)> = counted.filter(|&(_, count)| count != 0).collect();
        counted.sort_unstable();
        counted
    }

    /// Writes the counts to a file, or to standard output if its name is `-`.
    pub fn write_file(&self, name: &str, format: Format, banner: &str) -> Result<(), String> {
        let bytes = self.unparse(format, banner);
        let mut file = create_text_file(name)?;
        let written = file.write_all(&bytes).and_then(|()| file.flush());
        written.map_err(|_| format!("{name}: file error"))
    }

    fn unparse(&self, format: Format, banner: &str) -> Vec<u8> {
        let mut text = format!("!IPAggregate 1.0\n{banner}");
        if !banner.is_empty() && !banner.ends_with('\n') {
            text.push('\n');
        }
        let _ = writeln!(text, "!num_nonzero {}", self.n_nonzero);
        let packed = if cfg!(target_endian = "big") { "!packed_be\n" } else { "!packed_le\n" };
        match format {
            Format::Packed => text += packed,
            Format::Ip => text += "!ip\n",
            Format::Text | Format::Share => {}
        }
        let sorted = self.sorted();
        if format == Format::Packed {
            let mut bytes = text.into_bytes();
            bytes.extend(
                sorted.iter().flat_map(|(aggregate, count)| [aggregate, count]).flat_map(|n| n.to_ne_bytes()),
            );
            return bytes;
        }
        for (aggregate, count) in sorted {
            let _ = match format {
                Format::Ip => writeln!(text, "{} {count}", std::net::Ipv4Addr::from(aggregate)),
                Format::Share => {
                    writeln!(
                        text,
                        "{aggregate} {}",
                        args::unparse_double(f64::from(count) / self.total as f64)
                    )
                }
                Format::Text | Format::Packed => writeln!(text, "{aggregate} {count}"),
            };
        }
        text.into_bytes()
    }
}

/// Whether the tree over `leaves` branches at a prefix that, with zeros behind it, is `aggregate`.
fn is_branch(leaves: &BTreeSet<u32>, aggregate: u32) -> bool {
    if leaves.contains(&aggregate) {
        return true;
    }
    (0..aggregate.trailing_zeros().min(32)).any(|n_behind| {
        let middle = aggregate | 1 << n_behind;
        let last = middle | ((1u32 << n_behind) - 1);
        leaves.range(aggregate..middle).next().is_some() && leaves.range(middle..=last).next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(aggregates: &[u32], format: Format, expect: Expect) {
        let mut counts = Counts::default();
        for &aggregate in aggregates {
            counts.add(aggregate, 1, false);
        }
        let mut text = String::from_utf8_lossy(&counts.unparse(format, "#b")).into_owned();
        counts.reaggregate();
        text += &String::from_utf8_lossy(&counts.unparse(Format::Text, ""));
        expect.assert_eq(&text);
    }

    #[test]
    fn texts() {
        check(
            &[7, 1, 0, 7],
            Format::Text,
            expect![[r#"
            !IPAggregate 1.0
            #b
            !num_nonzero 3
            0 1
            1 1
            7 2
            !IPAggregate 1.0
            !num_nonzero 3
            0 2
            1 2
            2 1
        "#]],
        );
        check(
            &[1 << 31, 1, 1],
            Format::Ip,
            expect![[r#"
            !IPAggregate 1.0
            #b
            !num_nonzero 2
            !ip
            0.0.0.1 2
            128.0.0.0 1
            !IPAggregate 1.0
            !num_nonzero 3
            0 3
            1 1
            2 1
        "#]],
        );
        check(
            &[5, 6, 4],
            Format::Share,
            expect![[r#"
            !IPAggregate 1.0
            #b
            !num_nonzero 3
            4 0.333333333333
            5 0.333333333333
            6 0.333333333333
            !IPAggregate 1.0
            !num_nonzero 2
            0 2
            1 3
        "#]],
        );
        check(
            &[4, 5, 6],
            Format::Share,
            expect![[r#"
            !IPAggregate 1.0
            #b
            !num_nonzero 3
            4 0.333333333333
            5 0.333333333333
            6 0.333333333333
            !IPAggregate 1.0
            !num_nonzero 2
            0 4
            1 3
        "#]],
        );
    }

    #[test]
    fn frozen_counts_only_what_is_known() {
        let mut counts = Counts::default();
        assert!(counts.add(1, 1, false) && counts.add(1, 2, true) && !counts.add(2, 1, true));
        assert!(counts.add(3, 0, false) && !counts.add(3, 1, true) && counts.add(3, 1, false));
        assert_eq!((counts.n_nonzero(), counts.total(), counts.is_counted(2)), (2, 4, false));
    }
}
