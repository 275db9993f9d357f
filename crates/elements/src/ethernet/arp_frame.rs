//! Ethernet frames with ARP messages.

use std::net::Ipv4Addr;

use element::Packet;
use wire::{ethertype, Arp, Ethernet, MacAddress, ARP_REPLY, ARP_REQUEST};

/// Bytes of a frame.
pub const FRAME: usize = Ethernet::LEN + Arp::LEN;

/// The addresses of a station.
pub type Station = (MacAddress, Ipv4Addr);

/// A frame to `to`, one station or all, that asks for the Ethernet address of `ip`.
pub fn request(to: MacAddress, from: Station, ip: Ipv4Addr) -> Packet {
    frame(ARP_REQUEST, to, from, ([0; 6], ip))
}

/// A frame that tells one station the addresses of another.
pub fn reply(to: Station, from: Station) -> Packet {
    frame(ARP_REPLY, to.0, from, to)
}

fn frame(operation: u16, to: MacAddress, sender: Station, target: Station) -> Packet {
    let mut frame = [0; FRAME];
    let (header, body) = frame.split_at_mut(Ethernet::LEN);
    if let (Some(mut header), Some(mut arp)) = (Ethernet::new(header), Arp::init(body)) {
        header.set_destination(to);
        header.set_source(sender.0);
        header.set_ethertype(ethertype::ARP);
        arp.set_operation(operation);
        arp.set_sender_mac(sender.0);
        arp.set_sender_ip(sender.1);
        arp.set_target_mac(target.0);
        arp.set_target_ip(target.1);
    }
    let mut packet = Packet::from_bytes(&frame);
    packet.set_mac_header(0, Ethernet::LEN);
    packet
}
