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

/// Upper half of the first word of a plain record, and of the last word of others.
const MARK: u64 = 0x5eed_fade;
/// Set in the length of a plain record.
const PLAIN: u64 = 1 << 31;
/// What a plain record's first word holds besides the length.
const PLAIN_MARK: u64 = MARK << 32 | PLAIN;

/// A record's header as it lies in the ring, in this machine's byte order; made with shifts, for bytes that were just written
/// one by one are slow to read as a word.
///
/// Word 0: length of the data, `wire_len`. Word 1: timestamp. Word 2 and the lower half of 3: virtio-net header,
/// first field lowest; then a mark.
///
/// A plain packet has as many bytes as on the wire and an empty virtio-net header. Then there are two words: the length and a mark,
/// and the timestamp.
pub(crate) type Words = [u64; 4];

/// The first word of a plain packet's header.
#[inline(always)]
pub(crate) fn plain_word(len: usize) -> u64 {
    len as u64 | PLAIN_MARK
}

/// The length of the data, if a first word is that of a plain packet's header.
#[inline(always)]
pub(crate) fn plain_len(first: u64) -> Option<u32> {
    (first & !(PLAIN - 1) == PLAIN_MARK).then_some((first & (PLAIN - 1)) as u32)
}

impl Header {
    /// Whether two words tell it all of `len` bytes of data.
    #[inline(always)]
    pub(crate) fn is_plain(&self, len: usize) -> bool {
        self.wire_len as usize <= len && self.vnet == VnetHeader::default()
    }

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
    fn plain_records_are_told_from_others() {
        for len in [0, 64, 70_000] {
            assert_eq!(plain_len(plain_word(len)), Some(len as u32));
            let whole = Header { wire_len: MARK as u32, ..Header::default() };
            assert_eq!(plain_len(whole.to_words(len as u32)[0]), None);
        }
        assert_eq!(plain_len(WRAP), None);
    }

    #[test]
    fn empty_memory_is_no_header() {
        assert_eq!(Header::from_words([0; 4]), None);
        assert_eq!(Header::from_words([WRAP; 4]), None);
    }
}
