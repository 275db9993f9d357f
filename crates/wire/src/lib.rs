//! Header views and checksums of the protocols that elements read and write.
//!
//! A view wraps a byte slice: its constructor checks the header once, and the getters and setters that it then offers
//! are plain loads and stores in network byte order. Addresses and numbers are given in the host's order.
#![forbid(unsafe_code)]

#[macro_use]
mod field;
mod arp;
pub mod checksum;
mod ethernet;
mod icmp;
mod ipv4;
mod ipv6;
mod tcp;
mod udp;
mod upper_layer;

pub mod ethertype;
pub mod icmpv6;
pub mod protocol;
pub mod word;

pub use arp::{Arp, ARP_REPLY, ARP_REQUEST};
pub use ethernet::{Ethernet, MacAddress, Vlan, BROADCAST};
pub use icmp::{icmp_code, icmp_type, Icmp};
pub use ipv4::{decrement_ttl, ip_flag, ip_option, Ipv4};
pub use ipv6::Ipv6;
pub use tcp::{tcp_flag, tcp_option, Tcp};
pub use udp::Udp;
pub use upper_layer::{upper_layer, UpperLayer};

#[cfg(test)]
mod tests;
