//! A flow hash that is the same for both directions of a flow, to steer both to one place.
//!
//! Unlike a symmetric Toeplitz key, which folds the two endpoints by exclusive or and so gives many flows one hash, the
//! endpoints are put in order and then mixed. The values are the same in every process, hence predictable: they fit for
//! spreading load, not for hash tables (those have [`crate::flow::FlowTable::hash_of`]). Constant time, no memory.

/// Odd numbers without pattern, from the digits of pi, e and the golden ratio.
const MIX: [u64; 3] = [0x243f_6a88_85a3_08d3, 0xb7e1_5162_8aed_2a6b, 0x9e37_79b9_7f4a_7c15];

/// Hash of an IPv4 flow, the same when source and destination are swapped.
///
/// Protocols without ports take 0 for both. All bits are equally good: for n places, use [`spread`].
#[inline]
pub fn symmetric_hash(src: u32, dst: u32, sport: u16, dport: u16, proto: u8) -> u32 {
    let source = u64::from(src) << 16 | u64::from(sport);
    let destination = u64::from(dst) << 16 | u64::from(dport);
    let (low, high) = (source.min(destination), source.max(destination));
    finish(fold(low ^ MIX[0], high ^ MIX[1] ^ u64::from(proto) << 48), low.wrapping_add(high))
}

/// Hash of an IPv6 flow, the same when source and destination are swapped; see [`symmetric_hash`].
#[inline]
pub fn symmetric_hash6(src: u128, dst: u128, sport: u16, dport: u16, proto: u8) -> u32 {
    let (low, high) = if (src, sport) <= (dst, dport) {
        ((src, sport), (dst, dport))
    } else {
        ((dst, dport), (src, sport))
    };
    let ports = u64::from(low.1) << 16 | u64::from(high.1) | u64::from(proto) << 32;
    let lows = fold(low.0 as u64 ^ MIX[0], (low.0 >> 64) as u64 ^ MIX[1]);
    let highs = fold(high.0 as u64 ^ MIX[1], (high.0 >> 64) as u64 ^ MIX[2]);
    finish(fold(lows ^ MIX[2], highs ^ ports ^ MIX[0]), ports)
}

/// One of `n` places for a hash, all equally likely; 0 if there are none.
#[inline]
pub fn spread(hash: u32, n: u32) -> u32 {
    ((u64::from(hash) * u64::from(n)) >> 32) as u32
}

#[inline(always)]
fn finish(mixed: u64, also: u64) -> u32 {
    let hash = fold(mixed ^ also ^ MIX[1], MIX[2]);
    (hash ^ hash >> 32) as u32
}

/// Both halves of the product, so that every bit of the factors reaches every bit of the result.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_directions_have_one_hash(
            src: u32, dst: u32, src6: u128, dst6: u128, sport: u16, dport: u16, proto: u8,
        ) {
            prop_assert_eq!(
                symmetric_hash(src, dst, sport, dport, proto),
                symmetric_hash(dst, src, dport, sport, proto)
            );
            prop_assert_eq!(
                symmetric_hash6(src6, dst6, sport, dport, proto),
                symmetric_hash6(dst6, src6, dport, sport, proto)
            );
        }

        #[test]
        fn ipv6_flows_between_one_address_are_symmetric(addr: u128, sport: u16, dport: u16) {
            prop_assert_eq!(symmetric_hash6(addr, addr, sport, dport, 6), symmetric_hash6(addr, addr, dport, sport, 6));
        }
    }

    /// Fails unless each of 64 places, chosen by the high and by the low bits, gets its share to 25% (over 10 sigma),
    /// and hashes repeat no more often than random ones would.
    fn check_spread(what: &str, hashes: impl Iterator<Item = u32>) {
        let mut hashes: Vec<u32> = hashes.collect();
        let share = hashes.len() / 64;
        let (mut by_high, mut by_low) = ([0usize; 64], [0usize; 64]);
        for hash in &hashes {
            by_high[spread(*hash, 64) as usize] += 1;
            by_low[*hash as usize % 64] += 1;
        }
        for n in by_high.into_iter().chain(by_low) {
            assert!(n.abs_diff(share) < share / 4, "{what}: {n} instead of {share}");
        }
        let n_hashes = hashes.len();
        hashes.sort();
        hashes.dedup();
        let n_repeated = n_hashes - hashes.len();
        let n_expected = n_hashes * n_hashes / 2 / (1 << 32);
        assert!(n_repeated < n_expected * 2 + 10, "{what}: {n_repeated} repeated, {n_expected} expected");
    }

    #[test]
    fn flows_that_differ_little_spread_evenly() {
        let n = 1 << 17;
        check_spread("hosts", (0..n).map(|i| symmetric_hash(0x0a00_0000 + i, 0xc0a8_0001, 1234, 80, 6)));
        check_spread("servers", (0..n).map(|i| symmetric_hash(0x0a00_0001, i << 8, 1234, 80, 6)));
        check_spread("ports", (0..n).map(|i| symmetric_hash(1 + (i >> 16), 2, i as u16, 53, 17)));
        check_spread("equal", (0..n).map(|i| symmetric_hash(0x0a00_0000 + i, 0x0a00_0000 + i, 53, 53, 17)));
        check_spread(
            "parallel",
            (0..n).map(|i| symmetric_hash(0x0a00_0000 + i, 0x0b00_0000 + i, 53, 53, 17)),
        );
        check_spread("zero", (0..n).map(|i| symmetric_hash(i, 0, 0, 0, 1)));
        let net = 0x2001_0db8_u128 << 96;
        check_spread("hosts6", (0..n).map(|i| symmetric_hash6(net + u128::from(i), net, 1234, 80, 6)));
        check_spread("nets6", (0..n).map(|i| symmetric_hash6(net + (u128::from(i) << 64), net, 1234, 80, 6)));
        check_spread(
            "ports6",
            (0..n).map(|i| symmetric_hash6(net + u128::from(i >> 16), net, i as u16, 80, 6)),
        );
    }

    #[test]
    fn a_place_is_always_one_of_those_there_are() {
        assert_eq!((spread(u32::MAX, 3), spread(0, 3), spread(u32::MAX, 0)), (2, 0, 0));
    }
}
