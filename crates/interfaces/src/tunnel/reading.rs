//! Packets from the kernel.

use element::{Batch, Ctx, Packet, BATCH_MAX};
use sys::tap::{Kind, Received};

use super::{Tunnel, ENOBUFS, NOT_IP};
use crate::capture::link as encap;
use crate::device::words;
use crate::mark_ip::mark_ip;
use crate::vnet;

impl Tunnel {
    /// Reads and emits up to a burst.
    pub fn selected(&mut self, ctx: &mut Ctx<'_>) {
        self.n_selected += 1;
        let now = ctx.now_ns();
        let mut left = self.burst;
        while left > 0 {
            let wanted = left.min(BATCH_MAX);
            let (mut batch, mut others) = (Batch::new(), Batch::new());
            while batch.len() + others.len() < wanted {
                let Some(mut packet) = self.receive(ctx) else { break };
                if self.kind == Kind::Tap || mark_ip(&mut packet, encap::RAW) {
                    packet.set_timestamp_ns(now);
                    batch.push(packet);
                } else {
                    others.push(packet);
                }
            }
            let n = batch.len() + others.len();
            left -= n;
            if left == 0 || n < wanted {
                left = 0;
                ctx.emit(0, batch);
            } else {
                ctx.emit_now(0, batch);
            }
            ctx.emit_or_drop(1, NOT_IP, others);
        }
    }

    fn receive(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let (tap, buffer) = (self.tap.as_ref()?, self.buffer.as_deref_mut()?);
        match tap.recv(&mut *buffer) {
            Ok(None) | Ok(Some(Received { len: 0, .. })) => None,
            Ok(Some(received)) => {
                let data = buffer.get(..received.len)?;
                let mut packet = Packet::with_headroom(self.headroom, data);
                vnet::apply(&mut packet, received.vnet);
                self.received.add(&packet);
                Some(packet)
            }
            Err(error) if error.is_device_gone() => {
                self.lose(ctx);
                None
            }
            Err(error) => {
                let is_overflow = error.errno() == Some(ENOBUFS);
                if !(self.ignores_overflows && self.has_told_read && is_overflow) {
                    ctx.chatter(&format!("KernelTun read: {}", words(&error)));
                    self.has_told_read = true;
                }
                None
            }
        }
    }
}
