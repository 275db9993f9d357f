//! Stands for the names of header fields that are known without being defined.
//!
//! The names, such as `ip ttl` and `tcp win`, are there whether a graph has this element or not.
//!
//! ```click
//! IPFieldInfo; FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> AggregateIP(ip ttl) -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<IPFieldInfo>("IPFieldInfo", "0/0", "a/a", "x/x");

/// See the page above.
pub struct IPFieldInfo;

impl Element for IPFieldInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<IPFieldInfo, Failed> {
        conf.finish()?;
        Ok(IPFieldInfo)
    }
}
