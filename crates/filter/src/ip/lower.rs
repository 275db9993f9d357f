//! Turns a checked primitive into tests.

use super::kind;
use super::names::TCP_OR_UDP;
use super::primitive::{Direction, Op, Primitive};
use super::{NETWORK, TRANSPORT};
use crate::program::{Combiner, Tree};

impl Primitive {
    pub fn lower(&self, tree: &mut Tree) {
        tree.start();
        if self.protocol != kind::UNKNOWN {
            require_protocol(self.protocol, tree);
        }
        let of_transport = kind::is_field(self.kind) && kind::field_protocol(self.kind) != 0;
        if matches!(self.kind, kind::PORT | kind::TCP_OPTION) || of_transport {
            // Only the first fragment has a transport header.
            tree.test(NETWORK + 4, 0, 0x1fff);
        }
        match self.kind {
            kind::HOST => self.lower_either_end(tree, |tree, is_source| {
                let (value, mask) = (self.value.get().swap_bytes(), self.mask.get().swap_bytes());
                tree.test(NETWORK + if is_source { 12 } else { 16 }, value & mask, mask);
            }),
            kind::ETHER => {
                self.lower_either_end(tree, |tree, is_source| self.lower_ethernet(tree, is_source))
            }
            kind::PORT => self.lower_either_end(tree, |tree, is_source| {
                self.compare(tree, TRANSPORT, if is_source { 16 } else { 0 });
            }),
            kind::PROTO => {
                if self.protocol < 256 {
                    self.compare(tree, NETWORK + 8, 16);
                    self.negate_if_said(tree);
                }
            }
            kind::FRAGMENT => {
                tree.test(NETWORK + 4, 0, 0x3fff);
                if !self.op_negated {
                    tree.negate(true);
                }
            }
            kind::TCP_OPTION => {
                tree.test(TRANSPORT + 12, self.value.get() << 16, self.mask.get() << 16);
            }
            field => {
                let at = kind::field_bit_offset(field);
                let base = if of_transport { TRANSPORT } else { NETWORK };
                let word = base + ((at / 8) & !3) as u16;
                let shift = 32u32.saturating_sub(at % 32 + kind::field_n_bits(field));
                self.compare(tree, word, shift);
                self.negate_if_said(tree);
            }
        }
        tree.finish(Combiner::And);
    }

    fn lower_either_end(&self, tree: &mut Tree, test: impl Fn(&mut Tree, bool)) {
        tree.start();
        if self.direction.source() {
            test(tree, true);
        }
        if self.direction.destination() {
            test(tree, false);
        }
        tree.finish(if self.direction == Direction::Either { Combiner::Or } else { Combiner::And });
        self.negate_if_said(tree);
    }

    fn negate_if_said(&self, tree: &mut Tree) {
        if self.op_negated {
            tree.negate(true);
        }
    }

    fn lower_ethernet(&self, tree: &mut Tree, is_source: bool) {
        let words = |[a, b, c, d, e, f]: [u8; 6]| match is_source {
            true => [[a, b, c, d], [e, f, 0, 0]],
            false => [[0, 0, a, b], [c, d, e, f]],
        };
        let offset = if is_source { 8 } else { 0 };
        tree.start();
        for (n, (value, mask)) in (0..).zip(words(self.value.0).into_iter().zip(words(self.mask.0))) {
            tree.test(offset + 4 * n, u32::from_be_bytes(value), u32::from_be_bytes(mask));
        }
        tree.finish(Combiner::And);
    }

    /// Adds the comparison, without its negation, of the bits `shift` above the end of the word at `offset`.
    fn compare(&self, tree: &mut Tree, offset: u16, shift: u32) {
        let mask = self.mask.get();
        let value = self.value.get() & mask;
        match self.op {
            Op::Equal => tree.test(offset, value << shift, mask << shift),
            _ => compare_greater(tree, offset, shift, value, mask),
        }
    }
}

fn require_protocol(protocol: i32, tree: &mut Tree) {
    let test = |tree: &mut Tree, protocol: i32| tree.test(NETWORK + 8, (protocol as u32) << 16, 0x00ff_0000);
    match protocol {
        TCP_OR_UDP => {
            tree.start();
            test(tree, 6);
            test(tree, 17);
            tree.finish(Combiner::Or);
        }
        one if one < 256 => test(tree, one),
        _ => {}
    }
}

/// Adds `word & mask > bound` as masked comparisons, from the top bits down.
///
/// Bits of the bound that start with zeros: a packet with any of them set is greater, otherwise the lower bits decide.
/// Bits that start with ones: a packet without all of them is not greater, otherwise the lower bits decide.
fn compare_greater(tree: &mut Tree, offset: u16, shift: u32, bound: u32, mask: u32) {
    let (mut rest, mut bits) = (bound, mask);
    let mut combiners = Vec::new();
    while rest < bits {
        let ones = rest > bits >> 1;
        let differing = if ones { !rest.wrapping_add(1) & bits } else { rest };
        let top = match differing {
            0 => bits,
            // All bits above the first that differs.
            _ => bits & !(u32::MAX >> differing.leading_zeros()),
        };
        tree.start();
        tree.test(offset, if ones { top << shift } else { 0 }, top << shift);
        if !ones {
            tree.negate(true);
        }
        combiners.push(if ones { Combiner::And } else { Combiner::Or });
        bits &= !top;
        rest &= bits;
    }
    let is_named = !combiners.is_empty();
    while let Some(combiner) = combiners.pop() {
        tree.finish(combiner);
    }
    if is_named {
        tree.name_greater(offset, mask << shift, bound << shift);
    }
}
