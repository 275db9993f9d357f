//! Stores packets in a first-in, first-out queue that tells pullers at once when it is empty.
//!
//! As `Queue`, which lets some pulls find nothing before it tells. Suits pullers that do costly work to find nothing.
//!
//! ```click
//! InfiniteSource -> QuickNoteQueue(200) -> Unqueue -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("QuickNoteQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Quick)
}
