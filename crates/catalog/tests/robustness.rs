//! Every class of the catalogue is given arguments, handler values and packets that nobody meant.

use std::time::{Duration, Instant};

use element::Runtime;
use engine::change::{Loader, Wish};
use engine::{BuildOptions, Engine, Time};
use graph::{ArgKind, ClassFacts, Diagnostics};
use lang::{Options, Source};
use proptest::prelude::*;
use proptest::sample::{select, Index};

/// Driver rounds after which a graph that still works is let be.
const MOST_ROUNDS: u32 = 20;
/// A graph that has worked for so long is let be after this round.
const LONG: Duration = Duration::from_secs(1);

/// Classes that are left out here; their own crates test them. Most open files, devices or sockets, which random names
/// had better not name. One is a mistake by being there, and two need certain others around them.
const OUTSIDE: &[&str] = &[
    "BufferConverter",
    "ChatterSocket",
    "ControlSocket",
    "Error",
    "ErrorElement",
    "EtherSpanTree",
    "FromCapDump",
    "FromDAGDump",
    "FromDevice",
    "FromDump",
    "FromHost",
    "FromInterface",
    "FromIPSummaryDump",
    "FromNLANRDump",
    "FromRawSocket",
    "FromSocket",
    "IPFlowRawSockets",
    "KernelFilter",
    "FromNetFlowSummaryDump",
    "FromTcpdump",
    "KernelTap",
    "KernelTun",
    "McastSocket",
    "RawSocket",
    "Socket",
    "StreamInterface",
    "TCPConn",
    "ToDevice",
    "ToDump",
    "ToHexDump",
    "ToHost",
    "ToInterface",
    "ToIPFlowDumps",
    "ToIPSummaryDump",
    "ToRawSocket",
    "ToSocket",
    "UMLSwitch",
];

