//! Capture streams: reading and writing pcap and pcapng, plain or compressed.
//!
//! [`Decoder`] and [`Encoder`] turn bytes into records and back and do no I/O, which suits pipes that must not block.
//! [`Reader`] and [`Writer`] drive them over `std::io`. [`link`] knows what each link type means and where its IP
//! header starts.

mod buffer;
mod compression;
mod decoder;
mod encoder;
mod error;
mod kept;
pub mod link;
mod pcap;
mod pcapng;
mod pcapng_interface;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use compression::{decompress, is_named_pcapng, Output, HEAD_LEN};
pub use decoder::{Decoder, PlainFrames, Progress};
pub use encoder::{Encoder, Format, Precision};
pub use error::{CaptureError, Rule};
pub use kept::Kept;
pub use reader::Reader;
pub use writer::Writer;

/// Captured bytes of one packet that a [`Decoder`] accepts unless told otherwise: libpcap's own limit.
pub const MAX_CAPTURED_LEN: u32 = 262_144;

/// First bytes of captures: pcap of microseconds and of nanoseconds, of either byte order, and pcapng.
const MAGICS: [[u8; 4]; 5] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// Whether what begins so is a capture that is not compressed.
pub fn begins(head: &[u8]) -> bool {
    head.first_chunk::<4>().is_some_and(|magic| MAGICS.contains(magic))
}

/// A point in time: seconds and nanoseconds since the epoch, `nanoseconds` below one thousand million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    /// Whole seconds since 1970, negative before.
    pub seconds: i64,
    /// Nanoseconds into the second.
    pub nanoseconds: u32,
}

/// A packet of a capture, whose bytes are borrowed from the reader's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When the packet was captured; 0 where the capture does not say.
    pub timestamp: Timestamp,
    /// Length of the packet on the wire; never less than `data.len()`.
    pub wire_len: u32,
    /// The captured bytes, beginning with the link-layer header.
    pub data: &'a [u8],
    /// The interface that it was captured on, counted from 0 in its pcapng section; 0 in pcap.
    pub interface: u32,
    /// Link type of that interface, see [`link`].
    pub link_type: u32,
    /// Where the record starts in the uncompressed stream.
    pub offset: u64,
}

/// What was found out about a record, before its bytes are borrowed.
#[derive(Clone, Copy, Debug)]
struct Found {
    timestamp: Timestamp,
    wire_len: u32,
    interface: u32,
    link_type: u32,
    /// Captured bytes, from the start of the window.
    data_at: usize,
    data_len: usize,
    /// All bytes of the record, from the start of the window.
    len: usize,
}

/// What a format makes of the bytes at hand, the window.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// It cannot tell before the window holds so many bytes.
    Need(usize),
    /// So many bytes, which may reach beyond the window, say nothing about packets.
    Skip(u64),
    /// The window starts with a record.
    Record(Found),
    /// Another capture starts here.
    Restart,
}

/// Byte order of a capture's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The 16-bit number at `at`, 0 if it is not there.
    fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
        match self {
            ByteOrder::Little => u16::from_le_bytes(raw),
            ByteOrder::Big => u16::from_be_bytes(raw),
        }
    }

    /// The 32-bit number at `at`, 0 if it is not there.
    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let [number] = bytes.get(at..).and_then(|rest| self.u32s(rest)).unwrap_or_default();
        number
    }

    /// The 32-bit numbers at the start, if all are there.
    #[inline(always)]
    fn u32s<const N: usize>(self, bytes: &[u8]) -> Option<[u32; N]> {
        let (words, _) = bytes.as_chunks();
        let words = *words.first_chunk()?;
        Some(match self {
            ByteOrder::Little => words.map(u32::from_le_bytes),
            ByteOrder::Big => words.map(u32::from_be_bytes),
        })
    }
}
