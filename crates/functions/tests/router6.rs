//! The function `router` with IPv6.

mod harness;

use expect_test::{expect, Expect};
use harness::run;
use serde_json::{json, Value};

/// Of the interface `left`, by the stem of its addresses.
const LEFT: &str = "02:00:0a:00:00:01";

fn check(instance: Value, left: &[&str], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run("router", instance, &[("left", left), ("right", right)], reads));
}

/// Left with both protocols, right with IPv6 only.
fn router() -> Value {
    json!({ "name": "r",
        "interface": [{ "name": "left", "address": "10.0.0.1/24" }, { "name": "right" }],
        "ethernet": [{ "port": "right", "address": "02:00:00:00:00:bb" }],
        "ipv6-address": [
            { "interface": "left", "address": "2001:db8:a::1/64" },
            { "interface": "right", "address": "2001:DB8:b:0::1/64" },
            { "interface": "right", "address": "2001:db8:c::1/64" },
        ] })
}

/// With more values.
fn with(mut instance: Value, name: &str, value: Value) -> Value {
    instance[name] = value;
    instance
}

/// A frame of the host on the left to the router.
fn left(frame: &str) -> String {
    format!("to={LEFT} from=02:00:00:00:00:05 {frame}")
}

fn right(frame: &str) -> String {
    format!("to=02:00:00:00:00:bb from=02:00:00:00:00:06 {frame}")
}

/// A frame to a group.
fn group(mac: &str, frame: &str) -> String {
    format!("to={mac} from=02:00:00:00:00:05 {frame}")
}

fn texts(frames: &[String]) -> Vec<&str> {
    frames.iter().map(String::as_str).collect()
}

