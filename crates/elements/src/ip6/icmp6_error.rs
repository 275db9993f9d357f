//! Makes ICMPv6 error messages and redirects about packets.
//!
//! Each packet, whose IPv6 header must be marked, is answered by an ICMPv6 message of the given type and code that quotes the packet's
//! first 568 bytes. The message goes to the packet's source; its header is marked, its destination annotation is set, and it is
//! marked for `FixIPSrc`. A message about a packet that is too big tells of an MTU of 1500; the field that a parameter problem names
//! comes from the packet's annotation, the target of a redirect from its destination annotation.
//!
//! No message is made about ICMPv6 errors and redirects, and about packets from or to what is not a single host (RFC 4443, section
//! 2.4). With `weir click` as in Click, which looks at the destination only, and writes the MTU and the place of the field in the byte
//! order of the machine.
//!
//! ```click
//! Idle -> hops :: DecIP6HLIM -> Discard;
//! hops[1] -> ICMP6Error(2001:db8::1, 3, 0) -> limit :: RatedSplitter(10) -> Discard;
//! limit[1] -> Discard;
//! ```

use std::net::Ipv6Addr;

use element::{
    annotation, failure, offload, per_packet, Arg, Class, Configure, Ctx, DropReason, Element, Failed,
    Packet, Verdict,
};
use wire::{checksum, icmpv6, protocol, Ipv6};

use super::segment::renew_checksum;

/// The class.
pub const CLASS: Class = Class::new::<ICMP6Error>("ICMP6Error", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IPv6 address", "The messages' source."),
    Arg::required("TYPE", "int", "Type of an error, 1 to 4, or 137, redirect."),
    Arg::required("CODE", "int", "Code."),
];

const NO_HEADER: usize = 0;
const ICMP_ERROR: usize = 1;
const GROUP: usize = 2;
const BAD_SOURCE: usize = 3;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv6 header is marked, or it is cut off."),
    DropReason::new("icmp-error", "The packet is an ICMPv6 error or redirect itself."),
    DropReason::new("group", "The packet was sent to a group or by a link-layer broadcast."),
    DropReason::new("bad-source", "The source is not the address of a host."),
];

const ICMP_HEADER: usize = 8;
const REDIRECT_HEADER: usize = 40;
const QUOTED_MAX: usize = 568;
const HOP_LIMIT: u8 = 255;
const MTU: u32 = 1500;

/// See the page above.
pub struct ICMP6Error {
    source: Ipv6Addr,
    kind: i32,
    code: i32,
    /// Whether the packet's destination alone decides and numbers are in the machine's byte order, as in Click.
    is_lax: bool,
}

impl Element for ICMP6Error {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMP6Error, Failed> {
        let source = conf.args.need("SRC");
        let kind = conf.args.need("TYPE");
        let code = conf.args.need("CODE");
        conf.finish()?;
        Ok(ICMP6Error { source, kind, code, is_lax: failure::is_told_as_click() })
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.kind < 0 || self.code < 0 || self.source.is_unspecified() {
            return Err("not configured -a".to_string());
        }
        match self.kind {
            1..=4 | 137 => Ok(()),
            kind => Err(format!("ICMP6 type {kind} is not an error or redirect type")),
        }
    }

    per_packet!();
}

