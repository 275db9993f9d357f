//! Carrier-grade NAT: everything but the element.

pub mod ending;
pub mod entries;
pub mod fragments;
pub mod listing;
pub mod log;
pub mod look;
pub mod nat;
pub mod plan;
pub mod pool;
pub mod ports;
pub mod ranges;
pub mod rewrite;
pub mod sessions;
pub mod settings;
pub mod succession;
pub mod tcp;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::Ipv4Addr;

/// No entry.
pub const NIL: u32 = u32::MAX;

/// A protocol whose packets are translated; the discriminant is its place in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// ICMP queries, their identifier being the port.
    Icmp,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Protocol; 3] = [Protocol::Tcp, Protocol::Udp, Protocol::Icmp];

    /// Its name in lists and logs.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
            Protocol::Icmp => "icmp",
        }
    }
}

/// An address with a port, or with the identifier of an ICMP query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Address.
    pub address: u32,
    /// Port or identifier.
    pub port: u16,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Ipv4Addr::from(self.address), self.port)
    }
}

/// Why a packet is not translated; the discriminant is the index of the drop reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No IPv4 header, or a header that is cut off.
    NoHeader,
    /// Its inside source is no subscriber.
    NotSubscriber,
    /// From outside to an address that is not in the pool.
    NotExternal,
    /// A protocol that is not translated.
    Protocol,
    /// To an external port that is nobody's.
    NoMapping,
    /// From an endpoint that the filter does not let in.
    Filtered,
    /// TCP without SYN that belongs to no session.
    OutOfState,
    /// The subscriber has used up its ports.
    PortLimit,
    /// No block of the pool is free.
    NoBlock,
    /// There are as many mappings as there may be.
    Capacity,
    /// The subscriber has as many sessions as it may have.
    SessionLimit,
    /// A later fragment whose first one has not been seen.
    LostFragment,
}

/// Number of kinds of [`Refusal`].
pub const N_REFUSALS: usize = 12;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The new source.
    pub source: Option<Endpoint>,
    /// The new destination.
    pub destination: Option<Endpoint>,
    /// The output by which it leaves.
    pub output: usize,
}

/// Output to outside.
pub const TO_OUTSIDE: usize = 0;
/// Output to inside.
pub const TO_INSIDE: usize = 1;
