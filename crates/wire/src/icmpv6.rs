//! ICMPv6 message types (RFC 4443, RFC 4861).

/// Destination unreachable.
pub const UNREACHABLE: u8 = 1;
/// Packet too big.
pub const PACKET_TOO_BIG: u8 = 2;
/// Time exceeded.
pub const TIME_EXCEEDED: u8 = 3;
/// Parameter problem.
pub const PARAMETER_PROBLEM: u8 = 4;
/// Echo request.
pub const ECHO: u8 = 128;
/// Answer to an echo request.
pub const ECHO_REPLY: u8 = 129;
/// Router solicitation.
pub const ROUTER_SOLICITATION: u8 = 133;
/// Router advertisement.
pub const ROUTER_ADVERTISEMENT: u8 = 134;
/// Neighbor solicitation.
pub const NEIGHBOR_SOLICITATION: u8 = 135;
/// Neighbor advertisement.
pub const NEIGHBOR_ADVERTISEMENT: u8 = 136;
/// Redirect.
pub const REDIRECT: u8 = 137;

/// Whether a message of this type reports an error (RFC 4443, section 2.1).
#[inline]
pub fn is_error(kind: u8) -> bool {
    kind < 128
}
