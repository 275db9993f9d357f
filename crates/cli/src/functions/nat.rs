//! `weir nat`: network address translation, as a router or as a bump in the wire.

mod mappings;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;

use args::Prefix;

use super::firewall::{FLOWS, FRAMES};
use super::leaf::{address, address_in_network, Leaf, Place, Type};
use super::router::{self, Port, NOWHERE, ROUTER};
use super::values::{wrong, Values};
use super::{Example, Function};

const COUNT: Type = Type::Unsigned { min: 1, max: 100_000_000 };

/// The function.
pub const FUNCTION: Function = Function {
    name: "nat",
    source: include_str!("../../../../functions/nat/nat.click"),
    parts: &[FRAMES, FLOWS, ROUTER],
    leaves: &[
        Leaf::new("left-address", Type::AddressInNetwork, "The router's address inside, and its network."),
        Leaf::new("right-address", Type::AddressInNetwork, "The router's address outside, and its network."),
        Leaf::new("gateway", Type::Address, "The next router outside."),
        Leaf::new("route", Type::Own("PREFIX via ADDRESS", router::check_route), "A network behind another router.")
            .place(Place::Repeated),
        Leaf::new("address", Type::Address, "The outside address of translated packets.").short('a'),
        Leaf::new("ports", Type::Own("LOW-HIGH", mappings::check_ports), "Ports of the outside address to use.")
            .default("1024-65535"),
        Leaf::new("inside", Type::Network, "Whose packets are translated. Everybody's if not given.").place(Place::Repeated),
        Leaf::new("forward", Type::Own("PROTOCOL:PORT=ADDRESS[:PORT]", mappings::check_forward), "A port that is open to the outside.")
            .place(Place::Repeated),
        Leaf::new("static", Type::Own("OUT=IN", mappings::check_static), "An outside address for one inside host.")
            .place(Place::Repeated),
        Leaf::new("transparent", Type::Flag, "Be a bump in the wire, not a router."),
        Leaf::new("left-ethernet", Type::Ethernet, "The router's Ethernet address inside."),
        Leaf::new("right-ethernet", Type::Ethernet, "The router's Ethernet address outside."),
        Leaf::new("tcp-timeout", Type::Time, "How long a silent TCP connection is remembered.").default("7440s"),
        Leaf::new("udp-timeout", Type::Time, "How long other silent flows are remembered.").default("300s"),
        Leaf::new("icmp-timeout", Type::Time, "How long a ping is remembered.").default("60s"),
        Leaf::new("capacity", COUNT, "Most mappings of a kind.").default("1000000"),
        Leaf::new("mtu", Type::Unsigned { min: 68, max: 65_535 }, "The longest packet that leaves as it is.")
            .default("1500"),
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir nat --left-address 10.0.0.1/24 --right-address 203.0.113.2/24 --gateway 203.0.113.1 | weir write out.pcap",
            purpose: "A NAT router with one outside address",
        },
        Example {
            line: "weir read lan.pcap | weir nat --left-address 10.0.0.1/24 --right-address 203.0.113.2/24 --forward tcp:8080=10.0.0.5:80 --static 203.0.113.9=10.0.0.9 | weir write out.pcap",
            purpose: "The same with a web server inside, and a host that has an outside address of its own",
        },
        Example {
            line: "weir read lan.pcap | weir nat --transparent --address 203.0.113.2 --inside 10.0.0.0/24 | weir write out.pcap",
            purpose: "Translate what passes and leave everything else alone",
        },
    ],
    holds: None,
    graph,
};

/// What is only for a router.
const OF_ROUTERS: [&str; 6] =
    ["left-address", "right-address", "gateway", "route", "left-ethernet", "right-ethernet"];

fn graph(values: &Values) -> Result<String, String> {
    if values.flag("transparent") {
        transparent(values)
    } else {
        routed(values)
    }
}

