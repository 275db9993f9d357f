//! What the table of connections holds: entries, their states and time-outs.

use wire::tcp_flag;

use super::rewrite::Change;

/// No entry.
pub const NO_ENTRY: u32 = table::flow::NO_ENTRY;
/// A TCP packet other than a SYN was seen.
pub const BEYOND_SYN: u8 = 1;
/// A FIN was seen.
pub const FIN: u8 = 2;
/// A RST was seen.
pub const RST: u8 = 4;

/// One direction of a connection, which with its key fills a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Bytes that went this way.
    pub n_bytes: u64,
    /// Packets that went this way.
    pub n_packets: u32,
    /// The other direction; [`NO_ENTRY`] where replies do not pass here.
    pub peer: u32,
    /// When the last packet passed, in milliseconds modulo 2^32.
    pub seen_ms: u32,
    /// What becomes of packets; its `is_source` tells replies.
    pub change: Change,
    /// Number of the backend.
    pub backend: u16,
    /// What was seen of TCP in this direction.
    pub state: u8,
}

/// How long connections last without packets, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// TCP after the handshake began, before the client's next packet.
    pub syn_ms: u32,
    /// TCP.
    pub tcp_ms: u32,
    /// TCP with one direction ended.
    pub fin_ms: u32,
    /// TCP with both ended, or reset.
    pub done_ms: u32,
    /// UDP.
    pub udp_ms: u32,
}

/// What a connection is in, as the handler says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// UDP.
    Udp,
    /// TCP: the client has sent a SYN.
    Syn,
    /// TCP.
    Established,
    /// TCP: one direction has ended.
    Closing,
    /// TCP: both have ended, or one was reset.
    Done,
}

/// Why there can be no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The table is full.
    Full,
    /// The replies would look as those of another connection.
    Ambiguous,
}

impl Phase {
    /// As the handler says it.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Udp => "udp",
            Phase::Syn => "syn",
            Phase::Established => "established",
            Phase::Closing => "closing",
            Phase::Done => "done",
        }
    }
}

/// What the flags of a TCP packet say of a connection.
#[inline(always)]
pub fn state_of(tcp_flags: u8) -> u8 {
    let has = |flag: u8| tcp_flags & flag != 0;
    u8::from(!has(tcp_flag::SYN)) * BEYOND_SYN
        + u8::from(has(tcp_flag::FIN)) * FIN
        + u8::from(has(tcp_flag::RST)) * RST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancer::seen::FlowKey;

    #[test]
    fn an_entry_and_its_key_leave_room_for_the_table_in_a_cache_line() {
        assert_eq!((size_of::<FlowKey>(), size_of::<Entry>()), (16, 40));
    }
}
