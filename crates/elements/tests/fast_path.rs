//! Chains of elements that plain packets are taken through at once do what the elements do one by one.

use std::collections::BTreeMap;

use engine::BuildOptions;
use proptest::prelude::*;
use testing::{simulated, Library};

/// Elements that may stand in a chain.
const LINKS: [&str; 13] = [
    "DropBroadcasts",
    "CheckPaint(0)",
    "PaintTee(5, ANNO 20)",
    "IPGWOptions(10.9.9.1)",
    "FixIPSrc(10.9.9.1)",
    "DecIPTTL(MULTICAST false)",
    "IPFragmenter(200)",
    "EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:1:1)",
    "Strip(14)",
    "CheckIPHeader(BADSRC 1.2.3.5 9.9.9.9, GOODDST 10.0.0.1)",
    "CheckIPHeader2(14)",
    "GetIPAddress(16)",
    "GetIPAddress(12)",
];

/// Links with one output.
const WITHOUT_OUTPUT_1: [usize; 5] = [4, 7, 8, 11, 12];

const END: &str = "end :: StoreIPAddress(0) -> Print(out, MAXLENGTH 80) -> Discard;";

/// A chain of links behind `begin`, with something between them or not.
fn chain(links: &[usize], between: &str) -> String {
    format!("{END} {}", links_between("begin", "e", links, between))
}

/// Chains of links behind the outputs of a switch; they meet at their end.
fn chains(all: &[Vec<usize>], between: &str) -> String {
    let of_output = |(output, links): (usize, &Vec<usize>)| {
        links_between(&format!("switch[{output}]"), &format!("e{output}_"), links, between)
    };
    let chains: String = all.iter().enumerate().map(of_output).collect();
    format!("{END} begin -> switch :: RoundRobinSwitch; {chains}")
}

/// Links with these names from somewhere to `end`.
fn links_between(from: &str, name: &str, links: &[usize], between: &str) -> String {
    let mut text = String::from(from);
    for (place, link) in links.iter().enumerate() {
        text += &format!(" {between} -> {name}{place} :: {}", LINKS[*link]);
    }
    text += " -> end;";
    for place in (0..links.len()).filter(|place| !WITHOUT_OUTPUT_1.contains(&links[*place])) {
        text += &format!(" {name}{place}[1] -> Print(other{name}{place}, MAXLENGTH 80) -> Discard;");
    }
    text
}

/// Packets of all kinds, by their first byte: some are painted or broadcasts, ask for another source, are shared, or have no header.
fn source(kinds: &[u8], burst: usize, is_framed: bool) -> String {
    let mut text = format!("q :: Queue({}); begin :: Null; ", kinds.len());
    for kind in kinds {
        let ttl = [64, 1, 2, 0][usize::from(kind & 3)];
        let (first, options) = match kind & 0xc {
            0xc => ("46", ["01010101", "07020101"][usize::from(kind >> 4 & 1)]),
            _ => ("45", ""),
        };
        let flags = if kind & 0x20 == 0 { "0000" } else { "4000" };
        let to = if kind & 0x30 == 0x30 { "e0000001" } else { "0a000001" };
        let n = if kind & 0xc0 == 0xc0 { 260 } else { 40 };
        let from = kind & 1 ^ 5;
        text += &format!(
            "InfiniteSource(DATA \\<{kind:02x} {first}00{n:04x} 0000{flags} {ttl:02x}110000 0102030{from} {to} {options}>, LENGTH {}, LIMIT 1) -> q; ",
            n + 1
        );
    }
    let frame = if is_framed { "-> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:1:1)" } else { "" };
    text += &format!(
        "q -> Unqueue(BURST {burst}) -> kinds :: HashSwitch(0, 1); // Each kind goes another way.
         kinds[0] -> paint :: Paint(5, ANNO 20) -> ip :: {{ input -> Strip(1) -> MarkIPHeader -> SetIPChecksum -> output }};
         kinds[1] -> SetPacketType(MULTICAST) -> ip; kinds[2] -> Paint(1, ANNO 34) -> ip; kinds[3] -> Paint(1) -> ip;
         kinds[4] -> t :: Tee -> ip; t[1] -> Strip(1) -> Print(twin) -> Discard;
         kinds[5] -> Strip(1) -> begin; kinds[6] -> ip; kinds[7] -> ip; ip {frame} -> begin; "
    );
    text
}

