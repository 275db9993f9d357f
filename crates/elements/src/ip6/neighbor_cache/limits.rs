//! How much is known, and for how long.

use args::Timestamp;
use element::Configure;

/// Longer times than this need no timer.
const TIME_MAX_MS: i64 = 1 << 40;

/// Limits of a cache.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Neighbors.
    pub entries: usize,
    /// Neighbors that have not answered yet.
    pub unanswered: usize,
    /// Packets that wait.
    pub packets: usize,
    /// Packets that wait for one neighbor.
    pub entry_packets: usize,
    /// How long a neighbor is reachable without showing it.
    pub reachable_ms: i64,
    /// How long to wait for an answer.
    pub retransmit_ms: i64,
}

impl Limits {
    /// Reads the arguments.
    pub fn read(conf: &mut Configure<'_>) -> Limits {
        let mut number = |name: &str, default: u32| conf.args.get_or(name, default).max(1) as usize;
        let packets = number("CAPACITY", 2048);
        let entry_packets = number("ENTRY_PACKET_CAPACITY", 128);
        let entries = number("ENTRY_CAPACITY", 65_536);
        let unanswered = number("UNANSWERED_CAPACITY", 2048);
        let mut ms = |name: &str, default: i64| {
            let time = conf.args.get_or(name, Timestamp::new(default, 0));
            time.as_millis().clamp(1, TIME_MAX_MS)
        };
        let (reachable_ms, retransmit_ms) = (ms("REACHABLE_TIME", 30), ms("RETRANS_TIMER", 1));
        Limits { entries, unanswered, packets, entry_packets, reachable_ms, retransmit_ms }
    }
}
