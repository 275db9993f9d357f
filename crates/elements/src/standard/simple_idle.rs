//! Never sends a packet, without saying so; drops those it is given.
//!
//! As `Idle`, but pullers are not told that there is never anything to pull, so that they keep trying.
//!
//! ```click
//! SimpleIdle -> u :: Unqueue -> Discard;
//! DriverManager(wait 0.1s, read u.scheduled);
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<SimpleIdle>("SimpleIdle", "-/-", "a/a", "x/y").causes(Causes::NOTHING).blind().drops(DROPS);

const DROPS: &[DropReason] = &[DropReason::new("idle", "A packet was pushed to an idle port.")];
const IDLE: usize = 0;

/// See the page above.
pub struct SimpleIdle;

impl Element for SimpleIdle {
    fn configure(conf: &mut Configure<'_>) -> Result<SimpleIdle, Failed> {
        conf.finish()?;
        Ok(SimpleIdle)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.drop_batch(IDLE, batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn pullers_keep_trying() {
        check_reading(
            "InfiniteSource(LIMIT 3) -> s :: SimpleIdle -> u :: Unqueue -> Discard; s [1] -> Discard;
             Idle -> v :: Unqueue -> Discard",
            &["u.count", "u.scheduled", "v.scheduled"],
            expect![[r#"
                u.count: 0
                u.scheduled: true
                v.scheduled: false
            "#]],
        );
    }
}
