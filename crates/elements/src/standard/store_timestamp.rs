//! Writes packets' timestamps into their data.
//!
//! The timestamp takes 8 bytes: nanoseconds since the epoch, as this machine's memory orders them. They are written at OFFSET,
//! the packet being made longer if it has to be, or with TAIL behind its data.
//!
//! ```click
//! InfiniteSource(LIMIT 3) -> SetTimestamp -> StoreTimestamp(TAIL true) -> Print(MAXLENGTH -1) -> Discard;
//! ```

use element::{
    offload, per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<StoreTimestamp>("StoreTimestamp", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("OFFSET", "int", "Where to write, in bytes; negative is as if it was not given."),
    Arg::keyword("TAIL", "bool", "Whether to write behind the data. Default false."),
];

const DROPS: &[DropReason] = &[DropReason::new("too-long", "The packet would have become too long.")];
const TOO_LONG: usize = 0;

const LEN: usize = 8;
/// More than any packet is given.
const MOST: usize = 1 << 26;

/// See the page above.
pub struct StoreTimestamp {
    /// `None` for behind the data.
    offset: Option<usize>,
}

impl Element for StoreTimestamp {
    fn configure(conf: &mut Configure<'_>) -> Result<StoreTimestamp, Failed> {
        let offset: i32 = conf.args.get_or("OFFSET", -1);
        let is_tail = conf.args.get_or("TAIL", false);
        let offset = usize::try_from(offset).ok();
        if offset.is_some() == is_tail {
            conf.args.fail("supply exactly one of 'OFFSET' and 'TAIL'");
        }
        conf.finish()?;
        Ok(StoreTimestamp { offset })
    }

    per_packet!();
}

impl StoreTimestamp {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let offset = self.offset.unwrap_or(packet.len());
        let end = offset + LEN;
        if end > MOST {
            return Verdict::drop(TOO_LONG);
        }
        offload::settle_before(packet, end);
        if end > packet.len() {
            packet.append(end - packet.len());
        }
        let timestamp = packet.timestamp_ns().to_ne_bytes();
        if let Some(place) = packet.data_mut().get_mut(offset..end) {
            place.copy_from_slice(&timestamp);
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_timestamp_is_written_where_it_is_to_be() {
        check(
            "InfiniteSource(DATA abcdefghijkl, LIMIT 1) -> SetTimestamp(0.000000258) -> t :: Tee;
             t [0] -> StoreTimestamp(2) -> Print(p, MAXLENGTH -1) -> Discard;
             t [1] -> StoreTimestamp(OFFSET 12) -> Print(p, MAXLENGTH -1) -> Discard;
             t [2] -> StoreTimestamp(TAIL true, OFFSET -1) -> Print(p, MAXLENGTH -1) -> Discard;
             t [3] -> StoreTimestamp(7) -> Print(p, MAXLENGTH -1) -> Discard;
             DriverManager(wait 0.1s, stop)",
            expect![[r#"
                p:   12 | 61620201 00000000 00006b6c
                p:   20 | 61626364 65666768 696a6b6c 02010000 00000000
                p:   20 | 61626364 65666768 696a6b6c 02010000 00000000
                p:   15 | 61626364 65666702 01000000 000000
            "#]],
        );
    }

    #[test]
    fn packets_do_not_grow_without_bounds() {
        let mut element = StoreTimestamp { offset: Some(i32::MAX as usize) };
        assert_eq!(element.process(&mut Packet::zeroed(1)), Verdict::drop(TOO_LONG));
    }

    #[test]
    fn one_place_must_be_given() {
        check(
            "Idle -> StoreTimestamp -> StoreTimestamp(3, TAIL true) -> StoreTimestamp(x) -> StoreTimestamp(-1) -> Discard",
            expect![[r#"
                config:1: While configuring 'StoreTimestamp@2 :: StoreTimestamp':
                  supply exactly one of 'OFFSET' and 'TAIL'
                config:1: While configuring 'StoreTimestamp@3 :: StoreTimestamp':
                  supply exactly one of 'OFFSET' and 'TAIL'
                config:1: While configuring 'StoreTimestamp@4 :: StoreTimestamp':
                  OFFSET: invalid number
                config:1: While configuring 'StoreTimestamp@5 :: StoreTimestamp':
                  supply exactly one of 'OFFSET' and 'TAIL'
                Router could not be initialized!
            "#]],
        );
    }
}
