//! Writes addresses and ports into packets, and wraps packets in others.

use std::net::Ipv4Addr;

use element::{offload, Packet};
use wire::word::{put_u16, u16_at};
use wire::{checksum, protocol};

const IP_LEN: usize = 20;
const ICMP_LEN: usize = 8;
const TTL: u8 = 64;

/// What replaces an address and a port, and what checksums gain by that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The new address.
    pub address: u32,
    /// The new port.
    pub port: u16,
    /// The one's complement sum of the new address less the old one.
    pub address_gain: u16,
    /// The same with the ports.
    pub gain: u16,
    /// Whether the source is replaced, not the destination.
    pub is_source: bool,
}

impl Change {
    /// From one address and port to another.
    pub fn new(is_source: bool, old: (u32, u16), new: (u32, u16)) -> Change {
        let address_gain = checksum::fold(u64::from(!old.0) + u64::from(new.0));
        let gain = checksum::fold(u64::from(address_gain) + u64::from(!old.1) + u64::from(new.1));
        Change { address: new.0, port: new.1, address_gain, gain, is_source }
    }

    /// Where the address is in an IP header.
    #[inline(always)]
    fn address_at(&self) -> usize {
        if self.is_source {
            12
        } else {
            16
        }
    }

    /// Where the port is in a transport header.
    #[inline(always)]
    fn port_at(&self) -> usize {
        if self.is_source {
            0
        } else {
            2
        }
    }
}

/// The checksum after what it covers gained this much (RFC 1624).
#[inline(always)]
fn gained(sum: u16, gain: u16) -> u16 {
    !checksum::add(!sum, gain)
}

/// Writes the address and the IP checksum.
#[inline(always)]
fn write_address(network: &mut [u8], change: &Change) {
    let Some(header) = network.first_chunk_mut::<IP_LEN>() else { return };
    let at = change.address_at();
    header[at..at + 4].copy_from_slice(&change.address.to_be_bytes());
    let sum = u16::from_be_bytes([header[10], header[11]]);
    header[10..12].copy_from_slice(&gained(sum, change.address_gain).to_be_bytes());
}

/// Writes the port and the checksum of TCP or UDP, as far as they are there.
#[inline(always)]
fn write_port(transport: &mut [u8], number: u8, change: &Change) {
    put_u16(transport, change.port_at(), change.port);
    let at = if number == protocol::TCP { 16 } else { 6 };
    let Some(sum) = u16_at(transport, at) else { return };
    if number == protocol::TCP {
        put_u16(transport, at, gained(sum, change.gain));
    } else if sum != 0 {
        put_u16(transport, at, checksum::nonzero(gained(sum, change.gain)));
    }
}

/// Rewrites a packet whose transport header begins at `transport_at`.
#[inline(always)]
pub fn flow(packet: &mut Packet, transport_at: usize, change: &Change) {
    let partial_at = offload::partial_checksum_at(packet);
    let network = packet.network_mut();
    write_address(network, change);
    let number = network.get(9).copied().unwrap_or(0);
    if let Some(at) = partial_at {
        // The field holds the sum of the addresses, not complemented, and the port is summed up later.
        let sum = u16_at(network, at).unwrap_or(0);
        put_u16(network, at, checksum::add(sum, change.address_gain));
        put_u16(network, transport_at + change.port_at(), change.port);
    } else if let Some(transport) = network.get_mut(transport_at..) {
        write_port(transport, number, change);
    }
}

/// Rewrites a fragment without ports: the checksum of the whole is in the first one.
pub fn rest(packet: &mut Packet, change: &Change) {
    write_address(packet.network_mut(), change);
}

/// Rewrites an ICMP error about a packet of a flow. `change` is what is done to packets of the flow that go where the error
/// goes; the packet within went the other way. The error's own address changes where it is the one that `old` says.
pub fn error(packet: &mut Packet, transport_at: usize, old: u32, change: &Change) {
    let network = packet.network_mut();
    let at = change.address_at();
    let is_old = network.get(at..at + 4).is_some_and(|address| address == old.to_be_bytes());
    if is_old {
        write_address(network, change);
    }
    let Some(icmp) = network.get_mut(transport_at..) else { return };
    let before = icmp.get(ICMP_LEN..).map_or(0, checksum::sum);
    if let Some(inner) = icmp.get_mut(ICMP_LEN..) {
        let turned = Change { is_source: !change.is_source, ..*change };
        write_address(inner, &turned);
        let header_len = usize::from(inner.first().copied().unwrap_or(0) & 0x0f) * 4;
        let number = inner.get(9).copied().unwrap_or(0);
        if let Some(transport) = inner.get_mut(header_len..) {
            write_port(transport, number, &turned);
        }
    }
    let after = icmp.get(ICMP_LEN..).map_or(0, checksum::sum);
    if let Some(sum) = u16_at(icmp, 2) {
        put_u16(icmp, 2, checksum::update_u16(sum, before, after));
    }
}

