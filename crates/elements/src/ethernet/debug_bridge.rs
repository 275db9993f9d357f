//! Prints the messages by which bridges agree on a tree.
//!
//! Takes the frames that `EtherSpanTree` sends, and prints the LABEL and what they say: sender and port, flags, cost and root, and the
//! age and times in 256ths of a second, in hexadecimal. Frames that are too short pass in silence.
//!
//! ```click
//! FromDump(in.pcap) -> Classifier(0/0180C2000000) -> DebugBridge(in) -> Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed};

use super::bridge_message;

/// The class.
pub const CLASS: Class =
    Class::new::<DebugBridge>("DebugBridge", "1/1", "a/a", "x/x").args(ARGS).shows_order();

const ARGS: &[Arg] = &[Arg::required("LABEL", "string", "What each line begins with.")];

/// See the page above.
pub struct DebugBridge {
    label: String,
}

impl Element for DebugBridge {
    fn configure(conf: &mut Configure<'_>) -> Result<DebugBridge, Failed> {
        let label = conf.args.need("LABEL");
        conf.finish()?;
        Ok(DebugBridge { label })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.print(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.print(ctx, &batch);
        batch
    }
}

impl DebugBridge {
    fn print(&self, ctx: &mut Ctx<'_>, batch: &Batch) {
        for text in batch.iter().filter_map(|packet| bridge_message::describe(packet.data())) {
            ctx.chatter(&format!("{} {text}", self.label));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn messages_are_printed() {
        check(
            r"InfiniteSource(DATA \<0180C2000000 010203040506 0026 424203 0000 00 00 81 8000010203040506 00000013 8000010203040507 8002 0100 1400 0200 0f00 0000000000000000>, LIMIT 1)
                -> d :: DebugBridge(in) -> Discard;
            InfiniteSource(DATA \<0180C2000000 010203040506 0007 424203 0000 00 80 00 0000010203040506 00000013 8000010203040507 8002 0100 1400 0200 0f00>, LIMIT 1) -> d;
            InfiniteSource(DATA \<0180C2000000 010203040506 0007 424203 0000 00 07 01 0000010203040506 00000000 0000010203040507 0002 0000 1400 0200 0f00>, LIMIT 1) -> d;
            InfiniteSource(DATA x, LIMIT 1) -> d;",
            expect![[r#"
                in CFG 8000010203040507:8002: TCA TC  00000013 -> 8000010203040506  a/m/h/d: 100/1400/200/f00
                in TCM
                in ???      10203040507:0002: tca TC  00000000 ->      10203040506  a/m/h/d: 0/1400/200/f00
            "#]],
        );
    }
}
