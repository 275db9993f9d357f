//! Chains of elements that plain packets are taken through at once do what the elements do one by one.

use std::collections::BTreeMap;

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

/// A chain of links, with something between them or not.
fn chain(links: &[usize], between: &str) -> String {
    let mut text = String::from("begin");
    for (place, link) in links.iter().enumerate() {
        text += &format!(" {between} -> e{place} :: {}", LINKS[*link]);
    }
    text += " -> StoreIPAddress(0) -> Print(out, MAXLENGTH 80) -> Discard;";
    for place in (0..links.len()).filter(|place| !WITHOUT_OUTPUT_1.contains(&links[*place])) {
        text += &format!(" e{place}[1] -> Print(other{place}, MAXLENGTH 80) -> Discard;");
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
    let text = library.run(simulated(), graph, &[], |world| world.is_still());
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
    for label in ["out", "other0", "other1", "other2", "other3", "other5", "other6"] {
        assert!(lines.contains_key(label), "{label}: {:?}", lines.keys());
    }
}

#[test]
fn packets_of_every_kind_come_along_the_way_into_a_router() {
    for links in [[8, 9, 11], [8, 9, 12]] {
        let lines = outcome(&links, true);
        assert!(lines["out"].len() > 100 && lines["other1"].len() > 20, "{lines:?}");
    }
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
