//! Adds a VLAN tag to Ethernet frames.
//!
//! The tag's control information is given as a whole (VLAN_TCI), or as VLAN and priority; with VLAN_TCI `ANNO` it comes from
//! each packet's VLAN annotation. Frames of the native VLAN pass without a tag.
//!
//! ```click
//! FromDump(in.pcap) -> VLANEncap(VLAN_ID 7, VLAN_PCP 2) -> ToDump(out.pcap);
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::tag::{self, Tagging};

/// The class.
pub const CLASS: Class = Class::new::<VlanEncap>("VLANEncap", "1/1", "a/a", "x/x")
    .lengthens(4)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[
    tag::VLAN_TCI,
    tag::VLAN_PCP,
    tag::VLAN_ID,
    tag::NATIVE_VLAN,
    Arg::keyword(
        "ETHERTYPE",
        "unsigned",
        "Type of tagged frames, such as 0x88a8 for service tags. Default 0x8100.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("config", "The configuration: VLAN and priority, or ANNO, and the native VLAN.")
        .flags("alike"),
    Handler::read_write("vlan_tci", "The tag's control information, or ANNO; writing is refused."),
    Handler::read_write("vlan_id", "The VLAN, empty for ANNO; writing is refused."),
    Handler::read_write("vlan_pcp", "The priority, empty for ANNO; writing is refused."),
    Handler::read_write("native_vlan", "The native VLAN, empty for 0; writing is refused."),
    Handler::read_write("ethertype", "Empty; writing is refused."),
];

/// Bytes of a header without and with a tag.
const ETHER_HEADER: usize = 14;
const TAGGED_HEADER: usize = ETHER_HEADER + tag::TAG;

/// See the page above.
pub struct VlanEncap {
    tagging: Tagging,
    ethertype: u16,
}

impl Element for VlanEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<VlanEncap, Failed> {
        let tagging = Tagging::read(&mut conf.args);
        let ethertype = conf.args.get_or("ETHERTYPE", tag::ETHERTYPE);
        conf.finish()?;
        Ok(VlanEncap { tagging, ethertype })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "config" => Ok(self.tagging.config()),
            "ethertype" => Ok(String::new()),
            _ => self.tagging.read_handler(name).ok_or_else(|| format!("no {name} read handler")),
        }
    }

    /// Click has these handlers too, and refuses them likewise.
    fn write(&mut self, ctx: &mut Ctx<'_>, _name: &str, _value: &str) -> Result<(), String> {
        Err(format!("cannot reconfigure {} live", ctx.own_declaration()))
    }
}

impl VlanEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.tagging.of(packet) {
            None => packet.set_mac_header(0, ETHER_HEADER),
            Some(tci) => {
                tag::insert(packet, self.ethertype, tci);
                packet.set_mac_header(0, TAGGED_HEADER);
            }
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use element::annotation;
    use expect_test::{expect, Expect};

    fn check(tci: Option<u16>, native_vlan: Option<u16>, frame: &[u8], expect: Expect) {
        let mut packet = Packet::from_bytes(frame);
        packet.set_anno(annotation::VLAN_TCI, [0x20, 0x2a]);
        let mut element = VlanEncap { tagging: Tagging { tci, native_vlan }, ethertype: 0x6162 };
        assert_eq!(element.process(&mut packet), Verdict::PASS);
        let network = String::from_utf8_lossy(packet.network());
        expect.assert_eq(&format!("{} [{network}]", String::from_utf8_lossy(packet.data())));
    }

    #[test]
    fn a_tag_is_added_behind_the_addresses() {
        check(Some(0x4142), Some(0), b"ddddddssssssTTrest", expect!["ddddddssssssabABTTrest [rest]"]);
        check(None, Some(0), b"ddddddssssssTTrest", expect!["ddddddssssssab *TTrest [rest]"]);
        check(Some(0), None, b"ddddddssssssTTrest", expect!["ddddddssssssab\0\0TTrest [rest]"]);
    }

    #[test]
    fn the_native_vlan_has_no_tag() {
        check(Some(0x2000), Some(0), b"ddddddssssssTTrest", expect!["ddddddssssssTTrest [rest]"]);
        check(None, Some(0x2a), b"ddddddssssssTTrest", expect!["ddddddssssssTTrest [rest]"]);
    }

    #[test]
    fn short_frames_get_what_fits_of_a_tag() {
        let mut packet = Packet::from_bytes(b"dddddd");
        tag::insert(&mut packet, tag::ETHERTYPE, 1);
        assert_eq!((packet.len(), packet.data().get(..6)), (10, Some(&b"dddddd"[..])));
    }

