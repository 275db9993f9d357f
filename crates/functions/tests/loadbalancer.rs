//! The function `loadbalancer`.

mod harness;

use expect_test::{expect, Expect};
use harness::run;
use serde_json::{json, Value};

/// A balancer between the clients' network and that of two backends.
fn instance(more: Value) -> Value {
    let mut instance = json!({
        "name": "lb",
        "left-address": "203.0.113.2/24",
        "right-address": "10.0.0.1/24",
        "scheduler": "round-robin",
        "service": [{
            "name": "web", "address": "203.0.113.10", "port": 80,
            "backend": [{ "address": "10.0.0.11", "port": 80 }, { "address": "10.0.0.12", "port": 80 }],
        }],
    });
    for (name, value) in more.as_object().unwrap() {
        instance[name] = value.clone();
    }
    instance
}

/// The service with backends of other ports or states.
fn web(backends: Value) -> Value {
    json!([{ "name": "web", "address": "203.0.113.10", "port": 80, "backend": backends }])
}

/// A packet of a client's connection to the service.
fn client(at_ms: u32, host: u8, port: u16, flags: &str) -> String {
    format!(
        "at={at_ms} from=02:00:00:00:00:05 to=02:00:cb:00:71:02 TCP(203.0.113.{host}, {port}, 203.0.113.10, 80, {flags})"
    )
}

/// Hosts on both sides tell where they are, and then packets come; answers of ARP are left out of what is told.
fn told(instance: Value, left: &[String], right: &[&str], reads: &[&str]) -> String {
    let client =
        "at=0 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 ARPREPLY(203.0.113.5, 203.0.113.2)".to_string();
    let backend =
        |n: u8| format!("at=0 from=02:00:00:00:00:1{n} to=02:00:0a:00:00:01 ARPREPLY(10.0.0.1{n}, 10.0.0.1)");
    let (first, second) = (backend(1), backend(2));
    let left: Vec<&str> = std::iter::once(&client).chain(left).map(String::as_str).collect();
    let right: Vec<&str> = [&*first, &*second].into_iter().chain(right.iter().copied()).collect();
    run("loadbalancer", instance, &[("left", &left), ("right", &right)], reads)
}

fn check(instance: Value, left: &[String], right: &[&str], reads: &[&str], expect: Expect) {
    expect.assert_eq(&told(instance, left, right, reads));
}

