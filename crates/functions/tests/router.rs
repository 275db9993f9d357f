//! The function `router`.

mod harness;

use expect_test::{expect, Expect};
use harness::run;
use serde_json::{json, Value};

/// A host's frame to the interface whose Ethernet address ends so.
macro_rules! to {
    ($port:literal, $frame:literal) => {
        concat!("to=02:00:", $port, " from=02:00:00:00:00:05 ", $frame)
    };
}

fn check(instance: Value, left: &[&str], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run("router", instance, &[("left", left), ("right", right)], reads));
}

fn two_ports() -> Value {
    json!({ "name": "r", "interface": [
        { "name": "left", "address": "10.0.0.1/24" },
        { "name": "right", "address": "10.0.1.1/24" },
    ] })
}

/// With more values.
fn with(mut instance: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    instance.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(name.to_string(), value);
    instance
}

fn with_secondary() -> Value {
    with(two_ports(), "/interface/0/secondary-address", json!(["10.0.5.1/24", "10.0.0.9/24"]))
}

#[test]
fn secondary_addresses_are_as_good_as_the_first() {
    check(
        with_secondary(),
        &[
            "from=02:00:00:00:00:05 ARP(10.0.0.5, 10.0.0.1)",
            "from=02:00:00:00:00:05 ARP(10.0.5.5, 10.0.5.1)",
            "from=02:00:00:00:00:05 ARP(10.0.0.5, 10.0.0.9)",
            to!("0a:00:00:01", "PING(10.0.5.5, 10.0.5.1, 1)"),
            to!("0a:00:00:01", "PING(10.0.5.5, 10.0.0.9, 2)"),
            to!("0a:00:00:01", "at=20 ARPREPLY(10.0.5.5, 10.0.5.1)"),
        ],
        &[],
        &["routes.table", "port_left/arp.count"],
        expect![[r#"
            routes.table: 10.0.0.1/32		-		2
            10.0.5.1/32		-		2
            10.0.0.9/32		-		2
            10.0.1.1/32		-		2
            10.0.0.0/24		-		0
            10.0.0.0/32		-		4
            10.0.0.255/32		-		4
            10.0.5.0/24		-		0
            10.0.5.0/32		-		4
            10.0.5.255/32		-		4
            10.0.1.0/24		-		1
            10.0.1.0/32		-		4
            10.0.1.255/32		-		4
            0.0.0.0/8		-		4
            127.0.0.0/8		-		4
            224.0.0.0/4		-		4
            240.0.0.0/4		-		4
            0.0.0.0/0		-		3

            port_left/arp.count: 1
            to left at 0.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 ARP 10.0.0.1 is at 2:0:a:0:0:1 to 10.0.0.5
            to left at 1.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 ARP 10.0.5.1 is at 2:0:a:0:0:1 to 10.0.5.5
            to left at 2.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 ARP 10.0.0.9 is at 2:0:a:0:0:1 to 10.0.0.5
            to left at 3.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.5.5 tell 10.0.5.1
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.5.1 > 10.0.5.5 pong 1 ttl 254 len 30
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.9 > 10.0.5.5 pong 2 ttl 254 len 30
        "#]],
    );
}

#[test]
fn a_neighbour_that_another_machine_takes_the_place_of_is_found_at_once() {
    check(
        two_ports(),
        &[
            to!("0a:00:00:01", "at=10 ARPREPLY(10.0.0.5, 10.0.0.1)"),
            // Nobody asked: it tells where 10.0.0.5 is now.
            "at=20 from=02:00:00:00:00:06 ARP(10.0.0.5, 10.0.0.5)",
        ],
        &[
            to!("0a:00:01:01", "at=0 UDP(10.0.1.7, 1, 10.0.0.5, 2)"),
            to!("0a:00:01:01", "at=30 UDP(10.0.1.7, 1, 10.0.0.5, 3)"),
        ],
        &["port_left/arp.count"],
        expect![[r#"
            port_left/arp.count: 1
            to left at 0.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1
            to left at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.1.7:1 > 10.0.0.5:2 ttl 63 len 32
            to left at 30.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:6 UDP 10.0.1.7:1 > 10.0.0.5:3 ttl 63 len 32
        "#]],
    );
}

#[test]
fn hosts_are_spoken_to_from_the_address_in_their_network() {
    check(
        with_secondary(),
        &[
            to!("0a:00:00:01", "at=10 ttl=1 UDP(10.0.5.5, 1, 10.0.1.7, 2)"),
            to!("0a:00:00:01", "at=10 ttl=1 UDP(10.0.0.5, 1, 10.0.1.7, 2)"),
            to!("0a:00:00:01", "at=20 ARPREPLY(10.0.5.5, 10.0.5.1)"),
            to!("0a:00:00:01", "at=20 ARPREPLY(10.0.0.5, 10.0.0.1)"),
        ],
        &[
            to!("0a:00:01:01", "UDP(10.0.1.7, 1, 10.0.5.6, 2)"),
            to!("0a:00:01:01", "UDP(10.0.1.7, 1, 10.0.5.255, 2)"),
        ],
        &["nowhere.count"],
        expect![[r#"
            nowhere.count: 1
            to left at 0.5 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.5.6 tell 10.0.5.1
            to left at 10.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.5.5 tell 10.0.5.1
            to left at 10.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.5.1 > 10.0.5.5 ICMP 11/0 about [UDP 10.0.5.5:1 > 10.0.1.7:2 ttl 1 len 32] ttl 199 len 60
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 11/0 about [UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 1 len 32] ttl 199 len 60
        "#]],
    );
}

#[test]
fn routes_lead_to_routers_in_secondary_networks() {
    let instance =
        with(with_secondary(), "/route", json!([{ "prefix": "default", "gateway": "10.0.5.254" }]));
    check(
        instance,
        &[to!("0a:00:00:01", "at=20 ARPREPLY(10.0.5.254, 10.0.5.1)")],
        &[to!("0a:00:01:01", "UDP(10.0.1.7, 1, 192.0.2.1, 2)")],
        &[],
        expect![[r#"
            to left at 0.5 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.5.254 tell 10.0.5.1
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.1.7:1 > 192.0.2.1:2 ttl 63 len 32
        "#]],
    );
}

#[test]
fn addresses_that_cannot_be_are_refused() {
    let secondary = |address: &str| with(two_ports(), "/interface/0/secondary-address", json!([address]));
    check(secondary("10.0.1.9/24"), &[], &[], &[], expect!["left (10.0.1.9/24) and right (10.0.1.1/24) are in one network; give them addresses of different networks, or use `weir bridge`"]);
    check(
        secondary("10.0.0.255/24"),
        &[],
        &[],
        &[],
        expect!["there are two routes for 10.0.0.255/32; give one"],
    );
    check(secondary("10.0.0.127/24"), &[], &[], &[], expect![""]);
    let near_broadcast =
        with(two_ports(), "/interface/0/secondary-address", json!(["10.0.0.127/24", "10.0.0.2/25"]));
    check(near_broadcast, &[], &[], &[], expect!["there are two routes for 10.0.0.127/32; give one"]);
    let same = with(two_ports(), "/interface/0/secondary-address", json!(["10.0.0.1/24"]));
    check(
        same,
        &[],
        &[],
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
        0.0.0.0/8		-		4
        127.0.0.0/8		-		4
        224.0.0.0/4		-		4
        240.0.0.0/4		-		4
        0.0.0.0/0		-		3

    "#]],
    );
}

#[test]
fn what_has_state_is_called_after_the_interface() {
    let element = |names: &[&str]| {
        let interfaces: Vec<Value> = (0..)
            .zip(names)
            .map(|(i, name)| json!({ "name": name, "address": format!("10.0.{i}.1/24") }))
            .collect();
        let (text, _) =
            harness::graph("router", &json!({ "name": "r", "interface": interfaces }), &[]).unwrap();
        let mut elements: Vec<&str> =
            text.split_whitespace().filter(|word| word.starts_with("port_")).collect();
        elements.retain(|word| !word.contains(['[', ';']));
        elements.join(" ")
    };
    assert_eq!(element(&["wan", "lan_1.2-b"]), "port_wan port_lan__1_2e_2_2d_b");
    assert_eq!(element(&["new", "wan"]), "port_new port_wan");
}

fn with_vlans() -> Value {
    json!({ "name": "r", "interface": [
        { "name": "left" },
        { "name": "right", "address": "10.0.1.1/24" },
        { "name": "office", "address": "10.0.20.1/24", "secondary-address": ["10.0.21.1/24"], "parent": "left", "vlan": 20 },
        { "name": "guests", "address": "10.0.30.1/24", "parent": "left", "vlan": 30 },
        { "name": "dmz", "address": "10.0.40.1/24", "parent": "right", "vlan": 20 },
    ] })
}

const VLAN_READS: [&str; 5] = [
    "other_vlans_left.count",
    "unaddressed_left.count",
    "other_vlans_right.count",
    "port_office/arp.count",
    "port_guests/arp.count",
];

#[test]
fn frames_belong_to_the_vlan_of_their_tag() {
    check(
        with_vlans(),
        &[
            "vlan=20 from=02:00:00:00:00:05 ARP(10.0.20.5, 10.0.20.1)",
            "vlan=20 from=02:00:00:00:00:05 ARP(10.0.21.5, 10.0.21.1)",
            "vlan=30 from=02:00:00:00:00:05 ARP(10.0.30.5, 10.0.20.1)",
            "vlan=31 from=02:00:00:00:00:05 ARP(10.0.30.5, 10.0.30.1)",
            "from=02:00:00:00:00:05 ARP(10.0.20.5, 10.0.20.1)",
            "vlan=57344 from=02:00:00:00:00:05 ARP(10.0.20.5, 10.0.20.1)",
        ],
        &[
            "vlan=57344 from=02:00:00:00:00:05 ARP(10.0.1.5, 10.0.1.1)",
            "from=02:00:00:00:00:05 ARP(10.0.1.5, 10.0.1.1)",
            "vlan=24596 from=02:00:00:00:00:05 ARP(10.0.40.5, 10.0.40.1)",
            "vlan=4095 from=02:00:00:00:00:05 ARP(10.0.1.5, 10.0.1.1)",
        ],
        &VLAN_READS,
        expect![[r#"
            other_vlans_left.count: 1
            unaddressed_left.count: 2
            other_vlans_right.count: 1
            port_office/arp.count: 0
            port_guests/arp.count: 0
            to left at 0.0 ms: 2:0:a:0:14:1 > 2:0:0:0:0:5 VLAN 20 ARP 10.0.20.1 is at 2:0:a:0:14:1 to 10.0.20.5
            to right at 0.5 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 ARP 10.0.1.1 is at 2:0:a:0:1:1 to 10.0.1.5
            to left at 1.0 ms: 2:0:a:0:14:1 > 2:0:0:0:0:5 VLAN 20 ARP 10.0.21.1 is at 2:0:a:0:14:1 to 10.0.21.5
            to right at 1.5 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 ARP 10.0.1.1 is at 2:0:a:0:1:1 to 10.0.1.5
            to right at 2.5 ms: 2:0:a:0:28:1 > 2:0:0:0:0:5 VLAN 20 ARP 10.0.40.1 is at 2:0:a:0:28:1 to 10.0.40.5
        "#]],
    );
}

#[test]
fn packets_are_routed_between_vlans() {
    check(
        with_vlans(),
        &[
            to!("0a:00:14:01", "vlan=20 UDP(10.0.20.5, 1, 10.0.30.5, 2)"),
            to!("0a:00:14:01", "vlan=20 UDP(10.0.20.5, 1, 10.0.40.5, 2)"),
            to!("0a:00:14:01", "vlan=20 UDP(10.0.20.5, 1, 10.0.1.5, 2)"),
            to!("0a:00:14:01", "vlan=20 ttl=1 UDP(10.0.20.5, 1, 10.0.1.5, 2)"),
            // Another VLAN's address of the router.
            to!("0a:00:14:01", "vlan=30 UDP(10.0.30.5, 1, 10.0.1.5, 2)"),
            to!("0a:00:1e:01", "at=20 vlan=30 ARPREPLY(10.0.30.5, 10.0.30.1)"),
            to!("0a:00:14:01", "at=30 vlan=20 ARPREPLY(10.0.20.5, 10.0.20.1)"),
        ],
        &[
            to!("0a:00:28:01", "at=40 vlan=20 ARPREPLY(10.0.40.5, 10.0.40.1)"),
            to!("0a:00:01:01", "at=50 ARPREPLY(10.0.1.5, 10.0.1.1)"),
        ],
        &VLAN_READS,
        expect![[r#"
            other_vlans_left.count: 0
            unaddressed_left.count: 0
            other_vlans_right.count: 0
            port_office/arp.count: 1
            port_guests/arp.count: 1
            to left at 0.0 ms: 2:0:a:0:1e:1 > ff:ff:ff:ff:ff:ff VLAN 30 ARP who has 10.0.30.5 tell 10.0.30.1
            to right at 1.0 ms: 2:0:a:0:28:1 > ff:ff:ff:ff:ff:ff VLAN 20 ARP who has 10.0.40.5 tell 10.0.40.1
            to right at 2.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.5 tell 10.0.1.1
            to left at 3.0 ms: 2:0:a:0:14:1 > ff:ff:ff:ff:ff:ff VLAN 20 ARP who has 10.0.20.5 tell 10.0.20.1
            to left at 20.0 ms: 2:0:a:0:1e:1 > 2:0:0:0:0:5 VLAN 30 UDP 10.0.20.5:1 > 10.0.30.5:2 ttl 63 len 32
            to left at 30.0 ms: 2:0:a:0:14:1 > 2:0:0:0:0:5 VLAN 20 10.0.20.1 > 10.0.20.5 ICMP 11/0 about [UDP 10.0.20.5:1 > 10.0.1.5:2 ttl 1 len 32] ttl 199 len 60
            to right at 40.0 ms: 2:0:a:0:28:1 > 2:0:0:0:0:5 VLAN 20 UDP 10.0.20.5:1 > 10.0.40.5:2 ttl 63 len 32
            to right at 50.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 UDP 10.0.20.5:1 > 10.0.1.5:2 ttl 63 len 32
        "#]],
    );
}

#[test]
fn vlans_have_their_ports_ethernet_address_if_one_is_given() {
    let ethernet = json!([
        { "port": "guests", "address": "02:00:00:00:00:bb" },
        { "port": "left", "address": "02:00:00:00:00:aa" },
        { "port": "right", "address": "02:00:00:00:00:cc" },
    ]);
    check(
        with(with_vlans(), "/ethernet", ethernet),
        &[
            "vlan=20 from=02:00:00:00:00:05 ARP(10.0.20.5, 10.0.20.1)",
            "vlan=30 from=02:00:00:00:00:05 ARP(10.0.30.5, 10.0.30.1)",
        ],
        &["from=02:00:00:00:00:05 ARP(10.0.1.5, 10.0.1.1)"],
        &[],
        expect![[r#"
            to left at 0.0 ms: 2:0:0:0:0:aa > 2:0:0:0:0:5 VLAN 20 ARP 10.0.20.1 is at 2:0:0:0:0:aa to 10.0.20.5
            to right at 0.5 ms: 2:0:0:0:0:cc > 2:0:0:0:0:5 ARP 10.0.1.1 is at 2:0:0:0:0:cc to 10.0.1.5
            to left at 1.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:5 VLAN 30 ARP 10.0.30.1 is at 2:0:0:0:0:bb to 10.0.30.5
        "#]],
    );
}

#[test]
fn only_interfaces_without_a_parent_are_ports() {
    let (_, ports) = harness::graph("router", &with_vlans(), &[]).unwrap();
    assert_eq!(ports, ["left", "right"]);
    assert_eq!(
        harness::graph("router", &with_vlans(), &["office"]).unwrap_err(),
        "a router has no port `office`; its ports: left, right"
    );
}

#[test]
fn vlans_that_cannot_be_are_refused() {
    let mut told = String::new();
    for other in [
        json!({ "name": "office", "address": "10.0.2.1/24", "parent": "left" }),
        json!({ "name": "office", "address": "10.0.2.1/24", "vlan": 20 }),
        json!({ "name": "office", "parent": "left", "vlan": 20 }),
        json!({ "name": "office", "address": "10.0.2.1/24", "parent": "left", "vlan": 4095 }),
        json!({ "name": "office", "address": "10.0.2.1/24", "parent": "middle", "vlan": 20 }),
        json!({ "name": "office", "address": "10.0.0.2/24", "parent": "left", "vlan": 20 }),
        json!({ "name": "office", "secondary-address": ["10.0.2.1/24"] }),
        json!({ "name": "office" }),
    ] {
        let mut instance = two_ports();
        instance["interface"].as_array_mut().unwrap().push(other);
        told += &run("router", instance, &[], &[]);
        told += "\n";
    }
    let mut twice = with_vlans();
    twice["interface"][3]["vlan"] = json!(20);
    told += &run("router", twice, &[], &[]);
    expect![[r#"
        /router:router[name='r']/interface[name='office']/parent: an interface with a parent is a VLAN of it: give it a vlan
        /router:router[name='r']/interface[name='office']/vlan: name the port that has the VLAN by parent
        interface office has no address; add --address office=ADDRESS/LENGTH
        /router:router[name='r']/interface[name='office']/vlan: Unsatisfied range - value "4095" is out of the allowed range.
        interface office: no port `middle`; there are left, right
        left (10.0.0.1/24) and office (10.0.0.2/24) are in one network; give them addresses of different networks, or use `weir bridge`
        /router:router[name='r']/interface[name='office']/secondary-address[.='10.0.2.1/24']: an interface with a secondary-address needs an address first
        interface office has no address; add --address office=ADDRESS/LENGTH
        office and guests are both VLAN 20 of left; give one, with secondary addresses if it has several"#]].assert_eq(&told);
}

#[test]
fn there_are_at_most_255_interfaces() {
    let with_vlans = |n: usize| {
        let vlan = |i: usize| json!({ "name": format!("v{i}"), "address": format!("10.0.{i}.1/24"), "parent": "left", "vlan": i + 1 });
        let port = json!({ "name": "left" });
        let interfaces: Vec<Value> = std::iter::once(port).chain((0..n).map(vlan)).collect();
        harness::graph("router", &json!({ "name": "r", "interface": interfaces }), &[])
    };
    assert!(with_vlans(255).is_ok());
    assert_eq!(
        with_vlans(256).unwrap_err(),
        "there are 256 interfaces with addresses; 255 is most: use several routers"
    );
}

fn with_two_ways(weight: u8) -> Value {
    let routes = json!([
        { "prefix": "192.0.2.0/24", "gateway": "10.0.0.254" },
        { "prefix": "192.0.2.0/24", "gateway": "10.0.1.254", "weight": weight },
        { "prefix": "198.51.100.0/24", "gateway": "10.0.1.254", "weight": weight },
        { "prefix": "198.51.100.0/24", "gateway": "10.0.0.254" },
        { "prefix": "203.0.113.0/24", "gateway": "10.0.1.254" },
    ]);
    with(two_ports(), "/route", routes)
}

/// Answers of the routers that the ways lead to.
const NEXT: [&str; 2] = [
    to!("0a:00:00:01", "at=50 ARPREPLY(10.0.0.254, 10.0.0.1)"),
    to!("0a:00:01:01", "at=50 ARPREPLY(10.0.1.254, 10.0.1.1)"),
];

#[test]
fn flows_are_spread_over_the_routes_to_a_network() {
    let frames = [
        to!("0a:00:00:01", "UDP(10.0.0.5, 1, 192.0.2.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 2, 192.0.2.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 3, 192.0.2.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 4, 192.0.2.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 1, 192.0.2.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 2, 198.51.100.1, 80)"),
        to!("0a:00:00:01", "UDP(10.0.0.5, 2, 203.0.113.1, 80)"),
        NEXT[0],
    ];
    check(
        with_two_ways(1),
        &frames,
        &NEXT[1..],
        &["routes.table", "hops_10_0_0_254_10_0_1_254.hops"],
        expect![[r#"
            routes.table: 10.0.0.1/32		-		2
            10.0.1.1/32		-		2
            10.0.0.0/24		-		0
            10.0.0.0/32		-		4
            10.0.0.255/32		-		4
            10.0.1.0/24		-		1
            10.0.1.0/32		-		4
            10.0.1.255/32		-		4
            192.0.2.0/24		-		5
            198.51.100.0/24		-		5
            203.0.113.0/24		10.0.1.254	1
            0.0.0.0/8		-		4
            127.0.0.0/8		-		4
            224.0.0.0/4		-		4
            240.0.0.0/4		-		4
            0.0.0.0/0		-		3

            hops_10_0_0_254_10_0_1_254.hops: 10.0.0.254 1 4 50.9
            10.0.1.254 1 2 49.1

            to right at 0.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.254 tell 10.0.1.1
            to left at 1.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1
            to left at 1.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.254 tell 10.0.0.1
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.0.5:2 > 192.0.2.1:80 ttl 63 len 32
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.0.5:3 > 192.0.2.1:80 ttl 63 len 32
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.0.5:4 > 192.0.2.1:80 ttl 63 len 32
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 10.0.0.5:2 > 198.51.100.1:80 ttl 63 len 32
            to right at 50.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 UDP 10.0.0.5:1 > 192.0.2.1:80 ttl 63 len 32
            to right at 50.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 UDP 10.0.0.5:1 > 192.0.2.1:80 ttl 63 len 32
            to right at 50.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:5 UDP 10.0.0.5:2 > 203.0.113.1:80 ttl 63 len 32
        "#]],
    );
}

#[test]
fn weights_say_how_many_flows_a_way_gets() {
    let told = run("router", with_two_ways(3), &[], &["hops_10_0_0_254_10_0_1_254x3.hops"]);
    expect![[r#"
        hops_10_0_0_254_10_0_1_254x3.hops: 10.0.0.254 1 0 25.1
        10.0.1.254 3 0 74.9

    "#]]
    .assert_eq(&told);
}

#[test]
fn flows_stay_on_their_way_when_another_goes() {
    let route = |gateway: &str| json!({ "prefix": "192.0.2.0/24", "gateway": gateway });
    let gateways = ["10.0.1.11", "10.0.1.12", "10.0.1.13"];
    let ways = |gateways: &[&str]| {
        let routes: Vec<Value> = gateways.iter().map(|gateway| route(gateway)).collect();
        let flows: Vec<String> = (1..=40)
            .map(|port| format!(to!("0a:00:00:01", "UDP(10.0.0.5, {}, 192.0.2.1, 80)"), port))
            .collect();
        let flows: Vec<&str> = flows.iter().map(String::as_str).collect();
        let answers: Vec<String> = (11..14)
            .map(|i| {
                format!("at=100 to=02:00:0a:00:01:01 from=02:00:00:00:00:{i} ARPREPLY(10.0.1.{i}, 10.0.1.1)")
            })
            .collect();
        let answers: Vec<&str> = answers.iter().map(String::as_str).collect();
        let told = run(
            "router",
            with(two_ports(), "/route", json!(routes)),
            &[("left", &flows), ("right", &answers)],
            &[],
        );
        let mut ways: Vec<(u16, String)> = told
            .lines()
            .filter(|line| line.contains(" UDP "))
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let to = words.iter().position(|word| *word == ">").unwrap() + 1;
                let from = words.iter().find(|word| word.starts_with("10.0.0.5:")).unwrap();
                (from.rsplit(':').next().unwrap().parse().unwrap(), words[to].to_string())
            })
            .collect();
        ways.sort();
        assert_eq!(ways.len(), 40, "{told}");
        ways
    };
    let (all, fewer) = (ways(&gateways), ways(&gateways[..2]));
    let gone = "2:0:0:0:0:13";
    let n_gone = all.iter().filter(|(_, way)| way == gone).count();
    assert!((1..39).contains(&n_gone), "{all:?}");
    for (before, after) in all.iter().zip(&fewer) {
        assert!(before.1 == gone && after.1 != gone || before == after, "{before:?} {after:?}");
    }
}

#[test]
fn routes_that_cannot_be_are_refused() {
    let mut told = String::new();
    for (gateway, prefix) in
        [("10.0.9.1", "192.0.2.0/24"), ("10.0.0.1", "192.0.2.0/24"), ("10.0.0.254", "default")]
    {
        let routes = json!([
            { "prefix": "192.0.2.0/24", "gateway": "10.0.0.254" },
            { "prefix": "0.0.0.0/0", "gateway": "10.0.0.254" },
            { "prefix": prefix, "gateway": gateway },
        ]);
        told += &run("router", with(two_ports(), "/route", routes), &[], &[]);
        told += "\n";
    }
    expect![[r#"
        --route `192.0.2.0/24 via 10.0.9.1`: 10.0.9.1 is in none of the router's networks (10.0.0.1/24 on left, 10.0.1.1/24 on right)
        --route `192.0.2.0/24 via 10.0.0.1`: 10.0.0.1 is this router's own address on left; name the next router's
        there are two routes for 0.0.0.0/0 via 10.0.0.254; give one
    "#]].assert_eq(&told);
}
