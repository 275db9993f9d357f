//! `weir nat`.

use expect_test::expect;

use super::super::testing::{check, fails, run};

const ROUTER: [&str; 7] =
    ["nat", "--left-address", "10.0.0.1/24", "--right-address", "203.0.113.2/24", "--gateway", "203.0.113.1"];
/// So that the addresses above are known: somebody asked for them.
const ASKS_INSIDE: &str = "at=0 to=02:00:0a:00:00:01 from=02:00:00:00:00:05 PING(10.0.0.5, 10.0.0.1, 1)";

macro_rules! from_inside {
    ($at:literal, $frame:literal) => {
        concat!("at=", $at, " from=02:00:00:00:00:05 to=02:00:0a:00:00:01 ", $frame)
    };
}
macro_rules! from_outside {
    ($at:literal, $frame:literal) => {
        concat!("at=", $at, " from=02:00:00:00:00:99 to=02:00:cb:00:71:02 ", $frame)
    };
}
/// Answers to the router's ARP requests, which it sends when it first needs an address.
const ANSWERS: [&str; 2] =
    [from_inside!(8, "ARPREPLY(10.0.0.5, 10.0.0.1)"), from_outside!(8, "ARPREPLY(203.0.113.1, 203.0.113.2)")];

/// What the router says to that, whatever its flags are.
const OPENING: [&str; 4] = [
    "to left at 0.0 ms: 2:0:a:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.5 tell 10.0.0.1\n",
    "to right at 1.0 ms: 2:0:cb:0:71:2 > ff:ff:ff:ff:ff:ff ARP who has 203.0.113.1 tell 203.0.113.2\n",
    "to left at 8.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 pong 1 ttl 254 len 30\n",
    "to right at 8.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 pong 1 ttl 254 len 30\n",
];

/// Runs the router with more flags. Each side first makes the router ask for addresses, and answers. What is told of that is
/// checked here and left out of the expectation.
fn routed(flags: &[&str], left: &[&str], right: &[&str], reads: &[&str], expect: expect_test::Expect) {
    let left = [&[ASKS_INSIDE, ANSWERS[0]], left].concat();
    let right = [&[from_outside!(1, "PING(198.51.100.1, 203.0.113.2, 1)"), ANSWERS[1]], right].concat();
    let told = run(&[&ROUTER, flags].concat(), &left, &right, reads);
    let (opening, rest): (Vec<&str>, Vec<&str>) =
        told.split_inclusive('\n').partition(|line| OPENING.contains(line));
    assert_eq!(opening, OPENING, "{told}");
    expect.assert_eq(&rest.concat());
}

