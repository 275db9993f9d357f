//! Packets that stand for several: splitting them into as many.

use args::Timestamp;
use element::{annotation, Packet};
use wire::protocol;

use super::describe::{u16_at, u8_at};

const NS_PER_S: f64 = 1e9;

/// The packets that one packet stands for.
#[derive(Default)]
pub struct Series {
    /// Length of all but the last, in bytes.
    len: u32,
    step: Timestamp,
    end: Timestamp,
}

impl Series {
    /// Splits one packet off a packet that stands for more than one; gives it and the rest. A series begins with a
    /// packet that `is_new`.
    pub fn split(&mut self, mut packet: Packet, is_new: bool) -> (Packet, Packet) {
        let n_more = packet.anno_u32(annotation::EXTRA_PACKETS).max(1);
        let own_len = packet.len() as u32;
        if is_new {
            self.begin(&mut packet, n_more);
        }
        let mut first = packet.clone();
        first.set_anno_u32(annotation::EXTRA_PACKETS, 0);
        first.set_anno_u32(annotation::EXTRA_LENGTH, self.len.wrapping_sub(own_len));
        packet.set_anno_u32(annotation::EXTRA_PACKETS, n_more - 1);
        let extra = packet.anno_u32(annotation::EXTRA_LENGTH).wrapping_sub(self.len);
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
        if n_more == 1 {
            packet.set_timestamp_ns(self.end.as_nanos());
            set_lengths(&mut packet, extra);
        } else {
            let time = Timestamp::from_nanos(packet.timestamp_ns()) + self.step;
            packet.set_timestamp_ns(time.as_nanos());
        }
        (first, packet)
    }

    fn begin(&mut self, packet: &mut Packet, n_more: u32) {
        let own_len = packet.len() as u32;
        let total = own_len.wrapping_add(packet.anno_u32(annotation::EXTRA_LENGTH));
        self.len = (u64::from(total) / (u64::from(n_more) + 1)) as u32;
        if self.len < own_len {
            // The length does not do for all of them.
            self.len = own_len;
            packet.set_anno_u32(annotation::EXTRA_LENGTH, own_len.wrapping_mul(n_more));
        }
        self.end = Timestamp::from_nanos(packet.timestamp_ns());
        (self.step, _) = steps(packet, n_more);
        set_lengths(packet, self.len.wrapping_sub(own_len));
    }
}

/// The time from packet to packet if `n_more` follow the first, which is set to its time; tells whether it was known.
pub fn steps(packet: &mut Packet, n_more: u32) -> (Timestamp, bool) {
    let first_ns = i64::from_ne_bytes(packet.anno(annotation::FIRST_TIMESTAMP));
    if first_ns == 0 {
        return (Timestamp::default(), false);
    }
    let span = packet.timestamp_ns().saturating_sub(first_ns);
    packet.set_timestamp_ns(first_ns);
    // Click divides seconds, as floating-point numbers.
    let step = (span as f64 / NS_PER_S / f64::from(n_more.max(1)) * NS_PER_S + 0.5).floor();
    (Timestamp::from_nanos(step as i64), true)
}

/// Makes the headers say that `extra` bytes more than the packet has belong to it.
fn set_lengths(packet: &mut Packet, extra: u32) {
    let len = (packet.len() as u32).wrapping_add(extra) as u16;
    let header = packet.network();
    if header.len() < 20 || u16_at(header, 2) == len {
        return;
    }
    let header_len = u16::from(u8_at(header, 0) & 15) * 4;
    let is_udp = u8_at(header, 9) == protocol::UDP;
    if let Some(field) = packet.network_mut().get_mut(2..4) {
        field.copy_from_slice(&len.to_be_bytes());
    }
    if let Some(field) = packet.transport_mut().get_mut(4..6).filter(|_| is_udp) {
        field.copy_from_slice(&len.wrapping_sub(header_len).to_be_bytes());
    }
}
