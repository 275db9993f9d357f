//! Sets the aggregate annotation to the length of packets.
//!
//! The extra length annotation is added. With IP true the length counts from the network header, and packets without one are
//! dropped.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> AggregateLength(IP true) -> AggregateCounter -> Discard;
//! ```

use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<AggregateLength>("AggregateLength", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::keyword("IP", "boolean", "Leave bytes in front of the network header out. Default false.")];

const NO_HEADER: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("no-header", "No network header is marked, and the length from it was wanted.")];

/// See the page above.
pub struct AggregateLength {
    from_ip: bool,
}

impl Element for AggregateLength {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateLength, Failed> {
        let from_ip = conf.args.get_or("IP", false);
        conf.finish()?;
        Ok(AggregateLength { from_ip })
    }

    per_packet!();
}

impl AggregateLength {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let offset = if self.from_ip { packet.network_offset() } else { Some(0) };
        let Some(offset) = offset else { return Verdict::drop(NO_HEADER) };
        let len = (packet.len() as u32).wrapping_sub(offset as u32);
        let len = len.wrapping_add(packet.anno_u32(annotation::EXTRA_LENGTH));
        packet.set_anno_u32(annotation::AGGREGATE, len);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::{expect, Expect};

    fn through(elements: &str, expect: Expect) {
        check(
            &format!(
                "InfiniteSource(DATA abcdefghij, LIMIT 1) -> {elements} -> Print(x, PRINTANNO true) -> Discard"
            ),
            expect,
        );
    }

    #[test]
    fn the_length_is_counted_from_the_front_or_the_header() {
        through(
            "AggregateLength",
            expect![[r#"
                x:   10 | 00000000000000000000000000000000000000000a000000000000000000000000000000000000000000000000000000 | 61626364 65666768 696a
            "#]],
        );
        through(
            "MarkIPHeader(3) -> AggregateLength(IP true)",
            expect![[r#"
                x:   10 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000 | 61626364 65666768 696a
            "#]],
        );
        through(
            "MarkIPHeader(3) -> Strip(5) -> AggregateLength(IP true)",
            expect![[r#"
                x:    5 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000 | 66676869 6a
            "#]],
        );
    }

    #[test]
    fn packets_without_a_header_are_dropped_if_it_is_wanted() {
        through("AggregateLength(IP true)", expect![[""]]);
    }
}
