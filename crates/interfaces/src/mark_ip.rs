//! Marking a packet's IP header, whatever the link layer.

use element::Packet;

use crate::capture::link::{self, IpHeader};

/// Bytes of an IPv6 header.
const IP6_HEADER: usize = 40;

/// Marks a packet's IP header and destination; false if there is no IP header.
pub fn mark_ip(packet: &mut Packet, link_type: u32) -> bool {
    match link::find_ip(link_type, packet.data()) {
        Some(IpHeader::V4 { offset, len, destination }) => {
            packet.set_network_header(offset, len);
            packet.set_dst_ip(destination);
            true
        }
        Some(IpHeader::V6 { offset }) => {
            packet.set_network_header(offset, IP6_HEADER);
            true
        }
        None => false,
    }
}
