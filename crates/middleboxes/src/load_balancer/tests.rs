//! The balancer in running graphs.

use expect_test::{expect, Expect};
use proptest::prelude::*;

use super::backends::{Backend, Place, Pool, Scheduler};
use crate::testing;

type Address = [u8; 4];

const CLIENT: Address = [192, 0, 2, 1];
const OTHER: Address = [192, 0, 2, 2];
const SERVICE: Address = [203, 0, 113, 10];
const WEB: &str = "203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080 10.1.0.3:8080";
const DNS: &str = "203.0.113.10:53/udp 10.1.0.1 10.1.0.2 10.1.0.3";

const SYN: u8 = 0x02;
const SYN_ACK: u8 = 0x12;
const ACK: u8 = 0x10;
const FIN: u8 = 0x11;
const RST: u8 = 0x04;

/// What happens, a second apart.
enum Step {
    /// A packet comes in.
    Packet(usize, Vec<u8>),
    /// Time passes or handlers are called: a part of a script.
    Script(&'static str),
}
use Step::{Packet, Script};

/// A graph around a balancer in which steps happen; it prints what leaves.
fn graph(config: &str, steps: Vec<Step>) -> String {
    // Where the annotation alone says where packets go, it is made visible.
    let check = if config.contains("dsr") {
        "IPPrint(unchanged, TIMESTAMP false) -> StoreIPAddress(16)"
    } else {
        "CheckIPHeader(VERBOSE true)"
    };
    let mut graph = format!(
        "lb :: LoadBalancer({config}); in0 :: MarkIPHeader -> [0]lb; in1 :: MarkIPHeader -> [1]lb;
         lb[0] -> {check} -> IPPrint(backend, TIMESTAMP false) -> Discard;
         lb[1] -> CheckIPHeader(VERBOSE true) -> IPPrint(client, TIMESTAMP false) -> Discard;
         lb[2] -> IPPrint(others, TIMESTAMP false) -> Discard; Idle -> in0; Idle -> in1;\n"
    );
    let mut script = String::new();
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Packet(input, bytes) => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                graph += &format!(
                    "s{number} :: InfiniteSource(DATA \\<{hex}>, LIMIT 1, ACTIVE false) -> in{input};\n"
                );
                script += &format!("wait 1s, write s{number}.active true, ");
            }
            Script(text) => script += &format!("wait 1ms, {text}, "),
        }
    }
    graph + &format!("Script({script} wait 1ms, stop);")
}

