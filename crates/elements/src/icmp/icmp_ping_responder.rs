//! Answers ICMP echo requests.
//!
//! Turns each echo request, whose IPv4 header must be marked, into its reply: addresses change places, the TTL becomes 255, flags and
//! fragment offset are cleared. The destination annotation and the timestamp are set and the paint is cleared. Everything else
//! leaves by output 1 if there is one, else it is dropped.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> ICMPPingResponder -> ToDump(out.pcap, ENCAP IP);
//! ```

use element::{
    offload, per_packet, Causes, Class, Clock, Configure, DropReason, Element, Failed, Packet, Verdict,
};
use wire::{checksum, icmp_type, protocol};

/// The class.
pub const CLASS: Class = Class::new::<ICMPPingResponder>("ICMPPingResponder", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .drops(DROPS);

const NO_REQUEST: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-request", "The packet is no ICMP echo request.")];

const TTL: u8 = 255;

/// See the page above.
pub struct ICMPPingResponder;

impl Element for ICMPPingResponder {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPPingResponder, Failed> {
        conf.finish()?;
        Ok(ICMPPingResponder)
    }

    per_packet!(now);
}

impl ICMPPingResponder {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let is_icmp = packet.network().len() >= 20 && packet.network().get(9) == Some(&protocol::ICMP);
        let message = packet.transport();
        if !is_icmp || message.len() < 8 || message.first() != Some(&icmp_type::ECHO) {
            return Verdict::port_or_drop(1, NO_REQUEST);
        }
        offload::settle(packet);
        if let Some(ip) = packet.network_mut().first_chunk_mut::<20>() {
            turn(ip);
            let destination = [ip[16], ip[17], ip[18], ip[19]];
            packet.set_dst_ip(destination.into());
        }
        packet.set_timestamp_ns(clock.now_ns());
        packet.set_paint(0);
        reply(packet.transport_mut());
        Verdict::PASS
    }
}

/// Makes an IPv4 header that of the reply. The checksum does not depend on the order of the addresses.
fn turn(ip: &mut [u8; 20]) {
    let (sources, destinations) = ip[12..].split_at_mut(4);
    sources.swap_with_slice(destinations);
    let mut sum = u16::from_be_bytes([ip[10], ip[11]]);
    sum = checksum::update_u16(sum, u16::from_be_bytes([ip[6], ip[7]]), 0);
    [ip[6], ip[7]] = [0, 0];
    let old = u16::from_be_bytes([ip[8], ip[9]]);
    ip[8] = TTL;
    sum = checksum::update_u16(sum, old, u16::from_be_bytes([ip[8], ip[9]]));
    [ip[10], ip[11]] = sum.to_be_bytes();
}

/// Makes an echo request the reply.
fn reply(message: &mut [u8]) {
    if let Some([kind, code, sum0, sum1, ..]) = message.first_chunk_mut::<8>() {
        let sum = u16::from_be_bytes([*sum0, *sum1]);
        let sum = checksum::update_u16(sum, u16::from_be_bytes([*kind, *code]), 0);
        [*kind, *code] = [icmp_type::ECHO_REPLY, 0];
        [*sum0, *sum1] = sum.to_be_bytes();
    }
    // RFC 1624: of nothing but zeros the checksum is 0xffff.
    if message.iter().all(|byte| *byte == 0) {
        if let Some(sum) = message.get_mut(2..4) {
            sum.fill(0xff);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(flags: u16, ttl: u8, rest: &[u8]) -> Packet {
        let mut bytes =
            vec![0x45, 0, 0, 28, 0, 1, 0, 0, ttl, 1, 0, 0, 1, 0, 0, 1, 2, 0, 0, 2, 8, 0, 0, 0, 0, 7, 0, 9];
        bytes.extend(rest);
        bytes[6..8].copy_from_slice(&flags.to_be_bytes());
        let sum = checksum::checksum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        let sum = checksum::checksum(&bytes[20..]);
        bytes[22..24].copy_from_slice(&sum.to_be_bytes());
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 20);
        packet
    }

    proptest! {
        #[test]
        fn replies_are_right(flags: u16, ttl: u8, rest: Vec<u8>) {
            let mut packet = request(flags, ttl, &rest);
            prop_assert_eq!(ICMPPingResponder.process(&mut packet, &mut Clock::new(5, 1)), Verdict::PASS);
            let (ip, icmp) = packet.data().split_at(20);
            prop_assert!(checksum::is_valid(ip) && checksum::is_valid(icmp));
            prop_assert_eq!(&ip[6..10], &[0, 0, 255, 1]);
            prop_assert_eq!(&ip[12..], &[2, 0, 0, 2, 1, 0, 0, 1]);
            prop_assert_eq!((icmp[0], &icmp[4..8], &icmp[8..]), (0, &[0, 7, 0, 9][..], rest.as_slice()));
            prop_assert_eq!((packet.timestamp_ns(), packet.dst_ip().octets()), (5, [1, 0, 0, 1]));
        }

        #[test]
        fn any_bytes_are_answered_or_not(bytes: Vec<u8>, at in 0usize..30, header_len in 0usize..70) {
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(at, header_len);
            let _ = ICMPPingResponder.process(&mut packet, &mut Clock::new(0, 1));
        }
    }

    #[test]
    fn other_messages_are_no_requests() {
        let mut packet = request(0, 9, b"");
        packet.transport_mut()[0] = icmp_type::ECHO_REPLY;
        assert_eq!(
            ICMPPingResponder.process(&mut packet, &mut Clock::new(0, 1)),
            Verdict::port_or_drop(1, NO_REQUEST)
        );
        packet.clear_network_header();
        assert_eq!(
            ICMPPingResponder.process(&mut packet, &mut Clock::new(0, 1)),
            Verdict::port_or_drop(1, NO_REQUEST)
        );
    }
}
