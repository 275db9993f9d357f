//! Sets the aggregate annotation to the paint annotation.
//!
//! ```click
//! FromIPSummaryDump(-, STOP true) -> IPClassifier(tcp) -> Paint(5) -> AggregatePaint -> AggregateCounter -> Discard;
//! ```

use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class =
    Class::new::<AggregatePaint>("AggregatePaint", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[
    Arg::optional("BITS", "1 to 8", "How many of the paint's low bits count. Default 8."),
    Arg::keyword("INCREMENTAL", "boolean", "Append the bits to the annotation. Default false."),
];

/// See the page above.
pub struct AggregatePaint {
    n_bits: u32,
    is_incremental: bool,
}

impl Element for AggregatePaint {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregatePaint, Failed> {
        let n_bits: i32 = conf.args.get_or("BITS", 8);
        let is_incremental = conf.args.get_or("INCREMENTAL", false);
        if !(1..=8).contains(&n_bits) {
            conf.args.fail("bad number of bits");
        }
        conf.finish()?;
        Ok(AggregatePaint { n_bits: n_bits.unsigned_abs(), is_incremental })
    }

    per_packet!();
}

impl AggregatePaint {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let mut aggregate = u32::from(packet.paint()) & ((1 << self.n_bits) - 1);
        if self.is_incremental {
            let old = packet.anno_u32(annotation::AGGREGATE) << self.n_bits;
            aggregate = old.wrapping_add(aggregate);
        }
        packet.set_anno_u32(annotation::AGGREGATE, aggregate);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn low_bits_of_the_paint_are_taken_or_appended() {
        check(
            "InfiniteSource(DATA \\<4500>, LIMIT 1) -> Paint(0xA5) -> AggregatePaint(3) -> Print(x, PRINTANNO true)
             -> AggregatePaint(BITS 4, INCREMENTAL true) -> Print(x, PRINTANNO true) -> AggregatePaint -> Print(x, PRINTANNO true) -> Discard",
            expect![[r#"
                x:    2 | 00000000000000000000000000000000a500000005000000000000000000000000000000000000000000000000000000 | 4500
                x:    2 | 00000000000000000000000000000000a500000055000000000000000000000000000000000000000000000000000000 | 4500
                x:    2 | 00000000000000000000000000000000a5000000a5000000000000000000000000000000000000000000000000000000 | 4500
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> AggregatePaint(0) -> AggregatePaint(9) -> AggregatePaint(x) -> Discard",
            expect![[r#"
            config:1: While configuring 'AggregatePaint@2 :: AggregatePaint':
              bad number of bits
            config:1: While configuring 'AggregatePaint@3 :: AggregatePaint':
              bad number of bits
            config:1: While configuring 'AggregatePaint@4 :: AggregatePaint':
              BITS: invalid number
            Router could not be initialized!
        "#]],
        );
    }
}