/// What a graph prints, by label.
fn printed(graph: &str) -> BTreeMap<String, Vec<String>> {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    // As `weir run` has it: what prints does not make packets go one by one.
    let options = BuildOptions { burst: 32, ..simulated() };
    let text = library.run(options, graph, &[], |world| world.is_still());
    assert!(!text.starts_with("config:"), "{text}");
    let mut lines = BTreeMap::<String, Vec<String>>::new();
    for line in text.lines() {
        let (label, rest) = line.split_once(':').unwrap_or((line, ""));
        lines.entry(label.to_string()).or_default().push(rest.to_string());
    }
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_chain_does_what_its_elements_do(
        links in prop::collection::vec(0..LINKS.len(), 1..7),
        kinds in prop::collection::vec(any::<u8>(), 1..60),
        burst in prop::sample::select(vec![1usize, 8, 32, 256]),
        is_framed: bool,
    ) {
        let source = source(&kinds, burst, is_framed);
        let apart = printed(&format!("{source} {}", chain(&links, "-> Null")));
        prop_assert_eq!(printed(&format!("{source} {}", chain(&links, ""))), apart);
    }

    #[test]
    fn chains_that_meet_do_what_their_elements_do(
        all in prop::collection::vec(prop::collection::vec(0..LINKS.len(), 0..4), 2..4),
        kinds in prop::collection::vec(any::<u8>(), 1..60),
        burst in prop::sample::select(vec![1usize, 8, 32, 256]),
        is_framed: bool,
    ) {
        let source = source(&kinds, burst, is_framed);
        // Which of several packets is first at the meeting is left open, but with one at a time.
        let printed = |graph: &str| {
            let mut lines = printed(&format!("{source} {graph}"));
            if burst > 1 {
                lines.values_mut().for_each(|lines| lines.sort());
            }
            lines
        };
        prop_assert_eq!(printed(&chains(&all, "")), printed(&chains(&all, "-> Null")));
    }
}

/// What comes of packets of all kinds, whether the elements of a chain follow each other or not.
fn outcome(links: &[usize], is_framed: bool) -> BTreeMap<String, Vec<String>> {
    let kinds: Vec<u8> = (0..=255).collect();
    let source = source(&kinds, 32, is_framed);
    let lines = printed(&format!("{source} {}", chain(links, "")));
    assert_eq!(lines, printed(&format!("{source} {}", chain(links, "-> Null"))));
    lines
}

#[test]
fn packets_of_every_kind_come_along_the_way_out_of_a_router() {
    let lines = outcome(&[0, 1, 2, 3, 4, 5, 6, 7], false);
    for label in ["out", "othere0", "othere1", "othere2", "othere3", "othere5", "othere6"] {
        assert!(lines.contains_key(label), "{label}: {:?}", lines.keys());
    }
}

#[test]
fn packets_of_every_kind_come_along_the_way_into_a_router() {
    for links in [[8, 9, 11], [8, 9, 12]] {
        let lines = outcome(&links, true);
        assert!(lines["out"].len() > 100 && lines["othere1"].len() > 20, "{lines:?}");
    }
}

/// Packets with numbers, in one batch, by a switch to two branches that meet.
fn numbered(branches: &str) -> Vec<String> {
    let numbers: String = (0..8).map(|n| format!("InfiniteSource(DATA \\<45000014 00000000 4011{n:04x} 01020304 0506070{n}>, LENGTH 20, LIMIT 1) -> q;")).collect();
    let graph = format!(
        "q :: Queue; {numbers} q -> Unqueue(BURST 8) -> MarkIPHeader -> switch :: RoundRobinSwitch;
         end :: Null -> Print(out, MAXLENGTH 80) -> Discard; {branches}"
    );
    let last = |line: String| line.chars().last().into_iter().collect();
    printed(&graph).remove("out").unwrap_or_default().into_iter().map(last).collect()
}

#[test]
fn plain_packets_are_in_order_where_branches_meet() {
    let branches =
        "switch -> DropBroadcasts -> DecIPTTL -> end; switch[1] -> DropBroadcasts -> DecIPTTL -> end;";
    assert_eq!(numbered(branches).concat(), "01234567");
    let with_null = branches.replace("-> DecIPTTL", "-> Null -> DecIPTTL");
    assert_eq!(numbered(&with_null).concat(), "02461357");
}

#[test]
fn what_a_branch_does_not_pass_goes_its_own_way() {
    // One branch goes straight to the end, one elsewhere.
    let branches = "switch -> DropBroadcasts -> DecIPTTL -> end; switch[1] -> end; switch[2] -> Null -> Print(null) -> Discard;
        switch[3] -> DropBroadcasts -> DecIPTTL -> end;";
    assert_eq!(numbered(branches).concat(), "014537");
}

#[test]
fn what_a_handler_changes_holds_for_the_next_packet() {
    let graph = |between: &str| {
        format!(
            "InfiniteSource(DATA \\<4500001c 00000000 40110000 01020304 05060708>, LENGTH 28, LIMIT 3, BURST 1, ACTIVE false)
               -> MarkIPHeader -> SetIPChecksum -> Null {between} -> c :: CheckPaint(0) {between} -> d :: DecIPTTL {between}
               -> e :: EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:1:1) -> Print(out, MAXLENGTH 80) -> Discard;
             c[1] -> Print(other, MAXLENGTH 80) -> Discard; source :: Null; Idle -> source -> Discard;"
        )
    };
    let steps = "DriverManager(write InfiniteSource@1.active true, wait 1ms, write d.active false,
        write InfiniteSource@1.reset, wait 1ms, write e.dst 4:4:4:4:4:4, write InfiniteSource@1.reset, wait 1ms,
        write c.color 3, write InfiniteSource@1.reset, wait 1ms, stop)";
    let together = printed(&(graph("") + steps));
    assert_eq!(together["out"].len(), 9, "{together:?}");
    assert_eq!(together["other"].len(), 3, "{together:?}");
    assert_eq!(together, printed(&(graph("-> Null") + steps)));
    let apart: std::collections::BTreeSet<&String> = together["out"].iter().collect();
    assert_eq!(apart.len(), 3, "each step changes what comes out: {apart:?}");
}
