//! Drops all packets, for measurements.
//!
//! Click's element of this name never gives the memory of its packets back. Here it is given back, which takes less time than
//! getting new memory, and lasts.
//!
//! ```click
//! InfiniteSource(LIMIT 1000, STOP true) -> DiscardNoFree;
//! ```

use element::{handlers, Batch, Class, Configure, Ctx, Element, Failed, Handler, TaskId, BATCH_MAX};

/// The class.
pub const CLASS: Class = Class::new::<DiscardNoFree>("DiscardNoFree", "1/0", "a/a", "x/x").handlers(HANDLERS);

const HANDLERS: &[Handler] = &[handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];

/// See the page above.
pub struct DiscardNoFree {
    burst: usize,
    is_push: bool,
}

impl Element for DiscardNoFree {
    fn configure(conf: &mut Configure<'_>) -> Result<DiscardNoFree, Failed> {
        conf.finish()?;
        let burst = conf.environment.default_burst().clamp(1, BATCH_MAX);
        Ok(DiscardNoFree { burst, is_push: conf.environment.input_is_push(conf.element, 0) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.is_push {
            let task = ctx.new_task();
            ctx.schedule(task);
        }
        Ok(())
    }

    fn push(&mut self, _ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        batch.clear();
    }

    /// All handlers are those of the task.
    fn has_handler(&self, name: &str) -> bool {
        !self.is_push || HANDLERS.iter().all(|handler| handler.name != name)
    }

    /// Asks again whether or not there are packets, as measurements want it.
    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let batch = ctx.pull(0, self.burst);
        ctx.schedule(task);
        !batch.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn pushed_and_pulled_packets_end_here() {
        check_reading(
            "InfiniteSource(LIMIT 5) -> c :: Counter -> d :: DiscardNoFree;
            InfiniteSource(LIMIT 6) -> q :: Queue -> e :: DiscardNoFree; DriverManager(wait 1s)",
            &["c.count", "q.length", "q.highwater_length", "e.scheduled", "d.handlers", "e.handlers"],
            expect![[r#"
                c.count: 5
                q.length: 0
                q.highwater_length: 1
                e.scheduled: true
                d.handlers: handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

                e.handlers: tickets	rw
                scheduled	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }
}
