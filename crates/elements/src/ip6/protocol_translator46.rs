//! Translates IPv4 packets to IPv6.
//!
//! Packets begin with their IPv4 headers. Addresses become IPv4-mapped ones, `::ffff:1.2.3.4`; options and type of service are left
//! out, and the hop limit is the time to live and 65 more, modulo 256. Checksums of TCP, UDP and ICMPv6 are computed anew. Of ICMP,
//! echo messages and errors are translated; what errors quote stays as it is. Fragments get a fragment header, but fragments of ICMP
//! messages are dropped (RFC 7915, section 4). Leaving packets have no marks and annotations.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> ProtocolTranslator46 -> IP6Fragmenter(1500) -> Discard;
//! ```

use element::{offload, per_packet, Class, Configure, DropReason, Element, Failed, Packet, Verdict};
use wire::{checksum, icmp_code, icmp_type, icmpv6, ip_flag, protocol, Ipv4, Ipv6};

use super::translation::{translate_segment, BAD_PACKET, FRAGMENT_HEADER, GROWTH, UNTRANSLATABLE};

/// The class.
pub const CLASS: Class =
    Class::new::<ProtocolTranslator46>("ProtocolTranslator46", "1/1", "a/a", "x/x").drops(DROPS);

const DROPS: &[DropReason] = &[
    DropReason::new("bad-packet", "It does not begin with an IPv4 header, or is cut off."),
    DropReason::new(
        "untranslatable",
        "IPv6 has no such ICMP message, or it is a fragment without a checksum for IPv6.",
    ),
];

/// Every link can carry packets of so many bytes (RFC 8200, section 5).
const LEAST_MTU: u32 = 1280;

/// See the page above.
pub struct ProtocolTranslator46;

impl Element for ProtocolTranslator46 {
    fn configure(conf: &mut Configure<'_>) -> Result<ProtocolTranslator46, Failed> {
        conf.finish()?;
        Ok(ProtocolTranslator46)
    }

    per_packet!();
}

impl ProtocolTranslator46 {
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle(packet);
        match translate(packet) {
            Ok(()) => Verdict::PASS,
            Err(reason) => Verdict::drop(reason),
        }
    }
}

/// Translates a packet; `Err` is the reason to drop it.
fn translate(packet: &mut Packet) -> Result<(), usize> {
    let ip = Ipv4::new(packet.data()).ok_or(BAD_PACKET)?;
    let (header_len, total_len) = (ip.header_len(), usize::from(ip.total_len()));
    if total_len < header_len || total_len > packet.len() {
        return Err(BAD_PACKET);
    }
    let (source, destination) = (ip.source().to_ipv6_mapped(), ip.destination().to_ipv6_mapped());
    let next_header = if ip.protocol() == protocol::ICMP { protocol::ICMPV6 } else { ip.protocol() };
    let hop_limit = ip.ttl().wrapping_add(0x40).wrapping_sub(0xff);
    let fragment =
        (ip.fragment() & (ip_flag::MF | ip_flag::OFFSET_MASK) != 0).then_some((ip.fragment(), ip.id()));
    packet.truncate(total_len);
    packet.strip(header_len);
    match fragment {
        None => {
            let pseudo = checksum::pseudo_ipv6(source, destination, next_header, packet.len() as u32);
            translate_segment(packet.data_mut(), next_header, pseudo, icmp_header)?;
        }
        Some(fragment) => add_fragment_header(packet, next_header, fragment)?,
    }
    let len = packet.len() as u16;
    let mut ip = Ipv6::init(packet.prepend(Ipv6::LEN)).ok_or(BAD_PACKET)?;
    ip.set_payload_len(len);
    ip.set_next_header(if fragment.is_some() { protocol::IPV6_FRAGMENT } else { next_header });
    ip.set_hop_limit(hop_limit);
    ip.set_source(source);
    ip.set_destination(destination);
    packet.clear_annotations();
    Ok(())
}

