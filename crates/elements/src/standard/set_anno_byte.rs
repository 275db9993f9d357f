//! Sets a byte of packets' annotations: an old form of `Paint(VALUE, ANNO)`.
//!
//! ```click
//! FromDump(in.pcap) -> SetAnnoByte(PAINT, 3) -> PaintSwitch -> Discard;
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::color;

/// The class.
pub const CLASS: Class = Class::new::<SetAnnoByte>("SetAnnoByte", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ANNO", "annotation", "The annotation, of one byte."),
    Arg::required("VALUE", "0 to 255", "What it is set to."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("anno", "The annotation's offset.").flags("alike"),
    Handler::read_write("value", "What the annotation is set to."),
];

/// See the page above.
pub struct SetAnnoByte {
    anno: usize,
    value: u8,
}

impl Element for SetAnnoByte {
    fn configure(conf: &mut Configure<'_>) -> Result<SetAnnoByte, Failed> {
        conf.warning("SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead");
        let anno = conf.args.need_with("ANNO", args::sized_anno(1));
        let value = conf.args.need("VALUE");
        conf.finish()?;
        Ok(SetAnnoByte { anno: anno.map_or(0, |anno| usize::from(anno.offset)), value })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "anno" => Ok(self.anno.to_string()),
            "value" => Ok(self.value.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "value" => self.value = color::parse(value)?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl SetAnnoByte {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno_u8(self.anno, self.value);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_annotation_is_set() {
        check_reading(
            "i :: InfiniteSource(x, LIMIT 1) -> s :: SetAnnoByte(PAINT, 3) -> Print(p, PRINTANNO true) -> Discard;
            DriverManager(wait 1s, write s.value 255, write s.value 256, write i.reset, wait 1s, write s.config '47, 1',
                write i.reset, wait 1s, write s.config '48, 1')",
            &["s.anno", "s.value"],
            expect![[r#"
                config:1: While configuring 's :: SetAnnoByte':
                  warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
                p:    1 | 000000000000000000000000000000000300000000000000000000000000000000000000000000000000000000000000 | 78
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 's.value 256':
                    expected uint8_t
                p:    1 | 00000000000000000000000000000000ff00000000000000000000000000000000000000000000000000000000000000 | 78
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 's.config '47, 1'':
                    warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
                    ANNO: parse error
                    VALUE: required argument missing
                p:    1 | 00000000000000000000000000000000ff00000000000000000000000000000000000000000000000000000000000000 | 78
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 's.config '48, 1'':
                    warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
                    ANNO: parse error
                    VALUE: required argument missing
                s.anno: 16
                s.value: 255
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("Idle -> SetAnnoByte(48, 1) -> SetAnnoByte(PAINT, 256) -> SetAnnoByte(AGGREGATE, 1) -> SetAnnoByte(1) -> Discard", expect![[r#"
            config:1: While configuring 'SetAnnoByte@2 :: SetAnnoByte':
              warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
              ANNO: parse error
            config:1: While configuring 'SetAnnoByte@3 :: SetAnnoByte':
              warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
              VALUE: out of range, bound 255
            config:1: While configuring 'SetAnnoByte@4 :: SetAnnoByte':
              warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
              ANNO: parse error
            config:1: While configuring 'SetAnnoByte@5 :: SetAnnoByte':
              warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
              VALUE: required argument missing
            Router could not be initialized!
        "#]]);
    }
}
