//! Sends each packet to the output that its paint names.
//!
//! A packet with paint 3 leaves by output 3; it is dropped if there is no such output. Paint 255 means all outputs: each
//! gets a clone of the packet.
//!
//! ```click
//! FromDump(in.pcap) -> Paint(1) -> s :: PaintSwitch;
//! s[0] -> Discard;
//! s[1] -> Print(one) -> Discard;
//! ```

use element::{Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Verdict};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<PaintSwitch>("PaintSwitch", "1/-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::COPIES)
    .stateless()
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[color::ANNO_ARG];

const DROPS: &[DropReason] =
    &[DropReason::new("no-output", "No output has the number of the packet's paint.")];
const NO_OUTPUT: usize = 0;

/// The paint of packets that go to all outputs.
const ALL: u8 = 255;

/// See the page above.
pub struct PaintSwitch {
    anno: usize,
    n_outputs: usize,
}

impl Element for PaintSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<PaintSwitch, Failed> {
        let anno = color::anno(conf);
        conf.finish()?;
        Ok(PaintSwitch { anno, n_outputs: conf.n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let anno = self.anno;
        if batch.iter().any(|packet| packet.anno_u8(anno) == ALL) {
            return self.push_singly(ctx, batch);
        }
        ctx.spread(batch, |_, packet| Verdict::port(usize::from(packet.anno_u8(anno))));
    }
}

impl PaintSwitch {
    /// Sends each packet on before the next is looked at; those for all outputs as clones.
    fn push_singly(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) {
        let last = self.n_outputs.saturating_sub(1);
        for packet in batch.drain() {
            let color = packet.anno_u8(self.anno);
            let port = if color == ALL { last } else { usize::from(color) };
            if color == ALL {
                for port in 0..last {
                    ctx.emit_packet(port, packet.clone());
                }
            }
            ctx.emit_or_drop(port, NO_OUTPUT, Batch::of(packet));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn paint_names_the_output() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> Paint(1) -> s :: PaintSwitch;
            s[0] -> Print(zero) -> Discard;
            s[1] -> Print(one) -> Paint(7) -> t :: PaintSwitch -> Print(none) -> Discard;
            ",
            expect![[r#"
                one:    1 | 78
            "#]],
        );
    }

    #[test]
    fn paint_255_means_all_outputs() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 2, STOP true) -> Paint(255, 20) -> s :: PaintSwitch(20);
            s[0] -> Print(zero) -> Discard;
            s[1] -> Print(one) -> Discard;
            s[2] -> Print(two) -> Discard;
            ",
            expect![[r#"
                zero:    1 | 78
                one:    1 | 78
                two:    1 | 78
                zero:    1 | 78
                one:    1 | 78
                two:    1 | 78
            "#]],
        );
    }
}