#[test]
fn hosts_find_the_router_and_it_finds_them() {
    check(
        router(),
        &texts(&[
            group("33:33:ff:00:00:01", "NS(2001:db8:a::5, ff02::1:ff00:1, 2001:db8:a::1)"),
            left("NS(fe80::5, fe80::aff:fe00:1, fe80::aff:fe00:1)"),
            left("UDP6(2001:db8:a::5, 1, 2001:db8:b::6, 2)"),
            left("UDP6(2001:db8:a::5, 3, 2001:db8:b::6, 2)"),
            left("at=20 ttl=2 UDP6(2001:db8:a::5, 4, 2001:db8:b::6, 2)"),
        ]),
        &texts(&[
            right("at=10 NA(2001:db8:b::6, fe80::ff:fe00:bb)"),
            right("at=30 UDP6(2001:db8:b::6, 2, 2001:db8:a::5, 1)"),
        ]),
        &["routes6.table", "port6_left/nd.table", "port6_right/nd.table"],
        expect![[r#"
            routes6.table: # Active routes
            2001:db8:a::1/128	::	2
            2001:db8:b::1/128	::	2
            2001:db8:c::1/128	::	2
            2001:db8:a::/128	::	2
            2001:db8:b::/128	::	2
            2001:db8:c::/128	::	2
            2001:db8:a::/64	::	0
            2001:db8:b::/64	::	1
            2001:db8:c::/64	::	1
            fe80::/10	::	5
            ::/128	::	4
            ::0.0.0.1/128	::	4
            ::ffff:0.0.0.0/96	::	4
            ff00::/8	::	4
            ::/0	::	3

            port6_left/nd.table: 2001:db8:a::5 delay 02:00:00:00:00:05 host 2 0
            fe80::5 stale 02:00:00:00:00:05 host 2 0

            port6_right/nd.table: 2001:db8:b::6 reachable 02:00:00:00:00:06 host 2 0

            to left at 0.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 2001:db8:a::1 is at 2:0:a:0:0:1 flags e0 hops 255 len 32
            to left at 1.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 fe80::aff:fe00:1 > fe80::5 fe80::aff:fe00:1 is at 2:0:a:0:0:1 flags e0 hops 255 len 32
            to right at 2.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:6 fe80::ff:fe00:bb > ff02::1:ff00:6 who has 2001:db8:b::6, tell 2:0:0:0:0:bb hops 255 len 32
            to right at 10.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:1 > [2001:db8:b::6]:2 hops 63 len 8
            to right at 10.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:3 > [2001:db8:b::6]:2 hops 63 len 8
            to right at 20.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:4 > [2001:db8:b::6]:2 hops 1 len 8
            to left at 30.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP [2001:db8:b::6]:2 > [2001:db8:a::5]:1 hops 63 len 8
        "#]],
    );
}

#[test]
fn the_router_answers_pings_to_all_its_addresses() {
    check(
        router(),
        &texts(&[
            left("PING6(2001:db8:a::5, 2001:db8:a::1, 1)"),
            left("PING6(2001:db8:a::5, 2001:db8:b::1, 2)"),
            // Any router of the network.
            left("PING6(2001:db8:a::5, 2001:db8:a::, 3)"),
            left("PING6(fe80::5, fe80::aff:fe00:1, 4)"),
            left("PING6(fe80::5, 2001:db8:c::1, 5)"),
            group("33:33:00:00:00:01", "PING6(fe80::5, ff02::1, 6)"),
            group("33:33:00:00:00:02", "PING6(2001:db8:a::5, ff02::2, 7)"),
            // The link-local address of another port.
            left("PING6(fe80::5, fe80::ff:fe00:bb, 8)"),
            group("33:33:00:00:00:05", "PING6(fe80::5, ff02::5, 9)"),
            left("at=50 NA(2001:db8:a::5, 2001:db8:a::1)"),
            left("at=50 NA(fe80::5, 2001:db8:a::1)"),
        ]),
        &[],
        &["other6.count"],
        expect![[r#"
            other6.count: 0
            to left at 0.0 ms: 2:0:a:0:0:1 > 33:33:ff:0:0:5 fe80::aff:fe00:1 > ff02::1:ff00:5 who has 2001:db8:a::5, tell 2:0:a:0:0:1 hops 255 len 32
            to left at 3.0 ms: 2:0:a:0:0:1 > 33:33:ff:0:0:5 fe80::aff:fe00:1 > ff02::1:ff00:5 who has fe80::5, tell 2:0:a:0:0:1 hops 255 len 32
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 pong 1 hops 63 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:b::1 > 2001:db8:a::5 pong 2 hops 63 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 pong 3 hops 63 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 pong 7 hops 63 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 fe80::aff:fe00:1 > fe80::5 pong 4 hops 64 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:c::1 > fe80::5 pong 5 hops 64 len 10
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 fe80::aff:fe00:1 > fe80::5 pong 6 hops 64 len 10
        "#]],
    );
}

#[test]
fn errors_are_told_from_the_interface_by_which_the_packet_came() {
    let big = left("at=10 payload=1500 UDP6(2001:db8:a::5, 1, 2001:db8:b::6, 2)");
    let frames = [
        left("NS(2001:db8:a::5, 2001:db8:a::1, 2001:db8:a::1)"),
        left("NS(fe80::5, fe80::aff:fe00:1, fe80::aff:fe00:1)"),
        left("at=5 ttl=1 UDP6(2001:db8:a::5, 1, 2001:db8:b::6, 2)"),
        big,
        left("at=15 UDP6(2001:db8:a::5, 1, 2001:db9::1, 2)"),
        left("at=20 UDP6(fe80::5, 1, 2001:db8:b::6, 2)"),
        left("at=25 UDP6(2001:db8:a::5, 1, 2001:db8:b::1, 2)"),
        left("at=30 UDP6(2001:db8:a::5, 1, 2001:db8:b::7, 2)"),
        // Nobody is told of these.
        left("at=35 UDP6(2001:db8:a::5, 1, ff0e::1, 2)"),
        left("at=35 UDP6(2001:db8:a::5, 1, fe80::6, 2)"),
        left("at=35 UDP6(2001:db8:a::5, 1, ::1, 2)"),
        left("at=35 UDP6(::, 1, 2001:db8:b::6, 2)"),
        left("at=35 ttl=1 NA(2001:db8:a::5, 2001:db9::1)"),
    ];
    let told = harness::run_for(
        "4s",
        "router",
        router(),
        &[("left", &texts(&frames)), ("right", &[])],
        &["too_many_errors6.count"],
    );
    expect![[r#"
        too_many_errors6.count: 0
        to left at 0.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 2001:db8:a::1 is at 2:0:a:0:0:1 flags e0 hops 255 len 32
        to left at 1.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 fe80::aff:fe00:1 > fe80::5 fe80::aff:fe00:1 is at 2:0:a:0:0:1 flags e0 hops 255 len 32
        to left at 5.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 ICMPv6 3/0 about [UDP [2001:db8:a::5]:1 > [2001:db8:b::6]:2 hops 1 len 8] hops 254 len 56
        to left at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 too big, mtu 1500 about [UDP [2001:db8:a::5]:1 > [2001:db8:b::6]:2 hops 63 len 1508] hops 254 len 1240
        to left at 15.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 ICMPv6 1/0 about [UDP [2001:db8:a::5]:1 > [2001:db9::1]:2 hops 64 len 8] hops 254 len 56
        to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 fe80::aff:fe00:1 > fe80::5 ICMPv6 1/2 about [UDP [fe80::5]:1 > [2001:db8:b::6]:2 hops 64 len 8] hops 255 len 56
        to left at 25.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 ICMPv6 1/4 about [UDP [2001:db8:a::5]:1 > [2001:db8:b::1]:2 hops 64 len 8] hops 254 len 56
        to right at 30.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:7 fe80::ff:fe00:bb > ff02::1:ff00:7 who has 2001:db8:b::7, tell 2:0:0:0:0:bb hops 255 len 32
        to right at 1030.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:7 fe80::ff:fe00:bb > ff02::1:ff00:7 who has 2001:db8:b::7, tell 2:0:0:0:0:bb hops 255 len 32
        to right at 2030.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:7 fe80::ff:fe00:bb > ff02::1:ff00:7 who has 2001:db8:b::7, tell 2:0:0:0:0:bb hops 255 len 32
        to left at 3030.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 2001:db8:a::1 > 2001:db8:a::5 ICMPv6 1/3 about [UDP [2001:db8:a::5]:1 > [2001:db8:b::7]:2 hops 63 len 8] hops 254 len 56
    "#]].assert_eq(&told);
}

#[test]
fn routes_lead_to_routers_also_by_their_link_local_addresses() {
    let routes = json!([
        { "prefix": "2001:db9::/32", "gateway": "2001:db8:c::9" },
        { "prefix": "default", "gateway": "fe80::9%right" },
    ]);
    check(
        with(router(), "ipv6-route", routes),
        &texts(&[
            left("UDP6(2001:db8:a::5, 1, 2001:db9::1, 2)"),
            left("UDP6(2001:db8:a::5, 1, 2001:dba::1, 2)"),
        ]),
        &texts(&[
            right("at=10 NA(2001:db8:c::9, fe80::ff:fe00:bb)"),
            right("at=20 NA(fe80::9, fe80::ff:fe00:bb)"),
        ]),
        &["routes6.table"],
        expect![[r#"
            routes6.table: # Active routes
            2001:db8:a::1/128	::	2
            2001:db8:b::1/128	::	2
            2001:db8:c::1/128	::	2
            2001:db8:a::/128	::	2
            2001:db8:b::/128	::	2
            2001:db8:c::/128	::	2
            2001:db8:a::/64	::	0
            2001:db8:b::/64	::	1
            2001:db8:c::/64	::	1
            2001:db9::/32	2001:db8:c::9	1
            ::/0	fe80::9	1
            fe80::/10	::	5
            ::/128	::	4
            ::0.0.0.1/128	::	4
            ::ffff:0.0.0.0/96	::	4
            ff00::/8	::	4

            to right at 0.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:9 fe80::ff:fe00:bb > ff02::1:ff00:9 who has 2001:db8:c::9, tell 2:0:0:0:0:bb hops 255 len 32
            to right at 1.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:9 fe80::ff:fe00:bb > ff02::1:ff00:9 who has fe80::9, tell 2:0:0:0:0:bb hops 255 len 32
            to right at 10.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:1 > [2001:db9::1]:2 hops 63 len 8
            to right at 20.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:1 > [2001:dba::1]:2 hops 63 len 8
        "#]],
    );
}

#[test]
fn flows_are_spread_over_several_next_hops() {
    let routes = json!([
        { "prefix": "2001:db9::/32", "gateway": "fe80::9%right" },
        { "prefix": "2001:db9::/32", "gateway": "fe80::9%left", "weight": 2 },
        { "prefix": "2001:db9::/32", "gateway": "2001:db8:C::9" },
        { "prefix": "::/0", "gateway": "2001:db8:c::9" },
        { "prefix": "2001:dba::/32", "gateway": "2001:db8:c::9" },
        { "prefix": "2001:dba::/32", "gateway": "fe80::9%left", "weight": 2 },
        { "prefix": "2001:dba::/32", "gateway": "fe80::9%right" },
    ]);
    let frames: Vec<String> =
        (1..=8).map(|port| left(&format!("UDP6(2001:db8:a::5, {port}, 2001:db9::1, 2)"))).collect();
    let answers =
        [right("at=50 NA(2001:db8:c::9, fe80::ff:fe00:bb)"), right("at=50 NA(fe80::9, fe80::ff:fe00:bb)")];
    check(
        with(router(), "ipv6-route", routes),
        &texts(&[frames, vec![left("at=50 NA(fe80::9, fe80::aff:fe00:1)")]].concat()),
        &texts(&answers),
        &["hops6_2001_3a_db8_3a_c_3a__3a_9_2c__20_fe80_3a__3a_9_25_left_20_2_2c__20_fe80_3a__3a_9_25_right.hops", "routes6.table"],
        expect![[r#"
            hops6_2001_3a_db8_3a_c_3a__3a_9_2c__20_fe80_3a__3a_9_25_left_20_2_2c__20_fe80_3a__3a_9_25_right.hops: 2001:db8:c::9 1 4 25.3
            fe80::9%left 2 4 49.4
            fe80::9%right 1 0 25.2

            routes6.table: # Active routes
            2001:db8:a::1/128	::	2
            2001:db8:b::1/128	::	2
            2001:db8:c::1/128	::	2
            2001:db8:a::/128	::	2
            2001:db8:b::/128	::	2
            2001:db8:c::/128	::	2
            2001:db8:a::/64	::	0
            2001:db8:b::/64	::	1
            2001:db8:c::/64	::	1
            2001:db9::/32	::	6
            ::/0	2001:db8:c::9	1
            2001:dba::/32	::	6
            fe80::/10	::	5
            ::/128	::	4
            ::0.0.0.1/128	::	4
            ::ffff:0.0.0.0/96	::	4
            ff00::/8	::	4

            to right at 0.0 ms: 2:0:0:0:0:bb > 33:33:ff:0:0:9 fe80::ff:fe00:bb > ff02::1:ff00:9 who has 2001:db8:c::9, tell 2:0:0:0:0:bb hops 255 len 32
            to left at 1.0 ms: 2:0:a:0:0:1 > 33:33:ff:0:0:9 fe80::aff:fe00:1 > ff02::1:ff00:9 who has fe80::9, tell 2:0:a:0:0:1 hops 255 len 32
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP [2001:db8:a::5]:2 > [2001:db9::1]:2 hops 63 len 8
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP [2001:db8:a::5]:4 > [2001:db9::1]:2 hops 63 len 8
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP [2001:db8:a::5]:5 > [2001:db9::1]:2 hops 63 len 8
            to left at 50.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP [2001:db8:a::5]:8 > [2001:db9::1]:2 hops 63 len 8
            to right at 50.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:1 > [2001:db9::1]:2 hops 63 len 8
            to right at 50.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:3 > [2001:db9::1]:2 hops 63 len 8
            to right at 50.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:6 > [2001:db9::1]:2 hops 63 len 8
            to right at 50.0 ms: 2:0:0:0:0:bb > 2:0:0:0:0:6 UDP [2001:db8:a::5]:7 > [2001:db9::1]:2 hops 63 len 8
        "#]],
    );
}

#[test]
fn vlans_have_ipv6_networks() {
    let instance = json!({ "name": "r",
        "interface": [
            { "name": "left" },
            { "name": "right", "address": "10.0.1.1/24" },
            { "name": "office", "parent": "left", "vlan": 20 },
            { "name": "guests", "address": "10.0.30.1/24", "parent": "left", "vlan": 30 },
        ],
        "ipv6-address": [
            { "interface": "office", "address": "2001:db8:20::1/64" },
            { "interface": "office", "address": "fe80::20/10" },
            { "interface": "guests", "address": "2001:db8:30::1/64" },
        ],
        "ethernet": [{ "port": "left", "address": "02:00:00:00:00:aa" }] });
    check(
        instance,
        &[
            "vlan=20 to=33:33:ff:00:00:20 from=02:00:00:00:00:05 NS(fe80::5, ff02::1:ff00:20, fe80::20)",
            "vlan=30 to=33:33:ff:00:00:aa from=02:00:00:00:00:05 NS(fe80::5, ff02::1:ff00:aa, fe80::ff:fe00:aa)",
            "vlan=30 from=02:00:00:00:00:05 ARP(10.0.30.5, 10.0.30.1)",
            "vlan=30 to=33:33:ff:00:00:20 from=02:00:00:00:00:05 NS(fe80::5, ff02::1:ff00:20, fe80::20)",
            "vlan=20 to=02:00:00:00:00:aa from=02:00:00:00:00:05 UDP6(2001:db8:20::5, 1, 2001:db8:30::5, 2)",
            "at=20 vlan=30 to=02:00:00:00:00:aa from=02:00:00:00:00:06 NA(2001:db8:30::5, fe80::ff:fe00:aa)",
            "at=30 vlan=20 from=02:00:00:00:00:05 ARP(10.0.20.5, 10.0.20.1)",
        ],
        &["to=02:00:0a:00:01:01 UDP6(2001:db8:9::5, 1, 2001:db8:30::5, 2)"],
        &["port6_office/nd.table", "other_office.count", "port_right/other.count"],
        expect![[r#"
            port6_office/nd.table: fe80::5 stale 02:00:00:00:00:05 host 2 0

            other_office.count: 1
            port_right/other.count: 1
            to left at 0.0 ms: 2:0:0:0:0:aa > 2:0:0:0:0:5 VLAN 20 fe80::20 > fe80::5 fe80::20 is at 2:0:0:0:0:aa flags e0 hops 255 len 32
            to left at 1.0 ms: 2:0:0:0:0:aa > 2:0:0:0:0:5 VLAN 30 fe80::ff:fe00:aa > fe80::5 fe80::ff:fe00:aa is at 2:0:0:0:0:aa flags e0 hops 255 len 32
            to left at 2.0 ms: 2:0:0:0:0:aa > 2:0:0:0:0:5 VLAN 30 ARP 10.0.30.1 is at 2:0:0:0:0:aa to 10.0.30.5
            to left at 4.0 ms: 2:0:0:0:0:aa > 33:33:ff:0:0:5 VLAN 30 fe80::ff:fe00:aa > ff02::1:ff00:5 who has 2001:db8:30::5, tell 2:0:0:0:0:aa hops 255 len 32
            to left at 20.0 ms: 2:0:0:0:0:aa > 2:0:0:0:0:6 VLAN 30 UDP [2001:db8:20::5]:1 > [2001:db8:30::5]:2 hops 63 len 8
        "#]],
    );
}

#[test]
fn hosts_are_told_of_the_router_where_that_is_wanted() {
    let advertisement = json!([
        { "interface": "left", "lifetime": 900, "dns-server": ["2001:db8::53"], "prefix": [
            { "prefix": "2001:db8:a::/64", "valid-lifetime": 60, "preferred-lifetime": 30 },
            { "prefix": "2001:db8:f::/48", "on-link": false, "autonomous": false },
        ] },
        { "interface": "right", "managed": true },
    ]);
    check(
        with(router(), "router-advertisement", advertisement.clone()),
        &texts(&[group("33:33:00:00:00:02", "at=1000 RS(fe80::5, ff02::2)")]),
        &[],
        &["port6_left_advertiser.solicitations", "port6_right_advertiser.count", "port6_left/nd.table"],
        expect![[r#"
            port6_left_advertiser.solicitations: 1
            port6_right_advertiser.count: 1
            port6_left/nd.table: fe80::5 stale 02:00:00:00:00:05 host 1 0

            to right at 197.0 ms: 2:0:0:0:0:bb > 33:33:0:0:0:1 fe80::ff:fe00:bb > ff02::1 RA [40, 80, 07, 08, 00, 00, 00, 00, 00, 00, 00, 00, 01, 01, 02, 00, 00, 00, 00, bb, 05, 01, 00, 00, 00, 00, 05, dc, 03, 04, 40, c0, 00, 27, 8d, 00, 00, 09, 3a, 80, 00, 00, 00, 00, 20, 01, 0d, b8, 00, 0b, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 03, 04, 40, c0, 00, 27, 8d, 00, 00, 09, 3a, 80, 00, 00, 00, 00, 20, 01, 0d, b8, 00, 0c, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00] hops 255 len 96
            to left at 420.0 ms: 2:0:a:0:0:1 > 33:33:0:0:0:1 fe80::aff:fe00:1 > ff02::1 RA [40, 00, 03, 84, 00, 00, 00, 00, 00, 00, 00, 00, 01, 01, 02, 00, 0a, 00, 00, 01, 05, 01, 00, 00, 00, 00, 05, dc, 03, 04, 40, c0, 00, 00, 00, 3c, 00, 00, 00, 1e, 00, 00, 00, 00, 20, 01, 0d, b8, 00, 0a, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 03, 04, 30, 00, 00, 27, 8d, 00, 00, 09, 3a, 80, 00, 00, 00, 00, 20, 01, 0d, b8, 00, 0f, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 19, 03, 00, 00, 00, 00, 07, 08, 20, 01, 0d, b8, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 00, 53] hops 255 len 120
        "#]],
    );
    let mut on_nothing = with(router(), "router-advertisement", advertisement);
    on_nothing["ipv6-address"] = json!([{ "interface": "left", "address": "2001:db8:a::1/64" }]);
    on_nothing["interface"][1]["address"] = json!("10.0.1.1/24");
    check(on_nothing, &[], &[], &[], expect!["--router-advertisement `right`: interface right has no IPv6 address; add --address6 right=ADDRESS/LENGTH"]);
}

#[test]
fn who_has_no_ipv6_has_no_part_for_it() {
    let instance = json!({ "name": "r", "interface": [
        { "name": "left", "address": "10.0.0.1/24" },
        { "name": "right", "address": "10.0.1.1/24" },
    ] });
    let (text, _) = harness::graph("router", &instance, &[]).unwrap();
    assert!(!["IP6", "86dd", "routes6", "family"].iter().any(|word| text.contains(word)), "{text}");
}

#[test]
fn neighbors_are_known_still_when_something_else_changes() {
    // What has state is called after the interface.
    let interfaces = |names: &[&str]| -> Value {
        let list: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let addresses: Vec<Value> = (1..)
            .zip(names)
            .map(|(i, name)| json!({ "interface": name, "address": format!("2001:db8:{i}::1/64") }))
            .collect();
        json!({ "name": "r", "interface": list, "ipv6-address": addresses })
    };
    let elements = |names: &[&str]| {
        let (text, _) = harness::graph("router", &interfaces(names), &[]).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let named = words.windows(2).filter(|pair| pair[1] == "::" && pair[0].starts_with("port6_"));
        named.map(|pair| pair[0]).collect::<Vec<&str>>().join(" ")
    };
    assert_eq!(elements(&["wan", "lan.2"]), "port6_wan port6_lan_2e_2");
    assert_eq!(elements(&["new", "wan"]), "port6_new port6_wan");
}

#[test]
fn what_cannot_be_is_refused() {
    let mut told = String::new();
    let address = |interface: &str, address: &str| {
        let mut instance = router();
        let entry = json!({ "interface": interface, "address": address });
        instance["ipv6-address"].as_array_mut().unwrap().push(entry);
        instance
    };
    let route = |prefix: &str, gateway: &str| {
        let routes = json!([
            { "prefix": "2001:db9::/32", "gateway": "2001:db8:c::9" },
            { "prefix": prefix, "gateway": gateway },
        ]);
        with(router(), "ipv6-route", routes)
    };
    let nothing = json!([{ "prefix": "default", "gateway": "fe80::1%left" }]);
    for instance in [
        address("middle", "2001:db8:d::1/64"),
        address("right", "2001:db8:a::9/48"),
        address("right", "2001:db8:d::1"),
        with(address("right", "fe80::1/64"), "mtu", json!(1279)),
        with(with(router(), "ipv6-address", json!([])), "ipv6-route", nothing),
        {
            let mut twice = address("right", "fe80::1/64");
            let entry = json!({ "interface": "right", "address": "fe80::2/64" });
            twice["ipv6-address"].as_array_mut().unwrap().push(entry);
            twice
        },
        route("default", "2001:db8:d::1"),
        route("default", "2001:db8:a::1"),
        route("default", "fe80::1%middle"),
        route("default", "fe80::ff:fe00:bb%right"),
        route("2001:0db9::/32", "2001:db8:C::9"),
        route("fe80::/64", "2001:db8:c::9"),
        route("2001:db8:b::/64", "2001:db8:c::9"),
    ] {
        told += &run("router", instance, &[], &[]);
        told += "\n";
    }
    expect![[r#"
        --address6 `middle=2001:db8:d::1/64`: no interface `middle`; there are left, right; add it with --if middle=KIND:ARGS
        left (2001:db8:a::1/64) and right (2001:db8:a::9/48) are in one network; give them addresses of different networks, or use `weir bridge`
        /router:ipv6-address[interface='right']/address: expected an address with the length of its network's prefix, such as 2001:db8::1/64
        an MTU of 1279 is too small for IPv6; 1280 is least (RFC 8200)
        interface right has no address; add --address right=ADDRESS/LENGTH
        interface right has two link-local addresses, fe80::1/64 and fe80::2/64; give one
        --route6 `default via 2001:db8:d::1`: 2001:db8:d::1 is in none of the router's networks (2001:db8:a::1/64 on left, 2001:db8:b::1/64 on right, 2001:db8:c::1/64 on right)
        --route6 `default via 2001:db8:a::1`: 2001:db8:a::1 is this router's own address on left; name the next router's
        --route6 `default via fe80::1%middle`: no interface `middle` with an IPv6 address; there are left, right
        --route6 `default via fe80::ff:fe00:bb%right`: fe80::ff:fe00:bb is this router's own address on right; name the next router's
        there are two routes for 2001:db9::/32 via 2001:db8:c::9; give one
        --route6 `fe80::/64 via 2001:db8:c::9`: link-local addresses and groups are not routed
        there are two routes for 2001:db8:b::/64; give one
    "#]].assert_eq(&told);
}
