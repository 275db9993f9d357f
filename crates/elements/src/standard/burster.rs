//! Pulls several packets every so often and pushes them on.
//!
//! As `TimedUnqueue`, but pulls up to 8 packets at once unless told otherwise.
//!
//! ```click
//! InfiniteSource -> Queue -> Burster(0.1s) -> Discard;
//! ```

use element::{Arg, Class, Configure, Element, Failed};

use super::timed_unqueue::{self, TimedUnqueue};

/// The class.
pub const CLASS: Class = timed_unqueue::class("Burster", ARGS, configure);

const ARGS: &[Arg] =
    &[timed_unqueue::INTERVAL, Arg::optional("BURST", "int", "Most packets to pull at once. Default 8.")];

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    TimedUnqueue::with_burst(conf, 8)
}
