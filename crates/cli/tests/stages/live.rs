//! Graphs that are changed by commands while they run.

use serde_json::Value;

use super::process::{as_each_user, until, Place};

/// A graph with a source, a queue and a Script that tells what it hears.
const GRAPH: &str = "s :: RatedSource(RATE 1000) -> c :: Counter -> q :: Queue(500) -> u :: RatedUnqueue(900) -> d :: Discard; \
                     hook :: Script(TYPE PASSIVE, print >>heard $args);";

/// Runs [`GRAPH`] as `g`, commands of `weir live g`, and yields what they print.
fn with_graph(place: &Place, commands: &str) -> String {
    let mut graph = place.start(&format!("weir run --quiet --name g -e '{GRAPH}'"));
    until("the graph runs", || place.run("weir live g show").code == 0);
    let text = place.output(&format!("live() {{ weir live g \"$@\" 2>&1; }}\n{commands}"));
    assert!(graph.runs(), "{}", graph.stderr());
    text
}

#[test]
fn elements_come_go_and_change_by_commands() {
    as_each_user(|place| {
        let text = with_graph(
            place,
            "live add b Counter --between c q
             live set q capacity=2000
             live replace b 'avg :: AverageCounter'
             live rm avg --heal
             live bind d[3] q; live unbind c q; live bind c q
             weir handler --graph g read list",
        );
        let expected = "revision 1
  unbind c[0] [0]q
  add b :: Counter
  bind b[0] [0]q
  bind c[0] [0]b
revision 2
  set q (2000)
revision 3
  replace b :: Counter by avg :: AverageCounter
revision 4
  unbind avg[0] [0]q
  unbind c[0] [0]avg
  rm avg
  bind c[0] [0]q
weir: config:1:93: 'd :: Discard' has no output 3
  help: Discard allows this many outputs: 0
config:1:48: warning: 'q :: Queue' input 0 unused
config:1:32: warning: 'c :: Counter' output 0 unused
revision 5
  unbind c[0] [0]q
revision 6
  bind c[0] [0]q
6
s
c
q
u
d
hook
";
        assert_eq!(text, expected);
    });
}

#[test]
fn the_graph_that_runs_is_in_the_history_and_what_changes_nothing_is_not() {
    as_each_user(|place| {
        let text = with_graph(
            place,
            "live history --json; live set q capacity=2000 > /dev/null; live set q capacity=2000; live history --json
             live show --json",
        );
        let lines: Vec<&str> = text.lines().collect();
        let [begin, told, end, shown] = lines[..] else { panic!("{text}") };
        let [begin, end, shown] =
            [begin, end, shown].map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        assert_eq!(told, "nothing to change");
        assert_eq!((&begin[0]["revision"], &begin[0]["runs"]), (&Value::from(0), &Value::from(true)));
        // The second list is of the first graph, since it began, and of the one change.
        assert_eq!(begin[0]["since_ns"], end[0]["since_ns"]);
        assert_eq!((&end[1]["runs"], end.as_array().map(Vec::len)), (&Value::from(true), Some(2)));
        let shown = shown["configuration"].as_str().expect("it is text");
        assert!(shown.contains("q :: Queue(2000)"), "{shown}");
    });
}

