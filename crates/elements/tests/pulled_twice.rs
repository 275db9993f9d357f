//! Elements with several inputs of which each pulls for the output of its number: a path may lead through one of them twice.

use testing::{simulated, Library};

/// Such elements.
const ELEMENTS: [&str; 8] = [
    "Clipboard(0/1)",
    "Suppressor",
    "AggregateCounter",
    "AggregatePacketCounter(ANNO NONE)",
    "IPRateMonitor(BYTES, 1, 10000)",
    "CopyFlowID",
    "CopyTCPSeq",
    "AddressTranslator(1, false, fe80::1 fe80::3, false)",
];

#[test]
fn packets_pass_a_path_that_leads_twice_through_an_element() {
    let classes = || elements::FOLDERS.iter().flat_map(|(_, classes)| classes.iter());
    for class in classes().filter(|class| class.pulls_first) {
        let name = class.facts.name;
        assert!(
            ELEMENTS.iter().any(|element| element.split('(').next() == Some(name)),
            "{name} is not tried"
        );
    }
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    for element in ELEMENTS {
        // An IPv6 packet that `AddressTranslator` knows both addresses of.
        let graph = format!(
            "x :: {element}; source :: InfiniteSource(DATA \\<60000000 00081140
              fe800000 00000000 00000000 00000001 fe800000 00000000 00000000 00000003 00010002 00080000>, LIMIT 100)
             -> Queue -> [0]x[0] -> Null -> [1]x[1] -> Unqueue(BURST 7) -> c :: Counter -> Discard"
        );
        let text = library.run(simulated(), &graph, &["c.count"], |world| world.is_still());
        assert_eq!(text, "c.count: 100\n", "{element}");
    }
}
