//! Graphs that are given another configuration while they run.

use std::sync::atomic::{AtomicUsize, Ordering};

use element::{Batch, Causes, Class, Configure, Ctx, Element, Failed, Runtime};
use engine::world::World;
use engine::BuildOptions;
use expect_test::{expect, Expect};
use testing::{simulated, Library};

fn library() -> Library {
    Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes))
}

/// Runs `first` for some rounds, then each of `changes` for as many; then reads handlers. Errors of changes are printed.
#[track_caller]
fn check(first: &str, changes: &[&str], n_rounds: usize, reads: &[&str], expected: Expect) {
    let (mut round, mut told) = (0, String::new());
    let text = library().run(simulated(), first, reads, |world: &mut World| {
        round += 1;
        if round % n_rounds == 0 {
            match changes.get(round / n_rounds - 1) {
                Some(change) => {
                    let result = world.change_to(change);
                    told += &result
                        .err()
                        .map(|error| element::spoken(&error).into_owned() + "\n")
                        .unwrap_or_default();
                }
                None => return true,
            }
        }
        false
    });
    expected.assert_eq(&(told + &text));
}

#[test]
fn what_stays_goes_on_and_what_is_new_is_put_in_between() {
    check(
        "s :: RatedSource(RATE 10, LIMIT 30) -> a :: Counter -> q :: Queue(20) -> u :: RatedUnqueue(5) -> d :: Discard;",
        &["s :: RatedSource(RATE 10, LIMIT 30) -> a :: Counter -> q :: Queue(20) -> u :: RatedUnqueue(5)
           -> b :: Counter -> d :: Discard;"],
        2000,
        &["a.count", "b.count", "d.count", "q.length", "list"],
        expect![[r#"
            a.count: 30
            b.count: 0
            d.count: 30
            q.length: 0
            list: 6
            s
            a
            q
            u
            d
            b

        "#]],
    );
}

#[test]
fn a_graph_that_cannot_be_leaves_the_old_one_as_it_was() {
    check(
        "s :: RatedSource(RATE 10, LIMIT 30) -> a :: Counter -> d :: Discard;",
        &[
            "s :: RatedSource(RATE 10) -> a :: Counter(nonsense) -> d :: Discard; x :: NoSuchClass -> Discard;",
            "s :: RatedSource(RATE 10) -> a :: Counter -> q :: Queue -> d2 :: Discard; Idle -> [1]q",
            "s :: RatedSource(RATE x) -> c :: Counter(nonsense) -> d :: Discard",
            "s :: RatedSource(RATE 10, LIMIT 30) -> a :: Counter -> b :: Counter -> t :: ToIPSummaryDump(/nonexistent/x)",
        ],
        1000,
        &["a.count", "d.count", "list", "s.count"],
        expect![[r#"
            config:1: unknown element class 'NoSuchClass'
            config:1: 'q :: Queue' has no input 1
            Router could not be initialized!
            config:1: While configuring 's :: RatedSource':
              RATE: invalid number
            config:1: While configuring 'c :: Counter':
              too many arguments
            Router could not be initialized!
            config:1: While initializing 't :: ToIPSummaryDump':
              /nonexistent/x: No such file or directory
            Router could not be initialized!
            a.count: 30
            d.count: 30
            list: 3
            s
            a
            d

            s.count: 30
        "#]],
    );
}

#[test]
fn a_refused_change_leaves_the_counts_of_drops_as_they_were() {
    check(
        "s :: RatedSource(DATA \\<00>, RATE 10, LIMIT 30) -> c :: CheckIPHeader -> d :: Discard;",
        &["s :: RatedSource(DATA \\<00>, RATE 10, LIMIT 30) -> c :: ToIPSummaryDump(/nonexistent/x);"],
        200,
        &["s.count", "drops"],
        expect![[r#"
            c: IP header check failed: tiny packet
            config:1: While initializing 'c :: ToIPSummaryDump':
              /nonexistent/x: No such file or directory
            Router could not be initialized!
            s.count: 14
            drops: c	tiny-packet	14

        "#]],
    );
}

#[test]
fn a_puller_that_sleeps_wakes_when_it_is_given_a_queue_that_holds_packets() {
    check(
        "InfiniteSource(LIMIT 5) -> full :: Queue -> Idle; Idle -> empty :: Queue -> u :: Unqueue -> d :: Discard;",
        &["Idle -> full :: Queue -> u :: Unqueue -> d :: Discard; Idle -> empty :: Queue -> Idle;"],
        50,
        &["d.count", "full.length"],
        expect![[r#"
            d.count: 5
            full.length: 0
        "#]],
    );
}

#[test]
fn a_source_that_waits_for_room_goes_on_when_it_is_given_another_queue() {
    check(
        "s :: InfiniteSource(LIMIT 50) -> small :: Queue(10) -> Idle; Idle -> large :: Queue(100) -> Idle;",
        &["s :: InfiniteSource(LIMIT 50) -> large :: Queue(100) -> Idle; Idle -> small :: Queue(10) -> Idle;"],
        50,
        &["s.count", "small.length", "large.length", "small.drops", "large.drops"],
        expect![[r#"
            s.count: 50
            small.length: 10
            large.length: 40
            small.drops: 0
            large.drops: 0
        "#]],
    );
}

#[test]
fn elements_that_go_take_their_tasks_and_timers_with_them() {
    check(
        "a :: TimedSource(0.1) -> c :: Counter -> Discard; b :: RatedSource(RATE 5) -> Discard;",
        &[
            "Idle -> c :: Counter -> Discard;",
            "e :: TimedSource(0.5) -> c :: Counter -> Discard; f :: InfiniteSource(LIMIT 3) -> g :: Counter -> Discard;",
            "h :: Idle -> c :: Counter -> Discard;",
        ],
        300,
        &["c.count", "list"],
        expect![[r#"
            c.count: 16
            list: 3
            c
            Discard@3
            h

        "#]],
    );
}

#[test]
fn who_names_another_element_finds_the_one_that_took_its_place() {
    check(
        "t :: ARPTable(TIMEOUT 0); a :: ARPQuerier(10.0.0.1, 1:2:3:4:5:6, TABLE t); Idle -> a -> Discard; Idle -> [1]a;
         sc :: Script(write t.insert 10.0.0.7 7:7:7:7:7:7);",
        &["t :: ARPTable(TIMEOUT 0, CAPACITY 7); a :: ARPQuerier(10.0.0.1, 1:2:3:4:5:6, TABLE t); Idle -> a -> Discard; Idle -> [1]a;
           Script(write t.insert 10.0.0.8 8:8:8:8:8:8);"],
        50,
        &["a.table", "t.table"],
        expect![[r#"
            a.table: 10.0.0.7 1 07-07-07-07-07-07 0.000000
            10.0.0.8 1 08-08-08-08-08-08 0.000000

            t.table: 10.0.0.7 1 07-07-07-07-07-07 0.000000
            10.0.0.8 1 08-08-08-08-08-08 0.000000

        "#]],
    );
}

#[test]
fn an_element_in_between_may_turn_from_push_to_pull() {
    check(
        "s :: RatedSource(RATE 10) -> c :: Counter -> q :: Queue -> u :: Unqueue -> d :: Discard;",
        &["s :: RatedSource(RATE 10) -> q :: Queue -> c :: Counter -> u :: Unqueue -> d :: Discard;"],
        500,
        &["s.count", "d.count", "c.ports"],
        expect![[r#"
            s.count: 33
            d.count: 33
            c.ports: 1 input
            pull~	-	q [0]
            1 output
            pull~	-	[0] u

        "#]],
    );
}

#[test]
fn names_that_are_defined_anew_reach_those_who_use_them() {
    check(
        "AddressInfo(me 10.0.0.1); InfiniteSource(LIMIT 1) -> e :: IPEncap(17, me, 10.0.0.2) -> Discard;",
        &["AddressInfo(me 10.0.0.9); Idle -> e :: IPEncap(17, me, 10.0.0.2) -> Discard;"],
        50,
        &["e.src"],
        expect![[r#"
            e.src: 10.0.0.9
        "#]],
    );
}

#[test]
fn what_goes_says_its_last_words_under_its_name() {
    check(
        "Idle -> p :: ICMPPingSource(10.0.0.1, 10.0.0.2, LIMIT 1) -> Discard;",
        &["Idle -> Discard;"],
        50,
        &[],
        expect![[r#"
            p :: ICMPPingSource: 1 packets transmitted, 0 received, 100% packet loss
        "#]],
    );
}

#[test]
fn every_change_is_remembered() {
    let mut round = 0;
    let mut numbers = Vec::new();
    library().run(simulated(), "Idle -> c :: Counter -> Discard", &[], |world| {
        round += 1;
        match round {
            1 => world.change_to("Idle -> c :: Counter -> d :: Counter -> Discard").expect("it is a graph"),
            3 => world.change_to("Idle -> Discard").expect("it is a graph"),
            5 => {
                numbers.extend(world.revisions().iter().map(|revision| {
                    (revision.number, revision.graph.elements.len(), revision.actions.len())
                }));
            }
            _ => {}
        }
        let _ = world.now_ns();
        round == 6
    });
    assert_eq!(numbers, [(0, 3, 0), (1, 4, 6), (2, 2, 8)]);
}

/// Passes packets on, and remembers how many came together at most since it was last asked.
struct Gauge;

static MOST: AtomicUsize = AtomicUsize::new(0);
static GAUGE: Class =
    Class::new::<Gauge>("Gauge", "1/1", "a/a", "x/x").lengthens(0).causes(Causes::NOTHING).stateless();

impl Element for Gauge {
    fn configure(conf: &mut Configure<'_>) -> Result<Gauge, Failed> {
        conf.finish()?;
        Ok(Gauge)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        MOST.fetch_max(batch.len(), Ordering::Relaxed);
        ctx.emit(0, batch);
    }
}

#[test]
fn a_source_that_stays_makes_packets_that_are_no_longer_than_before() {
    let graph = |more: &str| {
        format!(
            "s :: InfiniteSource(LENGTH 60) -> IPEncap(17, 1.1.1.1, 2.2.2.2) -> Gauge{more} -> IPFragmenter(200) -> Queue
             -> Unqueue -> Discard;"
        )
    };
    let classes = elements::FOLDERS.iter().map(|(_, classes)| *classes).chain([std::slice::from_ref(&GAUGE)]);
    let (mut round, mut most) = (0, Vec::new());
    Library::new(classes).run(BuildOptions::default(), &graph(""), &[], |world: &mut World| {
        round += 1;
        if round % 10 == 0 {
            most.push(MOST.swap(0, Ordering::Relaxed));
            let more = if round == 10 { " -> Counter" } else { "" };
            world.change_to(&graph(more)).unwrap();
        }
        round == 30
    });
    // No more fragments are reckoned with than before.
    assert!(most.iter().all(|n| *n > 1), "{most:?}");
}
