//! Sends packets to its outputs in turn.
//!
//! ```click
//! FromDump(in.pcap) -> s :: RoundRobinSwitch;
//! s[0] -> Discard;
//! s[1] -> Discard;
//! ```

use element::{same, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<RoundRobinSwitch>("RoundRobinSwitch", "1/1-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .blind()
    .drops(DROPS);

const DROPS: &[DropReason] = &[DropReason::new("no-output", "There is no output.")];

/// See the page above.
pub struct RoundRobinSwitch {
    next: usize,
    n_outputs: usize,
}

impl Element for RoundRobinSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<RoundRobinSwitch, Failed> {
        conf.finish()?;
        Ok(RoundRobinSwitch { next: 0, n_outputs: conf.n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let n_outputs = self.n_outputs;
        let mut next = self.next;
        ctx.spread(batch, |_, _| {
            let port = next;
            next = if port + 1 < n_outputs { port + 1 } else { 0 };
            Verdict::port(port)
        });
        self.next = next;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<RoundRobinSwitch>(ctx, old) else { return };
        self.next = if old.next < self.n_outputs { old.next } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn outputs_have_their_turns() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 5, STOP true) -> s :: RoundRobinSwitch;
            s[0] -> Print(0) -> Discard; s[1] -> Print(1) -> Discard; s[2] -> Print(2) -> Discard;
            ",
            expect![[r#"
                0:    1 | 78
                1:    1 | 78
                2:    1 | 78
                0:    1 | 78
                1:    1 | 78
            "#]],
        );
    }
}
