//! Messages of neighbor and router discovery (RFC 4861) as a router's interface hears and says them.

use std::net::Ipv6Addr;

use element::Packet;
use wire::{checksum, ethertype, icmpv6, protocol, Ethernet, Ipv6, MacAddress};

use super::icmp_message::{self, put_ethernet, HOP_LIMIT};
use super::neighbor::group_mac;
use super::own_addresses::{solicited_node, ALL_NODES};

/// Options with a link-layer address (RFC 4861, section 4.6.1).
const SOURCE_OPTION: u8 = 1;
const TARGET_OPTION: u8 = 2;
/// Flags of an advertisement (RFC 4861, section 4.4).
const ROUTER: u8 = 0x80;
const SOLICITED: u8 = 0x40;
const OVERRIDE: u8 = 0x20;

/// Bytes of a solicitation and of an advertisement without options.
const BODY: usize = 24;
/// Bytes of an option with an Ethernet address.
const OPTION: usize = 8;

/// A valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The Ethernet address of who sent the frame.
    pub from: MacAddress,
    /// The IPv6 address of who sent the message; unspecified if he has none yet.
    pub source: Ipv6Addr,
    /// What he says.
    pub what: Said,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// Which Ethernet address has `target`? The asker's is `mac`.
    Solicitation { target: Ipv6Addr, mac: Option<MacAddress> },
    /// See there.
    Advertisement(Advertisement),
    /// Which routers are there? The asker's Ethernet address is `mac`.
    RouterSolicitation { mac: Option<MacAddress> },
}

/// That a neighbor has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The address.
    pub target: Ipv6Addr,
    /// The neighbor's Ethernet address.
    pub mac: Option<MacAddress>,
    /// Whether it is a router.
    pub is_router: bool,
    /// Whether it was asked.
    pub is_solicited: bool,
    /// Whether it is to be believed more than what is known.
    pub overrides: bool,
}

/// Reads a frame with a message, if it is valid (RFC 4861, sections 6.1.1, 7.1.1 and 7.1.2).
pub fn read(frame: &[u8]) -> Option<Heard> {
    let ethernet = Ethernet::new(frame)?;
    let ip = Ipv6::new(frame.get(Ethernet::LEN..)?)?;
    let message = ip.payload();
    let pseudo = ip.pseudo_header_sum(protocol::ICMPV6, ip.payload_len().into());
    let is_sound = ethernet.ethertype() == ethertype::IPV6
        && ip.next_header() == protocol::ICMPV6
        && ip.hop_limit() == HOP_LIMIT
        && message.len() == usize::from(ip.payload_len())
        && message.get(1) == Some(&0)
        && checksum::is_transport_valid(pseudo, message);
    let (source, destination) = (ip.source(), ip.destination());
    if !is_sound || source.is_multicast() {
        return None;
    }
    let what = match *message.first()? {
        icmpv6::ROUTER_SOLICITATION => {
            let mac = link_layer_address(message.get(8..)?, SOURCE_OPTION)?;
            let is_valid = !(source.is_unspecified() && mac.is_some());
            is_valid.then_some(Said::RouterSolicitation { mac })?
        }
        icmpv6::NEIGHBOR_SOLICITATION => {
            let (target, mac) = (target(message)?, link_layer_address(message.get(BODY..)?, SOURCE_OPTION)?);
            let is_valid = !source.is_unspecified() || mac.is_none() && destination == solicited_node(target);
            is_valid.then_some(Said::Solicitation { target, mac })?
        }
        icmpv6::NEIGHBOR_ADVERTISEMENT => {
            let (target, mac) = (target(message)?, link_layer_address(message.get(BODY..)?, TARGET_OPTION)?);
            let has = |flag| message[4] & flag != 0;
            let [is_router, is_solicited, overrides] = [ROUTER, SOLICITED, OVERRIDE].map(has);
            let breaks_rules = source.is_unspecified() || is_solicited && destination.is_multicast();
            let said = Advertisement { target, mac, is_router, is_solicited, overrides };
            (!breaks_rules).then_some(Said::Advertisement(said))?
        }
        _ => return None,
    };
    Some(Heard { from: ethernet.source(), source, what })
}

