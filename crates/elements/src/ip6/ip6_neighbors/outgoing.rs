//! Packets on their way out of an element with two outputs.

use element::{Batch, Ctx, Packet};

use super::NO_ANSWER;

/// What leaves by the two outputs.
#[derive(Default)]
pub struct Outgoing([Batch; 2]);

impl Outgoing {
    /// Adds a packet.
    pub fn push(&mut self, ctx: &mut Ctx<'_>, output: usize, packet: Packet) {
        let batch = &mut self.0[output];
        if batch.room() == 0 {
            let full = std::mem::take(batch);
            send(ctx, output, full);
        }
        batch.push(packet);
    }

    /// Sends all of them.
    pub fn emit(self, ctx: &mut Ctx<'_>) {
        (0..).zip(self.0).for_each(|(output, batch)| send(ctx, output, batch));
    }
}

fn send(ctx: &mut Ctx<'_>, output: usize, batch: Batch) {
    if !batch.is_empty() {
        ctx.emit_or_drop(output, NO_ANSWER, batch);
    }
}
