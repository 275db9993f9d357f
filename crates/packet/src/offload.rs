//! Offload metadata: what a virtio-net header says of a packet (Virtual I/O Device 1.2, section 5.1.6).

use crate::Packet;

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

impl Packet {
    /// Whether a checksum or segmentation is left to be done.
    #[inline]
    pub fn has_offload(&self) -> bool {
        let kinds = self.meta().kinds.get();
        // The two are neighbours: the processor compares them in one.
        [kinds.offload_flags & F_NEEDS_CSUM, kinds.gso_type] != [0, 0]
    }

    /// The offload metadata. Its offsets count from the start of the buffer's frame as it was when they were set.
    pub fn offload(&self) -> Offload {
        let meta = self.meta();
        Offload {
            needs_checksum: meta.kinds.get().offload_flags & F_NEEDS_CSUM != 0,
            checksum_valid: meta.kinds.get().offload_flags & F_DATA_VALID != 0,
            gso: Gso::from_number(meta.kinds.get().gso_type & !GSO_ECN).unwrap_or(Gso::None),
            gso_ecn: meta.kinds.get().gso_type & GSO_ECN != 0,
            header_len: meta.gso_header_len,
            gso_size: meta.gso_size,
            checksum_start: self.relative_to_data(meta.checksum_start),
            checksum_offset: meta.checksum_offset,
        }
    }

    /// Sets the offload metadata; `checksum_start` counts from the start of the data and stays on the same byte when
    /// headers are stripped or prepended.
    pub fn set_offload(&mut self, offload: Offload) {
        let start = self.offset().saturating_add(u32::from(offload.checksum_start));
        self.set_kinds(|kinds| {
            kinds.offload_flags = (u8::from(offload.needs_checksum) * F_NEEDS_CSUM)
                | (u8::from(offload.checksum_valid) * F_DATA_VALID);
            kinds.gso_type = offload.gso as u8 | if offload.gso_ecn { GSO_ECN } else { 0 };
        });
        let meta = self.meta_mut();
        meta.gso_header_len = offload.header_len;
        meta.gso_size = offload.gso_size;
        meta.checksum_start = u16::try_from(start).unwrap_or(u16::MAX);
        meta.checksum_offset = offload.checksum_offset;
    }

    fn relative_to_data(&self, at: u16) -> u16 {
        u16::try_from(u32::from(at).saturating_sub(self.offset())).unwrap_or(u16::MAX)
    }
}
