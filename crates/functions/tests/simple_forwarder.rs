//! The function `simple-forwarder`.

mod harness;

use expect_test::{expect, Expect};
use harness::{run, UDP};
use serde_json::{json, Value};

fn check(rules: Value, expect: Expect) {
    let instance = json!({ "name": "f1", "rule": rules });
    let ports: &[(&str, &[&str])] = &[("p1", &[UDP]), ("p2", &[UDP]), ("p3", &[UDP, UDP]), ("p4", &[UDP])];
    let reads = ["rule_p1.count", "rule_p3.count", "rule_p3.byte_count", "unruled.count"];
    expect.assert_eq(&run("simple-forwarder", instance, ports, &reads));
}

#[test]
fn packets_go_where_the_rule_of_their_port_says() {
    check(
        json!([
            { "in-port": "p1", "out-port": "p2" },
            { "in-port": "p2", "out-port": "p1" },
            { "in-port": "p3", "action": "drop" },
        ]),
        expect![[r#"
            rule_p1.count: 1
            rule_p3.count: 2
            rule_p3.byte_count: 92
            unruled.count: 1
            to p2 at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to p1 at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn many_ports_may_lead_to_one() {
    check(
        json!([{ "in-port": "p1", "out-port": "p4" }, { "in-port": "p3", "out-port": "p4" }]),
        expect![[r#"
            rule_p1.count: 1
            rule_p3.count: 2
            rule_p3.byte_count: 92
            unruled.count: 2
            to p4 at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to p4 at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to p4 at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn ports_that_nothing_is_connected_with_do_no_harm() {
    check(
        json!([
            { "in-port": "p1", "out-port": "p9" },
            { "in-port": "p3", "out-port": "p1" },
            { "in-port": "p8", "out-port": "p1" },
        ]),
        expect![[r#"
            rule_p1.count: 1
            rule_p3.count: 2
            rule_p3.byte_count: 92
            unruled.count: 2
            to p1 at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to p1 at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn rules_that_cannot_be_are_refused() {
    for rule in [
        json!({ "in-port": "p1" }),
        json!({ "in-port": "p1", "action": "drop", "out-port": "p2" }),
        json!({ "in-port": "p1", "out-port": "p1" }),
        json!({ "in-port": "p1", "out-port": "p2 -> Discard" }),
    ] {
        let instance = json!({ "name": "f1", "rule": [rule] });
        let told = run("simple-forwarder", instance, &[("p1", &[UDP])], &[]);
        assert!(told.contains("out-port") || told.contains("the name of a port"), "{told}");
    }
}
