//! Alignments: what is known of where packets begin in memory, and how that is combined.

use std::fmt;

/// Largest modulus: two that have none in common below it cannot be had at once.
const MODULUS_MAX: u32 = 1 << 16;

/// What is known of where packets begin, or what is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// Nothing is known, or nothing is wanted.
    Unknown,
    /// No place meets all that is wanted.
    Impossible,
    /// Any that may be wanted, for there are no packets.
    Any,
    /// So many bytes behind a multiple of `modulus`.
    At { modulus: u32, offset: u32 },
}

use Alignment::{Any, At, Impossible, Unknown};

impl Alignment {
    /// `offset` bytes behind a multiple of `modulus`; `None` unless the offset is below the modulus, and both are in range.
    pub fn new(modulus: i32, offset: i32) -> Option<Alignment> {
        let (modulus, offset) = (u32::try_from(modulus).ok()?, u32::try_from(offset).ok()?);
        (offset < modulus && modulus <= MODULUS_MAX).then_some(At { modulus, offset })
    }

    /// The modulus, 1 if there is none.
    pub fn modulus(self) -> u32 {
        match self {
            At { modulus, .. } => modulus,
            _ => 1,
        }
    }

    /// The offset, 0 if there is none.
    pub fn offset(self) -> u32 {
        match self {
            At { offset, .. } => offset,
            _ => 0,
        }
    }

    /// The alignment `n` bytes further on.
    pub fn shifted(self, n: i64) -> Alignment {
        match self {
            At { modulus, offset } => {
                let offset = (i64::from(offset) + n).rem_euclid(i64::from(modulus)) as u32;
                At { modulus, offset }
            }
            other => other,
        }
    }

    /// Whether all packets that are aligned so are aligned as `wanted`.
    pub fn meets(self, wanted: Alignment) -> bool {
        match (self, wanted) {
            (Impossible, _) | (_, Impossible) => false,
            (Any, _) => true,
            (_, Any) => false,
            (_, wanted) if wanted.modulus() == 1 => true,
            (have, wanted) => {
                have.modulus() % wanted.modulus() == 0 && have.offset() % wanted.modulus() == wanted.offset()
            }
        }
    }

    /// What is known of packets that are aligned one way or the other.
    pub fn or(self, other: Alignment) -> Alignment {
        match (self, other) {
            (Unknown, other) => other,
            (Impossible, _) | (_, Impossible) => Impossible,
            (Any, At { .. }) => other,
            (have, Unknown | Any) => have,
            (At { modulus: a, offset }, At { modulus: b, offset: second }) => {
                let common = gcd(a, b);
                let (offset, second) = (offset % common, second % common);
                let apart = offset.abs_diff(second);
                // On the circle of `common` bytes, the two are this far from each other.
                let apart = apart.min(common - apart);
                match apart {
                    0 => At { modulus: common, offset },
                    apart if common.is_multiple_of(apart) => At { modulus: apart, offset: offset % apart },
                    _ => At { modulus: 1, offset: 0 },
                }
            }
        }
    }

    /// The weakest alignment that meets both.
    pub fn and(self, other: Alignment) -> Alignment {
        match (self, other) {
            (Impossible, _) | (_, Impossible) => Impossible,
            (Unknown | Any, wanted) | (wanted, Unknown | Any) => wanted,
            (one, other) if one.meets(other) => one,
            (one, other) if other.meets(one) => other,
            (one, other) => {
                let (low, high) = if one.modulus() < other.modulus() { (one, other) } else { (other, one) };
                let both =
                    u64::from(low.modulus()) * u64::from(high.modulus() / gcd(low.modulus(), high.modulus()));
                if both > u64::from(MODULUS_MAX) {
                    return Impossible;
                }
                let mut offsets = (high.offset()..both as u32).step_by(high.modulus() as usize);
                match offsets.find(|offset| offset % low.modulus() == low.offset()) {
                    Some(offset) => At { modulus: both as u32, offset },
                    None => Impossible,
                }
            }
        }
    }
}

impl fmt::Display for Alignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unknown => f.write_str("EMPTY"),
            Impossible => f.write_str("BAD"),
            Any => f.write_str("UNIVERSAL"),
            At { modulus, offset } => write!(f, "{modulus}/{offset}"),
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        gcd(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The alignments of up to 24 bytes, and the special ones.
    fn all() -> Vec<Alignment> {
        let at = (1..=24).flat_map(|modulus| (0..modulus).map(move |offset| At { modulus, offset }));
        at.chain([Unknown, Impossible, Any]).collect()
    }

    /// Whether a packet may begin at `address`.
    fn allows(alignment: Alignment, address: u32) -> bool {
        address % alignment.modulus() == alignment.offset()
    }

    #[test]
    fn combinations_hold_for_every_address() {
        let at = || all().into_iter().filter(|alignment| matches!(alignment, At { .. }));
        for one in at() {
            for other in at() {
                let (or, and) = (one.or(other), one.and(other));
                let mut n_both = 0;
                for address in 0..600 {
                    let (by_one, by_other) = (allows(one, address), allows(other, address));
                    assert!(!(by_one || by_other) || allows(or, address), "{one} or {other} is {or}");
                    if by_one && by_other {
                        n_both += 1;
                    }
                    if and != Impossible {
                        assert_eq!(by_one && by_other, allows(and, address), "{one} and {other} is {and}");
                    }
                }
                assert_eq!(n_both == 0, and == Impossible, "{one} and {other} is {and}");
                let meets = (0..600).all(|address| !allows(one, address) || allows(other, address));
                assert_eq!(one.meets(other), meets, "{one} meets {other}");
            }
        }
    }

    #[test]
    fn shifts_go_both_ways() {
        for one in all() {
            for n in [-1_000_000_007, -14, -1, 0, 1, 14, 1_000_000_007] {
                assert_eq!(one.shifted(n).shifted(-n), one);
            }
        }
        assert_eq!(At { modulus: 4, offset: 2 }.shifted(14), At { modulus: 4, offset: 0 });
    }

    #[test]
    fn only_offsets_below_the_modulus_are_alignments() {
        for (modulus, offset) in [(0, 0), (4, 4), (4, -1), (-4, 0), (1 << 17, 0)] {
            assert_eq!(Alignment::new(modulus, offset), None);
        }
        assert_eq!(Alignment::new(4, 3), Some(At { modulus: 4, offset: 3 }));
    }
}
