//! Stores packets in a queue with an input at each end.
//!
//! Packets that come to input 0 are added at the end, and dropped if the queue is full. Packets that come to input 1 are put in
//! front of all others, and if the queue is full the last packet is dropped for each. Dropped packets go to output 1 if it is
//! connected. Notifies pullers, but not pushers.
//!
//! ```click
//! q :: MixedQueue(200) -> Unqueue -> Discard;
//! InfiniteSource(LIMIT 5) -> [0] q;
//! InfiniteSource(LIMIT 5) -> [1] q;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("MixedQueue", "2/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Mixed)
}