/// Whom a message is about: a single host.
fn target(message: &[u8]) -> Option<Ipv6Addr> {
    let target = Ipv6Addr::from(*message.get(8..)?.first_chunk::<16>()?);
    (!target.is_multicast() && !target.is_unspecified()).then_some(target)
}

/// The link-layer address among options; `None` if they are not well-formed. An address that belongs to no single station
/// is none.
fn link_layer_address(mut options: &[u8], kind: u8) -> Option<Option<MacAddress>> {
    let mut found = None;
    while !options.is_empty() {
        let [this, len] = *options.first_chunk()?;
        let (option, rest) = options.split_at_checked(usize::from(len) * 8)?;
        if len == 0 {
            return None;
        }
        if this == kind && len == 1 {
            let mac = option.get(2..)?.first_chunk().copied()?;
            found = Some(mac).filter(|mac: &MacAddress| mac[0] & 1 == 0 && *mac != [0; 6]).or(found);
        }
        options = rest;
    }
    Some(found)
}

/// The frame that asks a whole link for the Ethernet address of `target`.
pub fn question(own_mac: MacAddress, own: Ipv6Addr, target: Ipv6Addr) -> Packet {
    let group = solicited_node(target);
    solicitation([own_mac, group_mac(group)], [own, group], target)
}

/// The frame that asks the station `to` whether it still has the address `target`.
pub fn probe([own_mac, to]: [MacAddress; 2], own: Ipv6Addr, target: Ipv6Addr) -> Packet {
    solicitation([own_mac, to], [own, target], target)
}

fn solicitation(macs: [MacAddress; 2], addresses: [Ipv6Addr; 2], target: Ipv6Addr) -> Packet {
    let mut body = [0; BODY];
    body[0] = icmpv6::NEIGHBOR_SOLICITATION;
    body[8..].copy_from_slice(&target.octets());
    frame(macs, addresses, [&body, &option(SOURCE_OPTION, macs[0])])
}

/// The frame that answers a solicitation: the router has the address `target`. Who has no address yet is told with all
/// others (RFC 4861, section 7.2.4).
pub fn answer([own_mac, to]: [MacAddress; 2], asker: Ipv6Addr, target: Ipv6Addr, overrides: bool) -> Packet {
    let (to, asker, solicited) = match asker.is_unspecified() {
        true => (group_mac(ALL_NODES), ALL_NODES, 0),
        false => (to, asker, SOLICITED),
    };
    let mut body = [0; BODY];
    body[0] = icmpv6::NEIGHBOR_ADVERTISEMENT;
    body[4] = ROUTER | solicited | if overrides { OVERRIDE } else { 0 };
    body[8..].copy_from_slice(&target.octets());
    frame([own_mac, to], [target, asker], [&body, &option(TARGET_OPTION, own_mac)])
}

/// A frame with a message in two parts.
pub fn frame([from, to]: [MacAddress; 2], addresses: [Ipv6Addr; 2], message: [&[u8]; 2]) -> Packet {
    let mut packet = icmp_message::packet(addresses, message);
    put_ethernet(&mut packet, to, from);
    packet
}

/// The option that tells one's own Ethernet address in what one sends unasked.
pub fn source_option(mac: MacAddress) -> [u8; OPTION] {
    option(SOURCE_OPTION, mac)
}

