//! Stores packets in a first-in, first-out queue that notifies nobody.
//!
//! As `Queue`, but pullers are not told when there is something to pull and pushers not when there is room: both must ask.
//!
//! ```click
//! TimedSource(0.1) -> SimpleQueue(200) -> TimedSink(0.1);
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("SimpleQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Simple)
}
