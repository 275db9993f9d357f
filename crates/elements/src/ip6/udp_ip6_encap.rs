//! Puts a UDP header and an IPv6 header in front of packets.
//!
//! The IPv6 header has traffic class and flow label 0 and a hop limit of 255. It is marked, and the destination annotation is set
//! to its destination. DST may be `DST_ANNO`: the destination is then taken from the annotation. The UDP checksum is always
//! computed, since IPv6 wants it.
//!
//! ```click
//! InfiniteSource(LIMIT 5) -> UDPIP6Encap(2001:db8::1, 1234, 2001:db8::2, 1234) -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::{Port, Raw, Scope};
use element::{
    annotation, offload, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet,
    Refusal, Verdict,
};
use wire::{checksum, protocol, Ipv6, Udp};

use super::segment::renew_checksum;

/// The class.
pub const CLASS: Class = Class::new::<UDPIP6Encap>("UDPIP6Encap", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("src", Refusal::Misread),
        ("sport", Refusal::Misread),
        ("dport", Refusal::Misread),
    ])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IPv6 address", "Source address."),
    Arg::required("SPORT", "UDP port", "Source port."),
    Arg::required("DST", "IPv6 address or `DST_ANNO`", "Destination address."),
    Arg::required("DPORT", "UDP port", "Destination port."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "Source address.").flags("setting"),
    Handler::read_write("sport", "Source port.").flags("setting"),
    Handler::read_write("dst", "Destination address; :: if it is taken from the annotation.")
        .flags("setting"),
    Handler::read_write("dport", "Destination port.").flags("setting"),
];

const HEADERS: usize = Ipv6::LEN + Udp::LEN;

/// See the page above.
pub struct UDPIP6Encap {
    source: Ipv6Addr,
    source_port: u16,
    /// `None`: from the annotation.
    destination: Option<Ipv6Addr>,
    destination_port: u16,
}

impl Element for UDPIP6Encap {
    fn configure(conf: &mut Configure<'_>) -> Result<UDPIP6Encap, Failed> {
        let source = conf.args.need("SRC");
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let Raw(destination_text) = conf.args.need("DST");
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let destination = destination(&destination_text, conf.scope).unwrap_or_else(|message| {
            conf.args.fail(message);
            None
        });
        conf.finish()?;
        Ok(UDPIP6Encap { source, source_port, destination, destination_port })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "src" => args::unparse_ip6(self.source),
            "sport" => self.source_port.to_string(),
            "dst" => args::unparse_ip6(self.destination.unwrap_or(Ipv6Addr::UNSPECIFIED)),
            "dport" => self.destination_port.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let scope = ctx.scope();
        let port = |argument: &str| {
            args::port(value, &scope, protocol::UDP).map_err(|error| format!("{argument}: {error}"))
        };
        match name {
            "src" => self.source = args::ip6(value, &scope).map_err(|error| format!("SRC: {error}"))?,
            "sport" => self.source_port = port("SPORT")?,
            "dst" => self.destination = destination(value, &scope)?,
            "dport" => self.destination_port = port("DPORT")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl UDPIP6Encap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        // The checksum covers the inner packet, which must not change any more.
        offload::settle(packet);
        let destination =
            self.destination.unwrap_or_else(|| Ipv6Addr::from(packet.anno::<16>(annotation::DST_IP6)));
        let bytes = packet.prepend(HEADERS);
        let len = (bytes.len() - Ipv6::LEN) as u16;
        if let Some((header, segment)) = bytes.split_first_chunk_mut::<{ Ipv6::LEN }>() {
            if let Some(mut ip) = Ipv6::init(header) {
                ip.set_payload_len(len);
                ip.set_next_header(protocol::UDP);
                ip.set_hop_limit(255);
                ip.set_source(self.source);
                ip.set_destination(destination);
            }
            if let Some(mut udp) = Udp::new(&mut *segment) {
                udp.set_source_port(self.source_port);
                udp.set_destination_port(self.destination_port);
                udp.set_len(len);
            }
            let pseudo = checksum::pseudo_ipv6(self.source, destination, protocol::UDP, len.into());
            // Longer packets than a length field can tell of: what it tells of is covered, but for the header at least.
            let covered = usize::from(len).max(Udp::LEN).min(segment.len());
            renew_checksum(segment.get_mut(..covered).unwrap_or_default(), protocol::UDP, pseudo);
        }
        packet.set_anno(annotation::DST_IP6, destination.octets());
        packet.set_network_header(0, Ipv6::LEN);
        Verdict::PASS
    }
}

/// The destination; `None` if it is the annotation.
fn destination(text: &str, scope: &Scope<'_>) -> Result<Option<Ipv6Addr>, String> {
    if text == "DST_ANNO" {
        return Ok(None);
    }
    args::ip6(text, scope).map(Some).map_err(|_| "bad DST".to_string())
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn both_headers_are_made_with_the_checksum() {
        check_reading(
            "InfiniteSource(DATA abc, LIMIT 1) -> e :: UDPIP6Encap(2001:db8::1, 1234, 2001:db8::2, domain) -> Print(x, -1)
                -> SetIP6Address(9::9) -> f :: UDPIP6Encap(1::, 1, DST_ANNO, 2) -> Print(y, 48, PRINTANNO true) -> Discard",
            &["e.src", "e.sport", "e.dst", "e.dport", "f.dst"],
            expect![[r#"
                x:   51 | 60000000 000b11ff 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000002 04d20035 000bdaf9 616263
                y:   99 | 000900000000000000000000000000090000000000000000000000000000000000000000000000000000000000000000 | 60000000 003b11ff 00010000 00000000 00000000 00000000 00090000 00000000 00000000 00000009 00010002 003b8d74
                e.src: 2001:db8::1
                e.sport: 1234
                e.dst: 2001:db8::2
                e.dport: 53
                f.dst: ::
            "#]],
        );
    }

    #[test]
    fn a_checksum_of_0_becomes_all_ones() {
        check_reading(
            "InfiniteSource(DATA \\<ffd9>, LIMIT 1) -> UDPIP6Encap(1::, 0, ffff::, 0) -> Print(x, -1) -> Discard",
            &[],
            expect![[r#"
                x:   50 | 60000000 000a11ff 00010000 00000000 00000000 00000000 ffff0000 00000000 00000000 00000000 00000000 000affff ffd9
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake("UDPIP6Encap(1::, 2, x, 4)", expect!["bad DST"]);
        check_mistake(
            "UDPIP6Encap(1, 99999, 3)",
            expect!["SRC: parse error; SPORT: overflow, range 0-65535; DPORT: required argument missing"],
        );
    }
}
