//! Packets of a batch on their way to several outputs.

use element::{Batch, Ctx, Packet, PortIdx};

/// A batch for each output. An element keeps it, so that sorting a batch allocates nothing.
pub struct Outputs(Vec<Option<Batch>>);

impl Outputs {
    /// For an element with this number of outputs.
    pub fn new(n_outputs: usize) -> Outputs {
        Outputs((0..n_outputs).map(|_| None).collect())
    }

    /// Number of outputs.
    #[inline]
    pub fn n_outputs(&self) -> usize {
        self.0.len()
    }

    /// Adds a packet to an output's batch; gives it back if there is no such output. At most a batch's number of packets is
    /// added to an output before [`Outputs::emit`].
    #[inline]
    pub fn add(&mut self, port: PortIdx, packet: Packet) -> Option<Packet> {
        match self.0.get_mut(port) {
            Some(batch) => batch.get_or_insert_default().push(packet),
            None => return Some(packet),
        }
        None
    }

    /// Sends the batches off, first output first.
    pub fn emit(&mut self, ctx: &mut Ctx<'_>) {
        for (port, batch) in self.0.iter_mut().enumerate() {
            if let Some(batch) = batch.take() {
                ctx.emit(port, batch);
            }
        }
    }

    /// Sends each packet of a batch to the output that `port_of` yields; packets for outputs that do not exist are dropped
    /// for `reason`.
    #[inline]
    pub fn spread(
        &mut self,
        ctx: &mut Ctx<'_>,
        mut batch: Batch,
        reason: usize,
        mut port_of: impl FnMut(&mut Ctx<'_>, &Packet) -> PortIdx,
    ) {
        if let [packet] = &*batch {
            let port = port_of(ctx, packet);
            return ctx.emit_or_drop(port, reason, batch);
        }
        for packet in batch.drain() {
            let port = port_of(ctx, &packet);
            if let Some(packet) = self.add(port, packet) {
                ctx.drop_packet(reason, packet);
            }
        }
        self.emit(ctx);
    }
}
