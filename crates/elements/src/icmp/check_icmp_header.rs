//! Checks ICMP headers.
//!
//! Passes ICMP messages, whose IPv4 header must be marked, of a length that their type allows and with the right checksum. Others
//! leave by output 1 if there is one, else they are dropped; the first is told on standard error.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow icmp) -> CheckICMPHeader(DETAILS true) -> Discard;
//! ```

use element::{offload, Causes, Class, Ctx, DropReason, Packet};
use wire::{checksum, icmp_type, protocol};

use crate::ip::payload_check::{Checker, Payload, ARGS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Checker<Icmp>>("CheckICMPHeader", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const NOT_ICMP: usize = 0;
const BAD_LENGTH: usize = 1;
const BAD_CHECKSUM: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("not-icmp", "No IPv4 header is marked, or its protocol is not ICMP."),
    DropReason::new("bad-length", "The message is too short, or not as long as its type demands."),
    DropReason::new("bad-checksum", "The ICMP checksum is wrong."),
];

const HEADER: usize = 8;
/// Bytes that an error quotes at least: an IPv4 header and 64 bits (RFC 792).
const QUOTE: usize = 28;
/// Bytes of a message with three timestamps.
const TIMESTAMP: usize = 20;

/// An ICMP header.
pub struct Icmp;

impl Payload for Icmp {
    const FAULTS: &'static [&'static str] = &["not ICMP", "bad packet length", "bad ICMP checksum"];

    #[inline(always)]
    fn check(packet: &Packet) -> Result<(), usize> {
        if packet.network().get(9) != Some(&protocol::ICMP) {
            return Err(NOT_ICMP);
        }
        let message = packet.transport();
        let len = message.len();
        let kind = message.first().filter(|_| len >= HEADER).ok_or(BAD_LENGTH)?;
        let is_long_enough = match *kind {
            icmp_type::UNREACHABLE
            | icmp_type::TIME_EXCEEDED
            | icmp_type::PARAMETER_PROBLEM
            | icmp_type::SOURCE_QUENCH
            | icmp_type::REDIRECT => len >= HEADER + QUOTE,
            icmp_type::TIMESTAMP | icmp_type::TIMESTAMP_REPLY => len == TIMESTAMP,
            icmp_type::INFORMATION | icmp_type::INFORMATION_REPLY => len == HEADER,
            _ => true,
        };
        if !is_long_enough {
            return Err(BAD_LENGTH);
        }
        if !offload::is_trusted(packet) && !checksum::is_valid(message) {
            return Err(BAD_CHECKSUM);
        }
        Ok(())
    }

    fn sentence(ctx: &Ctx<'_>, fault: &str) -> String {
        format!("{}: ICMP header check failed: {fault}", ctx.own_declaration())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn checked(protocol: u8, kind: u8, len: usize, damage: u8) -> Result<(), usize> {
        let mut bytes = vec![7; 20 + len];
        [bytes[9], bytes[20]] = [protocol, kind];
        if len >= 4 {
            bytes[22..24].fill(0);
            let sum = checksum::checksum(&bytes[20..]);
            bytes[22..24].copy_from_slice(&sum.to_be_bytes());
            bytes[20 + len - 1] ^= damage;
        }
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 20);
        Icmp::check(&packet)
    }

    #[test]
    fn lengths_depend_on_types() {
        assert_eq!(checked(1, icmp_type::ECHO, 8, 0), Ok(()));
        assert_eq!(checked(1, icmp_type::ECHO, 7, 0), Err(BAD_LENGTH));
        assert_eq!(checked(1, icmp_type::REDIRECT, 36, 0), Ok(()));
        assert_eq!(checked(1, icmp_type::REDIRECT, 35, 0), Err(BAD_LENGTH));
        assert_eq!(checked(1, icmp_type::TIMESTAMP, 20, 0), Ok(()));
        assert_eq!(checked(1, icmp_type::TIMESTAMP, 21, 0), Err(BAD_LENGTH));
        assert_eq!(checked(1, icmp_type::INFORMATION, 9, 0), Err(BAD_LENGTH));
    }

    #[test]
    fn other_protocols_and_wrong_sums_fail() {
        assert_eq!(checked(6, icmp_type::ECHO, 8, 0), Err(NOT_ICMP));
        assert_eq!(checked(1, icmp_type::ECHO, 9, 1), Err(BAD_CHECKSUM));
        assert_eq!(Icmp::check(&Packet::from_bytes(&[1; 60])), Err(NOT_ICMP));
    }

    proptest! {
        #[test]
        fn any_bytes_are_checked(bytes: Vec<u8>, at in 0usize..30, header_len in 0usize..70) {
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(at, header_len);
            let _ = Icmp::check(&packet);
        }
    }
}
