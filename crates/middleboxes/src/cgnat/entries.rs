//! What the tables of a NAT hold.

use std::hash::{Hash, Hasher};

use super::nat::SECOND_NS;
use super::{Endpoint, Protocol};

/// The inside of a mapping, by which packets of subscribers find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The subscriber's address.
    pub address: u32,
    /// Its port.
    pub port: u16,
    /// Protocol.
    pub protocol: Protocol,
}

impl Inside {
    /// The inside of the mapping of an endpoint.
    #[inline(always)]
    pub fn new(endpoint: Endpoint, protocol: Protocol) -> Inside {
        Inside { address: endpoint.address, port: endpoint.port, protocol }
    }

    /// The subscriber's address and port.
    #[inline(always)]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, port: self.port }
    }
}

impl Hash for Inside {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Inside { address, port, protocol } = *self;
        state.write_u64(u64::from(address) << 32 | u64::from(port) << 8 | protocol as u64);
    }
}

/// A mapping of an endpoint of a subscriber to an external one, whoever it talks with. With its inside it takes half a cache
/// line in its table: with a million mappings little else counts.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The external endpoint.
    pub external: Endpoint,
    /// Index of the subscriber.
    pub subscriber: u32,
    /// Its first session, or none.
    pub first_session: u32,
    /// The second in which it ends, unless it lives as long as its sessions.
    pub until_s: u32,
}

impl Mapping {
    /// When it ends.
    pub fn until_ns(&self) -> u64 {
        u64::from(self.until_s) * SECOND_NS
    }
}

/// Somebody with mappings.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber {
    /// Index of the external address of the first block.
    pub address: u32,
    /// The newest block.
    pub first_block: u32,
    /// Number of blocks.
    pub n_blocks: u32,
    /// Number of mappings.
    pub n_mappings: u32,
    /// Number of sessions.
    pub n_sessions: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_takes_half_a_cache_line() {
        // The table adds four bytes of its own.
        assert_eq!(size_of::<Inside>() + size_of::<Mapping>(), 28);
        assert_eq!(size_of::<Option<Inside>>(), size_of::<Inside>());
    }
}
