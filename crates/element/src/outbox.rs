//! The outbox: what an element has handed to its outputs while one of its methods runs.

use packet::{Batch, Packet, BATCH_MAX};

use crate::Verdict;

/// Outputs that have a place of their own; batches for others are looked up in a list.
const DIRECT: usize = 16;

/// The batches an element has handed to its outputs, in order: one pointer, to be passed around and reused.
#[derive(Default)]
pub struct Outbox(Box<Contents>);

#[derive(Default)]
struct Contents {
    sent: Sent,
    split: Split,
    /// Storage for the verdicts on a batch.
    verdicts: Option<Box<Verdicts>>,
}

/// A verdict on each packet of a batch, and more.
pub(crate) type Verdicts = [Verdict; BATCH_MAX];

/// Batches with the outputs that they are for, in order.
#[derive(Default)]
struct Sent {
    /// The first has a place of its own, for mostly there is no other.
    first: Option<(u32, Batch)>,
    more: Vec<(u32, Batch)>,
}

impl Sent {
    #[inline]
    fn put(&mut self, port: u32, batch: Batch) {
        match self.first {
            None => self.first = Some((port, batch)),
            Some(_) => self.more.push((port, batch)),
        }
    }
}

/// The packets of a batch that is being split, or those of them that do not leave by output 0: a batch for each output or
/// reason. Empty between splits.
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
        self.0.sent.put(port, batch);
    }

    /// Takes the batch if there is exactly one.
    #[inline]
    pub fn take_only(&mut self) -> Option<(u32, Batch)> {
        if self.0.sent.more.is_empty() {
            self.0.sent.first.take()
        } else {
            None
        }
    }

    /// Whether there is no batch.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.sent.first.is_none()
    }

    /// The batches, in order.
    #[inline]
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        let Sent { first, more } = &self.0.sent;
        first.iter().chain(more).map(|(_, batch)| batch)
    }

    /// The same, to be changed.
    pub fn batches_mut(&mut self) -> impl Iterator<Item = &mut Batch> {
        let Sent { first, more } = &mut self.0.sent;
        first.iter_mut().chain(more).map(|(_, batch)| batch)
    }

    /// Takes the last batch.
    #[inline]
    pub fn pop(&mut self) -> Option<(u32, Batch)> {
        self.0.sent.more.pop().or_else(|| self.0.sent.first.take())
    }

    /// Takes all batches in order.
    pub fn drain(&mut self) -> impl Iterator<Item = (u32, Batch)> + '_ {
        let Sent { first, more } = &mut self.0.sent;
        first.take().into_iter().chain(more.drain(..))
    }
}

impl Split {
    /// Adds a packet.
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
        &mut self.0.split
    }

    /// Storage for verdicts, to be given back.
    #[inline]
    pub(crate) fn take_verdicts(&mut self) -> Box<Verdicts> {
        self.0.verdicts.take().unwrap_or_else(|| Box::new([Verdict::PASS; BATCH_MAX]))
    }

    /// Takes storage for verdicts back.
    #[inline]
    pub(crate) fn give_verdicts(&mut self, verdicts: Box<Verdicts>) {
        self.0.verdicts = Some(verdicts);
    }

    /// Whether the last split had anything but packets for output 0.
    #[inline]
    pub(crate) fn has_split(&self) -> bool {
        self.0.split.used != 0
    }

    /// Takes what was sorted: puts the batches for outputs behind what was put before, outputs in order, as if an element
    /// had pushed to each in turn, and returns those to be dropped, with the index of the reason.
    #[inline(never)]
    pub(crate) fn put_split(&mut self) -> impl Iterator<Item = (usize, Batch)> + '_ {
        let Contents { sent, split, .. } = &mut *self.0;
        let mut left = std::mem::take(&mut split.used);
        while left & ((1 << DIRECT) - 1) != 0 {
            let port = left.trailing_zeros();
            left &= left - 1;
            if let Some(batch) = split.direct[port as usize].take() {
                sent.put(port, batch);
            }
        }
        if left != 0 {
            split.others.sort_unstable_by_key(|(verdict, _)| verdict.0);
            let is_dropped = |(verdict, _): &(Verdict, Batch)| verdict.output().is_none();
            let n_sent = split.others.iter().position(is_dropped).unwrap_or(split.others.len());
            split.others.drain(..n_sent).for_each(|(verdict, batch)| sent.put(verdict.0, batch));
        }
        split.others.drain(..).map(|(verdict, batch)| (verdict.reason(), batch))
    }
}
