//! Sets packets' timestamps.
//!
//! The timestamp is the present time unless TIMESTAMP is given.
//!
//! ```click
//! InfiniteSource(LIMIT 3) -> SetTimestamp -> Print(TIMESTAMP true) -> Discard;
//! ```

use args::Timestamp;
use element::{
    annotation, per_packet, Arg, Causes, Class, Clock, Configure, Element, Failed, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<SetTimestamp>("SetTimestamp", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .args(ARGS);

const ARGS: &[Arg] = &[
    Arg::optional(
        "TIMESTAMP",
        "time",
        "The timestamp, in seconds since the epoch. Default: the present time.",
    ),
    Arg::keyword(
        "FIRST",
        "bool",
        "Whether to set the first timestamp annotation in place of the timestamp. Default false.",
    ),
    Arg::keyword("DELTA", "bool", "Refused: it was once what `SetTimestampDelta` does."),
];

/// See the page above.
pub struct SetTimestamp {
    timestamp_ns: Option<i64>,
    sets_first: bool,
}

impl Element for SetTimestamp {
    fn configure(conf: &mut Configure<'_>) -> Result<SetTimestamp, Failed> {
        let timestamp: Option<Timestamp> = conf.args.get("TIMESTAMP");
        let sets_first = conf.args.get_or("FIRST", false);
        if conf.args.get_or("DELTA", false) {
            conf.args.fail("SetTimestamp(DELTA) is deprecated, use SetTimestampDelta(TYPE FIRST)");
        }
        conf.finish()?;
        let timestamp = timestamp.filter(|timestamp| !timestamp.is_negative());
        Ok(SetTimestamp { timestamp_ns: timestamp.map(Timestamp::as_nanos), sets_first })
    }

    per_packet!(now);
}

impl SetTimestamp {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let timestamp_ns = self.timestamp_ns.unwrap_or_else(|| clock.now_ns());
        if self.sets_first {
            packet.set_anno(annotation::FIRST_TIMESTAMP, timestamp_ns.to_ne_bytes());
        } else {
            packet.set_timestamp_ns(timestamp_ns);
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::{expect, Expect};

    fn check(timestamp_ns: Option<i64>, sets_first: bool, expect: Expect) {
        let mut packet = Packet::zeroed(1);
        let verdict = SetTimestamp { timestamp_ns, sets_first }.process(&mut packet, &mut Clock::new(7, 1));
        assert_eq!(verdict, Verdict::PASS);
        let first = i64::from_ne_bytes(packet.anno(annotation::FIRST_TIMESTAMP));
        expect.assert_eq(&format!("{} {first}", packet.timestamp_ns()));
    }

    #[test]
    fn one_of_the_two_timestamps_is_set() {
        check(None, false, expect!["7 0"]);
        check(Some(5), false, expect!["5 0"]);
        check(None, true, expect!["0 7"]);
        check(Some(5), true, expect!["0 5"]);
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> SetTimestamp(x) -> SetTimestamp(1, DELTA true) -> SetTimestamp(FIRST 3) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'SetTimestamp@2 :: SetTimestamp':
                  TIMESTAMP: parse error
                config:2: While configuring 'SetTimestamp@3 :: SetTimestamp':
                  SetTimestamp(DELTA) is deprecated, use SetTimestampDelta(TYPE FIRST)
                config:2: While configuring 'SetTimestamp@4 :: SetTimestamp':
                  FIRST: parse error
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn simulated_time_passes_by_each_stamp() {
        testing::check(
            "InfiniteSource(DATA x, LIMIT 3, STOP true) -> SetTimestamp(5) -> Queue -> Unqueue -> SetTimestamp
                -> Print(p, TIMESTAMP true) -> Discard",
            expect![[r#"
                p: 1000000000.000000001:    1 | 78
                p: 1000000000.000000003:    1 | 78
                p: 1000000000.000000005:    1 | 78
            "#]],
        );
    }
}
