//! Puts packets into a GRE tunnel.
//!
//! Each packet gets an outer IPv4 header without options and a GRE header (RFC 2784), with key and sequence number (RFC 2890) if
//! they are asked for. What is in the tunnel is told by the packet's IP version, or by PROTOCOL, such as 0x6558 for Ethernet
//! frames. The outer header is marked, and the destination annotation is set to DST.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> GREEncap(192.0.2.1, 198.51.100.1, KEY 42) -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::{
    per_packet, same, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use crate::gre::{Encapsulation, Unfit};

/// The class.
pub const CLASS: Class =
    Class::new::<GreEncap>("GREEncap", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "The outer source."),
    Arg::required("DST", "IP address", "The outer destination."),
    Arg::keyword(
        "PROTOCOL",
        "unsigned",
        "The Ethernet protocol number of what is in the tunnel. Default that of the IP version.",
    ),
    Arg::keyword("KEY", "unsigned", "The tunnel's key. Default none."),
    Arg::keyword("SEQUENCE", "bool", "Whether packets are numbered. Default false."),
    Arg::keyword("CHECKSUM", "bool", "Whether packets have a checksum. Default false."),
    Arg::keyword("TTL", "unsigned", "Outer time to live. Default 64."),
    Arg::keyword("TOS", "unsigned", "Outer type of service. Default that of the inner packet."),
    Arg::keyword("DF", "bool", "Whether the outer packet must not be fragmented. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("overhead", "Bytes that each packet gets in front.").flags("alike"),
    Handler::read("sequence", "The next packet's number; nothing if packets are not numbered.")
        .flags("alike"),
];

const DROPS: &[DropReason] = &[
    DropReason::new("unknown", "The packet is neither IPv4 nor IPv6, and no PROTOCOL is given."),
    DropReason::new("too-long", "With its headers it would be longer than an IPv4 packet can be."),
];
const UNKNOWN: usize = 0;
const TOO_LONG: usize = 1;

/// See the page above.
pub struct GreEncap {
    tunnel: Encapsulation,
}

impl Element for GreEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<GreEncap, Failed> {
        let source: Ipv4Addr = conf.args.need("SRC");
        let destination: Ipv4Addr = conf.args.need("DST");
        let tunnel = Encapsulation {
            source,
            destination,
            protocol: conf.args.get("PROTOCOL"),
            key: conf.args.get("KEY"),
            next_sequence: conf.args.get_or("SEQUENCE", false).then_some(0),
            has_checksum: conf.args.get_or("CHECKSUM", false),
            ttl: conf.args.get_or("TTL", 64),
            tos: conf.args.get("TOS"),
            has_df: conf.args.get_or("DF", false),
            next_id: 0,
        };
        conf.finish()?;
        Ok(GreEncap { tunnel })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "overhead" => self.tunnel.overhead().to_string(),
            "sequence" => self.tunnel.next_sequence.map_or(String::new(), |sequence| sequence.to_string()),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<GreEncap>(ctx, old) else { return };
        self.tunnel.go_on_from(&old.tunnel);
    }
}

impl GreEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.tunnel.put(packet) {
            Ok(()) => Verdict::PASS,
            Err(Unfit::Unknown) => Verdict::drop(UNKNOWN),
            Err(Unfit::TooLong) => Verdict::drop(TOO_LONG),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_go_through_a_tunnel_and_are_numbered() {
        check_reading(
            "InfiniteSource(LIMIT 2, DATA 0123456789abcdef, STOP true)
                 -> UDPIPEncap(10.0.0.1, 1, 10.0.0.2, 2)
                 -> e :: GREEncap(192.0.2.1, 198.51.100.1, KEY 0x01020304, SEQUENCE true, CHECKSUM true)
                 -> Print(outer, MAXLENGTH 44) -> CheckIPHeader -> IPPrint(outer)
                 -> GREDecap(KEY 0x01020304, SEQUENCE true) -> CheckIPHeader -> IPPrint(inner, AGGREGATE true) -> Discard",
            &["e.overhead", "e.sequence"],
            expect![[r#"
                outer:   80 | 45000050 00000000 402f8e49 c0000201 c6336401 b0000800 58250000 01020304 00000000 4500002c 00000000
                outer: 1000000000.000000: 192.0.2.1 > 198.51.100.1: ip-proto-47
                inner: 1000000000.000000: #16909060: 10.0.0.1.1 > 10.0.0.2.2: udp 24
                outer:   80 | 45000050 00010000 402f8e48 c0000201 c6336401 b0000800 58240000 01020304 00000001 4500002c 00010000
                outer: 1000000000.000000001: 192.0.2.1 > 198.51.100.1: ip-proto-47
                inner: 1000000000.000000001: #16909060: 10.0.0.1.1 > 10.0.0.2.2: udp 24
                e.overhead: 36
                e.sequence: 2
            "#]],
        );
    }
}
