//! The order in which the parts of a split batch go where their ways meet again.

use engine::BuildOptions;
use expect_test::{expect, Expect};
use testing::{simulated, Library};

/// Runs a graph behind a source of one batch of `n` packets; what it prints, and a handler's value if one is given, as words.
#[track_caller]
fn check(n: usize, graph: &str, read: Option<&str>, expected: Expect) {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    let source =
        format!("source :: InfiniteSource(DATA \\<00>, LENGTH 1, LIMIT {n}, BURST {n}) -> in :: Null;");
    // As `weir run` has it: what prints does not make packets go one by one.
    let options = BuildOptions { burst: 32, ..simulated() };
    let text = library.run(options, &(source + graph), read.as_slice(), |world| world.is_still());
    let words: Vec<&str> = text.lines().map(|line| line.trim_end_matches(":    1 | 00")).collect();
    expected.assert_eq(&words.join(" "));
}

/// Two branches that meet.
const BRANCHES: &str = "fork[0] -> Print(a) -> m :: Print(meeting) -> Discard; fork[1] -> Print(b) -> m";

#[test]
fn branches_wait_for_each_other_where_they_meet() {
    let graph = format!("in -> fork :: RoundRobinSwitch; {BRANCHES}");
    check(4, &graph, None, expect!["a a b b meeting meeting meeting meeting"]);
}

#[test]
fn a_fork_whose_outputs_all_lead_to_one_input_leaves_the_order_alone() {
    let graph = "in -> IPEncap(17, 1.1.1.1, 2.2.2.2) -> Strip(5) -> Truncate(1) -> fork :: RoundRobinSwitch;
        fork[0, 1] => [0, 0] Print(identification) -> Discard";
    check(
        4,
        graph,
        None,
        expect![
            "identification identification:    1 | 01 identification:    1 | 02 identification:    1 | 03"
        ],
    );
}

#[test]
fn what_comes_of_one_packet_does_not_wait() {
    let graph = format!("in -> fork :: Tee; {BRANCHES}");
    check(1, &graph, None, expect!["a meeting b meeting"]);
}

#[test]
fn an_inner_meeting_leads_to_the_outer_one() {
    let graph = "in -> fork :: RoundRobinSwitch;
        fork[0] -> inner :: RoundRobinSwitch; fork[1] -> Print(c) -> m :: Print(outer) -> Discard;
        inner[0] -> Print(a) -> i :: Print(inner) -> m; inner[1] -> Print(b) -> i";
    check(
        8,
        graph,
        None,
        expect!["a a b b inner inner inner inner c c c c outer outer outer outer outer outer outer outer"],
    );
}

#[test]
fn a_full_batch_does_not_wait_for_more() {
    let graph = "in -> fork :: Tee(3);
        fork[0] -> Null -> m :: Counter -> Discard; fork[1] -> Null -> m; fork[2] -> Null -> m";
    check(200, graph, Some("m.count"), expect!["m.count: 600"]);
}

#[test]
fn a_loop_through_a_meeting_comes_to_its_end() {
    let graph = "in -> m :: Print(meeting) -> fork :: RoundRobinSwitch;
        fork[0] -> Print(out) -> Discard; fork[1] -> Print(a) -> m; fork[2] -> Print(b) -> m";
    check(4, graph, None, expect!["meeting meeting meeting meeting out out a b meeting meeting a meeting out b meeting a meeting b meeting out"]);
}
