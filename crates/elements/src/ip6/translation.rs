//! What the translations from IPv4 to IPv6 and back have in common.

use wire::protocol;

use super::segment::renew_checksum;

/// Index of the drop reason for packets that are no packets of the protocol.
pub const BAD_PACKET: usize = 0;
/// Index of the drop reason for packets that the other protocol has no likes of.
pub const UNTRANSLATABLE: usize = 1;

/// How much longer an IPv6 header is than an IPv4 header.
pub const GROWTH: u32 = 20;

/// Bytes of a fragment header (RFC 8200, section 4.5).
pub const FRAGMENT_HEADER: usize = 8;

/// Makes a whole segment right for the other IP: `icmp_header` translates the header of an ICMP or ICMPv6 message, and checksums
/// are computed anew. `protocol` is that of the translated packet; others than TCP, UDP, ICMP and ICMPv6 stay as they are.
pub fn translate_segment(
    segment: &mut [u8],
    protocol: u8,
    pseudo: u16,
    icmp_header: fn(&[u8; 8]) -> Option<[u8; 8]>,
) -> Result<(), usize> {
    match protocol {
        protocol::ICMP | protocol::ICMPV6 => {
            let header = segment.first_chunk_mut::<8>().ok_or(BAD_PACKET)?;
            *header = icmp_header(header).ok_or(UNTRANSLATABLE)?;
        }
        protocol::TCP | protocol::UDP => {}
        _ => return Ok(()),
    }
    match renew_checksum(segment, protocol, pseudo) {
        true => Ok(()),
        false => Err(BAD_PACKET),
    }
}
