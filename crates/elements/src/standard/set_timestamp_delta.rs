//! Replaces timestamps by the time that has passed since or until another time.
//!
//! Timestamps of zero stay. TYPE says from when to when: `RANGE` is from the first timestamp that the element has seen to the
//! packet's, `NOW` from the packet's to the present time, `FIRST` from the packet's first-timestamp annotation to its timestamp.
//!
//! ```click
//! FromDump(in.pcap) -> SetTimestampDelta -> Print(TIMESTAMP true) -> Discard;
//! ```

use args::{Timestamp, Word};
use element::{
    annotation, per_packet, same, Arg, Causes, Class, Clock, Configure, Ctx, Element, Failed, Handler,
    Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<SetTimestampDelta>("SetTimestampDelta", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] =
    &[Arg::keyword("TYPE", "`RANGE`, `NOW` or `FIRST`", "From when to when. Default RANGE.")];

const HANDLERS: &[Handler] = &[
    Handler::read("first", "The first timestamp that was not zero.").flags("least"),
    Handler::write("reset", "Forgets the first timestamp.").flags("button"),
];

/// See the page above.
pub struct SetTimestampDelta {
    span: Span,
    /// The first timestamp, 0 if there was none yet.
    first_ns: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Range,
    Now,
    First,
}

impl Element for SetTimestampDelta {
    fn configure(conf: &mut Configure<'_>) -> Result<SetTimestampDelta, Failed> {
        let name = conf.args.get::<Word>("TYPE").map_or("RANGE".to_string(), |Word(name)| name);
        let span = match name.as_str() {
            "RANGE" => Span::Range,
            "NOW" => Span::Now,
            "FIRST" => Span::First,
            _ => {
                conf.args.fail("bad TYPE");
                Span::Range
            }
        };
        conf.finish()?;
        Ok(SetTimestampDelta { span, first_ns: 0 })
    }

    per_packet!(now);

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "first" => Ok(format!("{}\n", Timestamp::from_nanos(self.first_ns))),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset" => self.first_ns = 0,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SetTimestampDelta>(ctx, old) else { return };
        self.first_ns = old.first_ns;
    }
}

impl SetTimestampDelta {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let timestamp_ns = packet.timestamp_ns();
        if timestamp_ns != 0 {
            let (from_ns, to_ns) = match self.span {
                Span::Range => {
                    if self.first_ns == 0 {
                        self.first_ns = timestamp_ns;
                    }
                    (self.first_ns, timestamp_ns)
                }
                Span::Now => (timestamp_ns, clock.now_ns()),
                Span::First => (i64::from_ne_bytes(packet.anno(annotation::FIRST_TIMESTAMP)), timestamp_ns),
            };
            packet.set_timestamp_ns(to_ns.wrapping_sub(from_ns));
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    const DATA: &str = r#"FromIPSummaryDump(DATA "!data timestamp first_timestamp
1 0.5
0 2
4.25 4
3 7", STOP true)"#;

    #[test]
    fn timestamps_become_differences() {
        for span in ["RANGE", "FIRST", "NOW"] {
            check_reading(
                &format!("{DATA} -> d :: SetTimestampDelta(TYPE {span}) -> Print(TIMESTAMP true) -> Discard"),
                &["d.first"],
                match span {
                    "RANGE" => expect![[r#"
                        0.000000:    0
                        0.000000:    0
                        3.250000:    0
                        2.000000:    0
                        d.first: 1.000000

                    "#]],
                    "FIRST" => expect![[r#"
                        0.500000:    0
                        0.000000:    0
                        0.250000:    0
                        -4.000000:    0
                        d.first: 0.000000

                    "#]],
                    _ => expect![[r#"
                        999999999.000000:    0
                        0.000000:    0
                        999999995.750000001:    0
                        999999997.000000002:    0
                        d.first: 0.000000

                    "#]],
                },
            );
        }
    }

    #[test]
    fn the_first_timestamp_can_be_forgotten() {
        check_reading(
            "TimedSource(1s, LIMIT 4) -> SetTimestamp -> d :: SetTimestampDelta -> Print(TIMESTAMP true) -> Discard;
             DriverManager(wait 2.5s, write d.reset, wait 3s, stop)",
            &["d.first"],
            expect![[r#"
                0.000000:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                1.000000:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                0.000000:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                1.000000:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                d.first: 1000000003.000000002

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> SetTimestampDelta(TYPE now) -> SetTimestampDelta(RANGE) -> SetTimestampDelta(TYPE a b) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'SetTimestampDelta@2 :: SetTimestampDelta':
                  bad TYPE
                config:1: While configuring 'SetTimestampDelta@3 :: SetTimestampDelta':
                  too many arguments
                config:1: While configuring 'SetTimestampDelta@4 :: SetTimestampDelta':
                  TYPE: parse error
                Router could not be initialized!
            "#]],
        );
    }
}
