//! Runs a task that does nothing, for measurements.
//!
//! ```click
//! n :: NullTask(LIMIT 1000000, STOP true);
//! ```

use element::{handlers, same, Arg, Class, Configure, Ctx, Element, Failed, Handler, TaskId};

use super::handler_task;

/// The class.
pub const CLASS: Class =
    Class::new::<NullTask>("NullTask", "0/0", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::keyword("STOP", "bool", "Whether to stop the driver after LIMIT runs. Default false."),
    Arg::keyword("LIMIT", "unsigned", "Runs after which the task rests; 0 is no limit. Default 0."),
    Arg::keyword("ACTIVE", "bool", "Whether the task is scheduled from the start. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "How often the task ran."),
    Handler::read_write("limit", "Runs after which the task rests; 0 is no limit."),
    Handler::write("reset", "Sets the count to 0."),
    handler_task::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct NullTask {
    count: u32,
    limit: u32,
    stops: bool,
    is_active: bool,
}

impl Element for NullTask {
    fn configure(conf: &mut Configure<'_>) -> Result<NullTask, Failed> {
        let stops = conf.args.get_or("STOP", false);
        let limit = conf.args.get_or("LIMIT", 0);
        let is_active = conf.args.get_or("ACTIVE", true);
        conf.finish()?;
        Ok(NullTask { count: 0, limit, stops, is_active })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        if self.is_active {
            ctx.schedule(task);
        }
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.count = self.count.wrapping_add(1);
        if self.limit == 0 || self.count < self.limit {
            ctx.schedule(task);
        } else if self.stops {
            ctx.stop();
        }
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.count.to_string()),
            "limit" => Ok(self.limit.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "limit" => self.limit = args::integer(value).map_err(|_| "expected integer")?,
            "reset" => self.count = 0,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<NullTask>(ctx, old) else { return };
        self.count = old.count;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_task_runs_up_to_a_limit() {
        check_reading(
            "n :: NullTask(LIMIT 5); m :: NullTask(LIMIT 3, ACTIVE false);
            DriverManager(wait 1s, read n.count, read m.count, write n.scheduled true, write m.scheduled true, wait 1s,
                read n.count, read m.count, write n.limit 8, write n.limit x, write n.reset, write n.scheduled true)",
            &["n.count", "n.limit", "n.scheduled", "n.handlers"],
            expect![[r#"
                n.count:
                5
                m.count:
                0
                n.count:
                6
                m.count:
                3
                While executing 'DriverManager@3 :: DriverManager':
                  While calling 'n.limit x':
                    expected integer
                n.count: 0
                n.limit: 8
                n.scheduled: true
                n.handlers: tickets	rw
                scheduled	rw
                reset	w
                limit	rw
                count	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
        check_reading(
            "n :: NullTask(LIMIT 5, STOP true); i :: InfiniteSource -> Discard",
            &["n.count"],
            expect![[r#"
            n.count: 5
        "#]],
        );
    }
}