#[test]
fn flows_get_the_outside_address_and_answers_get_back() {
    routed(
        &[],
        &[
            from_inside!(10, "TCP(10.0.0.5, 4000, 198.51.100.1, 80, S)"),
            from_inside!(11, "UDP(10.0.0.5, 500, 198.51.100.1, 53)"),
            from_inside!(12, "PING(10.0.0.5, 198.51.100.1, 7)"),
            from_inside!(13, "PROTO(47, 10.0.0.5, 198.51.100.1)"),
            from_inside!(14, "TCP(10.0.0.6, 4000, 198.51.100.1, 80, S)"),
        ],
        &[
            from_outside!(20, "TCP(198.51.100.1, 80, 203.0.113.2, 4000, SA)"),
            from_outside!(22, "PONG(198.51.100.1, 203.0.113.2, 7)"),
            from_outside!(23, "PROTO(47, 198.51.100.1, 203.0.113.2)"),
        ],
        &["nat/flows.table_size"],
        expect![[r#"
            nat/flows.table_size: 3
            to right at 10.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 TCP 203.0.113.2:4000 > 198.51.100.1:80 S ttl 63 len 40
            to right at 11.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 UDP 203.0.113.2:55226 > 198.51.100.1:53 ttl 63 len 32
            to right at 12.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 ping 7 ttl 63 len 30
            to right at 13.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 protocol 47 ttl 63 len 28
            to right at 14.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 TCP 203.0.113.2:26466 > 198.51.100.1:80 S ttl 63 len 40
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 TCP 198.51.100.1:80 > 10.0.0.5:4000 SA ttl 63 len 40
            to left at 22.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 198.51.100.1 > 10.0.0.5 pong 7 ttl 63 len 30
            to left at 23.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 198.51.100.1 > 10.0.0.5 protocol 47 ttl 63 len 28
        "#]],
    );
}

#[test]
fn nothing_comes_in_unasked() {
    routed(
        &["--inside", "10.0.0.0/25"],
        &[from_inside!(10, "UDP(10.0.0.200, 4000, 198.51.100.1, 80)")],
        &[
            from_outside!(11, "UDP(198.51.100.1, 80, 203.0.113.2, 4000)"),
            from_outside!(12, "UDP(198.51.100.1, 80, 10.0.0.5, 4000)"),
            from_outside!(13, "ERROR(3, 3, 198.51.100.1, 203.0.113.2, 203.0.113.2, 4, 198.51.100.1, 5)"),
        ],
        &["unsolicited.count", "not_inside.count", "nat/flows.table_size"],
        expect![[r#"
            unsolicited.count: 1
            not_inside.count: 1
            nat/flows.table_size: 0
            to right at 11.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 ICMP 3/3 about [UDP 198.51.100.1:80 > 203.0.113.2:4000 ttl 64 len 32] ttl 199 len 60
        "#]],
    );
}

#[test]
fn errors_are_about_the_original_packets() {
    routed(
        &[],
        &[
            from_inside!(10, "ttl=1 UDP(10.0.0.5, 4000, 198.51.100.1, 80)"),
            from_inside!(11, "UDP(10.0.0.5, 4000, 198.51.100.1, 80)"),
            from_inside!(12, "flags=4000 payload=1500 UDP(10.0.0.5, 4001, 198.51.100.1, 80)"),
            from_inside!(30, "ERROR(3, 3, 10.0.0.5, 198.51.100.1, 198.51.100.1, 80, 10.0.0.5, 4000)"),
        ],
        &[
            from_outside!(20, "ERROR(3, 3, 198.51.100.9, 203.0.113.2, 203.0.113.2, 4000, 198.51.100.1, 80)"),
            from_outside!(21, "ttl=1 UDP(198.51.100.1, 80, 203.0.113.2, 4000)"),
        ],
        &[],
        expect![[r#"
            IPFragmenter(1500) DF 203.0.113.2 198.51.100.1 len=1528
            to left at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 11/0 about [UDP 10.0.0.5:4000 > 198.51.100.1:80 ttl 1 len 32] ttl 199 len 60
            to right at 11.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 UDP 203.0.113.2:4000 > 198.51.100.1:80 ttl 63 len 32
            to left at 12.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 10.0.0.1 > 10.0.0.5 ICMP 3/4 mtu 1500 about [UDP 10.0.0.5:4001 > 198.51.100.1:80 ttl 63 len 1528] ttl 199 len 576
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 198.51.100.9 > 10.0.0.5 ICMP 3/3 about [UDP 10.0.0.5:4000 > 198.51.100.1:80 ttl 64 len 32] ttl 63 len 60
            to right at 21.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 ICMP 11/0 about [UDP 198.51.100.1:80 > 203.0.113.2:4000 ttl 1 len 32] ttl 199 len 60
            to right at 30.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.2 > 198.51.100.1 ICMP 3/3 about [UDP 198.51.100.1:80 > 203.0.113.2:4000 ttl 64 len 32] ttl 63 len 60
        "#]],
    );
}

#[test]
fn ports_can_be_forwarded_and_are_reached_from_inside_too() {
    routed(
        &["--forward", "tcp:8080=10.0.0.5:80", "--forward", "udp:53=10.0.0.5"],
        &[
            from_inside!(12, "TCP(10.0.0.5, 80, 198.51.100.7, 999, SA)"),
            "at=9 to=02:00:0a:00:00:01 from=02:00:00:00:00:06 ARPREPLY(10.0.0.6, 10.0.0.1)",
            from_inside!(13, "TCP(10.0.0.6, 5555, 203.0.113.2, 8080, S)"),
            "at=16 to=02:00:0a:00:00:01 from=02:00:00:00:00:06 ARPREPLY(10.0.0.6, 10.0.0.1)",
            from_inside!(14, "TCP(10.0.0.5, 80, 10.0.0.1, 5555, SA)"),
            from_inside!(15, "PING(10.0.0.5, 203.0.113.2, 3)"),
        ],
        &[
            from_outside!(10, "TCP(198.51.100.7, 999, 203.0.113.2, 8080, S)"),
            from_outside!(11, "UDP(198.51.100.7, 999, 203.0.113.2, 53)"),
        ],
        &[],
        expect![[r#"
            to left at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 TCP 198.51.100.7:999 > 10.0.0.5:80 S ttl 63 len 40
            to left at 11.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 UDP 198.51.100.7:999 > 10.0.0.5:53 ttl 63 len 32
            to right at 12.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 TCP 203.0.113.2:8080 > 198.51.100.7:999 SA ttl 63 len 40
            to left at 13.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 TCP 10.0.0.1:5555 > 10.0.0.5:80 S ttl 63 len 40
            to left at 14.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:6 TCP 203.0.113.2:8080 > 10.0.0.6:5555 SA ttl 63 len 40
            to left at 15.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 203.0.113.2 > 10.0.0.5 pong 3 ttl 254 len 30
        "#]],
    );
}

#[test]
fn a_host_can_have_an_outside_address_of_its_own() {
    routed(
        &["--static", "203.0.113.9=10.0.0.5"],
        &[
            from_inside!(10, "UDP(10.0.0.5, 4000, 198.51.100.1, 80)"),
            from_inside!(11, "PING(10.0.0.5, 198.51.100.1, 9)"),
        ],
        &[
            "at=9 from=02:00:00:00:00:99 ARP(203.0.113.1, 203.0.113.9)",
            from_outside!(20, "TCP(198.51.100.1, 80, 203.0.113.9, 22, S)"),
            from_outside!(21, "PING(198.51.100.1, 203.0.113.9, 5)"),
            from_outside!(22, "PROTO(50, 198.51.100.1, 203.0.113.9)"),
        ],
        &[],
        expect![[r#"
            to right at 9.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 ARP 203.0.113.9 is at 2:0:cb:0:71:2 to 203.0.113.1
            to right at 10.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 UDP 203.0.113.9:4000 > 198.51.100.1:80 ttl 63 len 32
            to right at 11.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:99 203.0.113.9 > 198.51.100.1 ping 9 ttl 63 len 30
            to left at 20.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 TCP 198.51.100.1:80 > 10.0.0.5:22 S ttl 63 len 40
            to left at 21.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 198.51.100.1 > 10.0.0.5 ping 5 ttl 63 len 30
            to left at 22.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:5 198.51.100.1 > 10.0.0.5 protocol 50 ttl 63 len 28
        "#]],
    );
}

#[test]
fn a_transparent_nat_rewrites_addresses_only() {
    check(
        &["nat", "--transparent", "--address", "203.0.113.2", "--inside", "10.0.0.0/24"],
        &[
            "UDP(10.0.0.5, 4000, 198.51.100.1, 80)",
            "ARP(10.0.0.5, 10.0.0.1)",
            "VLAN(5, 10.0.0.5, 4001, 198.51.100.1, 80)",
            "UDP(10.1.0.5, 4000, 198.51.100.1, 80)",
            "PING(10.0.0.5, 198.51.100.1, 1)",
        ],
        &[
            "at=10 UDP(198.51.100.1, 80, 203.0.113.2, 4000)",
            "at=11 UDP(198.51.100.1, 80, 203.0.113.2, 5000)",
            "at=12 UDP(198.51.100.1, 80, 10.0.0.5, 4000)",
            "at=13 ERROR(11, 0, 198.51.100.9, 203.0.113.2, 203.0.113.2, 4000, 198.51.100.1, 80)",
            "at=14 UDP6(2001:db8::1, 5, 2001:db8::2, 6)",
        ],
        &["unsolicited.count"],
        expect![[r#"
            unsolicited.count: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 203.0.113.2:4000 > 198.51.100.1:80 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.1 tell 10.0.0.5
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 203.0.113.2:4001 > 198.51.100.1:80 ttl 64 len 32
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.1.0.5:4000 > 198.51.100.1:80 ttl 64 len 32
            to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 203.0.113.2 > 198.51.100.1 ping 1 ttl 64 len 30
            to left at 10.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 198.51.100.1:80 > 10.0.0.5:4000 ttl 64 len 32
            to left at 12.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 198.51.100.1:80 > 10.0.0.5:4000 ttl 64 len 32
            to left at 13.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 198.51.100.9 > 10.0.0.5 ICMP 11/0 about [UDP 10.0.0.5:4000 > 198.51.100.1:80 ttl 64 len 32] ttl 64 len 60
            to left at 14.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP [2001:db8::1]:5 > [2001:db8::2]:6 hops 64 len 8
        "#]],
    );
}

#[test]
fn fragments_are_translated() {
    let first = "FRAGMENT(10.0.0.5, 198.51.100.1, 2000, 03e8003500480000 1111111111111111 1111111111111111 1111111111111111 1111111111111111)";
    let last = "FRAGMENT(10.0.0.5, 198.51.100.1, 5, 2222222222222222 3333333333333333 4444444444444444 5555555555555555)";
    check(
        &["nat", "--transparent", "-a", "203.0.113.2", "--mtu", "68"],
        &[last, first],
        &[],
        &[],
        expect![[r#"
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 203.0.113.2:55226 > 198.51.100.1:53 ttl 64 len 68 more
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 203.0.113.2 > 198.51.100.1 fragment at 48 ttl 64 len 44 last
        "#]],
    );
}

#[test]
fn mistakes_are_told() {
    fails(&["nat"], expect!["nat: --left-address ADDRESS/LENGTH is needed, such as 10.0.0.1/24; or be --transparent, without addresses"]);
    fails(
        &["nat", "--transparent"],
        expect!["nat: --transparent needs the outside address: add --address ADDRESS"],
    );
    fails(&["nat", "--transparent", "--address", "1.2.3.4", "--gateway", "1.2.3.1"], expect!["nat: --gateway `1.2.3.1`: a transparent NAT has no addresses of its own; leave this or --transparent away"]);
    fails(&[&ROUTER[..5], &["--gateway", "10.9.9.9"]].concat(), expect!["nat: --gateway `10.9.9.9`: 10.9.9.9 is in none of the router's networks (10.0.0.1/24 on left, 203.0.113.2/24 on right)"]);
    fails(
        &[&ROUTER[..], &["--forward", "tcp:80"]].concat(),
        expect![[r#"
        error: invalid value 'tcp:80' for '--forward <PROTOCOL:PORT=ADDRESS[:PORT]>': expected PROTOCOL:PORT=ADDRESS:PORT, such as tcp:8080=10.0.0.5:80

        For more information, try '--help'.
    "#]],
    );
    fails(
        &[&ROUTER[..], &["--forward", "icmp:80=10.0.0.5"]].concat(),
        expect![[r#"
            error: invalid value 'icmp:80=10.0.0.5' for '--forward <PROTOCOL:PORT=ADDRESS[:PORT]>': `icmp` is none of tcp, udp

            For more information, try '--help'.
        "#]],
    );
    fails(&[&ROUTER[..], &["--static", "203.0.113.2=10.0.0.5"]].concat(), expect!["nat: --static `203.0.113.2=10.0.0.5`: 203.0.113.2 is everybody's outside address; give this host another"]);
    fails(
        &[&ROUTER[..], &["--ports", "9-1"]].concat(),
        expect![[r#"
        error: invalid value '9-1' for '--ports <LOW-HIGH>': expected a range of ports such as 1024-65535

        For more information, try '--help'.
    "#]],
    );
}
