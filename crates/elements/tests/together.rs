//! Packets that go together where Click's go one by one do what they do one by one, and what is told of them comes in their order.

use engine::BuildOptions;
use proptest::prelude::*;
use testing::{simulated, Library};

/// Elements with one output in use.
const LINKS: [&str; 14] = [
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
    "IPPrint(ip)",
];

/// Elements with two.
const FORKS: [&str; 7] = [
    "CheckLength(30)",
    "CheckIPHeader(0, VERBOSE true)",
    "Tee",
    "RoundRobinSwitch",
    "HashSwitch(0, 1)",
    "PaintTee(0)",
    "RandomSwitch",
];

/// A tree of elements, that ends in one of few ways.
#[derive(Clone, Debug)]
enum Tree {
    End(u8),
    Link(usize, Box<Tree>),
    Fork(usize, Box<Tree>, Box<Tree>),
}

fn trees() -> impl Strategy<Value = Tree> {
    let end = (0..4u8).prop_map(Tree::End);
    end.prop_recursive(5, 16, 2, |inner| {
        let link = (0..LINKS.len(), inner.clone()).prop_map(|(link, next)| Tree::Link(link, Box::new(next)));
        let fork = (0..FORKS.len(), inner.clone(), inner)
            .prop_map(|(fork, a, b)| Tree::Fork(fork, Box::new(a), Box::new(b)));
        prop_oneof![3 => link, 1 => fork]
    })
}

/// What follows an arrow; what cannot be said there is added to `more`.
fn text(tree: &Tree, more: &mut String) -> String {
    match tree {
        Tree::End(0) => "end".to_string(),
        Tree::End(1) => "Queue(3)".to_string() + " -> Idle",
        Tree::End(_) => "Print(end, 4) -> Discard".to_string(),
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

fn printed(time: BuildOptions, graph: &str) -> String {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    let printed = library.run(BuildOptions { burst: 1, ..time }, graph, &[], |world| world.is_still());
    assert!(!printed.starts_with("config:"), "{printed}");
    printed
}

/// In simulated time packets go one by one.
fn check(source: &str, tree: &Tree) -> Result<(), TestCaseError> {
    let mut more = String::new();
    let tree = text(tree, &mut more);
    let graph = format!("RandomSeed(3); Idle -> end :: Discard; {more} {source} -> {tree};");
    prop_assert_eq!(printed(BuildOptions::default(), &graph), printed(simulated(), &graph), "{}", graph);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn runs_of_a_source(tree in trees(), n in 1..70u32) {
        let data = "\\<4500001e 00010000 40110000 0a000001 0a000002 00010002 000a0000 0102>";
        check(&format!("InfiniteSource(DATA {data}, LIMIT {n}, STOP true, TIMESTAMP false)"), &tree)?;
    }

    #[test]
    fn bursts_of_many_kinds(tree in trees(), kinds in prop::collection::vec(any::<u8>(), 1..60), burst in 2..40u32) {
        let mut source = format!("q :: Queue({}); ", kinds.len());
        for kind in &kinds {
            let len = [40, 20, 28, 12][usize::from(kind & 3)];
            let sum = if kind & 4 == 0 { "0000" } else { "66cd" };
            source += &format!(
                "InfiniteSource(DATA \\<{kind:02x} 45 4500001e 00010000 4011{sum} 0a000001 0a000002 00010002>, LENGTH {len}, LIMIT 1, TIMESTAMP false) -> q; "
            );
        }
        check(&format!("{source} InfiniteSource(LIMIT 300, STOP true) -> Discard; q -> Unqueue(BURST {burst})"), &tree)?;
    }
}
