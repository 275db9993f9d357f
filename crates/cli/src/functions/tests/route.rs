//! `weir route`.

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
            ("dmz", &["at=5 from=02:00:00:00:00:07 to=02:00:c0:a8:00:01 ARPREPLY(192.168.0.7, 192.168.0.1)"]),
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
fn routes_to_one_network_share_its_flows() {
    let words = [&ROUTER[..], &["-r", "10.2.0.0/16 via 10.0.1.8 weight 3"]].concat();
    check(
        &words,
        &[
            to_router!("UDP(10.0.0.5, 1, 10.2.0.1, 2)"),
            to_router!("UDP(10.0.0.5, 2, 10.2.0.1, 2)"),
            to_router!("UDP(10.0.0.5, 3, 10.2.0.1, 2)"),
            to_router!("UDP(10.0.0.5, 4, 10.2.0.1, 2)"),
            to_router!("UDP(10.0.0.5, 5, 10.2.0.1, 2)"),
            to_router!("UDP(10.0.0.5, 6, 10.2.0.1, 2)"),
        ],
        &[GATEWAY, "at=5 from=02:00:00:00:00:08 to=02:00:0a:00:01:01 ARPREPLY(10.0.1.8, 10.0.1.1)"],
        &["hops_10_0_1_8x3_10_0_1_9.hops"],
        expect![[r#"
            hops_10_0_1_8x3_10_0_1_9.hops: 10.0.1.8 3 3 76.6
            10.0.1.9 1 3 23.4

            to right at 0.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.8 tell 10.0.1.1
            to right at 2.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.9 tell 10.0.1.1
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:9 UDP 10.0.0.5:3 > 10.2.0.1:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:9 UDP 10.0.0.5:4 > 10.2.0.1:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:9 UDP 10.0.0.5:6 > 10.2.0.1:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:8 UDP 10.0.0.5:1 > 10.2.0.1:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:8 UDP 10.0.0.5:2 > 10.2.0.1:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:8 UDP 10.0.0.5:5 > 10.2.0.1:2 ttl 63 len 32
        "#]],
    );
}

#[test]
fn an_interface_can_be_a_vlan() {
    let words = [&ROUTER[..], &["-a", "office=10.0.2.1/24 vlan 20 of right"]].concat();
    check(
        &words,
        &[to_router!("UDP(10.0.0.5, 1, 10.0.2.7, 2)"), to_router!("UDP(10.0.0.5, 1, 10.0.1.7, 2)")],
        &[
            "at=5 vlan=20 from=02:00:00:00:00:17 to=02:00:0a:00:02:01 ARPREPLY(10.0.2.7, 10.0.2.1)",
            HOST_ON_THE_RIGHT,
        ],
        &[],
        expect![[r#"
            to right at 0.0 ms: 2:0:a:0:2:1 > ff:ff:ff:ff:ff:ff VLAN 20 ARP who has 10.0.2.7 tell 10.0.2.1
            to right at 1.0 ms: 2:0:a:0:1:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.1.7 tell 10.0.1.1
            to right at 5.0 ms: 2:0:a:0:2:1 > 2:0:0:0:0:17 VLAN 20 UDP 10.0.0.5:1 > 10.0.2.7:2 ttl 63 len 32
            to right at 5.0 ms: 2:0:a:0:1:1 > 2:0:0:0:0:7 UDP 10.0.0.5:1 > 10.0.1.7:2 ttl 63 len 32
        "#]],
    );
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
    let prefix = ["-r", "10.9.0.0/16 via 10.0.1.9", "-r", "10.9.0.0/16 via 10.0.1.9"];
    fails(
        &[&two[..], &prefix].concat(),
        expect!["route: --route `10.9.0.0/16 via 10.0.1.9`: 10.9.0.0/16 10.0.1.9 has a route already; one is enough"],
    );
    fails(
        &[&two[..], &["-r", "10.9.0.0/16 via 10.0.1.9 weight 0"]].concat(),
        expect![[r#"
        error: invalid value '10.9.0.0/16 via 10.0.1.9 weight 0' for '--route <PREFIX via ADDRESS>': expected a number from 1 to 255

        For more information, try '--help'.
    "#]],
    );
    fails(
        &[&two[..], &["-a", "office=10.0.2.1/24 vlan 20 of middle"]].concat(),
        expect!["route: interface office: no port `middle`; there are left, right"],
    );
    fails(
        &[&two[..], &["-a", "office=10.0.2.1/24 vlan 0 of left"]].concat(),
        expect![[r#"
        error: invalid value 'office=10.0.2.1/24 vlan 0 of left' for '--address <NAME=ADDRESS/LENGTH>': expected a number from 1 to 4094

        For more information, try '--help'.
    "#]],
    );
    fails(&[&two[..], &["-a", "right=10.0.2.1/24 vlan 20 of left"]].concat(), expect!["route: --address `right=10.0.2.1/24 vlan 20 of left`: right has an address already; one is enough"]);
    fails(
        &["route", "-a", "left=10.0.0.1/24", "-a", "right=10.0.2.1/24 vlan 20 of left"],
        expect!["route: interface right is a port; give VLAN 20 of left another name"],
    );
    fails(
        &[&two[..], &["-r", "10.0.0.0/24 via 10.0.1.9"]].concat(),
        expect!["route: there are two routes for 10.0.0.0/24; give one"],
    );
}
