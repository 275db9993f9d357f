//! Writes an Ethernet address into packets.
//!
//! Writes ADDR, or the annotation ANNO, at OFFSET: a number of bytes, or `src` or `dst` for the addresses in an Ethernet header
//! at the front. Packets that are too short leave by output 1 if there is one, else they are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> StoreEtherAddress(2:0:0:0:0:1, dst) -> ToDump(out.pcap);
//! ```

use args::{sized_anno, Anno, EtherAddr};
use element::{
    offload, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict,
};

use super::address_place::{self, DROPS, OUT_OF_RANGE};
use super::set_ether_address::address_written;

/// The class.
pub const CLASS: Class = Class::new::<StoreEtherAddress>("StoreEtherAddress", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("ADDR", "Ethernet address", "The address to write. Either it or ANNO is given."),
    address_place::OFFSET,
    Arg::keyword("ANNO", "annotation", "The annotation, of 6 bytes, that holds the address to write."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("addr", "The address to write.")];

/// See the page above.
pub struct StoreEtherAddress {
    address: EtherAddr,
    anno: Option<usize>,
    offset: usize,
}

impl Element for StoreEtherAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<StoreEtherAddress, Failed> {
        let address: Option<EtherAddr> = conf.args.get("ADDR");
        let offset = address_place::read(conf);
        let anno: Option<Anno> = conf.args.get_with("ANNO", sized_anno(6));
        // An empty ADDR is given too, as 0.
        if conf.args.is_given("ADDR") == anno.is_some() {
            conf.args.fail("must specify exactly one of ADDR/ANNO");
        } else {
            address_place::check(conf, offset);
        }
        conf.finish()?;
        let anno = anno.map(|anno| usize::from(anno.offset));
        Ok(StoreEtherAddress { address: address.unwrap_or_default(), anno, offset })
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

impl StoreEtherAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if address_place::get(packet, self.offset).is_none() {
            return Verdict::port_or_drop(1, OUT_OF_RANGE);
        }
        let address = self.anno.map_or(self.address.0, |anno| packet.anno(anno));
        offload::settle_before(packet, self.offset + 6);
        let rest = packet.data_mut().get_mut(self.offset..);
        if let Some(place) = rest.and_then(|rest| rest.first_chunk_mut()) {
            *place = address;
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_address_is_written() {
        check_reading(
            "InfiniteSource(DATA \\<ffffffffffff ffffffffffff 0800>, LIMIT 1) -> s :: StoreEtherAddress(1:2:3:4:5:6, dst)
             -> SetEtherAddress(a:b:c:d:e:f, 8) -> StoreEtherAddress(OFFSET src, ANNO 8) -> Print(x)
             -> t :: StoreEtherAddress(OFFSET 9, ADDR 7:7:7:7:7:7) -> Print(no) -> Discard; t[1] -> Print(y) -> Discard;
             Script(write s.addr 9:9:9:9:9:9, write t.addr 9)",
            &["s.addr", "t.addr"],
            expect![[r#"
                x:   14 | 01020304 05060a0b 0c0d0e0f 0800
                y:   14 | 01020304 05060a0b 0c0d0e0f 0800
                While executing 'Script@11 :: Script':
                  While calling 't.addr 9':
                    expected Ethernet address
                s.addr: 09-09-09-09-09-09
                t.addr: 07-07-07-07-07-07
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> StoreEtherAddress(1:2:3:4:5:6) -> StoreEtherAddress(OFFSET 2) -> StoreEtherAddress(1:2:3:4:5:6, 0, ANNO 3)
             -> StoreEtherAddress(1:2:3:4:5:6, x) -> StoreEtherAddress(1:2:3:4:5:6, 4294967295) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'StoreEtherAddress@4 :: StoreEtherAddress':
                  must specify exactly one of ADDR/ANNO
                config:1: While configuring 'StoreEtherAddress@2 :: StoreEtherAddress':
                  OFFSET: required argument missing
                config:1: While configuring 'StoreEtherAddress@3 :: StoreEtherAddress':
                  must specify exactly one of ADDR/ANNO
                config:2: While configuring 'StoreEtherAddress@5 :: StoreEtherAddress':
                  type mismatch: bad OFFSET
                config:2: While configuring 'StoreEtherAddress@6 :: StoreEtherAddress':
                  type mismatch: bad OFFSET
                Router could not be initialized!
            "#]],
        );
    }
}