/// A bump in the wire.
fn transparent(values: &Values) -> Result<String, String> {
    if let Some(name) = OF_ROUTERS.iter().find(|name| !values.list(name).is_empty()) {
        let value = values.get(name).unwrap_or_default();
        return Err(wrong(
            &format!("--{name}"),
            value,
            "a transparent NAT has no addresses of its own; leave this or --transparent away",
        ));
    }
    let outside = values.parse_given("address", address)?;
    let outside = outside.ok_or("--transparent needs the outside address: add --address ADDRESS")?;
    let mappings = mappings::text(values, outside, None)?;
    let mtu = values.need("mtu")?;
    Ok(format!(
        "{mappings}\
         FromInterface(left) -> from_left :: PacketsOfFrames(0) -> WholePackets -> [0] nat;\n\
         FromInterface(right) -> from_right :: PacketsOfFrames(0) -> WholePackets -> [1] nat;\n\
         Idle -> [2] nat;\n\
         to_right :: PacketsAsTheyCame({mtu}) -> ToInterface(right);\n\
         to_left :: PacketsAsTheyCame({mtu}) -> ToInterface(left);\n\
         from_left[1] -> ToInterface(right);\n\
         from_right[1] -> ToInterface(left);\n\
         nat[0] -> to_right;\n\
         nat[1] -> to_left;\n\
         nat[2] -> unsolicited :: Counter -> Discard;\n\
         nat[3] -> to_right;\n\
         nat[4] -> to_left;\n"
    ))
}

/// A router.
fn routed(values: &Values) -> Result<String, String> {
    let needed = |name: &str| {
        let given = values.parse_given(name, address_in_network)?;
        given.ok_or_else(|| {
            format!("--{name} ADDRESS/LENGTH is needed, such as 10.0.0.1/24; or be --transparent, without addresses")
        })
    };
    let (left, right): (Prefix, Prefix) = (needed("left-address")?, needed("right-address")?);
    let outside = values.parse_given("address", address)?.unwrap_or(right.addr);
    let ethernet = |name| values.parse_given(name, super::leaf::ethernet);
    let mut ports = [
        Port::new("left", left, ethernet("left-ethernet")?),
        Port::new("right", right, ethernet("right-ethernet")?),
    ];
    router::check_networks(&ports)?;
    let statics = values.parse_all("static", mappings::parse_static)?;
    let answers = statics.iter().map(|mapping| mapping.outside).chain([outside]);
    ports[1].answers = answers.filter(|address| *address != right.addr).collect();
    let mut text = mappings::text(values, outside, Some(left.addr))? + &routes(values, &ports)?;
    for (i, port) in ports.iter().enumerate() {
        text += &port.text(i, values.need("mtu")?, &ports);
        text += &format!("port{i}[2] -> [2] nat;\nroutes[{i}] -> [1] port{i};\n");
    }
    Ok(text + &crossings(&left, right.addr))
}

/// The routing table: output 0 is left, 1 right, 2 unreachable, 3 nowhere.
fn routes(values: &Values, ports: &[Port; 2]) -> Result<String, String> {
    let mut routes: Vec<String> = ports.iter().enumerate().flat_map(|(i, port)| port.routes(i, 3)).collect();
    for text in values.list("route") {
        let route = router::route(text)?;
        let output =
            router::port_towards(route.gateway, ports).map_err(|message| wrong("--route", text, &message))?;
        routes.push(format!("{} {} {output}", router::prefix(&route.network), route.gateway));
    }
    routes.extend(NOWHERE.map(|network| format!("{network} 3")));
    if let Some(gateway) = values.parse_given("gateway", address)? {
        let towards = router::port_towards(gateway, ports)
            .map_err(|message| wrong("--gateway", &gateway.to_string(), &message))?;
        routes.push(format!("0.0.0.0/0 {gateway} {towards}"));
    }
    router::lookup(routes, 2)
}

/// What leads from the interfaces through the mappings to the routing table.
fn crossings(left: &Prefix, right: Ipv4Addr) -> String {
    let network = Prefix { addr: left.network(), ..*left };
    format!(
        "port0[1] -> IPReassembler(HIMEM 4194304) -> for_left :: IPClassifier(dst net {network} && not dst host {left}, -);\n\
         for_left[0] -> routes;\n\
         for_left[1] -> [0] nat;\n\
         port1[1] -> IPReassembler(HIMEM 4194304) -> [1] nat;\n\
         // What was translated may go back to where it came from: that calls for no redirect.\n\
         nat[0] -> translated :: Paint(0) -> routes;\n\
         nat[1] -> translated;\n\
         nat[2] -> itself :: RouterItself({left}) -> routes;\n\
         nat[3] -> not_inside :: Counter -> Discard;\n\
         nat[4] -> for_right :: IPClassifier(dst host {right}, -);\n\
         for_right[0] -> itself;\n\
         for_right[1] -> unsolicited :: Counter -> Discard;\n\
         routes[2] -> ICMPError({right}, unreachable, net) -> no_route :: RatedSplitter(1000) -> [2] nat;\n\
         no_route[1] -> Discard;\n\
         routes[3] -> nowhere :: Counter -> Discard;\n",
        left = left.addr,
        network = router::prefix(&network),
    )
}
