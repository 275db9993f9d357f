//! Pulls a few packets every so often and pushes them on.
//!
//! Pulls up to BURST packets at once and then waits for INTERVAL. When it finds nothing to pull and knows that it will be told of
//! packets, it waits for them, and the first of them is pulled at once.
//!
//! ```click
//! InfiniteSource -> Queue -> TimedUnqueue(0.1s, 5) -> Discard;
//! ```

use args::Seconds;
use element::{Arg, Class, Configure, Ctx, Element, Failed, Puller, TaskId, TimerId, BATCH_MAX};

/// The class.
pub const CLASS: Class = class("TimedUnqueue", ARGS, configure);

const ARGS: &[Arg] = &[INTERVAL, Arg::optional("BURST", "int", "Most packets to pull at once. Default 1.")];

pub(super) const INTERVAL: Arg = Arg::required("INTERVAL", "time in ms", "Time between bursts.");

/// A class of these; `configure` calls [`TimedUnqueue::with_burst`].
pub(super) const fn class(
    name: &'static str,
    args: &'static [Arg],
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    Class { configure, ..Class::new::<TimedUnqueue>(name, "1/1", "l/h", "x/x").args(args).blind() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    TimedUnqueue::with_burst(conf, 1)
}

/// See the page above; `Burster` is made of this, too.
pub struct TimedUnqueue {
    interval_ns: i64,
    burst: usize,
    /// Packets to pull from the input in one go.
    at_once: usize,
    /// What wakes the element.
    wakers: Option<(Puller, TimerId)>,
    /// Whether the next interval begins where the last one ended.
    is_periodic: bool,
}

impl Element for TimedUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<TimedUnqueue, Failed> {
        TimedUnqueue::new(conf, 1)
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.wakers = Some((ctx.new_puller(0), ctx.new_timer()));
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if let Some((puller, _)) = &self.wakers {
            ctx.schedule(puller.task);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        let Some((puller, timer)) = &self.wakers else { return false };
        // It was woken by packets that came before their time.
        if ctx.timer_is_scheduled(*timer) {
            return false;
        }
        let n_moved = move_packets(ctx, self.burst, self.at_once);
        if n_moved == 0 && !ctx.is_active(&puller.signal) {
            self.is_periodic = false;
            return false;
        }
        match self.is_periodic {
            true => {
                // Click looks at both clocks to tell that the timer has been set; simulated time shows it.
                ctx.let_pass(2);
                ctx.reschedule_after(*timer, self.interval_ns);
            }
            false => ctx.schedule_after(*timer, self.interval_ns),
        }
        self.is_periodic = true;
        true
    }
}

/// Moves up to `max` packets, `at_once` at a time, until there are none; yields how many.
fn move_packets(ctx: &mut Ctx<'_>, max: usize, at_once: usize) -> usize {
    let mut left = max;
    while left > 0 {
        let n_wanted = left.min(at_once);
        let batch = ctx.pull(0, n_wanted);
        let n = batch.len();
        left -= n;
        ctx.emit_now(0, batch);
        if n < n_wanted {
            break;
        }
    }
    max - left
}

impl TimedUnqueue {
    /// Makes one that pulls `default` packets at once unless told otherwise.
    pub(super) fn with_burst(conf: &mut Configure<'_>, default: i32) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(TimedUnqueue::new(conf, default)?))
    }

    fn new(conf: &mut Configure<'_>, default: i32) -> Result<TimedUnqueue, Failed> {
        let Seconds::<3>(interval_ms) = conf.args.need("INTERVAL");
        let burst: i32 = conf.args.get_or("BURST", default);
        if burst <= 0 {
            conf.args.fail("bad BURST");
        }
        conf.finish()?;
        let interval_ns = i64::from(interval_ms) * 1_000_000;
        let at_once = conf.environment.default_burst().clamp(1, BATCH_MAX);
        let burst = usize::try_from(burst).unwrap_or(1);
        Ok(TimedUnqueue { interval_ns, burst, at_once, wakers: None, is_periodic: false })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_move_in_bursts() {
        check_reading(
            "i :: InfiniteSource(LIMIT 10) -> q :: Queue -> u :: TimedUnqueue(0.1, 3) -> c :: Counter -> Discard;
            InfiniteSource(LIMIT 10) -> Queue -> Burster(0.1) -> d :: Counter -> Discard;
            DriverManager(wait 0.05, read c.count, read d.count, wait 0.1, read c.count, read d.count, wait 1,
                read c.count, write i.reset, wait 0.01, read c.count)",
            &["u.handlers"],
            expect![[r#"
                c.count:
                1
                d.count:
                1
                c.count:
                4
                d.count:
                9
                c.count:
                10
                c.count:
                10
                u.handlers: handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn simulated_time_passes_as_in_click() {
        check(
            "TimedSource(0.1, LIMIT 5) -> Queue -> TimedUnqueue(0.2, 3) -> Queue -> Unqueue -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard; Script(wait 0.5, stop)",
            expect![[r#"
                q: 1000000000.200000005:   69
                q: 1000000000.200000006:   69
                q: 1000000000.400000005:   69
                q: 1000000000.400000006:   69
            "#]],
        );
    }

    #[test]
    fn a_burst_is_positive() {
        check(
            "Idle -> TimedUnqueue(1, 0) -> Queue -> TimedUnqueue -> Queue -> Burster(1, BURST -1) -> Queue
                -> Burster(x) -> Queue -> Burster(1, 2, 3) -> Discard",
            expect![[r#"
                config:1: While configuring 'TimedUnqueue@2 :: TimedUnqueue':
                  bad BURST
                config:1: While configuring 'TimedUnqueue@4 :: TimedUnqueue':
                  INTERVAL: required argument missing
                config:1: While configuring 'Burster@6 :: Burster':
                  bad BURST
                config:2: While configuring 'Burster@8 :: Burster':
                  INTERVAL: parse error
                config:2: While configuring 'Burster@10 :: Burster':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }
}
