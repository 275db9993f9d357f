//! Spreads packets over its outputs at random.
//!
//! ```click
//! FromDump(in.pcap) -> s :: RandomSwitch;
//! s[0] -> Discard;
//! s[1] -> Discard;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<RandomSwitch>("RandomSwitch", "1/1-", "h/h", "x/x")
    .causes(Causes::CHANGES)
    .blind()
    .shows_order()
    .drops(DROPS);

const DROPS: &[DropReason] = &[DropReason::new("no-output", "There is no output.")];

/// See the page above.
pub struct RandomSwitch {
    last: u32,
}

impl Element for RandomSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<RandomSwitch, Failed> {
        conf.finish()?;
        Ok(RandomSwitch { last: conf.n_outputs.saturating_sub(1) as u32 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let last = self.last;
        ctx.spread(batch, |ctx, _| Verdict::port(ctx.random_between(0, last) as usize));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn every_packet_leaves() {
        testing::check_reading(
            r"
            i :: InfiniteSource(x, LIMIT 500, BURST 7, STOP true) -> s :: RandomSwitch;
            s[0] -> q :: Queue; s[1] -> q;
            ",
            &["q.length"],
            expect![[r#"
                config:3: 'q :: Queue' output 0 unused
                Router could not be initialized!
            "#]],
        );
    }
}
