//! Sends a clone of packets with some paint to output 1.
//!
//! All packets leave by output 0; those with paint COLOR by output 1 as well. A router uses it to notice packets that leave by
//! the interface they came from.
//!
//! ```click
//! FromDump(in.pcap) -> Paint(2) -> t :: PaintTee(2);
//! t[0] -> Discard;
//! t[1] -> Print(redirected) -> Discard;
//! ```

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<PaintTee>("PaintTee", "1/2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::COPIES)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .fast_path::<PaintTee>();

const ARGS: &[Arg] =
    &[Arg::required("COLOR", "0 to 255", "The paint of the packets to clone."), color::ANNO_ARG];

const HANDLERS: &[Handler] = &[Handler::read_write("color", "The paint of the packets to clone.")];

/// See the page above.
pub struct PaintTee {
    anno: usize,
    color: u8,
}

impl Element for PaintTee {
    fn configure(conf: &mut Configure<'_>) -> Result<PaintTee, Failed> {
        let color = conf.args.need("COLOR");
        let anno = color::anno(conf);
        conf.finish()?;
        Ok(PaintTee { anno, color })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.emit_clones(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.emit_clones(ctx, &batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "color" => Ok(self.color.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "color" => self.color = color::parse(value)?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl HasFastPath for PaintTee {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::of_paint(self.anno, self.color, false)))
    }
}

impl PaintTee {
    /// The clones leave before the packets.
    #[inline]
    fn emit_clones(&self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if batch.iter().any(|packet| packet.anno_u8(self.anno) == self.color) {
            let mut clones = Batch::new();
            let painted = batch.iter().filter(|packet| packet.anno_u8(self.anno) == self.color);
            clones.extend(painted.cloned());
            ctx.emit(1, clones);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn clones_of_painted_packets_leave_first() {
        testing::check_reading(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> Paint(2) -> t :: PaintTee(2);
            t[0] -> Print(all) -> Paint(3) -> u :: PaintTee(2) -> Print(other) -> Discard;
            t[1] -> Print(clone) -> Discard;
            u[1] -> Print(no) -> Discard;
            ",
            &["t.color"],
            expect![[r#"
                clone:    1 | 78
                all:    1 | 78
                other:    1 | 78
                t.color: 2
            "#]],
        );
    }

    #[test]
    fn a_pulled_packet_is_cloned_too() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> Queue -> t :: PaintTee(0) -> Print(all)
                -> Unqueue -> Discard;
            t[1] -> Print(clone) -> Discard;
            ",
            expect![[r#"
                clone:    1 | 78
                all:    1 | 78
            "#]],
        );
    }
}
