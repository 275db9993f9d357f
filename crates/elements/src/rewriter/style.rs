//! How each rewriter reads and writes packets.

use wire::word::{put_u16, put_u32, u16_at};
use wire::{checksum, protocol, word};

use super::flow::{updated, updated_partial, Flow, SHIFTED};
use super::flow_id::FlowId;
use super::sequence::Shifts;
use super::timeouts::{BOTH_DONE, FORWARD_DATA, FORWARD_DONE, REPLIED};

/// What a rewriter found in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// By what its mapping is found.
    pub id: FlowId,
    /// Which of the rewriter's maps it is in.
    pub map: u8,
    /// IP protocol of a new flow.
    pub protocol: u8,
    /// Whether it may begin a flow.
    pub may_begin: bool,
}

/// A packet to be written.
pub struct Target<'a> {
    /// The bytes from the IP header on.
    pub network: &'a mut [u8],
    /// Where the transport header begins.
    pub transport_at: usize,
    /// Where the field of a partial checksum lies, if there is one.
    pub partial_at: Option<usize>,
}

/// A way to read and write packets.
pub trait Style {
    /// Whether a packet without a mapping by its source may have one by its destination.
    const BY_DESTINATION: bool = false;

    /// What is found in a packet with this IP header and what follows it; `None` if it cannot be rewritten.
    fn look(header: &[u8; 20], transport: &[u8]) -> Option<Look>;

    /// Rewrites a packet and notes what it says of the connection.
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, shifts: Option<&mut Shifts>);
}

/// TCP by map 0, UDP by map 1.
pub struct TcpAndUdp;
/// TCP alone.
pub struct TcpOnly;
/// Anything with ports, without regard to sequence numbers.
pub struct Ports;
/// Pairs of addresses.
pub struct AddressPairs;
/// Single addresses.
pub struct Addresses;
/// ICMP echo requests and replies.
pub struct Echo;

impl Style for TcpAndUdp {
    #[inline(always)]
    fn look(header: &[u8; 20], transport: &[u8]) -> Option<Look> {
        let map = match header[9] {
            protocol::TCP => 0,
            protocol::UDP => 1,
            _ => return None,
        };
        look_at_ports(header, transport, map)
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, shifts: Option<&mut Shifts>) {
        if flow.protocol == protocol::TCP {
            apply_tcp(flow, direction, target, shifts);
        } else {
            apply_ports(flow, direction, target);
        }
    }
}

impl Style for TcpOnly {
    #[inline(always)]
    fn look(header: &[u8; 20], transport: &[u8]) -> Option<Look> {
        (header[9] == protocol::TCP).then(|| look_at_ports(header, transport, 0))?
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, shifts: Option<&mut Shifts>) {
        apply_tcp(flow, direction, target, shifts);
    }
}

impl Style for Ports {
    #[inline(always)]
    fn look(header: &[u8; 20], transport: &[u8]) -> Option<Look> {
        let has_ports = matches!(header[9], protocol::TCP | protocol::UDP | protocol::DCCP);
        has_ports.then(|| look_at_ports(header, transport, 0))?
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, _: Option<&mut Shifts>) {
        apply_ports(flow, direction, target);
    }
}

impl Style for AddressPairs {
    #[inline(always)]
    fn look(header: &[u8; 20], _: &[u8]) -> Option<Look> {
        let id = FlowId::addresses(u32_at(header, 12), u32_at(header, 16));
        Some(Look { id, map: 0, protocol: 0, may_begin: true })
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, _: Option<&mut Shifts>) {
        let new = flow.rewritten(direction);
        put_u32(target.network, 12, new.src);
        put_u32(target.network, 16, new.dst);
        update_after_addresses(flow, direction, target);
    }
}

impl Style for Addresses {
    const BY_DESTINATION: bool = true;

    #[inline(always)]
    fn look(header: &[u8; 20], _: &[u8]) -> Option<Look> {
        let id = FlowId::addresses(u32_at(header, 12), 0);
        Some(Look { id, map: 0, protocol: 0, may_begin: true })
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, _: Option<&mut Shifts>) {
        let new = flow.rewritten(direction);
        if direction == 0 {
            put_u32(target.network, 12, new.src);
        } else {
            put_u32(target.network, 16, new.dst);
        }
        update_after_addresses(flow, direction, target);
    }
}

const ECHO_REPLY: u8 = 0;
const ECHO: u8 = 8;

