//! Which flow a packet belongs to.

use element::Packet;
use table::symmetric::{symmetric_hash, symmetric_hash6};
use wire::{protocol, Ipv4, Ipv6};

const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
/// Offset of the type in Ethernet and in Linux's cooked captures.
const TYPE_OFFSETS: [usize; 2] = [12, 14];
const ICMPV6_ERRORS: std::ops::RangeInclusive<u8> = 1..=4;
/// Bytes of an ICMP header before the packet that an error is about.
const ICMP_HEADER: usize = 8;

/// The replica, of `n`, that a packet belongs to. Both directions of a flow, and the ICMP errors about it, belong to the same.
/// What is not IP belongs to the first.
pub(super) fn owner(packet: &Packet, n: usize) -> usize {
    hash(ip_of(packet)).map_or(0, |hash| table::symmetric::spread(hash, n as u32) as usize)
}

/// The packet from its IP header on: where it is marked, or where the link layer puts it.
fn ip_of(packet: &Packet) -> &[u8] {
    let network = packet.network();
    if !network.is_empty() {
        return network;
    }
    let data = packet.data();
    for offset in TYPE_OFFSETS {
        let mut at = offset;
        while kind_at(data, at).is_some_and(|kind| TAGS.contains(&kind)) {
            at += 4;
        }
        let rest = data.get(at + 2..).unwrap_or(&[]);
        if kind_at(data, at).is_some_and(|kind| [IPV4, IPV6].contains(&kind)) && is_ip(rest) {
            return rest;
        }
    }
    data
}

fn kind_at(data: &[u8], at: usize) -> Option<[u8; 2]> {
    data.get(at..)?.first_chunk().copied()
}

/// Whether this begins like an IP header.
fn is_ip(data: &[u8]) -> bool {
    match data.first().map(|first| first >> 4) {
        Some(4) => {
            Ipv4::new(data).is_some_and(|ip| ip.header_len() >= 20 && usize::from(ip.total_len()) >= 20)
        }
        Some(6) => Ipv6::new(data).is_some(),
        _ => false,
    }
}

fn hash(data: &[u8]) -> Option<u32> {
    if !is_ip(data) {
        return None;
    }
    if data.first().is_some_and(|first| first >> 4 == 6) {
        return hash6(data);
    }
    let ip = Ipv4::new(data)?;
    let (src, dst) = (u32::from(ip.source()), u32::from(ip.destination()));
    let payload = data.get(ip.header_len()..).unwrap_or(&[]);
    // A fragment says nothing of ports, but for the first; all of them must go together.
    if ip.is_fragment() {
        return Some(symmetric_hash(src, dst, 0, 0, ip.protocol()));
    }
    if ip.protocol() == protocol::ICMP && wire::Icmp::new(payload).is_some_and(|icmp| icmp.is_error()) {
        let inner = payload.get(ICMP_HEADER..).and_then(flow_of_inner);
        return inner.or_else(|| Some(symmetric_hash(src, dst, 0, 0, ip.protocol())));
    }
    let (sport, dport) = ports(ip.protocol(), payload);
    Some(symmetric_hash(src, dst, sport, dport, ip.protocol()))
}

/// The hash of the flow that an ICMP error is about.
fn flow_of_inner(data: &[u8]) -> Option<u32> {
    let ip = Ipv4::new(data).filter(|_| is_ip(data))?;
    let payload = data.get(ip.header_len()..).unwrap_or(&[]);
    let (sport, dport) = if ip.is_fragment() { (0, 0) } else { ports(ip.protocol(), payload) };
    Some(symmetric_hash(ip.source().into(), ip.destination().into(), sport, dport, ip.protocol()))
}

