//! Sets packets' paint annotation.
//!
//! Paint is a number from 0 to 255 that stays with a packet until it is painted again. Elements further on, such as
//! `PaintSwitch` and `CheckPaint`, look at it. Any annotation of one byte can be painted in place of the usual one.
//!
//! ```click
//! FromDump(left.pcap) -> Paint(1) -> both :: Null -> PaintSwitch -> Discard;
//! FromDump(right.pcap) -> Paint(0) -> both;
//! ```

use element::{per_packet, Arg, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<Paint>("Paint", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS).live();

const ARGS: &[Arg] =
    &[Arg::required("COLOR", "0 to 255", "The paint that packets get."), color::ANNO_ARG];

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
