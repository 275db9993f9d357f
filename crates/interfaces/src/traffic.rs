//! Packets and bytes that went through an interface in one direction.

use element::{Batch, Packet};

/// A packet counter and a byte counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
}

impl Traffic {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, packet: &Packet) {
        self.add_bytes(packet.len());
    }

    /// Counts a packet of `len` bytes.
    #[inline]
    pub fn add_bytes(&mut self, len: usize) {
        self.packets += 1;
        self.bytes = self.bytes.wrapping_add(len as u64);
    }

    /// Counts a packet no more.
    pub fn take_back(&mut self, packet: &Packet) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.wrapping_sub(packet.len() as u64);
    }

    /// Counts a batch.
    #[inline]
    pub fn add_batch(&mut self, batch: &Batch) {
        batch.iter().for_each(|packet| self.add(packet));
    }
    /// Counts what was counted elsewhere.
    pub fn add_traffic(&mut self, other: Traffic) {
        self.packets += other.packets;
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }
}
