//! ICMPv6 messages as packets (RFC 4443, section 2.1).

use std::net::Ipv6Addr;

use element::{annotation, Packet};
use wire::{checksum, ethertype, protocol, Ethernet, Ipv6, MacAddress};

use super::segment::renew_checksum;

/// What hosts set: messages of neighbor discovery are believed only with it, as no router has forwarded them.
pub const HOP_LIMIT: u8 = 255;

/// A packet with a message that consists of two parts, the first of which has a place for the checksum. The IPv6 header is
/// marked, the destination annotation set.
pub fn packet([from, to]: [Ipv6Addr; 2], [front, rest]: [&[u8]; 2]) -> Packet {
    let len = front.len() + rest.len();
    let mut packet = Packet::zeroed(Ipv6::LEN + len);
    if let Some((header, message)) = packet.data_mut().split_first_chunk_mut::<{ Ipv6::LEN }>() {
        if let Some(mut ip) = Ipv6::init(header) {
            ip.set_payload_len(len as u16);
            ip.set_next_header(protocol::ICMPV6);
            ip.set_hop_limit(HOP_LIMIT);
            ip.set_source(from);
            ip.set_destination(to);
        }
        message.iter_mut().zip(front.iter().chain(rest)).for_each(|(place, byte)| *place = *byte);
        renew_checksum(
            message,
            protocol::ICMPV6,
            checksum::pseudo_ipv6(from, to, protocol::ICMPV6, len as u32),
        );
    }
    packet.set_network_header(0, Ipv6::LEN);
    packet.set_anno(annotation::DST_IP6, to.octets());
    packet
}

/// Puts an Ethernet header in front of an IPv6 packet.
#[inline]
pub fn put_ethernet(packet: &mut Packet, to: MacAddress, from: MacAddress) {
    if let Some(header) = packet.prepend(Ethernet::LEN).first_chunk_mut::<{ Ethernet::LEN }>() {
        header[..6].copy_from_slice(&to);
        header[6..12].copy_from_slice(&from);
        header[12..].copy_from_slice(&ethertype::IPV6.to_be_bytes());
    }
    packet.set_mac_header(0, Ethernet::LEN);
}
