//! TCP headers (RFC 9293).

/// Bits of [`Tcp::flags`].
pub mod tcp_flag {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push the data to the reader.
    pub const PSH: u8 = 0x08;
    /// The acknowledgment number counts.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u8 = 0x20;
    /// Congestion was experienced (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: u8 = 0x80;
}

/// Kinds of TCP options.
pub mod tcp_option {
    /// End of the options.
    pub const END: u8 = 0;
    /// Padding of one byte.
    pub const NOP: u8 = 1;
    /// Maximum segment size.
    pub const MSS: u8 = 2;
    /// Window scale.
    pub const WINDOW_SCALE: u8 = 3;
    /// Selective acknowledgments are understood.
    pub const SACK_PERMITTED: u8 = 4;
    /// Selective acknowledgment.
    pub const SACK: u8 = 5;
    /// Timestamps.
    pub const TIMESTAMP: u8 = 8;
}

/// A segment that starts with a whole TCP header, its options included.
#[derive(Clone, Copy, Debug)]
pub struct Tcp<B>(B);

impl Tcp<()> {
    /// Length of a header without options in bytes.
    pub const LEN: usize = 20;
    /// Where the checksum stands in the header.
    pub const CHECKSUM_AT: usize = 16;
}

impl<B: AsRef<[u8]>> Tcp<B> {
    /// Views a segment; `None` unless its header, options included, is all there.
    #[inline]
    pub fn new(segment: B) -> Option<Self> {
        let len = segment.as_ref().len();
        if len < Tcp::LEN {
            return None;
        }
        let tcp = Tcp(segment);
        let header_len = tcp.header_len();
        (header_len >= Tcp::LEN && header_len <= len).then_some(tcp)
    }

    /// Length of the header with its options in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.data_offset() >> 4) * 4
    }

    /// The options with their padding.
    #[inline]
    pub fn options(&self) -> &[u8] {
        self.0.as_ref().get(Tcp::LEN..self.header_len()).unwrap_or_default()
    }

    /// The data that follows the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(self.header_len()..).unwrap_or_default()
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Tcp<B> {
    /// Begins a new header of 20 bytes: data offset set, all else 0; `None` if there is no room.
    #[inline]
    pub fn init(mut segment: B) -> Option<Self> {
        segment.as_mut().get_mut(..Tcp::LEN)?.fill(0);
        let mut tcp = Tcp(segment);
        tcp.set_data_offset(0x50);
        Some(tcp)
    }
}

fields! { Tcp {
    source_port, set_source_port: u16, 0, "Source port.";
    destination_port, set_destination_port: u16, 2, "Destination port.";
    sequence, set_sequence: u32, 4, "Sequence number of the first byte.";
    acknowledgment, set_acknowledgment: u32, 8, "Next sequence number that the sender expects.";
    data_offset, set_data_offset: u8, 12, "Header length in words (high half) and reserved bits.";
    flags, set_flags: u8, 13, "Flags, see [`tcp_flag`].";
    window, set_window: u16, 14, "Receive window, unscaled.";
    checksum, set_checksum: u16, 16, "Checksum over pseudo-header, header and data.";
    urgent, set_urgent: u16, 18, "Urgent pointer.";
} }
