//! What follows the extension headers of an IPv6 packet (RFC 8200, section 4).

use crate::{protocol, Ipv6};

/// Extension headers that are looked behind: more are not met, and each costs time.
const MOST_EXTENSIONS: usize = 8;

/// The first header that is no known extension header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpperLayer {
    /// Its protocol.
    pub protocol: u8,
    /// Where it begins, in bytes from the IPv6 header on; perhaps behind the packet's end.
    pub offset: usize,
    /// Where the number of its protocol stands, in bytes from the IPv6 header on.
    pub told_at: usize,
    /// Whether there is a fragment header in front of it.
    pub is_fragment: bool,
    /// Whether the packet is a fragment but not the first: then what stands there is the middle of something.
    pub is_later_fragment: bool,
}

/// Finds what follows the extension headers of a packet that begins with an IPv6 header; `None` if that is cut off.
#[inline]
pub fn upper_layer(packet: &[u8]) -> Option<UpperLayer> {
    let protocol = packet.first_chunk::<{ Ipv6::LEN }>()?[6];
    let mut found =
        UpperLayer { protocol, offset: Ipv6::LEN, told_at: 6, is_fragment: false, is_later_fragment: false };
    for _ in 0..MOST_EXTENSIONS {
        let header = packet.get(found.offset..).and_then(|rest| rest.first_chunk());
        let Some(&[next, len, c, d]) = header else { break };
        let len = match found.protocol {
            protocol::HOP_BY_HOP | protocol::IPV6_ROUTING | protocol::IPV6_DESTINATION => {
                8 + usize::from(len) * 8
            }
            protocol::AH => 8 + usize::from(len) * 4,
            protocol::IPV6_FRAGMENT => 8,
            _ => break,
        };
        if found.protocol == protocol::IPV6_FRAGMENT {
            found.is_fragment = true;
            found.is_later_fragment = u16::from_be_bytes([c, d]) >> 3 != 0;
        }
        (found.told_at, found.offset) = (found.offset, found.offset + len);
        found.protocol = next;
        if found.is_later_fragment {
            break;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packet(next: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 0, next, 64];
        bytes.resize(Ipv6::LEN, 0);
        [&bytes, rest].concat()
    }

    #[test]
    fn extension_headers_are_skipped() {
        let found = |next, rest: &[u8]| {
            let found = upper_layer(&packet(next, rest)).unwrap();
            (found.protocol, found.offset, found.told_at)
        };
        assert_eq!(found(58, &[]), (58, 40, 6));
        assert_eq!(found(0, &[60, 0, 0, 0, 0, 0, 0, 0, 17, 1, 0, 0]), (17, 64, 48));
        assert_eq!(found(51, &[6, 4, 0, 0]), (6, 64, 40));
        // What is cut off is told of as far as it is there.
        assert_eq!(found(0, &[60, 0]), (0, 40, 6));
        assert_eq!(upper_layer(&packet(0, &[])[..39]), None);
    }

    #[test]
    fn later_fragments_have_no_header_of_the_upper_layer() {
        let found = |offset: u16| {
            let [high, low] = offset.to_be_bytes();
            let found = upper_layer(&packet(44, &[0, 0, high, low, 0, 0, 0, 1, 17, 0, 0, 0])).unwrap();
            (found.protocol, found.offset, found.is_fragment, found.is_later_fragment)
        };
        assert_eq!(found(1), (17, 56, true, false));
        assert_eq!(found(8), (0, 48, true, true));
    }

    proptest! {
        #[test]
        fn no_packet_is_harmful(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(0u8), Just(60u8)], 0..200)) {
            let found = upper_layer(&bytes);
            prop_assert_eq!(found.is_some(), bytes.len() >= 40);
        }
    }
}
