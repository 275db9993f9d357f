//! What is known of a packet besides its bytes.

use crate::slot::{Kinds, Meta, View};
use crate::{annotation, headers::UNSET, Packet};

/// Link-layer packet type, with Linux's and Click's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum PacketType {
    /// To this host.
    #[default]
    Host = 0,
    /// To all.
    Broadcast = 1,
    /// To a group.
    Multicast = 2,
    /// To another host.
    OtherHost = 3,
    /// Sent by this host.
    Outgoing = 4,
    /// A looped-back broadcast.
    Loopback = 5,
    /// A fast-routed frame.
    FastRoute = 6,
}

impl PacketType {
    /// Whether it was sent to all or to a group in the link layer.
    #[inline]
    pub fn is_group(self) -> bool {
        matches!(self, PacketType::Broadcast | PacketType::Multicast)
    }

    /// The type with this number; unknown numbers are other hosts'.
    pub fn from_number(number: u8) -> PacketType {
        match number {
            0 => PacketType::Host,
            1 => PacketType::Broadcast,
            2 => PacketType::Multicast,
            4 => PacketType::Outgoing,
            5 => PacketType::Loopback,
            6 => PacketType::FastRoute,
            _ => PacketType::OtherHost,
        }
    }
}

impl Packet {
    /// Sets all annotations, header offsets and offload metadata to nothing.
    pub fn clear_annotations(&mut self) {
        self.meta().kinds.set(Kinds::default());
        self.meta_mut().clear_annotations();
    }

    /// Takes over all metadata but where the bytes are.
    #[inline]
    pub(crate) fn inherit(&mut self, from: &Meta) {
        self.meta().kinds.set(from.kinds.get());
        self.meta_mut().copy_annotations(from);
    }

    /// Changes what the packet is.
    #[inline]
    pub(crate) fn set_kinds(&mut self, change: impl FnOnce(&mut Kinds)) {
        let mut kinds = self.meta().kinds.get();
        change(&mut kinds);
        self.meta().kinds.set(kinds);
    }

    /// Takes annotations, header offsets aside, from another packet.
    pub fn copy_annotations(&mut self, from: &Packet) {
        let from = from.meta();
        let meta = self.meta_mut();
        meta.anno = from.anno;
        meta.timestamp_ns = from.timestamp_ns;
        self.set_kinds(|kinds| kinds.packet_type = from.kinds.get().packet_type);
    }

    /// The annotation area.
    #[inline]
    pub fn annotations(&self) -> &[u8; annotation::SIZE] {
        &self.meta().anno
    }

    /// The annotation area, to be written.
    #[inline]
    pub fn annotations_mut(&mut self) -> &mut [u8; annotation::SIZE] {
        &mut self.meta_mut().anno
    }

    /// The byte of the annotation area at `offset`; 0 outside it.
    #[inline]
    pub fn anno_u8(&self, offset: usize) -> u8 {
        self.meta().anno.get(offset).copied().unwrap_or(0)
    }

    /// Sets the byte of the annotation area at `offset`.
    #[inline]
    pub fn set_anno_u8(&mut self, offset: usize, value: u8) {
        self.set_anno(offset, [value]);
    }

    /// Two bytes of the annotation area in host order; 0 outside it.
    #[inline]
    pub fn anno_u16(&self, offset: usize) -> u16 {
        u16::from_ne_bytes(self.anno(offset))
    }

    /// Sets two bytes of the annotation area in host order.
    #[inline]
    pub fn set_anno_u16(&mut self, offset: usize, value: u16) {
        self.set_anno(offset, value.to_ne_bytes());
    }

    /// Four bytes of the annotation area in host order; 0 outside it.
    #[inline]
    pub fn anno_u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.anno(offset))
    }

    /// Sets four bytes of the annotation area in host order.
    #[inline]
    pub fn set_anno_u32(&mut self, offset: usize, value: u32) {
        self.set_anno(offset, value.to_ne_bytes());
    }

    /// `N` bytes of the annotation area; zeros outside it.
    #[inline]
    pub fn anno<const N: usize>(&self, offset: usize) -> [u8; N] {
        let bytes = self.meta().anno.get(offset..).and_then(|tail| tail.first_chunk::<N>());
        bytes.copied().unwrap_or([0; N])
    }

    /// Sets `N` bytes of the annotation area; nothing outside it.
    #[inline]
    pub fn set_anno<const N: usize>(&mut self, offset: usize, value: [u8; N]) {
        let anno = self.meta_mut().anno.get_mut(offset..);
        if let Some(bytes) = anno.and_then(|tail| tail.first_chunk_mut::<N>()) {
            *bytes = value;
        }
    }

    /// The destination IPv4 address annotation.
    #[inline]
    pub fn dst_ip(&self) -> std::net::Ipv4Addr {
        std::net::Ipv4Addr::from(self.anno::<4>(annotation::DST_IP))
    }

    /// Sets the destination IPv4 address annotation.
    #[inline]
    pub fn set_dst_ip(&mut self, address: std::net::Ipv4Addr) {
        self.set_anno(annotation::DST_IP, address.octets());
    }

    /// The paint annotation.
    #[inline]
    pub fn paint(&self) -> u8 {
        self.meta().anno[annotation::PAINT]
    }

    /// Sets the paint annotation.
    #[inline]
    pub fn set_paint(&mut self, colour: u8) {
        self.meta_mut().anno[annotation::PAINT] = colour;
    }

    /// Timestamp in nanoseconds since the epoch; 0 if not set.
    #[inline]
    pub fn timestamp_ns(&self) -> i64 {
        self.meta().timestamp_ns
    }

    /// Sets the timestamp in nanoseconds since the epoch.
    #[inline]
    pub fn set_timestamp_ns(&mut self, timestamp_ns: i64) {
        self.meta_mut().timestamp_ns = timestamp_ns;
    }

    /// Link-layer packet type.
    #[inline]
    pub fn packet_type(&self) -> PacketType {
        PacketType::from_number(self.meta().kinds.get().packet_type)
    }

    /// Sets the link-layer packet type.
    #[inline]
    pub fn set_packet_type(&mut self, packet_type: PacketType) {
        self.set_kinds(|kinds| kinds.packet_type = packet_type as u8);
    }
}

impl View {
    fn clear_annotations(&mut self) {
        self.mac = UNSET;
        self.network = UNSET;
        self.transport = UNSET;
        self.anno = [0; annotation::SIZE];
        self.timestamp_ns = 0;
    }

    #[inline]
    fn copy_annotations(&mut self, from: &View) {
        self.family = from.family;
        self.place = from.place;
        self.mac = from.mac;
        self.network = from.network;
        self.transport = from.transport;
        self.anno = from.anno;
        self.timestamp_ns = from.timestamp_ns;
        self.gso_header_len = from.gso_header_len;
        self.gso_size = from.gso_size;
        self.checksum_start = from.checksum_start;
        self.checksum_offset = from.checksum_offset;
    }
}
