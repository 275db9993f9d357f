//! The policer's rate.

use std::fmt;

/// Bytes that a bucket holds at least unless told otherwise: two long frames.
const LEAST_BYTES: u64 = 3000;

/// A rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// Bytes per second.
    Bytes(u32),
    /// Packets per second.
    Packets(u32),
}

/// A rate, and how many tokens the bucket holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// The rate.
    pub rate: Rate,
    /// Bytes or packets.
    pub burst: u64,
}

impl Limit {
    /// With what comes in 20 ms unless `burst` is given.
    pub fn new(rate: Rate, burst: Option<u32>) -> Limit {
        let least = if let Rate::Bytes(_) = rate { LEAST_BYTES } else { 1 };
        let burst = burst.map_or((rate.tokens_per_s() / 50).max(least), u64::from);
        Limit { rate, burst }
    }
}

impl Rate {
    /// Reads `10Mbps`, `1GBps` or `10000pps`.
    pub fn parse(text: &str) -> Result<Rate, String> {
        const EXPECTED: &str =
            "expected a rate such as 10Mbps, 1GBps or 10000pps, above 0 and below 2^32 bytes or packets per second";
        let rate = match text.strip_suffix("pps") {
            Some(number) => args::integer(number.trim_end()).ok().map(Rate::Packets),
            None if !text.ends_with("ps") && !text.ends_with("/s") => None,
            None => args::bandwidth(text).ok().map(|rate| Rate::Bytes(rate.bytes_per_s)),
        };
        rate.filter(|rate| rate.tokens_per_s() > 0).ok_or_else(|| EXPECTED.to_string())
    }

    /// Tokens that come in a second.
    #[inline(always)]
    pub fn tokens_per_s(self) -> u64 {
        match self {
            Rate::Bytes(n) | Rate::Packets(n) => n.into(),
        }
    }

    /// Tokens that a packet of `len` bytes takes.
    #[inline(always)]
    pub fn tokens(self, len: u64) -> u64 {
        match self {
            Rate::Bytes(_) => len,
            Rate::Packets(_) => 1,
        }
    }

    /// Whether both are in bytes, or both in packets.
    pub fn has_unit_of(self, other: Rate) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Bytes(n) => f.write_str(&args::unparse_bandwidth(*n)),
            Rate::Packets(n) => write!(f, "{n}pps"),
        }
    }
}
