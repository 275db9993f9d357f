//! Lets packets be pulled at most at a bandwidth.
//!
//! Pulls get a packet if the next of RATE bytes per second is due. As `Shaper`, but it makes no difference between its outputs.
//!
//! ```click
//! InfiniteSource -> Queue -> BandwidthShaper(100kbps) -> TimedSink(1ms);
//! ```

use element::{Arg, Class, Configure, Element, Failed};

use super::rate_limit::Unit;
use super::shaper::{self, Shaper};

/// The class.
pub const CLASS: Class = shaper::class("BandwidthShaper", ARGS, configure);

const ARGS: &[Arg] =
    &[Arg::required("RATE", "bandwidth", "Bytes, or another unit, per second, at most 4096000000 bytes.")];

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Shaper::of_unit(conf, Unit::Bytes)
}
