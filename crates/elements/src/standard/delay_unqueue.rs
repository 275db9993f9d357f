//! Pulls packets, holds each until its time plus a delay, and pushes it on.
//!
//! A packet with timestamp T is sent at T + DELAY or later, and its timestamp is set to that; one without timestamp counts from
//! when it is pulled. One packet is held at a time.
//!
//! ```click
//! TimedSource(0.1s) -> Queue -> DelayUnqueue(50ms) -> Discard;
//! ```

use args::Timestamp;
use element::{
    handlers, same, Arg, Class, Configure, Ctx, Element, Failed, Handler, Packet, Puller, TaskId, TimerId,
    BATCH_MAX,
};

/// The class.
pub const CLASS: Class =
    Class::new::<DelayUnqueue>("DelayUnqueue", "1/1", "l/h", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::required("DELAY", "time", "Time that packets are held.")];

const HANDLERS: &[Handler] = &[
    Handler::read_write("delay", "Time that packets are held."),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct DelayUnqueue {
    delay: Timestamp,
    held: Option<Packet>,
    /// Packets that this run of the task has sent.
    n_sent: usize,
    /// What wakes the element.
    wakers: Option<(Puller, TimerId)>,
}

impl Element for DelayUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<DelayUnqueue, Failed> {
        let delay = conf.args.need("DELAY");
        conf.finish()?;
        Ok(DelayUnqueue { delay, held: None, n_sent: 0, wakers: None })
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
        self.n_sent = 0;
        self.go_on(ctx)
    }

    /// Sends a packet that is due, and goes on behind it.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some((puller, timer)) = &self.wakers else { return false };
        // An end, so that others get their turn even if what is sent comes back at once.
        if self.n_sent >= BATCH_MAX {
            ctx.schedule(puller.task);
            return true;
        }
        let Some(packet) = self.held.take().or_else(|| pull_delayed(ctx, self.delay)) else {
            if ctx.is_active(&puller.signal) {
                ctx.schedule(puller.task);
            }
            return self.n_sent > 0;
        };
        let due_ns = packet.timestamp_ns();
        if due_ns > ctx.now_ns() {
            self.held = Some(packet);
            ctx.schedule_at_wall(*timer, due_ns);
            return false;
        }
        ctx.emit_packet(0, packet);
        self.n_sent += 1;
        ctx.go_on_later();
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "delay" => Ok(self.delay.unparse_interval()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "delay" => {
                self.delay = args::signed_timestamp(value).map_err(|_| "expected time in seconds")?;
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DelayUnqueue>(ctx, old) else { return };
        // The task, which is scheduled, finds out how long it still waits.
        self.held = old.held;
    }
}

/// Pulls a packet and adds the delay to its time, which is now if it has none.
pub(super) fn pull_delayed(ctx: &mut Ctx<'_>, delay: Timestamp) -> Option<Packet> {
    let mut packet = ctx.pull_packet(0)?;
    let time = Timestamp::from_nanos(packet.timestamp_ns());
    let time = if time.sec() == 0 { Timestamp::from_nanos(ctx.now_ns()) } else { time };
    packet.set_timestamp_ns((time + delay).as_nanos());
    Some(packet)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn simulated_time_passes_as_in_click() {
        check(
            "RatedSource(RATE 10, LIMIT 3) -> Queue -> DelayUnqueue(0.03) -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard; Script(wait 0.5, stop)",
            expect![[r#"
                q: 1000000000.030000005:   69
                q: 1000000000.030000011:   69
                q: 1000000000.131000014:   69
            "#]],
        );
    }

    #[test]
    fn packets_are_held_for_the_delay() {
        check_reading(
            "TimedSource(0.1) -> Queue -> d :: DelayUnqueue(0.25) -> c :: Counter -> Discard;
             DriverManager(wait 0.34, read c.count, wait 0.02, read c.count, write d.delay 0.05, write d.delay x,
                 wait 0.5, write d.delay -1, stop)",
            &["c.count", "d.delay"],
            expect![[r#"
                c.count:
                0
                c.count:
                1
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 'd.delay x':
                    expected time in seconds
                c.count: 8
                d.delay: -1.000000s
            "#]],
        );
    }

    #[test]
    fn what_its_packets_cause_to_be_called_may_ask_and_change_it() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> q :: Queue -> u :: DelayUnqueue(0.1) -> Counter(COUNT_CALL 2 s.run) -> c :: Counter -> Discard;
             s :: Script(TYPE PASSIVE, read u.delay, write u.delay 0.2, read u.scheduled, read q.length);
             DriverManager(wait 1, stop)",
            &["u.delay", "c.count"],
            expect![[r#"
                u.delay:
                100ms
                u.scheduled:
                false
                q.length:
                4
                u.delay: 200ms
                c.count: 6
            "#]],
        );
    }
}
