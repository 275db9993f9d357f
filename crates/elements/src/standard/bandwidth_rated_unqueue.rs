//! Pulls packets at a bandwidth and pushes them on.
//!
//! As `RatedUnqueue`, but RATE is in bytes per second.
//!
//! ```click
//! InfiniteSource -> Queue -> BandwidthRatedUnqueue(RATE 1Mbps) -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::rate_limit::{Unit, BYTE_ARGS};
use super::rated_unqueue::{self, RatedUnqueue};

/// The class.
pub const CLASS: Class = rated_unqueue::class("BandwidthRatedUnqueue", BYTE_ARGS, configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RatedUnqueue::of_unit(conf, Unit::Bytes)
}