impl ICMP6Error {
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle(packet);
        match answerable(packet, self.is_lax) {
            Ok((to, about)) => {
                *packet = self.message(packet, to, about);
                Verdict::PASS
            }
            Err(reason) => Verdict::drop(reason),
        }
    }

    /// The message about a packet that `to` sent to `about`.
    fn message(&self, packet: &Packet, to: Ipv6Addr, about: Ipv6Addr) -> Packet {
        let quoted = packet.data().get(..QUOTED_MAX).unwrap_or(packet.data());
        let kind = self.kind as u8;
        let header_len = if kind == icmpv6::REDIRECT { REDIRECT_HEADER } else { ICMP_HEADER };
        let len = header_len + quoted.len();
        let mut message = Packet::zeroed(Ipv6::LEN + len);
        if let Some((header, icmp)) = message.data_mut().split_first_chunk_mut::<{ Ipv6::LEN }>() {
            if let Some(mut ip) = Ipv6::init(header) {
                ip.set_payload_len(len as u16);
                ip.set_next_header(protocol::ICMPV6);
                ip.set_hop_limit(HOP_LIMIT);
                ip.set_source(self.source);
                ip.set_destination(to);
            }
            self.fill(icmp, packet, about, quoted);
            let pseudo = checksum::pseudo_ipv6(self.source, to, protocol::ICMPV6, len as u32);
            renew_checksum(icmp, protocol::ICMPV6, pseudo);
        }
        message.set_network_header(0, Ipv6::LEN);
        message.set_anno(annotation::DST_IP6, to.octets());
        message.set_anno_u8(annotation::FIX_IP_SRC, 1);
        message
    }

    /// Fills in all of the ICMPv6 message but the checksum.
    fn fill(&self, icmp: &mut [u8], packet: &Packet, about: Ipv6Addr, quoted: &[u8]) {
        let mut header = [0; REDIRECT_HEADER];
        [header[0], header[1]] = [self.kind as u8, self.code as u8];
        let mut header_len = ICMP_HEADER;
        let number = |number: u32| if self.is_lax { number.to_ne_bytes() } else { number.to_be_bytes() };
        match (self.kind as u8, self.code) {
            (icmpv6::PACKET_TOO_BIG, 0) => header[4..8].copy_from_slice(&number(MTU)),
            (icmpv6::PARAMETER_PROBLEM, 0) => {
                header[4..8].copy_from_slice(&number(packet.anno_u8(annotation::ICMP_PARAMPROB).into()));
            }
            (icmpv6::REDIRECT, 0) => {
                header[8..24].copy_from_slice(&packet.anno::<16>(annotation::DST_IP6));
                header[24..].copy_from_slice(&about.octets());
                header_len = REDIRECT_HEADER;
            }
            _ => {}
        }
        let parts = header.get(..header_len).into_iter().flatten().chain(quoted);
        icmp.iter_mut().zip(parts).for_each(|(place, byte)| *place = *byte);
    }
}

