//! The addresses that have buckets of their own.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use element::Packet;

/// What has a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// Everything together.
    All,
    /// Each source address.
    Source,
    /// Each destination address.
    Destination,
}

/// An address without the bits that do not count.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Of IPv4.
    V4(u32),
    /// Of IPv6.
    V6(u128),
}

/// Which bits of addresses count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Masks {
    v4: u32,
    v6: u128,
}

impl Masks {
    /// Masks of so many bits.
    pub fn new(v4: u32, v6: u32) -> Masks {
        let v4 = u32::MAX.checked_shl(32 - v4.min(32)).unwrap_or(0);
        Masks { v4, v6: u128::MAX.checked_shl(128 - v6.min(128)).unwrap_or(0) }
    }

    /// The address that has the packet's bucket, if its IP header is marked.
    #[inline]
    pub fn address(self, packet: &Packet, per: Per) -> Option<Address> {
        let header = packet.network();
        let is_source = per == Per::Source;
        match header.first()? >> 4 {
            4 => {
                let at = if is_source { 12 } else { 16 };
                let bytes = header.get(at..)?.first_chunk()?;
                Some(Address::V4(u32::from_be_bytes(*bytes) & self.v4))
            }
            6 => {
                let at = if is_source { 8 } else { 24 };
                let bytes = header.get(at..)?.first_chunk()?;
                Some(Address::V6(u128::from_be_bytes(*bytes) & self.v6))
            }
            _ => None,
        }
    }
}

impl Address {
    /// Its bits, by which addresses are sorted.
    pub fn bits(self) -> u128 {
        match self {
            Address::V4(bits) => bits.into(),
            Address::V6(bits) => bits,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::V4(bits) => Ipv4Addr::from_bits(*bits).fmt(f),
            Address::V6(bits) => Ipv6Addr::from_bits(*bits).fmt(f),
        }
    }
}
