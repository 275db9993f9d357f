//! Translates ICMP errors about packets that rewriters have rewritten.
//!
//! An ICMP error carries the beginning of the packet it is about. If a mapping of one of the rewriters MAPS has made that
//! packet what it is, the error is rewritten to be about the original packet, to the original source. Handles destination
//! unreachable, time exceeded, parameter problem, source quench and redirect messages.
//!
//! MAPS are names of rewriters, separated by spaces. Errors that belong to none of them and other ICMP packets are dropped.
//! Rewritten errors leave by output 0; with `NAME:PORT` they leave by the output that the mapping has at the rewriter,
//! PORT added to it.
//!
//! ```click
//! rw :: IPRewriter(pattern 203.0.113.1 1024-65535 - - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! errors :: Idle -> ICMPRewriter(rw) -> errors_inside :: Discard;
//! ```

use element::{
    Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Packet, Verdict,
};
use wire::word::{put_u16, put_u32, u16_at};
use wire::{checksum, protocol};

use super::flow_id::FlowId;
use super::mapping::Mapping;
use super::rewriters;
use super::settings::DST_ANNO;
use super::style::{fix_zero, is_first_fragment, u32_from};

/// The class.
pub const CLASS: Class = Class::new::<ICMPRewriter>("ICMPRewriter", "1/1-", "h/h", "x/x")
    .causes(Causes::CHANGES)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("MAPS", "names of elements", "The rewriters, each perhaps with `:PORT` behind it."),
    DST_ANNO,
    Arg::keyword("REPLY_ANNO", "anno", "A byte that errors about replies get from the flow's first packet."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("not-icmp", "The packet is not ICMP, or has no IP header."),
    DropReason::new("unmapped", "The packet is no ICMP error about a packet of the rewriters."),
];
const NOT_ICMP: usize = 0;
const UNMAPPED: usize = 1;

const ICMP_LEN: usize = 8;
const IP_LEN: usize = 20;

/// See the page above.
pub struct ICMPRewriter {
    maps: Vec<Map>,
    sets_dst: bool,
    reply_anno: Option<usize>,
    verdicts: Vec<Verdict>,
}

struct Map {
    rewriter: ElementIdx,
    port_offset: Option<usize>,
}

/// What an error says of the packet it is about.
struct About {
    /// What that packet's replies look like.
    id: FlowId,
    protocol: u8,
    /// Where its transport header begins, from the outer transport header; `None` if too little of it is there.
    transport_at: Option<usize>,
}

impl Element for ICMPRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPRewriter, Failed> {
        let args::Raw(words) = conf.args.need("MAPS");
        let sets_dst = conf.args.get_or("DST_ANNO", true);
        let reply_anno = conf.args.get_with("REPLY_ANNO", args::sized_anno(1));
        conf.finish()?;
        let mut maps = Vec::new();
        let words = args::split_words(&words);
        for word in words {
            match find_map(&word, conf) {
                Ok(map) => maps.push(map),
                Err(message) => conf.error(message),
            }
        }
        if maps.is_empty() {
            conf.error("no IP rewriters supplied");
        }
        conf.finish()?;
        let reply_anno = reply_anno.map(|anno| usize::from(anno.offset));
        Ok(ICMPRewriter { maps, sets_dst, reply_anno, verdicts: Vec::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let mut verdicts = std::mem::take(&mut self.verdicts);
        verdicts.clear();
        verdicts.extend(batch.iter_mut().map(|packet| self.rewrite(ctx, packet)));
        let mut each = verdicts.iter();
        ctx.push_each(batch, |_| each.next().copied().unwrap_or(Verdict::drop(UNMAPPED)));
        self.verdicts = verdicts;
    }
}

impl ICMPRewriter {
    fn rewrite(&self, ctx: &mut Ctx<'_>, packet: &mut Packet) -> Verdict {
        let header = packet.network().first_chunk::<IP_LEN>();
        if header.is_none_or(|header| header[9] != protocol::ICMP) {
            return Verdict::drop(NOT_ICMP);
        }
        let Some(about) = about(packet.transport()) else { return Verdict::drop(UNMAPPED) };
        let found = self.maps.iter().find_map(|map| {
            let mapping =
                rewriters::with(ctx, map.rewriter, |base, _| base.mapping(about.protocol, &about.id))??;
            Some((map, mapping))
        });
        let Some((map, mapping)) = found else { return Verdict::drop(UNMAPPED) };
        self.write_outer(packet, &about, &mapping);
        write_inner(packet.transport_mut(), &about, &mapping.rewritten);
        match map.port_offset {
            Some(offset) => Verdict::port_or_drop(offset.saturating_add(mapping.output), UNMAPPED),
            None => Verdict::PASS,
        }
    }

