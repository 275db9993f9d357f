//! State that outlives the process: what elements save, and what others of their classes make of it.

use std::sync::OnceLock;

use engine::saved::Record;
use expect_test::expect;
use testing::Library;

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes)))
}

/// Keeps simulated time from going on to the next time-out.
const TICK: &str = "TimedSource(0.001) -> Discard;";

/// About two seconds.
const ROUNDS: usize = 2000;

/// A rewriter with a host inside that has spoken UDP and TCP with a server, and room for what the server says.
fn nat(rewriter: &str, source: &str) -> String {
    format!(
        "{TICK} rw :: {rewriter}; {source};
         rw[0] -> IPPrint(out, TIMESTAMP false) -> Discard; rw[1] -> IPPrint(back, TIMESTAMP false) -> Discard;"
    )
}

const INSIDE: &str =
    "InfiniteSource(LIMIT 1) -> UDPIPEncap(10.0.0.1, 5000, 192.0.2.7, 53) -> [0] rw; Idle -> [1] rw";
const REPLY: &str = "Idle -> [0] rw; InfiniteSource(LIMIT 1, LENGTH 8)
    -> UDPIPEncap(192.0.2.7, 53, 203.0.113.1, 1024) -> [1] rw";

#[test]
fn mappings_outlive_the_process() {
    let rewriter = "IPRewriter(pattern 203.0.113.1 1024 - - 0 1, drop, UDP_TIMEOUT 60, UDP_GUARANTEE 5)";
    let run = |passed_ms| {
        let (before, after) = (nat(rewriter, INSIDE), nat(rewriter, REPLY));
        library().run_restored(&before, &after, passed_ms, ROUNDS, &["rw.udp_table", "rw.size"])
    };
    expect![[r#"
        rw IPRewriter: 1 0 17 10.0.0.1 5000 192.0.2.7 53 203.0.113.1 1024 192.0.2.7 53 0 1 2 0 4937 59937
        back: 192.0.2.7.53 > 10.0.0.1.5000: udp 16
        rw.udp_table: (192.0.2.7, 53, 203.0.113.1, 1024) => (192.0.2.7, 53, 10.0.0.1, 5000) [0 *1] i0 exp60
        (10.0.0.1, 5000, 192.0.2.7, 53) => (203.0.113.1, 1024, 192.0.2.7, 53) [*0 1] i0 exp60

        rw.size: 1
    "#]]
    .assert_eq(&run(10_000));
    // It has ended meanwhile.
    expect![[r#"
        rw IPRewriter: 1 0 17 10.0.0.1 5000 192.0.2.7 53 203.0.113.1 1024 192.0.2.7 53 0 1 2 0 4937 59937
        rw.udp_table: 
        rw.size: 0
    "#]]
    .assert_eq(&run(70_000));
}

#[test]
fn mappings_that_do_not_fit_are_refused() {
    let before = nat("IPRewriter(pattern 203.0.113.1 1024 - - 0 1, drop)", INSIDE);
    let after = "rw :: IPRewriter(pattern 203.0.113.1 1024 - - 0 0); Idle -> rw -> Discard;";
    expect![[r#"
        rw IPRewriter: 1 0 17 10.0.0.1 5000 192.0.2.7 53 203.0.113.1 1024 192.0.2.7 53 0 1 2 0 4937 299937
        rw: 1 of 1: the mapping does not fit the rewriter any more
        rw.size: 0
    "#]]
    .assert_eq(&library().run_restored(&before, after, 0, ROUNDS, &["rw.size"]));
    let after = "rw :: Counter; Idle -> rw -> Discard;";
    expect![[r#"
        rw IPRewriter: 1 0 17 10.0.0.1 5000 192.0.2.7 53 203.0.113.1 1024 192.0.2.7 53 0 1 2 0 4937 299937
        rw: there is no such IPRewriter any more
    "#]]
    .assert_eq(&library().run_restored(&before, after, 0, ROUNDS, &[]));
    // The flow was there before what was saved.
    let after = nat("IPRewriter(pattern 203.0.113.1 1024 - - 0 1, drop)", INSIDE);
    let text = library().run_restored(&before, &after, 0, ROUNDS, &["rw.size"]);
    expect![[r#"
        rw IPRewriter: 1 0 17 10.0.0.1 5000 192.0.2.7 53 203.0.113.1 1024 192.0.2.7 53 0 1 2 0 4937 299937
        out: 203.0.113.1.1024 > 192.0.2.7.53: udp 77
        rw.size: 1
    "#]]
    .assert_eq(&text);
}

/// A client's PORT command is longer behind the NAT: what follows has other sequence numbers on the two sides.
#[test]
fn sequence_numbers_stay_shifted() {
    const COLUMNS: &str = "!data ip_src sport ip_dst dport tcp_flags tcp_seq tcp_ack payload";
    let graph = |client: &str, server: &str| {
        format!(
            "{TICK} rw :: IPRewriter(pattern 203.0.113.1 9000-9100# - - 0 1, drop);
             FromIPSummaryDump(DATA \"{COLUMNS}\n{client}\n\", STOP false, CHECKSUM true) -> FTPPortMapper(rw, rw, 0) -> [0] rw;
             FromIPSummaryDump(DATA \"{COLUMNS}\n{server}\n\", STOP false, CHECKSUM true) -> [1] rw;
             rw[0] -> CheckTCPHeader -> IPPrint(out, TIMESTAMP false) -> Discard;
             rw[1] -> CheckTCPHeader -> IPPrint(in, TIMESTAMP false) -> Discard;"
        )
    };
    let client = |what: &str| format!("10.0.0.2 6587 192.0.2.7 21 {what}");
    let before = [
        client("S 1000 0 \\\"\\\""),
        client("PA 1001 501 \\\"PORT 10,0,0,2,3,9\\\\r\\\\n\\\""),
        client("PA 1020 501 \\\"PORT 10,0,0,2,3,10\\\\r\\\\n\\\""),
    ];
    let after = graph(
        &client("PA 1040 501 \\\"RETR file\\\\r\\\\n\\\""),
        "192.0.2.7 21 203.0.113.1 9000 A 501 1064 \\\"200\\\\r\\\\n\\\"",
    );
    let text = library().run_restored(&graph(&before.join("\n"), ""), &after, 1000, ROUNDS, &["rw.size"]);
    expect![[r#"
        rw IPRewriter: 0 0 6 10.0.0.2 6587 192.0.2.7 21 203.0.113.1 9000 192.0.2.7 21 0 1 4 0 4937 299937 9 1040 0 - 5 1020 0 -
        rw IPRewriter: 0 0 6 10.0.0.2 777 192.0.2.7 20 203.0.113.1 9001 192.0.2.7 20 0 1 0 0 4937 299937
        rw IPRewriter: 0 0 6 10.0.0.2 778 192.0.2.7 20 203.0.113.1 9002 192.0.2.7 20 0 1 0 0 4937 299937
        out: 203.0.113.1.9000 > 192.0.2.7.21: P 1049:1060(11,51,51) ack 501 win 0
        in: 192.0.2.7.21 > 10.0.0.2.6587: . 501:506(5,45,45) ack 1055 win 0
        rw.size: 3
    "#]]
    .assert_eq(&text);
}

#[test]
fn pings_and_other_protocols_keep_their_mappings() {
    let graph = |source: &str| {
        format!(
            "{TICK} pings :: ICMPPingRewriter(pattern 203.0.113.1 5-5 - - 0 1, drop); pairs :: IPAddrPairRewriter(pattern 203.0.113.1 - 0 0);
             {source} pings[0], pings[1], pairs => Discard, Discard, Discard;"
        )
    };
    let before = graph(
        "ICMPPingSource(10.0.0.1, 192.0.2.7, INTERVAL 0.01, LIMIT 1) -> [0] pings; Idle -> [1] pings;
         InfiniteSource(LIMIT 1) -> IPEncap(gre, 10.0.0.1, 192.0.2.7) -> pairs;",
    );
    let after = graph("Idle -> [0] pings; Idle -> [1] pings; Idle -> pairs;");
    let text = library().run_restored(&before, &after, 1000, ROUNDS, &["pings.table", "pairs.table"]);
    expect![[r#"
        pings ICMPPingRewriter: 0 0 1 10.0.0.1 0 192.0.2.7 256 203.0.113.1 5 192.0.2.7 261 0 1 0 0 4949 299949
        pairs IPAddrPairRewriter: 0 0 0 10.0.0.1 0 192.0.2.7 0 203.0.113.1 0 192.0.2.7 0 0 0 0 0 4939 7199939
        pings.table: (192.0.2.7, 203.0.113.1, 261) => (192.0.2.7, 10.0.0.1, 256) [0 *1] i0 exp299
        (10.0.0.1, 192.0.2.7, 0) => (203.0.113.1, 192.0.2.7, 5) [*0 1] i0 exp299

        pairs.table: (192.0.2.7, 203.0.113.1) => (192.0.2.7, 10.0.0.1) [0 *0] i0 exp7199
        (10.0.0.1, 192.0.2.7) => (203.0.113.1, 192.0.2.7) [*0 0] i0 exp7199

    "#]]
    .assert_eq(&text);
}

#[test]
fn neighbours_and_stations_are_known_again() {
    let graph = |source: &str| {
        format!(
            "{TICK} table :: ARPTable(TIMEOUT 60); query :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1, TABLE table);
             switch :: EtherSwitch; vlans :: VLANSwitch(access 5, trunk 5 ALLOWED 6);
             nd :: IP6Neighbors(2:0:0:0:0:1, fe80::1/64 2001:db8::1/64); Idle -> nd; Idle -> [1] nd; nd[0], nd[1] => Discard, Discard;
             Idle -> query; Idle -> [1] query; query => Discard; {source}
             switch[0], switch[1], vlans[0], vlans[1] => Discard, Discard, Discard, Discard;"
        )
    };
    let before = graph(
        "Script(write table.insert 10.0.0.9 2:0:0:0:0:9, write nd.insert 2001:db8::9 2:0:0:0:0:a);
         Idle -> [0] switch; InfiniteSource(LIMIT 1) -> EtherEncap(0x0800, 2:0:0:0:0:7, 2:0:0:0:0:8) -> [1] switch;
         InfiniteSource(LIMIT 1) -> EtherEncap(0x0800, 2:0:0:0:0:7, 2:0:0:0:0:8) -> [0] vlans; Idle -> [1] vlans;",
    );
    let idle = "Idle -> [0] switch; Idle -> [1] switch; Idle -> [0] vlans; Idle -> [1] vlans;";
    let reads = ["table.table", "nd.table", "switch.table", "vlans.table"];
    expect![[r#"
        table ARPTable: 10.0.0.9 02-00-00-00-00-09 62
        switch EtherSwitch: 02-00-00-00-00-07 0 1 1000000000000000003
        vlans VLANSwitch: 02-00-00-00-00-07 5 0 1000000000000000004
        nd IP6Neighbors: 2001:db8::9 02-00-00-00-00-0A
        table.table: 10.0.0.9 1 02-00-00-00-00-09 10.125000

        nd.table: 2001:db8::9 stale 02:00:00:00:00:0A host 0 0

        switch.table: 02-00-00-00-00-07 1

        vlans.table: 02-00-00-00-00-07 5 0

    "#]]
    .assert_eq(&library().run_restored(&before, &graph(idle), 10_000, ROUNDS, &reads));
    // Too long ago for a neighbour; and the VLAN and the network are others.
    let after = graph(idle)
        .replace("access 5, trunk 5 ALLOWED 6", "access 6, trunk 6")
        .replace("2001:db8::1/64", "2001:db8:1::1/64");
    expect![[r#"
        table ARPTable: 10.0.0.9 02-00-00-00-00-09 62
        switch EtherSwitch: 02-00-00-00-00-07 0 1 1000000000000000003
        vlans VLANSwitch: 02-00-00-00-00-07 5 0 1000000000000000004
        nd IP6Neighbors: 2001:db8::9 02-00-00-00-00-0A
        vlans: 1 of 1: there is no port 0 for 02-00-00-00-00-07
        nd: 1 of 1: 2001:db8::9 is on no network of this one
        table.table: 
        nd.table: 
        switch.table: 02-00-00-00-00-07 1

        vlans.table: 
    "#]]
    .assert_eq(&library().run_restored(&before, &after, 61_000, ROUNDS, &reads));
}

#[test]
fn lines_that_nobody_saved_do_no_harm() {
    let graph = format!(
        "{TICK} rw :: IPRewriter(pattern 203.0.113.1 1024 - - 0 0); table :: ARPTable; switch :: EtherSwitch; vlans :: VLANSwitch;
         lb :: LoadBalancer(203.0.113.10:80/tcp 10.1.0.1, AFFINITY 60s); Idle -> lb; lb[0] -> Discard;
         nd :: IP6Neighbors(2:0:0:0:0:1, fe80::1/64); Idle -> nd; Idle -> [1] nd; nd[0], nd[1] => Discard, Discard;
         Idle -> rw -> Discard; Idle -> switch -> Discard; Idle -> [1] switch [1] -> Discard;
         Idle -> vlans -> Discard; Idle -> [1] vlans [1] -> Discard;"
    );
    let flow = "10.0.0.1 1 10.0.0.2 2 203.0.113.1 3 10.0.0.2 2";
    let most = i64::MAX;
    let lines = [
        String::new(),
        "x".to_string(),
        format!("9 0 17 {flow} 0 0 0 0 0 1000"),
        format!("0 1 17 {flow} 0 0 0 0 0 1000"),
        format!("0 4294967295 17 {flow} 0 0 0 0 0 1000"),
        format!("0 0 17 {flow} 7 0 0 0 0 1000"),
        format!("1 0 6 {flow} 0 0 0 0 0 1000 5"),
        format!("1 0 6 {flow} 0 0 0 0 0 1000 5 x 0 -"),
        format!("1 0 6 {flow} 0 0 0 0 0 1000 {} {} 0 -", i32::MIN, u32::MAX),
        format!("0 0 17 {flow} 0 0 255 255 {most} {most}"),
        format!("0 0 17 {flow} 0 0 0 0 {} {most}", i64::MIN),
        format!("10.0.0.1 2:0:0:0:0:1 {most}"),
        format!("10.0.0.2 2:0:0:0:0:1 {}", i64::MIN),
        "10.0.0.3 ff:ff:ff:ff:ff:ff 1".to_string(),
        "fe80::1 2:0:0:0:0:1".to_string(),
        "ff02::1 2:0:0:0:0:1".to_string(),
        "fe80::2 x".to_string(),
        format!("2:0:0:0:0:1 4095 0 {most}"),
        format!("2:0:0:0:0:1 0 4294967295 {most}"),
        format!("2:0:0:0:0:1 0 0 {}", i64::MIN),
        format!("2:0:0:0:0:1 65535 1 {most}"),
        "flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 80 255 255 0".to_string(),
        "flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 80 1 0 0".to_string(),
        format!("flow 6 192.0.2.1 1001 203.0.113.10 80 10.1.0.1 80 1 0 {}", u32::MAX),
        "flow 17 192.0.2.1 1000 203.0.113.10 80 10.1.0.1 80 1 0 0".to_string(),
        "flow 6 192.0.2.1 1000 203.0.113.10 80 10.1.0.9 80 1 0 0".to_string(),
        "client 192.0.2.1 6 203.0.113.10 80 10.1.0.1 80 4294967295".to_string(),
        "client 192.0.2.2 6 203.0.113.10 80 10.1.0.1 80 0".to_string(),
        "client 192.0.2.3 6 203.0.113.10 80".to_string(),
    ];
    let mut refused = Vec::new();
    let mut round = 0;
    let reads = [
        "rw.size",
        "table.count",
        "nd.count",
        "switch.table",
        "vlans.table",
        "lb.n_connections",
        "lb.n_clients",
    ];
    let text = library().run(testing::simulated(), &graph, &reads, |world| {
        round += 1;
        for line in lines.iter().filter(|_| round == 1) {
            for (element, class) in [
                ("rw", "IPRewriter"),
                ("table", "ARPTable"),
                ("switch", "EtherSwitch"),
                ("vlans", "VLANSwitch"),
                ("nd", "IP6Neighbors"),
                ("lb", "LoadBalancer"),
            ] {
                let record = Record { element: element.into(), class: class.into(), line: line.clone() };
                refused.extend(world.restore(&[record], 1000));
            }
        }
        round > ROUNDS
    });
    expect![[r#"
        rw.size: 1
        table.count: 1
        nd.count: 0
        switch.table: 02-00-00-00-00-01 0

        vlans.table: 
        lb.n_connections: 1
        lb.n_clients: 1
    "#]]
    .assert_eq(&text);
    assert!(refused.len() >= 4 * lines.len(), "{refused:?}");
}
