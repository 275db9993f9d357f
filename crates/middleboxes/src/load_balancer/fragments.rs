//! Which connection the fragments of a packet belong to: only the first one has ports.

use table::recent::Recent;

use super::rewrite::Change;
use super::seen::Seen;

/// The packets of which the first fragment was seen lately.
pub type Fragments = Recent<Whole, Owner>;

/// What tells the fragments of one packet from others (RFC 791, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Whole {
    src: u32,
    dst: u32,
    id: u16,
    protocol: u8,
}

/// What becomes of the fragments of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// Number of the backend.
    pub backend: u16,
    /// What is rewritten.
    pub change: Change,
}

impl Whole {
    /// The packet that a fragment is of.
    pub fn of(seen: &Seen) -> Whole {
        Whole { src: seen.key.src, dst: seen.key.dst, id: seen.id, protocol: seen.key.protocol }
    }
}
