//! How FromDevice opens its ring and takes packets out of it.

use std::os::fd::AsFd;

use element::{Batch, Ctx, Packet, Ready, BATCH_MAX};
use packet::PacketType;
use sys::packet_socket::{FanOut, Frame, RxOptions, RxRing};

use super::{FromDevice, NOT_IP};
use crate::capture::MAX_CAPTURED_LEN;
use crate::device::{check_up, from_frame, link_type, refusal};
use crate::mark_ip::mark_ip;

const DEFAULT_SNAPLEN: u32 = 2046;
/// Offset of the Ethernet type.
const TYPE_AT: usize = 12;

impl FromDevice {
    /// Opens the device. The replicas of the graph share its packets out among them, flow by flow.
    pub(super) fn open(&mut self, ctx: &mut Ctx<'_>) -> Result<RxRing, String> {
        let element = ctx.element;
        if !self.is_linux {
            check_up(&self.device, false)?;
        }
        let link_type = *self.encap.get_or_insert_with(|| link_type(&self.device));
        let snaplen = self.snaplen.unwrap_or(MAX_CAPTURED_LEN);
        let filter = match self.filter.as_str() {
            "" => None,
            text => {
                let program = sys::bpf::compile(text, link_type.min(i32::MAX as u32) as i32, snaplen);
                Some(program.map_err(|error| format!("{}: {error}", self.device))?)
            }
        };
        let options = RxOptions {
            promiscuous: self.is_promiscuous,
            outgoing: self.is_outbound,
            snaplen,
            filter,
            fan_out: match (ctx.runtime().replica(), ctx.runtime().agree(element, None)) {
                ((_, 1), _) => FanOut::Off,
                (_, Some(group)) => FanOut::Join(group as u16),
                (_, None) => FanOut::New,
            },
            ..RxOptions::default()
        };
        let ring = RxRing::open(&self.device, &options)
            .map_err(|error| refusal(&self.device, self.is_linux, &error))?;
        ctx.runtime().agree(element, ring.fan_out_group().map(u64::from));
        Ok(ring)
    }

    /// Emits a burst; how many packets.
    pub(super) fn receive(&mut self, ctx: &mut Ctx<'_>) -> usize {
        let mut left = self.burst;
        loop {
            let wanted = left.min(BATCH_MAX);
            if self.pending.len() < wanted {
                self.fill(wanted);
            }
            let n = self.pending.len().min(wanted);
            self.count += n as u64;
            left -= n;
            let is_last = left == 0 || n < wanted;
            self.emit(ctx, n, is_last);
            if is_last {
                return self.burst - left;
            }
        }
    }

    fn emit(&mut self, ctx: &mut Ctx<'_>, n: usize, is_last: bool) {
        let (mut batch, mut others) = (Batch::new(), Batch::new());
        let link_type = self.link_type();
        for mut packet in self.pending.drain(..n) {
            self.traffic.add(&packet);
            if !self.forces_ip || mark_ip(&mut packet, link_type) {
                batch.push(packet);
            } else {
                others.push(packet);
            }
        }
        if is_last {
            ctx.emit(0, batch);
        } else {
            ctx.emit_now(0, batch);
        }
        ctx.emit_or_drop(1, NOT_IP, others);
    }

    /// Copies packets out of the ring, block by block, until there are `wanted`.
    fn fill(&mut self, wanted: usize) {
        let Some(mut ring) = self.ring.take() else { return };
        while self.pending.len() < wanted {
            let Some(block) = ring.poll_block() else { break };
            for frame in &block {
                if self.protocol == 0 || ethertype(frame.data) == Some(self.protocol) {
                    let packet = self.packet_of(&frame);
                    self.pending.push_back(packet);
                }
            }
        }
        self.ring = Some(ring);
    }

    fn packet_of(&self, frame: &Frame<'_>) -> Packet {
        let header = frame.vnet.unwrap_or_default();
        let whole = self.snaplen.unwrap_or(if header.is_gso() { MAX_CAPTURED_LEN } else { DEFAULT_SNAPLEN });
        let data = frame.data;
        let mut packet = from_frame(frame, self.headroom, whole as usize);
        if self.stamps {
            packet.set_timestamp_ns(i64::try_from(frame.timestamp_ns).unwrap_or(i64::MAX));
        }
        packet.set_packet_type(match data {
            _ if frame.outgoing && self.is_linux => PacketType::Outgoing,
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, ..] => PacketType::Broadcast,
            [first, ..] if first & 1 != 0 => PacketType::Multicast,
            _ => PacketType::Host,
        });
        packet.set_mac_offset(0);
        packet
    }

    /// Goes on with the ring of another element.
    pub(super) fn watch(&mut self, ctx: &mut Ctx<'_>, ring: Option<RxRing>) {
        self.ring = ring;
        let result = self.ring.as_ref().map_or(Ok(()), |ring| ctx.add_select(ring.as_fd(), Ready::READ));
        if let Err(message) = result {
            ctx.chatter(&message);
        }
    }

    /// Whether the kernel was asked for the same packets.
    pub(super) fn is_of_same(&self, old: &FromDevice) -> bool {
        let wish = |of: &FromDevice| (of.is_promiscuous, of.is_outbound, of.snaplen, of.is_linux);
        (&old.device, &old.filter, wish(old)) == (&self.device, &self.filter, wish(self))
    }
}

fn ethertype(frame: &[u8]) -> Option<u16> {
    frame.get(TYPE_AT..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}
