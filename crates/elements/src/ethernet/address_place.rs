//! Where in a frame an element finds or writes an Ethernet address: the argument OFFSET.

use args::Word;
use element::{Arg, Configure, DropReason, Packet};

/// The argument.
pub const OFFSET: Arg =
    Arg::required("OFFSET", "unsigned, `src` or `dst`", "Where in the packet the address is.");

/// What becomes of packets in which there is no such place.
pub const OUT_OF_RANGE: usize = 0;
/// The reasons for drops.
pub const DROPS: &[DropReason] =
    &[DropReason::new("out-of-range", "The packet is too short for the address.")];

/// Bytes of an address.
const LEN: u32 = 6;

/// Reads OFFSET; the mistake is told last.
pub fn read(conf: &mut Configure<'_>) -> usize {
    let Word(text) = conf.args.need("OFFSET");
    let offset = match text.to_ascii_lowercase().as_str() {
        "src" => Some(LEN),
        "dst" => Some(0),
        _ => args::integer(&text).ok(),
    };
    offset.filter(|offset| offset.checked_add(LEN).is_some()).map_or(usize::MAX, |offset| offset as usize)
}

/// Tells that OFFSET is none, if so.
pub fn check(conf: &mut Configure<'_>, offset: usize) {
    if offset == usize::MAX {
        conf.args.fail("type mismatch: bad OFFSET");
    }
}

/// The address at an offset.
#[inline(always)]
pub fn get(packet: &Packet, offset: usize) -> Option<[u8; 6]> {
    packet.data().get(offset..)?.first_chunk().copied()
}