    /// Sends the error to the original source if it went to the rewritten one.
    fn write_outer(&self, packet: &mut Packet, about: &About, mapping: &Mapping) {
        let new_dst = mapping.rewritten.dst;
        let network = packet.network_mut();
        let (old_dst, old_sum) = (u32_from(network, 16), u16_at(network, 10).unwrap_or(0));
        if old_dst == about.id.dst {
            put_u32(network, 16, new_dst);
            put_u16(network, 10, checksum::update_u32(old_sum, old_dst, new_dst));
            if self.sets_dst {
                packet.set_dst_ip(new_dst.into());
            }
        }
        if let Some(offset) = self.reply_anno.filter(|_| mapping.direction == 1) {
            packet.set_anno_u8(offset, mapping.reply_anno);
        }
    }
}

fn find_map(word: &str, conf: &Configure<'_>) -> Result<Map, String> {
    let (name, port_offset) = match word.split_once(':') {
        Some((name, offset)) => match args::integer::<i32>(offset) {
            // Click takes a negative number for none.
            Ok(offset) => (name, usize::try_from(offset).ok()),
            Err(_) => return Err(format!("{word} not an IP rewriter")),
        },
        None => (word, None),
    };
    let not_one = || format!("{name} not an IP rewriter");
    let rewriter = conf.environment.find(name, conf.element).ok_or_else(not_one)?;
    let n_outputs = conf.n_outputs;
    let needed = port_offset.map(|offset| offset.saturating_add(conf.environment.n_ports(rewriter).1));
    if needed.is_some_and(|needed| needed > n_outputs) {
        let noun = if n_outputs == 1 { "output" } else { "outputs" };
        return Err(format!("{word} port offset requires more than {n_outputs} {noun}"));
    }
    if !rewriters::is_one(conf.environment.class(rewriter)) {
        return Err(not_one());
    }
    Ok(Map { rewriter, port_offset })
}

/// What an ICMP message is about; `None` if it is no error, or too little of the packet is there.
fn about(icmp: &[u8]) -> Option<About> {
    use wire::icmp_type::{PARAMETER_PROBLEM, REDIRECT, SOURCE_QUENCH, TIME_EXCEEDED, UNREACHABLE};
    let kind = *icmp.first()?;
    if ![UNREACHABLE, TIME_EXCEEDED, PARAMETER_PROBLEM, SOURCE_QUENCH, REDIRECT].contains(&kind) {
        return None;
    }
    let header = icmp.get(ICMP_LEN..)?.first_chunk::<IP_LEN>()?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_len < IP_LEN {
        return None;
    }
    let mut id = FlowId::addresses(u32_from(header, 16), u32_from(header, 12));
    let at = ICMP_LEN + header_len;
    let transport = icmp.get(at..).filter(|_| is_first_fragment(header)).unwrap_or(&[]);
    let has_transport = match header[9] {
        protocol::TCP | protocol::UDP | protocol::DCCP => transport.first_chunk::<8>().map(|ports| {
            id.sport = u16::from_be_bytes([ports[2], ports[3]]);
            id.dport = u16::from_be_bytes([ports[0], ports[1]]);
        }),
        protocol::ICMP => transport
            .first_chunk::<6>()
            .filter(|echo| echo[0] == wire::icmp_type::ECHO)
            .map(|echo| id.sport = u16::from_be_bytes([echo[4], echo[5]])),
        _ => None,
    };
    Some(About { id, protocol: header[9], transport_at: has_transport.map(|()| at) })
}

/// Makes the packet that the error is about what it was before it was rewritten, and corrects all checksums.
fn write_inner(icmp: &mut [u8], about: &About, new: &FlowId) {
    let (end, sum_before) = {
        let end = about.transport_at.map_or(ICMP_LEN + IP_LEN, |at| at + 18).min(icmp.len());
        (end, icmp.get(ICMP_LEN..end).map_or(0, checksum::sum))
    };
    if let Some(ip) = icmp.get_mut(ICMP_LEN..) {
        let before = ip.get(12..20).map_or(0, checksum::sum);
        put_u32(ip, 12, new.dst);
        put_u32(ip, 16, new.src);
        let after = ip.get(12..20).map_or(0, checksum::sum);
        let old = u16_at(ip, 10).unwrap_or(0);
        put_u16(ip, 10, checksum::update_u16(old, before, after));
    }
    let old_addresses = [about.id.dst, about.id.src];
    if let Some(transport) = about.transport_at.and_then(|at| icmp.get_mut(at..)) {
        if about.protocol == protocol::ICMP {
            write_inner_echo(transport, new.dport);
        } else {
            write_inner_ports(transport, about, old_addresses, new);
        }
    }
    let sum_after = icmp.get(ICMP_LEN..end).map_or(0, checksum::sum);
    let old = u16_at(icmp, 2).unwrap_or(0);
    put_u16(icmp, 2, checksum::update_u16(old, sum_before, sum_after));
}

fn write_inner_echo(echo: &mut [u8], identifier: u16) {
    let (old, sum) = (u16_at(echo, 4).unwrap_or(0), u16_at(echo, 2).unwrap_or(0));
    put_u16(echo, 4, identifier);
    put_u16(echo, 2, checksum::update_u16(sum, old, identifier));
    fix_zero(echo, 2);
}

fn write_inner_ports(transport: &mut [u8], about: &About, old_addresses: [u32; 2], new: &FlowId) {
    let old =
        FlowId { src: old_addresses[0], dst: old_addresses[1], sport: about.id.dport, dport: about.id.sport };
    put_u16(transport, 0, new.dport);
    put_u16(transport, 2, new.sport);
    let at = match about.protocol {
        protocol::TCP => 16,
        protocol::UDP => 6,
        _ => return,
    };
    let sum = u16_at(transport, at).filter(|sum| about.protocol == protocol::TCP || *sum != 0);
    if let Some(sum) = sum {
        let delta = super::flow::delta(&old.halfwords(), &new.reverse().halfwords());
        put_u16(transport, at, super::flow::updated(sum, delta, 0));
    }
}
