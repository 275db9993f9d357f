//! Removes the Ethernet header, with or without a VLAN tag.
//!
//! The VLAN annotation becomes the tag's control information. Packets without a tag are of the native VLAN; if there is none
//! they leave by output 1 if that is connected, else they are dropped. What is missing of a short packet is told on standard
//! error.
//!
//! ```click
//! FromDump(in.pcap) -> StripEtherVLANHeader(-1) -> CheckIPHeader -> Discard;
//! ```

use element::{
    annotation, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Refusal,
    Verdict,
};
use wire::Ethernet;

use super::tag;
use crate::standard::strip::ShortPackets;

/// The class.
pub const CLASS: Class = Class::new::<StripEtherVlanHeader>("StripEtherVLANHeader", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::optional(
    "NATIVE_VLAN",
    "int, at most 4095",
    "The VLAN of packets without a tag; negative: they are taken out. Default 0.",
)];

const NO_TAG: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-tag", "The packet has no VLAN tag.")];

/// Bytes of a header with a tag.
const TAGGED: usize = Ethernet::LEN + tag::TAG;

/// See the page above.
pub struct StripEtherVlanHeader {
    native_vlan: Option<u16>,
    short: [(usize, ShortPackets); 2],
}

impl Element for StripEtherVlanHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<StripEtherVlanHeader, Failed> {
        let native_vlan: i32 = conf.args.get_or("NATIVE_VLAN", 0);
        if native_vlan > i32::from(tag::ID_MASK) {
            conf.args.fail("bad NATIVE_VLAN");
        }
        conf.finish()?;
        let short = [Ethernet::LEN, TAGGED].map(|n_bytes| (n_bytes, ShortPackets::default()));
        Ok(StripEtherVlanHeader { native_vlan: u16::try_from(native_vlan).ok(), short })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.tell(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.tell(ctx);
        batch
    }
}

impl StripEtherVlanHeader {
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        self.short.iter_mut().for_each(|(n_bytes, short)| short.tell(ctx, *n_bytes));
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let [untagged, tagged] = &mut self.short;
        let ((n_bytes, short), tci) = match (tag::read_short(packet, tag::ETHERTYPE), self.native_vlan) {
            (Some(tci), _) => (tagged, tci),
            (None, Some(native_vlan)) => (untagged, native_vlan),
            (None, None) => return Verdict::port_or_drop(1, NO_TAG),
        };
        packet.set_anno(annotation::VLAN_TCI, tci.to_be_bytes());
        short.strip(packet, *n_bytes);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::{expect, Expect};

    fn through(argument: &str, frame: &str, expect: Expect) {
        check(
            &format!(
                "InfiniteSource(DATA \\<020202020202 010101010101 {frame}>, LIMIT 1) -> s :: StripEtherVLANHeader({argument})
                 -> Print(x, PRINTANNO true) -> Discard; s[1] -> Print(y, PRINTANNO true) -> Discard"
            ),
            expect,
        );
    }

    #[test]
    fn the_tag_becomes_the_annotation() {
        through(
            "",
            "8100 2003 0800 616263",
            expect![[r#"
            x:    3 | 000000000000000000000000000000000000000020030000000000000000000000000000000000000000000000000000 | 616263
        "#]],
        );
    }

    #[test]
    fn packets_without_a_tag_are_of_the_native_vlan() {
        through(
            "9",
            "0800 616263",
            expect![[r#"
            x:    3 | 000000000000000000000000000000000000000000090000000000000000000000000000000000000000000000000000 | 616263
        "#]],
        );
        through(
            "-1",
            "0800 616263",
            expect![[r#"
            y:   17 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 02020202 02020101 01010101 08006162 63
        "#]],
        );
    }

    #[test]
    fn short_packets_are_told_of() {
        through(
            "9",
            "08",
            expect![[r#"
            Packet::pull 14 > length 13
            x:    0 | 000000000000000000000000000000000000000000090000000000000000000000000000000000000000000000000000
        "#]],
        );
        through(
            "-1",
            "8100 2003 08",
            expect![[r#"
            Packet::pull 18 > length 17
            x:    0 | 000000000000000000000000000000000000000020030000000000000000000000000000000000000000000000000000
        "#]],
        );
    }

    #[test]
    fn a_vlan_that_is_none_is_told() {
        check(
            "Idle -> StripEtherVLANHeader(4096) -> Discard",
            expect![[r#"
            config:1: While configuring 'StripEtherVLANHeader@2 :: StripEtherVLANHeader':
              bad NATIVE_VLAN
            Router could not be initialized!
        "#]],
        );
    }
}
