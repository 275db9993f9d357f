//! Packets to the kernel.

use element::{Batch, Ctx, Packet, TaskId, BATCH_MAX};
use sys::tap::Kind;

use super::{Tunnel, BAD_PACKET, ENOBUFS, IP_HEADER, NOT_WRITTEN, TOO_LONG};
use crate::segment::{is_for_kernel, segment};
use crate::vnet;

const ETHERNET_HEADER: usize = 14;

impl Tunnel {
    /// Pulls packets and writes them.
    pub fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let batch = ctx.pull(0, ctx.default_burst().clamp(1, BATCH_MAX));
        let worked = !batch.is_empty();
        self.write(ctx, batch);
        if worked || self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal)) {
            ctx.schedule(task);
        }
        worked
    }

    /// Writes packets to the device.
    pub fn write(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) {
        for packet in batch.drain() {
            let result = match self.kind {
                Kind::Tap => check_frame(packet),
                Kind::Tun => check_ip(packet),
            };
            match result {
                Ok((packet, len))
                    if packet.offload().gso == packet::Gso::None
                        && len > self.mtu.unsigned_abs() as usize =>
                {
                    self.tell(ctx, &format!("packet larger than MTU ({})", self.mtu));
                    ctx.drop_packet(TOO_LONG, packet);
                }
                Ok((packet, _)) => self.write_packet(ctx, packet),
                Err((packet, message)) => {
                    self.tell(ctx, &message);
                    ctx.drop_packet(BAD_PACKET, packet);
                }
            }
        }
    }

    fn write_packet(&mut self, ctx: &mut Ctx<'_>, packet: Packet) {
        if !packet.has_offload() || self.offloads && is_for_kernel(&packet) {
            return self.write_part(ctx, packet);
        }
        segment(&packet, |part| self.write_part(ctx, part));
    }

    fn write_part(&mut self, ctx: &mut Ctx<'_>, packet: Packet) {
        let Some(tap) = &self.tap else { return ctx.drop_packet(NOT_WRITTEN, packet) };
        let errno = match tap.send(vnet::header_of(&packet), packet.data()) {
            Ok(true) => return self.sent.add(&packet),
            Ok(false) => ENOBUFS,
            Err(error) if error.is_device_gone() => {
                self.lose(ctx);
                return ctx.drop_packet(NOT_WRITTEN, packet);
            }
            Err(error) => error.errno().unwrap_or_default(),
        };
        if errno != ENOBUFS || !self.ignores_overflows || !self.has_told_write {
            self.has_told_write = true;
            let words = element::output::reason(&std::io::Error::from_raw_os_error(errno));
            self.tell(ctx, &format!("write failed: {words}"));
        }
        ctx.drop_packet(NOT_WRITTEN, packet);
    }

    fn tell(&self, ctx: &mut Ctx<'_>, message: &str) {
        ctx.chatter(&format!("{}({}): {message}", self.class, self.name));
    }
}

/// The frame and its length without link-layer header.
fn check_frame(packet: Packet) -> Result<(Packet, usize), (Packet, String)> {
    match packet.len().checked_sub(ETHERNET_HEADER) {
        Some(len) => Ok((packet, len)),
        None => Err((packet, "packet too small".to_string())),
    }
}

/// The packet without what stands before its network header, and its length.
fn check_ip(mut packet: Packet) -> Result<(Packet, usize), (Packet, String)> {
    let network = packet.network_offset().filter(|at| packet.len() as isize - at >= IP_HEADER as isize);
    match network {
        None => return Err((packet, "no network header".to_string())),
        Some(at) if at >= 0 => packet.strip(at.unsigned_abs()),
        Some(at) => packet.unstrip(at.unsigned_abs()),
    }
    match packet.data().first().map(|first| first >> 4) {
        Some(4 | 6) => {
            let len = packet.len();
            Ok((packet, len))
        }
        version => Err((packet, format!("unknown IP version {}", version.unwrap_or(0)))),
    }
}
