//! Passes the first packet of each aggregate.
//!
//! Further packets with the same aggregate annotation leave by output 1 if there is one, else they are dropped. With NOTIFIER
//! aggregates that have ended are forgotten, which saves memory; if their number comes again it counts as new.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> af :: AggregateIPFlows -> AggregateFirst(NOTIFIER af) -> IPPrint -> Discard;
//! ```

use element::{
    annotation, per_packet, same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, ElementIdx,
    Failed, Packet, Verdict,
};

use super::aggregate_events::{self, Listener};
use super::aggregate_set::AggregateSet;

/// The class.
pub const CLASS: Class = Class::new::<AggregateFirst>("AggregateFirst", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[aggregate_events::NOTIFIER];

const SEEN: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("seen", "It is not the first packet of its aggregate.")];

/// See the page above.
pub struct AggregateFirst {
    seen: AggregateSet,
    notifier: Option<ElementIdx>,
}

impl Element for AggregateFirst {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateFirst, Failed> {
        let notifier = aggregate_events::notifier(conf);
        conf.finish()?;
        Ok(AggregateFirst { seen: AggregateSet::default(), notifier })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        aggregate_events::listen::<AggregateFirst>(ctx, self.notifier);
        Ok(())
    }

    per_packet!();

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AggregateFirst>(ctx, old) else { return };
        self.seen = old.seen;
    }
}

impl Listener for AggregateFirst {
    fn ended(&mut self, _ctx: &mut Ctx<'_>, aggregate: u32) {
        self.seen.remove(aggregate);
    }
}

impl AggregateFirst {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if self.seen.insert(packet.anno_u32(annotation::AGGREGATE)) {
            Verdict::PASS
        } else {
            Verdict::port_or_drop(1, SEEN)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_first_packet_of_each_aggregate_passes() {
        check_reading(
            "FromIPSummaryDump(DATA \"!data aggregate\n0\n1\n0\n4294967295\n1\n2\n4294967295\n\", STOP true)
             -> f :: AggregateFirst -> Print(first, 0, PRINTANNO true) -> Discard; f[1] -> c :: Counter -> Discard",
            &["c.count"],
            expect![[r#"
                first:    0 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
                first:    0 | 000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000
                first:    0 | 0000000000000000000000000000000000000000ffffffff000000000000000000000000000000000000000000000000
                first:    0 | 000000000000000000000000000000000000000002000000000000000000000000000000000000000000000000000000
                c.count: 3
            "#]],
        );
    }

    #[test]
    fn a_notifier_is_one_that_numbers() {
        check(
            "c :: Counter; Idle -> AggregateFirst(NOTIFIER c) -> AggregateFirst(NOTIFIER x) -> c -> Discard",
            expect![[r#"
            config:1: While configuring 'AggregateFirst@3 :: AggregateFirst':
              c is not an AggregateNotifier
            config:1: While configuring 'AggregateFirst@4 :: AggregateFirst':
              NOTIFIER: does not name an element
            Router could not be initialized!
        "#]],
        );
    }
}
