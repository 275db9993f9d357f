//! Passes packets through unchanged.
//!
//! ```click
//! Idle -> Null -> Discard;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<Null>("Null", "1/1", "a/a", "x/x").lengthens(0).causes(Causes::NOTHING).stateless().blind();

/// See the page above.
pub struct Null;

impl Element for Null {
    fn configure(conf: &mut Configure<'_>) -> Result<Null, Failed> {
        conf.finish()?;
        Ok(Null)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }
}
