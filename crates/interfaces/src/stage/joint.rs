//! Shared memory between two stages: both directions of an upgraded pipe.

mod ring_in;
mod ring_out;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use ring::Side;
use sys::memfd::Memfd;
use sys::poll::Waker;

pub use ring_in::RingIn;
pub use ring_out::RingOut;

/// Bytes of each ring.
pub const CAPACITY: usize = 2 << 20;
/// Most bytes of a pair of rings that a neighbour may send.
pub const MAX_PAIR: usize = 2 * (4096 + ring::CAPACITY_MAX);

/// The connection over which two neighbours agreed; it tells when the other process is gone.
pub type Line = Arc<OwnedFd>;

/// What wakes either side of one direction.
#[derive(Clone)]
pub struct Bells {
    /// Rung when there are packets.
    pub data: Waker,
    /// Rung when there is room.
    pub room: Waker,
}

/// Both ends that one process has.
pub fn ends(memory: &Memfd, side: Side, bells: [Bells; 2], line: &Line) -> Result<(RingIn, RingOut), String> {
    let capacity = ring::capacity_of_pair(memory.len()).ok_or("its size is not that of two rings")?;
    let region = memory.map().map_err(|error| error.to_string())?;
    let (producer, consumer) = ring::ends(region, capacity, side).map_err(|error| error.to_string())?;
    let [forward, backward] = bells;
    let (own, other) = match side {
        Side::First => (forward, backward),
        Side::Second => (backward, forward),
    };
    Ok((RingIn::new(consumer, other, line.clone()), RingOut::new(producer, own, line.clone())))
}

/// Whether the process at the other end of the line is gone. The line is watched for nothing else: whatever a neighbour says on it
/// now, nobody listens.
fn is_gone(line: &Line) -> bool {
    sys::pipe::is_unread(line)
}
