//! A host's addresses with their networks, and which of them it speaks from.

use std::net::Ipv4Addr;

use args::{prefix_or_address, split_words, Prefix, Scope};

/// The addresses that a host has on a link, each with its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnNetworks(Vec<Prefix>);

impl OwnNetworks {
    /// Parses addresses with prefix lengths, separated by spaces.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<OwnNetworks, String> {
        split_words(text)
            .iter()
            .map(|word| prefix_or_address(word, scope))
            .collect::<Result<_, _>>()
            .map(OwnNetworks)
    }

    /// The address in the smallest network that has a host in it: the one from which the host expects to be spoken to. Of
    /// several in one network it is the first.
    pub fn source_towards(&self, host: Ipv4Addr) -> Option<Ipv4Addr> {
        let around = self.0.iter().filter(|network| network.contains(host));
        around.rev().max_by_key(|network| u32::from(network.mask)).map(|network| network.addr)
    }

    /// Whether an address stands for all hosts of one of the networks (RFC 1122, section 3.2.1.3).
    pub fn is_broadcast(&self, address: Ipv4Addr) -> bool {
        // Networks of one or two hosts have none (RFC 3021).
        let with_broadcast = |network: &&Prefix| network.mask.to_bits() < u32::MAX - 1;
        let last = |network: &Prefix| network.network().to_bits() | !network.mask.to_bits();
        self.0.iter().filter(with_broadcast).any(|network| last(network) == address.to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_network_around_a_host_says_the_source() {
        let own =
            OwnNetworks::parse("10.0.0.1/8 10.1.0.1/16 10.1.0.9/16 10.2.0.1/31", &Scope::builtin()).unwrap();
        let source =
            |host: &str| own.source_towards(host.parse().unwrap()).map(|address| address.to_string());
        assert_eq!(source("10.9.0.5").as_deref(), Some("10.0.0.1"));
        assert_eq!(source("10.1.0.5").as_deref(), Some("10.1.0.1"));
        assert_eq!(source("10.2.0.0").as_deref(), Some("10.2.0.1"));
        assert_eq!(source("11.0.0.1"), None);
        let broadcasts = ["10.255.255.255", "10.1.255.255", "10.2.0.1", "10.0.0.255"];
        let told = broadcasts.map(|address| own.is_broadcast(address.parse().unwrap()));
        assert_eq!(told, [true, true, false, false]);
    }
}
