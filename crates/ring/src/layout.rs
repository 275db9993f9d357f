//! How rings lie in memory: a page of control words, then the data.

use std::fmt;

use crate::corrupt::Corrupt;

/// Smallest capacity of a ring, in bytes.
pub const CAPACITY_MIN: usize = 64 << 10;
/// Largest capacity of a ring, in bytes.
pub const CAPACITY_MAX: usize = 16 << 20;
/// Most bytes of data in a record where the ring is large enough: a segment of 64 KiB and its headers.
pub const DATA_MAX: usize = (64 << 10) + 4096;
/// Most bytes that a record takes besides its data.
pub const HEADER_LEN: usize = 32;
/// Bytes that the record of a plain packet takes besides its data: one that is whole, with no offload work left.
pub const PLAIN_HEADER_LEN: usize = 16;
/// Records begin at multiples of this many bytes.
pub const ALIGN: usize = 16;

/// Bytes in front of the data, so that data begins on a page.
pub(crate) const CONTROL_LEN: usize = 4096;

/// Bytes that one ring takes; `None` if the capacity is not a power of two in the allowed range.
pub fn ring_len(capacity: usize) -> Option<usize> {
    let is_allowed = capacity.is_power_of_two() && (CAPACITY_MIN..=CAPACITY_MAX).contains(&capacity);
    is_allowed.then(|| CONTROL_LEN + capacity)
}

/// Bytes that two rings take, one each way; each begins on a page.
pub fn pair_len(capacity: usize) -> Option<usize> {
    ring_len(capacity).map(|len| 2 * len)
}

/// The capacity of each ring of a pair that fills `len` bytes, as whoever received a memory file wants to know.
pub fn capacity_of_pair(len: usize) -> Option<usize> {
    let capacity = (len / 2).checked_sub(CONTROL_LEN)?;
    (pair_len(capacity) == Some(len)).then_some(capacity)
}

/// Most bytes of data in one record of a ring: such a record fits into an empty ring wherever its end is.
pub fn max_data(capacity: usize) -> usize {
    DATA_MAX.min((capacity / 2).saturating_sub(HEADER_LEN))
}

/// Bytes that a record with `len` bytes of data takes.
#[inline(always)]
pub(crate) fn record_len(header_len: usize, len: usize) -> usize {
    header_len + len.next_multiple_of(ALIGN)
}

/// Why memory cannot serve as a pair of rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// The capacity is not a power of two from [`CAPACITY_MIN`] to [`CAPACITY_MAX`].
    Capacity(usize),
    /// The memory has not as many bytes as a pair of this capacity.
    Len { len: usize, needed: usize },
    /// The memory does not begin at a multiple of 128 bytes.
    Alignment,
    /// What lies in the memory is no ring.
    Corrupt(Corrupt),
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity(capacity) => write!(
                f,
                "a ring of {capacity} bytes cannot be: the capacity is a power of two from {CAPACITY_MIN} to \
                 {CAPACITY_MAX}"
            ),
            Self::Len { len, needed } => write!(f, "the rings' memory has {len} bytes instead of {needed}"),
            Self::Alignment => write!(f, "the rings' memory is not aligned to 128 bytes"),
            Self::Corrupt(corrupt) => corrupt.fmt(f),
        }
    }
}

impl std::error::Error for LayoutError {}

impl From<Corrupt> for LayoutError {
    fn from(corrupt: Corrupt) -> Self {
        Self::Corrupt(corrupt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_in_range_are_capacities() {
        assert_eq!(ring_len(CAPACITY_MIN), Some(CAPACITY_MIN + 4096));
        assert_eq!(pair_len(CAPACITY_MAX), Some(2 * (CAPACITY_MAX + 4096)));
        for capacity in [0, 1, CAPACITY_MIN / 2, CAPACITY_MIN + 1, 3 << 16, CAPACITY_MAX * 2, usize::MAX] {
            assert_eq!(ring_len(capacity), None, "{capacity}");
        }
    }

    #[test]
    fn the_length_of_a_pair_tells_its_capacity() {
        let mut capacity = CAPACITY_MIN;
        while capacity <= CAPACITY_MAX {
            assert_eq!(capacity_of_pair(pair_len(capacity).unwrap()), Some(capacity));
            assert_eq!(capacity_of_pair(pair_len(capacity).unwrap() + 1), None);
            capacity *= 2;
        }
        for len in [0, 1, 4096, 8192, usize::MAX] {
            assert_eq!(capacity_of_pair(len), None, "{len}");
        }
    }

    #[test]
    fn the_longest_record_fits_into_an_empty_ring_at_any_place() {
        let mut capacity = CAPACITY_MIN;
        while capacity <= CAPACITY_MAX {
            // In the worst place, one step less than the record's length is left to the ring's end.
            let longest = record_len(HEADER_LEN, max_data(capacity));
            assert!(longest - ALIGN + longest <= capacity, "{capacity}");
            capacity *= 2;
        }
    }
}
