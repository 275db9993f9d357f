//! Puts a UDP header and an IPv4 header in front of packets.
//!
//! The IPv4 header has no options, a time to live of 250 and an identification that counts the packets. It is marked, and the
//! destination annotation is set to its destination. DST may be `DST_ANNO`: the destination is then taken from the annotation.
//!
//! ```click
//! InfiniteSource(LIMIT 5) -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 1234) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{Port, Raw, Scope};
use element::{
    offload, per_packet, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
    Verdict,
};
use wire::{checksum, protocol};

/// The class.
pub const CLASS: Class = Class::new::<UDPIPEncap>("UDPIPEncap", "1/1", "a/a", "x/x")
    .lengthens(28)
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
    Arg::required("SRC", "IP address", "Source address."),
    Arg::required("SPORT", "UDP port", "Source port."),
    Arg::required("DST", "IP address or `DST_ANNO`", "Destination address."),
    Arg::required("DPORT", "UDP port", "Destination port."),
    Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "Source address.").flags("setting"),
    Handler::read_write("sport", "Source port.").flags("setting"),
    Handler::read_write("dst", "Destination address; 0.0.0.0 if it is taken from the annotation.")
        .flags("setting"),
    Handler::read_write("dport", "Destination port.").flags("setting"),
];

/// See the page above.
pub struct UDPIPEncap {
    source: Ipv4Addr,
    source_port: u16,
    /// `None`: from the annotation.
    destination: Option<Ipv4Addr>,
    destination_port: u16,
    has_checksum: bool,
    next_id: u16,
    /// Both headers without lengths, identification and checksums.
    headers: [u8; 28],
    /// Sum of the IPv4 header.
    sum: u64,
    /// Sum of what the UDP checksum covers but for lengths, an address from the annotation and what comes behind the headers.
    udp_sum: u64,
}

impl Element for UDPIPEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<UDPIPEncap, Failed> {
        let source = conf.args.need("SRC");
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let Raw(destination_text) = conf.args.need("DST");
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        let destination = destination(&destination_text, conf.scope).unwrap_or_else(|message| {
            conf.args.fail(message);
            None
        });
        conf.finish()?;
        Ok(UDPIPEncap::new((source, source_port), (destination, destination_port), has_checksum))
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "src" => self.source.to_string(),
            "sport" => self.source_port.to_string(),
            "dst" => self.destination.unwrap_or(Ipv4Addr::UNSPECIFIED).to_string(),
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
            "src" => self.source = args::ip(value, &scope).map_err(|error| format!("SRC: {error}"))?,
            "sport" => self.source_port = port("SPORT")?,
            "dst" => self.destination = destination(value, &scope)?,
            "dport" => self.destination_port = port("DPORT")?,
            _ => return Err(format!("no {name} write handler")),
        }
        self.compile();
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<UDPIPEncap>(ctx, old) {
            self.take_over(&old);
        }
    }
}

impl UDPIPEncap {
    /// Puts headers with these addresses and ports in front of packets; a destination that is not given is the annotation.
    pub(super) fn new(
        (source, source_port): (Ipv4Addr, u16),
        (destination, destination_port): (Option<Ipv4Addr>, u16),
        has_checksum: bool,
    ) -> UDPIPEncap {
        let mut element = UDPIPEncap {
            source,
            source_port,
            destination,
            destination_port,
            has_checksum,
            next_id: 0,
            headers: [0; 28],
            sum: 0,
            udp_sum: 0,
        };
        element.compile();
        element
    }

    /// Goes on to the next ports.
    pub(super) fn advance_ports(&mut self) {
        self.source_port = self.source_port.wrapping_add(1);
        self.destination_port = self.destination_port.wrapping_add(1);
        self.compile();
    }

    fn compile(&mut self) {
        let mut headers = [0; 28];
        [headers[0], headers[8], headers[9]] = [0x45, 250, protocol::UDP];
        headers[12..16].copy_from_slice(&self.source.octets());
        let destination = self.destination.unwrap_or(Ipv4Addr::UNSPECIFIED);
        headers[16..20].copy_from_slice(&destination.octets());
        headers[20..22].copy_from_slice(&self.source_port.to_be_bytes());
        headers[22..24].copy_from_slice(&self.destination_port.to_be_bytes());
        self.headers = headers;
        self.sum = headers.first_chunk().map_or(0, |ip| u64::from(checksum::sum_20(ip)));
        let pseudo = checksum::pseudo_ipv4(self.source, destination, protocol::UDP, 0);
        self.udp_sum = u64::from(pseudo) + u64::from(self.source_port) + u64::from(self.destination_port);
    }