impl Style for Echo {
    /// The identifier takes the place of the source port of requests and of the destination port of replies, its
    /// successor that of the other one.
    #[inline(always)]
    fn look(header: &[u8; 20], transport: &[u8]) -> Option<Look> {
        let icmp = transport.first_chunk::<6>()?;
        let is_icmp = header[9] == protocol::ICMP && is_first_fragment(header);
        if !is_icmp || !matches!(icmp[0], ECHO | ECHO_REPLY) {
            return None;
        }
        let identifier = u16::from_be_bytes([icmp[4], icmp[5]]);
        let is_request = icmp[0] == ECHO;
        let (src, dst) = (u32_at(header, 12), u32_at(header, 16));
        let id = echo_id(src, dst, identifier, is_request);
        Some(Look { id, map: 0, protocol: protocol::ICMP, may_begin: is_request })
    }

    #[inline(always)]
    fn apply(flow: &mut Flow, direction: usize, target: &mut Target<'_>, _: Option<&mut Shifts>) {
        let new = write_addresses(flow, direction, target);
        let identifier = if direction == 0 { new.sport } else { new.dport };
        let Some(icmp) = target.network.get_mut(target.transport_at..) else { return };
        put_u16(icmp, 4, identifier);
        let Some(old) = u16_at(icmp, 2) else { return };
        put_u16(icmp, 2, updated(old, flow.transport_delta, direction));
        fix_zero(icmp, 2);
    }
}

/// By what the mapping of an ICMP echo message is found.
pub fn echo_id(src: u32, dst: u32, identifier: u16, is_request: bool) -> FlowId {
    let successor = FlowId::successor(identifier);
    let (sport, dport) = if is_request { (identifier, successor) } else { (successor, identifier) };
    FlowId { src, dst, sport, dport }
}

/// Puts 0xffff in the place of a checksum of 0 over nothing but zeros, which updates cannot tell from other zeros.
pub fn fix_zero(covered: &mut [u8], at: usize) {
    if u16_at(covered, at) == Some(0) && covered.iter().all(|byte| *byte == 0) {
        put_u16(covered, at, 0xffff);
    }
}

/// Whether the transport header is in this packet.
#[inline(always)]
pub fn is_first_fragment(header: &[u8; 20]) -> bool {
    u16::from_be_bytes([header[6], header[7]]) & wire::ip_flag::OFFSET_MASK == 0
}

#[inline(always)]
fn look_at_ports(header: &[u8; 20], transport: &[u8], map: u8) -> Option<Look> {
    let ports = transport.first_chunk::<8>()?;
    if !is_first_fragment(header) {
        return None;
    }
    let id = FlowId {
        src: u32_at(header, 12),
        dst: u32_at(header, 16),
        sport: u16::from_be_bytes([ports[0], ports[1]]),
        dport: u16::from_be_bytes([ports[2], ports[3]]),
    };
    Some(Look { id, map, protocol: header[9], may_begin: true })
}

#[inline(always)]
fn write_addresses(flow: &Flow, direction: usize, target: &mut Target<'_>) -> FlowId {
    let new = flow.rewritten(direction);
    if let Some(header) = target.network.first_chunk_mut::<20>() {
        header[12..16].copy_from_slice(&new.src.to_be_bytes());
        header[16..20].copy_from_slice(&new.dst.to_be_bytes());
        let sum = u16::from_be_bytes([header[10], header[11]]);
        header[10..12].copy_from_slice(&updated(sum, flow.ip_delta, direction).to_be_bytes());
    }
    new
}

/// Writes addresses and ports of any protocol that has them where TCP does.
#[inline(always)]
fn apply_ports(flow: &mut Flow, direction: usize, target: &mut Target<'_>) {
    let new = write_addresses(flow, direction, target);
    let protocol = target.network.get(9).copied().unwrap_or(0);
    let transport = target.network.get_mut(target.transport_at..);
    let Some(header) = transport.and_then(|transport| transport.first_chunk_mut::<8>()) else { return };
    header[0..2].copy_from_slice(&new.sport.to_be_bytes());
    header[2..4].copy_from_slice(&new.dport.to_be_bytes());
    if protocol == protocol::UDP && target.partial_at.is_none() {
        let sum = u16::from_be_bytes([header[6], header[7]]);
        if sum != 0 {
            let sum = updated(sum, flow.transport_delta, direction);
            header[6..8].copy_from_slice(&sum.to_be_bytes());
        }
    } else {
        update_transport(flow, direction, target, protocol);
    }
    if direction == 1 {
        flow.state |= REPLIED;
    }
    if flow.state < 6 {
        flow.state += 2;
    }
}

