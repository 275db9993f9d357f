//! Spreads flows of IPv6 packets over next hops.
//!
//! Each argument is a next hop, perhaps with its weight from 1 to 255. A packet gets one of them as destination annotation and
//! leaves by the output with that hop's number. A link-local address is on one link only, so such a hop may be followed by `%` and a
//! name of its link (RFC 4007, section 11), which tells it from the same address on another one.
//!
//! All packets of a flow take the same hop: source, destination and the protocol behind extension headers tell flows apart, for
//! TCP, UDP, UDP-Lite, SCTP and DCCP also the ports. Fragments have no ports, so those of all datagrams between two hosts take one
//! hop. Which flows a hop gets, and which of them move when a hop comes or goes, is as with `NextHopSwitch`.
//!
//! Packets must have a marked IPv6 header, as `CheckIP6Header` marks it.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> hops :: NextHopSwitch6(2001:db8::2, fe80::1%left 3);
//! hops[0] -> Discard;
//! hops[1] -> Discard;
//! ```

use std::fmt;
use std::net::Ipv6Addr;

use args::Scope;
use element::{annotation, Arg, Class, DropReason, Packet};
use wire::{upper_layer, Ipv6};

use crate::load_balancer::maglev::mix;
use crate::next_hop_switch::places::{has_ports, Address};
use crate::next_hop_switch::switch::{drops, Family, Switch, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Switch<Ip6>>("NextHopSwitch6", "1/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[Arg::rest(
    "HOP",
    "IPv6 address[%link] [weight]",
    "A next hop and its weight, 1 to 255. Default weight 1.",
)];

const DROPS: &[DropReason] = &drops("No IPv6 header is marked, or it is cut off.");

/// IPv6.
pub struct Ip6;

/// An address, and the link that it is on if that is named.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Zoned {
    address: Ipv6Addr,
    zone: String,
}

impl Address for Zoned {
    fn hash(&self) -> u64 {
        let address = self.address.octets();
        let (words, _) = address.as_chunks::<8>();
        let bytes = self.zone.bytes().map(u64::from);
        words.iter().map(|word| u64::from_be_bytes(*word)).chain(bytes).fold(0, |hash, word| mix(hash ^ word))
    }
}

impl fmt::Display for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone.as_str() {
            "" => self.address.fmt(f),
            zone => write!(f, "{}%{zone}", self.address),
        }
    }
}

impl Family for Ip6 {
    type Address = Zoned;
    const EXPECTED: &'static str = "an IPv6 address";

    fn parse(word: &str, scope: &Scope<'_>) -> Result<Zoned, String> {
        let (address, zone) = word.split_once('%').unwrap_or((word, ""));
        Ok(Zoned { address: args::ip6(address, scope)?, zone: zone.to_string() })
    }

    #[inline]
    fn flow_hash(header: &[u8]) -> Option<u64> {
        let fixed = header.first_chunk::<{ Ipv6::LEN }>().filter(|fixed| fixed[0] >> 4 == 6)?;
        let (addresses, _) = fixed.get(8..)?.as_chunks::<8>();
        let upper = upper_layer(header)?;
        // The later fragments do not tell what stands behind further headers of the first one.
        let (protocol, is_whole) = if upper.is_fragment { (0, false) } else { (upper.protocol, true) };
        let mut rest = u64::from(protocol) << 32;
        if is_whole && has_ports(protocol) {
            if let Some(ports) = header.get(upper.offset..).and_then(|transport| transport.first_chunk::<4>())
            {
                rest |= u64::from(u32::from_be_bytes(*ports));
            }
        }
        let hash = addresses.iter().fold(0, |hash, word| mix(hash ^ u64::from_be_bytes(*word)));
        Some(mix(hash ^ rest))
    }

