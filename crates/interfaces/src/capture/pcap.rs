//! The pcap format: a file header, then records.

use super::pcapng::{BYTE_ORDER_MAGIC, SECTION_HEADER};
use super::{link, ByteOrder, CaptureError, Found, Rule, Step, Timestamp};

/// Magic number of files with microseconds.
pub(super) const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
/// Magic number of files with nanoseconds.
pub(super) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
/// Magic number of files with 8 more bytes in every record header, as patched Linux versions once wrote.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

/// Length of the file header.
pub(super) const HEADER_LEN: usize = 24;
/// Length of an ordinary record header.
const RECORD_LEN: usize = 16;
/// What the modified format adds to it: interface index, protocol, packet type, padding.
const MODIFIED_LEN: usize = 8;

/// Whether a file header begins so, in one of the byte orders.
pub(super) fn is_magic(number: u32) -> bool {
    let is_known = |number| matches!(number, MAGIC_MICRO | MAGIC_NANO | MAGIC_MODIFIED);
    is_known(number) || is_known(number.swap_bytes())
}

/// What a pcap file header says.
#[derive(Clone, Debug)]
pub(super) struct Pcap {
    order: ByteOrder,
    minor: u16,
    nanoseconds_per_unit: u32,
    record_len: usize,
    /// Whether a record that says that its packet had no bytes has all that were captured.
    pub(super) keeps_unmeasured: bool,
    /// Whether what looks like the header of another capture is a record.
    pub(super) is_single: bool,
    pub(super) snaplen: u32,
    pub(super) link_type: u32,
}

impl Pcap {
    /// Reads the file header; `None` if the magic number is another format's.
    pub(super) fn from_header(header: &[u8]) -> Result<Option<Pcap>, CaptureError> {
        let known = |order: ByteOrder| {
            let (unit, record_len) = match order.u32(header, 0) {
                MAGIC_MICRO => (1000, RECORD_LEN),
                MAGIC_NANO => (1, RECORD_LEN),
                MAGIC_MODIFIED => (1000, RECORD_LEN + MODIFIED_LEN),
                _ => return None,
            };
            Some((order, unit, record_len))
        };
        let Some((order, nanoseconds_per_unit, record_len)) =
            known(ByteOrder::Little).or(known(ByteOrder::Big))
        else {
            return Ok(None);
        };
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        if major != 2 {
            return Err(CaptureError::Version { offset: 4, major, minor });
        }
        let link_type = link::of_header(order.u32(header, 20));
        let snaplen = order.u32(header, 16);
        let (keeps_unmeasured, is_single) = (false, false);
        Ok(Some(Pcap {
            order,
            minor,
            nanoseconds_per_unit,
            record_len,
            keeps_unmeasured,
            is_single,
            snaplen,
            link_type,
        }))
    }

    /// Reads the record at the start of `window`.
    #[inline(always)]
    pub(super) fn step(&self, window: &[u8], offset: u64, max_len: u32) -> Result<Step, CaptureError> {
        let header = window.get(..self.record_len).and_then(|header| self.order.u32s(header));
        let Some([seconds, fraction, mut captured, mut wire_len]) = header else {
            return Ok(Step::Need(self.record_len));
        };
        // Writers before version 2.4 disagreed on the order of the two lengths.
        if self.minor < 3 || (self.minor == 3 && captured > wire_len) {
            (captured, wire_len) = (wire_len, captured);
        }
        // Only a packet that was that long can have been captured beyond what an IP packet may be.
        let max_len = max_len.min(wire_len.max(u16::MAX.into()));
        if captured > max_len {
            // A section header: a capture in the other format follows.
            let is_section =
                seconds == SECTION_HEADER && [captured, captured.swap_bytes()].contains(&BYTE_ORDER_MAGIC);
            if is_section && !self.is_single {
                return Ok(Step::Restart);
            }
            let rule = Rule::AtMost(max_len.into());
            return Err(CaptureError::Corrupt {
                offset,
                what: "captured length",
                value: captured.into(),
                rule,
            });
        }
        // An empty packet whose time is a magic number is the header of another capture: streams of several writers.
        if wire_len == 0 {
            if !self.is_single && is_magic(seconds) {
                return Ok(Step::Restart);
            }
            if self.keeps_unmeasured {
                wire_len = captured;
            }
        }
        // Some writers claim to have captured more than there was; the surplus is not part of the packet, and need not be
        // there.
        let data_len = captured.min(wire_len) as usize;
        if window.len() < self.record_len + data_len {
            return Ok(Step::Need(self.record_len + data_len));
        }
        Ok(Step::Record(Found {
            timestamp: self.timestamp(seconds, fraction),
            wire_len,
            interface: 0,
            link_type: self.link_type,
            data_at: self.record_len,
            data_len,
            len: self.record_len + captured as usize,
        }))
    }

    /// Whether [`Pcap::plain`] can be asked: Ethernet frames with the lengths, and the byte order, that writers use today.
    pub(super) fn may_be_plain(&self) -> bool {
        let is_ordinary = self.record_len == RECORD_LEN && self.minor >= 4;
        is_ordinary && self.order == ByteOrder::Little && self.link_type == link::ETHERNET
    }

    /// The record at the start of `bytes`, if it is whole and the most ordinary one: all of a frame of `max_len` bytes at most, with
    /// a time of the clock. What stands behind its header, how much of that is the frame, and its time in nanoseconds.
    #[inline(always)]
    pub(super) fn plain<'a>(&self, bytes: &'a [u8], max_len: usize) -> Option<(&'a [u8], usize, i64)> {
        let (header, rest) = bytes.split_first_chunk::<RECORD_LEN>()?;
        let [seconds, fraction, captured, wire_len] = ByteOrder::Little.u32s(header)?;
        let (len, nanoseconds) = (captured as usize, fraction.wrapping_mul(self.nanoseconds_per_unit));
        let is_plain = captured == wire_len && captured > 0 && nanoseconds < 1_000_000_000;
        if !is_plain || len > max_len.min(rest.len()) {
            return None;
        }
        Some((rest, len, i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds)))
    }

    /// A record's time; a fraction of a second or more, which no writer means, wraps as in Click and is carried over.
    #[inline]
    fn timestamp(&self, seconds: u32, fraction: u32) -> Timestamp {
        let nanoseconds = fraction.wrapping_mul(self.nanoseconds_per_unit);
        if nanoseconds < 1_000_000_000 {
            return Timestamp { seconds: seconds.into(), nanoseconds };
        }
        let seconds = i64::from(seconds) + i64::from(nanoseconds / 1_000_000_000);
        Timestamp { seconds, nanoseconds: nanoseconds % 1_000_000_000 }
    }
}
