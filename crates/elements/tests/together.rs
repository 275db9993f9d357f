//! Packets that go together where Click's go one by one do what they do one by one, and what is told of them comes in their order.

use engine::BuildOptions;
use proptest::prelude::*;
use testing::{simulated, Library};

/// Elements with one output in use.
const LINKS: [&str; 29] = [
    "Null",
    "Counter",
    "Strip(2)",
    "Strip(30)",
    "MarkIPHeader",
    "CheckIPHeader(0, VERBOSE true)",
    "CheckIPHeader2(1, VERBOSE true)",
    "CheckUDPHeader",
    "SetUDPChecksum",
    "RandomSample(0.5)",
    "Print(a, 4)",
    "Print(b, 4)",
    "EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2)",
    "IPPrint(ip, TIMESTAMP false)",
    "AggregateIP(ip tos)",
    "AggregateCounter",
    "StoreData(1, xy)",
    "Pad(34)",
    "IPEncap(17, 1.1.1.1, 2.2.2.2)",
    "RED(2, 6, 0.5, STABILITY 0) -> Queue(40) -> Unqueue",
    "RED(1, 3, 0.5, STABILITY 0) -> Queue(7) -> Unqueue(BURST 3)",
    "AggregateIP(ip src) -> AggregateFirst",
    "AggregateLast",
    "MarkIPHeader -> AggregateIPFlows(ICMP true) -> Print(flow, 4)",
    "MarkIPHeader -> AggregateIPFlows(FRAGMENTS false) -> AggregateFirst",
    "MarkIPHeader -> IPFragmenter(28, false, VERBOSE true)",
    "Paint(1)",
    "MarkIPHeader -> IPFragmenter(1000, VERBOSE true)",
    "Strip(2) -> MarkIPHeader -> GetIPAddress(16)",
];

/// Where branches meet.
const END: &str = "Print(all, 4) -> Discard";

/// Elements with two.
const FORKS: [&str; 20] = [
    "CheckLength(30)",
    "CheckIPHeader(0, VERBOSE true)",
    "Tee",
    "RoundRobinSwitch",
    "HashSwitch(0, 1)",
    "PaintTee(0)",
    "RandomSwitch",
    "StrideSwitch(30, 1)",
    "PaintSwitch",
    "Classifier(0/45, -)",
    "CheckLength(28)",
    "{ input -> rt :: RadixIPLookup(10.0.0.0/24 0, 0/0 1) -> p :: PaintTee(1) -> d :: DecIPTTL -> f :: IPFragmenter(1000, VERBOSE true) -> output;
       p[1] -> ICMPError(10.0.0.2, redirect, host) -> rt; d[1] -> ICMPError(1.1.1.1, timeexceeded) -> rt;
       f[1] -> ICMPError(1.1.1.1, unreachable, needfrag) -> rt; rt[1] -> Print(other, 4) -> [1] output }",
    "{ input -> c :: CheckLength(28) -> l :: DirectIPLookup(10.0.0.2/32 0, 0/0 1) -> d :: DecIPTTL -> IPFragmenter(28, false) -> output;
       c[1] -> Paint(2) -> l; d[1] -> Print(expired, 4) -> ICMPError(1.1.1.1, timeexceeded) -> l; l[1] -> [1] output }",
    "{ input -> Strip(2) -> MarkIPHeader -> rw :: UDPRewriter(pattern 1.2.3.4 1024-65535 - - 0 1, pass 2) -> IPMirror -> [1] rw;
       rw[1] -> Unstrip(2) -> output; rw[2] -> [1] output }",
    "{ input -> [0] s :: RoundRobinSwitch -> Print(once, 4) -> Null -> r :: StrideSwitch(2, 1) -> s; r[1] -> output; s[1] -> [1] output }",
    "{ input -> a :: RandomSample(0.7) -> h :: CheckLength(28) -> output; h[1] -> StoreData(0, abc) -> Pad(34) -> a; Idle -> [1] output }",
    "{ input -> o :: IPOutputCombo(1, 9.9.9.9, 1000) -> Print(out, 4) -> output; o[1] -> ICMPError(10.0.0.2, redirect, host) -> [1] output;
       o[2] -> Discard; o[3] -> Print(expired, 4) -> ICMPError(1.1.1.1, timeexceeded) -> o; o[4] -> IPFragmenter(1000) -> output }",
    "{ input -> o :: IPOutputCombo(1, 9.9.9.9, 1000) -> output; o[1] -> output; o[2] -> [1] output; o[3] -> [1] output; o[4] -> [1] output }",
    "{ input -> l :: LinearIPLookup(10.0.0.2/32 0, 10.0.0.9/32 1) -> d :: DecIPTTL -> output;
       d[1] -> ICMPError(1.1.1.1, timeexceeded) -> l; l[1] -> [1] output }",
    "{ input -> p :: PaintSwitch; p[0] -> t :: Tee -> c :: Counter -> output; p[1] -> Paint(0) -> Print(again, 4) -> p; t[1] -> c;
       Idle -> [1] output }",
];

