//! Where a packet's headers begin.

use crate::slot::View;
use crate::Packet;

/// A header offset that is not set.
pub(crate) const UNSET: u32 = u32::MAX;

/// Offsets beyond the largest packet are as good as this one; a few of them add up to less than [`UNSET`].
const FAR: usize = 1 << 30;

impl Packet {
    /// Offset of the link-layer header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn mac_offset(&self) -> Option<isize> {
        self.relative(self.meta().mac)
    }

    /// Offset of the network header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn network_offset(&self) -> Option<isize> {
        self.relative(self.meta().network)
    }

    /// Offset of the transport header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn transport_offset(&self) -> Option<isize> {
        self.relative(self.meta().transport)
    }

    #[inline]
    fn relative(&self, offset: u32) -> Option<isize> {
        (offset != UNSET).then(|| offset as isize - self.offset() as isize)
    }

    /// Bytes of the network header: from it to the transport header; 0 if either is not set.
    #[inline]
    pub fn network_header_len(&self) -> usize {
        let meta = self.meta();
        match (meta.network, meta.transport) {
            (UNSET, _) | (_, UNSET) => 0,
            (network, transport) => transport.saturating_sub(network) as usize,
        }
    }

    /// The bytes from the network header to the end of the packet, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn network(&self) -> &[u8] {
        self.tail_from(self.meta().network)
    }

    /// The bytes from the transport header to the end of the packet, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn transport(&self) -> &[u8] {
        self.tail_from(self.meta().transport)
    }

    /// The bytes from the link-layer header on, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn mac(&self) -> &[u8] {
        self.tail_from(self.meta().mac)
    }

    /// As [`Packet::network`], to be written.
    #[inline]
    pub fn network_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        let offset = self.meta().network;
        self.tail_from_mut(offset)
    }

    /// As [`Packet::transport`], to be written.
    #[inline]
    pub fn transport_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        let offset = self.meta().transport;
        self.tail_from_mut(offset)
    }

    #[inline]
    fn tail_from(&self, offset: u32) -> &[u8] {
        let meta = self.meta();
        let end = meta.end;
        // An offset that is not set is larger than any end.
        if offset > end {
            return &[];
        }
        // SAFETY: `offset <= end <= cap`, and all bytes of a buffer are initialised.
        unsafe { std::slice::from_raw_parts(meta.base().add(offset as usize), (end - offset) as usize) }
    }

    /// The caller has made the buffer unique.
    #[inline]
    fn tail_from_mut(&mut self, offset: u32) -> &mut [u8] {
        let end = self.meta().end;
        if offset > end {
            return &mut [];
        }
        let base = self.meta_mut().base();
        // SAFETY: as in `tail_from`; the buffer has one user, this packet.
        unsafe { std::slice::from_raw_parts_mut(base.add(offset as usize), (end - offset) as usize) }
    }

    /// Sets the link-layer header to `offset` bytes after the start of the data, and the network header behind its
    /// `header_len` bytes.
    #[inline]
    pub fn set_mac_header(&mut self, offset: usize, header_len: usize) {
        let at = self.absolute(offset);
        let meta = self.meta_mut();
        meta.mac = at;
        meta.network = at + header_len.min(FAR) as u32;
    }

    /// Sets the link-layer header alone.
    #[inline]
    pub fn set_mac_offset(&mut self, offset: usize) {
        self.meta_mut().mac = self.absolute(offset);
    }

    /// Sets the network header to `offset` bytes after the start of the data, and the transport header behind its
    /// `header_len` bytes.
    #[inline]
    pub fn set_network_header(&mut self, offset: usize, header_len: usize) {
        let at = self.absolute(offset);
        let meta = self.meta_mut();
        meta.network = at;
        meta.transport = at + header_len.min(FAR) as u32;
    }

    /// Forgets the link-layer header.
    pub fn clear_mac_header(&mut self) {
        self.meta_mut().mac = UNSET;
    }

    /// Forgets the network header.
    pub fn clear_network_header(&mut self) {
        self.meta_mut().network = UNSET;
    }

    /// Forgets the transport header.
    pub fn clear_transport_header(&mut self) {
        self.meta_mut().transport = UNSET;
    }

    #[inline]
    fn absolute(&self, offset: usize) -> u32 {
        self.offset() + offset.min(FAR) as u32
    }
}

impl View {
    /// Goes along with bytes that moved by so many within a buffer, or to there in another.
    pub(crate) fn shift_headers(&mut self, by: i64) {
        for offset in [&mut self.mac, &mut self.network, &mut self.transport] {
            if *offset != UNSET {
                *offset = u32::try_from(i64::from(*offset) + by).unwrap_or(UNSET);
            }
        }
        let start = (i64::from(self.checksum_start) + by).clamp(0, u16::MAX.into());
        self.checksum_start = start as u16;
    }
}
