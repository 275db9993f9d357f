//! Lets packets with some paint pass.
//!
//! Packets with another paint leave by output 1 if it is connected, else they are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> Paint(1) -> c :: CheckPaint(1) -> Discard;
//! c[1] -> Print(other) -> Discard;
//! ```

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<CheckPaint>("CheckPaint", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<CheckPaint>();

const ARGS: &[Arg] =
    &[Arg::required("COLOR", "0 to 255", "The paint of the packets that pass."), color::ANNO_ARG];

const HANDLERS: &[Handler] = &[Handler::read_write("color", "The paint of the packets that pass.")];

const DROPS: &[DropReason] = &[DropReason::new("other-paint", "The packet had another paint.")];
const OTHER_PAINT: usize = 0;

/// See the page above.
pub struct CheckPaint {
    anno: usize,
    color: u8,
}

impl Element for CheckPaint {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckPaint, Failed> {
        let color = conf.args.need("COLOR");
        let anno = color::anno(conf);
        conf.finish()?;
        Ok(CheckPaint { anno, color })
    }

    per_packet!();

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

impl HasFastPath for CheckPaint {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::of_paint(self.anno, self.color, true)))
    }
}

impl CheckPaint {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if packet.anno_u8(self.anno) == self.color {
            Verdict::PASS
        } else {
            Verdict::port_or_drop(1, OTHER_PAINT)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn the_annotation_that_is_named_is_checked() {
        let mut packet = Packet::zeroed(1);
        packet.set_anno_u8(20, 3);
        let mut check = |anno, color| CheckPaint { anno, color }.process(&mut packet);
        assert_eq!(check(20, 3), Verdict::PASS);
        assert_eq!(check(16, 3), Verdict::port_or_drop(1, OTHER_PAINT));
        assert_eq!(check(usize::MAX, 3), Verdict::port_or_drop(1, OTHER_PAINT));
    }

    #[test]
    fn other_packets_leave_by_output_1() {
        testing::check_reading(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> Paint(2) -> c :: CheckPaint(2) -> Print(same)
                -> Paint(4, 17) -> d :: CheckPaint(3, ANNO 17)
                -> Print(no) -> Discard;
            c[1] -> Print(no) -> Discard;
            d[1] -> Print(other) -> Discard;
            DriverManager(write c.color 300, write c.color 3, read c.color, wait_stop);
            ",
            &["d.color"],
            expect![[r#"
                While calling 'c.color 300':
                  expected uint8_t
                c.color:
                3
                no:    1 | 78
                d.color: 3
            "#]],
        );
    }
}
