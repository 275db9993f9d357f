//! `weir route`: an IPv4 router.

use args::{EtherAddr, Prefix};

use super::leaf::{address_in_network, ethernet, Leaf, Place, Type};
use super::router::{self, Port, NOWHERE, ROUTER};
use super::values::{wrong, Values};
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "route",
    source: include_str!("../../../../functions/route/route.click"),
    parts: &[ROUTER],
    leaves: &[
        Leaf::new(
            "address",
            Type::Own("NAME=ADDRESS/LENGTH", |text| named_address(text).map(drop)),
            "The address of an interface, and its network.",
        )
        .place(Place::Repeated)
        .short('a'),
        Leaf::new("route", Type::Own("PREFIX via ADDRESS", router::check_route), "A network behind another router.")
            .place(Place::Repeated)
            .short('r'),
        Leaf::new(
            "ethernet",
            Type::Own("NAME=MAC", |text| named_ethernet(text).map(drop)),
            "The Ethernet address of an interface.",
        )
        .place(Place::Repeated),
        Leaf::new("mtu", Type::Unsigned { min: 68, max: 65_535 }, "The longest packet that leaves as it is.")
            .default("1500"),
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir route --address left=10.0.0.1/24 --address right=10.0.1.1/24 | weir write out.pcap",
            purpose: "A router between two networks",
        },
        Example {
            line: "weir read lan.pcap | weir route -a left=10.0.0.1/24 -a right=192.0.2.2/30 -r 'default via 192.0.2.1' -r '10.1.0.0/16 via 10.0.0.2' | weir write out.pcap",
            purpose: "The same with a default route, and a network behind a router on the left",
        },
    ],
    holds: None,
    graph,
};

fn named_address(text: &str) -> Result<(&str, Prefix), String> {
    let (name, address) = text.split_once('=').ok_or(
        "expected the interface's name and its address with the prefix length, such as left=10.0.0.1/24",
    )?;
    Ok((name, address_in_network(address)?))
}

fn named_ethernet(text: &str) -> Result<(&str, EtherAddr), String> {
    let (name, address) = text
        .split_once('=')
        .ok_or("expected the interface's name and its address, such as left=02:00:00:00:00:01")?;
    Ok((name, ethernet(address)?))
}

fn graph(values: &Values) -> Result<String, String> {
    let ports = ports(values)?;
    let (local, unreachable, nowhere) = (ports.len(), ports.len() + 1, ports.len() + 2);
    let mut routes = Vec::new();
    for port in &ports {
        routes.push(format!("{}/32 {local}", port.address.addr));
    }
    for (i, port) in ports.iter().enumerate() {
        routes.extend(port.routes(i, nowhere));
    }
    for text in values.list("route") {
        let route = router::route(text)?;
        let output = router::port_towards(route.gateway, &ports)
            .map_err(|message| wrong("--route", text, &message))?;
        routes.push(format!("{} {} {output}", router::prefix(&route.network), route.gateway));
    }
    routes.extend(NOWHERE.map(|network| format!("{network} {nowhere}")));
    let mut text = router::lookup(routes, unreachable)?;
    for (i, port) in ports.iter().enumerate() {
        text += &port.text(i, values.need("mtu")?, &ports);
        text += &format!("port{i}[1] -> routes;\nport{i}[2] -> routes;\nroutes[{i}] -> [1] port{i};\n");
    }
    let address = ports.first().map_or_else(String::new, |port| port.address.addr.to_string());
    text += &format!(
        "routes[{local}] -> itself :: RouterItself({address}) -> routes;\n\
         routes[{unreachable}] -> ICMPError({address}, unreachable, net) -> no_route :: RatedSplitter(1000) -> routes;\n\
         no_route[1] -> Discard;\n\
         routes[{nowhere}] -> nowhere :: Counter -> Discard;\n"
    );
    Ok(text)
}

