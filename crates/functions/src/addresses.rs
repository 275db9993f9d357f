//! What templates calculate with addresses and networks of IPv4 and IPv6.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use args::{EtherAddr, Prefix, Prefix6};
use minijinja::{Environment, Error, Value};

use crate::values::{invalid, station};

/// An address, and the length of a prefix.
#[derive(Clone, Copy)]
enum Network {
    V4(Prefix),
    V6(Prefix6),
}

/// Adds the filters.
pub fn add_filters(env: &mut Environment<'_>) {
    env.add_filter("address", |text: &str| Network::parse(text).map(|network| network.address().to_string()));
    env.add_filter("prefix_length", |text: &str| Network::parse(text).map(|network| network.len()));
    env.add_filter("network", |text: &str| Network::parse(text).map(|network| network.text()));
    env.add_filter("by_network", by_network);
    env.add_filter("first_address", |text: &str| prefix(text).map(|prefix| prefix.network().to_string()));
    env.add_filter("last_address", |text: &str| prefix(text).map(|prefix| last_address(&prefix).to_string()));
    env.add_filter("contains", |network: &str, address: &str| -> Result<bool, Error> {
        Ok(Network::parse(network)?.contains(Network::parse(address)?.address()))
    });
    env.add_filter("is_link_local", |text: &str| -> Result<bool, Error> {
        Ok(matches!(Network::parse(text)?.address(), IpAddr::V6(address) if address.is_unicast_link_local()))
    });
    env.add_filter("octets", |address: &str| {
        prefix(address).map(|prefix| Value::from_iter(prefix.addr.octets()))
    });
    // Addresses that nobody assigns (IEEE 802, section 8.4).
    env.add_filter("ethernet_of_address", |address: &str| {
        prefix(address).map(|prefix| {
            let [a, b, c, d] = prefix.addr.octets();
            EtherAddr([2, 0, a, b, c, d]).to_string()
        })
    });
    // RFC 4291, appendix A.
    env.add_filter("link_local_of_ethernet", |text: &str| {
        station(text).map(|EtherAddr([a, b, c, d, e, f])| {
            let identifier = [a ^ 2, b, c, 0xff, 0xfe, d, e, f];
            Ipv6Addr::from_bits(0xfe80 << 112 | u128::from(u64::from_be_bytes(identifier))).to_string()
        })
    });
}

impl Network {
    fn parse(text: &str) -> Result<Network, Error> {
        if !text.contains(':') {
            return prefix(text).map(Network::V4);
        }
        let failed = || invalid(&format!("`{text}` is neither an IPv6 address nor a network"));
        let (address, len) = text.split_once('/').unwrap_or((text, "128"));
        let len = len.parse::<u8>().ok().filter(|len| *len <= 128).ok_or_else(failed)?;
        Ok(Network::V6(Prefix6 { addr: address.parse().map_err(|_| failed())?, len }))
    }

    fn address(&self) -> IpAddr {
        match self {
            Network::V4(prefix) => prefix.addr.into(),
            Network::V6(prefix) => prefix.addr.into(),
        }
    }

    fn len(&self) -> u32 {
        match self {
            Network::V4(prefix) => prefix.len().unwrap_or(32),
            Network::V6(prefix) => prefix.len.into(),
        }
    }

    fn text(&self) -> String {
        match self {
            Network::V4(prefix) => format!("{}/{}", prefix.network(), self.len()),
            Network::V6(prefix) => format!("{}/{}", prefix.network(), self.len()),
        }
    }

    fn contains(&self, address: IpAddr) -> bool {
        match (self, address) {
            (Network::V4(prefix), IpAddr::V4(address)) => prefix.contains(address),
            (Network::V6(prefix), IpAddr::V6(address)) => prefix.contains(address),
            _ => false,
        }
    }
}

/// An IPv4 address, perhaps with the length of a prefix.
fn prefix(text: &str) -> Result<Prefix, Error> {
    let failed = || invalid(&format!("`{text}` is neither an IPv4 address nor a network"));
    if text == "default" {
        return Ok(Prefix::new(Ipv4Addr::UNSPECIFIED, 0));
    }
    let (address, len) = text.split_once('/').unwrap_or((text, "32"));
    let len = len.parse::<u32>().ok().filter(|len| *len <= 32).ok_or_else(failed)?;
    Ok(Prefix::new(address.parse().map_err(|_| failed())?, len))
}

/// The entries of a list by the network that their `prefix` is, in the order in which networks come first: pairs of a network and
/// its entries. `default` is the network of that name, 0.0.0.0/0 if none is given.
fn by_network(list: &Value, default: Option<&str>) -> Result<Value, Error> {
    let mut groups: Vec<(String, Vec<Value>)> = Vec::new();
    let mut places = HashMap::new();
    for entry in list.try_iter()? {
        let prefix = entry.get_attr("prefix")?;
        let text = prefix.as_str().unwrap_or_default();
        let text = if text == "default" { default.unwrap_or(text) } else { text };
        let name = Network::parse(text)?.text();
        let place = *places.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, entries)) => entries.push(entry),
            None => groups.push((name, vec![entry])),
        }
    }
    let pairs =
        groups.into_iter().map(|(name, entries)| Value::from(vec![Value::from(name), Value::from(entries)]));
    Ok(pairs.collect())
}

/// The last address of a network, to which broadcasts go.
fn last_address(prefix: &Prefix) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(prefix.network()) | !u32::from(prefix.mask))
}
