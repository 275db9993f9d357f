//! The encoder: records in, capture bytes out, without any I/O.

use super::{pcap, pcapng, Timestamp};

/// Capture format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// pcap, which everything reads.
    Pcap,
    /// pcapng.
    Pcapng,
}

/// Unit of the timestamps to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Microseconds; finer time is cut off.
    Micro,
    /// Nanoseconds.
    Nano,
}

/// Turns packets of one interface into the bytes of a capture stream, little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Encoder {
    format: Format,
    precision: Precision,
    link_type: u32,
    snaplen: u32,
}

impl Encoder {
    /// An encoder that cuts packets at `snaplen` bytes; `u32::MAX` for no limit.
    pub fn new(format: Format, precision: Precision, link_type: u32, snaplen: u32) -> Self {
        Encoder { format, precision, link_type, snaplen }
    }

    /// Cuts further packets at so many bytes; what the header said stays.
    pub fn set_snaplen(&mut self, snaplen: u32) {
        self.snaplen = snaplen;
    }

    /// Appends what a stream starts with.
    pub fn header(&self, out: &mut Vec<u8>) {
        match self.format {
            Format::Pcap => self.pcap_header(out),
            Format::Pcapng => self.pcapng_header(out),
        }
    }

    /// Appends a packet that was `wire_len` bytes long on the wire.
    #[inline(always)]
    pub fn record(&self, out: &mut Vec<u8>, timestamp: Timestamp, wire_len: u32, data: &[u8]) {
        let data = data.get(..self.snaplen as usize).unwrap_or(data);
        let captured = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let lengths = [captured, wire_len.max(captured)];
        match self.format {
            Format::Pcap => self.pcap_record(out, timestamp, lengths, data),
            Format::Pcapng => self.pcapng_record(out, timestamp, lengths, data),
        }
    }

    fn pcap_header(&self, out: &mut Vec<u8>) {
        let magic = match self.precision {
            Precision::Micro => pcap::MAGIC_MICRO,
            Precision::Nano => pcap::MAGIC_NANO,
        };
        numbers(out, [magic, 4 << 16 | 2, 0, 0, self.snaplen, self.link_type]);
    }

    #[inline(always)]
    fn pcap_record(&self, out: &mut Vec<u8>, timestamp: Timestamp, lengths: [u32; 2], data: &[u8]) {
        let fraction = match self.precision {
            Precision::Micro => timestamp.nanoseconds / 1000,
            Precision::Nano => timestamp.nanoseconds,
        };
        // The format has 32 bits for the seconds.
        numbers(out, [timestamp.seconds as u32, fraction, lengths[0], lengths[1]]);
        out.extend_from_slice(data);
    }

    fn pcapng_header(&self, out: &mut Vec<u8>) {
        // Version 1.0, a section of unknown length.
        numbers(out, [pcapng::SECTION_HEADER, 28, pcapng::BYTE_ORDER_MAGIC, 1, u32::MAX, u32::MAX, 28]);
        let exponent = match self.precision {
            Precision::Micro => 6,
            Precision::Nano => 9,
        };
        let snaplen = if self.snaplen == u32::MAX { 0 } else { self.snaplen };
        // The option if_tsresol (code 9, length 1), then the end of the options.
        numbers(out, [pcapng::INTERFACE, 32, self.link_type & 0xffff, snaplen, 1 << 16 | 9, exponent, 0, 32]);
    }

    #[inline]
    fn pcapng_record(&self, out: &mut Vec<u8>, timestamp: Timestamp, lengths: [u32; 2], data: &[u8]) {
        let seconds = u64::try_from(timestamp.seconds).unwrap_or(0);
        let (per_second, fraction) = match self.precision {
            Precision::Micro => (1_000_000, timestamp.nanoseconds / 1000),
            Precision::Nano => (1_000_000_000, timestamp.nanoseconds),
        };
        let units = seconds.saturating_mul(per_second).saturating_add(fraction.into());
        let padding = data.len().wrapping_neg() % 4;
        let block_len = u32::try_from(32 + data.len() + padding).unwrap_or(u32::MAX);
        let time = [(units >> 32) as u32, units as u32];
        numbers(out, [pcapng::ENHANCED_PACKET, block_len, 0, time[0], time[1], lengths[0], lengths[1]]);
        out.extend_from_slice(data);
        out.resize(out.len() + padding, 0);
        numbers(out, [block_len]);
    }
}

#[inline(always)]
fn numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u32; N]) {
    out.extend_from_slice(numbers.map(u32::to_le_bytes).as_flattened());
}
