//! Copies an Ethernet address from packets into an annotation.
//!
//! OFFSET is a number of bytes, or `src` or `dst` for the addresses in an Ethernet header at the front. Packets that are too
//! short leave by output 1 if there is one, else they are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> GetEtherAddress(0, src) -> Print(x, PRINTANNO true) -> Discard;
//! ```

use args::{sized_anno, Anno};
use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Refusal, Verdict};

use super::address_place::{self, DROPS, OUT_OF_RANGE};

/// The class.
pub const CLASS: Class = Class::new::<GetEtherAddress>("GetEtherAddress", "1/1-2", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] =
    &[Arg::required("ANNO", "annotation", "The annotation to set, of 6 bytes."), address_place::OFFSET];

/// See the page above.
pub struct GetEtherAddress {
    anno: usize,
    offset: usize,
}

impl Element for GetEtherAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<GetEtherAddress, Failed> {
        let anno: Option<Anno> = conf.args.need_with("ANNO", sized_anno(6));
        let offset = address_place::read(conf);
        address_place::check(conf, offset);
        conf.finish()?;
        Ok(GetEtherAddress { anno: anno.map_or(0, |anno| usize::from(anno.offset)), offset })
    }

    per_packet!();
}

impl GetEtherAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match address_place::get(packet, self.offset) {
            Some(address) => {
                packet.set_anno(self.anno, address);
                Verdict::PASS
            }
            None => Verdict::port_or_drop(1, OUT_OF_RANGE),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_address_becomes_the_annotation() {
        check(
            "InfiniteSource(DATA \\<0a0b0c0d0e0f 010203040506>, LIMIT 1) -> GetEtherAddress(0, SRC)
             -> GetEtherAddress(40, 3) -> g :: GetEtherAddress(20, 7) -> Discard; g[1] -> Print(x, PRINTANNO true) -> Discard",
            expect![[r#"
                x:   12 | 010203040506000000000000000000000000000000000000000000000000000000000000000000000d0e0f0102030000 | 0a0b0c0d 0e0f0102 03040506
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("Idle -> GetEtherAddress(43, x) -> GetEtherAddress(0, x) -> GetEtherAddress(0, 4294967290) -> Discard", expect![[r#"
            config:1: While configuring 'GetEtherAddress@2 :: GetEtherAddress':
              ANNO: parse error
            config:1: While configuring 'GetEtherAddress@3 :: GetEtherAddress':
              type mismatch: bad OFFSET
            config:1: While configuring 'GetEtherAddress@4 :: GetEtherAddress':
              type mismatch: bad OFFSET
            Router could not be initialized!
        "#]]);
    }

    #[test]
    fn it_can_be_configured_anew() {
        check(
            "InfiniteSource(DATA abcdefgh, LIMIT 2) -> g :: GetEtherAddress(0, dst) -> Print(x, PRINTANNO true) -> Discard;
             Script(write g.config 4, read g.config, write g.config 5 2, write g.config 5 x)",
            expect![[r#"
                x:    8 | 616263646566000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 61626364 65666768
                x:    8 | 616263646566000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 61626364 65666768
                While executing 'Script@5 :: Script':
                  While calling 'g.config 4':
                    OFFSET: required argument missing
                g.config:
                0, dst
                  While calling 'g.config 5 2':
                    ANNO: parse error
                    OFFSET: required argument missing
                  While calling 'g.config 5 x':
                    ANNO: parse error
                    OFFSET: required argument missing
            "#]],
        );
    }
}
