//! Ethernet protocol numbers, in host order.

/// IPv4.
pub const IPV4: u16 = 0x0800;
/// Address Resolution Protocol.
pub const ARP: u16 = 0x0806;
/// A frame whose payload was moved behind its trailer.
pub const TRAILER: u16 = 0x1000;
/// IEEE 802.1Q VLAN tag.
pub const VLAN: u16 = 0x8100;
/// IPv6.
pub const IPV6: u16 = 0x86dd;
/// MAC control: pause frames.
pub const MAC_CONTROL: u16 = 0x8808;
/// MPLS, unicast.
pub const MPLS: u16 = 0x8847;
/// PPPoE, discovery stage.
pub const PPPOE_DISCOVERY: u16 = 0x8863;
/// PPPoE, session stage.
pub const PPPOE_SESSION: u16 = 0x8864;
/// IEEE 802.1ad service tag.
pub const SERVICE_VLAN: u16 = 0x88a8;
