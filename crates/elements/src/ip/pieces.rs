//! What leaves an element that makes several packets of one.

use element::{Batch, Ctx, Packet};

/// Packets for output 0. They leave as a batch; if a single packet came in, they leave one by one, so that each goes
/// all its way before the next, as in Click.
pub struct Pieces {
    batch: Batch,
    one_by_one: bool,
}

impl Pieces {
    /// For the pieces of the packets of `batch`.
    pub fn of(batch: &Batch) -> Pieces {
        Pieces { batch: Batch::new(), one_by_one: batch.len() == 1 }
    }

    /// Adds a packet.
    #[inline]
    pub fn add(&mut self, ctx: &mut Ctx<'_>, packet: Packet) {
        if self.one_by_one {
            return ctx.emit_packet(0, packet);
        }
        if self.batch.room() == 0 {
            self.send(ctx);
        }
        self.batch.push(packet);
    }

    /// Sends what was added.
    pub fn send(&mut self, ctx: &mut Ctx<'_>) {
        ctx.emit(0, std::mem::take(&mut self.batch));
    }
}
