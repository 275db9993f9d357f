//! What first fragments told of the later ones, which have no ports.

use table::recent::Recent;

use super::look::Seen;
use super::Rewrite;

/// How packets of which the first fragment was seen are rewritten.
pub type Fragments = Recent<FragmentKey, Rewrite>;

/// What all fragments of a packet have in common (RFC 791), and the side that they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    source: u32,
    destination: u32,
    id: u16,
    protocol: u8,
    port: u8,
}

impl FragmentKey {
    /// The key of a fragment that came in by a port.
    pub fn of(seen: &Seen, port: usize) -> FragmentKey {
        FragmentKey {
            source: seen.source.address,
            destination: seen.destination.address,
            id: seen.id,
            protocol: seen.ip_protocol,
            port: port as u8,
        }
    }
}
