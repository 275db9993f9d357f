//! Sets packets' paint annotation.
//!
//! Paint is a number from 0 to 255 that stays with a packet until it is painted again. Elements further on, such as
//! `PaintSwitch` and `CheckPaint`, look at it. Any annotation of one byte can be painted in place of the usual one.
//!
//! ```click
//! FromDump(left.pcap) -> Paint(1) -> both :: Null -> PaintSwitch -> Discard;
//! FromDump(right.pcap) -> Paint(0) -> both;
//! ```

use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<Paint>("Paint", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::required("COLOR", "0 to 255", "The paint that packets get."), color::ANNO_ARG];

const HANDLERS: &[Handler] = &[Handler::read_write("color", "The paint that packets get.")];

/// See the page above.
pub struct Paint {
    anno: usize,
    color: u8,
}

impl Element for Paint {
    fn configure(conf: &mut Configure<'_>) -> Result<Paint, Failed> {
        let color = conf.args.need("COLOR");
        let anno = color::anno(conf);
        conf.finish()?;
        Ok(Paint { anno, color })
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

impl Paint {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno_u8(self.anno, self.color);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn the_color_can_be_changed() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> p :: Paint(2, 47) -> Print(PRINTANNO true)
                -> Discard;
            Idle -> q :: Paint(2, -0) -> Discard;
            DriverManager(write p.color red, write p.color 18, read p.color, write q.color -0, read q.color, wait_stop);
            ",
            expect![[r#"
                While calling 'p.color red':
                  expected uint8_t
                p.color:
                18
                q.color:
                0
                   1 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000012 | 78
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> Paint -> Paint(256) -> Paint(1, 48) -> Paint(1, DST_IP) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'Paint@2 :: Paint':
                  COLOR: required argument missing
                config:2: While configuring 'Paint@3 :: Paint':
                  COLOR: out of range, bound 255
                config:2: While configuring 'Paint@4 :: Paint':
                  ANNO: parse error
                config:2: While configuring 'Paint@5 :: Paint':
                  ANNO: parse error
                Router could not be initialized!
            "#]],
        );
    }
}