/// Compares what leaves a balancer and the values of handlers.
fn check(config: &str, steps: Vec<Step>, reads: &[&str], expect: Expect) {
    let names: Vec<String> = reads.iter().map(|name| format!("lb.{name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    testing::check_reading(&graph(config, steps), &names, expect);
}

/// An IP packet; `fragment` is the word with flags and offset.
fn ip(protocol: u8, src: Address, dst: Address, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let len = 20 + payload.len() as u16;
    let mut bytes = vec![0x45, 0, (len >> 8) as u8, len as u8, 0, 1, 0, 0, 64, protocol, 0, 0];
    bytes[6..8].copy_from_slice(&fragment.to_be_bytes());
    bytes.extend([src, dst].concat());
    let sum = wire::checksum::checksum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn segment(protocol: u8, src: (Address, u16), dst: (Address, u16), rest: &[u8], sum_at: usize) -> Vec<u8> {
    let mut segment = [src.1.to_be_bytes(), dst.1.to_be_bytes()].concat();
    segment.extend(rest);
    let pseudo = wire::checksum::pseudo_ipv4(src.0.into(), dst.0.into(), protocol, segment.len() as u16);
    let sum = wire::checksum::transport(pseudo, &segment);
    segment[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    segment
}

fn tcp(src: (Address, u16), dst: (Address, u16), flags: u8) -> Vec<u8> {
    let rest = [0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0];
    ip(6, src.0, dst.0, 0, &segment(6, src, dst, &rest, 16))
}

fn udp(src: (Address, u16), dst: (Address, u16)) -> Vec<u8> {
    ip(17, src.0, dst.0, 0, &segment(17, src, dst, &[0, 12, 0, 0, 1, 2, 3, 4], 6))
}

/// An ICMP error from `src` to `dst` about a packet.
fn error(src: Address, dst: Address, about: &[u8]) -> Vec<u8> {
    let mut icmp = vec![3, 3, 0, 0, 0, 0, 0, 0];
    icmp.extend(&about[..28]);
    let sum = wire::checksum::checksum(&icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    ip(1, src, dst, 0, &icmp)
}

fn request(port: u16, flags: u8) -> Step {
    Packet(0, tcp((CLIENT, port), (SERVICE, 80), flags))
}

fn query(client: Address, port: u16) -> Step {
    Packet(0, udp((client, port), (SERVICE, 53)))
}

#[test]
fn packets_go_to_a_backend_and_replies_come_from_the_service() {
    check(
        WEB,
        vec![
            request(1000, SYN),
            Packet(1, tcp(([10, 1, 0, 1], 8080), (CLIENT, 1000), SYN_ACK)),
            request(1000, ACK),
            request(1001, SYN),
            Script("read lb.lookup tcp 192.0.2.1 1000 203.0.113.10 80"),
            Script("read lb.lookup tcp 192.0.2.1 1002 203.0.113.10 80"),
        ],
        &["connections", "services", "table"],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.8080: S 1:2(1,40,40) win 256
            client: 203.0.113.10.80 > 192.0.2.1.1000: S 1:2(1,40,40) ack 2 win 256
            backend: 192.0.2.1.1000 > 10.1.0.1.8080: . 1:1(0,40,40) ack 2 win 256
            backend: 192.0.2.1.1001 > 10.1.0.1.8080: S 1:2(1,40,40) win 256
            lb.lookup:
            10.1.0.1:8080
            lb.lookup:
            10.1.0.2:8080 new
            lb.connections: tcp 192.0.2.1:1000 203.0.113.10:80 10.1.0.1:8080 established packets 2 bytes 80 replies 1 bytes 40 expires 898
            tcp 192.0.2.1:1001 203.0.113.10:80 10.1.0.1:8080 syn packets 1 bytes 40 replies 0 bytes 0 expires 29

            lb.services: 203.0.113.10:80/tcp backends 3 of 3 active 2 connections 2

            lb.table: 203.0.113.10:80/tcp 10.1.0.1:8080 21846 of 65537
            203.0.113.10:80/tcp 10.1.0.2:8080 21846 of 65537
            203.0.113.10:80/tcp 10.1.0.3:8080 21845 of 65537

        "#]],
    );
}

#[test]
fn a_flow_stays_with_its_backend_when_others_come_and_go() {
    check(
        &format!("{DNS}, SCHEDULER rr"),
        vec![
            query(CLIENT, 1000),
            Script("write lb.add 203.0.113.10:53/udp 10.1.0.4*100"),
            Script("write lb.weight 10.1.0.1 0"),
            query(CLIENT, 1000),
            Script("write lb.health 10.1.0.1 drain"),
            query(CLIENT, 1000),
            Script("write lb.remove 203.0.113.10:53/udp 10.1.0.1:53"),
            query(CLIENT, 1000),
            query(CLIENT, 1001),
        ],
        &["backends"],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1001 > 10.1.0.4.53: udp 12
            lb.backends: 203.0.113.10:53/udp 10.1.0.1:53 weight 0 removed active 1 connections 1 packets 4 bytes 128 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.2:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.3:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.4:53 weight 100 up active 1 connections 1 packets 1 bytes 32 replies 0 bytes 0

        "#]],
    );
}

#[test]
fn a_flow_of_a_backend_that_is_down_begins_anew() {
    check(
        &format!("{DNS}, SCHEDULER rr"),
        vec![
            query(CLIENT, 1000),
            Script("write lb.health 10.1.0.1 down"),
            query(CLIENT, 1000),
            Script("write lb.health 10.1.0.1 up"),
            query(CLIENT, 1000),
            Script("write lb.health 10.1.0.1 down, write lb.health 10.1.0.2 down, write lb.health 10.1.0.3:53 down"),
            query(CLIENT, 1000),
        ],
        &["backends", "n_connections"],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1000 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.1000 > 10.1.0.2.53: udp 12
            lb.backends: 203.0.113.10:53/udp 10.1.0.1:53 weight 1 down active 0 connections 1 packets 1 bytes 32 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.2:53 weight 1 down active 0 connections 1 packets 2 bytes 64 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.3:53 weight 1 down active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

            lb.n_connections: 0
        "#]],
    );
}

#[test]
fn removed_backends_are_forgotten_with_their_last_flow() {
    check(
        &format!("{DNS}, SCHEDULER lc, UDP_TIMEOUT 10s"),
        vec![
            query(CLIENT, 1000),
            Script("write lb.remove 10.1.0.1, write lb.remove 10.1.0.2, read lb.backends"),
            Script("wait 11s"),
        ],
        &["backends", "n_connections"],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            lb.backends:
            203.0.113.10:53/udp 10.1.0.1:53 weight 1 removed active 1 connections 1 packets 1 bytes 32 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.3:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

            lb.backends: 203.0.113.10:53/udp 10.1.0.3:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

            lb.n_connections: 0
        "#]],
    );
}

#[test]
fn backends_are_added_all_or_none() {
    check(
        "203.0.113.10:80/tcp 10.1.0.1:8080",
        vec![
            Script("write lb.add 203.0.113.10:80/tcp 10.1.0.2:8080 10.1.0.1:8080 10.1.0.3:8080"),
            Script("write lb.add 203.0.113.11:80/tcp 10.1.0.4 10.1.0.4"),
        ],
        &["backends", "services"],
        expect![[r#"
            While executing 'Script@14 :: Script':
              While calling 'lb.add 203.0.113.10:80/tcp 10.1.0.2:8080 10.1.0.1:8080 10.1.0.3:8080':
                the service has backend 10.1.0.1:8080 already
            While executing 'Script@14 :: Script':
              While calling 'lb.add 203.0.113.11:80/tcp 10.1.0.4 10.1.0.4':
                the service has backend 10.1.0.4:80 already
            lb.backends: 203.0.113.10:80/tcp 10.1.0.1:8080 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

            lb.services: 203.0.113.10:80/tcp backends 1 of 1 active 0 connections 0

        "#]],
    );
}

#[test]
fn turns_follow_weights() {
    check(
        "203.0.113.10:53/udp 10.1.0.1*3 10.1.0.2 10.1.0.3*0, SCHEDULER rr",
        (1..=8).map(|port| query(CLIENT, port)).collect(),
        &["backends"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.3 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.4 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.5 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.6 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.7 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.8 > 10.1.0.1.53: udp 12
            lb.backends: 203.0.113.10:53/udp 10.1.0.1:53 weight 3 up active 6 connections 6 packets 6 bytes 192 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.2:53 weight 1 up active 2 connections 2 packets 2 bytes 64 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.3:53 weight 0 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

        "#]],
    );
}

#[test]
fn the_least_busy_backend_for_its_weight_is_next() {
    check(
        "203.0.113.10:80/tcp 10.1.0.1*2 10.1.0.2, SCHEDULER lc, TCP_DONE_TIMEOUT 1s",
        vec![
            request(1, SYN),
            request(2, SYN),
            request(3, SYN),
            Packet(1, tcp(([10, 1, 0, 1], 80), (CLIENT, 2), RST)),
            Script("wait 2s"),
            request(4, SYN),
        ],
        &["connections"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            backend: 192.0.2.1.2 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            backend: 192.0.2.1.3 > 10.1.0.2.80: S 1:2(1,40,40) win 256
            client: 203.0.113.10.80 > 192.0.2.1.2: R 1:1(0,40,40) win 256
            backend: 192.0.2.1.4 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            lb.connections: tcp 192.0.2.1:1 203.0.113.10:80 10.1.0.1:80 syn packets 1 bytes 40 replies 0 bytes 0 expires 23
            tcp 192.0.2.1:4 203.0.113.10:80 10.1.0.1:80 syn packets 1 bytes 40 replies 0 bytes 0 expires 29
            tcp 192.0.2.1:3 203.0.113.10:80 10.1.0.2:80 syn packets 1 bytes 40 replies 0 bytes 0 expires 25

        "#]],
    );
}

#[test]
fn a_client_comes_back_to_its_backend_for_a_time() {
    check(
        &format!("{DNS}, SCHEDULER rr, AFFINITY 10s"),
        vec![
            query(CLIENT, 1),
            query(OTHER, 1),
            query(CLIENT, 2),
            query(OTHER, 2),
            Script("read lb.n_clients, wait 11s, read lb.n_clients"),
            query(CLIENT, 3),
        ],
        &[],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.2.1 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.1.53: udp 12
            backend: 192.0.2.2.2 > 10.1.0.2.53: udp 12
            lb.n_clients:
            2
            lb.n_clients:
            0
            backend: 192.0.2.1.3 > 10.1.0.3.53: udp 12
        "#]],
    );
}

#[test]
fn connections_end_by_the_state_of_tcp() {
    let backend = ([10, 1, 0, 1], 80);
    check(
        "203.0.113.10:80/tcp 10.1.0.1, TCP_SYN_TIMEOUT 5s, TCP_TIMEOUT 100s, TCP_FIN_TIMEOUT 20s, TCP_DONE_TIMEOUT 3s",
        vec![
            request(1, SYN),
            request(2, SYN),
            Packet(1, tcp(backend, (CLIENT, 2), SYN_ACK)),
            request(2, ACK),
            request(3, SYN),
            request(3, ACK),
            request(3, FIN),
            Script("read lb.connections, wait 5s, read lb.connections"),
            Packet(1, tcp(backend, (CLIENT, 3), FIN)),
            Script("read lb.connections, wait 5s, read lb.connections"),
            Script("wait 100s, read lb.n_connections"),
        ],
        &[],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            backend: 192.0.2.1.2 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            client: 203.0.113.10.80 > 192.0.2.1.2: S 1:2(1,40,40) ack 2 win 256
            backend: 192.0.2.1.2 > 10.1.0.1.80: . 1:1(0,40,40) ack 2 win 256
            backend: 192.0.2.1.3 > 10.1.0.1.80: S 1:2(1,40,40) win 256
            backend: 192.0.2.1.3 > 10.1.0.1.80: . 1:1(0,40,40) ack 2 win 256
            backend: 192.0.2.1.3 > 10.1.0.1.80: F 1:2(1,40,40) ack 2 win 256
            lb.connections:
            tcp 192.0.2.1:2 203.0.113.10:80 10.1.0.1:80 established packets 2 bytes 80 replies 1 bytes 40 expires 96
            tcp 192.0.2.1:3 203.0.113.10:80 10.1.0.1:80 closing packets 3 bytes 120 replies 0 bytes 0 expires 19

            lb.connections:
            tcp 192.0.2.1:2 203.0.113.10:80 10.1.0.1:80 established packets 2 bytes 80 replies 1 bytes 40 expires 91
            tcp 192.0.2.1:3 203.0.113.10:80 10.1.0.1:80 closing packets 3 bytes 120 replies 0 bytes 0 expires 14

            client: 203.0.113.10.80 > 192.0.2.1.3: F 1:2(1,40,40) ack 2 win 256
            lb.connections:
            tcp 192.0.2.1:2 203.0.113.10:80 10.1.0.1:80 established packets 2 bytes 80 replies 1 bytes 40 expires 90
            tcp 192.0.2.1:3 203.0.113.10:80 10.1.0.1:80 done packets 3 bytes 120 replies 1 bytes 40 expires 2

            lb.connections:
            tcp 192.0.2.1:2 203.0.113.10:80 10.1.0.1:80 established packets 2 bytes 80 replies 1 bytes 40 expires 85

            lb.n_connections:
            0
        "#]],
    );
}

#[test]
fn errors_reach_those_who_know_the_flow() {
    let router = [198, 51, 100, 1];
    check(
        DNS,
        vec![
            query(CLIENT, 1000),
            // From a backend and a router near it, about what the client sent.
            Packet(1, error([10, 1, 0, 1], CLIENT, &udp((CLIENT, 1000), ([10, 1, 0, 1], 53)))),
            Packet(1, error(router, CLIENT, &udp((CLIENT, 1000), ([10, 1, 0, 1], 53)))),
            // From the client, about what the service sent.
            Packet(0, error(CLIENT, SERVICE, &udp((SERVICE, 53), (CLIENT, 1000)))),
            // About nothing that is known.
            Packet(0, error(CLIENT, SERVICE, &udp((SERVICE, 53), (CLIENT, 1001)))),
        ],
        &[],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
            client: 203.0.113.10 > 192.0.2.1: icmp 203.0.113.10 unreachable port udp/53
            client: 198.51.100.1 > 192.0.2.1: icmp 203.0.113.10 unreachable port udp/53
            backend: 192.0.2.1 > 10.1.0.1: icmp 192.0.2.1 unreachable port udp/1000
            others: 192.0.2.1 > 203.0.113.10: icmp 192.0.2.1 unreachable port udp/1001
        "#]],
    );
}

#[test]
fn fragments_go_with_the_first_of_their_packet() {
    let first = segment(17, (CLIENT, 1000), (SERVICE, 53), &[0, 24, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], 6);
    let reply = segment(17, ([10, 1, 0, 1], 53), (CLIENT, 1000), &[0, 24, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8], 6);
    check(
        "203.0.113.10:53/udp 10.1.0.1, FRAGMENT_TIMEOUT 10s",
        vec![
            Packet(0, ip(17, CLIENT, SERVICE, 2, &[9; 8])),
            Packet(0, ip(17, CLIENT, SERVICE, 0x2000, &first)),
            Packet(0, ip(17, CLIENT, SERVICE, 2, &[9; 8])),
            Packet(1, ip(17, [10, 1, 0, 1], CLIENT, 0x2000, &reply)),
            Packet(1, ip(17, [10, 1, 0, 1], CLIENT, 2, &[9; 8])),
            Packet(0, ip(17, CLIENT, OTHER, 2, &[9; 8])),
            Script("wait 11s"),
            Packet(0, ip(17, CLIENT, SERVICE, 2, &[9; 8])),
        ],
        &[],
        expect![[r#"
            backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 24 (frag 1:16@0+)
            backend: 192.0.2.1 > 10.1.0.1: udp (frag 1:8@16)
            client: 203.0.113.10.53 > 192.0.2.1.1000: udp 24 (frag 1:16@0+)
            client: 203.0.113.10 > 192.0.2.1: udp (frag 1:8@16)
            others: 192.0.2.1 > 192.0.2.2: udp (frag 1:8@16)
        "#]],
    );
}

#[test]
fn without_nat_packets_stay_as_they_are() {
    let steps = || vec![query(CLIENT, 1000), query(CLIENT, 1001), query(CLIENT, 1000)];
    let reads = ["connections", "n_untracked"];
    check(
        &format!("{DNS}, MODE dsr, CAPACITY 1"),
        steps(),
        &reads,
        expect![[r#"
        unchanged: 192.0.2.1.1000 > 203.0.113.10.53: udp 12
        backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
        unchanged: 192.0.2.1.1001 > 203.0.113.10.53: udp 12
        backend: 192.0.2.1.1001 > 10.1.0.3.53: udp 12
        unchanged: 192.0.2.1.1000 > 203.0.113.10.53: udp 12
        backend: 192.0.2.1.1000 > 10.1.0.1.53: udp 12
        lb.connections: udp 192.0.2.1:1000 203.0.113.10:53 10.1.0.1:53 udp packets 2 bytes 64 replies 0 bytes 0 expires 299

        lb.n_untracked: 1
    "#]],
    );
    let config = format!("{DNS}, MODE ipip, LOCAL 10.1.0.254, CAPACITY 1");
    check(
        &config,
        steps(),
        &reads,
        expect![[r#"
        backend: 10.1.0.254 > 10.1.0.1: ip-proto-4
        backend: 10.1.0.254 > 10.1.0.3: ip-proto-4
        backend: 10.1.0.254 > 10.1.0.1: ip-proto-4
        lb.connections: udp 192.0.2.1:1000 203.0.113.10:53 10.1.0.1:53 udp packets 2 bytes 64 replies 0 bytes 0 expires 299

        lb.n_untracked: 1
    "#]],
    );
}

#[test]
fn the_table_is_bounded() {
    check(
        &format!("{DNS}, CAPACITY 2, UDP_TIMEOUT 10s"),
        vec![
            query(CLIENT, 1),
            query(CLIENT, 2),
            query(CLIENT, 3),
            Script("read lb.n_connections, wait 11s, read lb.n_connections"),
            query(CLIENT, 3),
            Script("write lb.flush, write lb.reset_counts"),
        ],
        &["n_connections", "backends"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.3.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.1.53: udp 12
            lb.n_connections:
            2
            lb.n_connections:
            0
            backend: 192.0.2.1.3 > 10.1.0.1.53: udp 12
            lb.n_connections: 0
            lb.backends: 203.0.113.10:53/udp 10.1.0.1:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.2:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.3:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

        "#]],
    );
}

#[test]
fn what_belongs_to_no_service_goes_elsewhere() {
    check(
        WEB,
        vec![
            Packet(0, tcp((CLIENT, 1), (SERVICE, 81), SYN)),
            Packet(0, udp((CLIENT, 1), (SERVICE, 80))),
            Packet(1, tcp(([10, 1, 0, 1], 9), (CLIENT, 1), SYN)),
            Packet(0, ip(1, CLIENT, SERVICE, 0, &[8, 0, 0, 0, 0, 0, 0, 0])),
            Packet(0, ip(47, CLIENT, SERVICE, 0, &[0; 8])),
            Packet(0, tcp((CLIENT, 1), (SERVICE, 80), RST)),
            Packet(0, ip(6, CLIENT, SERVICE, 0x2000, &tcp((CLIENT, 1), (SERVICE, 80), SYN)[20..36])),
        ],
        &["n_connections"],
        expect![[r#"
            others: 192.0.2.1.1 > 203.0.113.10.81: S 1:2(1,40,40) win 256
            others: 192.0.2.1.1 > 203.0.113.10.80: udp 12
            others: 10.1.0.1.9 > 192.0.2.1.1: S 1:2(1,40,40) win 256
            others: 192.0.2.1 > 203.0.113.10: icmp echo (0, 0)
            others: 192.0.2.1 > 203.0.113.10: ip-proto-47
            others: 192.0.2.1.1 > 203.0.113.10.80: S 1:4294967294(-3,36,36) win 256 (frag 1:16@0+)
            lb.n_connections: 0
        "#]],
    );
}

#[test]
fn two_services_that_share_a_backend_do_not_mix_replies() {
    check(
        "203.0.113.10:53/udp 10.1.0.1 10.1.0.2, 203.0.113.11:53/udp 10.1.0.1, SCHEDULER rr",
        vec![
            Packet(0, udp((CLIENT, 1), ([203, 0, 113, 11], 53))),
            query(CLIENT, 1),
            Packet(0, udp((CLIENT, 2), ([203, 0, 113, 10], 53))),
            Packet(0, udp((CLIENT, 2), ([203, 0, 113, 11], 53))),
        ],
        &["connections"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.1.53: udp 12
            lb.connections: udp 192.0.2.1:1 203.0.113.11:53 10.1.0.1:53 udp packets 1 bytes 32 replies 0 bytes 0 expires 296
            udp 192.0.2.1:1 203.0.113.10:53 10.1.0.2:53 udp packets 1 bytes 32 replies 0 bytes 0 expires 297
            udp 192.0.2.1:2 203.0.113.10:53 10.1.0.2:53 udp packets 1 bytes 32 replies 0 bytes 0 expires 298
            udp 192.0.2.1:2 203.0.113.11:53 10.1.0.1:53 udp packets 1 bytes 32 replies 0 bytes 0 expires 299

        "#]],
    );
}

#[test]
fn a_new_configuration_keeps_flows() {
    check(
        &format!("{DNS}, SCHEDULER rr"),
        vec![
            query(CLIENT, 1),
            query(CLIENT, 2),
            Script("write lb.config 203.0.113.10:53/udp 10.1.0.2*3 10.1.0.9"),
            query(CLIENT, 1),
            query(CLIENT, 2),
            query(CLIENT, 3),
        ],
        &["backends", "connections"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.2 > 10.1.0.2.53: udp 12
            backend: 192.0.2.1.3 > 10.1.0.9.53: udp 12
            lb.backends: 203.0.113.10:53/udp 10.1.0.1:53 weight 1 removed active 1 connections 1 packets 2 bytes 64 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.2:53 weight 3 up active 1 connections 1 packets 2 bytes 64 replies 0 bytes 0
            203.0.113.10:53/udp 10.1.0.9:53 weight 1 up active 1 connections 1 packets 1 bytes 32 replies 0 bytes 0

            lb.connections: udp 192.0.2.1:1 203.0.113.10:53 10.1.0.1:53 udp packets 2 bytes 64 replies 0 bytes 0 expires 297
            udp 192.0.2.1:2 203.0.113.10:53 10.1.0.2:53 udp packets 2 bytes 64 replies 0 bytes 0 expires 298
            udp 192.0.2.1:3 203.0.113.10:53 10.1.0.9:53 udp packets 1 bytes 32 replies 0 bytes 0 expires 299

        "#]],
    );
}

#[test]
fn services_that_a_new_configuration_has_not_are_gone_with_their_last_flow() {
    check(
        "203.0.113.10:53/udp 10.1.0.1, 203.0.113.11:53/udp 10.1.0.1, 203.0.113.12:53/udp 10.1.0.4",
        vec![
            query(CLIENT, 1),
            Script("write lb.config 203.0.113.12:53/udp 10.1.0.4"),
            query(CLIENT, 1),
            query(CLIENT, 2),
            Packet(0, ip(17, CLIENT, [203, 0, 113, 11], 2, &[9; 8])),
            Script("write lb.config 203.0.113.10:53/udp 10.1.0.1"),
            query(CLIENT, 1),
            Script("write lb.config 203.0.113.13:53/udp 10.1.0.5, write lb.flush"),
            Packet(0, ip(17, CLIENT, SERVICE, 2, &[9; 8])),
            Packet(1, ip(17, [10, 1, 0, 1], CLIENT, 2, &[9; 8])),
            Packet(0, ip(17, CLIENT, [203, 0, 113, 13], 2, &[9; 8])),
        ],
        &["services"],
        expect![[r#"
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            others: 192.0.2.1.2 > 203.0.113.10.53: udp 12
            others: 192.0.2.1 > 203.0.113.11: udp (frag 1:8@16)
            backend: 192.0.2.1.1 > 10.1.0.1.53: udp 12
            others: 192.0.2.1 > 203.0.113.10: udp (frag 1:8@16)
            others: 10.1.0.1 > 192.0.2.1: udp (frag 1:8@16)
            lb.services: 203.0.113.13:53/udp backends 1 of 1 active 0 connections 0

        "#]],
    );
}

#[test]
fn of_a_pool_that_is_too_large_nothing_is_taken_over() {
    let pool = |address: u32| {
        let mut pool = Pool::new(Scheduler::RoundRobin, 7);
        let service = pool.add_service(Place { address: 1, port: 1, protocol: 17 }).unwrap();
        pool.add_backend(Backend::new(service, address, 1, 1)).unwrap();
        pool
    };
    let (mut new, mut old) = (pool(2), pool(3));
    old.backends.resize(usize::from(u16::MAX), Some(Backend::new(0, 9, 9, 1)));
    assert_eq!(new.take_over(old), Err("too many backends".to_string()));
    let backends: Vec<(u32, bool)> =
        new.iter().map(|(_, backend)| (backend.address, backend.takes_flows())).collect();
    assert_eq!((backends, new.has_address(3)), (vec![(2, true)], false));
}

#[test]
fn mistakes_are_told() {
    let mut shown = String::new();
    for config in [
        "203.0.113.10:80 10.1.0.1",
        "203.0.113.10:80/sctp 10.1.0.1, MODE ipip",
        "203.0.113.10:80/tcp 10.1.0.1*x, TABLE_SIZE 100",
        "203.0.113.10:80/tcp 10.1.0.1 10.1.0.1:80, MODE nut",
        "203.0.113.10:80/tcp, 203.0.113.10:80/tcp",
        "203.0.113.10:80/tcp, MODE ipip",
    ] {
        shown += &testing::run(&graph(config, vec![]), &[]);
    }
    let wrong = [
        "write lb.health 10.1.0.1 ill",
        "write lb.health 10.9.9.9 up",
        "write lb.weight 10.1.0.1",
        "write lb.add 203.0.113.10:80/tcp 10.1.0.1:8080",
        "write lb.remove 203.0.113.99:80/tcp 10.1.0.1",
        "read lb.lookup tcp 1.2.3.4",
    ];
    shown += &testing::run(&graph(WEB, wrong.into_iter().map(Script).collect()), &[]);
    expect![[r#"
        config:1: While configuring 'lb :: LoadBalancer':
          '203.0.113.10:80' is no service, expected 'ADDRESS:PORT/tcp' or 'ADDRESS:PORT/udp'
        Router could not be initialized!
        config:1: While configuring 'lb :: LoadBalancer':
          '203.0.113.10:80/sctp' is no service, expected 'ADDRESS:PORT/tcp' or 'ADDRESS:PORT/udp'
        Router could not be initialized!
        config:1: While configuring 'lb :: LoadBalancer':
          TABLE_SIZE: must be a prime number below 2^20
          '10.1.0.1*x' is no backend, expected 'ADDRESS[:PORT][*WEIGHT][/HEALTH]'
        Router could not be initialized!
        config:1: While configuring 'lb :: LoadBalancer':
          MODE: parse error
          the service has backend 10.1.0.1:80 already
        Router could not be initialized!
        config:1: While configuring 'lb :: LoadBalancer':
          service 203.0.113.10:80/tcp is there twice
        Router could not be initialized!
        config:1: While configuring 'lb :: LoadBalancer':
          mode ipip needs LOCAL, the source of what it sends
        Router could not be initialized!
        While executing 'Script@14 :: Script':
          While calling 'lb.health 10.1.0.1 ill':
            expected '[SERVICE] BACKEND up|down|drain'
        While executing 'Script@14 :: Script':
          While calling 'lb.health 10.9.9.9 up':
            no backend 10.9.9.9
        While executing 'Script@14 :: Script':
          While calling 'lb.weight 10.1.0.1':
            expected '[SERVICE] BACKEND N'
        While executing 'Script@14 :: Script':
          While calling 'lb.add 203.0.113.10:80/tcp 10.1.0.1:8080':
            the service has backend 10.1.0.1:8080 already
        While executing 'Script@14 :: Script':
          While calling 'lb.remove 203.0.113.99:80/tcp 10.1.0.1':
            no service 203.0.113.99:80/tcp
        While executing 'Script@14 :: Script':
          While calling 'lb.lookup tcp 1.2.3.4':
            expected 'tcp|udp SOURCE PORT DESTINATION PORT'
        lb.lookup:

    "#]]
    .assert_eq(&shown);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever happens to the set, a flow stays where it is unless its backend is down, and counts add up.
    #[test]
    fn flows_never_move_while_their_backend_is_up(
        steps in prop::collection::vec((0..5usize, 1..4u8, 1..30u16), 1..60),
        scheduler in prop::sample::select(vec!["maglev", "rr", "lc"]),
    ) {
        let mut pool = super::Pool::new(
            match scheduler {
                "maglev" => super::backends::Scheduler::Maglev,
                "rr" => super::backends::Scheduler::RoundRobin,
                _ => super::backends::Scheduler::LeastConnections,
            },
            251,
        );
        let place = super::backends::Place { address: 1, port: 53, protocol: 17 };
        let service = pool.add_service(place).unwrap();
        let mut flows = std::collections::BTreeMap::<u16, u16>::new();
        for (what, which, port) in steps {
            match what {
                0 => {
                    let _ = pool.add_backend(super::backends::Backend::new(service, which.into(), 53, port.into()));
                    pool.refresh();
                }
                1 => {
                    if let Some(number) = pool.find(service, which.into(), 53) {
                        pool.get_mut(number).unwrap().health = crate::load_balancer::backends::Health::Removed;
                        pool.forget_if_done(number);
                        pool.refresh();
                    }
                }
                2 => {
                    if let Some(number) = flows.remove(&port) {
                        pool.release(number);
                    }
                }
                _ => {
                    let key = super::seen::FlowKey { src: 9, dst: 1, sport: port, dport: 53, protocol: 17 };
                    let known = flows.get(&port).copied();
                    if let Some(number) = known.or_else(|| pool.choose(service, &key)) {
                        prop_assert!(known.is_some() || pool.takes_flows(number));
                        if flows.insert(port, number).is_none() {
                            pool.get_mut(number).unwrap().n_active += 1;
                        }
                    }
                }
            }
            let n_active: u32 = pool.iter().map(|(_, backend)| backend.n_active).sum();
            prop_assert_eq!(n_active as usize, flows.len());
            for number in flows.values() {
                prop_assert!(pool.get(*number).is_some(), "a backend with flows is gone");
            }
        }
    }
}

/// What one balancer saves that lives through steps, and what becomes of steps with another one that begins with that.
fn restored(configs: [&str; 2], steps: [Vec<Step>; 2], passed_ms: i64, reads: &[&str]) -> String {
    let graph = |config: &str, steps| {
        // Whoever saves says when it ends.
        graph(config, steps).replace(", stop);", ");") + "TimedSource(0.01) -> Discard;"
    };
    let [before, after] = steps;
    let (before, after) = (graph(configs[0], before), graph(configs[1], after));
    let reads: Vec<String> = reads.iter().map(|name| format!("lb.{name}")).collect();
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    testing::restored(&before, &after, passed_ms, 20_000, &reads)
}

const TURNS: &str = "203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080, SCHEDULER rr";

/// Two connections to different backends, of which the first is established and the second has begun.
fn two_connections() -> Vec<Step> {
    vec![
        request(1000, SYN),
        Packet(1, tcp(([10, 1, 0, 1], 8080), (CLIENT, 1000), SYN_ACK)),
        request(1000, ACK),
        request(1001, SYN),
    ]
}

#[test]
fn connections_keep_their_backends_over_a_restart() {
    let after = || {
        vec![
            request(1001, ACK),
            Packet(1, tcp(([10, 1, 0, 2], 8080), (CLIENT, 1001), SYN_ACK)),
            request(1000, ACK),
        ]
    };
    let reads = ["connections", "backends"];
    expect![[r#"
        lb LoadBalancer: flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 8080 1 0 3210
        lb LoadBalancer: flow 6 192.0.2.1 1001 203.0.113.10 80 10.1.0.2 8080 0 0 2210
        backend: 192.0.2.1.1001 > 10.1.0.2.8080: . 1:1(0,40,40) ack 2 win 256
        client: 203.0.113.10.80 > 192.0.2.1.1001: S 1:2(1,40,40) ack 2 win 256
        backend: 192.0.2.1.1000 > 10.1.0.1.8080: . 1:1(0,40,40) ack 2 win 256
        lb.connections: tcp 192.0.2.1:1000 203.0.113.10:80 10.1.0.1:8080 established packets 1 bytes 40 replies 0 bytes 0 expires 896
        tcp 192.0.2.1:1001 203.0.113.10:80 10.1.0.2:8080 established packets 1 bytes 40 replies 1 bytes 40 expires 895

        lb.backends: 203.0.113.10:80/tcp 10.1.0.1:8080 weight 1 up active 1 connections 0 packets 1 bytes 40 replies 0 bytes 0
        203.0.113.10:80/tcp 10.1.0.2:8080 weight 1 up active 1 connections 0 packets 1 bytes 40 replies 1 bytes 40

    "#]]
    .assert_eq(&restored([TURNS, TURNS], [two_connections(), after()], 10_000, &reads));
    // The handshake took too long.
    expect![[r#"
        lb LoadBalancer: flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 8080 1 0 3210
        lb LoadBalancer: flow 6 192.0.2.1 1001 203.0.113.10 80 10.1.0.2 8080 0 0 2210
        lb.connections: tcp 192.0.2.1:1000 203.0.113.10:80 10.1.0.1:8080 established packets 0 bytes 0 replies 0 bytes 0 expires 830

        lb.backends: 203.0.113.10:80/tcp 10.1.0.1:8080 weight 1 up active 1 connections 0 packets 0 bytes 0 replies 0 bytes 0
        203.0.113.10:80/tcp 10.1.0.2:8080 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

    "#]]
    .assert_eq(&restored([TURNS, TURNS], [two_connections(), vec![]], 60_000, &reads));
    // Without NAT there is one direction.
    let dsr = "203.0.113.10:80/tcp 10.1.0.1 10.1.0.2, SCHEDULER rr, MODE dsr";
    let begin = vec![request(1000, SYN), request(1001, SYN), request(1001, ACK)];
    expect![[r#"
        lb LoadBalancer: flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 80 0 0 5220
        lb LoadBalancer: flow 6 192.0.2.1 1001 203.0.113.10 80 10.1.0.2 80 1 0 3220
        unchanged: 192.0.2.1.1001 > 203.0.113.10.80: . 1:1(0,40,40) ack 2 win 256
        backend: 192.0.2.1.1001 > 10.1.0.2.80: . 1:1(0,40,40) ack 2 win 256
        lb.connections: tcp 192.0.2.1:1000 203.0.113.10:80 10.1.0.1:80 syn packets 0 bytes 0 replies 0 bytes 0 expires 8
        tcp 192.0.2.1:1001 203.0.113.10:80 10.1.0.2:80 established packets 1 bytes 40 replies 0 bytes 0 expires 894

        lb.backends: 203.0.113.10:80/tcp 10.1.0.1:80 weight 1 up active 1 connections 0 packets 0 bytes 0 replies 0 bytes 0
        203.0.113.10:80/tcp 10.1.0.2:80 weight 1 up active 1 connections 0 packets 1 bytes 40 replies 0 bytes 0

    "#]]
    .assert_eq(&restored([dsr, dsr], [begin, vec![request(1001, ACK)]], 10_000, &reads));
}

#[test]
fn clients_come_back_to_their_backends_over_a_restart() {
    let config = "203.0.113.10:53/udp 10.1.0.1 10.1.0.2, SCHEDULER rr, AFFINITY 60s, UDP_TIMEOUT 5s";
    let steps = || [vec![query(CLIENT, 1), query(OTHER, 1)], vec![query(OTHER, 2)]];
    expect![[r#"
        lb LoadBalancer: flow 17 192.0.2.2 1 203.0.113.10 53 10.1.0.2 53 0 0 4220
        lb LoadBalancer: client 192.0.2.1 17 203.0.113.10 53 10.1.0.1 53 54879
        lb LoadBalancer: client 192.0.2.2 17 203.0.113.10 53 10.1.0.2 53 55879
        backend: 192.0.2.2.2 > 10.1.0.2.53: udp 12
        lb.n_clients: 2
    "#]]
    .assert_eq(&restored([config, config], steps(), 20_000, &["n_clients"]));
    let without = config.replace("60s", "0");
    expect![[r#"
        lb LoadBalancer: flow 17 192.0.2.2 1 203.0.113.10 53 10.1.0.2 53 0 0 4220
        lb LoadBalancer: client 192.0.2.1 17 203.0.113.10 53 10.1.0.1 53 54879
        lb LoadBalancer: client 192.0.2.2 17 203.0.113.10 53 10.1.0.2 53 55879
        backend: 192.0.2.2.2 > 10.1.0.1.53: udp 12
        lb.n_clients: 0
    "#]]
    .assert_eq(&restored([config, &without], steps(), 20_000, &["n_clients"]));
}

#[test]
fn connections_without_a_place_are_refused() {
    let configs = [
        "203.0.113.10:80/tcp 10.1.0.1:8080",
        "203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080/down",
        "203.0.113.10:80/udp 10.1.0.1:8080 10.1.0.2:8080",
        "203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080, CAPACITY 1",
    ];
    let told = configs.map(|config| {
        let text = restored([TURNS, config], [two_connections(), vec![]], 0, &["n_connections"]);
        let told: Vec<&str> = text.lines().filter(|line| !line.contains("LoadBalancer: ")).collect();
        told.join("\n") + "\n"
    });
    expect![[r#"
        lb: 1 of 2: 203.0.113.10:80/tcp has no backend 10.1.0.2:8080 any more
        lb.n_connections: 1
        lb: 1 of 2: nothing may go to the backend 10.1.0.2:8080 of 203.0.113.10:80/tcp
        lb.n_connections: 1
        lb: 2 of 2: there is no service 203.0.113.10:80/tcp any more
        lb.n_connections: 0
        lb: 1 of 2: there are too many connections
        lb.n_connections: 1
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn thousands_of_connections_are_saved_in_parts() {
    let graph = |source: &str| {
        format!(
            "lb :: LoadBalancer(203.0.113.10:53/udp 10.1.0.1 10.1.0.2 10.1.0.3, AFFINITY 60s); {source} -> lb;
             lb[0], lb[1], lb[2] => Discard, Discard, Discard; Idle -> [1] lb; TimedSource(0.01) -> Discard;"
        )
    };
    let before = graph("InfiniteSource(LIMIT 3000, LENGTH 8) -> DynamicUDPIPEncap(192.0.2.1, 1000, 203.0.113.10, 1000, true, 1)
         -> StoreData(22, \\<0035>)");
    let text = testing::restored(&before, &graph("Idle"), 1000, 5000, &["lb.n_connections", "lb.n_clients"]);
    let n_saved = text.lines().filter(|line| line.starts_with("lb LoadBalancer: flow ")).count();
    let n_clients = text.lines().filter(|line| line.starts_with("lb LoadBalancer: client ")).count();
    assert!(n_saved > 2500 && n_clients == 1, "{n_saved} and {n_clients}");
    assert!(
        text.ends_with(&format!("lb.n_connections: {n_saved}\nlb.n_clients: 1\n")),
        "{}",
        text.lines().last().unwrap()
    );
    assert_eq!(text.lines().count(), n_saved + n_clients + 2);
}
