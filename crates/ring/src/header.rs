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

/// A record's header as it lies in the ring, in this machine's byte order.
///
/// Word 0: length of the data, `wire_len`. Word 1: timestamp. Word 2 and the lower half of 3: virtio-net header; then a mark.
pub(crate) type Words = [u64; 4];

impl Header {
    #[inline]
    pub(crate) fn to_words(self, len: u32) -> Words {
        let bytes = self.vnet.to_bytes();
        let (long, short) = bytes.split_first_chunk::<8>().expect("12 bytes are more than 8");
        let short = u32::from_ne_bytes(short.try_into().expect("12 bytes less 8 are 4"));
        [
            u64::from(len) | u64::from(self.wire_len.max(len)) << 32,
            self.timestamp_ns as u64,
            u64::from_ne_bytes(*long),
            u64::from(short) | MARK << 32,
        ]
    }

    /// The header in four words, if the mark is there.
    #[inline]
    pub(crate) fn from_words(words: Words) -> Option<Header> {
        if words[3] >> 32 != MARK {
            return None;
        }
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&words[2].to_ne_bytes());
        bytes[8..].copy_from_slice(&(words[3] as u32).to_ne_bytes());
        Some(Header {
            wire_len: (words[0] >> 32) as u32,
            timestamp_ns: words[1] as i64,
            vnet: VnetHeader::from_bytes(&bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
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