/// Puts a fragment header in front of a fragment. Its checksum stays right: the sums of both pseudo-headers are equal, since
/// `::ffff:0:0` adds up to nothing; but ICMP has no pseudo-header in IPv4, and UDP may have no checksum there.
fn add_fragment_header(
    packet: &mut Packet,
    next_header: u8,
    (fragment, id): (u16, u16),
) -> Result<(), usize> {
    let lacks_checksum = fragment & ip_flag::OFFSET_MASK == 0
        && next_header == protocol::UDP
        && packet.data().get(6..8).is_none_or(|checksum| checksum == [0, 0]);
    if next_header == protocol::ICMPV6 || lacks_checksum {
        return Err(UNTRANSLATABLE);
    }
    let has_more = fragment & ip_flag::MF != 0;
    let place = (fragment & ip_flag::OFFSET_MASK) << 3 | u16::from(has_more);
    let header = packet.prepend(FRAGMENT_HEADER).first_chunk_mut::<FRAGMENT_HEADER>().ok_or(BAD_PACKET)?;
    let ([o0, o1], [i0, i1]) = (place.to_be_bytes(), id.to_be_bytes());
    *header = [next_header, 0, o0, o1, 0, 0, i0, i1];
    Ok(())
}

/// The header of the ICMPv6 message for an ICMP message, without checksum; `None` if there is none (RFC 2765, section 3.3).
fn icmp_header(header: &[u8; 8]) -> Option<[u8; 8]> {
    let [kind, code, _, _, a, b, c, d] = *header;
    let (kind, code, rest) = match (kind, code) {
        (icmp_type::ECHO, _) => (icmpv6::ECHO, 0, [a, b, c, d]),
        (icmp_type::ECHO_REPLY, _) => (icmpv6::ECHO_REPLY, 0, [a, b, c, d]),
        (icmp_type::UNREACHABLE, icmp_code::PROTOCOL) => (icmpv6::PARAMETER_PROBLEM, 1, [0, 0, 0, 6]),
        (icmp_type::UNREACHABLE, icmp_code::FRAGMENTATION_NEEDED) => {
            let mtu = u32::from(u16::from_be_bytes([c, d])) + GROWTH;
            (icmpv6::PACKET_TOO_BIG, 0, mtu.max(LEAST_MTU).to_be_bytes())
        }
        (icmp_type::UNREACHABLE, code) => {
            let code = match code {
                icmp_code::PORT => 4,
                5 => 2,
                9 | 10 => 1,
                _ => 0,
            };
            (icmpv6::UNREACHABLE, code, [0; 4])
        }
        (icmp_type::TIME_EXCEEDED, code) => (icmpv6::TIME_EXCEEDED, code, [0; 4]),
        (icmp_type::PARAMETER_PROBLEM, _) => (icmpv6::PARAMETER_PROBLEM, 0, pointer(a).to_be_bytes()),
        _ => return None,
    };
    let [r0, r1, r2, r3] = rest;
    Some([kind, code, 0, 0, r0, r1, r2, r3])
}

