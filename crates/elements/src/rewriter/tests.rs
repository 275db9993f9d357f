//! The rewriters in running graphs.

use expect_test::{expect, Expect};
use wire::word::{put_u16, u16_at};

use crate::testing;

/// A graph around a rewriter `rw` with two inputs and two outputs, given packets one after the other; yields what leaves,
/// without the packets' numbers of bytes, and the values of the handlers in `reads`.
fn run(rewriter: &str, packets: &[(usize, Vec<u8>)], reads: &[&str]) -> String {
    let mut graph = format!(
        "rw :: {rewriter}; in0 :: MarkIPHeader -> [0]rw; in1 :: MarkIPHeader -> [1]rw;
         rw[0] -> CheckIPHeader(VERBOSE true) -> IPPrint(out0, TIMESTAMP false) -> Discard;
         rw[1] -> CheckIPHeader(VERBOSE true) -> IPPrint(out1, TIMESTAMP false) -> Discard;\n"
    );
    let mut script = String::new();
    for (number, (input, bytes)) in packets.iter().enumerate() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        graph +=
            &format!("s{number} :: InfiniteSource(DATA \\<{hex}>, LIMIT 1, ACTIVE false) -> in{input};\n");
        script += &format!("wait 1s, write s{number}.active true, ");
    }
    // Sources for inputs without packets, so that no port is unused.
    graph += "Idle -> in0; Idle -> in1;\n";
    graph += &format!("Script({script} wait 1ms, stop);");
    let names: Vec<String> = reads.iter().map(|name| format!("rw.{name}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    testing::run(&graph, &names)
}

fn check(rewriter: &str, packets: &[(usize, Vec<u8>)], reads: &[&str], expect: Expect) {
    expect.assert_eq(&run(rewriter, packets, reads));
}

fn ip(protocol: u8, src: [u8; 4], dst: [u8; 4], payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
    bytes.extend([src, dst].concat());
    put_u16(&mut bytes, 2, 20 + payload.len() as u16);
    let sum = wire::checksum::checksum(&bytes);
    put_u16(&mut bytes, 10, sum);
    bytes.extend(payload);
    bytes
}

fn with_ports(protocol: u8, src: ([u8; 4], u16), dst: ([u8; 4], u16), rest: &[u8], sum_at: usize) -> Vec<u8> {
    let mut segment = [src.1.to_be_bytes(), dst.1.to_be_bytes()].concat();
    segment.extend(rest);
    let pseudo = wire::checksum::pseudo_ipv4(src.0.into(), dst.0.into(), protocol, segment.len() as u16);
    let sum = wire::checksum::transport(pseudo, &segment);
    put_u16(&mut segment, sum_at, sum);
    ip(protocol, src.0, dst.0, &segment)
}

fn udp(src: ([u8; 4], u16), dst: ([u8; 4], u16)) -> Vec<u8> {
    with_ports(17, src, dst, &[0, 12, 0, 0, 1, 2, 3, 4], 6)
}

fn tcp(src: ([u8; 4], u16), dst: ([u8; 4], u16), flags: u8) -> Vec<u8> {
    with_ports(6, src, dst, &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0], 16)
}

fn echo(src: [u8; 4], dst: [u8; 4], kind: u8, identifier: u16) -> Vec<u8> {
    let mut icmp = vec![kind, 0, 0, 0, 0, 0, 0, 9];
    put_u16(&mut icmp, 4, identifier);
    let sum = wire::checksum::checksum(&icmp);
    put_u16(&mut icmp, 2, sum);
    ip(1, src, dst, &icmp)
}

const HOST: [u8; 4] = [10, 0, 0, 1];
const OTHER: [u8; 4] = [10, 0, 0, 2];
const SERVER: [u8; 4] = [192, 0, 2, 7];
const PUBLIC: [u8; 4] = [203, 0, 113, 1];

