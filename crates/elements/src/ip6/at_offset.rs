//! Looking at a packet from a place that may lie in its headroom.

use element::Packet;

/// Runs `work` on a packet with the place `offset` bytes after the start of its data; if that is negative the data begins there
/// meanwhile. `None` if the place lies before the buffer.
#[inline(always)]
pub fn at_offset<T>(
    packet: &mut Packet,
    offset: i32,
    work: impl FnOnce(&mut Packet, usize) -> T,
) -> Option<T> {
    match usize::try_from(offset) {
        Ok(offset) => Some(work(packet, offset)),
        Err(_) => in_headroom(packet, offset.unsigned_abs() as usize, work),
    }
}

#[inline(never)]
fn in_headroom<T>(
    packet: &mut Packet,
    n_bytes: usize,
    work: impl FnOnce(&mut Packet, usize) -> T,
) -> Option<T> {
    if n_bytes > packet.headroom() {
        return None;
    }
    packet.unstrip(n_bytes);
    let result = work(packet, 0);
    packet.strip(n_bytes);
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_headroom_are_found_and_those_before_it_are_not() {
        let mut packet = Packet::from_bytes(&[1, 2, 3, 4]);
        packet.strip(2);
        let first = |packet: &mut Packet, at: usize| packet.data().get(at).copied();
        assert_eq!(at_offset(&mut packet, 1, first), Some(Some(4)));
        assert_eq!(at_offset(&mut packet, 2, first), Some(None));
        assert_eq!(at_offset(&mut packet, -2, first), Some(Some(1)));
        assert_eq!(at_offset(&mut packet, i32::MIN, first), None);
        assert_eq!(packet.data(), [3, 4]);
    }
}