/// The packet's source and destination, or why there is no message about it.
fn answerable(packet: &Packet, is_lax: bool) -> Result<(Ipv6Addr, Ipv6Addr), usize> {
    let bytes = packet.network();
    let header = bytes.first_chunk::<{ Ipv6::LEN }>().ok_or(NO_HEADER)?;
    if header[6] == protocol::ICMPV6 && !is_lax {
        let kind = bytes.get(Ipv6::LEN);
        if kind.is_none_or(|kind| icmpv6::is_error(*kind) || *kind == icmpv6::REDIRECT) {
            return Err(ICMP_ERROR);
        }
    }
    let address = |at: usize| {
        let bytes = header.get(at..).and_then(|rest| rest.first_chunk::<16>());
        Ipv6Addr::from(bytes.copied().unwrap_or_default())
    };
    let (source, destination) = (address(8), address(24));
    if destination.is_multicast() || packet.packet_type().is_group() {
        return Err(GROUP);
    }
    if (source.is_multicast() || source.is_unspecified()) && !is_lax {
        return Err(BAD_SOURCE);
    }
    Ok((source, destination))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    const PACKET: &str = "InfiniteSource(DATA \\<60000000 00083b01 20010db8000000000000000000000001 20010db8000000000000000000000002
        0102030405060708>, LIMIT 1, STOP true) -> MarkIP6Header";

    #[test]
    fn packets_are_quoted_behind_the_header() {
        check(
            &format!("{PACKET} -> t :: Tee(4) -> ICMP6Error(fe80::1, 3, 1) -> Print(hops, -1, PRINTANNO true) -> Discard;
                t[1] -> ICMP6Error(fe80::1, 2, 0) -> Print(big, 48) -> Discard;
                t[2] -> SetIP6Address(5::5) -> ICMP6Error(fe80::1, 137, 0) -> Print(redirect, -1) -> Discard;
                t[3] -> ICMP6Error(fe80::1, 137, 1) -> Print(other, -1) -> Discard"),
            expect![[r#"
                hops:   96 | 20010db80000000000000000000000010000000100000000000000000000000000000000000000000000000000000000 | 60000000 00383aff fe800000 00000000 00000000 00000001 20010db8 00000000 00000000 00000001 0301c9bd 00000000 60000000 00083b01 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 01020304 05060708
                big:   96 | 60000000 00383aff fe800000 00000000 00000000 00000001 20010db8 00000000 00000000 00000001 0200c4e2 000005dc
                redirect:  128 | 60000000 00583aff fe800000 00000000 00000000 00000001 20010db8 00000000 00000000 00000001 890015d9 00000000 00050000 00000000 00000000 00000005 20010db8 00000000 00000000 00000002 60000000 00083b01 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 01020304 05060708
                other:  128 | 60000000 00583aff fe800000 00000000 00000000 00000001 20010db8 00000000 00000000 00000001 8901439d 00000000 60000000 00083b01 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 01020304 05060708 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
            "#]],
        );
    }

    #[test]
    fn the_field_of_a_parameter_problem_comes_from_the_annotation() {
        let mut packet = Packet::zeroed(40);
        packet.set_anno_u8(annotation::ICMP_PARAMPROB, 6);
        let error = ICMP6Error { source: Ipv6Addr::LOCALHOST, kind: 4, code: 0, is_lax: false };
        let message = error.message(&packet, Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
        assert_eq!(message.data()[44..48], [0, 0, 0, 6]);
    }

    #[test]
    fn numbers_of_click_are_in_the_order_of_the_machine() {
        let mut packet = Packet::zeroed(40);
        packet.set_anno_u8(annotation::ICMP_PARAMPROB, 6);
        let number = |kind| {
            let error = ICMP6Error { source: Ipv6Addr::LOCALHOST, kind, code: 0, is_lax: true };
            error.message(&packet, Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST).data()[44..48].to_vec()
        };
        assert_eq!(number(2), 1500_u32.to_ne_bytes());
        assert_eq!(number(4), 6_u32.to_ne_bytes());
    }

    #[test]
    fn types_must_be_errors() {
        check(
            "Idle -> ICMP6Error(::, 1, 0) -> Discard",
            expect![[r#"
            config:1: While initializing 'ICMP6Error@2 :: ICMP6Error':
              not configured -a
            Router could not be initialized!
        "#]],
        );
        check(
            "Idle -> ICMP6Error(fe80::1, -1, 0) -> Discard",
            expect![[r#"
            config:1: While initializing 'ICMP6Error@2 :: ICMP6Error':
              not configured -a
            Router could not be initialized!
        "#]],
        );
        check(
            "Idle -> ICMP6Error(fe80::1, 128, 0) -> Discard",
            expect![[r#"
            config:1: While initializing 'ICMP6Error@2 :: ICMP6Error':
              ICMP6 type 128 is not an error or redirect type
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn no_message_is_made_about_errors_and_groups() {
        let about = |next: u8, kind: u8, from: &str, to: &str| {
            let mut bytes = [0; 48];
            let mut ip = Ipv6::init(&mut bytes).unwrap();
            ip.set_next_header(next);
            ip.set_source(from.parse().unwrap());
            ip.set_destination(to.parse().unwrap());
            bytes[40] = kind;
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(0, 40);
            packet
        };
        let answer = |next, kind, from, to| answerable(&about(next, kind, from, to), false).map(|_| ());
        let as_click = |next, kind, from, to| answerable(&about(next, kind, from, to), true).map(|_| ());
        assert_eq!(answer(58, 128, "1::", "2::"), Ok(()));
        assert_eq!(answer(17, 1, "1::", "2::"), Ok(()));
        assert_eq!(answer(58, 1, "1::", "2::"), Err(ICMP_ERROR));
        assert_eq!(answer(58, 137, "1::", "2::"), Err(ICMP_ERROR));
        assert_eq!(answer(17, 1, "1::", "ff02::1"), Err(GROUP));
        assert_eq!(answer(17, 1, "::", "2::"), Err(BAD_SOURCE));
        assert_eq!(answer(17, 1, "ff02::1", "2::"), Err(BAD_SOURCE));
        assert_eq!(answerable(&Packet::from_bytes(&[0x60; 60]), true), Err(NO_HEADER));
        assert_eq!(as_click(58, 1, "1::", "2::"), Ok(()));
        assert_eq!(as_click(17, 1, "::", "2::"), Ok(()));
        assert_eq!(as_click(17, 1, "1::", "ff02::1"), Err(GROUP));
    }
}
