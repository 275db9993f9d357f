//! Sets an annotation to an Ethernet address.
//!
//! ```click
//! FromDump(in.pcap) -> SetEtherAddress(2:0:0:0:0:1, 0) -> StoreEtherAddress(OFFSET dst, ANNO 0) -> ToDump(out.pcap);
//! ```

use args::{sized_anno, Anno, EtherAddr};
use element::{per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<SetEtherAddress>("SetEtherAddress", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ADDR", "Ethernet address", "The address."),
    Arg::required("ANNO", "annotation", "The annotation to set, of 6 bytes."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("addr", "The address.")];

/// See the page above.
pub struct SetEtherAddress {
    address: EtherAddr,
    anno: usize,
}

impl Element for SetEtherAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<SetEtherAddress, Failed> {
        let address = conf.args.need("ADDR");
        let anno: Option<Anno> = conf.args.need_with("ANNO", sized_anno(6));
        conf.finish()?;
        Ok(SetEtherAddress { address, anno: anno.map_or(0, |anno| usize::from(anno.offset)) })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "addr" => Ok(self.address.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "addr" => self.address = address_written(ctx, value)?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

/// The address that was written to a handler.
pub(super) fn address_written(ctx: &Ctx<'_>, value: &str) -> Result<EtherAddr, String> {
    args::ether(value, &ctx.scope()).map_err(|_| "expected Ethernet address".to_string())
}

impl SetEtherAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno(self.anno, self.address.0);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_annotation_is_set() {
        check_reading(
            "InfiniteSource(DATA abc, LIMIT 1) -> s :: SetEtherAddress(1:2:3:4:5:6, 10)
             -> SetEtherAddress(ANNO 42, ADDR a:b:c:d:e:f) -> Print(PRINTANNO true) -> Discard;
             Script(read s.addr, write s.addr 9:9:9:9:9:9, write s.addr 9)",
            &["s.addr", "s.config"],
            expect![[r#"
                   3 | 0000000000000000000001020304050600000000000000000000000000000000000000000000000000000a0b0c0d0e0f | 616263
                s.addr:
                01-02-03-04-05-06
                While executing 'Script@6 :: Script':
                  While calling 's.addr 9':
                    expected Ethernet address
                s.addr: 09-09-09-09-09-09
                s.config: 1:2:3:4:5:6, 10
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> SetEtherAddress(1) -> SetEtherAddress(1:2:3:4:5:6, 43) -> Discard",
            &[],
            expect![[r#"
            config:1: While configuring 'SetEtherAddress@2 :: SetEtherAddress':
              ADDR: parse error
              ANNO: required argument missing
            config:1: While configuring 'SetEtherAddress@3 :: SetEtherAddress':
              ANNO: parse error
            Router could not be initialized!
        "#]],
        );
    }
}
