//! Adds up how long ago packets got their timestamps.
//!
//! ```click
//! RatedSource(RATE 100) -> SetTimestamp -> Queue -> Unqueue -> t :: TimestampAccum -> Discard;
//! Script(wait 1s, print t.average_time);
//! ```

use args::Timestamp;
use element::{
    per_packet, same, Causes, Class, Clock, Configure, Ctx, Element, Failed, Handler, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<TimestampAccum>("TimestampAccum", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .handlers(HANDLERS);

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets that have passed."),
    Handler::read("time", "Seconds from packets' timestamps until they passed, added up."),
    Handler::read("average_time", "Seconds from packets' timestamps until they passed, on average.")
        .flags("alike"),
    Handler::write("reset_counts", "Sets the count and the time to 0.").flags("button"),
];

/// See the page above.
pub struct TimestampAccum {
    count: u64,
    sum_s: f64,
}

impl Element for TimestampAccum {
    fn configure(conf: &mut Configure<'_>) -> Result<TimestampAccum, Failed> {
        conf.finish()?;
        Ok(TimestampAccum { count: 0, sum_s: 0.0 })
    }

    per_packet!(now);

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "count" => self.count.to_string(),
            "time" => args::unparse_double(self.sum_s),
            // What C prints on the usual processors, where zero by zero is negative.
            "average_time" if self.count == 0 && self.sum_s == 0.0 => "-nan".to_string(),
            "average_time" => args::unparse_double(self.sum_s / self.count as f64),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => (self.count, self.sum_s) = (0, 0.0),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TimestampAccum>(ctx, old) else { return };
        (self.count, self.sum_s) = (old.count, old.sum_s);
    }
}

impl TimestampAccum {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let now = Timestamp::from_nanos(clock.now_ns());
        self.sum_s += (now - Timestamp::from_nanos(packet.timestamp_ns())).as_secs_f64();
        self.count += 1;
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn times_are_added_up() {
        check_reading(
            "InfiniteSource(LIMIT 3) -> SetTimestamp -> Queue -> SetTimestamp(999999999.5) -> Unqueue
                -> t :: TimestampAccum -> Discard;
            DriverManager(read t.time, read t.average_time, wait 1s)",
            &["t.count", "t.time", "t.average_time", "t.handlers"],
            expect![[r#"
                t.time:
                0
                t.average_time:
                -nan
                t.count: 3
                t.time: 1.500000018
                t.average_time: 0.500000006
                t.handlers: reset_counts	wb
                average_time	r
                time	r
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
