//! The Internet checksum (RFC 1071): one's-complement sums, incremental updates, pseudo-headers, partial checksums.
//!
//! A *sum* is a folded 16-bit one's-complement sum, not complemented, in host order; 0 stands for a sum over nothing
//! but zero bytes, and any other sum that is congruent to 0 is 0xffff. A *checksum* is its complement, as headers
//! hold it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Sum of `bytes`; an odd last byte counts as if a zero byte followed.
#[inline]
pub fn sum(bytes: &[u8]) -> u16 {
    // RFC 1071 2(B) and (C): sums may be taken in the machine's byte order and swapped at the end, and of longer words at once.
    // Four at a time do not wait for each other.
    let (blocks, rest) = bytes.as_chunks::<32>();
    let whole = if blocks.is_empty() { 0 } else { sum_blocks(blocks) };
    let (words, rest) = rest.as_chunks();
    let sum = words.iter().fold(whole, |sum, word| add_wide(sum, u64::from_ne_bytes(*word)));
    fold(add_wide(sum, short_sum(rest))).to_be()
}

/// Sum of blocks, in the machine's byte order.
#[inline(always)]
fn sum_blocks(blocks: &[[u8; 32]]) -> u64 {
    let mut sums = [0; 4];
    for block in blocks {
        let (words, _) = block.as_chunks();
        for (sum, word) in sums.iter_mut().zip(words) {
            *sum = add_wide(*sum, u64::from_ne_bytes(*word));
        }
    }
    let [a, b, c, d] = sums;
    add_wide(add_wide(a, b), add_wide(c, d))
}

