//! Puts an IPv6 header in front of packets.
//!
//! The header has flow label 0. It is marked, and the destination annotation is set to its destination. DST may be `DST_ANNO`: the
//! destination is then taken from the annotation.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> IP6Encap(ipip, 2001:db8::1, 2001:db8::2, HLIM 20) -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::{NameKind, Raw, Scope};
use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
    Verdict,
};
use wire::Ipv6;

/// The class.
pub const CLASS: Class = Class::new::<IP6Encap>("IP6Encap", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("src", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("PROTO", "IP protocol", "The next header, by name or number."),
    Arg::required("SRC", "IPv6 address", "The source."),
    Arg::required("DST", "IPv6 address or `DST_ANNO`", "The destination."),
    Arg::keyword("HLIM", "unsigned", "Hop limit, 0 to 255. Default 250."),
    Arg::keyword("CLASS", "unsigned", "Traffic class, 0 to 255. Default 0."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "The source.").flags("calm setting"),
    Handler::read_write("dst", "The destination, or DST_ANNO.").flags("calm setting"),
];

const BAD_DST: &str = "DST argument should be IP address or 'DST_ANNO'";

/// See the page above.
pub struct IP6Encap {
    source: Ipv6Addr,
    /// `None`: from the annotation.
    destination: Option<Ipv6Addr>,
    /// The header without length; destination `::` if it comes from the annotation.
    header: [u8; Ipv6::LEN],
}

impl Element for IP6Encap {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6Encap, Failed> {
        let protocol =
            conf.args.need_with("PROTO", |text, scope| args::named_integer(text, scope, NameKind::Protocol));
        let source = conf.args.need("SRC");
        let Raw(destination_text) = conf.args.need("DST");
        let hop_limit = conf.args.get_or("HLIM", 250);
        let traffic_class = conf.args.get_or("CLASS", 0);
        let fields = u8::try_from(protocol.unwrap_or(-1)).map_err(|_| "bad IP protocol");
        let fields = fields.and_then(|protocol| Ok((protocol, destination(&destination_text, conf.scope)?)));
        let (protocol, destination) = fields.unwrap_or_else(|message| {
            conf.args.fail(message);
            (0, None)
        });
        conf.finish()?;
        let mut header = [0; Ipv6::LEN];
        if let Some(mut ip) = Ipv6::init(&mut header) {
            ip.set_traffic_class(traffic_class);
            ip.set_next_header(protocol);
            ip.set_hop_limit(hop_limit);
        }
        let mut element = IP6Encap { source, destination, header };
        element.put_addresses();
        Ok(element)
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "src" => Ok(args::unparse_ip6(self.source)),
            "dst" => Ok(self.destination.map_or("DST_ANNO".to_string(), args::unparse_ip6)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let scope = ctx.scope();
        match name {
            "src" => self.source = args::ip6(value, &scope).map_err(|error| format!("SRC: {error}"))?,
            "dst" => self.destination = destination(value, &scope)?,
            _ => return Err(format!("no {name} write handler")),
        }
        self.put_addresses();
        Ok(())
    }
}

impl IP6Encap {
    fn put_addresses(&mut self) {
        self.header[8..24].copy_from_slice(&self.source.octets());
        self.header[24..].copy_from_slice(&self.destination.unwrap_or(Ipv6Addr::UNSPECIFIED).octets());
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let destination = match self.destination {
            Some(destination) => destination.octets(),
            None => packet.anno(annotation::DST_IP6),
        };
        let bytes = packet.prepend(Ipv6::LEN);
        let len = (bytes.len() - Ipv6::LEN) as u16;
        if let Some(header) = bytes.first_chunk_mut::<{ Ipv6::LEN }>() {
            *header = self.header;
            header[4..6].copy_from_slice(&len.to_be_bytes());
            header[24..].copy_from_slice(&destination);
        }
        packet.set_anno(annotation::DST_IP6, destination);
        packet.set_network_header(0, Ipv6::LEN);
        Verdict::PASS
    }
}

/// The destination; `None` if it is the annotation.
fn destination(text: &str, scope: &Scope<'_>) -> Result<Option<Ipv6Addr>, &'static str> {
    if text == "DST_ANNO" {
        return Ok(None);
    }
    args::ip6(text, scope).map(Some).map_err(|_| BAD_DST)
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn headers_carry_what_was_asked_for() {
        check_reading(
            "InfiniteSource(DATA abcd, LIMIT 1) -> e :: IP6Encap(ipip, 2001:db8::1, 2001:db8::2) -> Print(x, -1, PRINTANNO true)
                -> f :: IP6Encap(41, 1::, DST_ANNO, HLIM 3, CLASS 0xb8) -> Print(y, 40) -> Discard;
            Script(write f.src 9::)",
            &["e.src", "e.dst", "f.src", "f.dst"],
            expect![[r#"
                x:   44 | 20010db80000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 60000000 000404fa 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 61626364
                y:   84 | 6b800000 002c2903 00010000 00000000 00000000 00000000 20010db8 00000000 00000000 00000002
                e.src: 2001:db8::1
                e.dst: 2001:db8::2
                f.src: 9::
                f.dst: DST_ANNO
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake("IP6Encap(300, 1::, 2::)", expect!["bad IP protocol"]);
        check_mistake("IP6Encap(4, 1::, x)", expect!["DST argument should be IP address or 'DST_ANNO'"]);
        check_mistake("IP6Encap(foo, 1, 2::, HLIM 256, CLASS 300)", expect!["PROTO: invalid number; SRC: parse error; HLIM: out of range, bound 255; CLASS: out of range, bound 255"]);
    }
}