    /// Puts the headers in front of a packet.
    #[inline(always)]
    pub(super) fn process(&mut self, packet: &mut Packet) -> Verdict {
        // Length and checksum are of the inner packet, which must not change any more.
        offload::settle(packet);
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        let annotated = packet.dst_ip();
        let bytes = packet.prepend(28);
        let len = bytes.len() as u16;
        let udp_len = len.wrapping_sub(20);
        let address = if self.destination.is_none() { u64::from(annotated.to_bits()) } else { 0 };
        let udp_checksum = match self.has_checksum {
            true => self.udp_checksum(bytes, address, udp_len),
            false => 0,
        };
        if let Some(headers) = bytes.first_chunk_mut::<28>() {
            *headers = self.headers;
            headers[2..4].copy_from_slice(&len.to_be_bytes());
            headers[4..6].copy_from_slice(&id.to_be_bytes());
            let sum = self.sum + u64::from(len) + u64::from(id) + address;
            headers[10..12].copy_from_slice(&(!checksum::fold(sum)).to_be_bytes());
            headers[24..26].copy_from_slice(&udp_len.to_be_bytes());
            headers[26..28].copy_from_slice(&udp_checksum.to_be_bytes());
            if self.destination.is_none() {
                headers[16..20].copy_from_slice(&annotated.octets());
            }
        }
        if let Some(destination) = self.destination {
            packet.set_dst_ip(destination);
        }
        packet.set_network_header(0, 20);
        Verdict::PASS
    }

    /// The UDP checksum, where `address` is that of the annotation if that is the destination; like Click, without RFC 768's
    /// replacement of 0, which so says "none". The headers are added up from what will be in them, because reading what was just
    /// written in other units would wait for the writes.
    #[inline(always)]
    fn udp_checksum(&self, bytes: &[u8], address: u64, udp_len: u16) -> u16 {
        // Longer packets than a length field can tell of: what it tells of is covered.
        let payload = usize::from(udp_len).checked_sub(8).and_then(|len| bytes.get(28..)?.get(..len));
        let Some(payload) = payload else {
            let destination = self.destination.unwrap_or(Ipv4Addr::from_bits(address as u32));
            return !checksum::pseudo_ipv4(self.source, destination, protocol::UDP, udp_len);
        };
        // The length is in the pseudo-header and in the header.
        let sum = self.udp_sum + address + 2 * u64::from(udp_len);
        !checksum::fold(sum + u64::from(checksum::sum(payload)))
    }

    /// Goes on from the identifications of the element that is replaced.
    pub(super) fn take_over(&mut self, old: &UDPIPEncap) {
        self.next_id = old.next_id;
    }
}

/// The destination; `None` if it is the annotation.
fn destination(text: &str, scope: &Scope<'_>) -> Result<Option<Ipv4Addr>, String> {
    if text == "DST_ANNO" {
        return Ok(None);
    }
    args::ip(text, scope).map(Some).map_err(|_| "bad DST".to_string())
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn both_headers_are_made_with_their_checksums() {
        let source = "InfiniteSource(DATA abc, LIMIT 2, STOP true)";
        let rest = "CheckIPHeader -> CheckUDPHeader -> Print(p, PRINTANNO true) -> Discard";
        check(
            &format!("{source} -> UDPIPEncap(1.0.0.1, 1234, 2.0.0.2, domain) -> {rest}"),
            expect![[r#"
            p:   31 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00000000 fa11bdcb 01000001 02000002 04d20035
            p:   31 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00010000 fa11bdca 01000001 02000002 04d20035
        "#]],
        );
        check(
            &format!(
                "{source} -> SetIPAddress(3.0.0.3) -> UDPIPEncap(1.0.0.1, 1, DST_ANNO, 2, false) -> {rest}"
            ),
            expect![[r#"
                p:   31 | 030000030000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00000000 fa11bcca 01000001 03000003 00010002
                p:   31 | 030000030000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00010000 fa11bcc9 01000001 03000003 00010002
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake("UDPIPEncap(1.0.0.1, 2, x, 4)", expect!["bad DST"]);
        check_mistake(
            "UDPIPEncap(1, 99999, 3)",
            expect!["SRC: parse error; SPORT: overflow, range 0-65535; DPORT: required argument missing"],
        );
    }
}