/// Sum of fewer than eight bytes, in the machine's byte order.
#[inline(always)]
fn short_sum(mut bytes: &[u8]) -> u64 {
    let mut sum = 0;
    if let Some((word, rest)) = bytes.split_first_chunk() {
        sum += u64::from(u32::from_ne_bytes(*word));
        bytes = rest;
    }
    if let Some((word, rest)) = bytes.split_first_chunk() {
        sum += u64::from(u16::from_ne_bytes(*word));
        bytes = rest;
    }
    if let [last, ..] = bytes {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    sum
}

/// One's-complement addition.
#[inline(always)]
fn add_wide(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

/// Sum of a 20-byte header, such as an IPv4 header without options.
#[inline]
pub fn sum_20(header: &[u8; 20]) -> u16 {
    fold(wide_sum(header, !0)).to_be()
}

/// Whether a 20-byte header, not all of whose bytes are 0, holds its own checksum and is intact.
#[inline]
pub fn is_valid_20(header: &[u8; 20]) -> bool {
    // One's-complement sums are sums modulo 2^16 - 1, of words of any multiple of 16 bits.
    wide_sum(header, !0).is_multiple_of(0xffff)
}

/// Sum of a 20-byte IPv4 header as if its checksum, at offset 10, were 0. Nothing is written before it is read: a read over a
/// write that is still on its way would wait for it.
#[inline]
pub fn sum_20_without_checksum(header: &[u8; 20]) -> u16 {
    const ALL_BUT_CHECKSUM: u64 = u64::from_ne_bytes([0xff, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff]);
    fold(wide_sum(header, ALL_BUT_CHECKSUM)).to_be()
}

/// Unfolded sum of 20 bytes, the second eight of them masked, in the machine's byte order.
#[inline(always)]
fn wide_sum(header: &[u8; 20], mask: u64) -> u64 {
    let word = |at: usize| {
        header.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
    };
    let (first, second) = (word(0), word(8) & mask);
    let third = header.last_chunk().map_or(0, |word| u64::from(u32::from_ne_bytes(*word)));
    add_wide(add_wide(first, second), third)
}

/// Checksum of `bytes`: the complement of their sum.
#[inline]
pub fn checksum(bytes: &[u8]) -> u16 {
    !sum(bytes)
}

/// Whether `bytes`, which hold their own checksum, are intact.
#[inline]
pub fn is_valid(bytes: &[u8]) -> bool {
    sum(bytes) == 0xffff
}

/// Folds a sum of words of 16, 32 or 64 bits into 16 bits.
#[inline]
pub fn fold(sum: u64) -> u16 {
    // Added to itself with its halves exchanged, a word has the sum of the halves twice; the upper one took in the lower one's carry.
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
}

/// One's-complement addition of two sums.
#[inline]
pub fn add(a: u16, b: u16) -> u16 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u16::from(carry)
}

/// Sum of two adjoining pieces, the first of which is `first_len` bytes long.
///
/// RFC 1071 2(B): behind an odd number of bytes, every byte of the second piece changes its place in the 16-bit words.
#[inline]
pub fn join(first: u16, first_len: usize, second: u16) -> u16 {
    add(first, if first_len.is_multiple_of(2) { second } else { second.swap_bytes() })
}

/// The checksum after a 16-bit word changed from `old` to `new` (RFC 1624, equation 3); both may as well be sums, of
/// the covered bytes before and after any change.
///
/// Like all updates it gives 0 where recomputing over nothing but zero bytes would give 0xffff; IP, TCP and UDP always
/// cover a byte that is not 0.
#[inline]
pub fn update_u16(checksum: u16, old: u16, new: u16) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// The checksum after an aligned 32-bit word, such as an IPv4 address, changed from `old` to `new` (RFC 1624).
#[inline]
pub fn update_u32(checksum: u16, old: u32, new: u32) -> u16 {
    !fold(u64::from(!checksum) + u64::from(!old) + u64::from(new))
}

/// Sum of the IPv4 pseudo-header of TCP and UDP: addresses, protocol, length of the segment (RFC 793, RFC 768).
#[inline]
pub fn pseudo_ipv4(source: Ipv4Addr, destination: Ipv4Addr, protocol: u8, len: u16) -> u16 {
    let addresses = u64::from(source.to_bits()) + u64::from(destination.to_bits());
    fold(addresses + u64::from(protocol) + u64::from(len))
}

/// Sum of the IPv6 pseudo-header: addresses, length of the segment, protocol (RFC 8200, section 8.1).
#[inline]
pub fn pseudo_ipv6(source: Ipv6Addr, destination: Ipv6Addr, protocol: u8, len: u32) -> u16 {
    let words = |address: Ipv6Addr| {
        let bits = address.to_bits();
        [bits >> 96, bits >> 64, bits >> 32, bits].iter().map(|word| u64::from(*word as u32)).sum::<u64>()
    };
    fold(words(source) + words(destination) + u64::from(protocol) + u64::from(len))
}

/// Checksum of a whole transport segment whose pseudo-header adds up to `pseudo`.
///
/// The segment's own checksum field must hold 0. A UDP sender stores 0xffff in place of 0 (RFC 768): see
/// [`nonzero`].
#[inline]
pub fn transport(pseudo: u16, segment: &[u8]) -> u16 {
    !add(pseudo, sum(segment))
}

/// As [`transport`], as if the segment's own checksum field, at the even offset `at`, held 0; `pseudo` is not 0 unless the segment
/// ends before that. Nothing is written before it is read: a read over a write that is still on its way would wait for it.
#[inline]
pub fn transport_without(pseudo: u16, segment: &[u8], at: usize) -> u16 {
    let field = match segment.get(at..) {
        Some([a, b, ..]) => u16::from_be_bytes([*a, *b]),
        Some([a]) => u16::from_be_bytes([*a, 0]),
        _ => return transport(pseudo, segment),
    };
    !add(add(pseudo, sum(segment)), !field)
}

/// Whether the checksum of a transport segment whose pseudo-header adds up to `pseudo` is right.
#[inline]
pub fn is_transport_valid(pseudo: u16, segment: &[u8]) -> bool {
    add(pseudo, sum(segment)) == 0xffff
}

/// The checksum in the form that UDP sends: 0 means "none" there and becomes 0xffff (RFC 768).
#[inline]
pub fn nonzero(checksum: u16) -> u16 {
    if checksum == 0 {
        0xffff
    } else {
        checksum
    }
}

/// Completes a partial checksum, as segmentation offload leaves it: the field at `start + offset` holds the sum of the
/// pseudo-header, and the checksum covers `packet[start..]`. Returns whether the field lies in the packet.
///
/// A result of 0 is stored as 0xffff, which every protocol accepts.
#[inline]
pub fn complete(packet: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(covered) = packet.get_mut(start..) else { return false };
    let value = nonzero(checksum(covered));
    let Some(field) = covered.get_mut(offset..).and_then(|rest| rest.first_chunk_mut()) else { return false };
    *field = value.to_be_bytes();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ipv6;
    use proptest::prelude::*;

    /// The definition in RFC 1071, word by word.
    fn slow_sum(bytes: &[u8]) -> u16 {
        bytes.chunks(2).fold(0, |sum, word| {
            let value = u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)]);
            add(sum, value)
        })
    }

    #[test]
    fn the_example_of_rfc_1071_adds_up() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
    }

    #[test]
    fn the_example_of_rfc_1624_updates_to_zero() {
        // Section 4: HC 0xdd2f, m 0x5555, m' 0x3285; equation 3 gives 0x0000 where RFC 1141 gave 0xffff.
        assert_eq!(update_u16(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn nothing_and_zeros_sum_to_zero() {
        assert_eq!((sum(&[]), sum(&[0; 77]), checksum(&[0; 20])), (0, 0, 0xffff));
    }

    #[test]
    fn all_ones_of_the_greatest_packet_do_not_overflow() {
        assert_eq!(sum(&vec![0xff; 65536]), 0xffff);
        assert_eq!(fold(u64::MAX), 0xffff);
    }

    #[test]
    fn a_field_outside_the_packet_is_not_completed() {
        let mut packet = [1u8; 10];
        assert!(!complete(&mut packet, 11, 0));
        assert!(!complete(&mut packet, 4, 5));
        assert!(!complete(&mut packet, 4, usize::MAX));
        assert_eq!(packet, [1; 10]);
    }

    proptest! {
        #[test]
        fn the_fast_sum_is_the_defined_sum(bytes: Vec<u8>) {
            prop_assert_eq!(sum(&bytes), slow_sum(&bytes));
        }

        #[test]
        fn long_sums_are_the_defined_sum(seed: u64, len in 0usize..70_000) {
            let bytes: Vec<u8> = (0..len as u64).map(|i| (seed.wrapping_mul(i + 1) >> 29) as u8).collect();
            prop_assert_eq!(sum(&bytes), slow_sum(&bytes));
        }

        #[test]
        fn the_sum_of_a_header_is_the_sum(header: [u8; 20]) {
            prop_assert_eq!(sum_20(&header), slow_sum(&header));
        }

        #[test]
        fn pieces_join_to_the_whole(bytes: Vec<u8>, at: prop::sample::Index) {
            let at = at.index(bytes.len() + 1);
            let (first, second) = bytes.split_at(at);
            prop_assert_eq!(join(sum(first), at, sum(second)), sum(&bytes));
        }

        #[test]
        fn updates_are_what_recomputing_gives(mut header: [u8; 20], word in 1usize..5, new: [u8; 4]) {
            header[0] |= 0x40;
            let at = word * 4;
            let before = checksum(&header);
            let old: [u8; 4] = header[at..at + 4].try_into().unwrap();
            header[at..at + 4].copy_from_slice(&new);
            let by_u32 = update_u32(before, u32::from_be_bytes(old), u32::from_be_bytes(new));
            let by_u16 = update_u16(
                update_u16(before, u16::from_be_bytes([old[0], old[1]]), u16::from_be_bytes([new[0], new[1]])),
                u16::from_be_bytes([old[2], old[3]]),
                u16::from_be_bytes([new[2], new[3]]),
            );
            prop_assert_eq!(by_u32, checksum(&header));
            prop_assert_eq!(by_u16, checksum(&header));
            prop_assert_eq!(update_u16(before, sum(&old), sum(&new)), checksum(&header));
        }

        #[test]
        fn pseudo_headers_are_sums_of_their_bytes(source: [u8; 16], destination: [u8; 16], protocol: u8, len: u32) {
            let mut v6 = [source, destination].concat();
            v6.extend(len.to_be_bytes());
            v6.extend([0, 0, 0, protocol]);
            prop_assert_eq!(pseudo_ipv6(source.into(), destination.into(), protocol, len), slow_sum(&v6));

            let (s, d) = (*source.first_chunk::<4>().unwrap(), *destination.first_chunk::<4>().unwrap());
            let len = len as u16;
            let mut v4 = [s, d].concat();
            v4.extend([0, protocol]);
            v4.extend(len.to_be_bytes());
            prop_assert_eq!(pseudo_ipv4(s.into(), d.into(), protocol, len), slow_sum(&v4));
        }

        #[test]
        fn a_field_that_does_not_count_is_as_one_that_is_0(
            segment: Vec<u8>, pseudo in prop::sample::select(vec![1, 17, 0xfffe, 0xffff]), at in 0usize..20, is_zero: bool,
        ) {
            let mut segment = segment;
            if is_zero {
                segment.fill(0);
            }
            let at = at * 2;
            let without = transport_without(pseudo, &segment, at);
            let n = segment.len();
            segment[at.min(n)..(at + 2).min(n)].fill(0);
            prop_assert_eq!(without, transport(pseudo, &segment));
        }

        #[test]
        fn a_completed_checksum_is_valid(
            mut segment in prop::collection::vec(any::<u8>(), 20..200), addresses: [u32; 2], start in 0usize..40,
        ) {
            let pseudo = pseudo_ipv4(addresses[0].into(), addresses[1].into(), 6, segment.len() as u16);
            segment[0] |= 1;
            segment[16..18].copy_from_slice(&[0, 0]);
            let whole = nonzero(transport(pseudo, &segment));
            let mut packet = vec![0xaa; start];
            packet.extend(&segment);
            packet[start + 16..start + 18].copy_from_slice(&pseudo.to_be_bytes());
            prop_assert!(complete(&mut packet, start, 16));
            prop_assert_eq!(u16::from_be_bytes([packet[start + 16], packet[start + 17]]), whole);
            prop_assert!(is_transport_valid(pseudo, &packet[start..]));
        }

        #[test]
        fn pseudo_header_of_a_view_takes_its_addresses(mut bytes: [u8; 40], len: u16) {
            bytes[0] = 0x60;
            let ip = Ipv6::new(bytes).unwrap();
            let expected = pseudo_ipv6(ip.source(), ip.destination(), 17, len.into());
            prop_assert_eq!(ip.pseudo_header_sum(17, len.into()), expected);
        }
    }
}
