//! Packets cost no allocation: every benchmark graph is run for a million packets while allocations are counted.

use std::path::{Path, PathBuf};

use element::Runtime;
use engine::{BuildOptions, Engine};
use graph::Diagnostics;
use lang::{Options, Source};

/// Packets before counting begins: the traces are loaded, every flow is known, rings and batches have grown.
const WARM_UP: u64 = 1_000_000;
/// Packets while allocations are counted.
const MEASURED: u64 = 1_000_000;
/// Most allocations in that time. They may grow with seconds (timers that tidy up tables), never with packets: an
/// element that allocated for every batch of 32 would come to 31,250.
const MOST_ALLOCATIONS: u64 = 100;
/// Driver rounds between looks at the packet count.
const ROUNDS: u32 = 16;
/// Without a packet in this many looks the graph is taken to be stuck.
const MOST_LOOKS: u32 = 1_000_000;

fn benches() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches")
}

/// A benchmark graph that is built; its own measurement never begins.
fn build(path: &Path) -> Engine {
    let text = std::fs::read_to_string(path).expect("the graph can be read");
    let file = |name: &str| format!("\"{}\"", benches().join(name).display());
    let variables = [
        ("TRACE".to_string(), file("trace_udp64.pcap")),
        ("FLOWS".to_string(), file("flows10k.pcap")),
        ("RULES".to_string(), file("m_ids.rules")),
        ("WARM".to_string(), "1000000s".to_string()),
    ];
    let stock = catalog::stock();
    let options = Options { variables: &variables, ..Options::new(stock) };
    let mut diagnostics = Diagnostics::default();
    let graph = lang::parse(&Source { name: "graph", text: &text }, &options, &mut diagnostics);
    let engine = graph.and_then(|graph| {
        Engine::build(graph, &|name| stock.get(name), BuildOptions::default(), &mut diagnostics)
    });
    engine.unwrap_or_else(|| panic!("{}: {:?}", path.display(), diagnostics.list))
}

/// How many packets have passed: `u.count` in the graphs with a ring, `d.count` in the others.
fn n_passed(engine: &mut Engine) -> u64 {
    let mut read = |name: &str| engine.world.read_handler(usize::MAX, name, "");
    let count = read("u.count").or_else(|_| read("d.count")).expect("the graph counts its packets");
    count.trim().parse().expect("a count is a number")
}

/// Runs until `n` more packets have passed; yields how many did, and how many allocations the driver made.
fn run(engine: &mut Engine, n: u64) -> (u64, u64) {
    let begin = n_passed(engine);
    let mut n_allocations = 0;
    for _ in 0..MOST_LOOKS {
        let mut rounds = 0;
        let go_on = |_: &mut _| {
            rounds += 1;
            rounds <= ROUNDS
        };
        n_allocations += allocation_counter::measure(|| _ = engine.run_while(go_on)).count_total;
        let passed = n_passed(engine) - begin;
        if passed >= n {
            return (passed, n_allocations);
        }
    }
    panic!("{} packets passed in {MOST_LOOKS} looks", n_passed(engine) - begin);
}

#[test]
fn a_million_packets_through_each_benchmark_allocate_nothing() {
    let only = std::env::var("WEIR_GRAPH").unwrap_or_default();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(benches())
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "click"))
        .filter(|path| path.to_string_lossy().contains(&only))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no benchmark is called {only}");
    let mut excesses = String::new();
    for path in &paths {
        let mut engine = build(path);
        run(&mut engine, WARM_UP);
        let (n_packets, n_allocations) = run(&mut engine, MEASURED);
        if n_allocations > MOST_ALLOCATIONS {
            excesses += &format!("{}: {n_allocations} allocations in {n_packets} packets\n", path.display());
        }
        engine.cleanup();
    }
    assert!(excesses.is_empty(), "more than {MOST_ALLOCATIONS} allocations:\n{excesses}");
}