    #[test]
    fn a_tag_goes_and_comes_back() {
        testing::check(
            r"
            InfiniteSource(\<02020202 02020101 01010101 0800 616263>, LIMIT 1, STOP true)
                -> VLANEncap(1) -> Print(a, 30) -> VLANDecap -> Print(b, 30)
                -> VLANEncap(ANNO) -> Print(c, 30) -> VLANDecap -> VLANEncap(ANNO, NATIVE_VLAN 1)
                -> Print(d, 30) -> VLANDecap
                -> SetVLANAnno(2, 1) -> VLANEncap(ANNO, NATIVE_VLAN 1) -> Print(e, 30)
                -> VLANEncap(5, 3, ETHERTYPE 0x88a8) -> Print(f, 30)
                -> VLANDecap(ETHERTYPE 0x9100) -> Print(g, 30) -> VLANDecap(false, ETHERTYPE 0x88a8)
                -> Print(h, 30, PRINTANNO true) -> Discard;
            ",
            expect![[r#"
                a:   21 | 02020202 02020101 01010101 81000001 08006162 63
                b:   17 | 02020202 02020101 01010101 08006162 63
                c:   21 | 02020202 02020101 01010101 81000001 08006162 63
                d:   17 | 02020202 02020101 01010101 08006162 63
                e:   21 | 02020202 02020101 01010101 81002002 08006162 63
                f:   25 | 02020202 02020101 01010101 88a86005 81002002 08006162 63
                g:   25 | 02020202 02020101 01010101 88a86005 81002002 08006162 63
                h:   21 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 02020202 02020101 01010101 81002002 08006162 63
            "#]],
        );
    }

    #[test]
    fn handlers_tell_and_refuse() {
        testing::check(
            r"
            Idle -> a :: VLANEncap(VLAN_ID 3, VLAN_PCP 2, NATIVE_VLAN 7)
                -> b :: VLANEncap(ANNO, NATIVE_VLAN -1) -> Discard;
            DriverManager(read a.vlan_tci, read a.vlan_id, read a.vlan_pcp, read a.native_vlan,
                read a.ethertype, write a.vlan_id 4,
                read b.vlan_tci, read b.vlan_id, read b.native_vlan);
            ",
            expect![[r#"
                a.vlan_tci:
                16387
                a.vlan_id:
                3
                a.vlan_pcp:
                2
                a.native_vlan:
                7
                a.ethertype:

                While calling 'a.vlan_id 4':
                  cannot reconfigure a :: VLANEncap live
                b.vlan_tci:
                ANNO
                b.vlan_id:

                b.native_vlan:
                65535
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> VLANEncap(70000) -> VLANEncap(1, 8) -> VLANEncap(x y) -> VLANEncap(VLAN_ID 5000)
                -> VLANEncap(NATIVE_VLAN -2)
                -> VLANDecap(3) -> VLANDecap(ETHERTYPE 70000) -> SetVLANAnno(70000)
                -> SetVLANAnno(VLAN_ID 4096) -> SetVLANAnno(1, 8) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'VLANEncap@2 :: VLANEncap':
                  VLAN_TCI: out of range, bound 65535
                config:2: While configuring 'VLANEncap@3 :: VLANEncap':
                  VLAN_PCP: out of range, bound 7
                config:2: While configuring 'VLANEncap@4 :: VLANEncap':
                  x: unknown argument
                config:2: While configuring 'VLANEncap@5 :: VLANEncap':
                  VLAN_ID: out of range, bound 4095
                config:3: While configuring 'VLANEncap@6 :: VLANEncap':
                  NATIVE_VLAN: out of range, bound -1
                config:4: While configuring 'VLANDecap@7 :: VLANDecap':
                  ANNO: parse error
                config:4: While configuring 'VLANDecap@8 :: VLANDecap':
                  ETHERTYPE: out of range, bound 65535
                config:4: While configuring 'SetVLANAnno@9 :: SetVLANAnno':
                  VLAN_TCI: out of range, bound 65535
                config:5: While configuring 'SetVLANAnno@10 :: SetVLANAnno':
                  VLAN_ID: out of range, bound 4095
                config:5: While configuring 'SetVLANAnno@11 :: SetVLANAnno':
                  VLAN_PCP: out of range, bound 7
                Router could not be initialized!
            "#]],
        );
    }
}
