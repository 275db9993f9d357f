//! IP protocol numbers.

/// IPv6 hop-by-hop options.
pub const HOP_BY_HOP: u8 = 0;
/// ICMP for IPv4.
pub const ICMP: u8 = 1;
/// Internet Group Management Protocol.
pub const IGMP: u8 = 2;
/// IPv4 in IP.
pub const IPIP: u8 = 4;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// Datagram Congestion Control Protocol.
pub const DCCP: u8 = 33;
/// IPv6 in IP.
pub const IPV6: u8 = 41;
/// IPv6 routing header.
pub const IPV6_ROUTING: u8 = 43;
/// IPv6 fragment header.
pub const IPV6_FRAGMENT: u8 = 44;
/// Generic Routing Encapsulation.
pub const GRE: u8 = 47;
/// IPsec encapsulating security payload.
pub const ESP: u8 = 50;
/// IPsec authentication header.
pub const AH: u8 = 51;
/// ICMP for IPv6.
pub const ICMPV6: u8 = 58;
/// IPv6: nothing follows.
pub const IPV6_NO_NEXT: u8 = 59;
/// IPv6 destination options.
pub const IPV6_DESTINATION: u8 = 60;
/// SCTP.
pub const SCTP: u8 = 132;
/// UDP-Lite.
pub const UDPLITE: u8 = 136;