/// Wraps a packet in an IP packet to `to` (RFC 2003; ECN as RFC 6040 says). False, and nothing done, if it is too long.
pub fn wrap(packet: &mut Packet, from: Ipv4Addr, to: u32, id: u16) -> bool {
    let network = packet.network();
    let (tos, flags) = (network.get(1).copied().unwrap_or(0), network.get(6).copied().unwrap_or(0));
    let Some(len) = network.len().checked_add(IP_LEN).and_then(|len| u16::try_from(len).ok()) else {
        return false;
    };
    // What is in front of the IP header, such as that of Ethernet, goes.
    match packet.network_offset().unwrap_or(0) {
        offset @ ..0 => packet.unstrip(offset.unsigned_abs()),
        offset => packet.strip(offset.unsigned_abs()),
    }
    let mut header = [0; IP_LEN];
    [header[0], header[1], header[6], header[8], header[9]] = [0x45, tos, flags & 0x40, TTL, protocol::IPIP];
    header[2..4].copy_from_slice(&len.to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[12..16].copy_from_slice(&from.octets());
    header[16..20].copy_from_slice(&to.to_be_bytes());
    let sum = checksum::sum_20(&header);
    header[10..12].copy_from_slice(&(!sum).to_be_bytes());
    packet.prepend_array(&header);
    packet.set_network_header(0, IP_LEN);
    packet.set_dst_ip(to.into());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: (u32, u16) = (0xcb00_710a, 80);
    const NEW: (u32, u16) = (0xc0a8_0101, 8080);

    /// An IP packet of a protocol from 10.0.0.1:1000 to `to`, with its checksums.
    fn made(number: u8, to: (u32, u16)) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 48, 0, 1, 0, 0, 9, number, 0, 0, 10, 0, 0, 1];
        packet.extend(to.0.to_be_bytes());
        packet.extend([0x03, 0xe8]);
        packet.extend(to.1.to_be_bytes());
        packet.extend([0; 20]);
        packet.extend(*b"odds");
        let sum = checksum::checksum(&packet[..20]);
        put_u16(&mut packet, 10, sum);
        let pseudo = checksum::pseudo_ipv4([10, 0, 0, 1].into(), to.0.into(), number, 28);
        let sum = checksum::transport(pseudo, &packet[20..]);
        put_u16(&mut packet, if number == protocol::TCP { 36 } else { 26 }, sum);
        packet
    }

    fn packet(bytes: &[u8]) -> Packet {
        let mut packet = Packet::from_bytes(bytes);
        packet.set_network_header(0, 20);
        packet
    }

    #[test]
    fn rewritten_packets_are_those_made_anew() {
        for number in [protocol::TCP, protocol::UDP] {
            let mut rewritten = packet(&made(number, OLD));
            flow(&mut rewritten, 20, &Change::new(false, OLD, NEW));
            assert_eq!(rewritten.data(), made(number, NEW));
            flow(&mut rewritten, 20, &Change::new(false, NEW, OLD));
            assert_eq!(rewritten.data(), made(number, OLD));
        }
    }

    #[test]
    fn a_datagram_without_checksum_stays_so() {
        let mut bytes = made(protocol::UDP, OLD);
        bytes[26..28].fill(0);
        let mut rewritten = packet(&bytes);
        flow(&mut rewritten, 20, &Change::new(false, OLD, NEW));
        assert_eq!(rewritten.data()[26..28], [0, 0]);
    }

    #[test]
    fn errors_are_about_the_packet_that_their_receiver_knows() {
        // A client's host says that a packet from the service, here as the client's own turned round, was too long.
        let error_about = |src: (u32, u16), dst: u32| {
            let mut inner = made(protocol::UDP, src);
            for i in 0..4 {
                inner.swap(12 + i, 16 + i);
            }
            inner.swap(20, 22);
            inner.swap(21, 23);
            let mut bytes = vec![0x45, 0, 0, 76, 0, 2, 0, 0, 9, 1, 0, 0, 10, 0, 0, 9];
            bytes.extend(dst.to_be_bytes());
            let sum = checksum::checksum(&bytes);
            put_u16(&mut bytes, 10, sum);
            bytes.extend([3, 4, 0, 0, 0, 0, 2, 64]);
            bytes.extend(inner);
            let sum = checksum::checksum(&bytes[20..]);
            put_u16(&mut bytes, 22, sum);
            bytes
        };
        let mut rewritten = packet(&error_about(OLD, OLD.0));
        error(&mut rewritten, 20, OLD.0, &Change::new(false, OLD, NEW));
        assert_eq!(rewritten.data(), error_about(NEW, NEW.0));
        // One that goes to some other host is still about the packet.
        let mut rewritten = packet(&error_about(OLD, 7));
        error(&mut rewritten, 20, OLD.0, &Change::new(false, OLD, NEW));
        assert_eq!(rewritten.data(), error_about(NEW, 7));
    }

    #[test]
    fn wrapped_packets_are_whole_inside() {
        let inner = made(protocol::TCP, OLD);
        let mut wrapped = packet(&inner);
        assert!(wrap(&mut wrapped, [10, 0, 0, 254].into(), NEW.0, 7));
        assert_eq!(wrapped.data()[20..], inner);
        assert_eq!(wrapped.data()[..10], [0x45, 0, 0, 68, 0, 7, 0, 0, 64, 4]);
        assert!(wrapped.data().first_chunk().is_some_and(checksum::is_valid_20));
        assert!(!wrap(&mut packet(&[0x45; 65520]), [10, 0, 0, 254].into(), NEW.0, 7));
    }
}