#[test]
fn a_whole_configuration_is_planned_applied_and_taken_back() {
    as_each_user(|place| {
        place.write("next.click", "s :: RatedSource(RATE 1000) -> c :: Counter -> d :: Discard;");
        place.write("wrong.click", "s :: RatedSource(RATE none) -> x :: NoSuchClass;");
        let text = with_graph(
            place,
            "live --dry-run apply next.click; live history | cut -c 1-3
             live apply wrong.click && exit 1; live apply /dev/null && exit 1; live apply -e '// none' && exit 1; live history | cut -c 1-3
             live apply next.click | head -n 1; weir handler --graph g read list | head -n 1
             live rollback 0 | head -n 1; weir handler --graph g read list | head -n 1
             live rollback 9; live --json history",
        );
        let (told, json) = text.trim_end().rsplit_once('\n').expect("there are several lines");
        let expected = "would be done:
  unbind c[0] [0]q
  unbind q[0] [0]u
  unbind u[0] [0]d
  rm q
  rm u
  rm hook
  bind c[0] [0]d
* 0
weir: wrong.click:1:37: unknown element class 'NoSuchClass'
weir: /dev/null: there are no elements in it, and none would be left; `weir live GRAPH rm NAME` takes away one
weir: config: there are no elements in it, and none would be left; `weir live GRAPH rm NAME` takes away one
* 0
revision 1
3
revision 2
6
weir: there is no revision 9; `weir live GRAPH history` lists them";
        let told: Vec<&str> = told.lines().filter(|line| !line.starts_with("  help")).collect();
        assert_eq!(told.join("\n"), expected);
        let history: Value = serde_json::from_str(json).expect("it is JSON");
        let titles: Vec<&str> = history
            .as_array()
            .expect("it is a list")
            .iter()
            .filter_map(|one| one["title"].as_str())
            .collect();
        assert_eq!(titles, ["start", "apply next.click", "rollback 0"]);
    });
}

#[test]
fn subscribers_hear_of_each_step() {
    as_each_user(|place| {
        with_graph(
            place,
            "live subscribe hook.run b; live add a 'Queue(5)'; live add b Null; live set a capacity=7; live rm b
             live unsubscribe hook.run b; live add b Null; live subscribe nobody.run && exit 1; live unsubscribe hook.run && exit 1; true",
        );
        assert_eq!(String::from_utf8_lossy(&place.read("heard")), "add b :: Null\nrm b\n");
    });
}

#[test]
fn subscribers_of_either_element_hear_that_one_takes_the_place_of_the_other() {
    as_each_user(|place| {
        let text = with_graph(
            place,
            "live add a 'Queue(5)'; live subscribe hook.run a; live subscribe hook.run d
             live replace a 'e :: Queue(6)'; live replace e 'Queue(7)'; live subscribe hook.run e; live replace e Counter; live replace e Counter
             live apply -e 's :: RatedSource(RATE 1000) -> c :: Queue(500) -> u :: RatedUnqueue(900) -> d :: Discard;
                            hook :: Script(TYPE PASSIVE, print >>heard $args)'",
        );
        let heard = String::from_utf8(place.read("heard")).expect("it is text");
        let expected = "replace a :: Queue(5) by e :: Queue(6)
replace e :: Queue(7) by e :: Counter
rm e
";
        assert_eq!(heard, expected);
        assert!(text.contains("\n  replace c :: Counter by c :: Queue(500)\n"), "{text}");
    });
}

#[test]
fn nothing_is_lost_or_disordered_by_changes_under_load() {
    as_each_user(|place| {
        for (n, layout) in [(400, ""), (100, "--threads 2"), (100, "--threads 3"), (100, "--cores 2")] {
            let report = place.output(&format!("weir bench --changes {n} {layout} --json"));
            let report: Value = serde_json::from_str(&report).expect("it is JSON");
            let row = &report["rows"][0];
            assert_eq!(
                (&row["changes"], &row["lost"], &row["out_of_order"]),
                (&n.into(), &0.into(), &0.into()),
                "{layout}: {row}"
            );
            assert!(row["packets"].as_u64().is_some_and(|n| n > 1000), "{layout}: {row}");
        }
    });
}

