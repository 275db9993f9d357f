//! Splits off what comes above a bandwidth.
//!
//! As `RatedSplitter`, but RATE is in bytes per second.
//!
//! ```click
//! InfiniteSource -> s :: BandwidthRatedSplitter(RATE 1Mbps) -> Discard;
//! s [1] -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::rate_limit::{Unit, BYTE_ARGS};
use super::rated_splitter::{self, RatedSplitter};

/// The class.
pub const CLASS: Class = rated_splitter::class("BandwidthRatedSplitter", BYTE_ARGS, configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RatedSplitter::of_unit(conf, Unit::Bytes)
}
