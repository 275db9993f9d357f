//! Pulls packets at a rate and pushes them on.
//!
//! Takes a packet from its pull input for every token of a token bucket that fills at RATE. What was not taken for want of
//! packets is made up for, up to the capacity of the bucket.
//!
//! ```click
//! InfiniteSource -> Queue -> RatedUnqueue(RATE 100) -> Discard;
//! ```

use element::{
    handlers, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Puller, TaskId, TimerId,
};

use super::rate_limit::{RateLimit, Unit, PACKET_ARGS, REFUSALS};

/// The class.
pub const CLASS: Class = class("RatedUnqueue", PACKET_ARGS, configure);

const HANDLERS: &[Handler] = &[
    Handler::read("calls", "How often the task ran, and with what result."),
    Handler::read_write("rate", "The rate; writing it sets the capacity to that of 20 ms.").flags("setting"),
    Handler::read("config", "The rate.").flags("alike"),
    Handler::read_write("active", "Whether packets are moved.").flags("checkbox"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// A class of these; `configure` calls [`RatedUnqueue::of_unit`].
pub(super) const fn class(
    name: &'static str,
    args: &'static [Arg],
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<RatedUnqueue>(name, "1/1", "l/h", "x/x");
    Class { configure, ..class.args(args).handlers(HANDLERS).refuses(REFUSALS).live() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RatedUnqueue::of_unit(conf, Unit::Packets)
}

/// See the page above; `BandwidthRatedUnqueue` is made of this, too.
pub struct RatedUnqueue {
    limit: RateLimit,
    burst: usize,
    is_active: bool,
    calls: Calls,
    /// Packets on their way, which are counted behind it.
    n_moved: u64,
    /// What wakes the element.
    wakers: Option<(Puller, TimerId)>,
}

/// How often the task ran, and with what result.
#[derive(Clone, Default)]
struct Calls {
    runs: u64,
    empty_runs: u64,
    pushes: u64,
    failed_pulls: u64,
}

impl Element for RatedUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<RatedUnqueue, Failed> {
        RatedUnqueue::new(conf, Unit::Packets)
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
        self.calls.runs += 1;
        if !self.is_active {
            return false;
        }
        self.limit.refill(ctx.now_ns());
        if self.limit.n_wanted(1) == 0 {
            ctx.schedule_after(*timer, self.limit.ns_until_next());
            self.calls.empty_runs += 1;
            return false;
        }
        let burst = ctx.fitting(self.burst, Causes::NOTHING).max(1);
        let n_moved = move_packets(&mut self.limit, ctx, burst);
        if n_moved == 0 {
            self.calls.failed_pulls += 1;
            if ctx.is_active(&puller.signal) {
                self.calls.empty_runs += 1;
                ctx.schedule(puller.task);
            }
            return false;
        }
        // As in Click, bytes are limited by one that counts a packet before it goes.
        self.n_moved = if self.limit.is_in_bytes() { 0 } else { n_moved };
        self.calls.pushes += n_moved - self.n_moved;
        if !ctx.go_on_noticed(Causes::NOTHING) {
            self.go_on(ctx);
        }
        true
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.calls.pushes += self.n_moved;
        if let Some((puller, _)) = &self.wakers {
            ctx.schedule(puller.task);
        }
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let Calls { runs, empty_runs, pushes, failed_pulls } = self.calls;
        Ok(match name {
            "calls" => format!(
                "{runs} calls to run_task()\n{empty_runs} empty runs\n{pushes} pushes\n{failed_pulls} failed pulls\n"
            ),
            "rate" | "config" => self.limit.unparse(),
            "active" => self.is_active.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rate" => self.limit.write_rate(value)?,
            "active" => self.is_active = args::boolean(value).map_err(|_| "expected boolean")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<RatedUnqueue>(ctx, old) {
            self.limit.take_over(&old.limit);
            (self.calls, self.is_active) = (old.calls, old.is_active);
            self.wakers = self.wakers.take().or(old.wakers);
        }
    }
}

impl RatedUnqueue {
    /// Makes one that limits packets or bytes.
    pub(super) fn of_unit(conf: &mut Configure<'_>, unit: Unit) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(RatedUnqueue::new(conf, unit)?))
    }

    fn new(conf: &mut Configure<'_>, unit: Unit) -> Result<RatedUnqueue, Failed> {
        let limit = RateLimit::configure(conf, unit)?;
        let burst = conf.environment.default_burst();
        Ok(RatedUnqueue { limit, burst, is_active: true, calls: Calls::default(), n_moved: 0, wakers: None })
    }
}

/// Moves up to `max` packets, as many as may pass and there are; yields their number.
fn move_packets(limit: &mut RateLimit, ctx: &mut Ctx<'_>, max: usize) -> u64 {
    let (mut left, at_once) = (max, ctx.at_once(max, Causes::NOTHING));
    while left > 0 {
        let n_wanted = limit.n_wanted(left.min(at_once));
        if n_wanted == 0 {
            break;
        }
        let batch = ctx.pull(0, n_wanted);
        let n = batch.len();
        limit.n_passing(&batch);
        left = left.saturating_sub(n);
        if left == 0 {
            ctx.emit(0, batch);
        } else {
            ctx.emit_now(0, batch);
        }
        if n < n_wanted {
            break;
        }
    }
    (max - left) as u64
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_move_at_the_rate() {
        check_reading(
            "InfiniteSource -> Queue(10) -> u :: RatedUnqueue(100, BURST_SIZE 5) -> c :: Counter -> Discard;
             DriverManager(wait 1s, read c.count, read u.calls, write u.rate 1000, wait 1s, read c.count,
                 write u.active false, wait 1s, stop)",
            &["c.count", "u.rate", "u.scheduled"],
            expect![[r#"
                c.count:
                104
                u.calls:
                204 calls to run_task()
                100 empty runs
                104 pushes
                0 failed pulls

                c.count:
                1112
                c.count: 1112
                u.rate: 1000
                u.scheduled: false
            "#]],
        );
    }

    #[test]
    fn bytes_move_at_the_rate() {
        check_reading(
            "InfiniteSource(LENGTH 1000) -> Queue(10) -> u :: BandwidthRatedUnqueue(1Mbps) -> c :: Counter -> Discard;
             DriverManager(wait 1s, stop)",
            &["c.byte_count", "u.rate"],
            expect![[r#"
                c.byte_count: 128000
                u.rate: 1.000496Mbps
            "#]],
        );
    }

    #[test]
    fn a_burst_is_given_in_one_way_only() {
        check_reading(
            "Idle -> RatedUnqueue(RATE 100, BURST_SIZE 10, BURST_DURATION 1s) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'RatedUnqueue@2 :: RatedUnqueue':
                  cannot specify both BURST_DURATION and BURST_SIZE
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn packets_are_counted_behind_what_comes_of_them_but_bytes_before() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> Queue -> u :: RatedUnqueue(1000) -> Counter(COUNT_CALL 2 s.run) -> Discard;
             InfiniteSource(LIMIT 6) -> Queue -> b :: BandwidthRatedUnqueue(69kBps) -> Counter(COUNT_CALL 2 t.run) -> Discard;
             s :: Script(TYPE PASSIVE, read u.calls, read u.scheduled, write u.active false);
             t :: Script(TYPE PASSIVE, read b.calls, read b.scheduled);
             DriverManager(wait 1, stop)",
            &["u.calls"],
            expect![[r#"
                u.calls:
                2 calls to run_task()
                0 empty runs
                1 pushes
                0 failed pulls

                u.scheduled:
                false
                b.calls:
                2 calls to run_task()
                0 empty runs
                2 pushes
                0 failed pulls

                b.scheduled:
                false
                u.calls: 3 calls to run_task()
                0 empty runs
                2 pushes
                0 failed pulls

            "#]],
        );
    }
}
