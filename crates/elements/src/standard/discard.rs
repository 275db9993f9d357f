//! Drops all packets, and counts them.
//!
//! With a pull input it pulls packets itself, whenever there are some.
//!
//! ```click
//! InfiniteSource(LIMIT 10, STOP true) -> d :: Discard;
//! ```

use element::{
    handlers, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Signal, TaskId, Wake,
};

/// The class.
pub const CLASS: Class = Class::new::<Discard>("Discard", "1/0", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .blind()
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::keyword("ACTIVE", "bool", "Whether to pull packets; only with a pull input. Default true."),
    Arg::keyword(
        "BURST",
        "unsigned",
        "Most packets to pull each time scheduled; 0 is no limit. Default what `--burst` says, 1 with `weir click`.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets dropped."),
    Handler::write("reset_counts", "Sets the count to 0.").flags("button"),
    Handler::read_write("active", "Whether packets are pulled.").flags("checkbox"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct Discard {
    count: u64,
    burst: usize,
    /// Whether the burst is not the user's: it is smaller where queues have no room.
    fits: bool,
    is_active: bool,
    is_push: bool,
    puller: Option<(TaskId, Signal)>,
}

impl Element for Discard {
    fn configure(conf: &mut Configure<'_>) -> Result<Discard, Failed> {
        let is_active = conf.args.get_or("ACTIVE", true);
        let given: Option<u32> = conf.args.get("BURST");
        let is_push = conf.environment.input_is_push(conf.element, 0);
        if !is_active && is_push {
            conf.args.fail("ACTIVE is meaningless in push context");
        }
        conf.finish()?;
        let burst = match given {
            None => conf.environment.default_burst(),
            Some(0) => usize::MAX,
            Some(burst) => burst as usize,
        };
        Ok(Discard { count: 0, burst, fits: given.is_none(), is_active, is_push, puller: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.is_push {
            return Ok(());
        }
        let task = ctx.new_task();
        if self.is_active {
            ctx.schedule(task);
        }
        let signal = ctx.upstream_empty_signal(0, Wake::Task(task));
        self.puller = Some((task, signal));
        Ok(())
    }

    fn push(&mut self, _ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.count += batch.len() as u64;
        batch.clear();
    }

    fn joint_runs(&self) -> (usize, Causes) {
        (if self.is_active && (self.burst == 1 || self.fits) { usize::MAX } else { 1 }, Causes::NOTHING)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let of_run = if self.fits { ctx.fitting(self.burst, Causes::NOTHING) } else { self.burst };
        let burst = ctx.joint_burst(of_run, u64::MAX, Causes::NOTHING);
        let (mut left, at_once, mut worked) = (burst, ctx.at_once(burst, Causes::NOTHING), false);
        while left > 0 {
            let wanted = left.min(at_once);
            let (mut batch, n_idle) = ctx.pull_joint(0, of_run, wanted);
            let n = batch.len();
            batch.clear();
            left -= n;
            self.count += n as u64;
            worked = n > 0 && (of_run > 1 || n_idle == 0) || worked;
            if n < wanted {
                break;
            }
        }
        let more = self.puller.as_ref().is_some_and(|(_, signal)| ctx.is_active(signal));
        if self.is_active && (worked || more) {
            ctx.schedule(task);
        }
        worked
    }

    fn has_handler(&self, name: &str) -> bool {
        !self.is_push || !matches!(name, "active" | "scheduled" | "tickets" | "home_thread")
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.count.to_string()),
            "active" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => self.count = 0,
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "syntax error")?;
                match &self.puller {
                    Some((task, _)) if self.is_active => ctx.schedule(*task),
                    Some((task, _)) => ctx.unschedule(*task),
                    None => {}
                }
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Discard>(ctx, old) else { return };
        self.count = old.count;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn only_a_pulling_one_can_be_inactive() {
        check_reading(
            "Idle -> d :: Discard; Idle -> Queue -> e :: Discard",
            &["d.handlers", "e.handlers"],
            expect![[r#"
                d.handlers: reset_counts	wb
                count	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

                e.handlers: tickets	rw
                scheduled	r
                active	rwc
                reset_counts	wb
                count	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }
}