fn option(kind: u8, [a, b, c, d, e, f]: MacAddress) -> [u8; OPTION] {
    [kind, 1, a, b, c, d, e, f]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: MacAddress = [2, 0, 0, 0, 0, 1];
    const OTHER: MacAddress = [2, 0, 0, 0, 0, 2];

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_said_is_heard() {
        let (own, other) = (address("fe80::1"), address("2001:db8::5"));
        let asked = |what| Some(Heard { from: OWN, source: own, what });
        let solicitation = Said::Solicitation { target: other, mac: Some(OWN) };
        assert_eq!(read(question(OWN, own, other).data()), asked(solicitation));
        assert_eq!(read(probe([OWN, OTHER], own, other).data()), asked(solicitation));
        let said = |is_solicited, overrides| {
            let mac = Some(OWN);
            Said::Advertisement(Advertisement { target: own, mac, is_router: true, is_solicited, overrides })
        };
        assert_eq!(read(answer([OWN, OTHER], other, own, true).data()), asked(said(true, true)));
        let to_all = answer([OWN, OTHER], Ipv6Addr::UNSPECIFIED, own, false);
        assert_eq!(read(to_all.data()), asked(said(false, false)));
        assert_eq!(to_all.data()[..6], [0x33, 0x33, 0, 0, 0, 1]);
    }

    #[test]
    fn questions_go_to_the_group_of_the_address() {
        let asked = question(OWN, address("fe80::1"), address("2001:db8::12:3456"));
        assert_eq!(asked.data()[..6], [0x33, 0x33, 0xff, 0x12, 0x34, 0x56]);
        assert_eq!(Ipv6::new(&asked.data()[14..]).unwrap().destination(), address("ff02::1:ff12:3456"));
        assert_eq!(probe([OWN, OTHER], address("fe80::1"), address("1::")).data()[..6], OTHER);
    }

    /// A solicitation with options as they may come.
    fn asked(source: &str, to: &str, target: &str, options: &[u8]) -> Option<Heard> {
        let mut body = [0; BODY];
        body[0] = icmpv6::NEIGHBOR_SOLICITATION;
        body[8..].copy_from_slice(&address(target).octets());
        read(frame([OTHER, OWN], [address(source), address(to)], [&body, options]).data())
    }

    #[test]
    fn messages_that_break_the_rules_are_not_heard() {
        let group = "ff02::1:ff00:1";
        let mac = option(SOURCE_OPTION, OTHER);
        assert!(asked("::", group, "fe80::1", &[]).is_some());
        assert!(asked("fe80::2", group, "fe80::1", &[14, 1, 0, 0, 0, 0, 0, 0]).is_some());
        for (source, to, target, options) in [
            // Who has no address tells none, and speaks to the group (RFC 4861, section 7.1.1).
            ("::", group, "fe80::1", &mac[..]),
            ("::", "fe80::1", "fe80::1", &[]),
            ("ff02::1", group, "fe80::1", &mac),
            ("fe80::2", group, "ff02::5", &mac),
            ("fe80::2", group, "fe80::1", &[1, 0, 0, 0, 0, 0, 0, 0]),
            ("fe80::2", group, "fe80::1", &[1, 2, 0, 0, 0, 0, 0, 0]),
            ("fe80::2", group, "fe80::1", &[1]),
        ] {
            assert_eq!(asked(source, to, target, options), None, "{source} {to} {target} {options:?}");
        }
        // What is no station's address is not believed.
        let heard = asked("fe80::2", group, "fe80::1", &[1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).unwrap();
        assert_eq!(heard.what, Said::Solicitation { target: address("fe80::1"), mac: None });
    }

    proptest! {
        #[test]
        fn a_wrong_bit_is_noticed(at in 12..86usize, bit in 0..8u32) {
            let mut frame = question(OWN, address("fe80::1"), address("2001:db8::5")).data().to_vec();
            // Traffic class and flow label are not covered.
            if !(14..18).contains(&at) {
                frame[at] ^= 1u8 << bit;
                prop_assert_eq!(read(&frame), None);
            }
        }

        #[test]
        fn no_frame_is_harmful(frame in prop::collection::vec(any::<u8>(), 0..120), options: Vec<u8>) {
            let _ = read(&frame);
            let _ = asked("fe80::2", "ff02::1:ff00:1", "fe80::1", &options);
        }
    }
}
