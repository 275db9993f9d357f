//! Translates IPv6 packets to IPv4.
//!
//! Packets begin with their IPv6 headers; both addresses must be IPv4-mapped ones, `::ffff:1.2.3.4`, else they are dropped. The IPv4
//! header has no options, type of service 0, the hop limit as time to live, and the don't-fragment bit set. Checksums are computed
//! anew. Of ICMPv6, echo messages and errors are translated; what errors quote stays as it is. A fragment header becomes IPv4's
//! fragment fields (RFC 7915, section 5); packets with other extension headers are dropped. Leaving packets have no marks and
//! annotations.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> ProtocolTranslator64 -> CheckIPHeader -> Discard;
//! ```

use element::{offload, per_packet, Class, Configure, DropReason, Element, Failed, Packet, Verdict};
use wire::{checksum, icmp_code, icmp_type, icmpv6, ip_flag, protocol, Ipv4, Ipv6};

use super::translation::{translate_segment, BAD_PACKET, FRAGMENT_HEADER, GROWTH, UNTRANSLATABLE};

/// The class.
pub const CLASS: Class =
    Class::new::<ProtocolTranslator64>("ProtocolTranslator64", "1/1", "a/a", "x/x").drops(DROPS);

const NOT_MAPPED: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new(
        "bad-packet",
        "It does not begin with an IPv6 header, or is cut off or too long for IPv4.",
    ),
    DropReason::new("untranslatable", "IPv4 has no such ICMPv6 message, or no such extension header."),
    DropReason::new("not-mapped", "An address is not an IPv4-mapped one."),
];

/// See the page above.
pub struct ProtocolTranslator64;

impl Element for ProtocolTranslator64 {
    fn configure(conf: &mut Configure<'_>) -> Result<ProtocolTranslator64, Failed> {
        conf.finish()?;
        Ok(ProtocolTranslator64)
    }

    per_packet!();
}

impl ProtocolTranslator64 {
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle(packet);
        match translate(packet) {
            Ok(()) => Verdict::PASS,
            Err(reason) => Verdict::drop(reason),
        }
    }
}

/// What becomes of the fields about fragments.
struct Fragment {
    next_header: u8,
    id: u16,
    /// Flags and offset.
    place: u16,
    is_whole: bool,
}

/// Translates a packet; `Err` is the reason to drop it.
fn translate(packet: &mut Packet) -> Result<(), usize> {
    let ip = Ipv6::new(packet.data()).ok_or(BAD_PACKET)?;
    let mapped = |address: std::net::Ipv6Addr| address.to_ipv4_mapped().filter(|ip| !ip.is_unspecified());
    let (source, destination) = mapped(ip.source()).zip(mapped(ip.destination())).ok_or(NOT_MAPPED)?;
    let (next_header, hop_limit, len) = (ip.next_header(), ip.hop_limit(), usize::from(ip.payload_len()));
    if ip.payload().len() < len {
        return Err(BAD_PACKET);
    }
    packet.truncate(Ipv6::LEN + len);
    packet.strip(Ipv6::LEN);
    let fragment = take_fragment_header(packet, next_header)?;
    let protocol = match fragment.next_header {
        protocol::ICMPV6 => protocol::ICMP,
        next_header => next_header,
    };
    let total_len = u16::try_from(Ipv4::LEN + packet.len()).map_err(|_| BAD_PACKET)?;
    if fragment.is_whole {
        let pseudo = match protocol {
            protocol::ICMP => 0,
            _ => checksum::pseudo_ipv4(source, destination, protocol, total_len - Ipv4::LEN as u16),
        };
        translate_segment(packet.data_mut(), protocol, pseudo, icmp_header)?;
    }
    let header = packet.prepend(Ipv4::LEN).first_chunk_mut::<{ Ipv4::LEN }>().ok_or(BAD_PACKET)?;
    *header = [0; Ipv4::LEN];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total_len.to_be_bytes());
    header[4..6].copy_from_slice(&fragment.id.to_be_bytes());
    header[6..8].copy_from_slice(&fragment.place.to_be_bytes());
    [header[8], header[9]] = [hop_limit, protocol];
    header[12..16].copy_from_slice(&source.octets());
    header[16..].copy_from_slice(&destination.octets());
    let sum = checksum::checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.clear_annotations();
    Ok(())
}

/// Takes the fragment header off, if there is one. The checksum of a fragment stays right, since the sums of both pseudo-headers are
/// equal; but ICMP has no pseudo-header in IPv4.
fn take_fragment_header(packet: &mut Packet, next_header: u8) -> Result<Fragment, usize> {
    if matches!(next_header, protocol::HOP_BY_HOP | protocol::IPV6_ROUTING | protocol::IPV6_DESTINATION) {
        return Err(UNTRANSLATABLE);
    }
    if next_header != protocol::IPV6_FRAGMENT {
        return Ok(Fragment { next_header, id: 0, place: ip_flag::DF, is_whole: true });
    }
    let header = packet.data().first_chunk::<FRAGMENT_HEADER>().ok_or(BAD_PACKET)?;
    let [next_header, _, o0, o1, _, _, i0, i1] = *header;
    let place = u16::from_be_bytes([o0, o1]);
    let has_more = place & 1 != 0;
    if next_header == protocol::ICMPV6 {
        return Err(UNTRANSLATABLE);
    }
    packet.strip(FRAGMENT_HEADER);
    let place = place >> 3 | if has_more { ip_flag::MF } else { 0 };
    Ok(Fragment { next_header, id: u16::from_be_bytes([i0, i1]), place, is_whole: false })
}

