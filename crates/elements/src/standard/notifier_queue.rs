//! Stores packets in a first-in, first-out queue that notifies pullers only.
//!
//! As `Queue`, but pushers are not told when the queue is full: what they push then is dropped.
//!
//! ```click
//! InfiniteSource -> NotifierQueue(200) -> Unqueue -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("NotifierQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Notifier)
}
