//! Puts an Ethernet header with a VLAN tag in front of packets.
//!
//! The tag's control information is given as a whole (VLAN_TCI), or as VLAN and priority; with VLAN_TCI `ANNO` it comes from
//! each packet's VLAN annotation. Packets of the native VLAN get a header without a tag. `VLANEncap` adds a tag to a header that
//! is there.
//!
//! The arguments of the tag cannot be changed while the graph runs, although they have handlers to be written: what is
//! configured is read back in another order than it is given in.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, VLAN_ID 7) -> ToDump(out.pcap);
//! ```

use args::{Args, EtherAddr};
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};
use wire::Ethernet;

use super::set_ether_address::address_written;
use super::tag::{self, Tagging};

/// The class.
pub const CLASS: Class = Class::new::<EtherVlanEncap>("EtherVLANEncap", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("vlan_tci", Refusal::Failed),
        ("vlan_id", Refusal::Failed),
        ("vlan_pcp", Refusal::Failed),
        ("native_vlan", Refusal::Failed),
    ])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ETHERTYPE", "0 to 65535", "Protocol of what follows the header, such as 0x0800 for IPv4."),
    Arg::required("SRC", "Ethernet address", "The source."),
    Arg::required("DST", "Ethernet address", "The destination."),
    tag::VLAN_TCI,
    tag::VLAN_PCP,
    tag::VLAN_ID,
    tag::NATIVE_VLAN,
];

const HANDLERS: &[Handler] = &[
    Handler::read(
        "config",
        "Source, destination, protocol, VLAN and priority, or ANNO, and the native VLAN.",
    )
    .flags("calm"),
    Handler::read_write("src", "The source."),
    Handler::read_write("dst", "The destination."),
    Handler::read_write("ethertype", "Protocol of what follows the header."),
    Handler::read_write("vlan_tci", "The tag's control information, or ANNO."),
    Handler::read_write("vlan_id", "The VLAN, empty for ANNO."),
    Handler::read_write("vlan_pcp", "The priority, empty for ANNO."),
    Handler::read_write("native_vlan", "The native VLAN, empty for 0."),
];

/// Bytes of a header with a tag.
const TAGGED: usize = Ethernet::LEN + tag::TAG;

/// See the page above.
pub struct EtherVlanEncap {
    source: EtherAddr,
    destination: EtherAddr,
    ethertype: u16,
    tagging: Tagging,
}

impl Element for EtherVlanEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<EtherVlanEncap, Failed> {
        let ethertype = conf.args.need("ETHERTYPE");
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        let tagging = Tagging::read(&mut conf.args);
        conf.finish()?;
        Ok(EtherVlanEncap { source, destination, ethertype, tagging })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "config" => Ok(self.config()),
            "src" => Ok(self.source.to_string()),
            "dst" => Ok(self.destination.to_string()),
            "ethertype" => Ok(self.ethertype.to_string()),
            _ => self.tagging.read_handler(name).ok_or_else(|| format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "src" => self.source = address_written(ctx, value)?,
            "dst" => self.destination = address_written(ctx, value)?,
            "ethertype" => self.ethertype = args::integer(value).map_err(|_| "expected uint16_t")?,
            _ => return self.refuse(ctx, name, value),
        }
        Ok(())
    }
}

impl EtherVlanEncap {
    fn config(&self) -> String {
        let EtherVlanEncap { source, destination, ethertype, tagging } = self;
        format!("{source}, {destination}, {ethertype}, {}", tagging.config())
    }

