//! Holds each packet that is pulled until its time plus a delay.
//!
//! A packet with timestamp T can be pulled at T + DELAY or later, and its timestamp is then set to the time; one without
//! timestamp counts from when it was pulled from upstream. One packet is held at a time. Tells pullers when it is ready.
//!
//! ```click
//! TimedSource(0.1s) -> Queue -> DelayShaper(50ms) -> Unqueue -> Discard;
//! ```

use args::Timestamp;
use element::{
    same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Notifies, Packet, SearchOp, Signal,
    TimerId, Wake,
};

use super::delay_unqueue::pull_delayed;

/// The class.
pub const CLASS: Class =
    Class::new::<DelayShaper>("DelayShaper", "1/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::required("DELAY", "time", "Time that packets are held.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("delay", "Time that packets are held.").flags("calm nonexclusive")];

/// See the page above.
pub struct DelayShaper {
    delay: Timestamp,
    held: Option<Packet>,
    timer: Option<TimerId>,
    upstream: Signal,
}

impl Element for DelayShaper {
    fn configure(conf: &mut Configure<'_>) -> Result<DelayShaper, Failed> {
        let delay = conf.args.need("DELAY");
        conf.finish()?;
        Ok(DelayShaper { delay, held: None, timer: None, upstream: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.timer = Some(ctx.new_timer());
        self.upstream = ctx.upstream_empty_signal(0, Wake::Callback);
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::Stop), ..Notifies::default() }
    }

    fn notified(&mut self, ctx: &mut Ctx<'_>) {
        ctx.set_empty_signal(true);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        ctx.set_empty_signal(true);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let Some(mut packet) = self.held.take().or_else(|| pull_delayed(ctx, self.delay)) else {
                if !ctx.is_active(&self.upstream) {
                    ctx.set_empty_signal(false);
                }
                break;
            };
            let (due_ns, now_ns) = (packet.timestamp_ns(), ctx.now_ns());
            if due_ns > now_ns {
                self.held = Some(packet);
                if let Some(timer) = self.timer {
                    ctx.schedule_at_wall(timer, due_ns);
                }
                ctx.set_empty_signal(false);
                break;
            }
            packet.set_timestamp_ns(now_ns);
            batch.push(packet);
        }
        batch
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
                self.delay = args::timestamp(value).map_err(|_| "delay must be a timestamp")?;
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DelayShaper>(ctx, old) else { return };
        self.held = old.held;
        // Whoever pulls finds out how long it still waits.
        ctx.set_empty_signal(true);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn simulated_time_passes_as_in_click() {
        check(
            "RatedSource(RATE 10, LIMIT 3) -> Queue -> DelayShaper(0.03) -> Unqueue -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard; Script(wait 0.5, stop)",
            expect![[r#"
                q: 1000000000.030000005:   69
                q: 1000000000.030000011:   69
                q: 1000000000.131000014:   69
            "#]],
        );
    }

    #[test]
    fn packets_can_be_pulled_after_the_delay() {
        check_reading(
            "TimedSource(0.1) -> Queue -> s :: DelayShaper(0.25) -> c :: Counter -> d :: Discard;
             DriverManager(wait 0.34, read c.count, read d.scheduled, wait 0.02, read c.count,
                 write s.delay 0.05, write s.delay x, wait 0.5, stop)",
            &["c.count", "s.delay"],
            expect![[r#"
                c.count:
                0
                d.scheduled:
                false
                c.count:
                1
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 's.delay x':
                    delay must be a timestamp
                c.count: 8
                s.delay: 50ms
            "#]],
        );
    }
}