#[test]
fn a_graph_on_several_threads_changes_as_one() {
    as_each_user(|place| {
        let mut graph = place.start(
            "weir run --quiet --threads 2 --name g -e 's :: RatedSource(RATE 1000) -> c :: Counter -> q :: Queue(500)
                 -> u :: Unqueue -> d :: Counter -> Discard; StaticThreadSched(u 1)'",
        );
        until("the graph runs", || place.run("weir live g show").code == 0);
        let text = place.output(
            "live() { weir live g \"$@\" 2>&1 | grep -e '^rev' -e '^weir'; }
             value() { weir handler --graph g read \"$1\"; }
             live add b Counter --between u d; live add a Counter --between s c
             until [ \"$(value b.count)\" -gt 0 ] && [ \"$(value a.count)\" -gt 0 ]; do :; done
             live add bad 'ToDump(/nowhere/at/all)' --between c q
             live set q capacity=2000; value q.capacity
             live replace q 'r :: ThreadSafeQueue(700)'; value r.capacity
             live add v Unqueue --between r u
             live add p Queue --between b d; value u.home_thread
             before=$(value d.count); until [ \"$(value d.count)\" -gt \"$before\" ]; do :; done; value r.drops; value p.drops
             live rollback 0; value list; value u.home_thread",
        );
        // The queue `p` is pulled by what is behind it, to which nobody gave a thread.
        let expected = "revision 1
revision 2
weir: bad:1:1: While initializing 'bad :: ToDump': /nowhere/at/all: No such file or directory
revision 3
2000
revision 4
700
weir: 'v :: Unqueue' push output 0 connected to 'u :: Unqueue' pull input 0
revision 5
1
0
0
revision 6
7
s
c
u
d
Discard@6
StaticThreadSched@7
q
1
";
        assert_eq!(text, expected);
        assert!(graph.runs(), "{}", graph.stderr());
    });
}

#[test]
fn all_replicas_of_a_graph_change_at_once() {
    as_each_user(|place| {
        let mut graph = place.start(
            "weir run --quiet --cores 2 --name g -e 's :: RatedSource(RATE 1000) -> c :: Counter
                 -> t :: ToDump(one.pcap, UNBUFFERED true); Idle -> x :: Counter -> Discard'",
        );
        until("the graph runs", || place.run("weir live g show").code == 0);
        // The user need not reach the folder that it lies in.
        let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/lan.pcap");
        place.write("lan.pcap", std::fs::read(capture).expect("the capture is there"));
        let text = place.output(
            "live() { weir live g \"$@\" 2>&1 | grep -e '^rev' -e '^weir' -e 'Dump(' | grep -v warning; }
             value() { weir handler --graph g read \"$1\"; }
             until_more() { until [ \"$(value $1)\" -gt $2 ]; do :; done; }
             live add b Counter --between c t; until_more b.count 20
             live add bad 'ToDump(/nowhere/at/all)' --between c b
             live replace t 'u :: ToDump(two.pcap, UNBUFFERED true)'; until_more u.count 20; until_more b.count 100
             live add w 'Script(TYPE PASSIVE, return 7)'; value w.run; live rm w
             live add f 'FromDump(lan.pcap, ACTIVE false)'; live bind f x; live show
             weir handler --graph g write f.active true; until_more x.count 798; value x.count
             live rollback 0; value list"
        );
        let expected = "revision 1
weir: bad:1:1: While initializing 'bad :: ToDump': /nowhere/at/all: No such file or directory
revision 2
  replace t :: ToDump(one.pcap, UNBUFFERED true) by u :: ToDump(two.pcap, UNBUFFERED true)
revision 3
7
revision 4
revision 5
  add f :: FromDump(lan.pcap, ACTIVE false)
revision 6
u :: ToDump(two.pcap, UNBUFFERED true);
f :: FromDump(lan.pcap, ACTIVE false);
799
revision 7
  add t :: ToDump(one.pcap, UNBUFFERED true)
6
s
c
Idle@4
x
Discard@6
t
";
        assert_eq!(text, expected);
        assert!(graph.runs(), "{}", graph.stderr());
    });
}

#[test]
fn a_handler_takes_another_configuration_where_that_is_allowed() {
    as_each_user(|place| {
        for layout in ["", "--threads 2", "--cores 2"] {
            let graph = place.start(&format!(
                "weir run -R --quiet {layout} --name g -e 's :: RatedSource(RATE 1000) -> q :: Queue -> u :: Unqueue
                     -> d :: Counter -> Discard; StaticThreadSched(u 1)'"
            ));
            until("the graph runs", || place.run("weir live g show").code == 0);
            let text = place.output(
                "value() { weir handler --graph g \"$@\" 2>&1; }
                 value write hotconfig 's :: RatedSource(RATE 1000) -> x :: Counter -> q :: Queue -> u :: Unqueue
                     -> d :: Counter -> Discard; StaticThreadSched(u 1)'
                 until [ \"$(value read x.count)\" -gt 10 ]; do :; done 2>/dev/null
                 value write hotconfig 's :: Source'
                 value read list; weir live g history | cut -d ' ' -f 1-3 | head -n 2 | wc -l; value write stop",
            );
            let told: Vec<&str> = text.lines().collect();
            assert!(told[0].contains("unknown element class 'Source'"), "{layout}: {text}");
            let told = told[told.len() - 8..].join(" ");
            assert_eq!(told, "s q u d x Discard@6 StaticThreadSched@7 2", "{layout}: {text}");
            assert_eq!(graph.finish().code, 0);
        }
    });
}

#[test]
fn connections_live_through_every_change() {
    as_each_user(|place| {
        place.write("page", (0..20_000_000u32).map(|n| (n % 251) as u8).collect::<Vec<u8>>());
        place.write(
            "wire.click",
            "FromInterface(left) -> a :: Counter -> ToInterface(right); \
                                   FromInterface(right) -> b :: Counter -> ToInterface(left);",
        );
        place.write(
            "client.sh",
            "until curl -sf --limit-rate 8M -o got http://10.0.0.1:8000/page; do sleep 0.05; done; cmp page got && touch same",
        );
        let mut chain = place.start_with_taps(
            "weir linux --right 10.0.0.1/24 -- python3 -m http.server 8000 2>/dev/null \
             | weir stage wire.click \
             | weir linux --left 10.0.0.2/24 --while-running -- sh client.sh",
        );
        until("the page begins to come", || {
            std::fs::metadata(place.path("got")).is_ok_and(|got| got.len() > 0)
        });
        let is_middle =
            |stage: &Value| stage["function"].as_str().is_some_and(|text| text.contains("wire.click"));
        let id = place.status().iter().find(|stage| is_middle(stage)).and_then(|stage| stage["id"].as_u64());
        let id = id.expect("the stage in the middle tells of itself");
        let mut n_changes = 0;
        while chain.runs() {
            let script = format!(
                "weir live {id} add n 'Paint(1)' --between a ToInterface@3 && weir live {id} replace n AverageCounter \
                 && weir live {id} rm n --heal"
            );
            n_changes += usize::from(place.run(&script).code == 0);
        }
        let finished = chain.finish();
        assert!(finished.code == 0 && std::path::Path::new(&place.path("same")).exists(), "{finished:?}");
        assert!(n_changes > 3, "{n_changes} changes");
    });
}

#[test]
fn an_output_that_is_taken_away_holds_up_nothing() {
    as_each_user(|place| {
        place.command("mkfifo").arg("aux").status().expect("mkfifo runs");
        let graph = "FromInterface(left) -> t :: Tee(2); t[0] -> c :: Counter -> ToInterface(right); \
                     t[1] -> a :: ToInterface(aux);";
        // Nobody reads `aux`.
        let mut chain = place.start(&format!(
            "exec 3<>aux; weir stage --plain -e 'InfiniteSource(LENGTH 1000) -> ToInterface(right)' \
             | weir stage --plain --if aux=fifo:aux -e '{graph}' | cat > /dev/null"
        ));
        let mut id = None;
        until("the stage runs", || {
            let status = place.status();
            let has_three = |stage: &&Value| stage["interfaces"].as_array().is_some_and(|all| all.len() == 3);
            id = status.iter().find(has_three).and_then(|stage| stage["id"].as_u64());
            id.is_some()
        });
        let graph = format!("stage-{}", id.expect("it was found"));
        let count = || -> u64 {
            let text = place.output(&format!("weir handler --graph {graph} read c.count"));
            text.trim().parse().expect("it is a number")
        };
        let mut last = Vec::new();
        until("all wait for `aux`", || {
            last.push(count());
            last.len() > 10
                && last.last() > Some(&0)
                && last.iter().rev().take(10).all(|n| Some(n) == last.last())
        });
        place.output(&format!("weir live {graph} replace a Discard"));
        let before = count();
        until("packets flow again", || count() > before + 5000);
        assert!(chain.runs(), "{}", chain.stderr());
    });
}
