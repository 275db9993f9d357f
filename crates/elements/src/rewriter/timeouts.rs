//! When flows end: timeouts and guarantees by what was seen of a flow.

use super::flow::Flow;

/// Packets went in the reply direction (UDP).
pub const REPLIED: u8 = 1;
/// At least three packets, some of them replies (UDP).
const STREAMING: u8 = 7;
/// The forward direction has ended (TCP); shifted by one for the reply direction.
pub const FORWARD_DONE: u8 = 1;
/// Both directions have ended (TCP).
pub const BOTH_DONE: u8 = 3;
/// The forward direction has sent data (TCP); shifted by one for the reply direction.
pub const FORWARD_DATA: u8 = 4;
const BOTH_DATA: u8 = 12;

/// How the state of a flow is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// There is none: one timeout for all.
    Plain,
    /// Flows that stream last `other_ms`.
    Udp,
    /// Flows that sent data both ways last `other_ms`, flows that ended both ways `done_ms`.
    Tcp,
}

/// The timeouts of a kind of flows, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// How states are read.
    pub tracking: Tracking,
    /// Time that flows last by default.
    pub plain_ms: i64,
    /// Time that flows are guaranteed; 0 for none.
    pub guarantee_ms: i64,
    /// See [`Tracking`].
    pub other_ms: i64,
    /// See [`Tracking`].
    pub done_ms: i64,
}

impl Timeouts {
    /// Timeouts without tracking.
    pub fn plain(plain_ms: i64, guarantee_ms: i64) -> Timeouts {
        Timeouts { tracking: Tracking::Plain, plain_ms, guarantee_ms, other_ms: 0, done_ms: 0 }
    }

    /// How long a flow in this state lasts after a packet, guarantees aside.
    #[inline(always)]
    pub fn after(&self, state: u8) -> i64 {
        match self.tracking {
            Tracking::Udp if state == STREAMING => self.other_ms,
            Tracking::Tcp if state & BOTH_DONE == BOTH_DONE => self.done_ms,
            Tracking::Tcp if state & BOTH_DATA == BOTH_DATA => self.other_ms,
            _ => self.plain_ms,
        }
    }

    /// Whether a packet of a flow in this state now gives it a guarantee, and when that or the flow ends.
    #[inline(always)]
    pub fn renewed(&self, state: u8, now_ms: i64) -> (bool, i64) {
        if self.guarantee_ms > 0 {
            (true, now_ms.saturating_add(self.guarantee_ms))
        } else {
            (false, now_ms.saturating_add(self.after(state)))
        }
    }

    /// The same for a new flow.
    pub fn first(&self, now_ms: i64) -> (bool, i64) {
        let relevant = if self.guarantee_ms > 0 { self.guarantee_ms } else { self.plain_ms };
        (self.guarantee_ms > 0, now_ms.saturating_add(relevant))
    }

    /// When a guaranteed flow ends after its guarantee.
    pub fn best_effort_expiry(&self, flow: &Flow) -> i64 {
        flow.expiry_ms.saturating_add(self.after(flow.state)).saturating_sub(self.guarantee_ms)
    }
}
