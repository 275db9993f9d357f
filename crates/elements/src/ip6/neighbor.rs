//! Messages of neighbor discovery (RFC 4861): solicitations and advertisements in their Ethernet frames.

use std::net::Ipv6Addr;

use wire::{checksum, ethertype, icmpv6, protocol, Ethernet, Ipv6, MacAddress};

use super::segment::renew_checksum;

/// Bytes of a message with one link-layer address option.
const MESSAGE: usize = 32;

/// Bytes of a frame with such a message.
pub const FRAME: usize = Ethernet::LEN + Ipv6::LEN + MESSAGE;

/// Hop limit that shows that no router has forwarded a message (RFC 4861, section 7.1).
const HOP_LIMIT: u8 = 255;

/// RFC 4861, section 4.4: from a router, solicited.
const ROUTER_AND_SOLICITED: u8 = 0xc0;

/// Source link-layer address option.
const SOURCE_OPTION: u8 = 1;
/// Target link-layer address option.
const TARGET_OPTION: u8 = 2;

/// A question for the link-layer address of `target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Solicitation {
    /// Who asks.
    pub mac: MacAddress,
    /// Who asks.
    pub source: Ipv6Addr,
    /// Whose address is asked for.
    pub target: Ipv6Addr,
}

impl Solicitation {
    /// The solicitation in a frame, if it is a valid one (RFC 4861, section 7.1.1).
    pub fn read(frame: &[u8]) -> Option<Solicitation> {
        let ethernet = Ethernet::new(frame.get(..FRAME).and(Some(frame))?)?;
        let ip = Ipv6::new(frame.get(Ethernet::LEN..)?)?;
        let message = ip.payload();
        let target = message.get(8..)?.first_chunk::<16>()?;
        let pseudo = ip.pseudo_header_sum(protocol::ICMPV6, ip.payload_len().into());
        let is_valid = ethernet.ethertype() == ethertype::IPV6
            && ip.next_header() == protocol::ICMPV6
            && ip.hop_limit() == HOP_LIMIT
            && message.len() == usize::from(ip.payload_len())
            && message.starts_with(&[icmpv6::NEIGHBOR_SOLICITATION, 0])
            && checksum::is_transport_valid(pseudo, message);
        let (mac, source, target) = (ethernet.source(), ip.source(), Ipv6Addr::from(*target));
        (is_valid && !source.is_unspecified()).then_some(Solicitation { mac, source, target })
    }

    /// The frame that asks, sent to the target's solicited-node group (RFC 4291, section 2.7.1; RFC 2464, section 7).
    pub fn frame(&self) -> [u8; FRAME] {
        let [.., a, b, c] = self.target.octets();
        let group = Ipv6Addr::from([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c]);
        let mut message = [0; MESSAGE];
        message[0] = icmpv6::NEIGHBOR_SOLICITATION;
        message[8..24].copy_from_slice(&self.target.octets());
        [message[24], message[25]] = [SOURCE_OPTION, 1];
        message[26..].copy_from_slice(&self.mac);
        frame([group_mac(group), self.mac], [self.source, group], &message)
    }

    /// The frame that answers that `mac` is the target's address.
    pub fn answer(&self, mac: MacAddress) -> [u8; FRAME] {
        let mut message = [0; MESSAGE];
        message[0] = icmpv6::NEIGHBOR_ADVERTISEMENT;
        message[4] = ROUTER_AND_SOLICITED;
        message[8..24].copy_from_slice(&self.target.octets());
        [message[24], message[25]] = [TARGET_OPTION, 1];
        message[26..].copy_from_slice(&mac);
        frame([self.mac, mac], [self.target, self.source], &message)
    }
}

/// The target of an advertisement and its link-layer address.
pub fn read_advertisement(frame: &[u8]) -> Option<(Ipv6Addr, MacAddress)> {
    let frame = frame.first_chunk::<FRAME>()?;
    let message = frame.get(Ethernet::LEN + Ipv6::LEN..)?;
    let is_advertisement = Ethernet::new(&frame[..])?.ethertype() == ethertype::IPV6
        && message[0] == icmpv6::NEIGHBOR_ADVERTISEMENT;
    let target = message.get(8..)?.first_chunk::<16>()?;
    let mac = message.get(26..)?.first_chunk::<6>()?;
    is_advertisement.then_some((Ipv6Addr::from(*target), *mac))
}

/// The link-layer address of a group (RFC 2464, section 7).
pub fn group_mac(group: Ipv6Addr) -> MacAddress {
    let [.., a, b, c, d] = group.octets();
    [0x33, 0x33, a, b, c, d]
}

fn frame(
    [to_mac, from_mac]: [MacAddress; 2],
    [from, to]: [Ipv6Addr; 2],
    message: &[u8; MESSAGE],
) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    let (header, packet) = frame.split_at_mut(Ethernet::LEN);
    if let Some(mut ethernet) = Ethernet::new(header) {
        ethernet.set_destination(to_mac);
        ethernet.set_source(from_mac);
        ethernet.set_ethertype(ethertype::IPV6);
    }
    let (header, segment) = packet.split_at_mut(Ipv6::LEN);
    if let Some(mut ip) = Ipv6::init(header) {
        ip.set_payload_len(MESSAGE as u16);
        ip.set_next_header(protocol::ICMPV6);
        ip.set_hop_limit(HOP_LIMIT);
        ip.set_source(from);
        ip.set_destination(to);
    }
    segment.copy_from_slice(message);
    let pseudo = checksum::pseudo_ipv6(from, to, protocol::ICMPV6, MESSAGE as u32);
    renew_checksum(segment, protocol::ICMPV6, pseudo);
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn solicitations_are_read_as_written_unless_a_bit_is_wrong(mac: [u8; 6], source: u128, target: u128, at in 12..FRAME, bit in 0..8u32) {
            let question = Solicitation { mac, source: Ipv6Addr::from(source | 1), target: target.into() };
            let mut frame = question.frame();
            prop_assert_eq!(Solicitation::read(&frame), Some(question));
            prop_assert_eq!(Solicitation::read(&frame[..FRAME - 1]), None);
            // Traffic class and flow label are not covered.
            if !(14..18).contains(&at) {
                frame[at] ^= 1u8 << bit;
                prop_assert_eq!(Solicitation::read(&frame), None);
            }
            let answer = question.answer([1; 6]);
            prop_assert_eq!(read_advertisement(&answer), Some((question.target, [1; 6])));
        }

        #[test]
        fn no_frame_is_harmful(frame in prop::collection::vec(any::<u8>(), 0..120)) {
            let _ = (Solicitation::read(&frame), read_advertisement(&frame));
        }
    }
}
