//! A packet's offload metadata as a virtio-net header, and back.

use element::offload::headers_len;
use element::Packet;
use packet::{Gso, Offload};
use sys::vnet::{VnetHeader, DATA_VALID, GSO_ECN, NEEDS_CSUM};

/// Gives a packet the metadata of the header that it came with.
#[inline]
pub fn apply(packet: &mut Packet, header: VnetHeader) {
    if header.flags == 0 && header.gso_type == 0 {
        return;
    }
    packet.set_offload(Offload {
        needs_checksum: header.needs_csum(),
        checksum_valid: header.flags & DATA_VALID != 0,
        gso: Gso::from_number(header.gso_type & !GSO_ECN).unwrap_or(Gso::None),
        gso_ecn: header.gso_type & GSO_ECN != 0,
        header_len: header.hdr_len,
        gso_size: header.gso_size,
        checksum_start: header.csum_start,
        checksum_offset: header.csum_offset,
    });
}

/// The header of a packet that goes on as it came: others need not believe that somebody has found its checksums good.
#[inline]
pub fn unverified(header: VnetHeader) -> VnetHeader {
    VnetHeader { flags: header.flags & NEEDS_CSUM, ..header }
}

/// The header that a packet goes with; all zeros if nothing is left to be done.
#[inline]
pub fn header_of(packet: &Packet) -> VnetHeader {
    if !packet.has_offload() {
        return VnetHeader::default();
    }
    let offload = packet.offload();
    let mut header = VnetHeader::default();
    if offload.needs_checksum {
        header.flags = NEEDS_CSUM;
        header.csum_start = offload.checksum_start;
        header.csum_offset = offload.checksum_offset;
    }
    if offload.gso != Gso::None {
        header.gso_type = offload.gso as u8 | if offload.gso_ecn { GSO_ECN } else { 0 };
        header.gso_size = offload.gso_size;
        // Headers may have been added or taken off since the length was set.
        header.hdr_len = headers_len(packet, &offload).min(usize::from(u16::MAX)) as u16;
    }
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_told_as_it_came_also_behind_a_stripped_link_header() {
        let mut packet = Packet::zeroed(200);
        packet.data_mut()[34 + 12] = 0x80;
        let came = VnetHeader {
            flags: NEEDS_CSUM,
            gso_type: sys::vnet::GSO_TCPV4 | GSO_ECN,
            hdr_len: 66,
            gso_size: 50,
            csum_start: 34,
            csum_offset: 16,
            num_buffers: 0,
        };
        apply(&mut packet, came);
        assert_eq!(header_of(&packet), came);
        packet.strip(14);
        assert_eq!(header_of(&packet), VnetHeader { hdr_len: 52, csum_start: 20, ..came });
        let mut plain = Packet::zeroed(60);
        apply(&mut plain, VnetHeader { flags: DATA_VALID, ..VnetHeader::default() });
        assert_eq!(header_of(&plain), VnetHeader::default());
    }
}
