//! Adds a time to packets' timestamps.
//!
//! ```click
//! FromDump(in.pcap) -> AdjustTimestamp(-3600) -> ToDump(out.pcap);
//! ```

use args::Timestamp;
use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<AdjustTimestamp>("AdjustTimestamp", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::optional("TIME", "time", "What is added; may be negative. Default 0."),
    Arg::keyword(
        "FIRST",
        "bool",
        "Whether it is added to the first-timestamp annotation instead. Default false.",
    ),
    Arg::keyword("ALL", "bool", "Whether it is added to timestamps of zero, too. Default false."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("time", "What is added.")];

/// See the page above.
pub struct AdjustTimestamp {
    time: Timestamp,
    is_first: bool,
    adjusts_all: bool,
}

impl Element for AdjustTimestamp {
    fn configure(conf: &mut Configure<'_>) -> Result<AdjustTimestamp, Failed> {
        let time = conf.args.get_with("TIME", |text, _| args::signed_timestamp(text)).unwrap_or_default();
        let is_first = conf.args.get_or("FIRST", false);
        let adjusts_all = conf.args.get_or("ALL", false);
        conf.finish()?;
        Ok(AdjustTimestamp { time, is_first, adjusts_all })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "time" => Ok(self.time.unparse_interval()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "time" => {
                self.time = args::signed_timestamp(value).map_err(|_| "expected time in seconds")?;
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }
}

impl AdjustTimestamp {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let old_ns = match self.is_first {
            true => i64::from_ne_bytes(packet.anno(annotation::FIRST_TIMESTAMP)),
            false => packet.timestamp_ns(),
        };
        if old_ns != 0 || self.adjusts_all {
            let new_ns = old_ns.wrapping_add(self.time.as_nanos());
            match self.is_first {
                true => packet.set_anno(annotation::FIRST_TIMESTAMP, new_ns.to_ne_bytes()),
                false => packet.set_timestamp_ns(new_ns),
            }
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn timestamps_move_unless_they_are_zero() {
        check_reading(
            r#"FromIPSummaryDump(DATA "!data timestamp first_timestamp
1.5 3
0 0
") -> t :: AdjustTimestamp(-1) -> AdjustTimestamp(2, FIRST true) -> AdjustTimestamp(0.25s, ALL true)
                 -> Print(TIMESTAMP true) -> SetTimestamp(FIRST true) -> Discard;
              DriverManager(wait 1s, write t.time -1.5s, write t.time x, stop)"#,
            &["t.time"],
            expect![[r#"
                0.750000:    0
                0.250000:    0
                While executing 'DriverManager@8 :: DriverManager':
                  While calling 't.time x':
                    expected time in seconds
                t.time: -1.500000s
            "#]],
        );
    }
}