/// The interfaces with their addresses, of which each needs one.
fn ports(values: &Values) -> Result<Vec<Port>, String> {
    let mut addresses: Vec<Option<Prefix>> = vec![None; values.interfaces().len()];
    let mut ethernets: Vec<Option<EtherAddr>> = addresses.iter().map(|_| None).collect();
    for text in values.list("address") {
        let (name, address) = named_address(text)?;
        let place = addresses.get_mut(values.interface(name, "--address", text)?);
        if place.and_then(|place| place.replace(address)).is_some() {
            return Err(wrong("--address", text, &format!("{name} has an address already; one is enough")));
        }
    }
    for text in values.list("ethernet") {
        let (name, address) = named_ethernet(text)?;
        if let Some(place) = ethernets.get_mut(values.interface(name, "--ethernet", text)?) {
            *place = Some(address);
        }
    }
    let mut ports = Vec::new();
    for (name, (address, ethernet)) in values.interfaces().iter().zip(addresses.into_iter().zip(ethernets)) {
        let Some(address) = address else {
            return Err(format!("interface {name} has no address; add --address {name}=ADDRESS/LENGTH"));
        };
        ports.push(Port::new(name, address, ethernet));
    }
    router::check_networks(&ports)?;
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, run_among};
    use expect_test::expect;

    const ROUTER: [&str; 7] =
        ["route", "-a", "left=10.0.0.1/24", "-a", "right=10.0.1.1/24", "-r", "10.2.0.0/16 via 10.0.1.9"];
    /// A frame to the router's left interface.
    macro_rules! to_router {
        ($frame:literal) => {
            concat!("to=02:00:0a:00:00:01 from=02:00:00:00:00:05 ", $frame)
        };
    }
    const HOST_ON_THE_RIGHT: &str =
        "at=5 from=02:00:00:00:00:07 to=02:00:0a:00:01:01 ARPREPLY(10.0.1.7, 10.0.1.1)";
    const GATEWAY: &str = "at=5 from=02:00:00:00:00:09 to=02:00:0a:00:01:01 ARPREPLY(10.0.1.9, 10.0.1.1)";
    const SENDER: &str = "at=6 from=02:00:00:00:00:05 to=02:00:0a:00:00:01 ARPREPLY(10.0.0.5, 10.0.0.1)";

    #[test]
    fn packets_are_routed_to_hosts_and_gateways() {
        check(
            &ROUTER,
            &[
                to_router!("UDP(10.0.0.5, 1, 10.0.1.7, 2)"),
                to_router!("UDP(10.0.0.5, 1, 10.2.3.4, 2)"),
                "UDP(10.0.0.5, 1, 10.0.1.7, 2)",
            ],
            &[HOST_ON_THE_RIGHT, GATEWAY],
            &["routes.table"],
            expect![[r#"
                routes.table: 10.0.0.1/32		-		2
                10.0.1.1/32		-		2
                10.0.0.0/24		-		0
                10.0.0.0/32		-		4
                10.0.0.255/32		-		4
                10.0.1.0/24		-		1
                10.0.1.0/32		-		4
                10.0.1.255/32		-		4
                10.2.0.0/16		10.0.1.9	1
                0.0.0.0/8		-		4
                127.0.0.0/8		-		4
                224.0.0.0/4		-		4
                240.0.0.0/4		-		4
                0.0.0.0/0		-		3

                to right at 0.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.7 tell 10.0.1.1
                to right at 1.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.9 tell 10.0.1.1
                to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:7 UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 63 len 32
                to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:9 UDP 10.0.0.5:1 > 10.2.3.4:2 ttl 63 len 32
            "#]],
        );
    }

    #[test]
    fn the_router_answers_for_itself() {
        check(
            &ROUTER,
            &[
                "from=02:00:00:00:00:05 ARP(10.0.0.5, 10.0.0.1)",
                "ARP(10.0.0.5, 10.0.0.9)",
                to_router!("PING(10.0.0.5, 10.0.0.1, 3)"),
                to_router!("PING(10.0.0.5, 10.0.1.1, 4)"),
                to_router!("UDP(10.0.0.5, 1, 10.0.0.1, 9)"),
                SENDER,
            ],
            &[],
            &[],
            expect![[r#"
                to left at 0.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 ARP 10.0.0.1 is at 2:0:a:0:0:1 to 10.0.0.5
                to left at 2.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 pong 3 ttl 254 len 30
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.1.1 > 10.0.0.5 pong 4 ttl 254 len 30
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 3/3 about [UDP 10.0.0.5:1 > 10.0.0.1:9 ttl 64 len 32] ttl 199 len 60
            "#]],
        );
    }

    #[test]
    fn errors_are_told_to_the_sender() {
        check(
            &ROUTER,
            &[
                to_router!("ttl=1 UDP(10.0.0.5, 1, 10.0.1.7, 2)"),
                to_router!("UDP(10.0.0.5, 1, 192.0.2.1, 2)"),
                to_router!("flags=4000 payload=1500 UDP(10.0.0.5, 1, 10.0.1.7, 2)"),
                to_router!("UDP(10.0.0.5, 1, 10.0.0.6, 2)"),
                to_router!("UDP(10.0.0.5, 1, 10.0.1.255, 2)"),
                SENDER,
            ],
            &[],
            &["nowhere.count"],
            expect![[r#"
                IPFragmenter(1500) DF 10.0.0.5 10.0.1.7 len=1528
                nowhere.count: 1
                to left at 0.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1
                to left at 3.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.6 tell 10.0.0.1
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 11/0 about [UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 1 len 32] ttl 199 len 60
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 3/0 about [UDP 10.0.0.5:1 > 192.0.2.1:2 ttl 64 len 32] ttl 199 len 60
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 3/4 mtu 1500 about [UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 63 len 1528] ttl 199 len 576
                to left at 6.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 5/1 by 10.0.0.6 about [UDP 10.0.0.5:1 > 10.0.0.6:2 ttl 64 len 32] ttl 199 len 60
            "#]],
        );
    }

    #[test]
    fn long_packets_are_cut() {
        check(
            &ROUTER,
            &[to_router!("payload=2000 UDP(10.0.0.5, 1, 10.0.1.7, 2)")],
            &[HOST_ON_THE_RIGHT],
            &[],
            expect![[r#"
            to right at 0.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.7 tell 10.0.1.1
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:7 UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 63 len 1500 more
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:7 10.0.0.5 > 10.0.1.7 fragment at 1480 ttl 63 len 548 last
        "#]],
        );
    }

    #[test]
    fn there_can_be_more_interfaces() {
        let words = [&ROUTER[..], &["--if", "dmz=tap:tap0", "-a", "dmz=192.168.0.1/24"]].concat();
        let told = run_among(
            &words,
            &[
                ("left", &[to_router!("UDP(10.0.0.5, 1, 192.168.0.7, 2)")]),
                (
                    "dmz",
                    &["at=5 from=02:00:00:00:00:07 to=02:00:c0:a8:00:01 ARPREPLY(192.168.0.7, 192.168.0.1)"],
                ),
            ],
            &[],
        );
        expect![[r#"
            to dmz at 0.0 ms: 2:0:c0:a8:0:1 > ff:ff:ff:ff:ff:ff ARP who has 192.168.0.7 tell 192.168.0.1
            to dmz at 5.0 ms: 2:0:c0:a8:0:1 > 2:0:0:0:0:7 UDP 10.0.0.5:1 > 192.168.0.7:2 ttl 63 len 32
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn mistakes_are_told() {
        fails(
            &["route", "-a", "left=10.0.0.1/24"],
            expect!["route: interface right has no address; add --address right=ADDRESS/LENGTH"],
        );
        fails(
            &["route", "-a", "left=10.0.0.1"],
            expect![[r#"
            error: invalid value 'left=10.0.0.1' for '--address <NAME=ADDRESS/LENGTH>': expected an address with the length of its network's prefix, such as 10.0.0.1/24

            For more information, try '--help'.
        "#]],
        );
        fails(&["route", "-a", "wan=10.0.0.1/24"], expect!["route: --address `wan=10.0.0.1/24`: no interface `wan`; there are left, right; add it with --if wan=KIND:ARGS"]);
        fails(
            &["route", "-a", "left=10.0.0.1/24", "-a", "left=10.0.0.2/24"],
            expect!["route: --address `left=10.0.0.2/24`: left has an address already; one is enough"],
        );
        fails(&["route", "-a", "left=10.0.0.1/24", "-a", "right=10.0.0.2/24"], expect!["route: left (10.0.0.1/24) and right (10.0.0.2/24) are in one network; give them addresses of different networks, or use `weir bridge`"]);
        let two = ["route", "-a", "left=10.0.0.1/24", "-a", "right=10.0.1.1/24"];
        fails(&[&two[..], &["-r", "default via 10.9.9.9"]].concat(), expect!["route: --route `default via 10.9.9.9`: 10.9.9.9 is in none of the router's networks (10.0.0.1/24 on left, 10.0.1.1/24 on right)"]);
        fails(&[&two[..], &["-r", "default via 10.0.0.1"]].concat(), expect!["route: --route `default via 10.0.0.1`: 10.0.0.1 is this router's own address on left; name the next router's"]);
        fails(
            &[&two[..], &["-r", "10.9.0.0/16"]].concat(),
            expect![[r#"
            error: invalid value '10.9.0.0/16' for '--route <PREFIX via ADDRESS>': expected `PREFIX via ADDRESS`, such as '10.1.0.0/16 via 10.0.0.2' or 'default via 10.0.0.1'

            For more information, try '--help'.
        "#]],
        );
        fails(
            &[&two[..], &["--ethernet", "left=x"]].concat(),
            expect![[r#"
            error: invalid value 'left=x' for '--ethernet <NAME=MAC>': expected an Ethernet address such as 02:00:00:00:00:01

            For more information, try '--help'.
        "#]],
        );
    }
}
