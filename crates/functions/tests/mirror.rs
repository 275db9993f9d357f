//! The function `mirror`.

mod harness;

use expect_test::{expect, Expect};
use harness::{run, UDP};
use serde_json::{json, Value};

const WEB: &str = "TCP(10.0.0.1, 1000, 10.0.0.2, 80, A)";
const ARP: &str = "ARP(10.0.0.1, 10.0.0.2)";
const READS: [&str; 4] = ["copied_right.count", "copied_left.count", "copied.byte_count", "ignored.count"];

fn check(instance: Value, left: &[&str], right: &[&str], expect: Expect) {
    expect.assert_eq(&run(
        "mirror",
        instance,
        &[("left", left), ("right", right), ("mirror", &[UDP])],
        &READS,
    ));
}

#[test]
fn packets_of_both_directions_are_copied() {
    check(
        json!({ "name": "m" }),
        &[UDP, ARP],
        &[WEB],
        expect![[r#"
        copied_right.count: 2
        copied_left.count: 1
        copied.byte_count: 142
        ignored.count: 1
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to mirror at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to mirror at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        to mirror at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
    "#]],
    );
}

#[test]
fn copies_are_chosen_and_cut() {
    check(
        json!({ "name": "m", "match": "tcp && dst port 80", "truncate": 40, "direction": "right" }),
        &[UDP, WEB, ARP],
        &[WEB],
        expect![[r#"
            copied_right.count: 1
            copied_left.count: 0
            copied.byte_count: 54
            ignored.count: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
            to mirror at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80  ttl 64 len 40
            to right at 2.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        "#]],
    );
}

#[test]
fn one_packet_in_so_many_is_copied() {
    let instance = json!({ "name": "m", "sample": 3 });
    let told = run("mirror", instance, &[("left", &[UDP; 9]), ("right", &[UDP; 4])], &READS);
    let counts: Vec<&str> = told.lines().take(2).collect();
    assert_eq!(counts, ["copied_right.count: 3", "copied_left.count: 1"], "{told}");
    assert_eq!(told.matches("to mirror").count(), 4, "{told}");
    assert_eq!(told.matches("to right").count(), 9, "{told}");
}