/// Arguments for the classes that cannot do without.
const ARGUMENTS: &[(&str, &str)] = &[
    ("AdaptiveRED", "10, 0.5, QUEUES q"),
    ("AggregateIP", "ip dst/24"),
    ("ARPFaker", "10.0.0.3, 2:0:0:0:0:3, 10.0.0.4, 2:0:0:0:0:4"),
    ("EtherPauseSource", "2:0:0:0:0:3, 5"),
    ("EtherVLANEncap", "0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4, ANNO"),
    ("EtherVlanEncap", "0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4, ANNO"),
    ("GetEtherAddress", "0, src"),
    ("SetEtherAddress", "2:0:0:0:0:3, 0"),
    ("StoreEtherAddress", "2:0:0:0:0:3, dst"),
    ("StoreUDPTimeSeqRecord", "0"),
    ("Align", "4, 2"),
    ("BufferConverter", "100"),
    ("DebugBridge", "x"),
    ("RIPSend", "1.0.0.1, 2.0.0.2, 10.0.0.0/8, 3"),
    ("ToyTCP", "80"),
    ("BandwidthMeter", "10"),
    ("BandwidthRatedSplitter", "10Bps"),
    ("BandwidthRatedUnqueue", "10Bps"),
    ("BandwidthShaper", "10Bps"),
    ("CarrierNAT", "203.0.113.0/30, BLOCK_SIZE 16"),
    ("CheckLength", "40"),
    ("CheckPaint", "1"),
    ("Classifier", "12/0800"),
    ("CoDel", "1ms, 10ms, QUEUES q"),
    ("DelayShaper", "1ms"),
    ("DelayUnqueue", "1ms"),
    ("DynamicUDPIPEncap", "10.0.0.3, 1000, 10.0.0.4, 2000, true, 2"),
    ("FTPPortMapper", "rw, rw, 0"),
    ("FastTCPFlows", "0, 100, 60, 2:0:0:0:0:3, 10.0.0.3, 2:0:0:0:0:4, 10.0.0.4, 5, 4"),
    ("FastUDPFlows", "0, 100, 60, 2:0:0:0:0:3, 10.0.0.3, 2:0:0:0:0:4, 10.0.0.4, 5, 4"),
    ("FastUDPSource", "0, 100, 60, 2:0:0:0:0:3, 10.0.0.3, 1000, 2:0:0:0:0:4, 10.0.0.4, 2000"),
    ("FastUDPSourceIP6", "0, 100, 62, 2:0:0:0:0:3, 3ffe::3, 1000, 2:0:0:0:0:4, 3ffe::4, 2000"),
    ("ForceICMP", "echo, 0"),
    ("ICMPIPEncap", "10.0.0.3, 10.0.0.4, echo"),
    ("ICMPPingEncap", "10.0.0.3, 10.0.0.4"),
    ("ICMPSendPings", "10.0.0.3, 10.0.0.4"),
    ("SetIPECN", "ce"),
    ("SourceIPHashMapper", "2 1, - - 10.0.0.3 - 0 0 1, - - 10.0.0.4 - 0 0 2"),
    ("TCPFragmenter", "MTU 60"),
    ("EtherEncap", "0x0800, 2:0:0:0:0:3, 2:0:0:0:0:4"),
    ("EtherRewrite", "2:0:0:0:0:3, 2:0:0:0:0:4"),
    ("FixIPSrc", "10.0.0.3"),
    ("RoundRobinIPMapper", "- - 10.0.0.3 - 0 0"),
    ("ARPQuerier", "10.0.0.3, 2:0:0:0:0:3"),
    ("ARPResponder", "10.0.0.0/8 2:0:0:0:0:3"),
    ("FlowSource", "100, 200"),
    ("GetIPAddress", "16"),
    ("GREEncap", "10.0.0.3, 10.0.0.4"),
    ("GRETunnels", "10.0.0.3, TUNNEL a 10.0.0.4 - 0.0.0.0/0"),
    ("PPPoEServer", "2:0:0:0:0:3, 10.0.0.3, POOL 10.1.0.0/24, STATIC 2:0:0:0:0:4 1 10.0.0.4"),
    ("HashSwitch", "12, 8"),
    ("VLANSwitch", "access 1, trunk 2 ALLOWED 1 3"),
    ("NextHopSwitch", "1.0.0.1, 1.0.0.2 3"),
    ("NextHopSwitch6", "fe80::1%a, 1::2 3"),
    ("ICMP6Errors", "unreachable 0, INTERFACES 0 1::1/64 fe80::1/64"),
    ("ICMP6PingResponder", "0 1::1/64 fe80::1/64"),
    ("IP6Neighbors", "2:0:0:0:0:3, fe80::1/64 1::1/64"),
    ("IP6RouterAdvertiser", "2:0:0:0:0:3, fe80::1, PREFIX 2001:db8::/64 2 1 onlink"),
    ("IP6ScopeClassifier", "fe80::1/64 1::1/64"),
    ("HostEtherFilter", "2:0:0:0:0:1"),
    ("ICMPError", "10.0.0.3, timeexceeded"),
    ("ICMPPingRewriter", "pattern 10.0.0.3 0-65535# - - 0 0"),
    ("ICMPRewriter", "rw"),
    ("ICMPPingSource", "10.0.0.3, 10.0.0.4"),
    ("IPAddrPairRewriter", "pattern 10.0.0.3 - 0 0"),
    ("IPRateMonitor", "PACKETS, 0.5, 256"),
    ("IPAddrRewriter", "pattern 10.0.0.3 - 0 0"),
    ("IPClassifier", "tcp opt syn or udp port 53 or icmp type echo or ip frag"),
    ("IPEncap", "4, 10.0.0.3, 10.0.0.4"),
    ("IPFragmenter", "60"),
    ("IPGWOptions", "10.0.0.3"),
    ("IPInputCombo", "1"),
    ("IPOutputCombo", "1, 10.0.0.3, 60"),
    ("IPRewriter", "pattern 10.0.0.3 1024-65535# - - 0 0"),
    ("LoadBalancer", "10.0.0.4:80/tcp 10.0.0.3, 10.0.0.4:53/udp 10.0.0.3 10.0.0.5*2, TABLE_SIZE 13"),
    ("IntrusionDetector", "RULE 'alert ip any any -> any any (content:\"a\"; sid:1;)'"),
    ("Message", "hello"),
    ("Meter", "10"),
    ("Paint", "1"),
    ("PaintTee", "1"),
    ("Policer", "10pps, PER source, CAPACITY 3"),
    ("RED", "1, 4, 0.5, QUEUES q"),
    ("RandomBitErrors", "0.1"),
    ("RandomSample", "0.5"),
    ("RandomSource", "60"),
    ("RatedSplitter", "10"),
    ("RatedUnqueue", "10"),
    ("SetIPAddress", "10.0.0.3"),
    ("SetIPDSCP", "1"),
    ("SetPacketType", "HOST"),
    ("SetRandIPAddress", "10.0.0.0/8"),
    ("Shaper", "10"),
    ("SpinlockAcquire", "lock"),
    ("SpinlockPush", "lock"),
    ("SpinlockRelease", "lock"),
    ("StaticPullSwitch", "0"),
    ("StaticSwitch", "0"),
    ("StoreData", "4, \\<00ff>"),
    ("StoreIPAddress", "10.0.0.3, 12"),
    ("StoreTimestamp", "4"),
    ("StrideSched", "2"),
    ("StrideSwitch", "2"),
    ("Strip", "20"),
    ("TCPRewriter", "pattern 10.0.0.3 1024-65535# - - 0 0"),
    ("Truncate", "30"),
    ("JitterTimestamp", "5ms"),
    ("PcapFilter", "\"tcp port 80\""),
    ("UDPIPEncap", "10.0.0.3, 1000, 10.0.0.4, 2000"),
    ("UDPRewriter", "pattern 10.0.0.3 1024-65535# - - 0 0"),
    ("Unstrip", "14"),
    ("UpstreamNotifier", "true"),
    ("AddressTranslator", "1, false, 1::1 2::2, true, false, false, 2::3, 2::4"),
    ("GetIP6Address", "24"),
    ("ICMP6Error", "2001:db8::1, 3, 0"),
    ("IP6Encap", "4, 2001:db8::1, 2001:db8::2"),
    ("IP6Fragmenter", "60"),
    ("IP6NDSolicitor", "2001:db8::1, 2:0:0:0:0:3"),
    ("SetIP6Address", "2001:db8::1"),
    ("SetIP6DSCP", "1"),
    ("UDPIP6Encap", "2001:db8::1, 1000, 2001:db8::2, 2000"),
    ("Block", "500"),
    ("Burster", "1ms"),
    ("CompareBlock", "5, 2, 100"),
    ("FromHandler", "x.time"),
    ("HandlerTask", "x.reschedule false, RESCHEDULE true"),
    ("LinkUnqueue", "1ms, 1Mbps"),
    ("ProgressBar", "x.size"),
    ("SetAnnoByte", "PAINT, 1"),
    ("TimedUnqueue", "1ms"),
    ("WebGen", "10.0.0.0/8, 10.1.0.0, 1000"),
];

