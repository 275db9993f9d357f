//! What the balancer reads in a packet.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::Ipv4Addr;

use element::Packet;
use table::flow::NO_ENTRY;
use wire::{icmp_type, ip_flag, protocol, Tcp};

const IP_LEN: usize = 20;
const ICMP_LEN: usize = 8;

/// Addresses, ports and protocol of one direction of a flow, in host order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowKey {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// IP protocol.
    pub protocol: u8,
}

/// What a packet is to the balancer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// TCP or UDP with ports, TCP also with flags and checksum.
    Flow,
    /// A fragment beyond the first: it has no ports.
    Rest,
    /// An ICMP error about a packet whose key is seen.
    Error,
    /// Something else of IP.
    Other,
    /// Nothing of IP, or the header is not marked.
    NoHeader,
}

/// What was read in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// What it is.
    pub kind: Kind,
    /// The flow; for errors that of the packet that they are about, turned round. Ports are 0 where there are none.
    pub key: FlowKey,
    /// The key's hash in the table of connections.
    pub hash: u64,
    /// Where its connection most likely is in the table.
    pub near: u32,
    /// Flags of TCP.
    pub tcp_flags: u8,
    /// Whether fragments will follow.
    pub has_more: bool,
    /// Identification in the IP header.
    pub id: u16,
    /// Bytes of the IP packet.
    pub len: u32,
    /// Where the transport header begins, from the IP header.
    pub transport_at: u16,
}

impl FlowKey {
    /// The other direction.
    #[inline(always)]
    pub fn reverse(self) -> FlowKey {
        FlowKey {
            src: self.dst,
            dst: self.src,
            sport: self.dport,
            dport: self.sport,
            protocol: self.protocol,
        }
    }
}

impl Hash for FlowKey {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.src) << 32 | u64::from(self.dst));
        state.write_u64(u64::from(self.sport) << 32 | u64::from(self.dport) << 16 | u64::from(self.protocol));
    }
}

impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv4Addr::from_bits(self.src), Ipv4Addr::from_bits(self.dst));
        write!(f, "{} {src}:{} {dst}:{}", protocol_name(self.protocol), self.sport, self.dport)
    }
}

/// The protocol as it is written in arguments.
pub fn protocol_name(number: u8) -> &'static str {
    if number == protocol::TCP {
        "tcp"
    } else {
        "udp"
    }
}

/// Reads a packet whose IP header is marked.
#[inline(always)]
pub fn look(packet: &Packet) -> Seen {
    let network = packet.network();
    let mut seen = Seen {
        kind: Kind::NoHeader,
        key: FlowKey::default(),
        hash: 0,
        near: NO_ENTRY,
        tcp_flags: 0,
        has_more: false,
        id: 0,
        len: network.len() as u32,
        transport_at: 0,
    };
    let Some(header) = network.first_chunk::<IP_LEN>() else { return seen };
    let header_len = usize::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_len < IP_LEN {
        return seen;
    }
    let Some(transport) = network.get(header_len..) else { return seen };
    let fragment = u16::from_be_bytes([header[6], header[7]]);
    seen.kind = Kind::Other;
    seen.key = addresses(header);
    seen.id = u16::from_be_bytes([header[4], header[5]]);
    seen.has_more = fragment & ip_flag::MF != 0;
    seen.transport_at = header_len as u16;
    if fragment & ip_flag::OFFSET_MASK != 0 {
        seen.kind = Kind::Rest;
    } else if matches!(header[9], protocol::TCP | protocol::UDP) {
        // TCP is followed by its flags, and corrected in its checksum (RFC 1858, section 3.3.1).
        let least = if header[9] == protocol::TCP { Tcp::CHECKSUM_AT + 2 } else { 8 };
        if let Some(ports) = transport.first_chunk::<8>().filter(|_| transport.len() >= least) {
            set_ports(&mut seen.key, ports);
            seen.kind = Kind::Flow;
            // For UDP this is payload, which nobody reads.
            seen.tcp_flags = transport.get(13).copied().unwrap_or(0);
        }
    } else if header[9] == protocol::ICMP {
        look_at_error(&mut seen, transport);
    }
    seen
}

#[inline(always)]
fn addresses(header: &[u8; IP_LEN]) -> FlowKey {
    FlowKey {
        src: u32::from_be_bytes([header[12], header[13], header[14], header[15]]),
        dst: u32::from_be_bytes([header[16], header[17], header[18], header[19]]),
        sport: 0,
        dport: 0,
        protocol: header[9],
    }
}

#[inline(always)]
fn set_ports(key: &mut FlowKey, ports: &[u8; 8]) {
    key.sport = u16::from_be_bytes([ports[0], ports[1]]);
    key.dport = u16::from_be_bytes([ports[2], ports[3]]);
}

/// An error carries the header of the packet it is about and at least 8 bytes more (RFC 792).
#[cold]
fn look_at_error(seen: &mut Seen, icmp: &[u8]) {
    use icmp_type::{PARAMETER_PROBLEM, SOURCE_QUENCH, TIME_EXCEEDED, UNREACHABLE};
    let is_error = icmp
        .first()
        .is_some_and(|kind| [UNREACHABLE, SOURCE_QUENCH, TIME_EXCEEDED, PARAMETER_PROBLEM].contains(kind));
    let Some((header, ports)) = icmp.get(ICMP_LEN..).filter(|_| is_error).and_then(inner) else { return };
    let is_first = u16::from_be_bytes([header[6], header[7]]) & ip_flag::OFFSET_MASK == 0;
    if is_first && matches!(header[9], protocol::TCP | protocol::UDP) {
        let mut about = addresses(header);
        set_ports(&mut about, ports);
        seen.key = about.reverse();
        seen.kind = Kind::Error;
    }
}

/// The header of the packet that an error is about, and what follows it.
fn inner(bytes: &[u8]) -> Option<(&[u8; IP_LEN], &[u8; 8])> {
    let header = bytes.first_chunk::<IP_LEN>()?;
    let header_len = usize::from(header[0] & 0x0f) * 4;
    let ports = bytes.get(header_len..)?.first_chunk()?;
    (header[0] >> 4 == 4 && header_len >= IP_LEN).then_some((header, ports))
}
