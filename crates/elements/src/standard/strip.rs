//! Removes bytes from the front of packets.
//!
//! Removes the first LENGTH bytes of each packet; all of them, and tells so, if there are fewer. The bytes stay in the packet's headroom:
//! `Unstrip` brings them back.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Strip>("Strip", "1/1", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[Arg::required("LENGTH", "unsigned", "Bytes to remove.")];

/// See the page above.
pub struct Strip {
    n_bytes: usize,
    /// Lengths of packets that were too short, until they are told.
    too_short: Vec<usize>,
}

impl Element for Strip {
    fn configure(conf: &mut Configure<'_>) -> Result<Strip, Failed> {
        let n_bytes: u32 = conf.args.need("LENGTH");
        conf.finish()?;
        Ok(Strip { n_bytes: n_bytes as usize, too_short: Vec::new() })
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

impl Strip {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if packet.len() < self.n_bytes {
            self.note(packet.len());
        }
        packet.strip(self.n_bytes);
        Verdict::PASS
    }

    #[cold]
    fn note(&mut self, len: usize) {
        self.too_short.push(len);
    }

    #[inline]
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        for len in self.too_short.drain(..) {
            ctx.chatter(&format!("Packet::pull {} > length {len}", self.n_bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_that_are_too_short_are_told_and_left_empty() {
        check(
            "InfiniteSource(abcd, LIMIT 1, STOP true) -> Strip(3) -> Print(a) -> Strip(2) -> Print(b) -> Discard",
            expect![[r#"
                a:    1 | 64
                Packet::pull 2 > length 1
                b:    0
            "#]],
        );
    }
}
