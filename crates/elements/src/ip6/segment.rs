//! Checksums of transport segments whose headers were changed.

use wire::{checksum, protocol};

/// Computes the checksum of a TCP, UDP, ICMPv6 or ICMP segment anew, `pseudo` being the sum of its pseudo-header. False if the
/// segment is too short to hold it or the protocol is another.
#[inline]
pub fn renew_checksum(segment: &mut [u8], protocol: u8, pseudo: u16) -> bool {
    let at = match protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        protocol::ICMPV6 | protocol::ICMP => 2,
        _ => return false,
    };
    let field = |segment: &mut [u8], value: u16| {
        let place = segment.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>());
        place.map(|place| *place = value.to_be_bytes()).is_some()
    };
    if !field(segment, 0) {
        return false;
    }
    let sum = checksum::transport(pseudo, segment);
    let sum = if protocol == protocol::UDP { checksum::nonzero(sum) } else { sum };
    field(segment, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renewed_checksums_are_valid() {
        for protocol in [protocol::TCP, protocol::UDP, protocol::ICMPV6, protocol::ICMP] {
            for len in 18..24 {
                let mut segment = vec![0xa5; len];
                assert!(renew_checksum(&mut segment, protocol, 0x1234));
                assert!(checksum::is_transport_valid(0x1234, &segment));
            }
            assert!(!renew_checksum(&mut [0; 3], protocol, 0));
        }
        assert!(!renew_checksum(&mut [0; 30], 4, 0));
    }

    #[test]
    fn udp_never_says_that_it_has_none() {
        let mut segment = [0, 0, 0, 0, 0, 0, 9, 9];
        assert!(renew_checksum(&mut segment, protocol::UDP, 0xffff));
        assert_eq!(segment[6..], [0xff, 0xff]);
    }
}
