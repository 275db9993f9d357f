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

use element::{Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};

use super::color;
use super::outputs::Outputs;

/// The class.
pub const CLASS: Class =
    Class::new::<PaintSwitch>("PaintSwitch", "1/-", "h/h", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[color::ANNO_ARG];

const DROPS: &[DropReason] =
    &[DropReason::new("no-output", "No output has the number of the packet's paint.")];
const NO_OUTPUT: usize = 0;

/// The paint of packets that go to all outputs.
const ALL: u8 = 255;

/// See the page above.
pub struct PaintSwitch {
    anno: usize,
    outputs: Outputs,
}

impl Element for PaintSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<PaintSwitch, Failed> {
        let anno = color::anno(conf);
        conf.finish()?;
        Ok(PaintSwitch { anno, outputs: Outputs::new(conf.n_outputs) })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let anno = self.anno;
        if let Some(first) = batch.first().map(|packet| packet.anno_u8(anno)) {
            if first != ALL && batch.iter().all(|packet| packet.anno_u8(anno) == first) {
                return ctx.emit_or_drop(usize::from(first), NO_OUTPUT, batch);
            }
        }
        for packet in batch.drain() {
            match packet.anno_u8(anno) {
                ALL => self.add_to_all(ctx, packet),
                color => self.add(ctx, usize::from(color), packet),
            }
        }
        self.outputs.emit(ctx);
    }
}

impl PaintSwitch {
    fn add(&mut self, ctx: &mut Ctx<'_>, port: usize, packet: Packet) {
        if let Some(packet) = self.outputs.add(port, packet) {
            ctx.drop_packet(NO_OUTPUT, packet);
        }
    }

    fn add_to_all(&mut self, ctx: &mut Ctx<'_>, packet: Packet) {
        let last = self.outputs.n_outputs().saturating_sub(1);
        for port in 0..last {
            self.add(ctx, port, packet.clone());
        }
        self.add(ctx, last, packet);
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
