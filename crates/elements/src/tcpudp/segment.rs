//! The marked transport segment of an IPv4 packet and its checksum.

use element::Packet;
use wire::{checksum, Ipv4};

/// The IPv4 header of a packet with the lengths by which it and its segment are checked.
pub struct Outer<'p> {
    bytes: &'p [u8],
    header: &'p [u8; 20],
}

impl<'p> Outer<'p> {
    /// The marked header; `None` if there is none or it is cut off.
    #[inline(always)]
    pub fn of(packet: &'p Packet) -> Option<Outer<'p>> {
        let bytes = packet.network();
        Some(Outer { bytes, header: bytes.first_chunk()? })
    }

    /// Protocol of the segment.
    #[inline(always)]
    pub fn protocol(&self) -> u8 {
        self.header[9]
    }

    /// Bytes of the header, by its length field.
    #[inline(always)]
    pub fn header_len(&self) -> u32 {
        u32::from(self.header[0] & 0x0f) * 4
    }

    /// Total length.
    #[inline(always)]
    pub fn total_len(&self) -> u32 {
        u32::from(u16::from_be_bytes([self.header[2], self.header[3]]))
    }

    /// Whether this is a fragment, the first included.
    #[inline(always)]
    pub fn is_fragment(&self) -> bool {
        u16::from_be_bytes([self.header[6], self.header[7]]) & 0x3fff != 0
    }

    /// Sum of the pseudo-header of a segment of `len` bytes.
    #[inline(always)]
    pub fn pseudo_header_sum(&self, len: u16) -> u16 {
        if self.header[0] == 0x45 {
            let address = |at: usize| {
                [self.header[at], self.header[at + 1], self.header[at + 2], self.header[at + 3]].into()
            };
            return checksum::pseudo_ipv4(address(12), address(16), self.protocol(), len);
        }
        self.source_routed_sum(len)
    }

    /// The same for a header with options, which may name another final destination.
    #[inline(never)]
    fn source_routed_sum(&self, len: u16) -> u16 {
        let mut header = [0; 60];
        let n = self.bytes.len().min(self.header_len() as usize).clamp(20, header.len());
        for (to, from) in header.iter_mut().zip(self.bytes.iter().take(n)) {
            *to = *from;
        }
        // Whatever the version says, as Click.
        header[0] = 0x40 | (n / 4) as u8;
        Ipv4::new(&header[..]).map_or(0, |ip| ip.pseudo_header_sum(len))
    }

    /// Whether the checksum that the first `len` bytes of `segment` hold is right.
    #[inline(always)]
    pub fn is_valid(&self, segment: &[u8], len: u32) -> bool {
        let covered = segment.get(..len as usize).unwrap_or_default();
        checksum::is_transport_valid(self.pseudo_header_sum(len as u16), covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_header_is_survived(bytes: Vec<u8>, header_len in 0usize..80, len: u32) {
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(0, header_len);
            if let Some(outer) = Outer::of(&packet) {
                outer.is_valid(packet.transport(), len);
                outer.pseudo_header_sum(len as u16);
            }
        }
    }

    #[test]
    fn a_source_route_gives_the_destination() {
        let mut bytes = [0; 28];
        bytes[0] = 0x47;
        bytes[16..20].copy_from_slice(&[1, 1, 1, 1]);
        bytes[20..28].copy_from_slice(&[131, 7, 8, 2, 2, 2, 2, 0]);
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 28);
        let sum = |packet: &Packet| Outer::of(packet).map(|outer| outer.pseudo_header_sum(0));
        assert_eq!(sum(&packet), Some(0x0404));
        packet.data_mut()[0] = 0x45;
        assert_eq!(sum(&packet), Some(0x0202));
    }

    #[test]
    fn what_hardware_completes_is_trusted() {
        let mut packet = Packet::from_bytes(&[0; 40]);
        packet.set_network_header(0, 20);
        let offload = packet::Offload {
            needs_checksum: true,
            checksum_start: 20,
            checksum_offset: 16,
            ..packet::Offload::default()
        };
        packet.set_offload(offload);
        assert!(element::offload::is_trusted(&packet));
        packet.set_network_header(0, 24);
        assert!(!element::offload::is_trusted(&packet));
    }
}