fn facts(class: &str) -> &'static ClassFacts {
    &catalog::stock().get(class).expect("the catalogue lists it").facts
}

/// The fewest inputs and outputs in Click's code, such as `1/1-2`; `=` means as many outputs as inputs, each `+` one more.
fn n_ports(class: &str) -> (usize, usize) {
    if facts(class).ports == "-/-" {
        return (0, 0);
    }
    let (inputs, outputs) = facts(class).ports.split_once('/').unwrap_or((facts(class).ports, "="));
    let least = |code: &str| code.split(['-', '+']).next().and_then(|n| n.parse().ok());
    let n_inputs = least(inputs).unwrap_or(1);
    let n_more = outputs.matches('+').count();
    (n_inputs, least(outputs).unwrap_or(if outputs.starts_with('=') { n_inputs + n_more } else { 1 }))
}

/// What arguments may name.
const NEIGHBOURS: &str = "rw :: IPRewriter(pattern 10.0.0.5 1024-65535# - - 0 0); Idle -> rw -> Discard;
    Idle -> q :: Queue -> Idle; SpinlockInfo(lock); ";

/// The graph `source -> x :: CLASS(ARGUMENTS) -> Discard` with all ports connected.
fn graph_of(class: &str, arguments: &str, source: &str) -> String {
    let (n_inputs, n_outputs) = n_ports(class);
    let mut text = format!("{NEIGHBOURS} x :: {class}({arguments}); ");
    (0..n_inputs).for_each(|port| text += &format!("{source} -> [{port}] x; "));
    let behind = |port| if class == "TCPAck" && port == 0 { "TCPBuffer -> Unqueue -> " } else { "" };
    (0..n_outputs).for_each(|port| text += &format!("x[{port}] -> {}Discard; ", behind(port)));
    text
}

