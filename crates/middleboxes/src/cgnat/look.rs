//! What is read of a packet before it is translated.

use element::Packet;
use table::flow::NO_ENTRY;
use wire::{icmp_type, ip_flag, protocol, Tcp};

use super::{Endpoint, Protocol};

/// What a packet is to a NAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP or UDP; for TCP its flags.
    Ports(Protocol, u8),
    /// An ICMP query such as an echo request; its identifier is the source's port.
    Request,
    /// The answer to one; its identifier is the destination's port.
    Reply,
    /// An ICMP error about a packet.
    Error,
    /// A later fragment, which has no ports.
    LaterFragment,
    /// Another protocol.
    Other,
    /// No whole IPv4 and transport header.
    Broken,
}

/// What the first pass over a batch learns of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// Where it comes from.
    pub source: Endpoint,
    /// Where it goes to.
    pub destination: Endpoint,
    /// Identification of the IP packet.
    pub id: u16,
    /// IP protocol.
    pub ip_protocol: u8,
    /// Whether later fragments follow.
    pub has_more: bool,
    /// Length of the IP header.
    pub transport_at: usize,
    /// A hash that further passes use.
    pub hash: u64,
    /// Where the mapping most likely is in the table.
    pub near: u32,
}

const BROKEN: Seen = Seen {
    kind: Kind::Broken,
    source: Endpoint { address: 0, port: 0 },
    destination: Endpoint { address: 0, port: 0 },
    id: 0,
    ip_protocol: 0,
    has_more: false,
    transport_at: 0,
    hash: 0,
    near: NO_ENTRY,
};

impl Seen {
    /// The protocol whose ports the packet has.
    #[inline(always)]
    pub fn protocol(&self) -> Option<Protocol> {
        match self.kind {
            Kind::Ports(protocol, _) => Some(protocol),
            Kind::Request | Kind::Reply => Some(Protocol::Icmp),
            _ => None,
        }
    }
}

/// Looks at a packet with a network header. TCP whose first fragment ends before flags and checksum is broken (RFC 1858, section
/// 3.3.1): nobody could follow its connection, nor correct the checksum.
#[inline(always)]
pub fn look(packet: &Packet) -> Seen {
    let network = packet.network();
    let mut seen = look_at(network);
    let is_tcp = matches!(seen.kind, Kind::Ports(Protocol::Tcp, _));
    if is_tcp && network.len() < seen.transport_at + Tcp::CHECKSUM_AT + 2 {
        seen.kind = Kind::Broken;
    }
    seen
}

/// Looks at the bytes of an IPv4 packet, or at its first ones.
#[inline(always)]
pub fn look_at(network: &[u8]) -> Seen {
    let Some(header) = network.first_chunk::<20>() else { return BROKEN };
    let transport_at = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || transport_at < 20 {
        return BROKEN;
    }
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let half = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let fragment = half(6);
    let mut seen = Seen {
        kind: Kind::LaterFragment,
        source: Endpoint { address: word(12), port: 0 },
        destination: Endpoint { address: word(16), port: 0 },
        id: half(4),
        ip_protocol: header[9],
        has_more: fragment & ip_flag::MF != 0,
        transport_at,
        hash: 0,
        near: NO_ENTRY,
    };
    if fragment & ip_flag::OFFSET_MASK == 0 {
        let transport = network.get(transport_at..).and_then(|rest| rest.first_chunk::<8>());
        let flags = network.get(transport_at + 13).copied();
        look_at_transport(&mut seen, transport, flags);
    }
    seen
}

#[inline(always)]
fn look_at_transport(seen: &mut Seen, transport: Option<&[u8; 8]>, flags: Option<u8>) {
    let is_known = matches!(seen.ip_protocol, protocol::TCP | protocol::UDP | protocol::ICMP);
    let Some(&[a, b, c, d, e, f, ..]) = transport.filter(|_| is_known) else {
        seen.kind = if is_known { Kind::Broken } else { Kind::Other };
        return;
    };
    match seen.ip_protocol {
        protocol::ICMP => {
            seen.kind = icmp_kind(a);
            let identifier = u16::from_be_bytes([e, f]);
            match seen.kind {
                Kind::Request => seen.source.port = identifier,
                Kind::Reply => seen.destination.port = identifier,
                _ => {}
            }
            return;
        }
        protocol::TCP => seen.kind = Kind::Ports(Protocol::Tcp, flags.unwrap_or(0)),
        _ => seen.kind = Kind::Ports(Protocol::Udp, 0),
    }
    seen.source.port = u16::from_be_bytes([a, b]);
    seen.destination.port = u16::from_be_bytes([c, d]);
}

fn icmp_kind(kind: u8) -> Kind {
    use icmp_type::*;
    match kind {
        ECHO | TIMESTAMP | INFORMATION | ADDRESS_MASK => Kind::Request,
        ECHO_REPLY | TIMESTAMP_REPLY | INFORMATION_REPLY | ADDRESS_MASK_REPLY => Kind::Reply,
        UNREACHABLE | SOURCE_QUENCH | TIME_EXCEEDED | PARAMETER_PROBLEM => Kind::Error,
        _ => Kind::Other,
    }
}

/// Where in an ICMP error the packet begins that it is about.
pub const ABOUT_AT: usize = 8;

/// What an ICMP error with this IP header length says of the packet that it is about.
pub fn look_at_error(network: &[u8], transport_at: usize) -> Option<Seen> {
    let about = look_at(network.get(transport_at + ABOUT_AT..)?);
    about.protocol().map(|_| about)
}
