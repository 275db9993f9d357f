//! Passes packets on one at a time.
//!
//! Where packets that come together take different ways, each way's packets go on together: what prints them prints one way's
//! packets before the other's. Behind this element packets stay in the order in which they came, and cost more.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Unbatch -> c :: Classifier(12/0800, -);
//! c[0] -> Print(ip) -> Discard; c[1] -> Print(other) -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<Unbatch>("Unbatch", "1/1", "h/h", "x/x");

/// See the page above.
pub struct Unbatch;

impl Element for Unbatch {
    fn configure(conf: &mut Configure<'_>) -> Result<Unbatch, Failed> {
        conf.finish()?;
        Ok(Unbatch)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        while let Some(packet) = batch.drain_first(1).next() {
            ctx.emit_now(0, Batch::of(packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_that_take_different_ways_stay_in_order() {
        let source = "InfiniteSource(LIMIT 4, BURST 4, STOP true)";
        let ways =
            "RoundRobinSwitch; s[0] -> Counter(COUNT_CALL 2 p.run) -> Discard; s[1] -> odd :: Counter -> Discard;
            p :: Script(TYPE PASSIVE, read odd.count)";
        let together = expect![[r#"
            odd.count:
            0
        "#]];
        check(&format!("{source} -> s :: {ways}"), together);
        check(
            &format!("{source} -> Unbatch -> s :: {ways}"),
            expect![[r#"
            odd.count:
            1
        "#]],
        );
    }
}
