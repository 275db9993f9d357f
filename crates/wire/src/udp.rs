//! UDP headers (RFC 768).

/// A datagram whose 8-byte UDP header is there.
#[derive(Clone, Copy, Debug)]
pub struct Udp<B>(B);

impl Udp<()> {
    /// Length of the header in bytes.
    pub const LEN: usize = 8;
    /// Where the checksum stands in the header.
    pub const CHECKSUM_AT: usize = 6;
}

impl<B: AsRef<[u8]>> Udp<B> {
    /// Views a datagram; `None` if it is shorter than a header.
    #[inline]
    pub fn new(datagram: B) -> Option<Self> {
        (datagram.as_ref().len() >= Udp::LEN).then_some(Udp(datagram))
    }

    /// What follows the header, cut at the datagram's length.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        let end = usize::from(self.len()).min(bytes.len());
        bytes.get(Udp::LEN..end).unwrap_or_default()
    }

    /// Whether the datagram carries no data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.payload().is_empty()
    }
}

fields! { Udp {
    source_port, set_source_port: u16, 0, "Source port.";
    destination_port, set_destination_port: u16, 2, "Destination port.";
    len, set_len: u16, 4, "Length of header and data in bytes.";
    checksum, set_checksum: u16, 6, "Checksum over pseudo-header, header and data; 0 if there is none (IPv4 only).";
} }
