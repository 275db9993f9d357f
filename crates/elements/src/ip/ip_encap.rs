//! Puts an IPv4 header in front of packets.
//!
//! The header has no options; its identification counts the packets. The header is marked, and the destination annotation is
//! set to its destination. DST may be `DST_ANNO`: the destination is then taken from the annotation.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> IPEncap(ipip, 18.26.4.24, 140.247.60.147) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{Keyword, NameKind, Raw, Scope};
use element::{
    per_packet, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};
use wire::checksum;

/// The class.
pub const CLASS: Class = Class::new::<IPEncap>("IPEncap", "1/1", "a/a", "x/x")
    .lengthens(20)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("src", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("PROTO", "IP protocol", "The protocol, by name or number."),
    Arg::required("SRC", "IP address", "The source."),
    Arg::required("DST", "IP address or `DST_ANNO`", "The destination."),
    Arg::keyword("TOS", "int", "Type of service, 0 to 255; excludes DSCP, ECT and CE. Default 0."),
    Arg::keyword("TTL", "unsigned", "Time to live. Default 250."),
    Arg::keyword("DSCP", "int", "Differentiated services code point, 0 to 62. Default 0."),
    Arg::keyword(
        "ECT",
        "bool or 2",
        "Whether to say that the transport understands ECN, as ECT(1), or with 2 as ECT(0).",
    ),
    Arg::keyword("CE", "bool", "Whether to mark congestion as experienced. Default false."),
    Arg::keyword("DF", "bool", "Whether to set the don't-fragment bit. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "The source.").flags("calm setting"),
    Handler::read_write("dst", "The destination, or DST_ANNO.").flags("calm setting"),
];

const BAD_DST: &str = "DST argument should be IP address or 'DST_ANNO'";

/// See the page above.
pub struct IPEncap {
    /// The header without length, identification and checksum; destination 0 if it comes from the annotation.
    header: [u8; 20],
    /// Unfolded sum of the header.
    sum: u64,
    destination: Option<Ipv4Addr>,
    next_id: u16,
}

impl Element for IPEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<IPEncap, Failed> {
        let protocol =
            conf.args.need_with("PROTO", |text, scope| args::named_integer(text, scope, NameKind::Protocol));
        let source: Ipv4Addr = conf.args.need("SRC");
        let Raw(destination) = conf.args.need("DST");
        let tos = conf.args.get_or("TOS", -1);
        let ttl: u8 = conf.args.get_or("TTL", 250);
        let dscp = conf.args.get_or("DSCP", -1);
        let ect: Option<Keyword> = conf.args.get("ECT");
        let has_ce = conf.args.get_or("CE", false);
        let has_df = conf.args.get_or("DF", false);
        let fields =
            fields(protocol.unwrap_or(-1), &destination, conf.scope).and_then(|(protocol, destination)| {
                let ect = ect.map_or(Ok(0), |ect| transport_capability(&ect.0))?;
                Ok((protocol, destination, type_of_service(tos, dscp, ect, has_ce)?))
            });
        let (protocol, destination, tos) = fields.unwrap_or_else(|message| {
            conf.args.fail(message);
            (0, None, 0)
        });
        conf.finish()?;
        let mut header = [0; 20];
        [header[0], header[1], header[8], header[9]] = [0x45, tos, ttl, protocol];
        header[6] = if has_df { 0x40 } else { 0 };
        let mut element = IPEncap { header, sum: 0, destination, next_id: 0 };
        element.set_addresses(source, destination);
        Ok(element)
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "src" => Ok(self.source().to_string()),
            "dst" => Ok(self.destination.map_or("DST_ANNO".to_string(), |address| address.to_string())),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let scope = ctx.scope();
        match name {
            "src" => {
                let source = args::ip(value, &scope).map_err(|error| format!("SRC: {error}"))?;
                self.set_addresses(source, self.destination);
            }
            "dst" => self.set_addresses(self.source(), destination(value, &scope)?),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<IPEncap>(ctx, old) {
            self.next_id = old.next_id;
        }
    }
}

impl IPEncap {
    fn source(&self) -> Ipv4Addr {
        Ipv4Addr::new(self.header[12], self.header[13], self.header[14], self.header[15])
    }

    fn set_addresses(&mut self, source: Ipv4Addr, destination: Option<Ipv4Addr>) {
        self.header[12..16].copy_from_slice(&source.octets());
        self.header[16..20].copy_from_slice(&destination.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        self.destination = destination;
        self.sum = u64::from(checksum::sum_20(&self.header));
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let destination = match self.destination {
            Some(destination) => {
                packet.set_dst_ip(destination);
                0
            }
            None => packet.dst_ip().to_bits(),
        };
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let bytes = packet.prepend(20);
        let len = bytes.len() as u16;
        if let Some(header) = bytes.first_chunk_mut::<20>() {
            *header = self.header;
            header[2..4].copy_from_slice(&len.to_be_bytes());
            header[4..6].copy_from_slice(&id.to_be_bytes());
            let sum = checksum::fold(self.sum + u64::from(len) + u64::from(id) + u64::from(destination));
            header[10..12].copy_from_slice(&(!sum).to_be_bytes());
            if self.destination.is_none() {
                header[16..20].copy_from_slice(&destination.to_be_bytes());
            }
        }
        packet.set_network_header(0, 20);
        Verdict::PASS
    }
}

fn fields(protocol: i32, dst: &str, scope: &Scope<'_>) -> Result<(u8, Option<Ipv4Addr>), String> {
    let protocol = u8::try_from(protocol).map_err(|_| "bad IP protocol")?;
    Ok((protocol, destination(dst, scope)?))
}

/// The destination; `None` if it is the annotation.
fn destination(text: &str, scope: &Scope<'_>) -> Result<Option<Ipv4Addr>, String> {
    if text == "DST_ANNO" {
        return Ok(None);
    }
    args::ip(text, scope).map(Some).map_err(|_| BAD_DST.to_string())
}

/// The ECN bits that `ECT` asks for (RFC 3168, section 5).
fn transport_capability(ect: &str) -> Result<u8, String> {
    match (args::boolean(ect), ect) {
        (Ok(false), _) | (_, "") => Ok(0),
        (Ok(true), _) => Ok(1),
        (_, "2") => Ok(2),
        _ => Err(format!("bad ECT value '{ect}'")),
    }
}

fn type_of_service(tos: i32, dscp: i32, ect: u8, has_ce: bool) -> Result<u8, &'static str> {
    if tos >= 0 && dscp >= 0 {
        return Err("cannot set both TOS and DSCP");
    }
    if tos >= 0 && (ect != 0 || has_ce) {
        return Err("cannot set both TOS and ECN bits");
    }
    if !(-1..256).contains(&tos) {
        return Err("TOS too large; max 255");
    }
    // Click's bound is one less than its message says.
    if !(-1..63).contains(&dscp) {
        return Err("DSCP too large; max 63");
    }
    if ect != 0 && has_ce {
        return Err("can set at most one ECN option");
    }
    let upper = if tos >= 0 { tos } else { dscp.max(0) << 2 };
    Ok(upper as u8 | ect | if has_ce { 3 } else { 0 })
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    fn encapsulate(arguments: &str, expect: expect_test::Expect) {
        let source = "InfiniteSource(DATA abcd, LIMIT 2, STOP true) -> SetIPAddress(9.8.7.6)";
        check(
            &format!("{source} -> e :: IPEncap({arguments}) -> Print(p, PRINTANNO true) -> Discard"),
            expect,
        );
    }

    #[test]
    fn headers_carry_what_was_asked_for() {
        encapsulate(
            "ipip, 1.0.0.1, 2.0.0.2",
            expect![[r#"
            p:   24 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 45000018 00000000 fa04bddf 01000001 02000002 61626364
            p:   24 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 45000018 00010000 fa04bdde 01000001 02000002 61626364
        "#]],
        );
        encapsulate(
            "17, 1.0.0.1, DST_ANNO, DSCP 10, ECT 2, DF true, TTL 3",
            expect![[r#"
            p:   24 | 090807060000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 452a0018 00004000 0311669d 01000001 09080706 61626364
            p:   24 | 090807060000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 452a0018 00014000 0311669c 01000001 09080706 61626364
        "#]],
        );
    }

    #[test]
    fn bad_combinations_are_refused() {
        check_mistake("IPEncap(300, 1.0.0.1, 2.0.0.2)", expect!["bad IP protocol"]);
        check_mistake("IPEncap(, 1.0.0.1, 2.0.0.2)", expect!["bad IP protocol"]);
        check_mistake(
            "IPEncap(4, 1.0.0.1, 2.0.0.2, TOS 1, CE true)",
            expect!["cannot set both TOS and ECN bits"],
        );
        check_mistake(
            "IPEncap(4, 1.0.0.1, 2.0.0.2, ECT true, CE true)",
            expect!["can set at most one ECN option"],
        );
        check_mistake(
            "IPEncap(4, 1.0.0.1, nowhere, ECT 5)",
            expect!["DST argument should be IP address or 'DST_ANNO'"],
        );
    }
}
