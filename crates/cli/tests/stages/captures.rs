//! Captures as tests make and read them, without weir's own code.

use super::random::Random;

/// The header of a capture with nanoseconds, of Ethernet frames, in this machine's byte order.
pub fn header() -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(0xa1b2_3c4du32.to_ne_bytes());
    bytes.extend([2u16, 4].map(u16::to_ne_bytes).concat());
    bytes.extend([0u32, 0, 262_144, 1].map(u32::to_ne_bytes).concat());
    bytes
}

/// Appends a packet's record.
pub fn add_record(bytes: &mut Vec<u8>, packet: &[u8]) {
    let len = packet.len() as u32;
    bytes.extend([1_700_000_000u32, 7, len, len].map(u32::to_ne_bytes).concat());
    bytes.extend(packet);
}

/// The packets of a capture in nanoseconds; the last one may be cut off.
pub fn packets(bytes: &[u8]) -> Vec<&[u8]> {
    let mut list = Vec::new();
    assert!(bytes.is_empty() || bytes.starts_with(&header()[..8]), "no capture: {:02x?}", bytes.get(..24));
    let mut rest = bytes.get(24..).unwrap_or_default();
    while let Some((head, body)) = rest.split_first_chunk::<16>() {
        let len = u32::from_ne_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let Some((packet, next)) = body.split_at_checked(len) else { break };
        list.push(packet);
        rest = next;
    }
    list
}

/// Packet `idx` of the flow that grows from a seed: mostly short, contents at random.
pub fn packet(seed: u64, idx: u64) -> Vec<u8> {
    let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(idx));
    let len = match random.below(8) {
        0 => 60 + random.below(1455),
        1 => 1514,
        _ => 60 + random.below(200),
    };
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(random.next().to_ne_bytes());
    }
    bytes.truncate(len);
    bytes
}
