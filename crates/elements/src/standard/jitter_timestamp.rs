//! Adds a random time to packets' timestamps.
//!
//! The time is at least 0 and at most MAX, each as probable as any other. In front of `DelayUnqueue`, which holds packets until
//! their time plus a delay, it makes a line whose delay varies; packets keep their order.
//!
//! ```click
//! TimedSource(0.1s) -> SetTimestamp -> JitterTimestamp(5ms) -> Queue -> DelayUnqueue(20ms) -> Discard;
//! ```

use args::Timestamp;
use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler};

/// The class.
pub const CLASS: Class =
    Class::new::<JitterTimestamp>("JitterTimestamp", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::required("MAX", "time", "The most to add, at most 2000 s.")];

const HANDLERS: &[Handler] = &[Handler::read_write("max", "The most to add.")];

const MAX_US: i64 = 2_000_000_000;

/// See the page above.
pub struct JitterTimestamp {
    max_us: u32,
}

impl Element for JitterTimestamp {
    fn configure(conf: &mut Configure<'_>) -> Result<JitterTimestamp, Failed> {
        let max = microseconds(conf.args.need("MAX"));
        if let Err(message) = &max {
            conf.args.fail(message.clone());
        }
        conf.finish()?;
        Ok(JitterTimestamp { max_us: max.unwrap_or(0) })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.add(ctx, &mut batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        self.add(ctx, &mut batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "max" => Ok(Timestamp::from_nanos(i64::from(self.max_us) * 1000).unparse_interval()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "max" => {
                let max = args::timestamp(value.trim()).map_err(|_| "expected time in seconds")?;
                self.max_us = microseconds(max)?;
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }
}

impl JitterTimestamp {
    fn add(&self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        for packet in batch.iter_mut() {
            let jitter_us = ctx.random_between(0, self.max_us);
            packet.set_timestamp_ns(packet.timestamp_ns().saturating_add(i64::from(jitter_us) * 1000));
        }
    }
}

fn microseconds(time: Timestamp) -> Result<u32, String> {
    let us = time.as_nanos() / 1000;
    let is_right = !time.is_negative() && us <= MAX_US;
    if is_right {
        Ok(us as u32)
    } else {
        Err("MAX must be 0 to 2000 s".to_string())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn timestamps_move_into_the_future_by_at_most_the_time() {
        check(
            "RandomSeed(1); InfiniteSource(LIMIT 8, BURST 8, LENGTH 1, STOP true) -> SetTimestamp(10)
                -> j :: JitterTimestamp(5ms) -> Print(TIMESTAMP true) -> Discard;",
            expect![[r#"
                10.004201:    1 | 52
                10.001972:    1 | 52
                10.003916:    1 | 52
                10.003993:    1 | 52
                10.004559:    1 | 52
                10.000987:    1 | 52
                10.001676:    1 | 52
                10.003841:    1 | 52
            "#]],
        );
    }

    #[test]
    fn packets_can_be_pulled_through() {
        check_reading(
            "InfiniteSource(LIMIT 3, LENGTH 1) -> Queue -> JitterTimestamp(1ms) -> Unqueue -> c :: Counter -> Discard",
            &["c.count"],
            expect![[r#"
                c.count: 3
            "#]],
        );
    }

    #[test]
    fn the_time_can_be_changed() {
        check_reading(
            "InfiniteSource(LIMIT 2, BURST 1, LENGTH 1, STOP true) -> SetTimestamp(10)
                -> j :: JitterTimestamp(5ms) -> Print(TIMESTAMP true) -> Discard;
             DriverManager(write j.max 0, write j.max -1, write j.max 3000, write j.max x, wait_stop)",
            &["j.max"],
            expect![[r#"
                While calling 'j.max -1':
                  expected time in seconds
                While calling 'j.max 3000':
                  MAX must be 0 to 2000 s
                While calling 'j.max x':
                  expected time in seconds
                10.000000:    1 | 52
                10.000000:    1 | 52
                j.max: 0ms
            "#]],
        );
        check(
            "Idle -> JitterTimestamp(2001) -> Discard",
            expect![[r#"
            config:1: While configuring 'JitterTimestamp@2 :: JitterTimestamp':
              MAX must be 0 to 2000 s
            Router could not be initialized!
        "#]],
        );
    }
}
