//! ARP packets for IPv4 over Ethernet (RFC 826).

use crate::{ethertype, MacAddress};
use std::net::Ipv4Addr;

/// Operation: who has this address?
pub const ARP_REQUEST: u16 = 1;
/// Operation: I have it.
pub const ARP_REPLY: u16 = 2;

/// An ARP packet, without its Ethernet header, that maps IPv4 to Ethernet addresses.
#[derive(Clone, Copy, Debug)]
pub struct Arp<B>(B);

impl Arp<()> {
    /// Length in bytes.
    pub const LEN: usize = 28;
    /// Hardware type: Ethernet.
    pub const ETHERNET: u16 = 1;
}

impl<B: AsRef<[u8]>> Arp<B> {
    /// Views an ARP packet; `None` if it is too short or for other kinds of addresses.
    #[inline]
    pub fn new(packet: B) -> Option<Self> {
        if packet.as_ref().len() < Arp::LEN {
            return None;
        }
        let arp = Arp(packet);
        let is_ethernet = arp.hardware_type() == Arp::ETHERNET && arp.hardware_len() == 6;
        (is_ethernet && arp.protocol_type() == ethertype::IPV4 && arp.protocol_len() == 4).then_some(arp)
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Arp<B> {
    /// Begins a new packet in `packet`: kinds of addresses set, all else 0; `None` if there is no room.
    #[inline]
    pub fn init(mut packet: B) -> Option<Self> {
        packet.as_mut().get_mut(..Arp::LEN)?.fill(0);
        let mut arp = Arp(packet);
        arp.set_hardware_type(Arp::ETHERNET);
        arp.set_protocol_type(ethertype::IPV4);
        arp.set_hardware_len(6);
        arp.set_protocol_len(4);
        Some(arp)
    }
}

fields! { Arp {
    hardware_type, set_hardware_type: u16, 0, "Kind of hardware address.";
    protocol_type, set_protocol_type: u16, 2, "Kind of protocol address: an ethertype.";
    hardware_len, set_hardware_len: u8, 4, "Bytes of a hardware address.";
    protocol_len, set_protocol_len: u8, 5, "Bytes of a protocol address.";
    operation, set_operation: u16, 6, "Operation: request or reply.";
    sender_mac, set_sender_mac: MacAddress, 8, "Hardware address of the sender.";
    sender_ip, set_sender_ip: Ipv4Addr, 14, "Protocol address of the sender.";
    target_mac, set_target_mac: MacAddress, 18, "Hardware address of the target.";
    target_ip, set_target_ip: Ipv4Addr, 24, "Protocol address of the target.";
} }
