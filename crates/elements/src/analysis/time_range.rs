//! Watches the range of packets' timestamps.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> t :: TimeRange -> Discard;
//! DriverManager(wait, print t.range);
//! ```

use args::Timestamp;
use element::{
    per_packet, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<TimeRange>("TimeRange", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::keyword(
    "SIMPLE",
    "bool",
    "Whether packets come in order, so that the last one is the latest. Default false.",
)];

const HANDLERS: &[Handler] = &[
    Handler::read("first", "The earliest timestamp; 0 before the first packet.").flags("least"),
    Handler::read("last", "The latest timestamp; 0 before the first packet.").flags("most"),
    Handler::read("range", "The earliest and the latest timestamp."),
    Handler::read("interval", "Seconds from the earliest to the latest timestamp.").flags("most"),
    Handler::write("reset", "Forgets the range.").flags("button"),
];

/// See the page above.
pub struct TimeRange {
    first_ns: i64,
    last_ns: i64,
    is_simple: bool,
}

impl Element for TimeRange {
    fn configure(conf: &mut Configure<'_>) -> Result<TimeRange, Failed> {
        let is_simple = conf.args.get_or("SIMPLE", false);
        conf.finish()?;
        Ok(TimeRange { first_ns: 0, last_ns: 0, is_simple })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let (first, last) = (Timestamp::from_nanos(self.first_ns), Timestamp::from_nanos(self.last_ns));
        Ok(match name {
            "first" => first.to_string(),
            "last" => last.to_string(),
            "range" => format!("{first} {last}"),
            "interval" => (last - first).to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset" => (self.first_ns, self.last_ns) = (0, 0),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TimeRange>(ctx, old) else { return };
        (self.first_ns, self.last_ns) = (old.first_ns, old.last_ns);
    }
}

impl TimeRange {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let time_ns = packet.timestamp_ns();
        if self.first_ns == 0 {
            (self.first_ns, self.last_ns) = (time_ns, time_ns);
        } else if self.is_simple {
            self.last_ns = time_ns;
        } else {
            self.last_ns = self.last_ns.max(time_ns);
            self.first_ns = self.first_ns.min(time_ns);
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_range_grows_with_the_packets() {
        let stamps: String = [0, 5, 9, 3, 7]
            .iter()
            .map(|s| format!("InfiniteSource(LIMIT 1) -> SetTimestamp({s}.5) -> t; "))
            .collect();
        check_reading(
            &format!("t :: TimeRange; {stamps} t -> u :: TimeRange(SIMPLE true) -> Discard; none :: TimeRange; Idle -> none -> Discard;
                DriverManager(wait 1s, read t.range, write t.reset)"),
            &["t.range", "u.range", "u.first", "u.last", "u.interval", "none.interval", "t.handlers"],
            expect![[r#"
                t.range:
                0.500000 9.500000
                t.range: 0.000000 0.000000
                u.range: 0.500000 7.500000
                u.first: 0.500000
                u.last: 7.500000
                u.interval: 7.000000
                none.interval: 0.000000
                t.handlers: reset	wb
                interval	r
                range	r
                last	r
                first	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }
}
