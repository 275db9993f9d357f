//! Answers ICMPv6 echo requests.
//!
//! Each request becomes the reply: source and destination change places, and so do the addresses of the marked IPv6 header. A request
//! to a group, or to what is none of the router's own addresses, such as that of any router in a network, is answered from an
//! address of the interface by which it came (RFC 4443, section 4.2). ADDRESSES are a paint, the addresses of the interface whose
//! packets have that paint, the next paint, and so on.
//!
//! What is no echo request leaves by output 1 if there is one, else it is dropped; so do fragments of requests.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIP6Header -> p :: ICMP6PingResponder(0 2001:db8::1/64 fe80::1/64) -> Discard;
//! p[1] -> Discard;
//! ```

use std::net::Ipv6Addr;

use element::{
    annotation, offload, per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet,
    Verdict,
};
use wire::{checksum, icmpv6, protocol, upper_layer, Ipv6};

use super::own_addresses::Interfaces;
use super::segment::renew_checksum;

/// The class.
pub const CLASS: Class = Class::new::<ICMP6PingResponder>("ICMP6PingResponder", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[Arg::required(
    "ADDRESSES",
    "list of paints and IPv6 prefixes",
    "The addresses of interfaces by the paint of what comes by them.",
)];

const NOT_ECHO: usize = 0;
const BAD_CHECKSUM: usize = 1;
const BAD_SOURCE: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("not-echo", "The packet is no whole echo request, and there is no output 1."),
    DropReason::new("bad-checksum", "The checksum of the request is wrong."),
    DropReason::new(
        "bad-source",
        "The source is not the address of a host, or no address is there to answer from.",
    ),
];

/// What replies start with.
const HOP_LIMIT: u8 = 64;

/// See the page above.
pub struct ICMP6PingResponder {
    interfaces: Interfaces,
}

impl Element for ICMP6PingResponder {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMP6PingResponder, Failed> {
        let interfaces = conf.args.need_with("ADDRESSES", Interfaces::parse).unwrap_or_default();
        conf.finish()?;
        Ok(ICMP6PingResponder { interfaces })
    }

    per_packet!();
}

impl ICMP6PingResponder {
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let is_echo = |upper: &wire::UpperLayer| {
            let kind = packet.network().get(upper.offset);
            upper.protocol == protocol::ICMPV6 && !upper.is_fragment && kind == Some(&icmpv6::ECHO)
        };
        let Some(upper) = upper_layer(packet.network()).filter(is_echo) else {
            return Verdict::port_or_drop(1, NOT_ECHO);
        };
        offload::settle(packet);
        match self.reply(packet, upper.offset) {
            Ok(()) => Verdict::PASS,
            Err(reason) => Verdict::drop(reason),
        }
    }

    /// Makes a request, whose ICMPv6 message begins at `offset`, the reply.
    fn reply(&self, packet: &mut Packet, offset: usize) -> Result<(), usize> {
        let paint = packet.anno_u8(annotation::PAINT);
        let ip = Ipv6::new(packet.network()).ok_or(NOT_ECHO)?;
        let (asker, asked, end) = (ip.source(), ip.destination(), Ipv6::LEN + usize::from(ip.payload_len()));
        if asker.is_multicast() || asker.is_unspecified() {
            return Err(BAD_SOURCE);
        }
        let source = match self.interfaces.contains(asked) {
            true => asked,
            false => self.interfaces.source_towards(paint, asker).ok_or(BAD_SOURCE)?,
        };
        let pseudo = |from: Ipv6Addr, to: Ipv6Addr, len: usize| {
            checksum::pseudo_ipv6(from, to, protocol::ICMPV6, len as u32)
        };
        let message = packet.network().get(offset..end).ok_or(NOT_ECHO)?;
        if !checksum::is_transport_valid(pseudo(asker, asked, message.len()), message) {
            return Err(BAD_CHECKSUM);
        }
        let bytes = packet.network_mut();
        let (headers, rest) = bytes.split_at_mut_checked(offset).ok_or(NOT_ECHO)?;
        let message = rest.get_mut(..end.saturating_sub(offset)).ok_or(NOT_ECHO)?;
        if let Some(kind) = message.first_mut() {
            *kind = icmpv6::ECHO_REPLY;
        }
        renew_checksum(message, protocol::ICMPV6, pseudo(source, asker, message.len()));
        if let Some(mut ip) = Ipv6::new(headers) {
            ip.set_source(source);
            ip.set_destination(asker);
            ip.set_hop_limit(HOP_LIMIT);
        }
        packet.set_anno(annotation::DST_IP6, asker.octets());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ip6::icmp_message;
    use crate::testing::check;
    use expect_test::{expect, Expect};

    /// What becomes of an ICMPv6 message that came with paint 1.
    fn answered(from: &str, to: &str, message: &[u8], expect: Expect) {
        let addresses = [from, to].map(|text| text.parse().unwrap());
        let mut packet = icmp_message::packet(addresses, [message, &[]]);
        // A wrong checksum stays wrong.
        if message[2] != 0 {
            packet.data_mut()[42] = message[2];
        }
        let hex: String = packet.data().iter().map(|byte| format!("{byte:02x}")).collect();
        let graph = format!(
            "InfiniteSource(DATA \\<{hex}>, LIMIT 1, STOP true) -> CheckIP6Header -> Paint(1)
                -> p :: ICMP6PingResponder(1 2001:db8::1/64 fe80::1/64 2 2001:db8:1::1/64) -> Print(reply, -1) -> Discard;
                p[1] -> Print(other, 0) -> Discard;"
        );
        check(&graph, expect);
    }

    const PING: [u8; 10] = [128, 0, 0, 0, 0, 7, 0, 1, 0x61, 0x62];

    #[test]
    fn requests_become_replies() {
        answered(
            "2001:db8::5",
            "2001:db8:1::1",
            &PING,
            expect![[r#"
            reply:   50 | 60000000 000a3a40 20010db8 00010000 00000000 00000001 20010db8 00000000 00000000 00000005 8100c1d7 00070001 6162
        "#]],
        );
    }

    #[test]
    fn groups_are_answered_from_an_address_of_the_interface() {
        answered(
            "fe80::5",
            "ff02::1",
            &PING,
            expect![[r#"
            reply:   50 | 60000000 000a3a40 fe800000 00000000 00000000 00000001 fe800000 00000000 00000000 00000005 81002049 00070001 6162
        "#]],
        );
        // Any router of the network.
        answered(
            "2001:db8::5",
            "2001:db8::",
            &PING,
            expect![[r#"
            reply:   50 | 60000000 000a3a40 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000005 8100c1d8 00070001 6162
        "#]],
        );
    }

    #[test]
    fn what_is_no_right_request_is_not_answered() {
        answered(
            "2001:db8::5",
            "2001:db8::1",
            &[129, 0, 0, 0, 0, 7, 0, 1],
            expect![[r#"
            other:   48
        "#]],
        );
        answered("2001:db8::5", "2001:db8::1", &[128, 0, 0xde, 0, 0, 7, 0, 1], expect![[""]]);
        answered("ff02::5", "2001:db8::1", &PING, expect![[""]]);
    }
}
