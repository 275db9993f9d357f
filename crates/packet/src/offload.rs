//! Offload metadata: what a virtio-net header says of a packet (Virtual I/O Device 1.2, section 5.1.6).

/// Segmentation that is still to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Gso {
    /// The packet goes out as it is.
    #[default]
    None = 0,
    /// TCP over IPv4.
    TcpV4 = 1,
    /// UDP datagrams cut into IPv4 fragments (obsolete).
    UdpFragment = 3,
    /// TCP over IPv6.
    TcpV6 = 4,
    /// UDP cut into datagrams.
    UdpSegment = 5,
}

/// A packet's offload metadata. Offsets count from the start of the packet's data when it was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Offload {
    /// The checksum field holds only the pseudo-header's sum; the rest is to be added.
    pub needs_checksum: bool,
    /// The checksum has been verified by the device.
    pub checksum_valid: bool,
    /// Segmentation to be done.
    pub gso: Gso,
    /// The segments carry congestion marks (ECN).
    pub gso_ecn: bool,
    /// Bytes of headers that each segment repeats.
    pub header_len: u16,
    /// Payload bytes a segment.
    pub gso_size: u16,
    /// Where the checksum begins, from the start of the buffer's frame.
    pub checksum_start: u16,
    /// Where the checksum field is, from `checksum_start`.
    pub checksum_offset: u16,
}

/// Flag: the checksum is to be completed.
pub(crate) const F_NEEDS_CSUM: u8 = 1;
/// Flag: the checksum is valid.
pub(crate) const F_DATA_VALID: u8 = 2;
/// Bit of the GSO type: segments carry ECN.
pub(crate) const GSO_ECN: u8 = 0x80;

impl Gso {
    /// The kind with this number, if there is one.
    pub fn from_number(number: u8) -> Option<Gso> {
        Some(match number {
            0 => Gso::None,
            1 => Gso::TcpV4,
            3 => Gso::UdpFragment,
            4 => Gso::TcpV6,
            5 => Gso::UdpSegment,
            _ => return None,
        })
    }
}
