//! Instructions that elements take for packets, counted by callgrind; `scripts/instructions` compares them with
//! `benches/instructions.txt`.
//!
//! Each benchmark is a ring: packets of a trace go from a queue through the elements in question and back into the
//! queue. The counts include the ring, whose own share the benchmark `queue` shows.

use std::hint::black_box;
use std::path::Path;

use element::Runtime;
use engine::{BuildOptions, Engine, Time};
use graph::Diagnostics;
use gungraun::prelude::*;
use gungraun::Callgrind;
use lang::{Options, Source};

/// Driver rounds that are counted: `N_PACKETS` packets.
const ROUNDS: u64 = 4;
/// A round is 129 runs of the only task, which moves a batch of 32. `scripts/instructions` knows this number too.
const N_PACKETS: u64 = ROUNDS * 129 * 32;

/// A ring around `elements`, with a trace loaded and everything warm.
fn ring(trace: &str, elements: &str) -> Engine {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches").join(trace);
    let text = format!(
        "ring :: Queue(16384); FromDump(\"{}\", STOP false) -> ring;
         ring -> u :: Unqueue(BURST 32, ACTIVE false) -> {elements} -> ring;",
        trace.display()
    );
    let stock = catalog::stock();
    let mut diagnostics = Diagnostics::default();
    let graph = lang::parse(&Source { name: "ring", text: &text }, &Options::new(stock), &mut diagnostics);
    let options = BuildOptions { time: Time::Simulated { begin_ns: 0 }, ..BuildOptions::default() };
    let engine =
        graph.and_then(|graph| Engine::build(graph, &|name| stock.get(name), options, &mut diagnostics));
    let mut engine = engine.unwrap_or_else(|| panic!("{text}: {:?}", diagnostics.list));
    let mut n_rounds = 0;
    engine.run_while(|world| {
        n_rounds += 1;
        n_rounds < MOST_ROUNDS && !world.is_idle()
    });
    engine.world.write_handler(usize::MAX, "u.active", "true").expect("the ring can be started");
    rounds(&mut engine);
    let before = n_passed(&mut engine);
    rounds(&mut engine);
    assert_eq!(n_passed(&mut engine) - before, N_PACKETS, "{elements}: packets were lost");
    engine
}

/// Most driver rounds that loading a trace takes.
const MOST_ROUNDS: u32 = 1000;

fn n_passed(engine: &mut Engine) -> u64 {
    let count = engine.world.read_handler(usize::MAX, "u.count", "").expect("Unqueue counts");
    count.trim().parse().expect("a count is a number")
}

fn rounds(engine: &mut Engine) {
    let mut left = ROUNDS + 1;
    engine.run_while(|_| {
        left -= 1;
        left > 0
    });
}

/// A ring of UDP packets of 64 bytes with 4096 destinations.
fn udp(elements: &str) -> Engine {
    ring("trace_udp64.pcap", elements)
}

/// A ring of 10,000 flows.
fn flows(elements: &str) -> Engine {
    ring("flows10k.pcap", elements)
}

fn filter(n_rules: u32) -> Engine {
    let rules = (0..n_rules).map(|i| {
        let (a, b, port) = (i % 256, i / 256, 1024 + 37 * i);
        format!("drop src net 10.{a}.{b}.0/24 && dst net 172.{b}.{a}.0/24 && tcp && dst port {port}, ")
    });
    udp(&format!("MarkIPHeader(14) -> IPFilter({}allow all)", rules.collect::<String>()))
}

fn routes(n_routes: u32) -> Engine {
    let routes = (1..n_routes).map(|i| format!("{}.{}.0.0/16 0, ", 11 + i % 200, i / 200 * 31));
    let routes = routes.collect::<String>();
    udp(&format!("MarkIPHeader(14) -> GetIPAddress(IP dst) -> RadixIPLookup({routes}0.0.0.0/0 0)"))
}

#[library_benchmark]
#[bench::queue(udp("Null"))]
#[bench::null_10(udp(&["Null"; 10].join(" -> ")))]
#[bench::counter(udp("Counter"))]
#[bench::paint_switch(udp("Paint(1) -> p :: PaintSwitch; p[0] -> ring; p[1]"))]
#[bench::ether_mirror(udp("EtherMirror"))]
#[bench::check_ip_header(udp("CheckIPHeader(14)"))]
#[bench::router_ingress(udp("Strip(14) -> CheckIPHeader -> GetIPAddress(16) -> Unstrip(14)"))]
#[bench::router_egress(udp(
    "MarkIPHeader(14) -> Strip(14) -> StoreData(8, \\<40>) -> Null -> DropBroadcasts -> IPGWOptions(10.9.0.1)
     -> FixIPSrc(10.9.0.1) -> DecIPTTL -> IPFragmenter(1500) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)"
))]
#[bench::router_fan(udp(
    "MarkIPHeader(14) -> Strip(14) -> StoreData(8, \\<40>) -> s :: RoundRobinSwitch;
     s[1] -> DropBroadcasts -> DecIPTTL -> EtherEncap(0x0800, 2:0:0:0:1:1, 2:0:0:0:1:2) -> ring;
     s -> DropBroadcasts -> DecIPTTL -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)"
))]
#[bench::vlan(udp("VLANEncap(VLAN_ID 7) -> VLANDecap"))]
#[bench::set_udp_checksum(udp("MarkIPHeader(14) -> SetUDPChecksum"))]
#[bench::udp_ip_encap(udp("Strip(42) -> UDPIPEncap(10.0.0.1, 1234, 10.0.0.2, 5678) -> Unstrip(14)"))]
#[bench::tee(udp("t :: Tee; t[1] -> Discard; t[0]"))]
#[bench::hash_switch(udp("h :: HashSwitch(26, 8); h[1] -> ring; h[0]"))]
#[bench::ip_filter_0_rules(filter(0))]
#[bench::ip_filter_500_rules(filter(500))]
#[bench::ip_classifier(udp(
    "MarkIPHeader(14) -> c :: IPClassifier(icmp, tcp dst port 80, tcp, udp dst port 53, udp, -);
     c[0] -> ring; c[1] -> ring; c[2] -> ring; c[3] -> ring; c[5] -> ring; c[4]"
))]
#[bench::radix_ip_lookup_1_route(routes(1))]
#[bench::radix_ip_lookup_1000_routes(routes(1000))]
#[bench::aggregate_ip_flows(flows("MarkIPHeader(14) -> AggregateIPFlows"))]
#[bench::ip_rewriter(flows(
    "Strip(14) -> MarkIPHeader -> [0] rw :: IPRewriter(pattern 203.0.113.1 1024-65535# - - 0 1, drop,
     CAPACITY 200000); rw[0] -> IPMirror -> [1] rw; rw[1] -> IPMirror -> Unstrip(14)"
))]
fn instructions(mut engine: Engine) -> Engine {
    rounds(black_box(&mut engine));
    engine
}

library_benchmark_group!(name = elements; benchmarks = instructions);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"]));
    library_benchmark_groups = elements
);
