//! Pulls and drops a packet every so often.
//!
//! ```click
//! InfiniteSource(LIMIT 5) -> Queue -> TimedSink(0.1s);
//! ```

use args::Timestamp;
use element::{Arg, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::timed_source::parse_interval;

/// The class.
pub const CLASS: Class =
    Class::new::<TimedSink>("TimedSink", "1/0", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::optional("INTERVAL", "time", "Time from pull to pull. Default 500 ms.")];

const HANDLERS: &[Handler] = &[Handler::read_write("interval", "Time from pull to pull.").flags("calm")];

/// See the page above.
pub struct TimedSink {
    interval: Timestamp,
}

impl Element for TimedSink {
    fn configure(conf: &mut Configure<'_>) -> Result<TimedSink, Failed> {
        let interval = conf.args.get_or("INTERVAL", Timestamp::from_millis(500));
        conf.finish()?;
        Ok(TimedSink { interval })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, self.interval.as_nanos());
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        drop(ctx.pull_packet(0));
        ctx.reschedule_after(timer, self.interval.as_nanos());
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "interval" => Ok(self.interval.unparse_interval()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "interval" => {
                self.interval = parse_interval(value)?;
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_are_pulled_every_interval() {
        check_reading(
            "InfiniteSource(LIMIT 50) -> c :: Counter -> t :: TimedSink(0.1); DriverManager(wait 1.05, stop)",
            &["c.count", "t.interval"],
            expect![[r#"
                c.count: 10
                t.interval: 100ms
            "#]],
        );
    }
}