/// Builds a graph in simulated time; yields what is wrong with it otherwise.
fn build(text: &str) -> Result<Engine, Vec<String>> {
    let stock = catalog::stock();
    let mut diagnostics = Diagnostics::default();
    let graph = lang::parse(&Source { name: "config", text }, &Options::new(stock), &mut diagnostics);
    let options = BuildOptions {
        time: Time::Simulated { begin_ns: 1_000_000_000 },
        chatter: Box::new(|_| {}),
        ..BuildOptions::default()
    };
    let engine =
        graph.and_then(|graph| Engine::build(graph, &|name| stock.get(name), options, &mut diagnostics));
    engine.ok_or_else(|| diagnostics.list.iter().map(|diagnostic| diagnostic.message.clone()).collect())
}

/// Runs for some rounds; for few where they are long, as of a source that makes 65536 packets of 65535 bytes at a time.
fn run(engine: &mut Engine) {
    let (begin, mut n_rounds) = (Instant::now(), 0);
    engine.run_while(|world| {
        n_rounds += 1;
        n_rounds < MOST_ROUNDS && !world.is_idle() && begin.elapsed() < LONG
    });
}

/// The names of the classes that can run here.
fn classes() -> Vec<&'static str> {
    let all = catalog::stock().sorted_names();
    all.into_iter().filter(|name| !OUTSIDE.contains(name)).collect()
}

fn arguments(class: &str) -> &'static str {
    ARGUMENTS.iter().find(|(name, _)| *name == class).map_or("", |(_, arguments)| arguments)
}

#[test]
fn every_class_can_be_built_here() {
    let mut problems = String::new();
    for class in classes() {
        if let Err(messages) = build(&graph_of(class, arguments(class), "Idle")) {
            problems += &format!("{class}: {messages:?}\n");
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// A word that some argument or handler somewhere takes.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "",
        "0",
        "1",
        "-1",
        "4",
        "14",
        "20",
        "60",
        "255",
        "256",
        "65535",
        "65536",
        "4294967295",
        "4294967296",
        "18446744073709551615",
        "-9223372036854775808",
        "1e9",
        "0.001",
        "1s",
        "1ms",
        "-1s",
        "10Mbps",
        "1kB",
        "true",
        "false",
        "x",
        "-",
        "\"\"",
        "\\<00ff>",
        "10.0.0.1",
        "10.0.0.0/8",
        "0.0.0.0/0",
        "::1",
        "fe80::/10",
        "2:0:0:0:0:1",
        "0800",
        "12/0800",
        "12/08??%f0",
        "ip proto tcp",
        "tcp dst port 80",
        "allow all",
        "drop src net 10/8",
        "pattern 10.0.0.1 1024-65535# - - 0 0",
        "keep 0 0",
        "drop",
        "discard",
        "pass 0",
        "nochange 0",
        "rr",
        "10.0.0.0/8 0",
        "10.0.0.0/8 10.0.0.1 0",
        "0-255",
        "udp",
        "ip src",
        "ip dst/24",
        "x.y",
        "a.count",
        "x.count",
        "timestamp",
        "NAPTIME",
        "wait 1",
        "PAINT",
        "ANNO 3",
        "(",
        "[",
        "{",
        "$",
        "$x",
        "é",
        "\u{0}",
    ];
    prop_oneof![
        4 => select(known.map(str::to_string).to_vec()),
        1 => "[-+0-9a-z.:/%?*#$(){}\\[\\]<>\"' \\\\!&|é]{0,12}",
    ]
}

/// A configuration for a class: its own arguments by position and by keyword, some after a good beginning.
fn configuration(class: &'static str) -> impl Strategy<Value = String> {
    let is_harmless = |arg: &&graph::Arg| !arg.ty.contains("file");
    let names: Vec<&str> = facts(class).args.iter().filter(is_harmless).map(|arg| arg.name).collect();
    let argument = (any::<Option<Index>>(), prop::collection::vec(word(), 1..3));
    (any::<bool>(), prop::collection::vec(argument, 0..4)).prop_map(move |(begins_well, list)| {
        let mut texts: Vec<String> =
            if begins_well { vec![arguments(class).to_string()] } else { Vec::new() };
        for (index, words) in list {
            let words = words.join(" ");
            match index.filter(|_| !names.is_empty()) {
                Some(index) => texts.push(format!("{} {words}", index.get(&names))),
                None => texts.push(words),
            }
        }
        texts.join(", ")
    })
}

fn any_class() -> impl Strategy<Value = &'static str> {
    select(classes())
}

