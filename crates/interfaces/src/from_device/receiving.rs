//! How FromDevice opens its ring and takes packets out of it.

use std::os::fd::AsFd;

use element::{Batch, Ctx, Packet, Ready, BATCH_MAX};
use packet::PacketType;
use sys::bpf::{BpfError, Program};
use sys::packet_socket::{FanOut, Frame, RxOptions, RxRing, Tx, TxOptions};

use super::{FromDevice, NOT_IP};
use crate::capture::{link, MAX_CAPTURED_LEN};
use crate::device::{from_frame, link_type, refusal};
use crate::mark_ip::mark_ip;

const EADDRNOTAVAIL: i32 = 99;
/// The link type of cable modems' frames, which any Ethernet device may be said to carry.
const DOCSIS: u32 = 143;
const DEFAULT_SNAPLEN: u32 = 2046;
/// Offset of the Ethernet type.
const TYPE_AT: usize = 12;

impl FromDevice {
    /// Opens the device. The replicas of the graph share its packets out among them, flow by flow.
    pub(super) fn open(&mut self, ctx: &mut Ctx<'_>, netmask: [u8; 4]) -> Result<RxRing, String> {
        let element = ctx.element;
        let snaplen = self.snaplen.unwrap_or(MAX_CAPTURED_LEN);
        let filter = match self.filter.as_str() {
            "" => None,
            text => Some(self.compile(text, snaplen, netmask)?),
        };
        let options = RxOptions {
            promiscuous: self.is_promiscuous,
            all_multicast: self.is_linux,
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

    /// Finds out the link type; ENCAP may name it, but no other one.
    pub(super) fn settle_link_type(&mut self) -> Result<(), String> {
        let own = link_type(&self.device);
        let asked = *self.encap.get_or_insert(own);
        if self.is_linux || own != link::ETHERNET || [link::ETHERNET, DOCSIS].contains(&asked) {
            return Ok(());
        }
        let name = i32::try_from(asked).ok().and_then(|number| sys::bpf::link_name(number).ok().flatten());
        let name = name.unwrap_or_else(|| format!("DLT {asked}"));
        let device = &self.device;
        Err(format!("{device}: pcap_set_datalink: {name} is not one of the DLTs supported by this device"))
    }

    /// The device's netmask, or zeros and a warning.
    pub(super) fn netmask(&self, ctx: &mut Ctx<'_>) -> [u8; 4] {
        match sys::link::ipv4_address(&self.device) {
            Ok((_, prefix)) => u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0).to_be_bytes(),
            Err(error) => {
                if error.errno() == Some(EADDRNOTAVAIL) && ctx.runtime().replica().0 == 0 {
                    ctx.warn(&format!("{}: no IPv4 address assigned", self.device));
                }
                [0; 4]
            }
        }
    }

    fn compile(&self, expression: &str, snaplen: u32, netmask: [u8; 4]) -> Result<Program, String> {
        sys::bpf::compile_for(&self.device, expression, snaplen, netmask).map_err(|error| match error {
            BpfError::Expression { reason, .. } => format!("{}: {reason}", self.device),
            _ => format!("{}: {error}", self.device),
        })
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

    /// A sender on the socket of the ring, if it opened the device by the method that is asked for. The kernel shows no socket
    /// what it sent itself: what it sends does not come back as packets that go out.
    pub(crate) fn sender(&mut self, is_linux: Option<bool>) -> Option<Tx> {
        if is_linux.is_some_and(|asked| asked != self.is_linux) {
            return None;
        }
        match &self.ring {
            Some(ring) => ring.sender(&TxOptions::default()).ok(),
            None => self.foreseen.take(),
        }
    }

    /// Whether it reads from that device.
    pub(crate) fn is_on(&self, device: &str) -> bool {
        self.device == device
    }

    /// Whether the kernel was asked for the same packets.
    pub(super) fn is_of_same(&self, old: &FromDevice) -> bool {
        let wish = |of: &FromDevice| (of.is_promiscuous, of.is_outbound, of.snaplen, of.is_linux);
        (&old.device, &old.filter, wish(old)) == (&self.device, &self.filter, wish(self))
    }
}

fn ethertype(frame: &[u8]) -> Option<u16> {
    wire::word::u16_at(frame, TYPE_AT)
}
