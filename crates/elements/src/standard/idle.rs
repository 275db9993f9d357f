//! Never sends a packet; drops those it is given.
//!
//! Connect it to ports that the graph does not use. Any number of ports; each takes either push or pull. Who can pull from
//! nothing but idle elements, or from queues without notifiers that nothing else leads to, goes to sleep.

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<Idle>("Idle", "-/-", "a/a", "x/y").causes(Causes::NOTHING).blind().drops(DROPS).dormant();

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

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn who_pulls_from_idle_elements_only_sleeps() {
        check_reading(
            "Idle -> SimpleQueue -> a :: Discard;
             Idle -> q :: SimpleQueue -> Null -> b :: Unqueue -> Discard; Idle -> Idle -> q;
             r :: RoundRobinSched -> c :: Discard; Idle -> SimpleQueue -> r; Idle -> Queue -> [1] r",
            &["a.scheduled", "b.scheduled", "c.scheduled"],
            expect![[r#"
                a.scheduled: false
                b.scheduled: false
                c.scheduled: false
            "#]],
        );
    }

    #[test]
    fn who_may_pull_from_others_stays_awake() {
        check_reading(
            "Idle -> q :: SimpleQueue -> a :: Discard; InfiniteSource(LIMIT 1) -> q;
             Idle -> Null -> SimpleQueue -> b :: Discard;
             r :: RoundRobinSched -> c :: Discard; Idle -> r; SimpleIdle -> SimpleQueue -> [1] r",
            &["a.scheduled", "a.count", "b.scheduled", "c.scheduled"],
            expect![[r#"
                a.scheduled: true
                a.count: 1
                b.scheduled: true
                c.scheduled: true
            "#]],
        );
    }
}
