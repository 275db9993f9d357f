//! Pulls packets and pushes them on.
//!
//! The counterpart of a queue: takes up to BURST packets from its pull input each time it is scheduled and pushes them to its
//! output.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue(BURST 32) -> Discard;
//! ```

use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use element::{
    handlers, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Signal, TaskId, Wake,
};

use super::tally::Tally;

/// The class.
pub const CLASS: Class =
    Class::new::<Unqueue>("Unqueue", "1/1", "l/h", "x/x").blind().args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::optional(
        "BURST",
        "int",
        "Most packets to move each time scheduled; negative is no limit. Default what `--burst` says, 1 with `weir click`.",
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
    /// Shared with its second hand: handlers that are called because of its packets may ask and stop it.
    state: Arc<State>,
    signal: Signal,
}

/// One thread at a time uses it.
struct State {
    burst: AtomicI32,
    /// Whether the burst is not the user's: it is smaller where queues have no room.
    fits: AtomicBool,
    is_active: AtomicBool,
    limit: AtomicI32,
    count: Tally,
    task: OnceLock<TaskId>,
}

impl Element for Unqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<Unqueue, Failed> {
        let given: Option<i32> = conf.args.get("BURST");
        let burst = given.unwrap_or(conf.environment.default_burst() as i32);
        let is_active = conf.args.get_or("ACTIVE", true);
        let limit = conf.args.get_or("LIMIT", -1);
        conf.finish()?;
        let state = State {
            burst: AtomicI32::new(unlimited(burst)),
            fits: AtomicBool::new(given.is_none()),
            is_active: AtomicBool::new(is_active),
            limit: AtomicI32::new(limit),
            count: Tally::default(),
            task: OnceLock::new(),
        };
        Ok(Unqueue { state: Arc::new(state), signal: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        let state = &self.state;
        if state.is_active.load(Relaxed) {
            ctx.schedule(task);
        }
        self.signal = ctx.upstream_empty_signal(0, Wake::Task(task));
        state.task.get_or_init(|| task);
        if state.burst.load(Relaxed) == 0 {
            ctx.warn("BURST size 0, no packets will be pulled");
        }
        Ok(())
    }

    fn joint_runs(&self) -> (usize, Causes) {
        let state = &self.state;
        let joins =
            state.is_active.load(Relaxed) && (state.burst.load(Relaxed) == 1 || state.fits.load(Relaxed));
        (if joins { state.left().min(u64::from(u32::MAX)) as usize } else { 1 }, Causes::NOTHING)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let Some((burst, left)) = self.state.plan() else { return false };
        let burst = if self.state.fits.load(Relaxed) { ctx.fitting(burst, Causes::NOTHING) } else { burst };
        let mut left = ctx.joint_burst(burst, left, Causes::NOTHING) as u64;
        let (mut worked, at_once) = (false, ctx.at_once(left as usize, Causes::NOTHING));
        while left > 0 {
            let wanted = left.min(at_once as u64) as usize;
            let (batch, n_idle) = ctx.pull_joint(0, burst, wanted);
            let n = batch.len();
            worked |= n > 0 && (burst > 1 || n_idle == 0);
            self.state.count.add(n as u64);
            left -= n as u64;
            if left == 0 {
                ctx.emit_noticed(0, batch, Causes::NOTHING);
            } else {
                ctx.emit_now(0, batch);
            }
            if n < wanted {
                if n_idle > 0 && !ctx.is_active(&self.signal) {
                    return worked;
                }
                break;
            }
            if left > 0 && !self.state.is_active.load(Relaxed) {
                break;
            }
        }
        ctx.schedule(task);
        worked
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let state = &self.state;
        Ok(match name {
            "active" => state.is_active.load(Relaxed).to_string(),
            "count" => state.count.get().to_string(),
            "burst" => state.burst.load(Relaxed).to_string(),
            "limit" => state.limit.load(Relaxed).to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = || args::integer::<i32>(value).map_err(|_| "syntax error".to_string());
        let state = &self.state;
        match name {
            "active" => state.is_active.store(args::boolean(value).map_err(|_| "syntax error")?, Relaxed),
            "reset" | "reset_counts" => state.count.set(0),
            "limit" => state.limit.store(number()?, Relaxed),
            "burst" => {
                state.burst.store(unlimited(number()?), Relaxed);
                state.fits.store(false, Relaxed);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        let may_go_on = state.is_active.load(Relaxed) && state.left() > 0;
        if let Some(task) = state.task.get().filter(|task| may_go_on && !ctx.is_scheduled(**task)) {
            ctx.schedule(*task);
        }
        Ok(())
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(Unqueue { state: self.state.clone(), signal: Signal::Busy }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Unqueue>(ctx, old) else { return };
        self.state.count.set(old.state.count.get());
    }
}

impl State {
    /// Packets that may still be moved.
    fn left(&self) -> u64 {
        let limit = u64::try_from(self.limit.load(Relaxed));
        limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.count.get()))
    }

    /// The burst of a run and what may be moved in all; `None` if there is nothing to do.
    fn plan(&self) -> Option<(usize, u64)> {
        let left = self.left();
        (self.is_active.load(Relaxed) && left > 0).then(|| (self.burst.load(Relaxed) as usize, left))
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
    fn what_its_packets_cause_to_be_called_may_ask_and_stop_it() {
        check_reading(
            "InfiniteSource(LIMIT 9) -> q :: Queue -> u :: Unqueue(4) -> Counter(COUNT_CALL 2 s.run) -> Print -> Discard;
             s :: Script(TYPE PASSIVE, read u.count, read u.active, read u.scheduled, write u.active false);
             DriverManager(wait 1ms, stop)",
            &["u.count", "u.active"],
            expect![[r#"
                  69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                u.count:
                2
                u.active:
                true
                u.scheduled:
                false
                  69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                u.count: 2
                u.active: false
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