#[inline(always)]
fn apply_tcp(flow: &mut Flow, direction: usize, target: &mut Target<'_>, shifts: Option<&mut Shifts>) {
    let new = write_addresses(flow, direction, target);
    let (header_len, total_len) = (
        usize::from(target.network.first().copied().unwrap_or(0) & 0x0f) * 4,
        usize::from(u16_at(target.network, 2).unwrap_or(0)),
    );
    let Some(tcp) = target.network.get_mut(target.transport_at..).filter(|tcp| tcp.len() >= 18) else {
        return;
    };
    put_u16(tcp, 0, new.sport);
    put_u16(tcp, 2, new.dport);
    let (offset, flags) = (usize::from(tcp[12] >> 4) * 4, tcp[13]);
    let tcp_len = tcp.len();
    update_transport(flow, direction, target, protocol::TCP);
    track_tcp(flow, direction, flags, header_len + offset < total_len);
    if flow.flags & SHIFTED != 0 && tcp_len >= offset {
        if let Some(shifts) = shifts {
            shift_tcp(shifts, direction, target, offset);
        }
    }
}

#[inline(always)]
fn track_tcp(flow: &mut Flow, direction: usize, flags: u8, has_payload: bool) {
    let done = FORWARD_DONE << direction;
    if flags & wire::tcp_flag::RST != 0 {
        flow.state |= BOTH_DONE;
    } else if flags & wire::tcp_flag::FIN != 0 {
        flow.state |= done;
    } else if flags & wire::tcp_flag::SYN != 0 || has_payload {
        flow.state &= !done;
    }
    if has_payload {
        flow.state |= FORWARD_DATA << direction;
    }
}

/// Checksums of IP and, in first fragments, of TCP and UDP.
#[inline(always)]
fn update_after_addresses(flow: &Flow, direction: usize, target: &mut Target<'_>) {
    let Some(header) = target.network.first_chunk_mut::<20>() else { return };
    let sum = u16::from_be_bytes([header[10], header[11]]);
    header[10..12].copy_from_slice(&updated(sum, flow.ip_delta, direction).to_be_bytes());
    if is_first_fragment(header) {
        let protocol = header[9];
        update_transport(flow, direction, target, protocol);
    }
}

/// The checksum of TCP or UDP, if it is there.
#[inline(always)]
fn update_transport(flow: &Flow, direction: usize, target: &mut Target<'_>, protocol: u8) {
    let (offset, min_len) = match protocol {
        protocol::TCP => (16, 18),
        protocol::UDP => (6, 8),
        _ => return,
    };
    if target.network.len() < target.transport_at + min_len {
        return;
    }
    let at = target.transport_at + offset;
    let Some(old) = u16_at(target.network, at) else { return };
    if target.partial_at == Some(at) {
        put_u16(target.network, at, updated_partial(old, flow.ip_delta, direction));
    } else if old != 0 || protocol == protocol::TCP {
        // RFC 768: a UDP checksum of 0 is none.
        put_u16(target.network, at, updated(old, flow.transport_delta, direction));
    }
}

/// Shifts sequence and acknowledgement numbers, those of selective acknowledgements (RFC 2018) too.
#[cold]
fn shift_tcp(shifts: &mut Shifts, direction: usize, target: &mut Target<'_>, offset: usize) {
    let is_partial = target.partial_at == Some(target.transport_at + 16);
    let Some(tcp) = target.network.get_mut(target.transport_at..) else { return };
    let end = offset.max(18).min(tcp.len());
    let Some(header) = tcp.get_mut(..end) else { return };
    let before = checksum::sum(header);
    let numbers = (u32_from(header, 4), u32_from(header, 8));
    shifts.advance(direction, numbers.0);
    if shifts.is_active(direction) {
        put_u32(header, 4, shifts.new_sequence(direction, numbers.0));
    }
    if shifts.is_active(direction ^ 1) {
        put_u32(header, 8, shifts.new_acknowledgement(direction, numbers.1));
        shift_sack(shifts, direction, header.get_mut(20..).unwrap_or(&mut []));
    }
    let after = checksum::sum(header);
    if !is_partial {
        let old = u16_at(header, 16).unwrap_or(0);
        put_u16(header, 16, checksum::update_u16(old, before, after));
    }
}

fn shift_sack(shifts: &Shifts, direction: usize, options: &mut [u8]) {
    let mut at = 0;
    while let Some(kind) = options.get(at).copied() {
        let len = options.get(at + 1).map_or(0, |len| usize::from(*len));
        match kind {
            wire::tcp_option::END => return,
            wire::tcp_option::NOP => {
                at += 1;
                continue;
            }
            wire::tcp_option::SACK => {
                let Some(option) = options.get_mut(at..at + len).filter(|_| len % 8 == 2) else { return };
                for edge in (2..len).step_by(4) {
                    let number = u32_from(option, edge);
                    put_u32(option, edge, shifts.new_acknowledgement(direction, number));
                }
            }
            _ => {}
        }
        if len < 2 {
            return;
        }
        at += len;
    }
}

#[inline(always)]
fn u32_at(header: &[u8; 20], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// The number at an offset; 0 outside the bytes.
pub fn u32_from(bytes: &[u8], at: usize) -> u32 {
    word::u32_at(bytes, at).unwrap_or(0)
}
