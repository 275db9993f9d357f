//! Makes ICMP error messages about packets.
//!
//! Each packet, whose IPv4 header must be marked, is answered by an ICMP message of the given type and code that quotes as much of
//! it as fits in MTU bytes. The message goes to the packet's source; its destination annotation is set, and unless SET_FIX_ANNO is
//! false it is marked for `FixIPSrc`. It follows a source route back (RFC 1122, section 4.1.3.2). The field that a parameter problem
//! names comes from the packet's annotation, the gateway of a redirect from its destination annotation.
//!
//! No message is made about ICMP errors, about fragments but the first, and about packets from or to addresses that are not a
//! single host's (RFC 1812, section 4.3.2.7).
//!
//! ```click
//! Idle -> ttl :: DecIPTTL -> Discard;
//! ttl[1] -> ICMPError(18.26.4.24, timeexceeded) -> limit :: RatedSplitter(10) -> Discard;
//! limit[1] -> Discard;
//! ```

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::Arc;

use args::{NameKind, Word};
use element::{
    annotation, offload, per_packet, same, Arg, Causes, Class, Clock, Configure, Ctx, DropReason, Element,
    Failed, Handler, Made, Packet, Refusal, Verdict,
};
use packet::DEFAULT_HEADROOM;
use wire::{checksum, icmp_code, icmp_type, protocol, Ipv4};

use super::source_route::{self, SourceRoute};

/// The class.
pub const CLASS: Class = Class::new::<ICMPError>("ICMPError", "1/1", "a/a", "x/x")
    .lengthens(68)
    .causes(Causes::MORE.and(Causes::CHANGES))
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "The messages' source."),
    Arg::required("TYPE", "ICMP type", "Type of an error, by name or number."),
    Arg::optional("CODE", "ICMP code", "Code, by name or number. Default 0."),
    Arg::optional("BADADDRS", "IP addresses", "Addresses that are not a single host's. Default none."),
    Arg::keyword("MTU", "unsigned", "Bytes of the longest message. Default 576."),
    Arg::keyword("PMTU", "unsigned", "The next hop's MTU, told if fragmentation is needed. Default 0."),
    Arg::keyword("SET_FIX_ANNO", "bool", "Whether messages are marked for FixIPSrc. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "The messages' source."),
    Handler::read_write("mtu", "Bytes of the longest message."),
    Handler::read_write("pmtu", "The next hop's MTU, told if fragmentation is needed."),
];

const NO_HEADER: usize = 0;
const ICMP_ERROR: usize = 1;
const GROUP: usize = 2;
const BAD_SOURCE: usize = 3;
const FRAGMENT: usize = 4;
const SOURCE_ROUTED: usize = 5;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv4 header is marked."),
    DropReason::new("icmp-error", "The packet is an ICMP error itself."),
    DropReason::new("group", "The packet was sent to a group or by a link-layer broadcast."),
    DropReason::new("bad-source", "The source is not the address of a host."),
    DropReason::new("fragment", "The packet is a fragment and not the first."),
    DropReason::new("source-routed", "A redirect would concern a packet with a source route."),
];

const IP_HEADER: usize = 20;
const ICMP_HEADER: usize = 8;
const TTL: u8 = 200;

/// See the page above.
pub struct ICMPError {
    source: Ipv4Addr,
    kind: u8,
    code: u8,
    bad_addresses: Vec<Ipv4Addr>,
    mtu: u32,
    path_mtu: u32,
    sets_fix_anno: bool,
    /// The next message's identification, which all elements of the class count together.
    next_id: Arc<AtomicU16>,
}

impl Element for ICMPError {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPError, Failed> {
        let source = conf.args.need("SRC");
        let kind =
            conf.args.need_with("TYPE", |text, scope| args::named_integer(text, scope, NameKind::IcmpType));
        let Word(code) = conf.args.get_or("CODE", Word("0".to_string()));
        let bad_addresses = conf.args.get_or("BADADDRS", Vec::new());
        let mtu = conf.args.get_or("MTU", 576);
        let path_mtu = conf.args.get_or("PMTU", 0);
        let sets_fix_anno = conf.args.get_or("SET_FIX_ANNO", true);
        conf.finish()?;
        let kind = error_kind(kind.unwrap_or(-1))?;
        let code = conf.scope.integer_or_number(NameKind::IcmpCode(kind), &code);
        let code = code.and_then(|code| u8::try_from(code).ok());
        let code = code.ok_or("argument 2 takes ICMP code (integer between 0 and 255)")?;
        let next_id = Arc::new(AtomicU16::new(1));
        Ok(ICMPError { source, kind, code, bad_addresses, mtu, path_mtu, sets_fix_anno, next_id })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let first = (0..ctx.element).find(|idx| ctx.class(*idx) == CLASS.facts.name);
        if let Some(next_id) =
            first.and_then(|idx| ctx.with(idx, |first: &mut ICMPError, _| first.next_id.clone()))
        {
            self.next_id = next_id;
        }
        Ok(())
    }

