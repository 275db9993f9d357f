//! Jiffies: milliseconds since the epoch in 32 bits, the unit in which rates are measured and limited.

/// Jiffies per second.
pub const PER_SECOND: u32 = 1000;

/// Nanoseconds of a jiffy.
pub const NS: i64 = 1_000_000;

/// The jiffy of a wall-clock time.
#[inline]
pub fn at(now_ns: i64) -> u32 {
    now_ns.div_euclid(NS) as u32
}