    /// As if what `config` tells were read again with one argument changed, which cannot be: its order is another one.
    fn refuse(&self, ctx: &Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let keyword = name.to_ascii_uppercase();
        let mut list = args::split_args(&self.config());
        list.retain(|other| args::next_word(other).0 != keyword);
        // `VLAN_ID 1` there is given by keyword and stays.
        match list.get_mut(3).filter(|place| name == "vlan_tci" && *place == "ANNO") {
            Some(place) => *place = value.to_string(),
            None => list.push(format!("{keyword} {value}")),
        }
        let scope = ctx.scope();
        let mut args = Args::from_list(list, ARGS, &scope);
        let _: u16 = args.need("ETHERTYPE");
        let _: EtherAddr = args.need("SRC");
        let _: EtherAddr = args.need("DST");
        Tagging::read(&mut args);
        args.finish().map_err(|errors| errors.join("\n"))
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let [e0, e1] = self.ethertype.to_be_bytes();
        let addresses = [self.destination.0, self.source.0];
        let tci = self.tagging.of(packet);
        let n_bytes = if tci.is_some() { TAGGED } else { Ethernet::LEN };
        let header = packet.prepend(n_bytes);
        if let Some(places) = header.get_mut(..tag::ADDRESSES) {
            places.copy_from_slice(addresses.as_flattened());
        }
        let rest = header.get_mut(tag::ADDRESSES..n_bytes).unwrap_or_default();
        match tci {
            Some(tci) => {
                let ([p0, p1], [t0, t1]) = (tag::ETHERTYPE.to_be_bytes(), tci.to_be_bytes());
                rest.copy_from_slice(&[p0, p1, t0, t1, e0, e1]);
            }
            None => rest.copy_from_slice(&[e0, e1]),
        }
        packet.set_mac_header(0, n_bytes);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn headers_go_and_come_back() {
        check(
            r"InfiniteSource(DATA \<AAABACAD>, LIMIT 1, STOP true) -> Print(x)
              -> EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1) -> Print(a) -> StripEtherVLANHeader -> Print(b)
              -> EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO) -> Print(c) -> StripEtherVLANHeader -> Print(d)
              -> EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO, NATIVE_VLAN 1) -> Print(e) -> StripEtherVLANHeader
              -> SetVLANAnno(2, 1)
              -> EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO, NATIVE_VLAN 1) -> Print(f) -> Discard;",
            expect![[r#"
                x:    4 | aaabacad
                a:   22 | 02020202 02020101 01010101 81000001 0800aaab acad
                b:    4 | aaabacad
                c:   22 | 02020202 02020101 01010101 81000001 0800aaab acad
                d:    4 | aaabacad
                e:   18 | 02020202 02020101 01010101 0800aaab acad
                f:   22 | 02020202 02020101 01010101 81002002 0800aaab acad
            "#]],
        );
    }

    #[test]
    fn only_the_plain_header_can_be_changed() {
        check_reading(
            "Idle -> e :: EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, VLAN_ID 5, VLAN_PCP 3, NATIVE_VLAN 9) -> Discard;
             Idle -> a :: EtherVLANEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO) -> Discard;
             DriverManager(write e.src 3:3:3:3:3:3, write e.dst x, write e.ethertype 70000, write e.ethertype 5,
                 write e.vlan_id 6, write e.vlan_tci 7, write e.native_vlan 8, write e.vlan_pcp 2, write a.vlan_tci 7,
                 write e.vlan_tci keep 0 1, write e.vlan_tci)",
            &["e.config", "e.src", "e.dst", "e.ethertype", "e.vlan_tci", "e.vlan_id", "e.vlan_pcp", "e.native_vlan",
              "a.config", "a.vlan_tci", "a.vlan_id", "a.vlan_pcp", "a.native_vlan"],
            expect![[r#"
                While calling 'e.dst x':
                  expected Ethernet address
                While calling 'e.ethertype 70000':
                  expected uint16_t
                While calling 'e.vlan_id 6':
                  ETHERTYPE: invalid number
                  DST: parse error
                While calling 'e.vlan_tci 7':
                  ETHERTYPE: invalid number
                  DST: parse error
                While calling 'e.native_vlan 8':
                  ETHERTYPE: invalid number
                  DST: parse error
                While calling 'e.vlan_pcp 2':
                  ETHERTYPE: invalid number
                  DST: parse error
                While calling 'a.vlan_tci 7':
                  ETHERTYPE: invalid number
                  DST: parse error
                While calling 'e.vlan_tci keep 0 1':
                  ETHERTYPE: invalid number
                  DST: parse error
                  VLAN_TCI: parse error
                While calling 'e.vlan_tci':
                  ETHERTYPE: invalid number
                  DST: parse error
                  too many arguments
                e.config: 03-03-03-03-03-03, 02-02-02-02-02-02, 5, VLAN_ID 5, VLAN_PCP 3, NATIVE_VLAN 9
                e.src: 03-03-03-03-03-03
                e.dst: 02-02-02-02-02-02
                e.ethertype: 5
                e.vlan_tci: 24581
                e.vlan_id: 5
                e.vlan_pcp: 3
                e.native_vlan: 9
                a.config: 01-01-01-01-01-01, 02-02-02-02-02-02, 2048, ANNO
                a.vlan_tci: ANNO
                a.vlan_id: 
                a.vlan_pcp: 
                a.native_vlan: 
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> EtherVLANEncap(0x10000, x, 2:2:2:2:2:2) -> EtherVLANEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2, 65536)
             -> EtherVLANEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2, 1, 8) -> EtherVLANEncap(1, 1:1:1:1:1:1, 2:2:2:2:2:2, VLAN_ID 4096, NATIVE_VLAN -2)
             -> Discard",
            expect![[r#"
                config:1: While configuring 'EtherVLANEncap@2 :: EtherVLANEncap':
                  ETHERTYPE: out of range, bound 65535
                  SRC: parse error
                config:1: While configuring 'EtherVLANEncap@3 :: EtherVLANEncap':
                  VLAN_TCI: out of range, bound 65535
                config:2: While configuring 'EtherVLANEncap@4 :: EtherVLANEncap':
                  VLAN_PCP: out of range, bound 7
                config:2: While configuring 'EtherVLANEncap@5 :: EtherVLANEncap':
                  VLAN_ID: out of range, bound 4095
                  NATIVE_VLAN: out of range, bound -1
                Router could not be initialized!
            "#]],
        );
    }
}