#[test]
fn to_make_room_takes_simulated_time_as_in_click() {
    let graph = "rw :: IPRewriter(keep 0 0, CAPACITY 1); rw -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard;
        RatedSource(RATE 10, LIMIT 3) -> UDPIPEncap(1.0.0.1, 5, 2.0.0.2, 6, CHECKSUM true) -> rw;
        RatedSource(RATE 10, LIMIT 3) -> UDPIPEncap(1.0.0.1, 6, 2.0.0.2, 6, CHECKSUM true) -> rw; Script(wait 0.5, stop)";
    expect![[r#"
        q: 1000000000.000000006:   97
        q: 1000000000.000000014:   97
        q: 1000000000.101000024:   97
    "#]]
    .assert_eq(&testing::run(graph, &[]));
}

#[test]
fn flows_are_translated_and_their_replies_translated_back() {
    check(
        "IPRewriter(pattern 203.0.113.1 1024-65535# - - 0 1, drop, REAP_INTERVAL 0)",
        &[
            (0, udp((HOST, 5000), (SERVER, 53))),
            (0, udp((OTHER, 5000), (SERVER, 53))),
            (1, udp((SERVER, 53), (PUBLIC, 1025))),
            (1, udp((SERVER, 53), (PUBLIC, 1026))),
            (0, tcp((HOST, 5000), (SERVER, 80), 2)),
            (1, tcp((SERVER, 80), (PUBLIC, 1026), 0x12)),
        ],
        &["udp_table", "tcp_table", "patterns", "table_size", "mapping_failures", "pattern1"],
        expect![[r#"
            out0: 203.0.113.1.1024 > 192.0.2.7.53: udp 12
            out0: 203.0.113.1.1025 > 192.0.2.7.53: udp 12
            out1: 192.0.2.7.53 > 10.0.0.2.5000: udp 12
            out0: 203.0.113.1.1026 > 192.0.2.7.80: S 1:2(1,40,40) win 256
            out1: 192.0.2.7.80 > 10.0.0.1.5000: S 1:2(1,40,40) ack 2 win 256
            rw.udp_table: (192.0.2.7, 53, 203.0.113.1, 1024) => (192.0.2.7, 53, 10.0.0.1, 5000) [0 *1] i0 exp295
            (10.0.0.1, 5000, 192.0.2.7, 53) => (203.0.113.1, 1024, 192.0.2.7, 53) [*0 1] i0 exp295
            (10.0.0.2, 5000, 192.0.2.7, 53) => (203.0.113.1, 1025, 192.0.2.7, 53) [*0 1] i0 exp297
            (192.0.2.7, 53, 203.0.113.1, 1025) => (192.0.2.7, 53, 10.0.0.2, 5000) [0 *1] i0 exp297

            rw.tcp_table: (192.0.2.7, 80, 203.0.113.1, 1026) => (192.0.2.7, 80, 10.0.0.1, 5000) [0 *1] i0 exp300
            (10.0.0.1, 5000, 192.0.2.7, 80) => (203.0.113.1, 1026, 192.0.2.7, 80) [*0 1] i0 exp300

            rw.patterns: 203.0.113.1 1024-65535 - - [3]
            <drop>

            rw.table_size: 3
            rw.mapping_failures: 0
            rw.pattern1: <drop>

        "#]],
    );
}

#[test]
fn ports_run_out_and_failures_are_counted() {
    check(
        "UDPRewriter(pattern 203.0.113.1 7-8# - - 0 1, pass 1, REAP_INTERVAL 0)",
        &[
            (0, udp((HOST, 1), (SERVER, 53))),
            (0, udp((HOST, 2), (SERVER, 53))),
            (0, udp((HOST, 3), (SERVER, 53))),
            (1, udp((SERVER, 99), (PUBLIC, 7))),
            (1, ip(17, SERVER, PUBLIC, &[1, 2, 3])),
        ],
        &["table_size", "mapping_failures"],
        expect![[r#"
            out0: 203.0.113.1.7 > 192.0.2.7.53: udp 12
            out0: 203.0.113.1.8 > 192.0.2.7.53: udp 12
            out1: 192.0.2.7.99 > 203.0.113.1.7: udp 12
            out1: 192.0.2.7 > 203.0.113.1: truncated-udp
            rw.table_size: 2
            rw.mapping_failures: 1
        "#]],
    );
}

#[test]
fn a_full_table_keeps_guaranteed_flows_and_gives_up_the_oldest_other_one() {
    check(
        "UDPRewriter(pattern 203.0.113.1 1024-65535# - - 0 1, drop, CAPACITY 2, GUARANTEE 3, REAP_INTERVAL 0)",
        &[
            (0, udp((HOST, 1), (SERVER, 53))),
            (0, udp((HOST, 2), (SERVER, 53))),
            (0, udp((HOST, 3), (SERVER, 53))),
            (0, udp((HOST, 2), (SERVER, 53))),
            (0, udp((HOST, 4), (SERVER, 53))),
            (1, udp((SERVER, 53), (PUBLIC, 1024))),
            (1, udp((SERVER, 53), (PUBLIC, 1025))),
        ],
        &["size", "mapping_failures", "table"],
        expect![[r#"
            out0: 203.0.113.1.1024 > 192.0.2.7.53: udp 12
            out0: 203.0.113.1.1025 > 192.0.2.7.53: udp 12
            out0: 203.0.113.1.1025 > 192.0.2.7.53: udp 12
            out0: 203.0.113.1.1027 > 192.0.2.7.53: udp 12
            out1: 192.0.2.7.53 > 10.0.0.1.2: udp 12
            rw.size: 2
            rw.mapping_failures: 1
            rw.table: (10.0.0.1, 4, 192.0.2.7, 53) => (203.0.113.1, 1027, 192.0.2.7, 53) [*0 1] i0 exp298
            (10.0.0.1, 2, 192.0.2.7, 53) => (203.0.113.1, 1025, 192.0.2.7, 53) [*0 1] i0 exp300
            (192.0.2.7, 53, 203.0.113.1, 1027) => (192.0.2.7, 53, 10.0.0.1, 4) [0 *1] i0 exp298
            (192.0.2.7, 53, 203.0.113.1, 1025) => (192.0.2.7, 53, 10.0.0.1, 2) [0 *1] i0 exp300

        "#]],
    );
}

#[test]
fn tcp_connections_are_followed_for_their_timeouts() {
    check(
        "TCPRewriter(pattern 203.0.113.1 1024-65535# - - 0 1, drop, GUARANTEE 0, REAP_INTERVAL 0)",
        &[
            (0, tcp((HOST, 1), (SERVER, 80), 2)),
            (0, tcp((HOST, 2), (SERVER, 80), 2)),
            (0, tcp((HOST, 1), (SERVER, 80), 4)),
        ],
        &["table", "lookup", "capacity"],
        expect![[r#"
            out0: 203.0.113.1.1024 > 192.0.2.7.80: S 1:2(1,40,40) win 256
            out0: 203.0.113.1.1025 > 192.0.2.7.80: S 1:2(1,40,40) win 256
            out0: 203.0.113.1.1024 > 192.0.2.7.80: R 1:1(0,40,40) win 256
            rw.table: (192.0.2.7, 80, 203.0.113.1, 1024) => (192.0.2.7, 80, 10.0.0.1, 1) [0 *1] i0 exp240
            (10.0.0.1, 2, 192.0.2.7, 80) => (203.0.113.1, 1025, 192.0.2.7, 80) [*0 1] i0 exp299
            (192.0.2.7, 80, 203.0.113.1, 1025) => (192.0.2.7, 80, 10.0.0.1, 2) [0 *1] i0 exp299
            (10.0.0.1, 1, 192.0.2.7, 80) => (203.0.113.1, 1024, 192.0.2.7, 80) [*0 1] i0 exp240

            rw.lookup: SADDR: required argument missing
            SPORT: required argument missing
            DADDR: required argument missing
            DPORT: required argument missing
            rw.capacity: 2147483647
        "#]],
    );
}

#[test]
fn addresses_are_translated_alone() {
    check(
        "IPAddrRewriter(pattern 203.0.113.0/30# - 0 1, drop, REAP_INTERVAL 0)",
        &[
            (0, udp((HOST, 1), (SERVER, 53))),
            (0, tcp((OTHER, 1), (SERVER, 80), 2)),
            (0, udp(([10, 0, 0, 3], 1), (SERVER, 53))),
            (1, udp((SERVER, 53), (PUBLIC, 1))),
        ],
        &["table", "patterns", "mapping_failures"],
        expect![[r#"
            out0: 203.0.113.1.1 > 192.0.2.7.53: udp 12
            out0: 203.0.113.2.1 > 192.0.2.7.80: S 1:2(1,40,40) win 256
            out1: 192.0.2.7.53 > 10.0.0.1.1: udp 12
            rw.table: 10.0.0.2 => 203.0.113.2 [*0 1] i0 exp7198
            0.0.0.0 => 0.0.0.0 [0 *1] i0 exp7198
            10.0.0.1 => 203.0.113.1 [*0 1] i0 exp7200
            0.0.0.0 => 0.0.0.0 [0 *1] i0 exp7200

            rw.patterns: 203.0.113.1-203.0.113.2 - [2]
            <drop>

            rw.mapping_failures: 1
        "#]],
    );
    check(
        "IPAddrPairRewriter(pattern 203.0.113.0/30# 198.51.100.1 0 1, drop, REAP_INTERVAL 0)",
        &[(0, udp((HOST, 1), (SERVER, 53))), (1, udp(([198, 51, 100, 1], 53), (PUBLIC, 1)))],
        &["table"],
        expect![[r#"
            out0: 203.0.113.1.1 > 198.51.100.1.53: udp 12
            out1: 192.0.2.7.53 > 10.0.0.1.1: udp 12
            rw.table: (198.51.100.1, 203.0.113.1) => (192.0.2.7, 10.0.0.1) [0 *1] i0 exp7200
            (10.0.0.1, 192.0.2.7) => (203.0.113.1, 198.51.100.1) [*0 1] i0 exp7200

        "#]],
    );
}

#[test]
fn pings_are_told_apart_by_their_identifiers() {
    check(
        "ICMPPingRewriter(pattern 203.0.113.1 - 0-65535# 0 1, drop, REAP_INTERVAL 0)",
        &[
            (0, echo(HOST, SERVER, 8, 77)),
            (0, echo(OTHER, SERVER, 8, 77)),
            (1, echo(SERVER, PUBLIC, 0, 1)),
            (1, echo(SERVER, PUBLIC, 0, 2)),
        ],
        &["table"],
        expect![[r#"
            out0: 203.0.113.1 > 192.0.2.7: icmp echo (0, 9)
            out0: 203.0.113.1 > 192.0.2.7: icmp echo (1, 9)
            out1: 192.0.2.7 > 10.0.0.2: icmp echo-reply (77, 9)
            rw.table: (192.0.2.7, 203.0.113.1, 256) => (192.0.2.7, 10.0.0.1, 333) [0 *1] i0 exp297
            (10.0.0.1, 192.0.2.7, 77) => (203.0.113.1, 192.0.2.7, 0) [*0 1] i0 exp297
            (10.0.0.2, 192.0.2.7, 77) => (203.0.113.1, 192.0.2.7, 1) [*0 1] i0 exp299
            (192.0.2.7, 203.0.113.1, 257) => (192.0.2.7, 10.0.0.2, 333) [0 *1] i0 exp299

        "#]],
    );
}

#[test]
fn mistakes_in_specifications_are_told() {
    check(
        "IPRewriter(pattern 203.0.113.1 9-1 - - 0 1, pattern unknown 0 1)",
        &[],
        &[],
        expect![[r#"
            config:1: While configuring 'rw :: IPRewriter':
              input spec 0: bad source port
              input spec 1: no such pattern 'unknown'
            Router could not be initialized!
        "#]],
    );
    check(
        "IPRewriter(keep 0 2, nonsense)",
        &[],
        &[],
        expect![[r#"
            config:1: While configuring 'rw :: IPRewriter':
              input spec 0: output port out of range
              input spec 1: unknown specification
            Router could not be initialized!
        "#]],
    );
    check(
        r#"IPRewriter("keep 0 1", \<0a>)"#,
        &[],
        &[],
        expect![[r#"
            config:1: While configuring 'rw :: IPRewriter':
              input spec 0: empty argument
              input spec 1: empty argument
            Router could not be initialized!
        "#]],
    );
    check(
        "IPRewriter(drop, pass, drop)",
        &[],
        &[],
        expect![[r#"
            config:1: While configuring 'rw :: IPRewriter':
              need 2 arguments, one per input port
            Router could not be initialized!
        "#]],
    );
    check(
        "IPRewriter(drop, pass, CAPACITY in0)",
        &[],
        &[],
        expect![[r#"
            config:1: While configuring 'rw :: IPRewriter':
              bad MAPPING_CAPACITY
            Router could not be initialized!
        "#]],
    );
}

#[test]
fn capacities_and_named_patterns_are_shared() {
    let packet: String = udp((HOST, 1), (SERVER, 53)).iter().map(|byte| format!("{byte:02x}")).collect();
    testing::check_reading(
        &format!(
            "IPRewriterPatterns(out 203.0.113.1 1024-65535# - -);
             a :: IPRewriter(pattern out 0 0, CAPACITY b, REAP_INTERVAL 0);
             b :: UDPRewriter(pattern out 0 0, CAPACITY 9, REAP_INTERVAL 0);
             InfiniteSource(DATA \\<{packet}>, LIMIT 1) -> MarkIPHeader -> t :: Paint(0) -> a -> Discard;
             InfiniteSource(DATA \\<{packet}>, LIMIT 1) -> MarkIPHeader -> b -> Discard;"
        ),
        &["a.size", "a.table_size", "a.capacity", "a.udp_table", "b.table", "b.patterns"],
        expect![[r#"
            a.size: 2
            a.table_size: 1
            a.capacity: 9
            a.udp_table: (192.0.2.7, 53, 203.0.113.1, 1024) => (192.0.2.7, 53, 10.0.0.1, 1) [0 *0] i0 exp300
            (10.0.0.1, 1, 192.0.2.7, 53) => (203.0.113.1, 1024, 192.0.2.7, 53) [*0 0] i0 exp300

            b.table: (192.0.2.7, 53, 203.0.113.1, 1025) => (192.0.2.7, 53, 10.0.0.1, 1) [0 *0] i0 exp300
            (10.0.0.1, 1, 192.0.2.7, 53) => (203.0.113.1, 1025, 192.0.2.7, 53) [*0 0] i0 exp300

            b.patterns: 203.0.113.1 1024-65535 - - [1]

        "#]],
    );
}

#[test]
fn mappers_choose_in_turn() {
    let reads = &["patterns", "udp_table"];
    let mapper = "r :: RoundRobinIPMapper(- - 10.9.0.1 - 0 1, - - 10.9.0.2 - 1 0);";
    check(
        &format!("IPRewriter(r, drop, REAP_INTERVAL 0); {mapper}"),
        &[
            (0, udp((HOST, 1), (SERVER, 53))),
            (0, udp((HOST, 2), (SERVER, 53))),
            (1, udp(([10, 9, 0, 2], 53), (HOST, 2))),
        ],
        reads,
        expect![[r#"
            out0: 10.0.0.1.1 > 10.9.0.1.53: udp 12
            out1: 10.0.0.1.2 > 10.9.0.2.53: udp 12
            out0: 192.0.2.7.53 > 10.0.0.1.2: udp 12
            rw.patterns: <mapper> [2]
            <drop>

            rw.udp_table: (10.0.0.1, 2, 192.0.2.7, 53) => (10.0.0.1, 2, 10.9.0.2, 53) [*1 0] i0 exp300
            (10.9.0.1, 53, 10.0.0.1, 1) => (192.0.2.7, 53, 10.0.0.1, 1) [0 *1] i0 exp298
            (10.0.0.1, 1, 192.0.2.7, 53) => (10.0.0.1, 1, 10.9.0.1, 53) [*0 1] i0 exp298
            (10.9.0.2, 53, 10.0.0.1, 2) => (192.0.2.7, 53, 10.0.0.1, 2) [1 *0] i0 exp300

        "#]],
    );
    check(
        "IPRewriter(r, drop); r :: RoundRobinIPMapper(- - 10.9.0.1 - 0 1, - - 10.9.0.2 - 2 0);",
        &[],
        &[],
        expect![[r#"
            config:1: While initializing 'rw :: IPRewriter':
              input spec 0: output port out of range in r :: RoundRobinIPMapper pattern 1
            Router could not be initialized!
        "#]],
    );
}

#[test]
fn errors_about_translated_packets_reach_the_source() {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let inner = udp((PUBLIC, 1024), (SERVER, 53));
    let mut icmp = vec![3, 1, 0, 0, 0, 0, 0, 0];
    icmp.extend(&inner);
    let sum = wire::checksum::checksum(&icmp);
    put_u16(&mut icmp, 2, sum);
    let graph = format!(
        "rw :: IPRewriter(pattern 203.0.113.1 1024-65535# - - 0 1, REAP_INTERVAL 0);
         InfiniteSource(DATA \\<{}>, LIMIT 1) -> MarkIPHeader -> rw -> Discard; rw[1] -> Discard;
         s :: InfiniteSource(DATA \\<{}>, LIMIT 1, ACTIVE false) -> MarkIPHeader -> ICMPRewriter(rw)
           -> CheckIPHeader(VERBOSE true) -> IPPrint(outer, TIMESTAMP false)
           -> Strip(28) -> CheckIPHeader(VERBOSE true) -> IPPrint(inner, TIMESTAMP false) -> Discard;
         Script(wait 1s, write s.active true, wait 1ms, stop);",
        hex(&udp((HOST, 5), (SERVER, 53))),
        hex(&ip(1, [198, 51, 100, 9], PUBLIC, &icmp)),
    );
    testing::check(
        &graph,
        expect![[r#"
        outer: 198.51.100.9 > 10.0.0.1: icmp 192.0.2.7 unreachable host
        inner: 10.0.0.1.5 > 192.0.2.7.53: udp 12
    "#]],
    );
}

/// Any bytes go through any rewriter without harm.
#[test]
fn odd_packets_do_no_harm() {
    let mut state = 7u64;
    let mut random = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % n
    };
    for rewriter in [
        "IPRewriter",
        "TCPRewriter",
        "UDPRewriter",
        "IPAddrRewriter",
        "IPAddrPairRewriter",
        "ICMPPingRewriter",
    ] {
        let packets: Vec<_> = (0..60)
            .map(|_| {
                let mut bytes = match random(3) {
                    0 => udp((HOST, random(4) as u16), (SERVER, 53)),
                    1 => tcp((HOST, random(4) as u16), (SERVER, 53), random(64) as u8),
                    _ => echo(HOST, SERVER, 8, random(4) as u16),
                };
                for _ in 0..random(4) {
                    let at = random(bytes.len());
                    bytes[at] = random(256) as u8;
                }
                bytes.truncate(random(bytes.len() + 1).max(1));
                (random(2), bytes)
            })
            .collect();
        let text = run(&format!("{rewriter}(keep 0 1, pass 1, REAP_INTERVAL 0)"), &packets, &["size"]);
        assert!(text.contains("rw.size: "), "{text}");
    }
}

/// A partial checksum, as segmentation offload leaves it, stays the sum of the pseudo-header.
#[test]
fn partial_checksums_stay_partial() {
    use super::flow::{delta, Flow};
    use super::flow_id::FlowId;
    use super::style::{Ports, Style, Target};
    let ids = [
        FlowId { src: 0x0a00_0001, dst: 0xc000_0207, sport: 5, dport: 53 },
        FlowId { src: 0xcb00_7101, dst: 0xc000_0207, sport: 1024, dport: 53 },
    ];
    let halfwords = ids.map(|id| id.halfwords());
    let mut flow = Flow {
        ids: [ids[0], ids[1].reverse()],
        expiry_ms: 0,
        sequence: 0,
        place: 0,
        owner: 0,
        outputs: [0, 1],
        ip_delta: delta(&halfwords[0][..4], &halfwords[1][..4]),
        transport_delta: delta(&halfwords[0], &halfwords[1]),
        space: 0,
        state: 0,
        reply_anno: 0,
        protocol: 17,
        flags: 0,
        is_guaranteed: false,
        is_used: true,
    };
    let pseudo = |src: [u8; 4]| wire::checksum::pseudo_ipv4(src.into(), SERVER.into(), 17, 12);
    let mut bytes = udp((HOST, 5), (SERVER, 53));
    put_u16(&mut bytes, 26, pseudo(HOST));
    let mut target = Target { network: &mut bytes, transport_at: 20, partial_at: Some(26) };
    Ports::apply(&mut flow, 0, &mut target, None);
    assert_eq!(u16_at(&bytes, 26), Some(pseudo(PUBLIC)));
}

#[test]
fn inputs_that_do_not_exist_have_no_handler() {
    let told = run("IPRewriter(pass 0, pass 1)", &[], &["pattern1", "pattern2", "pattern01"]);
    expect![[r#"
        rw.pattern1: <nochange>

        rw.pattern2: no 'rw.pattern2' read handler
        rw.pattern01: no 'rw.pattern01' read handler
    "#]]
    .assert_eq(&told);
}