/// Elements that store packets, and what takes them out.
const STORES: [(&str, &str); 13] = [
    ("Queue(40)", "Unqueue"),
    ("Queue(4)", "Unqueue"),
    ("Queue(400)", "Unqueue"),
    ("Queue(1000)", "Null -> Unqueue"),
    ("SimpleQueue(50)", "Counter -> Unqueue"),
    ("NotifierQueue(45)", "Null -> Null -> Unqueue"),
    ("QuickNoteQueue", "Unqueue"),
    ("Queue", "Unqueue(LIMIT 20)"),
    ("FrontDropQueue(9)", "Unqueue"),
    ("Queue(30)", "CheckLength(29) -> Unqueue(BURST 3)"),
    ("Queue(20)", "CheckLength(29) -> Unqueue"),
    ("{ input -> s :: RoundRobinSwitch -> Queue(40) -> p :: PrioSched -> output; s [1] -> Queue(4) -> [1] p }", "Unqueue"),
    ("{ input -> s :: HashSwitch(0, 1) -> Queue(30) -> p :: RoundRobinSched -> output; s [1] -> Queue -> [1] p }", "Unqueue"),
];

/// A tree of elements, that ends in one of few ways.
#[derive(Clone, Debug)]
enum Tree {
    End(u8),
    Link(usize, Box<Tree>),
    Fork(usize, Box<Tree>, Box<Tree>),
    Store(usize, Box<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let end = (0..6u8).prop_map(Tree::End);
    end.prop_recursive(5, 16, 2, |inner| {
        let link = (0..LINKS.len(), inner.clone()).prop_map(|(link, next)| Tree::Link(link, Box::new(next)));
        let fork = (0..FORKS.len(), inner.clone(), inner.clone())
            .prop_map(|(fork, a, b)| Tree::Fork(fork, Box::new(a), Box::new(b)));
        let store = (0..STORES.len(), inner).prop_map(|(store, next)| Tree::Store(store, Box::new(next)));
        prop_oneof![3 => link, 1 => fork, 1 => store]
    })
}

/// What follows an arrow; what cannot be said there is added to `more`.
fn text(tree: &Tree, more: &mut String) -> String {
    match tree {
        Tree::End(0) => "end".to_string(),
        Tree::End(1) => "Queue(3)".to_string() + " -> Idle",
        Tree::End(2) => "Queue(50) -> Discard".to_string(),
        Tree::End(_) => "Print(end, 4) -> Discard".to_string(),
        Tree::Store(store, next) => {
            let (queue, puller) = STORES[*store];
            let name = format!("store{}", more.len());
            *more += &format!("{name} :: {queue}; ");
            let next = text(next, more);
            let puller = puller.replace("Unqueue", &format!("from_{name} :: Unqueue"));
            *more += &format!("{name} -> {puller} -> {next}; ");
            name
        }
        Tree::Link(link, next) => format!("{} -> {}", LINKS[*link], text(next, more)),
        Tree::Fork(fork, a, b) => {
            let name = format!("fork{}", more.len());
            *more += &format!("{name} :: {}; ", FORKS[*fork]);
            let (a, b) = (text(a, more), text(b, more));
            *more += &format!("{name} [1] -> {b}; ");
            format!("{name} -> {a}")
        }
    }
}

fn printed(time: BuildOptions, graph: &str, reads: &[String]) -> String {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    let printed = library.run(BuildOptions { burst: 1, ..time }, graph, &reads, |world| world.is_still());
    assert!(!printed.starts_with("config:"), "{printed}");
    printed
}

/// In simulated time packets go one by one. Each source leads to a tree, and all that comes to the same end to `end`.
fn check(end: &str, sources: &[(String, &Tree)]) -> Result<(), TestCaseError> {
    let mut more = String::new();
    let ways: Vec<String> =
        sources.iter().map(|(source, tree)| format!("{source} -> {}; ", text(tree, &mut more))).collect();
    let graph = format!("RandomSeed(3); Idle -> end :: {end}; {more} {}", ways.concat());
    // A source that waits for room for ever does not stop the graph.
    check_graph(&if graph.contains("Queue") { graph + STOP } else { graph })
}

fn check_graph(graph: &str) -> Result<(), TestCaseError> {
    let words = graph.split([' ', ';']);
    let reads: Vec<String> = words
        .flat_map(|word| match word {
            store if store.starts_with("store") => {
                let is_queue = !graph.contains(&format!("{store} :: {{"));
                let reads = ["length", "highwater_length", "drops"].iter().filter(|_| is_queue);
                reads.map(|read| format!("{store}.{read}")).collect()
            }
            "q" => vec!["q.length".to_string(), "q.highwater_length".to_string()],
            puller if puller.starts_with("from_") => {
                vec![format!("{puller}.count"), format!("{puller}.scheduled")]
            }
            _ => Vec::new(),
        })
        .collect();
    prop_assert_eq!(
        printed(BuildOptions::default(), graph, &reads),
        printed(simulated(), graph, &reads),
        "{}",
        graph
    );
    Ok(())
}

const DATA: &str =
    "DATA \\<4500001e 00010000 40110000 0a000001 0a000002 00010002 000a0000 0102>, TIMESTAMP false";

/// Packets of several kinds for `q`, which is a queue.
fn packets(kinds: &[u8]) -> String {
    let mut sources = String::new();
    for kind in kinds {
        let len = [40, 20, 28, 12, 2120][if kind & 0x30 == 0 { 4 } else { usize::from(kind & 3) }];
        let total_len = if len > 40 { "083c" } else { "001e" };
        let sum = if kind & 4 == 0 { "0000" } else { "66cd" };
        let ttl = if kind & 8 == 0 { "40" } else { "01" };
        sources += &format!(
            "InfiniteSource(DATA \\<{kind:02x} 45 4500{total_len} 00010000 {ttl}11{sum} 0a000001 0a000002 00010002>, LENGTH {len}, LIMIT 1, TIMESTAMP false) -> q; "
        );
    }
    sources
}

const STOP: &str = "InfiniteSource(LIMIT 300, STOP true) -> Discard; ";

#[test]
fn what_is_told_of_answers_stands_where_the_requests_were() {
    let graph = "InfiniteSource(DATA \\<ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 01000001 000000000000 01000002>,
             LIMIT 5, STOP true) -> Print(request, 4) -> ARPResponder(0/0 2:2:2:2:2:2) -> Print(answer, 4) -> Discard";
    let together = printed(BuildOptions::default(), graph, &[]);
    assert_eq!(together.matches("answer:").count(), 5);
    assert_eq!(together, printed(simulated(), graph, &[]));
}

