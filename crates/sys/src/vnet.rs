//! The virtio-net header: checksum and segmentation work that a packet leaves to whoever sends it on.

/// `flags`: the checksum at `csum_start + csum_offset` still has to be completed.
pub const NEEDS_CSUM: u8 = 1;
/// `flags`: the checksums were found good.
pub const DATA_VALID: u8 = 2;

pub const GSO_NONE: u8 = 0;
pub const GSO_TCPV4: u8 = 1;
pub const GSO_TCPV6: u8 = 4;
/// UDP segmentation (one datagram a segment).
pub const GSO_UDP_L4: u8 = 5;
/// Or-ed to a TCP type: the CWR bit is set in the first segment only.
pub const GSO_ECN: u8 = 0x80;

/// The header without `num_buffers`, as packet sockets use it.
pub const BASIC_LEN: usize = 10;
/// The header with `num_buffers`, as taps with mergeable buffers use it.
pub const MERGEABLE_LEN: usize = 12;

/// virtio 1.2, 5.1.6: the header in front of a packet, in the byte order of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VnetHeader {
    pub flags: u8,
    /// `GSO_*`.
    pub gso_type: u8,
    /// Bytes of headers to repeat in front of every segment.
    pub hdr_len: u16,
    /// Bytes of payload in a segment.
    pub gso_size: u16,
    /// Where the checksummed bytes begin, from the start of the packet.
    pub csum_start: u16,
    /// Where the checksum is, from `csum_start`.
    pub csum_offset: u16,
    /// Buffers that this packet is spread over; absent from the basic header.
    pub num_buffers: u16,
}

impl VnetHeader {
    pub fn from_bytes(bytes: &[u8; MERGEABLE_LEN]) -> Self {
        let word = |idx: usize| u16::from_ne_bytes([bytes[idx], bytes[idx + 1]]);
        Self {
            flags: bytes[0],
            gso_type: bytes[1],
            hdr_len: word(2),
            gso_size: word(4),
            csum_start: word(6),
            csum_offset: word(8),
            num_buffers: word(10),
        }
    }

    pub fn from_basic_bytes(bytes: &[u8; BASIC_LEN]) -> Self {
        let mut long = [0; MERGEABLE_LEN];
        long[..BASIC_LEN].copy_from_slice(bytes);
        Self::from_bytes(&long)
    }

    /// All twelve bytes; the first [`BASIC_LEN`] are the basic header.
    pub fn to_bytes(self) -> [u8; MERGEABLE_LEN] {
        let [a, b] = self.hdr_len.to_ne_bytes();
        let [c, d] = self.gso_size.to_ne_bytes();
        let [e, f] = self.csum_start.to_ne_bytes();
        let [g, h] = self.csum_offset.to_ne_bytes();
        let [i, j] = self.num_buffers.to_ne_bytes();
        [self.flags, self.gso_type, a, b, c, d, e, f, g, h, i, j]
    }

    /// Whether the checksum still has to be completed.
    pub fn needs_csum(self) -> bool {
        self.flags & NEEDS_CSUM != 0
    }

    /// Whether the packet still has to be cut into segments.
    pub fn is_gso(self) -> bool {
        self.gso_type & !GSO_ECN != GSO_NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_and_fields_agree(bytes in any::<[u8; MERGEABLE_LEN]>()) {
            prop_assert_eq!(VnetHeader::from_bytes(&bytes).to_bytes(), bytes);
        }
    }

    #[test]
    fn the_ecn_bit_alone_is_no_segmentation() {
        assert!(!VnetHeader { gso_type: GSO_ECN, ..Default::default() }.is_gso());
        assert!(VnetHeader { gso_type: GSO_ECN | GSO_TCPV4, ..Default::default() }.is_gso());
    }
}
