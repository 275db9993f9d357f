//! Maglev's consistent hashing: a lookup table that changes little when its members do.
//!
//! After D. E. Eisenbud and others, "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section 3.4:
//! each member has a permutation of the table's places; members take turns at taking the next place of their permutation
//! that is free. A member's permutation depends on nothing but its identity, so that any balancer with the same members
//! makes the same table. A member of weight w takes w turns where one of the largest weight W takes W.

/// A place that nobody has: there are no members.
pub const NOBODY: u16 = u16::MAX;

/// A member of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// What is found at its places.
    pub index: u16,
    /// What tells it from others wherever the table is made: address and port.
    pub identity: u64,
    /// Its share relative to others; 0 for no place at all.
    pub weight: u32,
}

/// A member that is taking places.
struct Taker {
    index: u16,
    weight: u64,
    skip: u64,
    next: u64,
    /// Part of a turn that it has saved up, in units of the largest weight.
    saved: u64,
}

/// The table of a number of places, which must be prime, or else a permutation may not cover all of them.
pub fn table(members: &[Member], size: u32) -> Vec<u16> {
    let mut places = vec![NOBODY; size as usize];
    // The order must not depend on who asks, or on the order in which the members came.
    let mut sorted: Vec<&Member> = members.iter().filter(|member| member.weight > 0).collect();
    sorted.sort_by_key(|member| member.identity);
    let largest = sorted.iter().map(|member| u64::from(member.weight)).max().unwrap_or(0);
    let mut takers: Vec<Taker> = sorted.iter().map(|member| Taker::new(member, u64::from(size))).collect();
    let mut n_free = if takers.is_empty() { 0 } else { places.len() };
    while n_free > 0 {
        for taker in &mut takers {
            taker.saved += taker.weight;
            if taker.saved >= largest && n_free > 0 {
                taker.saved -= largest;
                taker.take(&mut places);
                n_free -= 1;
            }
        }
    }
    places
}

impl Taker {
    fn new(member: &Member, size: u64) -> Taker {
        let (offset, skip) = (mix(member.identity), mix(member.identity ^ 0xa076_1d64_78bd_642f));
        Taker {
            index: member.index,
            weight: member.weight.into(),
            skip: skip % size.saturating_sub(1).max(1) + 1,
            next: offset % size.max(1),
            saved: 0,
        }
    }

    /// Takes the next free place of the permutation; there is one.
    fn take(&mut self, places: &mut [u16]) {
        let size = places.len() as u64;
        for _ in 0..size {
            let at = self.next as usize;
            self.next = (self.next + self.skip) % size;
            if let Some(place) = places.get_mut(at).filter(|place| **place == NOBODY) {
                *place = self.index;
                return;
            }
        }
    }
}

/// Whether a table can have this many places.
pub fn is_prime(n: u32) -> bool {
    n >= 2
        && (2..).take_while(|d| u64::from(*d) * u64::from(*d) <= u64::from(n)).all(|d| !n.is_multiple_of(d))
}

/// All bits of the result depend on all bits of `x` (the finaliser of SplitMix64).
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u32 = 5003;

    fn member(index: u16, weight: u32) -> Member {
        Member { index, identity: u64::from(index) << 16 | 0xc0a8_0000_0000_0050, weight }
    }

    fn count(table: &[u16], index: u16) -> usize {
        table.iter().filter(|place| **place == index).count()
    }

    proptest! {
        #[test]
        fn equal_members_have_equal_shares(n in 1..60u16) {
            let members: Vec<Member> = (0..n).map(|index| member(index, 3)).collect();
            let table = table(&members, SIZE);
            let counts = (0..n).map(|index| count(&table, index));
            let (least, most) = (counts.clone().min().unwrap_or(0), counts.clone().max().unwrap_or(0));
            prop_assert_eq!(counts.sum::<usize>(), SIZE as usize);
            prop_assert!(most - least <= 1, "{} to {}", least, most);
        }

        #[test]
        fn shares_follow_weights(weights in prop::collection::vec(0..20u32, 1..20)) {
            let members: Vec<Member> = (0..).zip(&weights).map(|(index, weight)| member(index, *weight)).collect();
            let (table, all) = (table(&members, SIZE), weights.iter().sum::<u32>());
            for (index, weight) in (0..).zip(&weights) {
                let share = if all == 0 { 0.0 } else { f64::from(SIZE) * f64::from(*weight) / f64::from(all) };
                let n = count(&table, index) as f64;
                // Each of the others may be a turn behind at the end, and its place is shared out by weight.
                let slack = 2.0 + share * weights.len() as f64 / f64::from(SIZE);
                prop_assert!((n - share).abs() <= slack, "{} has {} instead of {}", index, n, share);
            }
        }

        #[test]
        fn the_order_of_members_does_not_matter(n in 1..30u16, by in 0..30usize) {
            let mut members: Vec<Member> = (0..n).map(|index| member(index, u32::from(index % 4))).collect();
            let before = table(&members, SIZE);
            members.rotate_left(by % usize::from(n));
            prop_assert_eq!(before, table(&members, SIZE));
        }

        #[test]
        fn who_leaves_disturbs_few_of_the_others(n in 2..40u16, gone in any::<prop::sample::Index>()) {
            let mut members: Vec<Member> = (0..n).map(|index| member(index, 1)).collect();
            let before = table(&members, SIZE);
            let gone = members.remove(gone.index(usize::from(n))).index;
            let after = table(&members, SIZE);
            prop_assert!(!after.contains(&gone));
            let pairs = before.iter().zip(&after).filter(|(old, _)| **old != gone);
            let n_moved = pairs.filter(|(old, new)| old != new).count();
            // The paper's figure 12: a few in a hundred where the table is a hundred times its members.
            prop_assert!(n_moved < SIZE as usize / 20, "{} of {} moved", n_moved, SIZE);
            members.push(member(gone, 1));
            prop_assert_eq!(before, table(&members, SIZE));
        }
    }

    #[test]
    fn without_members_no_place_is_taken() {
        assert!(table(&[], 7).iter().all(|place| *place == NOBODY));
        assert!(table(&[member(1, 0)], 7).iter().all(|place| *place == NOBODY));
        assert_eq!(table(&[member(1, 9)], 7), [1; 7]);
    }

    #[test]
    fn sizes_are_prime() {
        let primes: Vec<u32> = (0..30).filter(|n| is_prime(*n)).collect();
        assert_eq!(primes, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
        assert!(is_prime(65537) && !is_prime(65535));
    }
}