    per_packet!(now);

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "src" => Ok(self.source.to_string()),
            "mtu" => Ok(self.mtu.to_string()),
            "pmtu" => Ok(self.path_mtu.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = || args::integer(value).map_err(|_| "expected integer");
        match name {
            "src" => self.source = args::ip(value, &ctx.scope()).map_err(|_| "expected IP address")?,
            "mtu" => self.mtu = number()?,
            "pmtu" => self.path_mtu = number()?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn made(&self) -> Made {
        Made::Answer
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<ICMPError>(ctx, old) {
            self.next_id = old.next_id;
        }
    }
}

impl ICMPError {
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        offload::settle(packet);
        match self.answer(packet) {
            Ok(answer) => {
                *packet = answer;
                packet.set_timestamp_ns(clock.now_ns());
                Verdict::PASS
            }
            Err(reason) => Verdict::drop(reason),
        }
    }

    /// The message about a packet, or why there is none.
    fn answer(&self, packet: &Packet) -> Result<Packet, usize> {
        let bytes = packet.network();
        let header = bytes.first_chunk::<IP_HEADER>().ok_or(NO_HEADER)?;
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
        let destination = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
        if header[9] == protocol::ICMP {
            let kind = packet.transport().first().filter(|_| header_len + 4 <= packet.len());
            if kind.is_none_or(|kind| is_error(*kind)) {
                return Err(ICMP_ERROR);
            }
        }
        if !self.is_unicast(destination) || packet.packet_type().is_group() {
            return Err(GROUP);
        }
        if !self.is_valid_source(source) {
            return Err(BAD_SOURCE);
        }
        if u16::from_be_bytes([header[6], header[7]]) & 0x1fff != 0 {
            return Err(FRAGMENT);
        }
        let route = self.route(packet, bytes.get(..header_len).unwrap_or(bytes))?;
        Ok(self.message(packet, source, route))
    }

    /// The source route that the message follows back.
    fn route<'p>(&self, packet: &Packet, header: &'p [u8]) -> Result<Option<SourceRoute<'p>>, usize> {
        let Some(route) = source_route::find(header) else { return Ok(None) };
        if self.kind == icmp_type::REDIRECT {
            return Err(SOURCE_ROUTED);
        }
        // RFC 1812, section 4.3.2.6: not if the route itself is the problem.
        let is_problem =
            self.names_field() && route.covers(packet.anno_u8(annotation::ICMP_PARAMPROB).into());
        Ok((!is_problem).then_some(route))
    }

    fn message(&self, about: &Packet, to: Ipv4Addr, route: Option<SourceRoute<'_>>) -> Packet {
        let mut header = [0; Ipv4::MAX_LEN];
        let mut header_len = IP_HEADER;
        let options = route.iter().flat_map(SourceRoute::reversed);
        for (place, byte) in header.iter_mut().skip(IP_HEADER).zip(options) {
            *place = byte;
            header_len += 1;
        }
        let ip = &mut header[..header_len];
        let quoted = about.network();
        let room = (self.mtu as usize).saturating_sub(header_len + ICMP_HEADER);
        let quoted = quoted.get(..room).unwrap_or(quoted);

        let mut icmp = [self.kind, self.code, 0, 0, 0, 0, 0, 0];
        self.fill_rest(&mut icmp, about);
        let sum = checksum::join(checksum::sum(&icmp), icmp.len(), checksum::sum(quoted));
        icmp[2..4].copy_from_slice(&(!sum).to_be_bytes());

        let len = header_len + ICMP_HEADER + quoted.len();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        ip[0] = 0x40 | (header_len / 4) as u8;
        ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        [ip[8], ip[9]] = [TTL, protocol::ICMP];
        ip[12..16].copy_from_slice(&self.source.octets());
        ip[16..20].copy_from_slice(&to.octets());
        let sum = checksum::checksum(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());

        let mut message = Packet::uninit(DEFAULT_HEADROOM, len, 0);
        let (headers, body) = message.data_mut().split_at_mut(header_len + ICMP_HEADER);
        headers[..header_len].copy_from_slice(ip);
        headers[header_len..].copy_from_slice(&icmp);
        body.copy_from_slice(quoted);
        message.set_network_header(0, header_len);
        message.set_dst_ip(to);
        if self.sets_fix_anno {
            message.set_anno_u8(annotation::FIX_IP_SRC, 1);
        }
        message
    }

    /// Fills in what depends on type and code.
    fn fill_rest(&self, icmp: &mut [u8; ICMP_HEADER], about: &Packet) {
        if self.names_field() {
            icmp[4] = about.anno_u8(annotation::ICMP_PARAMPROB);
        }
        if self.kind == icmp_type::REDIRECT {
            icmp[4..].copy_from_slice(&about.dst_ip().octets());
        }
        if self.kind == icmp_type::UNREACHABLE && self.code == icmp_code::FRAGMENTATION_NEEDED {
            icmp[6..].copy_from_slice(&(self.path_mtu as u16).to_be_bytes());
        }
    }

    fn names_field(&self) -> bool {
        self.kind == icmp_type::PARAMETER_PROBLEM && self.code == 0
    }

    fn is_unicast(&self, address: Ipv4Addr) -> bool {
        !address.is_broadcast() && !address.is_multicast() && !self.bad_addresses.contains(&address)
    }

    /// Whether messages can be sent to an address (RFC 1812, sections 5.3.7 and 4.2.2.11).
    fn is_valid_source(&self, address: Ipv4Addr) -> bool {
        let [net, ..] = address.octets();
        self.is_unicast(address) && net != 0 && net != 127 && net < 240
    }
}

fn error_kind(kind: i32) -> Result<u8, String> {
    let number = u8::try_from(kind).map_err(|_| "ICMP type must be between 0 and 255")?;
    if is_error(number) {
        return Ok(number);
    }
    Err(format!("ICMP type {kind} is not an error type"))
}

fn is_error(kind: u8) -> bool {
    matches!(
        kind,
        icmp_type::UNREACHABLE
            | icmp_type::SOURCE_QUENCH
            | icmp_type::REDIRECT
            | icmp_type::TIME_EXCEEDED
            | icmp_type::PARAMETER_PROBLEM
    )
}
