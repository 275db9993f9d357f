//! Packets whose checksum or segmentation is left to be done (virtio-net metadata), as header rewriters see them.

use crate::Packet;
use packet::{Gso, Offload};
use wire::checksum;

/// Whether the checksum of the marked transport header is partial: its field holds the sum of the pseudo-header only.
#[inline(always)]
pub fn is_partial(packet: &Packet) -> bool {
    packet.has_offload() && is_partial_offload(packet)
}

#[inline(never)]
fn is_partial_offload(packet: &Packet) -> bool {
    let offload = packet.offload();
    offload.needs_checksum && packet.transport_offset() == Some(offload.checksum_start as isize)
}

/// Whether the checksum of the marked transport header is partial and `offset` bytes behind the header's start; one
/// that is elsewhere is completed.
#[inline(always)]
pub fn keep_partial(packet: &mut Packet, offset: u16) -> bool {
    let is_kept = is_partial(packet) && packet.offload().checksum_offset == offset;
    if !is_kept {
        settle(packet);
    }
    is_kept
}

/// Where the field of a partial checksum lies, counted from the network header.
#[inline(always)]
pub fn partial_checksum_at(packet: &Packet) -> Option<usize> {
    if packet.has_offload() {
        checksum_at(packet)
    } else {
        None
    }
}

#[cold]
fn checksum_at(packet: &Packet) -> Option<usize> {
    let offload = packet.offload();
    let start = isize::try_from(offload.checksum_start).ok()?.checked_sub(packet.network_offset()?)?;
    let at = usize::try_from(start).ok()? + usize::from(offload.checksum_offset);
    offload.needs_checksum.then_some(at)
}

/// Whether the checksum of the marked transport header need not be looked at: it is partial, or a device has verified it.
#[inline(always)]
pub fn is_trusted(packet: &Packet) -> bool {
    packet.has_offload() && (packet.offload().checksum_valid || is_partial_offload(packet))
}

/// Completes a partial checksum and gives segmentation up, so that the packet is just its bytes.
#[inline(always)]
pub fn settle(packet: &mut Packet) {
    if packet.has_offload() {
        settle_offload(packet);
    }
}

#[inline(never)]
fn settle_offload(packet: &mut Packet) {
    let offload = packet.offload();
    if offload.needs_checksum {
        let (start, offset) = (usize::from(offload.checksum_start), usize::from(offload.checksum_offset));
        checksum::complete(packet.data_mut(), start, offset);
    }
    packet.set_offload(Offload { checksum_valid: offload.needs_checksum, ..Offload::default() });
}

/// Settles a packet whose first `n` bytes are to change or to go, if its checksum covers some of them.
#[inline(always)]
pub fn settle_before(packet: &mut Packet, n: usize) {
    if packet.has_offload() && n > usize::from(packet.offload().checksum_start) {
        settle_offload(packet);
    }
}

/// Bytes of the longest packet that will be on the wire: of a segment if the packet is still to be cut into segments.
#[inline(always)]
pub fn frame_len(packet: &Packet) -> usize {
    if packet.has_offload() {
        segment_len(packet)
    } else {
        packet.len()
    }
}

/// As [`frame_len`], from the network header on.
#[inline(always)]
pub fn wire_len(packet: &Packet) -> usize {
    let whole = packet.network().len();
    if packet.has_offload() {
        whole.saturating_sub(packet.len() - segment_len(packet))
    } else {
        whole
    }
}

#[inline(never)]
fn segment_len(packet: &Packet) -> usize {
    let offload = packet.offload();
    match offload.gso {
        Gso::None | Gso::UdpFragment => packet.len(),
        Gso::TcpV4 | Gso::TcpV6 | Gso::UdpSegment => {
            packet.len().min(headers_len(packet, &offload) + usize::from(offload.gso_size))
        }
    }
}

/// Bytes in front of the payload of a packet that is to be cut into segments, as far as its transport header tells.
pub fn headers_len(packet: &Packet, offload: &Offload) -> usize {
    let start = usize::from(offload.checksum_start);
    let transport_len = match offload.gso {
        Gso::TcpV4 | Gso::TcpV6 => {
            packet.data().get(start + 12).map_or(20, |byte| usize::from(byte >> 4) * 4)
        }
        Gso::None | Gso::UdpFragment | Gso::UdpSegment => 8,
    };
    packet.len().min(start + transport_len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partial(payload: &[u8]) -> Packet {
        let mut bytes = vec![0u8; 20 + 20];
        bytes[0] = 0x45;
        bytes[32] = 0x50;
        bytes.extend(payload);
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 20);
        packet.set_offload(Offload {
            needs_checksum: true,
            gso: Gso::TcpV4,
            gso_size: 100,
            checksum_start: 20,
            checksum_offset: 16,
            ..Offload::default()
        });
        packet
    }

    #[test]
    fn a_segment_is_as_long_as_its_headers_and_its_share() {
        assert_eq!(wire_len(&partial(&[0; 500])), 140);
        assert_eq!(wire_len(&partial(&[0; 50])), 90);
        let mut framed = partial(&[0; 500]);
        framed.prepend(14);
        assert_eq!((frame_len(&framed), wire_len(&framed)), (154, 140));
    }

    #[test]
    fn what_a_checksum_covers_is_left_alone_until_it_is_complete() {
        let mut packet = partial(&[1; 50]);
        settle_before(&mut packet, 20);
        assert!(packet.has_offload());
        settle_before(&mut packet, 21);
        assert!(!packet.has_offload() && checksum::is_valid(packet.transport()));
    }

    proptest! {
        #[test]
        fn a_settled_packet_has_the_whole_checksum(payload: Vec<u8>) {
            let mut packet = partial(&payload);
            prop_assert!(is_partial(&packet) && is_trusted(&packet));
            settle(&mut packet);
            prop_assert!(!packet.has_offload() && !is_partial(&packet));
            prop_assert!(checksum::is_valid(packet.transport()));
        }
    }
}
