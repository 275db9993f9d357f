//! Never sends a packet; drops those it is given.
//!
//! Connect it to ports that the graph does not use. Any number of ports; each takes either push or pull.

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<Idle>("Idle", "-/-", "a/a", "x/y").causes(Causes::NOTHING).blind().drops(DROPS).silent();

const DROPS: &[DropReason] = &[DropReason::new("idle", "A packet was pushed to an idle port.")];
const IDLE: usize = 0;

/// See the page above.
pub struct Idle;

impl Element for Idle {
    fn configure(conf: &mut Configure<'_>) -> Result<Idle, Failed> {
        conf.finish()?;
        Ok(Idle)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.drop_batch(IDLE, batch);
    }
}
