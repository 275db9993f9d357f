//! Pulls packets and pushes them on.
//!
//! The counterpart of a queue: takes up to BURST packets from its pull input each time it is scheduled and pushes them to its
//! output.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue(BURST 32) -> Discard;
//! ```

use element::{
    handlers, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Signal, TaskId, Wake,
};

/// The class.
pub const CLASS: Class =
    Class::new::<Unqueue>("Unqueue", "1/1", "l/h", "x/x").blind().args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::optional(
        "BURST",
        "int",
        "Most packets to move each time scheduled; negative is no limit. Default 1.",
    ),
    Arg::keyword("ACTIVE", "bool", "Whether packets are moved. Default true."),
    Arg::keyword("LIMIT", "int", "Most packets to move in all; negative is no limit. Default -1."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("active", "Whether packets are moved.").flags("checkbox"),
    Handler::read("count", "Packets moved."),
    Handler::read_write("burst", "Most packets to move each time scheduled."),
    Handler::read_write("limit", "Most packets to move in all; negative is no limit."),
    Handler::write("reset", "Sets the count to 0.").flags("button"),
    Handler::write("reset_counts", "Sets the count to 0.").flags("button uncommon"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct Unqueue {
    burst: i32,
    is_active: bool,
    limit: i32,
    count: u64,
    task: Option<TaskId>,
    signal: Signal,
}

impl Element for Unqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<Unqueue, Failed> {
        let default_burst = conf.environment.default_burst() as i32;
        let burst = conf.args.get_or("BURST", default_burst);
        let is_active = conf.args.get_or("ACTIVE", true);
        let limit = conf.args.get_or("LIMIT", -1);
        conf.finish()?;
        Ok(Unqueue { burst: unlimited(burst), is_active, limit, count: 0, task: None, signal: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        if self.is_active {
            ctx.schedule(task);
        }
        self.signal = ctx.upstream_empty_signal(0, Wake::Task(task));
        self.task = Some(task);
        if self.burst == 0 {
            ctx.warn("BURST size 0, no packets will be pulled");
        }
        Ok(())
    }

    fn joint_runs(&self) -> (usize, Causes) {
        let joins = self.is_active && self.burst == 1;
        (if joins { self.left().min(u64::from(u32::MAX)) as usize } else { 1 }, Causes::NOTHING)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active {
            return false;
        }
        let mut left = self.left();
        if left == 0 && self.limit >= 0 {
            return false;
        }
        left = ctx.joint_burst(self.burst as usize, left, Causes::NOTHING) as u64;
        let (mut worked, at_once) = (false, ctx.at_once(left as usize, Causes::NOTHING));
        while left > 0 {
            let wanted = left.min(at_once as u64) as usize;
            let batch = ctx.pull(0, wanted);
            let n = batch.len();
            worked |= n > 0;
            self.count += n as u64;
            left -= n as u64;
            if left == 0 {
                ctx.emit(0, batch);
            } else {
                ctx.emit_now(0, batch);
            }
            if n < wanted {
                if !ctx.is_active(&self.signal) {
                    return worked;
                }
                break;
            }
        }
        ctx.schedule(task);
        worked
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "active" => self.is_active.to_string(),
            "count" => self.count.to_string(),
            "burst" => self.burst.to_string(),
            "limit" => self.limit.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = || args::integer::<i32>(value).map_err(|_| "syntax error".to_string());
        match name {
            "active" => self.is_active = args::boolean(value).map_err(|_| "syntax error")?,
            "reset" | "reset_counts" => self.count = 0,
            "limit" => self.limit = number()?,
            "burst" => self.burst = unlimited(number()?),
            _ => return Err(format!("no {name} write handler")),
        }
        let has_more = self.left() > 0;
        if let Some(task) = self.task.filter(|task| self.is_active && has_more && !ctx.is_scheduled(*task)) {
            ctx.schedule(task);
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Unqueue>(ctx, old) else { return };
        self.count = old.count;
    }
}

impl Unqueue {
    /// Packets that it may still move.
    fn left(&self) -> u64 {
        u64::try_from(self.limit).map_or(u64::MAX, |limit| limit.saturating_sub(self.count))
    }
}

fn unlimited(burst: i32) -> i32 {
    if burst < 0 {
        i32::MAX
    } else {
        burst
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_thread_that_is_not_there_is_told() {
        check_reading(
            "InfiniteSource(ACTIVE false) -> Queue -> u :: Unqueue -> Discard;
             DriverManager(write u.home_thread x, write u.home_thread 2, write u.home_thread -1, stop)",
            &["u.home_thread"],
            expect![[r#"
                While calling 'u.home_thread x':
                  bad thread
                While calling 'u.home_thread 2':
                  bad thread
                u.home_thread: -1
            "#]],
        );
    }

    #[test]
    fn packets_of_a_burst_move_one_by_one_where_their_order_shows() {
        check_reading(
            "InfiniteSource(abc, LIMIT 4, BURST 4) -> Queue -> Print(p) -> u :: Unqueue(BURST 3) -> Strip(1)
                -> r :: RoundRobinSwitch -> Print(a) -> Print(x) -> d :: Discard; r[1] -> Print(b) -> d;
             DriverManager(wait 1ms, stop)",
            &["u.count"],
            expect![[r#"
                p:    3 | 616263
                a:    2 | 6263
                x:    2 | 6263
                p:    3 | 616263
                b:    2 | 6263
                p:    3 | 616263
                a:    2 | 6263
                x:    2 | 6263
                p:    3 | 616263
                b:    2 | 6263
                u.count: 4
            "#]],
        );
    }
}
