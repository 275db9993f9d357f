//! The type-of-service byte of marked IPv4 headers.

use element::Packet;
use wire::checksum;

/// Changes the byte and corrects the header checksum; a packet without a marked header stays as it is.
#[inline(always)]
pub fn change(packet: &mut Packet, changed: impl FnOnce(u8) -> u8) {
    if let Some(header) = packet.network_mut().first_chunk_mut::<12>() {
        let old = u16::from_be_bytes([header[0], header[1]]);
        header[1] = changed(header[1]);
        let new = u16::from_be_bytes([header[0], header[1]]);
        let sum = checksum::update_u16(u16::from_be_bytes([header[10], header[11]]), old, new);
        [header[10], header[11]] = sum.to_be_bytes();
    }
}
