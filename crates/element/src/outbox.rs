//! The outbox: what an element has handed to its outputs while one of its methods runs.

use packet::{Batch, Packet};

use crate::Verdict;

/// Outputs that have a place of their own; batches for others are looked up in a list.
const DIRECT: usize = 16;

/// The batches an element has handed to its outputs, in order. The first one has a place of its own, for mostly there is
/// no other.
#[derive(Default)]
pub struct Outbox {
    first: Option<(u32, Batch)>,
    more: Vec<(u32, Batch)>,
    split: Box<Split>,
}

/// The packets of a batch that is being split: those that do not leave by output 0, a batch for each output or reason.
/// Empty between splits.
#[derive(Default)]
pub(crate) struct Split {
    /// By output.
    direct: [Option<Batch>; DIRECT],
    /// For further outputs, and for reasons to drop packets.
    others: Vec<(Verdict, Batch)>,
    /// Which of `direct` there are, a bit each; the next bit stands for all others.
    used: u32,
}

impl Outbox {
    /// Adds a batch for an output.
    #[inline]
    pub fn put(&mut self, port: u32, batch: Batch) {
        if self.first.is_none() {
            self.first = Some((port, batch));
        } else {
            self.more.push((port, batch));
        }
    }

    /// Takes the batch if there is exactly one.
    #[inline]
    pub fn take_only(&mut self) -> Option<(u32, Batch)> {
        if self.more.is_empty() {
            self.first.take()
        } else {
            None
        }
    }

    /// Whether there is no batch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Takes all batches, the last one first.
    #[inline]
    pub fn drain_reversed(&mut self) -> impl Iterator<Item = (u32, Batch)> + '_ {
        self.more.drain(..).rev().chain(self.first.take())
    }

    /// Takes all batches in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, Batch)> + '_ {
        self.first.take().into_iter().chain(self.more.drain(..))
    }
}

impl Split {
    /// Adds a packet with a verdict that is not [`Verdict::PASS`].
    #[inline(always)]
    pub(crate) fn add(&mut self, verdict: Verdict, packet: Packet, n_outputs: impl FnOnce() -> usize) {
        match self.direct.get_mut(verdict.0 as usize) {
            Some(Some(batch)) => batch.push(packet),
            _ => self.add_new(verdict, packet, n_outputs()),
        }
    }

    /// Adds the first packet for an output, or one that has no place of its own.
    #[inline(never)]
    fn add_new(&mut self, verdict: Verdict, packet: Packet, n_outputs: usize) {
        let verdict = verdict.resolve(n_outputs);
        if let Some(place) = self.direct.get_mut(verdict.0 as usize) {
            self.used |= 1 << verdict.0;
            return place.get_or_insert_default().push(packet);
        }
        self.used |= 1 << DIRECT;
        match self.others.iter_mut().find(|(known, _)| *known == verdict) {
            Some((_, batch)) => batch.push(packet),
            None => self.others.push((verdict, Batch::of(packet))),
        }
    }
}

impl Outbox {
    /// Where the packets of a batch are sorted.
    #[inline]
    pub(crate) fn split(&mut self) -> &mut Split {
        &mut self.split
    }

    /// Whether the last split had anything but packets for output 0.
    #[inline]
    pub(crate) fn has_split(&self) -> bool {
        self.split.used != 0
    }

    /// Takes what was sorted: puts the batches for outputs behind what was put before, outputs in order, as if an element
    /// had pushed to each in turn, and returns those to be dropped, with the index of the reason.
    #[inline(never)]
    pub(crate) fn put_split(&mut self) -> impl Iterator<Item = (usize, Batch)> + '_ {
        let mut left = std::mem::take(&mut self.split.used);
        while left & ((1 << DIRECT) - 1) != 0 {
            let port = left.trailing_zeros();
            left &= left - 1;
            if let Some(batch) = self.split.direct[port as usize].take() {
                self.put(port, batch);
            }
        }
        if left != 0 {
            self.split.others.sort_unstable_by_key(|(verdict, _)| verdict.0);
            let is_dropped = |(verdict, _): &(Verdict, Batch)| verdict.output().is_none();
            let n_sent = self.split.others.iter().position(is_dropped).unwrap_or(self.split.others.len());
            let Outbox { first, more, split } = self;
            for (verdict, batch) in split.others.drain(..n_sent) {
                match first {
                    None => *first = Some((verdict.0, batch)),
                    Some(_) => more.push((verdict.0, batch)),
                }
            }
        }
        self.split.others.drain(..).map(|(verdict, batch)| (verdict.reason(), batch))
    }
}
