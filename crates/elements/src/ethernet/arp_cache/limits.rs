//! Limits of a cache, and the arguments that set them.

use args::Timestamp;
use element::{Arg, Configure};

use super::ArpCache;

/// [`Limits::packets`].
pub const CAPACITY: Arg =
    Arg::keyword("CAPACITY", "unsigned", "Most packets that wait; 0 is no limit. Default 2048.");
/// [`Limits::entries`].
pub const ENTRY_CAPACITY: Arg =
    Arg::keyword("ENTRY_CAPACITY", "unsigned", "Most entries; 0 is no limit. Default 0.");
/// [`Limits::entry_packets`].
pub const ENTRY_PACKET_CAPACITY: Arg = Arg::keyword(
    "ENTRY_PACKET_CAPACITY",
    "unsigned",
    "Most packets that wait for one host; 0 is no limit. Default 0.",
);
/// [`Limits::slim_factor`].
pub const CAPACITY_SLIM_FACTOR: Arg = Arg::keyword(
    "CAPACITY_SLIM_FACTOR",
    "unsigned",
    "One in so many packets goes when there are too many. Default 2.",
);
/// [`Limits::timeout_ms`].
pub const TIMEOUT: Arg =
    Arg::keyword("TIMEOUT", "seconds", "How long an entry is good; 0 is for ever. Default 300.");

/// What is wrong with a slim factor of 0.
pub const NO_SLIM_FACTOR: &str = "CAPACITY_SLIM_FACTOR cannot be zero";

/// Limits of a cache; 0 is none.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Packets in all.
    pub packets: u32,
    /// Entries.
    pub entries: u32,
    /// Packets of one entry.
    pub entry_packets: u32,
    /// What part of the packets goes when there are too many: one in so many.
    pub slim_factor: u32,
    /// How long an entry is good, in milliseconds.
    pub timeout_ms: i64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { packets: 2048, entries: 0, entry_packets: 0, slim_factor: 2, timeout_ms: 300_000 }
    }
}

/// The limits that a configuration names.
#[derive(Clone, Copy, Debug)]
pub struct NamedLimits {
    packets: Option<u32>,
    entries: Option<u32>,
    entry_packets: Option<u32>,
    /// See [`Limits::slim_factor`].
    pub slim_factor: Option<u32>,
    /// See [`Limits::timeout_ms`].
    pub timeout_ms: Option<i64>,
}

impl NamedLimits {
    /// Reads the arguments.
    pub fn read(conf: &mut Configure<'_>) -> NamedLimits {
        NamedLimits {
            packets: conf.args.get("CAPACITY"),
            entries: conf.args.get("ENTRY_CAPACITY"),
            entry_packets: conf.args.get("ENTRY_PACKET_CAPACITY"),
            slim_factor: conf.args.get("CAPACITY_SLIM_FACTOR"),
            timeout_ms: conf.args.get("TIMEOUT").map(milliseconds),
        }
    }

    /// These limits, and others for those that are not named.
    pub fn or(&self, others: Limits) -> Limits {
        Limits {
            packets: self.packets.unwrap_or(others.packets),
            entries: self.entries.unwrap_or(others.entries),
            entry_packets: self.entry_packets.unwrap_or(others.entry_packets),
            slim_factor: self.slim_factor.unwrap_or(others.slim_factor),
            timeout_ms: self.timeout_ms.unwrap_or(others.timeout_ms),
        }
    }

    /// Gives a cache these limits; those that are not named are the usual ones, unless they are to stay as they are. As in
    /// Click, what is too much from now on goes with the next host or packet.
    pub fn set(&self, cache: &mut ArpCache, others_stay: bool) -> Limits {
        cache.limits = self.or(if others_stay { cache.limits } else { Limits::default() });
        cache.limits
    }
}

/// Milliseconds of a timeout; too long a one is none.
pub fn milliseconds(time: Timestamp) -> i64 {
    if time.sec() >= i64::from(u32::MAX / 1000) {
        0
    } else {
        time.as_millis().max(0)
    }
}
