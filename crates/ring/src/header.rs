//! What a record says of its data.

use sys::vnet::VnetHeader;

/// What goes with the data of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Bytes on the wire; more than the record's data if the capture cut it off. The producer raises it to the data's length.
    pub wire_len: u32,
    /// Nanoseconds since the epoch.
    pub timestamp_ns: i64,
    /// Checksum and segmentation work that is left to do; the consumer of a record checks it against the data.
    pub vnet: VnetHeader,
}

/// First word where the rest of the ring is left empty because the next record did not fit.
pub(crate) const WRAP: u64 = u64::MAX;

/// Upper half of the last word of every record.
const MARK: u64 = 0x5eed_fade;

/// A record's header as it lies in the ring, in this machine's byte order; made with shifts, for bytes that were just written
/// one by one are slow to read as a word.
///
/// Word 0: length of the data, `wire_len`. Word 1: timestamp. Word 2 and the lower half of 3: virtio-net header,
/// first field lowest; then a mark.
pub(crate) type Words = [u64; 4];

impl Header {
    #[inline]
    pub(crate) fn to_words(self, len: u32) -> Words {
        let vnet = self.vnet;
        let third = [vnet.hdr_len, vnet.gso_size, vnet.csum_start]
            .into_iter()
            .rev()
            .fold(0, |word, part| word << 16 | u64::from(part));
        [
            u64::from(len) | u64::from(self.wire_len.max(len)) << 32,
            self.timestamp_ns as u64,
            u64::from(vnet.flags) | u64::from(vnet.gso_type) << 8 | third << 16,
            u64::from(vnet.csum_offset) | u64::from(vnet.num_buffers) << 16 | MARK << 32,
        ]
    }

    /// The header in four words, if the mark is there.
    #[inline]
    pub(crate) fn from_words(words: Words) -> Option<Header> {
        if words[3] >> 32 != MARK {
            return None;
        }
        Some(Header {
            wire_len: (words[0] >> 32) as u32,
            timestamp_ns: words[1] as i64,
            vnet: VnetHeader {
                flags: words[2] as u8,
                gso_type: (words[2] >> 8) as u8,
                hdr_len: (words[2] >> 16) as u16,
                gso_size: (words[2] >> 32) as u16,
                csum_start: (words[2] >> 48) as u16,
                csum_offset: words[3] as u16,
                num_buffers: (words[3] >> 16) as u16,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn headers_survive(wire_len: u32, timestamp_ns: i64, vnet: [u8; 12], len: u32) {
            let header = Header { wire_len, timestamp_ns, vnet: VnetHeader::from_bytes(&vnet) };
            let words = header.to_words(len);
            let read = Header::from_words(words).unwrap();
            prop_assert_eq!(read, Header { wire_len: wire_len.max(len), ..header });
            prop_assert_eq!(words[0] as u32, len);
        }
    }

    #[test]
    fn empty_memory_is_no_header() {
        assert_eq!(Header::from_words([0; 4]), None);
        assert_eq!(Header::from_words([WRAP; 4]), None);
    }
}
