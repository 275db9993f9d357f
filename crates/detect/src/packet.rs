//! What a packet's headers say.

use std::net::{Ipv4Addr, Ipv6Addr};

use wire::{tcp_flag, Icmp, Ipv4, Ipv6, Tcp, Udp};

/// Extension headers that are looked behind, as Linux does.
const MAX_EXTENSIONS: usize = 8;

/// What a packet's headers say, and its payload.
#[derive(Clone, Copy, Debug)]
pub struct View<'p> {
    /// Source; an IPv4 address as in RFC 4291, section 2.5.5.2.
    pub source: u128,
    /// Destination.
    pub destination: u128,
    /// Source port, or 0.
    pub source_port: u16,
    /// Destination port, or 0.
    pub destination_port: u16,
    /// Protocol of the payload; 0 for fragments, whose transport header is not looked at.
    pub transport: u8,
    /// Protocol that the IP header tells.
    pub protocol: u8,
    /// Time to live.
    pub ttl: u8,
    /// Type of service.
    pub tos: u8,
    /// Identification, which IPv6 does not have.
    pub id: Option<u16>,
    /// The three flags before the fragment offset, in the high bits.
    pub fragment_bits: u8,
    /// TCP's fields.
    pub tcp: Option<TcpFields>,
    /// ICMP's fields.
    pub icmp: Option<IcmpFields>,
    /// What follows all headers.
    pub payload: &'p [u8],
    /// Whether the payload is that of one packet, not a piece of a stream.
    pub is_whole: bool,
}

/// TCP's fields.
#[derive(Clone, Copy, Debug)]
pub struct TcpFields {
    /// Sequence number.
    pub sequence: u32,
    /// Acknowledgment number.
    pub acknowledgment: u32,
    /// Flags.
    pub flags: u8,
    /// Window.
    pub window: u16,
}

/// ICMP's fields.
#[derive(Clone, Copy, Debug)]
pub struct IcmpFields {
    /// Type.
    pub kind: u8,
    /// Code.
    pub code: u8,
    /// Identifier, of echo messages.
    pub id: u16,
    /// Sequence number, of echo messages.
    pub sequence: u16,
}

impl TcpFields {
    /// Whether a flag is set.
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Sequence numbers that SYN takes.
    pub fn syn_len(&self) -> u32 {
        u32::from(self.has(tcp_flag::SYN))
    }
}

impl<'p> View<'p> {
    /// Looks at a packet that starts with its IP header; `None` if it is none, or short.
    #[inline]
    pub fn of(packet: &'p [u8]) -> Option<View<'p>> {
        match packet.first()? >> 4 {
            4 => View::ipv4(packet),
            6 => View::ipv6(packet),
            _ => None,
        }
    }

    /// A packet without payload that goes the other way.
    pub fn reversed(&self) -> View<'static> {
        View {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            tcp: None,
            icmp: None,
            payload: &[],
            is_whole: false,
            ..*self
        }
    }

    fn ipv4(packet: &'p [u8]) -> Option<View<'p>> {
        let ip = Ipv4::new(packet)?;
        let end = usize::from(ip.total_len()).min(packet.len());
        let body = packet.get(ip.header_len()..end)?;
        let number = |address: Ipv4Addr| u128::from(address.to_ipv6_mapped());
        let fragment = ip.fragment();
        let view = View {
            source: number(ip.source()),
            destination: number(ip.destination()),
            ttl: ip.ttl(),
            tos: ip.tos(),
            id: Some(ip.id()),
            fragment_bits: (fragment >> 8) as u8 & 0xE0,
            protocol: ip.protocol(),
            ..View::bare(body)
        };
        // More fragments, or an offset.
        Some(if fragment & 0x3FFF != 0 { view } else { view.transport(ip.protocol(), body) })
    }

    fn ipv6(packet: &'p [u8]) -> Option<View<'p>> {
        let ip = Ipv6::new(packet)?;
        let end = (Ipv6::LEN + usize::from(ip.payload_len())).min(packet.len());
        let mut body = packet.get(Ipv6::LEN..end)?;
        let number = |address: Ipv6Addr| u128::from(address);
        let mut protocol = ip.next_header();
        let mut is_fragment = false;
        for _ in 0..MAX_EXTENSIONS {
            // RFC 8200, section 4: hop-by-hop options, routing, destination options; fragments; RFC 4302 authentication.
            let len = match (protocol, body) {
                (0 | 43 | 60, [_, len, ..]) => (usize::from(*len) + 1) * 8,
                (44, [_, _, high, low, ..]) => {
                    is_fragment |= u16::from_be_bytes([*high, *low]) & 0xFFF9 != 0;
                    8
                }
                (51, [_, len, ..]) => (usize::from(*len) + 2) * 4,
                _ => break,
            };
            let Some(rest) = body.get(len..) else { break };
            protocol = body.first().copied().unwrap_or(protocol);
            body = rest;
            if is_fragment {
                break;
            }
        }
        let view = View {
            source: number(ip.source()),
            destination: number(ip.destination()),
            ttl: ip.hop_limit(),
            tos: ip.traffic_class(),
            fragment_bits: u8::from(is_fragment) << 5,
            protocol,
            ..View::bare(body)
        };
        Some(if is_fragment { view } else { view.transport(protocol, body) })
    }

    fn bare(payload: &'p [u8]) -> View<'p> {
        View {
            source: 0,
            destination: 0,
            source_port: 0,
            destination_port: 0,
            transport: 0,
            protocol: 0,
            ttl: 0,
            tos: 0,
            id: None,
            fragment_bits: 0,
            tcp: None,
            icmp: None,
            payload,
            is_whole: true,
        }
    }

    /// With the transport header, if it is whole.
    #[inline]
    fn transport(mut self, protocol: u8, body: &'p [u8]) -> View<'p> {
        match protocol {
            wire::protocol::TCP => {
                let Some(tcp) = Tcp::new(body) else { return self };
                (self.source_port, self.destination_port) = (tcp.source_port(), tcp.destination_port());
                self.payload = body.get(tcp.header_len()..).unwrap_or_default();
                self.tcp = Some(TcpFields {
                    sequence: tcp.sequence(),
                    acknowledgment: tcp.acknowledgment(),
                    flags: tcp.flags(),
                    window: tcp.window(),
                });
            }
            wire::protocol::UDP => {
                let Some(udp) = Udp::new(body) else { return self };
                (self.source_port, self.destination_port) = (udp.source_port(), udp.destination_port());
                let end = usize::from(udp.len()).min(body.len());
                self.payload = body.get(Udp::LEN..end).unwrap_or_default();
            }
            wire::protocol::ICMP | wire::protocol::ICMPV6 => {
                let Some(icmp) = Icmp::new(body) else { return self };
                self.payload = body.get(Icmp::LEN..).unwrap_or_default();
                self.icmp = Some(IcmpFields {
                    kind: icmp.kind(),
                    code: icmp.code(),
                    id: icmp.identifier(),
                    sequence: icmp.sequence(),
                });
            }
            _ => {}
        }
        self.transport = protocol;
        self
    }
}
