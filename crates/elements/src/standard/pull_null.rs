//! Passes packets through unchanged when they are pulled.
//!
//! As `Null`, but its ports can only be pull.
//!
//! ```click
//! InfiniteSource -> Queue -> PullNull -> Unqueue -> Discard;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<PullNull>("PullNull", "1/1", "l/l", "x/x").causes(Causes::NOTHING).blind();

/// See the page above.
pub struct PullNull;

impl Element for PullNull {
    fn configure(conf: &mut Configure<'_>) -> Result<PullNull, Failed> {
        conf.finish()?;
        Ok(PullNull)
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }
}