#[test]
fn destinations_are_rewritten_and_sources_of_replies_back() {
    let reply =
        "at=20 from=02:00:00:00:00:11 to=02:00:0a:00:00:01 TCP(10.0.0.11, 8080, 203.0.113.5, 1001, SA)";
    let service = web(json!([
        { "address": "10.0.0.11", "port": 8080 },
        { "address": "10.0.0.12", "port": 80, "weight": 2 },
    ]));
    check(
        instance(json!({ "service": service })),
        &[
            client(10, 5, 1000, "S"),
            client(11, 5, 1001, "S"),
            client(12, 5, 1002, "S"),
            client(30, 5, 1000, "A"),
        ],
        &[reply],
        &["lb.services", "lb.backends"],
        expect![[r#"
            lb.services: 203.0.113.10:80/tcp backends 2 of 2 active 3 connections 3

            lb.backends: 203.0.113.10:80/tcp 10.0.0.11:8080 weight 1 up active 1 connections 1 packets 1 bytes 40 replies 1 bytes 40
            203.0.113.10:80/tcp 10.0.0.12:80 weight 2 up active 2 connections 2 packets 3 bytes 120 replies 0 bytes 0

            to right at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.5:1000 > 10.0.0.12:80 S ttl 63 len 40
            to right at 11.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.5:1001 > 10.0.0.11:8080 S ttl 63 len 40
            to right at 12.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.5:1002 > 10.0.0.12:80 S ttl 63 len 40
            to left at 20.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:5 TCP 203.0.113.10:80 > 203.0.113.5:1001 SA ttl 63 len 40
            to right at 30.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.5:1000 > 10.0.0.12:80 A ttl 63 len 40
        "#]],
    );
}

#[test]
fn only_ethernet_destinations_are_rewritten_with_dsr() {
    check(
        instance(json!({ "mode": "dsr" })),
        &[client(10, 5, 1000, "S"), client(11, 5, 1001, "S"), client(12, 5, 1000, "A")],
        &[],
        &["lb.n_connections"],
        expect![[r#"
            lb.n_connections: 2
            to right at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.5:1000 > 203.0.113.10:80 S ttl 63 len 40
            to right at 11.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.5:1001 > 203.0.113.10:80 S ttl 63 len 40
            to right at 12.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.5:1000 > 203.0.113.10:80 A ttl 63 len 40
        "#]],
    );
}

#[test]
fn packets_are_wrapped_with_ipip() {
    check(
        instance(json!({ "mode": "ipip", "gateway": "203.0.113.1" })),
        &[client(10, 5, 1000, "S")],
        &[],
        &["lb.n_connections"],
        expect![[r#"
            lb.n_connections: 1
            to right at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 10.0.0.1 > 10.0.0.11 protocol 4 ttl 63 len 60
        "#]],
    );
}

#[test]
fn clients_come_back_while_affinity_lasts() {
    let left = [
        client(10, 5, 1000, "S"),
        client(11, 6, 1000, "S"),
        client(12, 5, 1001, "S"),
        client(1700, 7, 1000, "S"),
        client(1800, 5, 1002, "S"),
    ];
    check(
        instance(json!({ "affinity": "1s" })),
        &left,
        &[],
        &["lb.n_clients"],
        expect![[r#"
        lb.n_clients: 2
        to right at 10.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.5:1000 > 10.0.0.11:80 S ttl 63 len 40
        to right at 11.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.6:1000 > 10.0.0.12:80 S ttl 63 len 40
        to right at 12.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.5:1001 > 10.0.0.11:80 S ttl 63 len 40
        to right at 1700.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 TCP 203.0.113.7:1000 > 10.0.0.11:80 S ttl 63 len 40
        to right at 1800.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:12 TCP 203.0.113.5:1002 > 10.0.0.12:80 S ttl 63 len 40
    "#]],
    );
}

#[test]
fn backends_that_are_drained_or_down_get_no_new_flows() {
    for state in ["drain", "down"] {
        let service = web(json!([
            { "address": "10.0.0.11", "port": 80, "state": state },
            { "address": "10.0.0.12", "port": 80 },
        ]));
        let left = [client(10, 5, 1000, "S"), client(11, 5, 1001, "S"), client(12, 5, 1002, "S")];
        let told = told(instance(json!({ "service": service })), &left, &[], &[]);
        assert_eq!(told.matches("> 10.0.0.12:80 S").count(), 3, "{told}");
    }
}

#[test]
fn the_balancer_answers_for_services_and_refuses_the_rest() {
    let left = [
        "at=5 from=02:00:00:00:00:05 ARP(203.0.113.5, 203.0.113.10)",
        "at=10 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 PING(203.0.113.5, 203.0.113.10, 7)",
        "at=11 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 UDP(203.0.113.5, 1, 203.0.113.10, 81)",
        "at=12 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 UDP(203.0.113.5, 1, 10.0.0.11, 53)",
        "at=13 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 UDP(203.0.113.5, 1, 192.0.2.1, 53)",
    ];
    check(
        instance(json!({})),
        &left.map(str::to_string),
        &[],
        &["unreachable.count"],
        expect![[r#"
        unreachable.count: 1
        to left at 5.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:5 ARP 203.0.113.10 is at 2:0:cb:0:71:2 to 203.0.113.5
        to left at 10.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:5 203.0.113.10 > 203.0.113.5 pong 7 ttl 254 len 30
        to left at 11.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:5 203.0.113.2 > 203.0.113.5 ICMP 3/3 about [UDP 203.0.113.5:1 > 203.0.113.10:81 ttl 64 len 32] ttl 199 len 60
        to right at 12.0 ms: 2:0:a:0:0:1 > 2:0:0:0:0:11 UDP 203.0.113.5:1 > 10.0.0.11:53 ttl 63 len 32
        to left at 13.0 ms: 2:0:cb:0:71:2 > 2:0:0:0:0:5 203.0.113.2 > 203.0.113.5 ICMP 3/0 about [UDP 203.0.113.5:1 > 192.0.2.1:53 ttl 64 len 32] ttl 199 len 60
    "#]],
    );
}

#[test]
fn lines_of_its_handlers_are_entries() {
    let functions = functions::Functions::shipped_one("loadbalancer").unwrap();
    let statistics = functions.get("loadbalancer").unwrap().node.child("statistics").unwrap().clone();
    for (list, columns, expected) in [
        ("service", "service takers backends active flows", "203.0.113.10:80/tcp 2 2 1 1"),
        (
            "backend",
            "service backend weight health active flows packets bytes replies reply_bytes",
            "203.0.113.10:80/tcp 10.0.0.11:80 1 up 1 1 1 40 0 0",
        ),
    ] {
        let node = statistics.child(list).unwrap();
        let read = node.extension("read").unwrap();
        let told = told(instance(json!({})), &[client(10, 5, 1000, "S")], &[], &[read]);
        let line = told.lines().find_map(|line| line.strip_prefix(&format!("{read}: "))).unwrap();
        let found = regex_lite::Regex::new(node.extension("line").unwrap()).unwrap();
        let found = found.captures(line).unwrap_or_else(|| panic!("{line}"));
        let values: Vec<&str> = columns.split(' ').map(|name| found.name(name).unwrap().as_str()).collect();
        assert_eq!(values.join(" "), expected);
        for leaf in node.data_children() {
            assert!(found.name(&leaf.name.replace('-', "_")).is_some(), "{}", leaf.name);
        }
    }
}

#[test]
fn instances_that_cannot_be_are_refused() {
    let port = web(json!([{ "address": "10.0.0.11", "port": 8080 }]));
    let far = web(json!([{ "address": "10.9.0.11", "port": 80 }]));
    let twice = json!([
        { "name": "a", "address": "203.0.113.10", "port": 80 },
        { "name": "b", "address": "203.0.113.10", "port": 80 },
    ]);
    let wrong = [
        json!({ "mode": "dsr", "service": port }),
        json!({ "mode": "dsr", "service": far }),
        json!({ "service": twice }),
        json!({ "right-address": "203.0.113.1/24" }),
        json!({ "gateway": "192.0.2.1" }),
    ];
    let told: Vec<String> = wrong.into_iter().map(|more| told(instance(more), &[], &[], &[])).collect();
    expect![[r#"
        /loadbalancer:loadbalancer[name='lb']/service[name='web']/backend[address='10.0.0.11'][port='8080']/port: packets reach backends as they are: the port must be the service's, or mode nat
        backend 10.9.0.11 of service web is not in 10.0.0.0/24: with mode dsr backends are in the network on the right
        /loadbalancer:loadbalancer[name='lb']/service[name='b']: Unique data leaf(s) "address protocol port" not satisfied in "/loadbalancer:loadbalancer[name='lb']/service[name='a']" and "/loadbalancer:loadbalancer[name='lb']/service[name='b']".
        left (203.0.113.2/24) and right (203.0.113.1/24) are in one network; give them addresses of different networks, or use `weir bridge`
        gateway 192.0.2.1: 192.0.2.1 is in none of the router's networks (203.0.113.2/24 on left, 10.0.0.1/24 on right)"#]].assert_eq(&told.join("\n"));
}

#[test]
fn a_balancer_without_services_is_a_router() {
    let left =
        ["at=12 from=02:00:00:00:00:05 to=02:00:cb:00:71:02 UDP(203.0.113.5, 1, 10.0.0.11, 53)".to_string()];
    let told = told(instance(json!({ "service": [] })), &left, &[], &[]);
    assert!(told.contains("to right at 12.0 ms"), "{told}");
}