fn hash6(data: &[u8]) -> Option<u32> {
    const ICMPV6: u8 = 58;
    let ip = Ipv6::new(data)?;
    let payload = data.get(40..).unwrap_or(&[]);
    let inner = payload.get(ICMP_HEADER..).unwrap_or(&[]);
    let is_error =
        ip.next_header() == ICMPV6 && payload.first().is_some_and(|kind| ICMPV6_ERRORS.contains(kind));
    let (ip, payload) = match Ipv6::new(inner).filter(|_| is_error && is_ip(inner)) {
        Some(about) => (about, inner.get(40..).unwrap_or(&[])),
        None => (ip, payload),
    };
    let (sport, dport) = ports(ip.next_header(), payload);
    Some(symmetric_hash6(ip.source().into(), ip.destination().into(), sport, dport, ip.next_header()))
}

fn ports(proto: u8, payload: &[u8]) -> (u16, u16) {
    const SCTP: u8 = 132;
    match payload.first_chunk() {
        Some(&[a, b, c, d]) if [protocol::TCP, protocol::UDP, SCTP].contains(&proto) => {
            (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
        }
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An IPv4 packet of protocol `proto` with this payload.
    fn ip(src: [u8; 4], dst: [u8; 4], proto: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
        let len = (20 + payload.len()) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, proto, 0, 0]);
        packet.extend(src);
        packet.extend(dst);
        packet.extend(payload);
        packet
    }

    fn ethernet(kind: &[u8], packet: &[u8]) -> Vec<u8> {
        [&[2; 12], kind, packet].concat()
    }

    const A: [u8; 4] = [10, 0, 0, 1];
    const B: [u8; 4] = [192, 0, 2, 7];
    const THERE: [u8; 8] = [0x10, 0, 0, 80, 0, 0, 0, 0];
    const BACK: [u8; 8] = [0, 80, 0x10, 0, 0, 0, 0, 0];

    fn hash_of(bytes: &[u8]) -> Option<u32> {
        hash(ip_of(&Packet::from_bytes(bytes)))
    }

    #[test]
    fn a_flow_is_the_same_both_ways_and_on_any_link() {
        let there = ip(A, B, protocol::TCP, 0, &THERE);
        let flow = hash_of(&there);
        assert!(flow.is_some());
        assert_eq!(hash_of(&ip(B, A, protocol::TCP, 0, &BACK)), flow);
        assert_eq!(hash_of(&ethernet(&IPV4, &there)), flow);
        assert_eq!(hash_of(&ethernet(&[0x81, 0, 0, 5, 8, 0], &there)), flow);
        assert_eq!(hash_of(&ethernet(&[1, 2, 8, 0], &there)), flow);
        assert_ne!(hash_of(&ip(A, B, protocol::UDP, 0, &THERE)), flow);
        assert_ne!(hash_of(&ip(A, B, protocol::TCP, 0, &[9; 8])), flow);
    }

    #[test]
    fn errors_go_with_the_flow_that_they_are_about() {
        let there = ip(A, B, protocol::TCP, 0, &THERE);
        let error = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &there].concat();
        assert_eq!(hash_of(&ip([10, 9, 9, 9], A, protocol::ICMP, 0, &error)), hash_of(&there));
        let echo = [&[8, 0, 0, 0, 0, 0, 0, 0][..], &there].concat();
        assert_ne!(hash_of(&ip([10, 9, 9, 9], A, protocol::ICMP, 0, &echo)), hash_of(&there));
    }

    #[test]
    fn fragments_stay_together() {
        let first = hash_of(&ip(A, B, protocol::UDP, 0x2000, &THERE));
        assert_eq!(hash_of(&ip(A, B, protocol::UDP, 100, &[1; 30])), first);
    }

    #[test]
    fn what_is_not_ip_belongs_to_the_first() {
        for bytes in [&[][..], &[0x45], &[0x45; 19], &[0; 60], &ethernet(&[8, 6], &[0; 28])] {
            assert_eq!(owner(&Packet::from_bytes(bytes), 7), 0, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn every_packet_has_an_owner(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), n in 1usize..65) {
            prop_assert!(owner(&Packet::from_bytes(&bytes), n) < n);
            if let Some(first) = bytes.first_mut() {
                *first = 0x45;
            }
            prop_assert!(owner(&Packet::from_bytes(&bytes), n) < n);
            prop_assert!(owner(&Packet::from_bytes(&ethernet(&IPV4, &bytes)), n) < n);
        }
    }
}
