//! Timestamps of packets that came without one.

use element::{Batch, Ctx};

/// Gives packets that have no timestamp the time now.
pub fn stamp(ctx: &mut Ctx<'_>, batch: &mut Batch) {
    ctx.with_clock(|_, clock| {
        for packet in batch.iter_mut().filter(|packet| packet.timestamp_ns() == 0) {
            packet.set_timestamp_ns(clock.now_ns());
        }
    });
}
