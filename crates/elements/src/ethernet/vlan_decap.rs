//! Removes the VLAN tag of Ethernet frames.
//!
//! A frame without a tag passes unchanged. The VLAN annotation becomes the tag's control information, or 0.
//!
//! ```click
//! FromDump(in.pcap) -> VLANDecap -> ToDump(out.pcap);
//! ```

use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

use super::tag;

/// The class.
pub const CLASS: Class =
    Class::new::<VlanDecap>("VLANDecap", "1/1", "a/a", "x/x").lengthens(0).causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[
    Arg::optional("ANNO", "bool", "Whether to set the VLAN annotation. Default true."),
    Arg::keyword(
        "ETHERTYPE",
        "unsigned",
        "Type of tagged frames, such as 0x88a8 for service tags. Default 0x8100.",
    ),
];

/// Bytes of a header without a tag.
const ETHER_HEADER: usize = 14;

/// See the page above.
pub struct VlanDecap {
    sets_anno: bool,
    ethertype: u16,
}

impl Element for VlanDecap {
    fn configure(conf: &mut Configure<'_>) -> Result<VlanDecap, Failed> {
        let sets_anno = conf.args.get_or("ANNO", true);
        let ethertype = conf.args.get_or("ETHERTYPE", tag::ETHERTYPE);
        conf.finish()?;
        Ok(VlanDecap { sets_anno, ethertype })
    }

    per_packet!();
}

impl VlanDecap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let tci = tag::read_short(packet, self.ethertype);
        if tci.is_some() {
            tag::remove(packet);
        }
        packet.set_mac_header(0, ETHER_HEADER);
        if self.sets_anno {
            packet.set_anno(annotation::VLAN_TCI, tci.unwrap_or(0).to_be_bytes());
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(frame: &[u8], expect: Expect) {
        let mut packet = Packet::from_bytes(frame);
        let mut element = VlanDecap { sets_anno: true, ethertype: tag::ETHERTYPE };
        assert_eq!(element.process(&mut packet), Verdict::PASS);
        let tci = u16::from_be_bytes(packet.anno(annotation::VLAN_TCI));
        expect.assert_eq(&format!("{} {tci:04x}", String::from_utf8_lossy(packet.data())));
    }

    #[test]
    fn a_tag_moves_to_the_annotation() {
        check(b"ddddddssssss\x81\x00\x20\x07TTrest", expect!["ddddddssssssTTrest 2007"]);
        check(b"ddddddssssssTTrest", expect!["ddddddssssssTTrest 0000"]);
    }

    #[test]
    fn short_frames_may_have_no_tag_or_the_beginning_of_one() {
        check(b"ddddddssssss\x81", expect!["ddddddssssss\u{fffd} 0000"]);
        check(b"ddddddssssss\x81\x00", expect!["ddddddssss 0000"]);
        check(b"ddddddssssss\x81\x00\x20", expect!["ddddddsssss 2000"]);
        check(b"ddddddssssss\x81\x00\x20\x07", expect!["ddddddssssss 2007"]);
        check(b"", expect![" 0000"]);
    }
}
