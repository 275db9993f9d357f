//! Stores packets in a first-in, first-out queue that drops the oldest packets when it is full.
//!
//! Dropped packets go to output 1 if it is connected. Notifies pullers, but not pushers.
//!
//! ```click
//! InfiniteSource -> FrontDropQueue(200) -> Unqueue -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("FrontDropQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::FrontDrop)
}
