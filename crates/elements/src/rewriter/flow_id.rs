//! Flow identifiers: what tells the packets of one direction of a flow from others.

use std::fmt;
use std::net::Ipv4Addr;

/// Addresses and ports of one direction of a flow, in host order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct FlowId {
    /// Source address.
    pub src: u32,
    /// Destination address.
    pub dst: u32,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
}

impl FlowId {
    /// Addresses alone; the ports are 0.
    #[inline(always)]
    pub fn addresses(src: u32, dst: u32) -> FlowId {
        FlowId { src, dst, sport: 0, dport: 0 }
    }

    /// The other direction.
    #[inline(always)]
    pub fn reverse(self) -> FlowId {
        FlowId { src: self.dst, dst: self.src, sport: self.dport, dport: self.sport }
    }

    /// The addresses and ports as they lie in a packet.
    #[inline(always)]
    pub fn halfwords(&self) -> [u16; 6] {
        let (src, dst) = (self.src, self.dst);
        [(src >> 16) as u16, src as u16, (dst >> 16) as u16, dst as u16, self.sport, self.dport]
    }

    /// The source port's wire bytes plus one in little-endian order, back in host order: the port that the reply direction
    /// of an ICMP echo flow is given beside its identifier.
    pub fn successor(port: u16) -> u16 {
        port.swap_bytes().wrapping_add(1).swap_bytes()
    }
}

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (src, dst) = (Ipv4Addr::from_bits(self.src), Ipv4Addr::from_bits(self.dst));
        write!(f, "({src}, {}, {dst}, {})", self.sport, self.dport)
    }
}
