//! Checks IPv4 headers, but for their checksums.
//!
//! Like `CheckIPHeader`, but CHECKSUM is false unless given.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader2 -> Discard;
//! ```

use element::fast_path::{FastPath, HasFastPath};
use element::{same, Batch, Causes, Class, Configure, Ctx, Element, Failed};

use super::check_ip_header::{CheckIPHeader, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<CheckIPHeader2>("CheckIPHeader2", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<CheckIPHeader2>();

/// See the page above.
pub struct CheckIPHeader2(CheckIPHeader);

impl Element for CheckIPHeader2 {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckIPHeader2, Failed> {
        CheckIPHeader::with_checksum(conf, false).map(CheckIPHeader2)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        self.0.push(ctx, port, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        self.0.pull(ctx, port, max)
    }

    fn has_handler(&self, name: &str) -> bool {
        self.0.has_handler(name)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        self.0.read(ctx, name, param)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CheckIPHeader2>(ctx, old) else { return };
        self.0.take_over(&old.0);
    }
}

impl HasFastPath for CheckIPHeader2 {
    fn fast_path(&self) -> Option<FastPath> {
        self.0.fast_path()
    }
}
