//! Keeps what Click's tool `click-devirtualize` is to know of the graph; does nothing.
//!
//! ```click
//! DevirtualizeInfo(a, b);
//! ```

use element::{Arg, Class, Configure, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<DevirtualizeInfo>("DevirtualizeInfo", "0/0", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored.")];

/// See the page above.
pub struct DevirtualizeInfo;

impl Element for DevirtualizeInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<DevirtualizeInfo, Failed> {
        conf.finish()?;
        Ok(DevirtualizeInfo)
    }
}
