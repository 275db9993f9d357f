//! Stores packets in a first-in, first-out queue that several pushers and pullers may share.
//!
//! The same as `Queue`: an element is only ever used by one thread at a time.
//!
//! ```click
//! q :: ThreadSafeQueue(200) -> Unqueue -> Discard;
//! InfiniteSource -> q;
//! InfiniteSource -> q;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("ThreadSafeQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Full)
}
