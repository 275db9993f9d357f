//! What the functions that route have in common: interfaces with addresses, and routes.

use std::collections::HashSet;
use std::fmt::Write;
use std::net::Ipv4Addr;

use args::{EtherAddr, Prefix};

use super::leaf::{address, last_address, network};

/// The elements.
pub const ROUTER: &str = include_str!("../../../../functions/router.click");

/// Addresses to which nothing is routed: this network, loopback, groups and what is reserved (RFC 1122, section 3.2.1.3).
pub const NOWHERE: [&str; 4] = ["0.0.0.0/8", "127.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4"];

/// An interface of a router.
pub struct Port {
    /// The interface.
    pub name: String,
    /// Its address and network.
    pub address: Prefix,
    /// Its Ethernet address.
    pub ethernet: EtherAddr,
    /// Further addresses for which it answers ARP requests.
    pub answers: Vec<Ipv4Addr>,
}

/// A way to a network.
pub struct Route {
    /// The network.
    pub network: Prefix,
    /// The next hop.
    pub gateway: Ipv4Addr,
}

impl Port {
    /// An interface; without an Ethernet address it gets one that belongs to its IPv4 address, and so is alone on its network.
    pub fn new(name: &str, address: Prefix, ethernet: Option<EtherAddr>) -> Port {
        let [a, b, c, d] = address.addr.octets();
        let ethernet = ethernet.unwrap_or(EtherAddr([2, 0, a, b, c, d]));
        Port { name: name.to_string(), address, ethernet, answers: Vec::new() }
    }

    /// Its element, number `idx` among `ports`, and what connects it to its interface.
    pub fn text(&self, idx: usize, mtu: &str, ports: &[Port]) -> String {
        let Port { name, address, ethernet, answers } = self;
        let answers = std::iter::once(&address.addr).chain(answers);
        let answers: Vec<String> = answers.map(Ipv4Addr::to_string).collect();
        let interfaces: Vec<String> = ports.iter().map(|port| prefix(&port.address)).collect();
        format!(
            "FromInterface({name}) -> port{idx} :: RouterPort({}, {}, {}, {ethernet}, {mtu}, {}, {}) -> ToInterface({name});\n",
            address.addr,
            answers.join(" "),
            prefix(address),
            idx + 1,
            interfaces.join(" "),
            ethernet = ethernet.with_colons(),
        )
    }

    /// The lines of a routing table that its network needs: to `output`, its broadcasts to `nowhere`.
    pub fn routes(&self, output: usize, nowhere: usize) -> Vec<String> {
        let network = Prefix { addr: self.address.network(), ..self.address };
        let mut routes = vec![format!("{} {output}", prefix(&network))];
        if self.address.len().is_some_and(|len| len < 31) {
            routes.push(format!("{}/32 {nowhere}", network.addr));
            routes.push(format!("{}/32 {nowhere}", last_address(&self.address)));
        }
        routes
    }
}

/// Why addresses of interfaces cannot be, if they cannot.
pub fn check_networks(ports: &[Port]) -> Result<(), String> {
    for (i, port) in ports.iter().enumerate() {
        for other in ports.iter().skip(i + 1) {
            let (a, b) = (&port.address, &other.address);
            if a.contains(b.addr) || b.contains(a.addr) {
                return Err(format!(
                    "{} ({}) and {} ({}) are in one network; give them addresses of different networks, or use `weir bridge`",
                    port.name,
                    prefix(a),
                    other.name,
                    prefix(b)
                ));
            }
        }
    }
    Ok(())
}

/// Reads `PREFIX via ADDRESS`, where `default` is a prefix, too.
pub fn route(text: &str) -> Result<Route, String> {
    const EXPECTED: &str =
        "expected `PREFIX via ADDRESS`, such as '10.1.0.0/16 via 10.0.0.2' or 'default via 10.0.0.1'";
    let words = args::split_words(text);
    let [prefix, via, gateway] = words.as_slice() else { return Err(EXPECTED.to_string()) };
    if via != "via" {
        return Err(EXPECTED.to_string());
    }
    Ok(Route { network: network(prefix)?, gateway: address(gateway)? })
}

/// Whether a text is a route.
pub fn check_route(text: &str) -> Result<(), String> {
    route(text).map(drop)
}

/// Which of the interfaces leads to a next hop.
pub fn port_towards(gateway: Ipv4Addr, ports: &[Port]) -> Result<usize, String> {
    if let Some(port) = ports.iter().find(|port| port.address.addr == gateway) {
        return Err(format!(
            "{gateway} is this router's own address on {}; name the next router's",
            port.name
        ));
    }
    ports.iter().position(|port| port.address.contains(gateway)).ok_or_else(|| {
        let networks: Vec<String> =
            ports.iter().map(|port| format!("{} on {}", prefix(&port.address), port.name)).collect();
        format!("{gateway} is in none of the router's networks ({})", networks.join(", "))
    })
}

/// The element that looks routes up; what has none goes to output `unreachable`.
pub fn lookup(mut routes: Vec<String>, unreachable: usize) -> Result<String, String> {
    let mut networks = HashSet::from(["0.0.0.0/0".to_string()]);
    let mut has_default = false;
    for route in &routes {
        let (network, _) = args::next_word(route);
        let is_default = network == "0.0.0.0/0";
        if !networks.insert(network.to_string()) && (!is_default || has_default) {
            return Err(format!("there are two routes for {network}; give one"));
        }
        has_default |= is_default;
    }
    if !has_default {
        routes.push(format!("0.0.0.0/0 {unreachable}"));
    }
    let mut text = String::from("routes :: RadixIPLookup(");
    for (i, route) in routes.iter().enumerate() {
        let _ = write!(text, "{}\n    {route}", if i > 0 { "," } else { "" });
    }
    Ok(text + ");\n")
}

/// `ADDRESS/LENGTH`.
pub fn prefix(prefix: &Prefix) -> String {
    format!("{}/{}", prefix.addr, prefix.len().unwrap_or(32))
}