/// Addresses and the type of IPv4.
const ETHER: &str = "0000000000020000000000010800";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// An IPv4 packet with random fields, options and lengths, cut anywhere.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let body = prop::collection::vec(any::<u8>(), 0..100);
    let protocol = prop_oneof![4 => select(vec![1u8, 6, 17]), 1 => any::<u8>()];
    let len = prop_oneof![3 => Just(None), 1 => any::<u16>().prop_map(Some)];
    let header_len = prop_oneof![3 => Just(5u8), 1 => 0..16u8];
    (body, protocol, len, header_len, any::<[u8; 4]>(), any::<bool>()).prop_map(
        |(body, protocol, len, header_len, random, is_fragment)| {
            let len = len.unwrap_or(20 + body.len() as u16).to_be_bytes();
            let fragment = if is_fragment { [random[0] & 0x3f, random[1]] } else { [0, 0] };
            let mut packet =
                vec![0x40 | header_len, 0, len[0], len[1], 0, random[2] & 3, fragment[0], fragment[1]];
            packet.extend([random[3], protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend(body);
            let checksum = wire_checksum(&packet[..(usize::from(header_len) * 4).min(packet.len())]);
            packet[10..12].copy_from_slice(&checksum.to_be_bytes());
            packet
        },
    )
}

/// RFC 1071, section 1, of a header whose checksum field is zero.
fn wire_checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    !((sum & 0xffff) + (sum >> 16)) as u16
}

/// The graph that sends packets through an element of a class, with its inputs push or else pull.
fn graphs_with_packets(class: &str, name: &str, packets: &[(Vec<u8>, usize)], burst: u8) -> [String; 2] {
    let mut sources = String::new();
    for (packet, kind) in packets {
        let (ether, mark) = match kind {
            0 => ("", "MarkIPHeader(0)"),
            1 => (ETHER, "MarkIPHeader(14)"),
            2 => (ETHER, "Null"),
            _ => ("", "Null"),
        };
        let data = format!("\\<{ether}{}>", hex(packet));
        sources += &format!("InfiniteSource(DATA {data}, LIMIT {burst}, BURST {burst}) -> {mark} -> tee; ");
    }
    let graph = graph_of(class, arguments(class), "SOURCE").replace("x ::", &format!("{name} ::"));
    let graph = graph.replace("(x.", &format!("({name}."));
    let graph = graph.replace(" x;", &format!(" {name};")).replace(" x[", &format!(" {name}["));
    let mut text = format!("tee :: Tee -> Discard; {sources} {graph}");
    (0..n_ports(class).0).for_each(|port| {
        text = text.replacen("SOURCE", &format!("tee[{}] -> Queue -> Unqueue", port + 1), 1)
    });
    let pulled = text.replace("Queue -> Unqueue ->", "Queue ->");
    [text, pulled]
}

/// Reads and knows what the catalogue does.
struct Stock;

impl Loader for Stock {
    fn parse(&self, _name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<graph::Graph> {
        lang::parse(&Source { name: "config", text }, &Options::new(catalog::stock()), diagnostics)
    }

    fn class(&self, name: &str) -> Option<&'static element::Class> {
        catalog::stock().get(name)
    }

    fn text(&self, told: &graph::Diagnostic) -> String {
        lang::click_text(told)
    }
}

