//! Passes packets through unchanged when they are pushed.
//!
//! As `Null`, but its ports can only be push.
//!
//! ```click
//! InfiniteSource -> PushNull -> Discard;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<PushNull>("PushNull", "1/1", "h/h", "x/x").causes(Causes::NOTHING).blind();

/// See the page above.
pub struct PushNull;

impl Element for PushNull {
    fn configure(conf: &mut Configure<'_>) -> Result<PushNull, Failed> {
        conf.finish()?;
        Ok(PushNull)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.emit(0, batch);
    }
}
