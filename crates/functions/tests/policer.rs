//! The function `policer`.

mod harness;

use expect_test::{expect, Expect};
use harness::{run, UDP};
use serde_json::{json, Value};

const WEB: &str = "TCP(10.0.0.1, 1000, 10.0.0.2, 80, A)";
const OTHER: &str = "UDP(10.0.0.9, 1000, 10.0.0.2, 53)";
const UDP6: &str = "UDP6(2001:db8::1, 1, 2001:db8::2, 2)";
const ARP: &str = "ARP(10.0.0.1, 10.0.0.2)";

fn check(instance: Value, left: &[&str], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run("policer", instance, &[("left", left), ("right", right)], reads));
}

/// Conforming and exceeding packets, by handler.
const REST: [&str; 4] = [
    "to_right/rest.conforming",
    "to_right/rest.exceeding",
    "to_left/rest.conforming",
    "to_left/rest.exceeding",
];

#[test]
fn each_direction_has_a_rate() {
    check(
        json!({ "name": "p", "rate": "10pps", "bucket": 2 }),
        &[UDP, ARP, UDP6, "at=200 UDP(1.0.0.1, 1, 1.0.0.2, 2)"],
        &[UDP],
        &REST,
        expect![[r#"
            to_right/rest.conforming: 3
            to_right/rest.exceeding: 1
            to_left/rest.conforming: 1
            to_left/rest.exceeding: 0
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to right at 200.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 1.0.0.1:1 > 1.0.0.2:2 ttl 64 len 32
        "#]],
    );
}

#[test]
fn one_direction_alone_may_have_it() {
    check(
        json!({ "name": "p", "rate": "1kBps", "bucket": 50, "direction": "right" }),
        &[UDP, UDP],
        &[UDP, UDP],
        &REST[..2],
        expect![[r#"
            to_right/rest.conforming: 1
            to_right/rest.exceeding: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn hosts_have_rates_of_their_own() {
    check(
        json!({ "name": "p", "rate": "1pps", "per": "source" }),
        &[UDP, UDP, OTHER, UDP6, UDP6, ARP, ARP],
        &[],
        &REST[..2],
        expect![[r#"
            to_right/rest.conforming: 5
            to_right/rest.exceeding: 2
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.9:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP [2001:db8::1]:1 > [2001:db8::2]:2 hops 64 len 8
            to right at 5.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to right at 6.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        "#]],
    );
}

#[test]
fn what_exceeds_the_rate_is_marked_or_only_counted() {
    let instance = json!({ "name": "p", "rate": "1pps", "action": "mark", "dscp": 10 });
    let (text, ports) = harness::graph("policer", &instance, &[]).unwrap();
    // IPv4, IPv6 and IPv4 behind a tag that are marked, and all others.
    let text = format!(
        "out :: Null -> marks :: Classifier(12/0800 15/28, 12/86dd 14/6280, 12/8100 19/28, -);
         v4, v6, tagged, others :: Counter; all :: Null -> ToInterface(right);
         marks[0] -> v4 -> all; marks[1] -> v6 -> all; marks[2] -> tagged -> all; marks[3] -> others -> all;
         {}",
        text.replace("ToInterface(right)", "out")
    );
    let left = [UDP, UDP, UDP6, ARP, "VLAN(5, 10.0.0.1, 1, 10.0.0.2, 2)"];
    let reads = ["v4.count", "v6.count", "tagged.count", "others.count", REST[1]];
    let marked = harness::run_graph(harness::TIME, &text, &ports, &[("left", &left)], &reads);
    expect![[r#"
        v4.count: 1
        v6.count: 1
        tagged.count: 1
        others.count: 2
        to_right/rest.exceeding: 4
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP [2001:db8::1]:1 > [2001:db8::2]:2 hops 64 len 8
        to right at 3.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 10.0.0.1:1 > 10.0.0.2:2 ttl 64 len 32
    "#]]
    .assert_eq(&marked);
    check(
        json!({ "name": "p", "rate": "1pps", "action": "pass" }),
        &[UDP, UDP],
        &[],
        &REST[..2],
        expect![[r#"
            to_right/rest.conforming: 1
            to_right/rest.exceeding: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn the_first_class_that_matches_counts() {
    let instance = json!({
        "name": "p",
        "class": [
            { "name": "web", "match": "tcp && port 80", "rate": "1pps", "bucket": 1 },
            { "name": "all_of_10", "match": "src net 10.0.0.0/8", "rate": "8kbps", "bucket": 60, "action": "pass" },
        ],
    });
    let reads = [
        "to_right/class_web.conforming",
        "to_right/class_web.exceeding",
        "to_right/class_web.exceeding_bytes",
        "to_right/class_all_of_10.exceeding",
        "to_left/class_web.conforming",
    ];
    check(
        instance,
        &[WEB, WEB, UDP, UDP, ARP],
        &[WEB],
        &reads,
        expect![[r#"
            to_right/class_web.conforming: 1
            to_right/class_web.exceeding: 1
            to_right/class_web.exceeding_bytes: 54
            to_right/class_all_of_10.exceeding: 1
            to_left/class_web.conforming: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 4.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        "#]],
    );
}

#[test]
fn instances_that_cannot_be_are_refused() {
    let told = |instance: Value| run("policer", instance, &[("left", &[UDP])], &[]);
    expect!["/policer:policer[name='p']: there is nothing to limit: give a rate, or a class with one"]
        .assert_eq(&told(json!({ "name": "p" })));
    expect!["/policer:policer[name='p']/rate: expected a rate such as 10Mbps, 1GBps or 10kpps, from 8bps to 34Gbps or from 1pps to 1Gpps"]
        .assert_eq(&told(json!({ "name": "p", "rate": "10" })));
    let told = told(json!({ "name": "p", "rate": "1pps", "dscp": 5 }));
    assert!(told.contains("dscp"), "{told}");
}
