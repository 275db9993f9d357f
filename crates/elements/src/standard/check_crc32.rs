//! Checks the checksum that `SetCRC32` appended, and takes it off.
//!
//! Packets with a wrong checksum, or without room for one, are dropped, which is told on standard error.
//!
//! ```click
//! FromDump(in.pcap) -> SetCRC32 -> StoreData(0, x) -> CheckCRC32 -> Discard;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict};

use super::crc32;

/// The class.
pub const CLASS: Class =
    Class::new::<CheckCrc32>("CheckCRC32", "1/1", "a/a", "x/x").causes(Causes::LINES).drops(DROPS);

const DROPS: &[DropReason] = &[DropReason::new("bad-checksum", "The checksum is wrong or missing.")];
const BAD_CHECKSUM: usize = 0;

/// See the page above.
pub struct CheckCrc32 {
    /// Lengths and places of packets that were dropped, to be told.
    bad: Vec<(usize, u32)>,
}

impl Element for CheckCrc32 {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckCrc32, Failed> {
        conf.finish()?;
        Ok(CheckCrc32 { bad: Vec::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.tell(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.tell(ctx);
        batch
    }
}

impl CheckCrc32 {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let data = packet.data();
        match data.split_last_chunk::<{ crc32::LEN }>() {
            Some((data, sum)) if *sum == crc32::of(data) => {
                packet.take(crc32::LEN);
                Verdict::PASS
            }
            _ => {
                self.bad.push((packet.len(), packet.place()));
                Verdict::drop(BAD_CHECKSUM)
            }
        }
    }

    #[inline]
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        for (len, place) in self.bad.drain(..) {
            ctx.chatter_of(place, &format!("CRC32 failed, len {len}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_that_were_changed_are_dropped() {
        check(
            r"InfiniteSource(DATA abc, LIMIT 2) -> SetCRC32 -> Print(p) -> s :: RoundRobinSwitch
                -> c :: CheckCRC32 -> Print(good) -> Discard;
            s[1] -> StoreData(2, x) -> c;
            InfiniteSource(DATA abc, LIMIT 1) -> CheckCRC32 -> Print(never) -> Discard;
            InfiniteSource(DATA \<ffffffff>, LIMIT 1, STOP true) -> Queue -> CheckCRC32 -> Print(empty) -> Discard;",
            expect![[r#"
                p:    7 | 6162638c 44739b
                good:    3 | 616263
                CRC32 failed, len 3
                empty:    0
                p:    7 | 6162638c 44739b
                CRC32 failed, len 7
            "#]],
        );
    }
}