/// Lets element `to` of a graph take the place of element `from` in the running one; what is wrong if it cannot.
fn replace(engine: &mut Engine, text: &str, from: &str, to: &str) -> Result<(), String> {
    let mut diagnostics = Diagnostics::default();
    let snapshot = engine.world.snapshot()?;
    let graph = snapshot.loader().parse("config", text, &mut diagnostics);
    let replaced = vec![(from.to_string(), to.to_string())];
    let wish = graph.map(|graph| Wish { graph, replaced, ..Wish::default() });
    let prepared = wish.and_then(|wish| snapshot.prepare(wish, &mut diagnostics));
    let is_changed = prepared.is_some_and(|prepared| engine.world.change(prepared, &mut diagnostics).is_ok());
    let told: String = diagnostics.list.iter().map(|told| told.message.clone() + "; ").collect();
    if is_changed {
        Ok(())
    } else {
        Err(told)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_are_taken_or_refused(
        (class, config) in any_class().prop_flat_map(|class| (Just(class), configuration(class)))
    ) {
        if let Ok(mut engine) = build(&graph_of(class, &config, "Idle")) {
            run(&mut engine);
            engine.cleanup();
        }
    }

    #[test]
    fn any_handler_may_be_written_and_read(class in any_class(), calls in prop::collection::vec((any::<Index>(), word()), 1..6)) {
        let mut engine = build(&graph_of(class, arguments(class), "Idle")).expect("tested above");
        let is_harmless = |handler: &&graph::Handler| !handler.name.contains("file");
        let handlers: Vec<&graph::Handler> = facts(class).handlers.iter().filter(is_harmless).collect();
        for (index, value) in calls.iter().filter(|_| !handlers.is_empty()) {
            let name = format!("x.{}", index.get(&handlers).name);
            // Whether the value is accepted does not matter here.
            let _ = engine.world.write_handler(usize::MAX, &name, value);
            let _ = engine.world.read_handler(usize::MAX, &name, value);
            run(&mut engine);
        }
        engine.cleanup();
    }

    #[test]
    fn any_packet_is_survived(class in any_class(), packets in prop::collection::vec((packet(), 0..4usize), 1..5), burst in 1..40u8) {
        let texts = graphs_with_packets(class, "x", &packets, burst);
        let mut engine = texts.iter().find_map(|text| build(text).ok()).expect("the class can be built");
        run(&mut engine);
        for handler in facts(class).handlers {
            // Whatever it reads, it must not panic.
            let _ = engine.world.read_handler(usize::MAX, &format!("x.{}", handler.name), "");
        }
        engine.cleanup();
    }

    #[test]
    fn any_element_takes_the_place_of_any_other(
        (before, after) in any_class().prop_flat_map(|class| (Just(class), prop_oneof![Just(class), any_class()])),
        packets in prop::collection::vec((packet(), 0..4usize), 1..5),
        burst in 1..40u8,
    ) {
        let [first, back] = [(before, "x"), (before, "z")].map(|(class, name)| graphs_with_packets(class, name, &packets, burst));
        let second = graphs_with_packets(after, "y", &packets, burst);
        let mut engine = first.iter().find_map(|text| build(text).ok()).expect("the class can be built");
        engine.world.loader = Some(std::sync::Arc::new(Stock));
        run(&mut engine);
        for (texts, from, to) in [(second, "x", "y"), (back, "y", "z")] {
            let result = replace(&mut engine, &texts[0], from, to);
            let result = result.or_else(|_| replace(&mut engine, &texts[1], from, to));
            prop_assert_eq!(result, Ok(()), "{} in the place of {}", after, before);
            run(&mut engine);
        }
        for handler in facts(before).handlers {
            // Whatever it reads, it must not panic.
            let _ = engine.world.read_handler(usize::MAX, &format!("z.{}", handler.name), "");
        }
        engine.cleanup();
    }
}

#[test]
fn every_required_argument_is_asked_for() {
    for class in classes() {
        let is_required = |arg: &graph::Arg| arg.kind == ArgKind::Required;
        if facts(class).args.iter().any(is_required) {
            let messages = build(&graph_of(class, "", "Idle")).err().expect(class);
            assert!(messages.iter().any(|message| message.contains("required")), "{class}: {messages:?}");
        }
    }
}
