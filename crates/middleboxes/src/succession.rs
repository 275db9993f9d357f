//! Tests of what elements of this crate take over from those whose places they take in a graph that changes.

use engine::world::World;
use expect_test::{expect, Expect};
use testing::Library;

/// Runs graphs one after the other, each for so many rounds; what they printed, and the values of read handlers.
fn run(n_rounds: usize, graphs: &[&str], reads: &[&str]) -> String {
    let folders = elements::FOLDERS.iter().map(|(_, classes)| *classes);
    let library = Library::new(folders.chain([crate::CLASSES]));
    // Time passes no faster than that.
    let clock = "tick :: TimedSource(1ms) -> tock :: Discard;";
    let graphs: Vec<String> = graphs.iter().map(|graph| format!("{graph}; {clock}")).collect();
    let changes: Vec<&str> = graphs.iter().skip(1).map(String::as_str).collect();
    library.run_changing(&graphs[0], &changes, n_rounds, reads)
}

/// As [`run`] with 50 rounds, and compares.
#[track_caller]
fn check(graphs: &[&str], reads: &[&str], expected: Expect) {
    expected.assert_eq(&run(50, graphs, reads));
}

/// A file for a test, removed in the end.
struct Scratch(String);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("weir-succession-{name}-{}", std::process::id()));
        Scratch(path.display().to_string())
    }

    fn read(&self) -> String {
        std::fs::read_to_string(&self.0).expect("it was written")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is none if the test has failed before.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn subscribers_keep_their_external_ports_and_the_log_goes_on() {
    let log = Scratch::new("log");
    let graph = |name: &str, arguments: &str, packets: &str| {
        format!(
            "{name} :: FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto link\n{packets}', CHECKSUM true)
                 -> c :: PaintSwitch; c[0] -> [0] nat :: CarrierNAT({arguments}, RANDOM false, LOG {}) ; c[1] -> [1] nat;
             nat[0] -> IPPrint(out, TIMESTAMP false) -> Discard; nat[1] -> IPPrint(back, TIMESTAMP false) -> Discard;",
            log.0
        )
    };
    let out = "100.64.0.1 1 2.0.0.2 80 U 0\n100.64.0.2 1 2.0.0.2 80 U 0\n";
    let back =
        "2.0.0.2 80 203.0.113.0 1024 U 1\n2.0.0.2 80 203.0.113.0 1040 U 1\n100.64.0.3 1 2.0.0.2 80 U 0\n";
    check(
        &[
            &graph("a", "203.0.113.0, BLOCK_SIZE 16", out),
            &graph("b", "203.0.113.0-203.0.113.1, BLOCK_SIZE 16, UDP_TIMEOUT 200", back),
            &graph("d", "203.0.113.0-203.0.113.1, BLOCK_SIZE 16, INSIDE 100.64.0.2/31", back),
            &graph(
                "e",
                "203.0.113.0-203.0.113.1, BLOCK_SIZE 16, INSIDE 100.64.0.2/31",
                "1.1.1.1 1 2.2.2.2 2 U 0\n",
            ),
        ],
        &["nat.mappings", "nat.failures"],
        expect![[r#"
            out: 203.0.113.0.1024 > 2.0.0.2.80: udp 8
            out: 203.0.113.0.1040 > 2.0.0.2.80: udp 8
            back: 2.0.0.2.80 > 100.64.0.1.1: udp 8
            back: 2.0.0.2.80 > 100.64.0.2.1: udp 8
            out: 203.0.113.1.1024 > 2.0.0.2.80: udp 8
            back: 2.0.0.2.80 > 100.64.0.2.1: udp 8
            out: 203.0.113.1.1024 > 2.0.0.2.80: udp 8
            nat.mappings: udp 100.64.0.2:1 203.0.113.0:1040 expires 301
            udp 100.64.0.3:1 203.0.113.1:1024 expires 301

            nat.failures: not-subscriber 1
            no-mapping 1

        "#]],
    );
    let without_times: Vec<String> =
        log.read().lines().map(|line| line.split_once(' ').expect("a time").1.to_string()).collect();
    expect![[r#"
        assigned 100.64.0.1 203.0.113.0 1024-1039
        assigned 100.64.0.2 203.0.113.0 1040-1055
        assigned 100.64.0.3 203.0.113.1 1024-1039
        released 100.64.0.1 203.0.113.0 1024-1039"#]]
    .assert_eq(&without_times.join("\n"));
}

#[test]
fn tunnels_go_on_counting_and_accounts_of_others_end() {
    let file = Scratch::new("accounts");
    let graph = |name: &str, tunnels: &str| {
        format!(
            "t :: GRETunnels(192.0.2.1, {tunnels}, SEQUENCE true, ACCOUNTING {}); Idle -> t; t -> Print(out, 36) -> Discard; t[1] -> Discard;
             {name} :: InfiniteSource(DATA \\<4500001c000000004011000001000001 0a010002 0001000200080000>, LIMIT 2) -> [1] t;",
            file.0
        )
    };
    check(
        &[
            &graph("a", "TUNNEL paris 198.51.100.1 7 10.1.0.0/16, TUNNEL rome 198.51.100.2 - 10.2.0.0/16"),
            &graph(
                "b",
                "TUNNEL bonn 198.51.100.3 - 10.3.0.0/16, TUNNEL paris 198.51.100.1 7 10.1.0.0/16 RATE 1kBps",
            ),
        ],
        &["t.tunnels"],
        expect![[r#"
            out:   60 | 4500003c 00000000 402f8e5d c0000201 c6336401 30000800 00000007 00000000 4500001c
            out:   60 | 4500003c 00010000 402f8e5c c0000201 c6336401 30000800 00000007 00000001 4500001c
            out:   60 | 4500003c 00020000 402f8e5b c0000201 c6336401 30000800 00000007 00000002 4500001c
            out:   60 | 4500003c 00030000 402f8e5a c0000201 c6336401 30000800 00000007 00000003 4500001c
            t.tunnels: 1 bonn 198.51.100.3 - 0 0 0 0 0 0 0 0
            2 paris 198.51.100.1 7 0 0 0 4 112 0 0 0

        "#]],
    );
    let kinds = file.read();
    let kinds: Vec<String> = kinds
        .lines()
        .map(|line| {
            ["Acct-Status-Type", "User-Name", "Acct-Output-Packets"].map(|name| value(line, name)).join(" ")
        })
        .collect();
    expect![[r#"
        "Start" "paris" 
        "Start" "rome" 
        "Start" "bonn" 
        "Stop" "rome" 0
        "Stop" "bonn" 0
        "Stop" "paris" 4"#]]
    .assert_eq(&kinds.join("\n"));
}

/// The value of a name in a line of JSON.
fn value(line: &str, name: &str) -> String {
    let rest = line.split_once(&format!("\"{name}\":")).map_or("", |(_, rest)| rest);
    rest.split([',', '}']).next().unwrap_or_default().to_string()
}

#[test]
fn flows_of_a_detector_and_its_file_go_on_with_other_rules() {
    let eve = Scratch::new("eve");
    let graph = |name: &str, rule: &str, payload: &str| {
        format!(
            "{name} :: InfiniteSource(DATA \\<4500001e000000004011000001000001 0a010002 00010035000a0000 {payload}>, LIMIT 1) -> MarkIPHeader
                 -> ids :: IntrusionDetector(RULE '{rule}', EVE {}) -> Discard;",
            eve.0
        )
    };
    let rule =
        |content: &str, sid: u32| format!("alert udp any any -> any 53 (content:\"{content}\"; sid:{sid};)");
    check(
        &[
            &graph("a", &rule("ab", 1), "6162"),
            &graph("b", &rule("cd", 2), "6162"),
            &graph("c", &rule("cd", 3), "6364"),
        ],
        &["ids.packets", "ids.alerts_by_sid", "ids.flows"],
        expect![[r#"
            ids.packets: 3
            ids.alerts_by_sid: 1 1 1
            1 3 1

            ids.flows: 1
        "#]],
    );
    let sids: Vec<String> = eve.read().lines().map(|line| value(line, "signature_id")).collect();
    assert_eq!(sids, ["1", "3"]);
}

#[test]
fn a_detector_goes_on_by_the_rules_that_were_read_when_the_change_was_prepared() {
    let rules = Scratch::new("rules");
    let write = |text: &str| std::fs::write(&rules.0, text).expect("it can be written");
    let graph = |name: &str, interface: &str| {
        format!(
            "{name} :: InfiniteSource(DATA \\<4500001e000000004011000001000001 0a010002 00010035000a0000 6162>, LIMIT 1) -> MarkIPHeader
                 -> ids :: IntrusionDetector(RULES {}, IN_IFACE {interface}) -> Discard;",
            rules.0
        )
    };
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes).chain([crate::CLASSES]));
    let reads = ["ids.packets", "ids.rules", "ids.alerts_by_sid"];
    let mut round = 0;
    write("alert udp any any -> any 53 (content:\"ab\"; sid:1;)\n");
    let text = library.run(testing::simulated(), &graph("a", "eth0"), &reads, |world: &mut World| {
        round += 1;
        if round == 50 {
            world.change_to(&graph("b", "eth1")).expect("the rules can be read");
            write("no rule");
        }
        round == 100
    });
    expect![[r#"
        ids.packets: 2
        ids.rules: 1
        ids.alerts_by_sid: 1 1 2

    "#]]
    .assert_eq(&text);
}

#[test]
fn connections_of_a_balancer_still_end_after_its_configuration_was_written() {
    let graph = "a :: InfiniteSource(DATA \\<4500001c000000004011000001000001 0a010002 0001003500080000>, LIMIT 1) -> MarkIPHeader
            -> [0] lb :: LoadBalancer(10.1.0.2:53/udp 10.0.0.3, UDP_TIMEOUT 1); Idle -> [1] lb; lb[0] -> Discard; lb[1] -> Discard;
        s :: Script(export before 0, wait 0.01, write lb.config 10.1.0.2:53/udp 10.0.0.3, set before $(lb.n_connections), wait 400, stop)";
    assert_eq!(
        crate::testing::run(graph, &["s.before", "lb.n_connections"]),
        "s.before: 1\nlb.n_connections: 0\n"
    );
}

#[test]
fn numbers_of_tunnels_and_sources_go_on() {
    check(
        &[
            "f :: FlowSource(5, 3) -> e :: GREEncap(1.0.0.1, 2.0.0.2, SEQUENCE true) -> d :: GREDecap(SEQUENCE true) -> c :: Counter -> Discard",
            "f :: FlowSource(5, 5) -> e :: GREEncap(1.0.0.1, 2.0.0.2, SEQUENCE true, TTL 9) -> d :: GREDecap(SEQUENCE true, CHECKSUM false)
             -> IPPrint(p, TIMESTAMP false) -> c :: Counter -> Discard",
        ],
        &["f.count", "e.sequence", "d.sequence", "c.count"],
        expect![[r#"
            p: 100.64.0.1.10004 > 198.51.100.1.53: udp 40
            p: 100.64.0.1.10003 > 198.51.100.1.53: udp 40
            f.count: 5
            e.sequence: 5
            d.sequence: 4
            c.count: 5
        "#]],
    );
}

#[test]
fn the_health_of_a_backend_follows_the_configuration_when_that_changes() {
    let graph = |name: &str, first: &str| {
        format!(
            "{name} :: Idle -> [0] lb :: LoadBalancer(10.1.0.2:53/udp 10.0.0.3{first} 10.0.0.4*2/drain); Idle -> [1] lb;
             lb[0] -> Discard; lb[1] -> Discard; s :: Script(write lb.health 10.0.0.4 up, end)"
        )
    };
    // The script of the first graph wrote that the second backend is up; the others are configured to say the same as before.
    check(
        &[&graph("a", ""), &graph("b", "/down")],
        &["lb.backends"],
        expect![[r#"
        lb.backends: 10.1.0.2:53/udp 10.0.0.3:53 weight 1 down active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
        10.1.0.2:53/udp 10.0.0.4:53 weight 2 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

    "#]],
    );
    check(
        &[&graph("a", ""), &graph("b", "/down"), &graph("c", "")],
        &["lb.backends"],
        expect![[r#"
            lb.backends: 10.1.0.2:53/udp 10.0.0.3:53 weight 1 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0
            10.1.0.2:53/udp 10.0.0.4:53 weight 2 up active 0 connections 0 packets 0 bytes 0 replies 0 bytes 0

        "#]],
    );
    check(
        &[&graph("a", "/sick")],
        &[],
        expect![[r#"
        config:1: While configuring 'lb :: LoadBalancer':
          '10.0.0.3/sick' is no backend, expected 'ADDRESS[:PORT][*WEIGHT][/HEALTH]'
        Router could not be initialized!
    "#]],
    );
}

#[test]
fn next_hops_that_stay_go_on_counting() {
    let graph = |name: &str, hops: &str, outputs: &str| {
        format!(
            "h :: NextHopSwitch({hops}); {outputs}
             {name} :: FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto\n10.0.0.5 1 192.0.2.1 80 U\n', CHECKSUM true) -> h;"
        )
    };
    check(
        &[
            &graph("a", "10.0.0.2", "h -> Discard;"),
            &graph("b", "10.0.0.1, 10.0.0.2", "h[0] -> Discard; h[1] -> Discard;"),
            &graph("c", "10.0.0.2, 10.0.0.3 9", "h[0] -> Discard; h[1] -> Discard;"),
        ],
        &["h.hops"],
        expect![[r#"
            h.hops: 10.0.0.2 1 1 10.1
            10.0.0.3 9 1 89.9

        "#]],
    );
}

#[test]
fn ipv6_next_hops_that_stay_go_on_counting() {
    let graph = |name: &str, hops: &str, outputs: &str| {
        format!(
            "h :: NextHopSwitch6({hops}); {outputs}
             {name} :: InfiniteSource(DATA \\<60000000 00083b40 20010db8000000000000000000000001 20010db8000000000000000000000002>, LIMIT 1)
                 -> MarkIP6Header -> h;"
        )
    };
    check(
        &[
            &graph("a", "fe80::1%a", "h -> Discard;"),
            &graph("b", "fe80::1%b, fe80::1%a", "h[0] -> Discard; h[1] -> Discard;"),
        ],
        &["h.hops"],
        expect![[r#"
            h.hops: fe80::1%b 1 1 49.6
            fe80::1%a 1 1 50.4

        "#]],
    );
}
