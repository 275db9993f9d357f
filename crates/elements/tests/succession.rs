//! What elements take over from those whose places they take in a graph that changes.

use expect_test::{expect, Expect};
use testing::Library;

/// Runs graphs one after the other, each for so many rounds, in which time passes in steps of so many milliseconds at most; what
/// they printed, and the values of read handlers.
fn run((n_rounds, step_ms): (usize, u32), graphs: &[&str], reads: &[&str]) -> String {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    let clock = format!("tick :: TimedSource({step_ms}ms) -> tock :: Discard;");
    let graphs: Vec<String> = graphs.iter().map(|graph| format!("{graph}; {clock}")).collect();
    let changes: Vec<&str> = graphs.iter().skip(1).map(String::as_str).collect();
    library.run_changing(&graphs[0], &changes, n_rounds, reads)
}

/// As [`run`], and compares.
#[track_caller]
fn check(time: (usize, u32), graphs: &[&str], reads: &[&str], expected: Expect) {
    expected.assert_eq(&run(time, graphs, reads));
}

#[test]
fn packets_stay_in_order_in_another_class_of_queue() {
    let graph = |queue: &str, active: bool| {
        format!(
            "FromIPSummaryDump(DATA '!data ip_id\n1\n2\n3\n4\n5\n') -> q :: {queue} -> u :: Unqueue(ACTIVE {active})
             -> IPPrint(p, ID true, TIMESTAMP false, CONTENTS false) -> d :: Discard;"
        )
    };
    check(
        (50, 1),
        &[&graph("Queue", false), &graph("FrontDropQueue(4)", false), &graph("NotifierQueue(2)", true)],
        &["d.count", "q.drops", "q.capacity", "drops"],
        expect![[r#"
            p: id 2 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: id 3 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            d.count: 2
            q.drops: 0
            q.capacity: 2
            drops: q	queue-full	2

        "#]],
    );
}

#[test]
fn a_queue_whose_ports_change_keeps_packets_and_figures() {
    check((50, 1),
        &[
            "InfiniteSource(LIMIT 7) -> q :: Queue(5) -> u :: Unqueue(ACTIVE false) -> d :: Discard;",
            "Idle -> q :: Queue(4) -> u :: Unqueue(ACTIVE false) -> d :: Discard; q[1] -> e :: Counter -> Discard;",
            "Idle -> q :: Queue(4) -> u :: Unqueue -> d :: Discard;",
        ],
        &["q.drops", "q.highwater_length", "q.length", "d.count", "drops"],
        expect![[r#"
            q.drops: 0
            q.highwater_length: 5
            q.length: 0
            d.count: 4
            drops: q	queue-full	1

        "#]],
    );
}

/// A flow goes out through a rewriter, and its reply comes back.
fn rewriter(name_of_source: &str, rewriter: &str, packets: &str) -> String {
    format!(
        "{name_of_source} :: FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto direction\n{packets}', CHECKSUM true)
             -> c :: PaintSwitch;
         c[0] -> [0] rw :: {rewriter}; c[1] -> [1] rw;
         rw[0] -> IPPrint(out, TIMESTAMP false) -> Discard; rw[1] -> IPPrint(back, TIMESTAMP false) -> Discard;"
    )
}

#[test]
fn replies_still_find_their_way_through_a_rewriter_that_was_changed() {
    let first = rewriter(
        "s",
        "IPRewriter(pattern 1.0.0.1 5000-5999# - - 0 1, drop)",
        "10.0.0.1 1 2.0.0.2 80 U >\n10.0.0.3 1 2.0.0.2 80 U >\n",
    );
    let second = rewriter(
        "t",
        "IPRewriter(pattern 1.0.0.1 5000-5999# - - 0 1, drop, UDP_TIMEOUT 60)",
        "2.0.0.2 80 1.0.0.1 5000 U <\n10.0.0.4 1 2.0.0.2 80 U >\n2.0.0.2 80 1.0.0.1 5001 U <\n",
    );
    check(
        (50, 1),
        &[&first, &second],
        &["rw.udp_table", "drops"],
        expect![[r#"
        out: 1.0.0.1.5000 > 2.0.0.2.80: udp 8
        out: 1.0.0.1.5001 > 2.0.0.2.80: udp 8
        back: 2.0.0.2.80 > 10.0.0.1.1: udp 8
        out: 1.0.0.1.5002 > 2.0.0.2.80: udp 8
        back: 2.0.0.2.80 > 10.0.0.3.1: udp 8
        rw.udp_table: (2.0.0.2, 80, 1.0.0.1, 5002) => (2.0.0.2, 80, 10.0.0.4, 1) [0 *1] i0 exp60
        (2.0.0.2, 80, 1.0.0.1, 5000) => (2.0.0.2, 80, 10.0.0.1, 1) [0 *1] i0 exp60
        (2.0.0.2, 80, 1.0.0.1, 5001) => (2.0.0.2, 80, 10.0.0.3, 1) [0 *1] i0 exp60
        (10.0.0.3, 1, 2.0.0.2, 80) => (1.0.0.1, 5001, 2.0.0.2, 80) [*0 1] i0 exp60
        (10.0.0.4, 1, 2.0.0.2, 80) => (1.0.0.1, 5002, 2.0.0.2, 80) [*0 1] i0 exp60
        (10.0.0.1, 1, 2.0.0.2, 80) => (1.0.0.1, 5000, 2.0.0.2, 80) [*0 1] i0 exp60

        drops: 
    "#]],
    );
}

#[test]
fn flows_of_rewriters_that_share_a_set_go_on_whichever_of_them_is_changed() {
    let pair = |a: &str, b: &str, packets: &str, name: &str| {
        format!(
            "{name} :: FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto link\n{packets}', CHECKSUM true)
                 -> c :: PaintSwitch;
             c[0] -> a :: IPRewriter(pattern 1.0.0.1 5000-5999# - - 0 1, {a}); a[0] -> Discard;
             c[1] -> b :: IPRewriter(pattern 1.0.0.9 5000-5999# - - 0 1, {b}); b[0] -> Discard;
             a[1] -> IPPrint(a, TIMESTAMP false) -> Discard; b[1] -> IPPrint(b, TIMESTAMP false) -> Discard;"
        )
    };
    let out = "10.0.0.1 1 2.0.0.2 80 U 0\n10.0.0.3 1 2.0.0.2 80 U 1\n";
    let back = "2.0.0.2 80 1.0.0.1 5000 U 0\n2.0.0.2 80 1.0.0.9 5000 U 1\n";
    let first = pair("MAPPING_CAPACITY 50", "MAPPING_CAPACITY a", out, "s");
    let changes = [
        ("MAPPING_CAPACITY 50", "MAPPING_CAPACITY a, UDP_TIMEOUT 60"),
        ("MAPPING_CAPACITY 40", "MAPPING_CAPACITY a"),
        ("MAPPING_CAPACITY 50", "MAPPING_CAPACITY 50"),
        ("MAPPING_CAPACITY b", "MAPPING_CAPACITY 20"),
    ];
    for (a, b) in changes {
        let printed = run((50, 1), &[&first, &pair(a, b, back, "t")], &[]);
        let expected = "a: 2.0.0.2.80 > 10.0.0.1.1: udp 8\nb: 2.0.0.2.80 > 10.0.0.3.1: udp 8\n";
        assert_eq!(printed, expected, "{a}; {b}");
    }
}

#[test]
fn the_answer_to_a_query_goes_to_a_querier_that_was_changed() {
    let graph = |arguments: &str, answer: &str| {
        format!(
            "InfiniteSource(DATA \\<45000014000000004011000001000001 0a000002>, LIMIT 1) -> MarkIPHeader
                 -> GetIPAddress(16) -> q :: Queue -> Unqueue -> a :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1{arguments});
             {answer} -> [1] a; a -> Print(x, -1) -> Discard;"
        )
    };
    let answer = "InfiniteSource(DATA \\<020000000001 020000000002 0806 0001 0800 06 04 0002 020000000002 0a000002 020000000001 0a000001>, LIMIT 1)";
    check(
        (50, 1),
        &[&graph("", "i :: Idle"), &graph(", TIMEOUT 100", answer)],
        &["a.table", "a.stats"],
        expect![[r#"
            x:   42 | ffffffff ffff0200 00000001 08060001 08000604 00010200 00000001 0a000001 00000000 00000a00 0002
            x:   34 | 02000000 00020200 00000001 08004500 00140000 00004011 00000100 00010a00 0002
            a.table: 10.0.0.2 1 02-00-00-00-00-02 0.002000

            a.stats: 0 packets killed
            1 ARP queries sent

        "#]],
    );
}

#[test]
fn ipv6_neighbors_and_packets_that_wait_for_them_stay() {
    let graph = |addresses: &str, reachable: &str, answer: &str| {
        format!(
            "InfiniteSource(DATA abc, LIMIT 1) -> SetIP6Address(2001:db8::9) -> q :: Queue -> Unqueue -> nd :: IP6Neighbors(2:0:0:0:0:1,
                 fe80::1/64 {addresses}, REACHABLE_TIME {reachable});
             {answer} -> [1] nd; nd -> Print(x, 14) -> Discard; s :: Script(write nd.insert 2001:db8:1::7 2:0:0:0:0:7, write nd.insert fe80::7 2:0:0:0:0:7);"
        )
    };
    let answer = "InfiniteSource(DATA \\<020000000001 020000000009 86dd 60000000 0020 3a ff 20010db8000000000000000000000009
        fe800000000000000000000000000001 8800 b994 60000000 20010db8000000000000000000000009 0201 020000000009>, LIMIT 1)";
    check(
        (50, 1),
        &[
            &graph("2001:db8::1/64 2001:db8:1::1/64", "30", "i :: Idle"),
            &graph("2001:db8::1/64", "40", answer),
        ],
        &["nd.table", "nd.queries", "nd.length"],
        expect![[r#"
            x:   86 | 3333ff00 00090200 00000001 86dd
            x:   17 | 02000000 00090200 00000001 86dd
            nd.table: 2001:db8::9 reachable 02:00:00:00:00:09 host 0 0
            fe80::7 reachable 02:00:00:00:00:07 host 0 0

            nd.queries: 1
            nd.length: 0
        "#]],
    );
}

#[test]
fn queriers_that_use_a_table_use_what_takes_its_place() {
    let graph = |arguments: &str| {
        format!(
            "t :: ARPTable({arguments}); a :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1, TABLE t); Idle -> a -> Discard; Idle -> [1] a;
             s :: Script(write t.insert 10.0.0.7 7:7:7:7:7:7, wait 1, write t.config {arguments}, write t.insert 10.0.0.8 8:8:8:8:8:8);"
        )
    };
    check(
        (900, 100),
        &[&graph("TIMEOUT 50"), &graph("TIMEOUT 60")],
        &["a.table", "t.table"],
        expect![[r#"
        a.table: 10.0.0.7 1 07-07-07-07-07-07 2.700000
        10.0.0.8 1 08-08-08-08-08-08 1.700000

        t.table: 10.0.0.7 1 07-07-07-07-07-07 2.700000
        10.0.0.8 1 08-08-08-08-08-08 1.700000

    "#]],
    );
}

#[test]
fn a_source_goes_on_counting_and_a_bucket_stays_as_full() {
    check((1500, 100),
        &[
            "s :: RatedSource(RATE 10, LIMIT 40) -> c :: Counter -> d :: Discard;
             i :: InfiniteSource -> r :: RatedSplitter(1000, BURST_SIZE 1000) -> e :: Discard; r[1] -> f :: Discard;",
            "s :: RatedSource(RATE 10, LIMIT 25) -> c :: Counter(COUNT_CALL 20 stop) -> d :: Discard;",
        ],
        &["s.count", "c.count", "d.count"],
        expect![[r#"
            s.count: 20
            c.count: 20
            d.count: 20
        "#]],
    );
}

#[test]
fn a_summary_dump_is_read_on_where_it_was() {
    let graph = |more: &str| {
        format!(
            "s :: FromIPSummaryDump(DATA '!data timestamp ip_src\n1 1.0.0.1\n1.5 1.0.0.2\n2.5 1.0.0.3\n3 1.0.0.4\n', TIMING true{more})
             -> IPPrint(p) -> c :: Counter -> Discard"
        )
    };
    check(
        (400, 100),
        &[&graph(""), &graph(", STOP true"), &graph(""), &graph("")],
        &["c.count", "s.filepos"],
        expect![[r#"
            p: 1.000000: 1.0.0.1.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 1.500000: 1.0.0.2.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 2.500000: 1.0.0.3.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 3.000000: 1.0.0.4.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            c.count: 4
            s.filepos: 67
        "#]],
    );
}

#[test]
fn fragments_wait_in_a_reassembler_that_was_changed() {
    let graph = |himem: &str, packets: &str, name: &str| {
        format!(
            "{name} :: FromIPSummaryDump(CHECKSUM true, DATA '!data timestamp ip_src ip_dst ip_id ip_fragoff payload_len ip_proto\n{packets}')
             -> r :: IPReassembler(HIMEM {himem}) -> IPPrint(p, LENGTH true) -> c :: Counter -> Discard"
        )
    };
    check(
        (50, 1),
        &[
            &graph("1000", "5 1.0.0.1 2.0.0.2 7 0+ 24 17\n5 1.0.0.1 2.0.0.2 8 0+ 24 17\n", "s"),
            &graph("2000", "6 1.0.0.1 2.0.0.2 7 24 20 17\n", "t"),
        ],
        &["c.count", "r.dump"],
        expect![[r#"
            p: 6.000000: length 64 1.0.0.1.0 > 2.0.0.2.0: udp 32
            c.count: 1
            r.dump: frags seen total:    3
            good reassemblies:   1
            failed reassemblies: 0
            bad fragments seen:  0
            cached chunk data:
             (1.0.0.1, 0, 2.0.0.2, 0) 8 (0,32)

        "#]],
    );
}

#[test]
fn aggregates_keep_their_numbers_and_counts() {
    let graph = |argument: &str, name: &str| {
        format!(
            "{name} :: FromIPSummaryDump(DATA '!data timestamp ip_src sport ip_dst dport ip_proto\n1 1.0.0.1 1 2.0.0.2 2 T\n1 1.0.0.3 1 2.0.0.2 2 T\n')
             -> a :: AggregateIPFlows({argument}) -> n :: AggregateCounter(BANNER {name}) -> f :: AggregateFirst -> c :: Counter -> Discard"
        )
    };
    check(
        (50, 1),
        &[&graph("", "s"), &graph("TCP_TIMEOUT 100", "t")],
        &["n.nagg", "n.count", "c.count"],
        expect![[r#"
            n.nagg: 2
            n.count: 4
            c.count: 2
        "#]],
    );
}

#[test]
fn schedulers_and_delays_keep_packets_and_turns() {
    let graph = |delay: &str, quantum: &str, sources: &str| {
        format!(
            "q0 :: Queue -> [0] d :: DRRSched({quantum}); q1 :: Queue -> [1] d; {sources} d -> s :: DelayShaper({delay}) -> u :: Unqueue
             -> c :: Counter -> l :: LinkUnqueue({delay}, 1kBps) -> e :: Counter -> Discard;"
        )
        .replace("-> l ::", "-> Queue -> l ::")
    };
    let sources = "InfiniteSource(LIMIT 3) -> q0; InfiniteSource(LIMIT 3, LENGTH 600) -> q1;";
    check(
        (100, 10),
        &[
            &graph("2s", "500", sources),
            &graph("3s", "700", "Idle -> q0; Idle -> q1;"),
            &graph("1s", "700", "Idle -> q0; Idle -> q1;"),
        ],
        &["c.count", "q0.length", "q1.length", "l.size"],
        expect![[r#"
            c.count: 0
            q0.length: 2
            q1.length: 2
            l.size: 0
        "#]],
    );
    check(
        (1500, 100),
        &[
            &graph("2s", "500", sources),
            &graph("3s", "700", "Idle -> q0; Idle -> q1;"),
            &graph("1s", "700", "Idle -> q0; Idle -> q1;"),
        ],
        &["c.count", "e.count", "q0.length", "q1.length", "l.size"],
        expect![[r#"
            c.count: 6
            e.count: 6
            q0.length: 0
            q1.length: 0
            l.size: 0
        "#]],
    );
}

#[test]
fn packets_that_are_sorted_by_time_stay_sorted() {
    let graph = |buffer: u32, sources: &str, limit: u32| {
        format!(
            "t :: TimeSortedSched(BUFFER {buffer}); {sources} t -> u :: Unqueue(LIMIT {limit})
             -> IPPrint(p, ID true) -> c :: Counter -> Discard;"
        )
    };
    let dump = |times: &str| format!("FromIPSummaryDump(DATA '!data timestamp ip_id\n{times}')");
    let sources = format!("{} -> [0] t; {} -> [1] t;", dump("1 1\n5 2\n7 3\n"), dump("2 4\n3 5\n9 6\n"));
    check(
        (50, 1),
        &[&graph(3, &sources, 2), &graph(1, "Idle -> [0] t;", 3), &graph(2, "Idle -> [0] t;", 6)],
        &["c.count", "t.well_ordered"],
        expect![[r#"
            p: 1.000000: id 1 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 2.000000: id 4 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 3.000000: id 5 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 5.000000: id 2 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 7.000000: id 3 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            p: 9.000000: id 6 0.0.0.0.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
            c.count: 6
            t.well_ordered: true
        "#]],
    );
}

#[test]
fn stations_of_a_switch_are_known_to_the_switch_that_takes_its_place() {
    let frame = |to: u8, from: u8| {
        format!("InfiniteSource(DATA \\<0200000000{to:02x} 0200000000{from:02x} 0800>, LIMIT 1) -> SetTimestamp(1)")
    };
    let graph = |class: &str, sources: [String; 3]| {
        let [a, b, c] = sources;
        let listener = if class.starts_with('L') { "s[3] -> Discard;" } else { "" };
        format!(
            "{a} -> [0] s :: {class}; {b} -> [1] s; {c} -> [2] s; s[0] -> c0 :: Counter -> Discard; {listener} s[1] -> c1 :: Counter -> Discard;
             s[2] -> c2 :: Counter -> Discard;"
        )
    };
    let idle = || "Idle".to_string();
    check(
        (50, 1),
        &[
            &graph("EtherSwitch", [frame(9, 1), frame(9, 2), frame(9, 3)]),
            &graph("EtherSwitch(TIMEOUT 500)", [frame(2, 1), idle(), idle()]),
            &graph("ListenEtherSwitch", [frame(1, 3), idle(), idle()]),
        ],
        &["s.table", "c0.count", "c1.count", "c2.count"],
        expect![[r#"
            s.table: 02-00-00-00-00-01 0
            02-00-00-00-00-02 1
            02-00-00-00-00-03 0

            c0.count: 2
            c1.count: 3
            c2.count: 2
        "#]],
    );
}

#[test]
fn files_are_written_on_and_not_begun_anew() {
    let path = std::env::temp_dir().join(format!("weir-succession-{}", std::process::id()));
    let name = path.display().to_string();
    let graph = |fields: &str, label: &str, source: &str| {
        format!(
            "{source} :: FromIPSummaryDump(DATA '!data ip_src\n1.0.0.1\n') -> t :: ToIPSummaryDump({name}, FIELDS {fields})
             -> IPPrint({label}, OUTFILE {name}.txt, TIMESTAMP false) -> Discard;"
        )
    };
    check(
        (50, 1),
        &[&graph("ip_src", "a", "s1"), &graph("ip_src", "b", "s2"), &graph("ip_src ip_ttl", "b", "s3")],
        &[],
        expect![],
    );
    let text = ["", ".txt"]
        .map(|ending| std::fs::read_to_string(format!("{name}{ending}")).expect("it was written"));
    ["", ".txt"]
        .iter()
        .for_each(|ending| std::fs::remove_file(format!("{name}{ending}")).expect("it can be removed"));
    expect![[r#"
        !IPSummaryDump 1.3
        !data ip_src
        1.0.0.1
        1.0.0.1
        !data ip_src ip_ttl
        1.0.0.1 100
        a: 1.0.0.1.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
        b: 1.0.0.1.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
        b: 1.0.0.1.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
    "#]]
    .assert_eq(&text.concat());
}
