//! The IPv6 addresses of a router's interfaces, and which of them it speaks from.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;

use args::{prefix6_or_address, split_words, Prefix6, Scope};

/// All nodes of a link (RFC 4291, section 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All its routers.
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// The addresses that a host has on a link, each with its network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnAddresses(Vec<Prefix6>);

/// The addresses of a router's interfaces by the paint of what comes by them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interfaces(BTreeMap<u8, OwnAddresses>);

impl OwnAddresses {
    /// Parses addresses with prefix lengths, separated by spaces.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<OwnAddresses, String> {
        split_words(text)
            .iter()
            .map(|word| own_address(word, scope))
            .collect::<Result<_, _>>()
            .map(OwnAddresses)
    }

    /// Whether an address is one of them.
    #[inline]
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        self.0.iter().any(|own| own.addr == address)
    }

    /// Whether an address is that of any router in one of the networks (RFC 4291, section 2.6.1), but for networks so small
    /// that they have none (RFC 6164).
    pub fn is_anycast(&self, address: Ipv6Addr) -> bool {
        self.0.iter().any(|own| own.len < 127 && own.network() == address && !is_link_local(address))
    }

    /// Whether the host at an address is a neighbor.
    pub fn is_on_link(&self, address: Ipv6Addr) -> bool {
        is_link_local(address) || self.0.iter().any(|own| own.contains(address))
    }

    /// Whether messages to a group are for this host: all nodes, all routers, and the solicited-node groups of its addresses
    /// (RFC 4291, section 2.8).
    pub fn has_joined(&self, group: Ipv6Addr) -> bool {
        let is_solicited = |own: &Prefix6| {
            solicited_node(own.addr) == group || own.len < 127 && solicited_node(own.network()) == group
        };
        group == ALL_NODES || group == ALL_ROUTERS || self.0.iter().any(is_solicited)
    }

    /// The address from which a host is spoken to: one of the same scope, in the smallest network that has the host in it; of
    /// several it is the first. Without one of that scope there is none.
    pub fn source_towards(&self, host: Ipv6Addr) -> Option<Ipv6Addr> {
        let alike = self.0.iter().filter(|own| is_link_local(own.addr) == is_link_local(host));
        let closeness = |own: &&Prefix6| if own.contains(host) { i32::from(own.len) } else { -1 };
        alike.rev().max_by_key(closeness).map(|own| own.addr)
    }

    /// Its first link-local address, else its first address.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        let first = self.0.iter().find(|own| is_link_local(own.addr)).or(self.0.first());
        first.map(|own| own.addr)
    }
}

impl Interfaces {
    /// Parses the interfaces: a paint, the addresses of the interface with their prefix lengths, the next paint, and so on.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<Interfaces, String> {
        let mut interfaces = BTreeMap::new();
        let mut current: Option<&mut OwnAddresses> = None;
        for word in split_words(text) {
            if let Ok(paint) = args::bounded_integer(&word, 0u8, u8::MAX) {
                current = Some(interfaces.entry(paint).or_default());
            } else {
                let addresses = current.as_mut().ok_or("expected a paint before addresses")?;
                addresses.0.push(own_address(&word, scope)?);
            }
        }
        Ok(Interfaces(interfaces))
    }

    /// Whether an address is one of them.
    pub fn contains(&self, address: Ipv6Addr) -> bool {
        self.0.values().any(|addresses| addresses.contains(address))
    }

    /// The address from which a host is spoken to that sent what came with a paint (RFC 4443, section 2.2). An interface
    /// that has no address of the host's scope borrows one.
    pub fn source_towards(&self, paint: u8, host: Ipv6Addr) -> Option<Ipv6Addr> {
        let own = self.0.get(&paint);
        own.and_then(|own| own.source_towards(host))
            .or_else(|| self.0.values().find_map(|own| own.source_towards(host)))
            .or_else(|| own.and_then(OwnAddresses::link_local))
    }
}

/// Whether an address belongs to a single link (RFC 4291, section 2.5.6).
#[inline]
pub fn is_link_local(address: Ipv6Addr) -> bool {
    address.octets()[0] == 0xfe && address.octets()[1] & 0xc0 == 0x80
}

/// The group to which those who look for an address speak (RFC 4291, section 2.7.1).
pub fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let [.., a, b, c] = address.octets();
    Ipv6Addr::from([0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, a, b, c])
}

fn own_address(word: &str, scope: &Scope<'_>) -> Result<Prefix6, String> {
    let prefix = prefix6_or_address(word, scope)?;
    match prefix.addr.is_unspecified() || prefix.addr.is_multicast() {
        true => Err(format!("{} is not the address of a single host", prefix.addr)),
        false => Ok(prefix),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    fn own() -> OwnAddresses {
        let text = "2001:db8::1/32 2001:db8:1::1/64 2001:db8:1::9/64 fe80::1/64 2001:db8:2::/127";
        OwnAddresses::parse(text, &Scope::builtin()).unwrap()
    }

    #[test]
    fn hosts_are_spoken_to_from_the_smallest_network_around_them() {
        let source = |host: &str| own().source_towards(address(host)).unwrap().to_string();
        assert_eq!(source("2001:db8:9::5"), "2001:db8::1");
        assert_eq!(source("2001:db8:1::5"), "2001:db8:1::1");
        assert_eq!(source("2001:db8:2::1"), "2001:db8:2::");
        assert_eq!(source("2001:dead::"), "2001:db8::1");
        assert_eq!(source("fe80::5"), "fe80::1");
    }

    #[test]
    fn routers_have_the_address_of_all_routers_of_a_network() {
        assert!(own().is_anycast(address("2001:db8:1::")) && own().is_anycast(address("2001:db8::")));
        for other in ["2001:db8:2::", "fe80::", "2001:db8:1::1", "2001:db8:3::"] {
            assert!(!own().is_anycast(address(other)), "{other}");
        }
    }

    #[test]
    fn groups_are_joined_for_addresses() {
        for group in ["ff02::1", "ff02::2", "ff02::1:ff00:1", "ff02::1:ff00:9", "ff02::1:ff00:0"] {
            assert!(own().has_joined(address(group)), "{group}");
        }
        for group in ["ff02::1:ff00:2", "ff05::2", "ff02::16"] {
            assert!(!own().has_joined(address(group)), "{group}");
        }
    }

    #[test]
    fn interfaces_without_an_address_of_a_scope_borrow_one() {
        let parse = |text: &str| Interfaces::parse(text, &Scope::builtin());
        let interfaces = parse("1 fe80::1/64 2 2001:db8:2::1/64 fe80::2/64 7 fe80::7/64").unwrap();
        let source = |paint, host: &str| interfaces.source_towards(paint, address(host)).unwrap().to_string();
        assert_eq!(source(1, "2001:db8::5"), "2001:db8:2::1");
        assert_eq!(source(2, "fe80::5"), "fe80::2");
        assert_eq!(source(7, "fe80::5"), "fe80::7");
        assert_eq!(source(9, "2001:db8::5"), "2001:db8:2::1");
        assert_eq!(
            parse("1 fe80::7/64").unwrap().source_towards(1, address("1::")),
            Some(address("fe80::7"))
        );
        assert_eq!(parse("").unwrap().source_towards(1, address("1::")), None);
        assert!(parse("fe80::1").is_err() && parse("1 ff02::1").is_err() && parse("256 1::1").is_err());
    }
}