/// Where the field at `pointer` of an IPv4 header stands in an IPv6 header.
fn pointer(pointer: u8) -> u32 {
    match pointer {
        0 => 0,
        2 => 4,
        8 => 7,
        9 => 6,
        12 => 8,
        16 => 24,
        _ => u32::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn segments_keep_their_bytes_and_get_new_checksums() {
        check(
            "InfiniteSource(DATA abc, LIMIT 1, STOP true) -> UDPIPEncap(1.0.0.1, 5, 2.0.0.2, 7) -> t :: ProtocolTranslator46
                -> CheckIP6Header -> IP6Print(x, CONTENTS true) -> Discard;
            InfiniteSource(DATA abc, LIMIT 1, STOP true) -> UDPIPEncap(1.0.0.1, 5, 2.0.0.2, 7, CHECKSUM false) -> t;
            InfiniteSource(DATA abc, LIMIT 1, STOP true) -> IPEncap(47, 1.0.0.1, 2.0.0.2, TTL 255) -> t;
            InfiniteSource(DATA \\<46000018 00000000 ff110000 01000001 02000002 01010101>, LIMIT 1, STOP true) -> t;
            InfiniteSource(DATA \\<4600001c 00000000 ff2f0000 01000001 02000002 01010101 aabbccdd>, LIMIT 1, STOP true) -> t;
            DriverManager(wait_stop 5)",
            expect![[r#"
                x: ::ffff:1.0.0.1 -> ::ffff:2.0.0.2 plen 11, next 17, hlim 59
                  60000000 000b113b 00000000 00000000 0000ffff 01000001
                  00000000 00000000 0000ffff 02000002 00050007 000b3867
                  616263
                x: ::ffff:1.0.0.1 -> ::ffff:2.0.0.2 plen 11, next 17, hlim 59
                  60000000 000b113b 00000000 00000000 0000ffff 01000001
                  00000000 00000000 0000ffff 02000002 00050007 000b3867
                  616263
                x: ::ffff:1.0.0.1 -> ::ffff:2.0.0.2 plen 3, next 47, hlim 64
                  60000000 00032f40 00000000 00000000 0000ffff 01000001
                  00000000 00000000 0000ffff 02000002 616263
                x: ::ffff:1.0.0.1 -> ::ffff:2.0.0.2 plen 4, next 47, hlim 64
                  60000000 00042f40 00000000 00000000 0000ffff 01000001
                  00000000 00000000 0000ffff 02000002 aabbccdd 
            "#]],
        );
    }

    #[test]
    fn icmp_messages_become_icmpv6_messages() {
        let translated = |header: [u8; 8]| icmp_header(&header);
        assert_eq!(translated([8, 0, 9, 9, 1, 2, 3, 4]), Some([128, 0, 0, 0, 1, 2, 3, 4]));
        assert_eq!(translated([0, 0, 9, 9, 1, 2, 3, 4]), Some([129, 0, 0, 0, 1, 2, 3, 4]));
        assert_eq!(translated([3, 3, 9, 9, 0, 0, 0, 0]), Some([1, 4, 0, 0, 0, 0, 0, 0]));
        assert_eq!(translated([3, 2, 9, 9, 0, 0, 0, 0]), Some([4, 1, 0, 0, 0, 0, 0, 6]));
        assert_eq!(translated([3, 4, 9, 9, 0, 0, 5, 220]), Some([2, 0, 0, 0, 0, 0, 5, 240]));
        assert_eq!(translated([3, 4, 9, 9, 0, 0, 0, 0]), Some([2, 0, 0, 0, 0, 0, 5, 0]));
        assert_eq!(translated([11, 1, 9, 9, 0, 0, 0, 0]), Some([3, 1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(translated([12, 0, 9, 9, 8, 0, 0, 0]), Some([4, 0, 0, 0, 0, 0, 0, 7]));
        assert_eq!(translated([12, 0, 9, 9, 1, 0, 0, 0]), Some([4, 0, 0, 0, 255, 255, 255, 255]));
        assert_eq!(translated([13, 0, 9, 9, 1, 2, 3, 4]), None);
    }

    #[test]
    fn long_echo_messages_are_translated_whole() {
        check(
            "ICMPPingSource(1.0.0.1, 2.0.0.2, DATA \"0123456789\", LIMIT 1) -> ProtocolTranslator46 -> Print(x, -1) -> ProtocolTranslator64
                -> CheckIPHeader -> CheckICMPHeader -> Print(y, -1) -> Discard",
            expect![[r#"
                x:   58 | 60000000 00123a09 00000000 00000000 0000ffff 01000001 00000000 00000000 0000ffff 02000002 800077a5 00000001 30313233 34353637 3839
                y:   38 | 45000026 00004000 09016ed5 01000001 02000002 0800f2f4 00000001 30313233 34353637 3839
            "#]],
        );
    }

    #[test]
    fn fragments_survive_the_way_there_and_back() {
        check(
            "InfiniteSource(LENGTH 60, LIMIT 1, STOP true) -> UDPIPEncap(1.0.0.1, 5, 2.0.0.2, 7) -> IPFragmenter(60) -> ProtocolTranslator46
                -> Print(six, 48) -> ProtocolTranslator64 -> CheckIPHeader -> IPReassembler -> CheckUDPHeader -> IPPrint(TIMESTAMP false) -> Discard",
            expect![[r#"
                six:   88 | 60000000 00302c3b 00000000 00000000 0000ffff 01000001 00000000 00000000 0000ffff 02000002 11000001 00000000
                six:   76 | 60000000 00242c3b 00000000 00000000 0000ffff 01000001 00000000 00000000 0000ffff 02000002 11000028 00000000
                1.0.0.1.5 > 2.0.0.2.7: udp 68
            "#]],
        );
    }
}
