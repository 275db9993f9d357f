//! What tells the flow of a packet: its IP header, its hosts and their ports.

use std::hash::{Hash, Hasher};
use std::net::Ipv4Addr;

use element::Packet;

/// IP protocol number of TCP.
pub const TCP: u8 = 6;
const UDP: u8 = 17;

/// Two hosts and a protocol; addresses as they lie in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    pub(super) a: u32,
    pub(super) b: u32,
    /// TCP or UDP.
    pub protocol: u8,
}

/// A flow in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    /// Its hosts.
    pub hosts: Hosts,
    /// Their ports, as they lie in memory.
    pub ports: u32,
}

/// The IP header that tells the flow, in a packet or in the ICMP error that it carries.
pub struct Header<'p> {
    bytes: &'p [u8],
    /// Its fixed part.
    head: &'p [u8; 20],
    /// Whether what follows the header begins with the ports.
    pub is_first: bool,
    /// Whether the packet is a fragment, the first one or a later one.
    pub is_fragment: bool,
    /// Whether the header is in an ICMP error.
    pub is_error: bool,
}

impl Hash for Hosts {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.a) << 32 | u64::from(self.b));
        state.write_u8(self.protocol);
    }
}

impl Hash for Key {
    /// In two words rather than one a field.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Hosts { a, b, protocol } = self.hosts;
        state.write_u64(u64::from(a) << 32 | u64::from(b));
        state.write_u64(u64::from(self.ports) << 8 | u64::from(protocol));
    }
}

impl Hosts {
    /// Whether a host talks to itself.
    pub fn is_one(&self) -> bool {
        self.a == self.b
    }

    /// Click's hash of two hosts.
    pub fn click_hash(&self) -> u32 {
        (self.a << 12).wrapping_add(self.b).wrapping_add(self.a >> 20 & 0x1F)
    }
}

impl Key {
    /// Address and port of the sender of the first packet, and of its receiver.
    pub fn ends(&self, is_reversed: bool) -> ((Ipv4Addr, u16), (Ipv4Addr, u16)) {
        let [p, q, r, s] = self.ports.to_ne_bytes();
        let ends = (
            (self.hosts.a.to_ne_bytes().into(), u16::from_be_bytes([p, q])),
            (self.hosts.b.to_ne_bytes().into(), u16::from_be_bytes([r, s])),
        );
        if is_reversed {
            (ends.1, ends.0)
        } else {
            ends
        }
    }
}

impl<'p> Header<'p> {
    /// The header of a packet; that in an ICMP error, if those are taken.
    #[inline]
    pub fn of(packet: &'p Packet, takes_icmp: bool) -> Option<Header<'p>> {
        let outer = Header::at(packet.network(), false)?;
        if outer.head[9] != 1 || !outer.is_first || !takes_icmp {
            return Some(outer);
        }
        let icmp = packet.transport();
        // RFC 792: unreachable, source quench, redirect, time exceeded, parameter problem.
        if !matches!(icmp.first(), Some(3 | 4 | 5 | 11 | 12)) {
            return None;
        }
        let inner = icmp.get(8..)?;
        let len = usize::from(inner.first()? & 0xF) * 4;
        (len >= 20 && inner.len() >= len).then(|| Header::at(inner, true)).flatten()
    }

    /// The header at the start of some bytes.
    #[inline]
    pub fn at(bytes: &'p [u8], is_error: bool) -> Option<Header<'p>> {
        let head: &[u8; 20] = bytes.first_chunk()?;
        let offset = u16::from_be_bytes([head[6], head[7]]);
        Some(Header {
            bytes,
            head,
            is_first: offset & 0x1FFF == 0,
            is_fragment: offset & 0x3FFF != 0,
            is_error,
        })
    }

    /// The packet's identification.
    pub fn id(&self) -> [u8; 2] {
        [self.head[4], self.head[5]]
    }

    /// What stands where the ports are, as it lies in memory.
    #[inline]
    pub fn ports(&self) -> Option<u32> {
        let len = usize::from(self.head[0] & 0xF) * 4;
        self.bytes.get(len..)?.first_chunk().copied().map(u32::from_ne_bytes)
    }

    /// The hosts, in one order for both directions, and whether that is not the packet's; `None` if there is no flow.
    #[inline]
    pub fn hosts(&self) -> Option<(Hosts, bool)> {
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *self.head;
        let (src, dst) = (u32::from_ne_bytes([s0, s1, s2, s3]), u32::from_ne_bytes([d0, d1, d2, d3]));
        let protocol = self.head[9];
        if !matches!(protocol, TCP | UDP) || src | dst == 0 {
            return None;
        }
        Some((Hosts { a: src.min(dst), b: src.max(dst), protocol }, src > dst))
    }
}
