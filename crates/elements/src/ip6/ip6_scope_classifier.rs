//! Sorts the IPv6 packets that came by a router's interface by whether they may be routed.
//!
//! ADDRESSES are the interface's own, with their networks. Packets leave by output
//!
//! - 0 to be routed, their destination annotation set;
//! - 1 if they are for the router itself on this link: for its link-local address, or for a group that it belongs to because of its
//!   addresses and because it is a node and a router;
//! - 2 if their source belongs to this link only, but not their destination (RFC 4291, section 2.5.6), the annotation set as well;
//!   those for other addresses of the router may still be taken in.
//!
//! Packets for other groups, from or to addresses that no single host has, and for others' link-local addresses are dropped. The IPv6
//! header must be marked.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIP6Header -> s :: IP6ScopeClassifier(fe80::1/64 2001:db8::1/64);
//! s[0] -> LookupIP6Route(::/0 0) -> Discard;
//! s[1] -> ICMP6PingResponder(0 fe80::1/64 2001:db8::1/64) -> Discard;
//! s[2] -> ICMP6Errors(unreachable 2, INTERFACES 0 fe80::1/64) -> Discard;
//! ```

use std::net::Ipv6Addr;

use element::{annotation, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict};
use wire::Ipv6;

use super::own_addresses::{is_link_local, OwnAddresses};

/// The class.
pub const CLASS: Class = Class::new::<IP6ScopeClassifier>("IP6ScopeClassifier", "1/3", "h/h", "x/x")
    .args(ARGS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] =
    &[Arg::required("ADDRESSES", "list of IPv6 prefixes", "The interface's addresses with their networks.")];

const NO_HEADER: usize = 0;
const BAD_SOURCE: usize = 1;
const BAD_DESTINATION: usize = 2;
const GROUP: usize = 3;
const OTHER_HOST: usize = 4;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv6 header is marked, or it is cut off."),
    DropReason::new("bad-source", "The source is not the address of a host that can be answered."),
    DropReason::new("bad-destination", "The destination is unspecified, or that of a loopback."),
    DropReason::new("group", "The packet is for a group that the router does not belong to."),
    DropReason::new("other-host", "The packet is for another host's link-local address."),
];

/// The outputs.
const ROUTED: usize = 0;
const HERE: usize = 1;
const BEYOND_SCOPE: usize = 2;

/// See the page above.
pub struct IP6ScopeClassifier {
    own: OwnAddresses,
}

impl Element for IP6ScopeClassifier {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6ScopeClassifier, Failed> {
        let own = conf.args.need_with("ADDRESSES", OwnAddresses::parse).unwrap_or_default();
        conf.finish()?;
        Ok(IP6ScopeClassifier { own })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.classify(packet));
    }
}

impl IP6ScopeClassifier {
    #[inline(always)]
    fn classify(&self, packet: &mut Packet) -> Verdict {
        let Some(header) = packet.network().first_chunk::<{ Ipv6::LEN }>() else {
            return Verdict::drop(NO_HEADER);
        };
        let [source, destination] = addresses(header);
        packet.set_anno(annotation::DST_IP6, destination.octets());
        match source.octets()[0] {
            0 if is_reserved(source) => return Verdict::drop(BAD_SOURCE),
            0xff => return Verdict::drop(BAD_SOURCE),
            _ => {}
        }
        match destination.octets()[0] {
            0 if is_reserved(destination) => Verdict::drop(BAD_DESTINATION),
            0xff if self.own.has_joined(destination) => Verdict::port(HERE),
            0xff => Verdict::drop(GROUP),
            0xfe if is_link_local(destination) => match self.own.contains(destination) {
                true => Verdict::port(HERE),
                false => Verdict::drop(OTHER_HOST),
            },
            _ if is_link_local(source) => Verdict::port(BEYOND_SCOPE),
            _ => Verdict::port(ROUTED),
        }
    }
}

/// Source and destination.
fn addresses(header: &[u8; Ipv6::LEN]) -> [Ipv6Addr; 2] {
    [8, 24].map(|at| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk::<16>());
        Ipv6Addr::from(bytes.copied().unwrap_or_default())
    })
}

/// Whether an address is on no wire (RFC 4291, sections 2.5.2, 2.5.3 and 2.5.5.2).
#[cold]
fn is_reserved(address: Ipv6Addr) -> bool {
    address.is_unspecified() || address.is_loopback() || address.to_ipv4_mapped().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_are_sorted_by_scope() {
        let classifier = IP6ScopeClassifier {
            own: OwnAddresses::parse("fe80::1/64 2001:db8::12:3456/64", &args::Scope::builtin()).unwrap(),
        };
        let sorted = |source: &str, destination: &str| {
            let mut bytes = [0; 40];
            let mut ip = Ipv6::init(&mut bytes).unwrap();
            ip.set_source(source.parse().unwrap());
            ip.set_destination(destination.parse().unwrap());
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(0, 40);
            classifier.classify(&mut packet)
        };
        for (source, destination, verdict) in [
            ("1::", "2::", Verdict::port(ROUTED)),
            ("fec0::1", "fec0::2", Verdict::port(ROUTED)),
            // Own addresses of all links are found by routing.
            ("1::", "2001:db8::12:3456", Verdict::port(ROUTED)),
            ("fe80::5", "2::", Verdict::port(BEYOND_SCOPE)),
            ("fe80::5", "fe80::1", Verdict::port(HERE)),
            ("1::", "fe80::1", Verdict::port(HERE)),
            ("1::", "ff02::2", Verdict::port(HERE)),
            ("1::", "ff02::1:ff12:3456", Verdict::port(HERE)),
            ("1::", "ff02::1:ff12:3457", Verdict::drop(GROUP)),
            ("1::", "ff0e::1", Verdict::drop(GROUP)),
            ("fe80::5", "fe80::2", Verdict::drop(OTHER_HOST)),
            ("::", "2::", Verdict::drop(BAD_SOURCE)),
            ("::1", "2::", Verdict::drop(BAD_SOURCE)),
            ("::ffff:1.2.3.4", "2::", Verdict::drop(BAD_SOURCE)),
            ("ff02::1", "2::", Verdict::drop(BAD_SOURCE)),
            ("1::", "::", Verdict::drop(BAD_DESTINATION)),
            ("1::", "::ffff:1.2.3.4", Verdict::drop(BAD_DESTINATION)),
            ("64:ff9b::1", "64:ff9b::2", Verdict::port(ROUTED)),
        ] {
            assert_eq!(sorted(source, destination), verdict, "{source} {destination}");
        }
        assert_eq!(classifier.classify(&mut Packet::from_bytes(&[0x60; 60])), Verdict::drop(NO_HEADER));
    }

    #[test]
    fn addresses_must_be_those_of_hosts() {
        check(
            "Idle -> s :: IP6ScopeClassifier(fe80::1/64 ff02::1); s[0], s[1], s[2] => Discard, Discard, Discard;",
            expect![[r#"
                config:1: While configuring 's :: IP6ScopeClassifier':
                  ADDRESSES: ff02::1 is not the address of a single host
                Router could not be initialized!
            "#]],
        );
    }
}