    #[inline]
    fn set_destination(packet: &mut Packet, hop: &Zoned) {
        packet.set_anno(annotation::DST_IP6, hop.address.octets());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_reading;
    use expect_test::expect;

    /// A packet's headers up to the ports.
    fn header(source: u8, next: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 8, next, 64];
        bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, source]);
        bytes.extend([0x20, 1, 0xd, 0xb9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        [&bytes, rest].concat()
    }

    #[test]
    fn addresses_protocol_and_ports_tell_flows_apart() {
        let flow = |source, next, rest: &[u8]| Ip6::flow_hash(&header(source, next, rest)).unwrap();
        let one = flow(1, 17, &[0, 1, 0, 2]);
        assert_eq!(one, flow(1, 17, &[0, 1, 0, 2]));
        // Options and flow labels do not matter.
        assert_eq!(one, flow(1, 60, &[17, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2]));
        let mut labelled = header(1, 17, &[0, 1, 0, 2]);
        labelled[3] = 9;
        assert_eq!(Some(one), Ip6::flow_hash(&labelled));
        for other in [
            flow(2, 17, &[0, 1, 0, 2]),
            flow(1, 6, &[0, 1, 0, 2]),
            flow(1, 17, &[0, 2, 0, 2]),
            flow(1, 17, &[0, 1, 0, 3]),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(flow(1, 58, &[128, 0, 1, 2]), flow(1, 58, &[129, 0, 3, 4]));
    }

    #[test]
    fn all_fragments_take_one_hop() {
        let hash = |offset: u8, ports: [u8; 4]| {
            Ip6::flow_hash(&header(1, 44, &[&[17, 0, 0, offset, 0, 0, 0, 1][..], &ports].concat())).unwrap()
        };
        assert_eq!(hash(1, [0, 1, 0, 2]), hash(8, [9, 9, 9, 9]));
    }

    #[test]
    fn what_is_cut_off_is_harmless() {
        let whole = header(1, 0, &[17, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2]);
        for len in 0..whole.len() {
            assert_eq!(Ip6::flow_hash(&whole[..len]).is_some(), len >= 40);
        }
        assert_eq!(Ip6::flow_hash(&[0x45; 40]), None);
    }

    #[test]
    fn packets_get_the_hop_and_leave_by_its_output() {
        let source = |port: u8| {
            let hex: String = header(1, 17, &[0, port, 0, 80, 0, 8, 0, 0])
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("InfiniteSource(DATA \\<{hex}>, LIMIT 2, STOP true) -> MarkIP6Header -> h;")
        };
        let sources: String = (1..=6).map(source).collect();
        check_reading(
            &format!(
                "h :: NextHopSwitch6(fe80::1%left, fe80::1%right 3); h[0] -> Print(first, 0, PRINTANNO true) -> Discard;
                h[1] -> Print(second, 0, PRINTANNO true) -> Discard; Idle -> h; InfiniteSource(DATA xyz, LIMIT 1) -> h;
                {sources} DriverManager(wait_stop 6)"
            ),
            &["h.hops"],
            expect![[r#"
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                first:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                first:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                second:   48 | fe8000000000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                h.hops: fe80::1%left 1 2 25.2
                fe80::1%right 3 10 74.8

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        crate::testing::check(
            "Idle -> NextHopSwitch6() -> Discard; Idle -> NextHopSwitch6(fe80::1%a, fe80::1%a 2, fe80::1%b) -> Discard;
             Idle -> NextHopSwitch6(10.0.0.1, 1:: 256) -> Discard;",
            expect![[r#"
                config:1: While configuring 'NextHopSwitch6@2 :: NextHopSwitch6':
                  expected 1 to 256 hops
                config:1: While configuring 'NextHopSwitch6@5 :: NextHopSwitch6':
                  fe80::1%a is a hop already
                config:2: While configuring 'NextHopSwitch6@8 :: NextHopSwitch6':
                  `10.0.0.1`: expected an IPv6 address, and perhaps a weight from 1 to 255
                  `1:: 256`: expected an IPv6 address, and perhaps a weight from 1 to 255
                Router could not be initialized!
            "#]],
        );
    }
}
