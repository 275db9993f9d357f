//! Address prefixes, the keys of a longest-prefix table.

use std::fmt;

/// An IP address as a number, most significant bit first: `u32` for IPv4, `u128` for IPv6.
pub trait Address: Copy + Ord + fmt::Debug {
    /// Width of an address in bits.
    const BITS: u32;

    /// The address with all but its `len` first bits cleared; all of it if `len` reaches [`Self::BITS`].
    fn masked(self, len: u8) -> Self;

    /// The bits from `shift` (counted from the least significant) upward, cut to the width of `usize`.
    fn bits_from(self, shift: u32) -> usize;
}

macro_rules! address {
    ($number:ty) => {
        impl Address for $number {
            const BITS: u32 = <$number>::BITS;

            fn masked(self, len: u8) -> Self {
                let n_host_bits = Self::BITS.saturating_sub(u32::from(len));
                self & <$number>::MAX.checked_shl(n_host_bits).unwrap_or(0)
            }

            #[inline(always)]
            fn bits_from(self, shift: u32) -> usize {
                (self.wrapping_shr(shift)) as usize
            }
        }
    };
}

address!(u32);
address!(u128);

/// The addresses that share their first `len` bits.
///
/// Ordered by address, then by length, so that a prefix sorts directly before those it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix<A> {
    addr: A,
    len: u8,
}

impl<A: Address> Prefix<A> {
    /// The prefix of `len` bits that `addr` lies in (its other bits are cleared); none if an address has fewer bits.
    pub fn new(addr: A, len: u8) -> Option<Self> {
        (u32::from(len) <= A::BITS).then(|| Prefix { addr: addr.masked(len), len })
    }

    /// The first address.
    pub fn addr(self) -> A {
        self.addr
    }

    /// How many leading bits the addresses share.
    pub fn bits(self) -> u8 {
        self.len
    }

    /// Whether `addr` lies in this prefix.
    pub fn contains(self, addr: A) -> bool {
        addr.masked(self.len) == self.addr
    }

    /// The prefix cut to `len` bits; itself if it is already as short.
    pub(super) fn cut(self, len: u8) -> Self {
        let len = len.min(self.len);
        Prefix { addr: self.addr.masked(len), len }
    }
}
