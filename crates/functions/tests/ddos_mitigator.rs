//! The function `ddos-mitigator`.

mod harness;

use expect_test::{expect, Expect};
use harness::{run, UDP};
use serde_json::{json, Value};

const READS: [&str; 2] = ["passed.count", "dropped.count"];

fn check(instance: Value, left: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run("ddos-mitigator", instance, &[("left", left), ("right", &[UDP])], reads));
}

/// Frames from a source.
fn from(source: &str) -> String {
    format!("UDP({source}, 1, 10.0.0.2, 53)")
}

fn tcp(flags: &str) -> String {
    format!("TCP(10.0.0.1, 1000, 10.0.0.2, 80, {flags})")
}

#[test]
fn blocked_sources_and_destinations_are_dropped_unless_trusted() {
    let instance = json!({
        "name": "d",
        "blocked-source": [{ "network": "10.0.0.0/24" }, { "network": "192.0.2.1" }],
        "blocked-destination": [{ "network": "10.9.0.0/16" }],
        "trusted-source": [{ "network": "10.0.0.7" }],
    });
    let left = [
        UDP,
        &from("192.0.2.1"),
        &from("192.0.2.2"),
        &from("10.0.0.7"),
        "UDP(192.0.2.2, 1, 10.9.1.1, 2)",
        "VLAN(5, 10.0.0.1, 1, 192.0.2.1, 2)",
        "ARP(10.0.0.1, 10.0.0.2)",
    ];
    let reads = [&READS[..], &["from_blocked.count", "to_blocked.count"]].concat();
    check(
        instance,
        &left,
        &reads,
        expect![[r#"
        passed.count: 3
        dropped.count: 4
        from_blocked.count: 3
        to_blocked.count: 1
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 192.0.2.2:1 > 10.0.0.2:53 ttl 64 len 32
        to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.7:1 > 10.0.0.2:53 ttl 64 len 32
        to right at 6.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
    "#]],
    );
}

#[test]
fn tcp_with_flags_that_cannot_be_is_dropped() {
    let left: Vec<String> = ["", "SF", "SR", "FR", "F", "S", "SA", "A", "FA", "R", "RA", "PA"]
        .iter()
        .map(|flags| tcp(flags))
        .collect();
    // A later fragment, whose payload is no header.
    let mut left: Vec<&str> = left.iter().map(String::as_str).collect();
    left.push("flags=0004 TCP(10.0.0.1, 0, 10.0.0.2, 0, )");
    let reads = [&READS[..], &["invalid.count"]].concat();
    check(
        json!({ "name": "d" }),
        &left,
        &reads,
        expect![[r#"
        passed.count: 8
        dropped.count: 5
        invalid.count: 5
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
        to right at 6.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 SA ttl 64 len 40
        to right at 7.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to right at 8.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 FA ttl 64 len 40
        to right at 9.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 R ttl 64 len 40
        to right at 10.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 RA ttl 64 len 40
        to right at 11.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 PA ttl 64 len 40
        to right at 12.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 fragment at 32 ttl 64 len 40 last
    "#]],
    );
    let told =
        run("ddos-mitigator", json!({ "name": "d", "drop-invalid-tcp": false }), &[("left", &left)], &READS);
    assert!(told.contains("dropped.count: 0"), "{told}");
}

#[test]
fn destinations_are_asked_for_so_many_connections() {
    let other = "TCP(10.0.0.1, 1000, 10.0.0.3, 80, S)";
    let (syn, ack) = (tcp("S"), tcp("A"));
    let left = [&*syn, &syn, &syn, other, &ack, "at=400 TCP(10.0.0.9, 1000, 10.0.0.2, 80, S)"];
    let instance = json!({ "name": "d", "syn-rate": 5, "syn-burst": 2 });
    let reads = [&READS[..], &["syn_limit.exceeding", "syn_limit.table"]].concat();
    check(
        instance,
        &left,
        &reads,
        expect![[r#"
        passed.count: 5
        dropped.count: 1
        syn_limit.exceeding: 1
        syn_limit.table: 10.0.0.2 1

        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
        to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.3:80 S ttl 64 len 40
        to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to right at 400.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.9:1000 > 10.0.0.2:80 S ttl 64 len 40
    "#]],
    );
}

#[test]
fn sources_have_a_rate_each() {
    let six = "UDP6(2001:db8::1, 1, 2001:db8::2, 2)";
    let left = [UDP, UDP, &from("10.0.0.9"), six, six, "ARP(10.0.0.1, 10.0.0.2)", "ARP(10.0.0.1, 10.0.0.2)"];
    let instance = json!({ "name": "d", "source-rate": 1, "source-burst": 1, "drop-non-ip": true });
    let reads = [&READS[..], &["source_limit.exceeding", "source_limit.table", "non_ip.count"]].concat();
    check(
        instance,
        &left,
        &reads,
        expect![[r#"
            passed.count: 3
            dropped.count: 4
            source_limit.exceeding: 2
            source_limit.table: 10.0.0.1 1
            2001:db8:: 1

            non_ip.count: 2
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.9:1 > 10.0.0.2:53 ttl 64 len 32
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP [2001:db8::1]:1 > [2001:db8::2]:2 hops 64 len 8
        "#]],
    );
}

#[test]
fn fragments_are_dropped_if_that_is_wanted() {
    let left = [
        UDP,
        "FRAGMENT(10.0.0.1, 10.0.0.2, 2000, 0001 0002 0010 0000)",
        "FRAGMENT(10.0.0.1, 10.0.0.2, 0001, 00)",
    ];
    let reads = [&READS[..], &["fragments.count"]].concat();
    check(
        json!({ "name": "d", "drop-fragments": true }),
        &left,
        &reads,
        expect![[r#"
        passed.count: 1
        dropped.count: 2
        fragments.count: 2
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
    "#]],
    );
}

#[test]
fn many_entries_are_looked_up_at_once() {
    let entries: Vec<Value> =
        (0..10_000).map(|i| json!({ "network": format!("10.{}.{}.0/24", i / 250, i % 250) })).collect();
    let instance = json!({ "name": "d", "blocked-source": entries });
    check(
        instance,
        &[UDP, &from("10.39.249.1"), &from("10.40.0.1")],
        &READS,
        expect![[r#"
        passed.count: 1
        dropped.count: 2
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.40.0.1:1 > 10.0.0.2:53 ttl 64 len 32
    "#]],
    );
}

#[test]
fn a_burst_needs_a_rate() {
    check(
        json!({ "name": "d", "syn-burst": 2 }),
        &[],
        &[],
        expect!["/ddos-mitigator:ddos-mitigator[name='d']/syn-burst: syn-burst needs syn-rate"],
    );
}