#[test]
fn a_pull_that_loses_its_packet_ends_a_burst() {
    let graph = "InfiniteSource(abcd, LIMIT 40, BURST 4, STOP true) -> r :: RoundRobinSwitch -> q :: Queue -> CheckLength(3)
             -> u :: Unqueue(BURST 4) -> Discard; r[1] -> Truncate(2) -> q; DriverManager(wait_stop, read u.count, read q.length, stop)";
    for time in [BuildOptions::default(), simulated()] {
        assert_eq!(printed(time, graph, &[]), "u.count:\n9\nq.length:\n21\n");
    }
}

#[test]
fn what_looks_at_a_queue_sees_it_grow_packet_by_packet() {
    // Into a queue that is emptied meanwhile, one that is not, and one that has no room for all.
    for graph in [
        "InfiniteSource(LIMIT 40, STOP true) -> r :: RED(2, 6, 0.5, STABILITY 0) -> Queue -> Unqueue -> Discard",
        "InfiniteSource(LIMIT 40, BURST 40, STOP true) -> r :: RED(2, 6, 0.5, STABILITY 0) -> Queue -> Idle",
        "InfiniteSource(LIMIT 40, BURST 40, STOP true) -> r :: RED(5, 8, 0.5, STABILITY 0) -> Queue(5) -> Idle",
    ] {
        let graph = format!("RandomSeed(3); {graph}");
        let reads = ["r.stats".to_string()];
        let drops = printed(simulated(), &graph, &reads);
        assert_eq!(printed(BuildOptions::default(), &graph, &reads), drops, "{graph}");
    }
}

