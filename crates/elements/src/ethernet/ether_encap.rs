//! Puts an Ethernet header in front of packets.
//!
//! The header is the same for all packets: the addresses and the type that the arguments give. It is marked as the packet's
//! link-layer header, and what follows it as the network header.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
//! ```

use args::EtherAddr;
use element::fast_path::{put_frame, Egress, FastPath, HasFastPath};
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};
use wire::Ethernet;

/// The class.
pub const CLASS: Class = Class::new::<EtherEncap>("EtherEncap", "1/1", "a/a", "x/x")
    .lengthens(14)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("src", Refusal::Misread),
        ("dst", Refusal::Misread),
        ("ethertype", Refusal::Misread),
        ("etht", Refusal::Misread),
    ])
    .live()
    .fast_path::<EtherEncap>();

const ARGS: &[Arg] = &[
    Arg::required("ETHERTYPE", "0 to 65535", "Protocol of what follows the header, such as 0x0800 for IPv4."),
    Arg::required("SRC", "Ethernet address", "The source."),
    Arg::required("DST", "Ethernet address", "The destination."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "The source.").flags("setting"),
    Handler::read_write("dst", "The destination.").flags("setting"),
    Handler::read_write("ethertype", "Protocol of what follows the header.").flags("setting"),
    Handler::read_write("etht", "Protocol of what follows the header.").flags("deprecated setting=ETHERTYPE"),
];

/// See the page above.
pub struct EtherEncap {
    header: [u8; Ethernet::LEN],
}

impl Element for EtherEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<EtherEncap, Failed> {
        let ethertype: u16 = conf.args.need("ETHERTYPE");
        let source: EtherAddr = conf.args.need("SRC");
        let destination: EtherAddr = conf.args.need("DST");
        conf.finish()?;
        let mut element = EtherEncap { header: [0; Ethernet::LEN] };
        element.header[..6].copy_from_slice(&destination.0);
        element.header[6..12].copy_from_slice(&source.0);
        element.header[12..].copy_from_slice(&ethertype.to_be_bytes());
        Ok(element)
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1] = self.header;
        match name {
            "src" => Ok(EtherAddr([s0, s1, s2, s3, s4, s5]).to_string()),
            "dst" => Ok(EtherAddr([d0, d1, d2, d3, d4, d5]).to_string()),
            "ethertype" | "etht" => Ok(u16::from_be_bytes([t0, t1]).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let address = |arg: &str| args::ether(value, &ctx.scope()).map_err(|error| format!("{arg}: {error}"));
        match name {
            "src" => self.header[6..12].copy_from_slice(&address("SRC")?.0),
            "dst" => self.header[..6].copy_from_slice(&address("DST")?.0),
            "ethertype" | "etht" => {
                let ethertype = args::integer::<u16>(value).map_err(|error| format!("ETHERTYPE: {error}"))?;
                self.header[12..].copy_from_slice(&ethertype.to_be_bytes());
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl HasFastPath for EtherEncap {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::framed(self.header)))
    }
}

impl EtherEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        put_frame(packet, &self.header);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_get_the_header_and_its_marks() {
        let mut element = EtherEncap { header: *b"ddddddssssssTT" };
        let mut packet = Packet::from_bytes(b"rest");
        let twin = packet.clone();
        assert_eq!(element.process(&mut packet), Verdict::PASS);
        assert_eq!(packet.data(), b"ddddddssssssTTrest");
        assert_eq!((packet.mac(), packet.network()), (packet.data(), &b"rest"[..]));
        assert_eq!(twin.data(), b"rest");
    }

    #[test]
    fn arguments_can_be_read_and_written() {
        let config = "Idle -> e :: EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> Idle;
            DriverManager(write e.ethertype 0x0801, write e.src 3:3:3:3:3:3, write e.dst nobody, stop)";
        let values = ["e.src", "e.dst", "e.ethertype", "e.etht"];
        check_reading(
            config,
            &values,
            expect![[r#"
            While calling 'e.dst nobody':
              DST: parse error
            e.src: 03-03-03-03-03-03
            e.dst: 02-02-02-02-02-02
            e.ethertype: 2049
            e.etht: 2049
        "#]],
        );
    }

    #[test]
    fn wrong_arguments_are_told() {
        check(
            "Idle -> EtherEncap(65536, 1:1:1:1:1, 2:2:2:2:2:2) -> Idle;",
            expect![[r#"
                config:1: While configuring 'EtherEncap@2 :: EtherEncap':
                  ETHERTYPE: out of range, bound 65535
                  SRC: parse error
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn names_can_be_written() {
        check_reading(
            "AddressInfo(me 1:1:1:1:1:1); Idle -> e :: EtherEncap(0x0800, 2:2:2:2:2:2, 3:3:3:3:3:3) -> Idle;
             Script(write e.src me, write e.etht 5)",
            &["e.src", "e.config"],
            expect![[r#"
                e.src: 01-01-01-01-01-01
                e.config: 5, me, 3:3:3:3:3:3
            "#]],
        );
    }
}
