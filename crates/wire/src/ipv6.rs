//! IPv6 headers (RFC 8200).

use crate::checksum;
use std::net::Ipv6Addr;

/// A packet that starts with an IPv6 header.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6<B>(B);

impl Ipv6<()> {
    /// Length of the fixed header in bytes.
    pub const LEN: usize = 40;
}

impl<B: AsRef<[u8]>> Ipv6<B> {
    /// Views a packet; `None` unless its version is 6 and its fixed header is all there.
    #[inline]
    pub fn new(packet: B) -> Option<Self> {
        let ip = (packet.as_ref().len() >= Ipv6::LEN).then_some(Ipv6(packet))?;
        (ip.version() == 6).then_some(ip)
    }

    /// IP version: 6.
    #[inline]
    pub fn version(&self) -> u8 {
        (self.first_word() >> 28) as u8
    }

    /// Traffic class, 8 bits.
    #[inline]
    pub fn traffic_class(&self) -> u8 {
        (self.first_word() >> 20) as u8
    }

    /// Flow label, 20 bits.
    #[inline]
    pub fn flow_label(&self) -> u32 {
        self.first_word() & 0x000f_ffff
    }

    /// What follows the fixed header, cut at the payload length.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        let end = (Ipv6::LEN + usize::from(self.payload_len())).min(bytes.len());
        bytes.get(Ipv6::LEN..end).unwrap_or_default()
    }

    /// Sum of the pseudo-header for a segment of `len` bytes of `protocol`, see [`checksum::pseudo_ipv6`].
    #[inline]
    pub fn pseudo_header_sum(&self, protocol: u8, len: u32) -> u16 {
        checksum::pseudo_ipv6(self.source(), self.destination(), protocol, len)
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ipv6<B> {
    /// Begins a new header: version set, all else 0; `None` if there is no room.
    #[inline]
    pub fn init(mut packet: B) -> Option<Self> {
        packet.as_mut().get_mut(..Ipv6::LEN)?.fill(0);
        let mut ip = Ipv6(packet);
        ip.set_first_word(6 << 28);
        Some(ip)
    }

    /// Sets the traffic class, 8 bits.
    #[inline]
    pub fn set_traffic_class(&mut self, class: u8) {
        self.set_first_word(self.first_word() & !(0xff << 20) | u32::from(class) << 20);
    }

    /// Sets the flow label, the low 20 bits of `label`.
    #[inline]
    pub fn set_flow_label(&mut self, label: u32) {
        self.set_first_word(self.first_word() & !0x000f_ffff | label & 0x000f_ffff);
    }
}

fields! { Ipv6 {
    first_word, set_first_word: u32, 0, "Version, traffic class and flow label.";
    payload_len, set_payload_len: u16, 4, "Bytes that follow the fixed header; 0 for a jumbogram.";
    next_header, set_next_header: u8, 6, "Kind of what follows, see [`crate::protocol`].";
    hop_limit, set_hop_limit: u8, 7, "Hops that the packet may still make.";
    source, set_source: Ipv6Addr, 8, "Source address.";
    destination, set_destination: Ipv6Addr, 24, "Destination address.";
} }
