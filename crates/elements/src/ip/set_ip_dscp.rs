//! Sets the differentiated services code point.
//!
//! Sets the upper six bits of the type-of-service byte (RFC 2474) and corrects the header checksum. A packet without a marked
//! IPv4 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPDSCP(46) -> Discard;
//! ```

use element::{Causes, Class, Packet, Refusal};

use super::code_point::{Header, SetCodePoint, ARGS, HANDLERS};
use super::type_of_service;

/// The class.
pub const CLASS: Class = Class::new::<SetCodePoint<Ipv4Header>>("SetIPDSCP", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("dscp", Refusal::Misread)])
    .live();

/// The header that has the type-of-service byte.
pub struct Ipv4Header;

impl Header for Ipv4Header {
    #[inline(always)]
    fn set(packet: &mut Packet, bits: u8) {
        type_of_service::change(packet, |byte| byte & 0x03 | bits);
    }
}