#[test]
fn graphs_that_random_ones_were_found_to_differ_in() {
    let data = "DATA \\<4500001e 00010000 40110000 0a000001 0a000002 00010002>, TIMESTAMP false";
    for graph in [
        // A copy comes to where branches meet before the other one is told of.
        format!("p :: PaintTee(0); c :: CheckIPHeader(0, VERBOSE true); end :: Print(all, 4) -> Discard;
             InfiniteSource({data}, LIMIT 3, STOP true) -> Null -> p -> c -> end; c[1] -> end; p[1] -> Null -> end"),
        // Twice as many packets come to a queue as leave it.
        format!("t :: Tee; s :: Queue(5) -> u :: Unqueue -> Print(out, 4) -> Discard;
             InfiniteSource({data}, LIMIT 30) -> q :: Queue -> Unqueue -> t -> s; t[1] -> s; {STOP}"),
        // No packet at all comes to a queue.
        format!("q :: Queue -> Unqueue -> Discard; InfiniteSource({data}, LIMIT 30, STOP true) -> Print(in, 4) -> MarkIPHeader
             -> ICMPError(1.0.0.1, unreachable) -> ICMPError(1.0.0.2, unreachable) -> q"),
        // One of two tasks that take turns loses packets that it pulls.
        format!("t :: Tee; s :: SimpleQueue(50) -> Unqueue -> Print(all, 4) -> Discard;
             t[1] -> Queue -> CheckLength(29) -> Unqueue -> Print(short, 4) -> Discard; q :: Queue -> Unqueue(BURST 12) -> t -> s;
             InfiniteSource({data}, LENGTH 40, LIMIT 15, BURST 15) -> q; InfiniteSource({data}, LENGTH 20, LIMIT 1) -> q;
             InfiniteSource({data}, LENGTH 40, LIMIT 1) -> q; {STOP}"),
        // What is told of a fragment stands where its packet was.
        format!("p :: PaintTee(0); p[1] -> MarkIPHeader -> IPFragmenter(28, false) -> Queue(3) -> Idle;
             InfiniteSource({data}, LENGTH 30, LIMIT 3, STOP true) -> CheckIPHeader(0, CHECKSUM false) -> p -> Print(end, 4) -> Discard"),
    ] {
        let one_by_one = printed(simulated(), &graph, &[]);
        assert!(one_by_one.lines().count() > 2, "{one_by_one}");
        assert_eq!(printed(BuildOptions::default(), &graph, &[]), one_by_one, "{graph}");
    }
}

#[test]
fn fragments_fill_a_queue_as_far_as_one_by_one() {
    let long = "DATA \\<4500083c 00010000 40110000 0a000001 0a000002 00010002>, LENGTH 2108, TIMESTAMP false";
    let short = long.replace("083c", "001e").replace("2108", "30");
    let to_queue = "MarkIPHeader -> IPFragmenter(1000) -> s :: Queue -> u :: Unqueue -> Discard";
    let reads = ["s.length", "s.highwater_length", "u.count"].map(str::to_string);
    // Of one packet in ten three come, which leave in three runs.
    let graph = format!(
        "q :: Queue -> Unqueue -> {to_queue}; InfiniteSource({short}, LIMIT 90, BURST 9) -> q;
         InfiniteSource({long}, LIMIT 10) -> q; {STOP}"
    );
    let one_by_one = printed(simulated(), &graph, &reads);
    assert_eq!(one_by_one, "s.length: 0\ns.highwater_length: 21\nu.count: 120\n");
    assert_eq!(printed(BuildOptions::default(), &graph, &reads), one_by_one);
}

#[test]
fn packets_that_a_shaper_holds_back_come_later() {
    for rate in ["Shaper(300000)", "Shaper(3000000)", "BandwidthShaper(20000000)", "Shaper(4000000000)"] {
        let graph = format!(
            "InfiniteSource({DATA}, LIMIT 900) -> q :: Queue -> s :: {rate} -> u :: Unqueue -> c :: Counter -> Discard; DriverManager(wait 30ms, stop)"
        );
        let reads = ["q.length", "q.drops", "u.count", "c.count"].map(str::to_string);
        let told = printed(BuildOptions::default(), &graph, &reads);
        assert_eq!(told, "q.length: 0\nq.drops: 0\nu.count: 900\nc.count: 900\n", "{rate}");
    }
}

#[test]
fn what_looks_at_a_queue_sees_what_a_shaper_holds_back() {
    let graph = format!(
        "InfiniteSource({DATA}, LIMIT 30) -> r :: RED(1, 2, 1, STABILITY 0) -> q :: Queue -> Shaper(1) -> Unqueue -> Discard;
         DriverManager(wait 5ms, stop)"
    );
    let told = printed(BuildOptions::default(), &graph, &["q.highwater_length".to_string()]);
    assert_eq!(told, "q.highwater_length: 3\n");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]
    #[test]
    fn runs_of_a_source(tree in trees(), n in 1..70u32) {
        check(END, &[(format!("InfiniteSource({DATA}, LIMIT {n}, STOP true)"), &tree)])?;
    }

    #[test]
    fn runs_of_two_sources(a in trees(), b in trees(), n in 1..90u32, m in 1..90u32) {
        let source = |n, stops| format!("InfiniteSource({DATA}, LIMIT {n}, STOP {stops})");
        check("Discard", &[(source(n.min(m), false), &a), (source(n.max(m), true), &b)])?;
    }

    #[test]
    fn pullers_that_sleep_between_packets(n in 1..400u32, rest in 2..40u32, first in 0..9u32) {
        let burst = first.max(1);
        let graph = format!(
            "i :: InfiniteSource({DATA}, LIMIT {n}, STOP true) -> s :: StrideSwitch({rest}, 1); s -> Discard;
             s [1] -> q :: Queue -> u :: Unqueue -> q2 :: Queue -> u2 :: Unqueue -> q3 :: Queue -> d :: Discard;
             InfiniteSource({DATA}, LIMIT {first}, BURST {burst}) -> q; "
        );
        let handlers = ["q.length", "q2.length", "q3.length", "u.count", "u2.count", "d.count", "d.scheduled", "u.scheduled", "q2.highwater_length"];
        let reads = handlers.map(str::to_string);
        prop_assert_eq!(printed(BuildOptions::default(), &graph, &reads), printed(simulated(), &graph, &reads), "{}", graph);
    }

    #[test]
    fn pullers_that_packets_wake_now_and_then(
        tree in trees(), kinds in prop::collection::vec(any::<u8>(), 1..9), n in 1..400u32,
        shares in prop::collection::vec(1..60u32, 2..6), files in any::<bool>(), puller in 0..3usize,
    ) {
        let capacity = [3, 20, 300][puller];
        let end = ["Unqueue -> Print(from_b, 4) -> Discard", "from_b :: Unqueue -> Null -> Discard", "Discard"][puller];
        let shares: Vec<String> = shares.iter().map(|share| (share * share).to_string()).collect();
        let queues: String = (0..shares.len())
            .map(|at| format!("s [{at}] -> stored{at} :: Queue({capacity}) -> {}; ", end.replace("from_b", &format!("from_{at}"))))
            .collect();
        let parts = format!("s :: StrideSwitch({}); {queues}", shares.join(", "));
        // Errors that come back, so that packets go in single file.
        let router = "MarkIPHeader(0) -> r :: StaticIPLookup(10.0.0.0/8 0, 0/0 1) -> d :: DecIPTTL -> s; r [1] -> s; d [1] -> ICMPError(1.1.1.1, timeexceeded) -> r; ";
        let way = if files { router } else { "s; " };
        let ttl = if kinds.len() > 4 { "40" } else { "01" };
        let data = DATA.replace("40110000", &format!("{ttl}110000"));
        let graph = format!("{parts} i :: InfiniteSource({data}, LIMIT {n}, STOP true) -> {way}");
        check_graph(&graph)?;
        check(&format!("Null; {parts} end -> {way}"), &[(format!("InfiniteSource({data}, LIMIT {n}, STOP true)"), &tree)])?;
    }

    #[test]
    fn queues_that_are_chosen_from(
        tree in trees(), sent in trees(), n in 1..300u32, kind in 0..5usize, capacity in 2..200u32, files in any::<bool>(),
        shares in prop::collection::vec(1..40u32, 2..5), is_fast in any::<bool>(),
    ) {
        let kind = ["PrioSched", "RoundRobinSched", "SimplePrioSched", "SimpleRoundRobinSched", "PrioSched -> Null"][kind];
        let ways: String =
            (0..shares.len()).map(|at| format!("s [{at}] -> stored{at} :: Queue({capacity}) -> [{at}] p; ")).collect();
        let shares: Vec<String> = shares.iter().map(|share| (share * share).to_string()).collect();
        let (class, link) = kind.split_once(" ").unwrap_or((kind, ""));
        let parts = format!("p :: {class}; s :: StrideSwitch({}); {ways}", shares.join(", "));
        let source = format!("InfiniteSource({DATA}, LIMIT {n}, STOP {is_fast})");
        let filled = if files { "MarkIPHeader(0) -> r :: StaticIPLookup(10.0.0.0/8 0, 0/0 1) -> d :: DecIPTTL -> s; r [1] -> s; d [1] -> ICMPError(1.1.1.1, timeexceeded) -> r; " } else { "s; " };
        let pulled = format!("p {link} -> from_p :: Unqueue");
        check(&format!("Print(all, 4) -> Discard; {parts} {source} -> {filled}"), &[(pulled.clone(), &tree)])?;
        check(&format!("Null; {parts} end -> {filled} {pulled} -> Discard"), &[(source, &sent)])?;
    }

    #[test]
    fn packets_in_a_ring(tree in trees(), kinds in prop::collection::vec(any::<u8>(), 1..70), capacity in 20..100u32) {
        let source = format!("{} q -> Unqueue(LIMIT 200)", packets(&kinds));
        check(&format!("Print(all, 4); q :: Queue({capacity}); end -> q"), &[(source, &tree)])?;
    }

    #[test]
    fn branches_that_meet_in_a_queue(tree in trees(), kinds in prop::collection::vec(any::<u8>(), 1..60), room in 1..60u32) {
        let source = format!("q :: Queue({}); {} q -> Unqueue", kinds.len(), packets(&kinds));
        let rest = "-> from_stored :: Unqueue -> Print(out, 4) -> Discard";
        let far = format!("Null; stored :: Queue({room}); end -> stored {rest}");
        check(&far, &[(source.clone(), &tree)])?;
        check(&format!("Queue({room}) {rest}"), &[(source, &tree)])?;
    }

    #[test]
    fn bursts_of_many_kinds(tree in trees(), kinds in prop::collection::vec(any::<u8>(), 1..60), burst in 2..40u32) {
        let source = format!("q :: Queue({}); {} q -> Unqueue(BURST {burst})", kinds.len(), packets(&kinds));
        check(END, &[(source, &tree)])?;
    }
}