/// The header of the ICMP message for an ICMPv6 message, without checksum; `None` if there is none (RFC 2765, section 4.2).
fn icmp_header(header: &[u8; 8]) -> Option<[u8; 8]> {
    let [kind, code, _, _, a, b, c, d] = *header;
    let word = u32::from_be_bytes([a, b, c, d]);
    let (kind, code, rest) = match (kind, code) {
        (icmpv6::ECHO, _) => (icmp_type::ECHO, 0, [a, b, c, d]),
        (icmpv6::ECHO_REPLY, _) => (icmp_type::ECHO_REPLY, 0, [a, b, c, d]),
        (icmpv6::UNREACHABLE, code) => {
            let code = match code {
                1 => 10,
                2 => 5,
                3 => icmp_code::HOST,
                4 => icmp_code::PORT,
                _ => icmp_code::NET,
            };
            (icmp_type::UNREACHABLE, code, [0; 4])
        }
        (icmpv6::PACKET_TOO_BIG, _) => {
            let [m0, m1] = u16::try_from(word.saturating_sub(GROWTH)).unwrap_or(u16::MAX).to_be_bytes();
            (icmp_type::UNREACHABLE, icmp_code::FRAGMENTATION_NEEDED, [0, 0, m0, m1])
        }
        (icmpv6::TIME_EXCEEDED, code) => (icmp_type::TIME_EXCEEDED, code, [0; 4]),
        (icmpv6::PARAMETER_PROBLEM, 0) => (icmp_type::PARAMETER_PROBLEM, 0, [pointer(word), 0, 0, 0]),
        (icmpv6::PARAMETER_PROBLEM, 1) => (icmp_type::UNREACHABLE, icmp_code::PROTOCOL, [0; 4]),
        (icmpv6::PARAMETER_PROBLEM, 2) => (icmp_type::PARAMETER_PROBLEM, 0, [u8::MAX, 0, 0, 0]),
        _ => return None,
    };
    let [r0, r1, r2, r3] = rest;
    Some([kind, code, 0, 0, r0, r1, r2, r3])
}

/// Where the field at `pointer` of an IPv6 header stands in an IPv4 header.
fn pointer(pointer: u32) -> u8 {
    match pointer {
        4 => 2,
        6 => 9,
        7 => 8,
        8 => 12,
        24 => u8::MAX,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn segments_keep_their_bytes_and_get_new_checksums() {
        let source = "InfiniteSource(DATA abc, LIMIT 1, STOP true)";
        check(
            &format!(
                "{source} -> UDPIP6Encap(::ffff:1.0.0.1, 5, ::ffff:2.0.0.2, 7) -> t :: ProtocolTranslator64 -> CheckIPHeader -> Print(x, -1) -> Discard;
                {source} -> IP6Encap(47, ::ffff:1.0.0.1, ::ffff:2.0.0.2, CLASS 5) -> t;
                {source} -> IP6Encap(47, ::1.0.0.1, ::ffff:2.0.0.2) -> t;
                {source} -> IP6Encap(47, ::ffff:1.0.0.1, ::ffff:0.0.0.0) -> t;
                {source} -> IP6Encap(6, ::ffff:1.0.0.1, ::ffff:2.0.0.2) -> t;
                {source} -> IP6Encap(0, ::ffff:1.0.0.1, ::ffff:2.0.0.2) -> t;
                DriverManager(wait_stop 6)"
            ),
            expect![[r#"
                x:   31 | 4500001f 00004000 ff1178cb 01000001 02000002 00050007 000b3867 616263
                x:   23 | 45000017 00004000 fa2f7db5 01000001 02000002 616263
            "#]],
        );
    }

    #[test]
    fn icmpv6_messages_become_icmp_messages() {
        let translated = |header: [u8; 8]| icmp_header(&header);
        assert_eq!(translated([128, 0, 9, 9, 1, 2, 3, 4]), Some([8, 0, 0, 0, 1, 2, 3, 4]));
        assert_eq!(translated([129, 0, 9, 9, 1, 2, 3, 4]), Some([0, 0, 0, 0, 1, 2, 3, 4]));
        assert_eq!(translated([1, 4, 9, 9, 0, 0, 0, 0]), Some([3, 3, 0, 0, 0, 0, 0, 0]));
        assert_eq!(translated([2, 0, 9, 9, 0, 0, 5, 220]), Some([3, 4, 0, 0, 0, 0, 5, 200]));
        assert_eq!(translated([2, 0, 9, 9, 1, 0, 0, 0]), Some([3, 4, 0, 0, 0, 0, 255, 255]));
        assert_eq!(translated([3, 1, 9, 9, 0, 0, 0, 0]), Some([11, 1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(translated([4, 0, 9, 9, 0, 0, 0, 7]), Some([12, 0, 0, 0, 8, 0, 0, 0]));
        assert_eq!(translated([4, 1, 9, 9, 0, 0, 0, 7]), Some([3, 2, 0, 0, 0, 0, 0, 0]));
        assert_eq!(translated([4, 2, 9, 9, 0, 0, 0, 7]), Some([12, 0, 0, 0, 255, 0, 0, 0]));
        assert_eq!(translated([4, 3, 9, 9, 0, 0, 0, 7]), None);
        assert_eq!(translated([135, 0, 9, 9, 0, 0, 0, 0]), None);
    }
}
