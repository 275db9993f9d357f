//! What tells flows apart: addresses, ports, protocol, type of service, VLAN and interface.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wire::protocol;

/// Words of an IPv4 flow's key.
pub const V4: usize = 3;
/// Words of an IPv6 flow's key.
pub const V6: usize = 6;

/// A key of `N` words: the addresses, then ports, protocol, type of service and VLAN, then the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<const N: usize>([u64; N]);

/// What a key is made of besides addresses. ICMP's type and code stand where the destination port does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    pub source_port: u16,
    pub destination_port: u16,
    pub protocol: u8,
    pub tos: u8,
    pub vlan: u16,
    pub interface: u32,
}

/// The key of a flow of either IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowKey {
    V4(Key<V4>),
    V6(Key<V6>),
}

/// A key part that a user can choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Source,
    Destination,
    SourcePort,
    DestinationPort,
    Protocol,
    Tos,
    Interface,
    Vlan,
}

/// The names of the parts, in the order in which records have them.
pub const PARTS: [(&str, Part); 8] = [
    ("source", Part::Source),
    ("destination", Part::Destination),
    ("source_port", Part::SourcePort),
    ("destination_port", Part::DestinationPort),
    ("protocol", Part::Protocol),
    ("tos", Part::Tos),
    ("interface", Part::Interface),
    ("vlan", Part::Vlan),
];

/// Which parts tell flows apart: a key with all bits of those parts set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    v4: Key<V4>,
    v6: Key<V6>,
}

impl<const N: usize> Hash for Key<N> {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.iter().for_each(|word| state.write_u64(*word));
    }
}

impl<const N: usize> Key<N> {
    /// What the key has besides addresses.
    pub fn rest(&self) -> Rest {
        let (ports, interface) = match self.0.as_slice() {
            [.., ports, interface] => (*ports, *interface),
            _ => (0, 0),
        };
        Rest {
            source_port: (ports >> 48) as u16,
            destination_port: (ports >> 32) as u16,
            protocol: (ports >> 24) as u8,
            tos: (ports >> 16) as u8,
            vlan: ports as u16,
            interface: interface as u32,
        }
    }

    fn and(&self, mask: &Key<N>) -> Key<N> {
        let mut words = self.0;
        words.iter_mut().zip(mask.0).for_each(|(word, mask)| *word &= mask);
        Key(words)
    }
}

impl Key<V4> {
    fn new(source: u32, destination: u32, rest: Rest) -> Key<V4> {
        Key([u64::from(source) << 32 | u64::from(destination), rest.ports_word(), rest.interface.into()])
    }

    fn addresses(&self) -> (Ipv4Addr, Ipv4Addr) {
        let [both, ..] = self.0;
        (((both >> 32) as u32).into(), (both as u32).into())
    }
}

impl Key<V6> {
    fn new(source: u128, destination: u128, rest: Rest) -> Key<V6> {
        let [a, b] = [source, destination].map(|address| [(address >> 64) as u64, address as u64]);
        Key([a[0], a[1], b[0], b[1], rest.ports_word(), rest.interface.into()])
    }

    fn addresses(&self) -> (Ipv6Addr, Ipv6Addr) {
        let [a, b, c, d, ..] = self.0;
        let address = |high: u64, low: u64| Ipv6Addr::from(u128::from(high) << 64 | u128::from(low));
        (address(a, b), address(c, d))
    }
}

/// A key whose flow in the other direction is another key of the same kind.
pub trait Reversible {
    /// The key of the packets that answer.
    fn reversed(&self) -> Self;
    /// As a key of either version.
    fn wrap(self) -> FlowKey;
}

impl Reversible for Key<V4> {
    fn reversed(&self) -> Self {
        let (source, destination) = self.addresses();
        Key::<V4>::new(destination.into(), source.into(), self.rest().reversed())
    }

    fn wrap(self) -> FlowKey {
        FlowKey::V4(self)
    }
}

impl Reversible for Key<V6> {
    fn reversed(&self) -> Self {
        let (source, destination) = self.addresses();
        Key::<V6>::new(destination.into(), source.into(), self.rest().reversed())
    }

    fn wrap(self) -> FlowKey {
        FlowKey::V6(self)
    }
}

impl Rest {
    #[inline(always)]
    fn ports_word(self) -> u64 {
        u64::from(self.source_port) << 48
            | u64::from(self.destination_port) << 32
            | u64::from(self.protocol) << 24
            | u64::from(self.tos) << 16
            | u64::from(self.vlan)
    }

    /// Whether the destination port is an ICMP message's type and code.
    pub fn is_icmp(self) -> bool {
        matches!(self.protocol, protocol::ICMP | protocol::ICMPV6)
    }

    /// An echo request is answered by an echo reply; other ICMP messages answer to nothing but their like.
    fn reversed(self) -> Rest {
        let answer = match (self.protocol, self.destination_port) {
            (protocol::ICMP, 0x0800) => 0,
            (protocol::ICMP, 0) => 0x0800,
            (protocol::ICMPV6, 0x8000) => 0x8100,
            (protocol::ICMPV6, 0x8100) => 0x8000,
            (protocol::ICMP | protocol::ICMPV6, message) => message,
            _ => {
                return Rest {
                    source_port: self.destination_port,
                    destination_port: self.source_port,
                    ..self
                }
            }
        };
        Rest { destination_port: answer, ..self }
    }
}

impl FlowKey {
    /// Its addresses.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        match self {
            FlowKey::V4(key) => {
                let (source, destination) = key.addresses();
                (source.into(), destination.into())
            }
            FlowKey::V6(key) => {
                let (source, destination) = key.addresses();
                (source.into(), destination.into())
            }
        }
    }

    /// What it has besides addresses.
    pub fn rest(&self) -> Rest {
        match self {
            FlowKey::V4(key) => key.rest(),
            FlowKey::V6(key) => key.rest(),
        }
    }
}

impl Mask {
    /// The mask of some parts.
    pub fn new(parts: &[Part]) -> Mask {
        let ones = |part: Part| parts.contains(&part);
        let word = |part: Part| if ones(part) { u128::MAX } else { 0 };
        let (source, destination) = (word(Part::Source), word(Part::Destination));
        let rest = Rest {
            source_port: word(Part::SourcePort) as u16,
            destination_port: word(Part::DestinationPort) as u16,
            protocol: word(Part::Protocol) as u8,
            tos: word(Part::Tos) as u8,
            vlan: word(Part::Vlan) as u16,
            interface: word(Part::Interface) as u32,
        };
        Mask {
            v4: Key::<V4>::new(source as u32, destination as u32, rest),
            v6: Key::<V6>::new(source, destination, rest),
        }
    }

    /// The key of an IPv4 packet.
    #[inline(always)]
    pub fn v4(&self, source: u32, destination: u32, rest: Rest) -> FlowKey {
        FlowKey::V4(Key::<V4>::new(source, destination, rest).and(&self.v4))
    }

    /// The key of an IPv6 packet.
    #[inline(always)]
    pub fn v6(&self, source: u128, destination: u128, rest: Rest) -> FlowKey {
        FlowKey::V6(Key::<V6>::new(source, destination, rest).and(&self.v6))
    }
}
