//! Events: the same facts for streams, hooks and elements.

use serde_json::Value;

use super::process::{as_each_user, until, Place, Running};
use super::{start, told};

/// Writes a hook of the user's.
fn hook(place: &Place, name: &str, script: &str) {
    place.command("mkdir").args(["-p", "hooks"]).status().unwrap();
    place.write(&format!("hooks/{name}"), format!("#!/bin/sh\n{script}\n"));
    place.command("chmod").args(["755", &format!("hooks/{name}")]).status().unwrap();
}

/// The lines that a program has printed, each JSON.
fn json(running: &Running) -> Vec<Value> {
    let text = running.stdout();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A graph whose queue is filled and emptied by a handler, as `g`, with hooks and a Script that tells what it hears.
const GRAPH: &str =
    "s :: RatedSource(RATE 100000, LIMIT 0) -> q :: Queue(500) -> u :: Unqueue(ACTIVE false) -> Discard; \
                     hook :: Script(TYPE PASSIVE, print >>heard $args);";

#[test]
fn values_that_cross_thresholds_are_told_to_elements_streams_and_hooks() {
    as_each_user(|place| {
        hook(
            place,
            "threshold-crossed",
            "cat >> crossed; echo \"$WEIR_GRAPH $WEIR_NAME $WEIR_CROSSING $WEIR_VALUE\"",
        );
        hook(place, "graph-changed", "cat >> changed; exit 7");
        let graph = place.start(&format!("exec weir run --name g --hooks hooks -e '{GRAPH}'"));
        until("the graph runs", || place.run("weir live g show").code == 0);
        let stream = place.start("exec weir live g --json events");
        until("the stream has begun", || {
            place.output("weir live g add x Null; weir live g rm x");
            !json(&stream).is_empty()
        });
        let text = place.output(
            "live() { weir live g \"$@\" 2>&1; }
             live subscribe hook.run q; live subscribe hook.run s
             live watch full q.length --rising 100 --falling 10 --every 10ms
             live watch full q.length --rising 10 --falling 10 --every 10ms || live watch - q.nothing --rising 1 || :
             weir handler -g g write s.limit 200; weir handler -g g write s.active true
             while ! live watches | grep -q 'rising at'; do sleep 0.01; done
             weir handler -g g write u.active true
             while ! live watches | grep -q 'falling at'; do sleep 0.01; done
             live unwatch full; live watches; live unwatch full || :",
        );
        assert!(
            text.starts_with("weir: the falling bound 10 must be below the rising one 10\nweir: "),
            "{text}"
        );
        assert!(
            text.ends_with("weir: no watch `full`; there is none; `weir live GRAPH watch` makes one\n"),
            "{text}"
        );
        let crossings = || -> Vec<Value> {
            json(&stream).into_iter().filter(|event| event["event"] == "threshold-crossed").collect()
        };
        until("both events are told", || crossings().len() == 2);
        until("both hooks ran", || graph.stderr().contains("hook threshold-crossed: g full falling "));
        let events = crossings();
        let (rising, falling) = (&events[0], &events[1]);
        for (event, crossing, bound) in [(rising, "rising", "100"), (falling, "falling", "10")] {
            let facts =
                [&event["name"], &event["source"], &event["crossing"], &event["bound"], &event["element"][0]];
            assert_eq!(facts.map(|fact| fact.as_str().unwrap()), ["full", "q.length", crossing, bound, "q"]);
        }
        // The very same for hooks and elements.
        let crossed = String::from_utf8(place.read("crossed")).unwrap();
        let crossed: Vec<Value> = crossed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(crossed, [rising.clone(), falling.clone()]);
        let value = |event: &Value| event["value"].as_str().unwrap().to_string();
        let heard = String::from_utf8(place.read("heard")).unwrap();
        assert_eq!(
            heard,
            format!("rising full q.length {}\nfalling full q.length {}\n", value(rising), value(falling))
        );
        let log = graph.stderr();
        assert!(
            log.contains(&format!("weir: hook threshold-crossed: g full rising {}\n", value(rising))),
            "{log}"
        );
        assert!(log.contains("weir: hook graph-changed: it failed with status 7\n"), "{log}");
        // The stream may have begun between the two.
        let changed = &json(&stream)[0];
        let plans = [serde_json::json!(["add x :: Null"]), serde_json::json!(["rm x"])];
        assert!(changed["event"] == "graph-changed" && plans.contains(&changed["plan"]), "{changed}");
        drop(graph);
    });
}

/// The pairs of elements that events tell were replaced, as the lines of JSON that hold them.
fn replaced(lines: &[Value], at: &str) -> Vec<Value> {
    lines.iter().filter_map(|line| line.pointer(at)?.get("replaced").cloned()).collect()
}

#[test]
fn what_is_replaced_is_told_to_elements_streams_hooks_and_clients_of_the_api() {
    as_each_user(|place| {
        hook(place, "graph-changed", "cat >> changed");
        let graph = place.start(&format!("exec weir run --name g --hooks hooks -e '{GRAPH}'"));
        let daemon = start(place);
        until("the graph runs", || place.run("weir live g show").code == 0);
        let streams = [
            ("", place.start("exec weir live g --json events")),
            (
                "/ietf-restconf:notification/weir:graph-changed",
                place.start("WEIR_SOCKET=api.socket exec weir events --json"),
            ),
            ("", place.start("exec weir live weir --json events")),
        ];
        let words = place.start("exec weir live g events");
        until("all streams have begun", || {
            place.output("for g in g weir; do weir live $g add x Null; weir live $g rm x; done");
            streams.iter().all(|(_, stream)| !json(stream).is_empty()) && !words.stdout().is_empty()
        });
        let text = place.output(
            "weir live g subscribe hook.run
             weir live g --dry-run replace q 'q2 :: SimpleQueue(70)'
             weir live g replace q 'q2 :: SimpleQueue(70)'
             weir live weir add x 'Counter'; weir live weir replace x 'Paint(5)' | tail -n 1",
        );
        let step = "replace q :: Queue(500) by q2 :: SimpleQueue(70)";
        assert!(text.starts_with(&format!("would be done:\n  {step}\n")), "{text}");
        assert!(text.ends_with("  replace x :: Counter by x :: Paint(5)\n"), "{text}");
        let pair = |old: [&str; 3], new: [&str; 3]| {
            serde_json::json!([{
                "element": old[0], "class": old[1], "config": old[2],
                "new-element": new[0], "new-class": new[1], "new-config": new[2],
            }])
        };
        let of_graph = pair(["q", "Queue", "500"], ["q2", "SimpleQueue", "70"]);
        let of_daemon = pair(["x", "Counter", ""], ["x", "Paint", "5"]);
        for ((at, stream), expected) in streams.iter().zip([&of_graph, &of_daemon, &of_daemon]) {
            until("it is told", || replaced(&json(stream), at) == [expected.clone()]);
        }
        until("the hook ran", || {
            let read = String::from_utf8(place.read("changed")).unwrap_or_default();
            let lines = read.lines().filter_map(|line| serde_json::from_str(line).ok());
            replaced(&lines.collect::<Vec<_>>(), "") == [of_graph.clone()]
        });
        assert_eq!(String::from_utf8(place.read("heard")).unwrap(), format!("{step}\n"));
        until("it is told in words", || {
            let told = words.stdout();
            told.contains("; q (Queue) is replaced by q2 (SimpleQueue)\n")
                && told.contains(&format!("\n  {step}\n"))
        });
        drop((streams, words, graph, daemon));
    });
}

#[test]
fn what_follows_ends_with_who_reads_it_though_nothing_happens() {
    as_each_user(|place| {
        let _graph = place.start("exec weir run --name g -e 'Idle -> c :: Counter -> Discard'");
        let _daemon = start(place);
        until("the graph runs", || place.run("weir live g show").code == 0);
        for command in ["live g events", "trace --graph g", "tap --graph g c", "events"] {
            let script = format!("export WEIR_SOCKET=api.socket; timeout 60 sh -c 'weir {command} | true'");
            assert_eq!(place.run(&script).code, 0, "{command} goes on");
        }
    });
}

#[test]
fn thresholds_of_the_daemon_are_checked_kept_and_visible() {
    as_each_user(|place| {
        let daemon = start(place);
        let events = place.start("WEIR_SOCKET=api.socket exec weir events");
        let text = told(
            place,
            "weir create firewall fw
             weir watch none fw mtu || echo refused
             weir watch a fw nothing --rising 1 || :
             weir watch a fw rule --rising 1 || :
             weir watch a fw mtu --rising 5 --falling 6 || :
             weir watch a /firewall:firewall=other/mtu --rising 5 || :
             while ! grep -q netconf-config-change stdout.* ; do weir set fw default=allow; weir set fw default=deny; done
             weir watch big fw mtu --rising 2000 --falling 1000 --every 20ms
             weir set fw mtu=1500; weir set fw mtu=2500
             while ! weir watches | grep -q 'rising at'; do sleep 0.01; done
             weir set fw mtu=900
             while ! weir watches | grep -q 'falling at'; do sleep 0.01; done
             weir watches | sed 's/ at .*//'",
        );
        let told_of: Vec<&str> =
            text.lines().filter(|line| !line.starts_with("  ") && !line.contains("--")).collect();
        let tail = &told_of[told_of.len() - 5..];
        assert!(tail[0].starts_with("weir: `firewall` has no `nothing`; "), "{text}");
        assert_eq!(
            tail[1],
            "weir: watch `a`: `/firewall:firewall=fw/rule` is no leaf whose value is a number; \
             `weir show INSTANCE` shows which there are"
        );
        assert_eq!(tail[2], "weir: watch `a`: the falling bound must be below the rising one");
        assert!(tail[3].contains("there is no instance `other`"), "{text}");
        assert_eq!(
            tail[4],
            "big  /firewall:firewall=fw/mtu rising 2000 falling 1000 every 0.02 s: 900 (falling"
        );
        until("the events are told", || events.stdout().matches("threshold-crossed").count() == 2);
        let lines = events.stdout();
        let lines: Vec<&str> = lines
            .lines()
            .filter_map(|line| line.split_once("threshold-crossed  "))
            .map(|(_, rest)| rest)
            .collect();
        assert_eq!(
            lines,
            [
                "big rising: /firewall:firewall=fw/mtu is 2500 (bound 2000)",
                "big falling: /firewall:firewall=fw/mtu is 900 (bound 1000)"
            ]
        );
        drop((events, daemon));
        // After a restart it is looked at again; what is deleted takes its watches along.
        let daemon = start(place);
        let text = told(
            place,
            "while ! weir watches | grep -q ': 900$'; do sleep 0.01; done
             weir watch ports /weir:topology/port=fw,left/rx-packets --rising 1
             weir delete fw; weir watches; weir show",
        );
        assert_eq!(text, "INSTANCE  FUNCTION  PORTS\n");
        drop(daemon);
    });
}

/// A device in a namespace of its own goes down, up and away under the daemon and under a graph.
#[test]
fn ports_that_go_up_down_and_away_are_told_to_streams_and_hooks() {
    let place = Place::new(super::process::users()[0]);
    // An ordinary user is root in a namespace.
    let namespace = if rustix::process::geteuid().is_root() { "-n" } else { "-rn" };
    let word = "echo $WEIR_EVENT $WEIR_DEVICE $WEIR_REASON $WEIR_PORT >> hooked";
    hook(&place, "port-up", word);
    hook(&place, "port-down", word);
    let script = r#"
set -eu
exec 2>&1
export WEIR_SOCKET=api.socket
ip link add e0 type veth peer name e1
ip link set e0 up; ip link set e1 up
await() { until grep -q "$1" "$2" 2>/dev/null; do sleep 0.01; done; }
weir run --quiet --name g --hooks hooks -e 'in :: FromDevice(e0) -> Queue -> out :: ToDevice(e0)' & graph=$!
weir serve --volatile --socket api.socket --hooks hooks --log warn & daemon=$!
trap 'kill -9 $daemon $graph $streams 2>/dev/null || :' EXIT
streams=
while ! weir show >/dev/null 2>&1 || ! weir live g show >/dev/null 2>&1; do sleep 0.01; done
weir events --json > of-daemon & streams="$streams $!"
weir live g --json events > of-graph & streams="$streams $!"
until grep -q . of-daemon 2>/dev/null; do weir create firewall fw 2>/dev/null || :; weir delete fw 2>/dev/null || :; done
until grep -q . of-graph; do weir live g add x Null; weir live g rm x; done >/dev/null
weir create firewall fw 2>/dev/null || :
weir connect fw:left dev:e0
weir connect fw:right tap:t0
await '"weir:port-up".*t0' of-daemon
ip link set e0 down
await '"port-down".*down' of-graph
ip link set e0 up
await '"port-up"' of-graph
ip link set e1 down
await 'no-carrier' of-graph
ip link del e0
await gone of-graph; await gone of-daemon
until [ $(grep -c 'port-down e0 gone' hooked) = 2 ]; do sleep 0.01; done
weir disconnect fw:right
weir connect fw:right tap:t1
await '"weir:port-up".*t1' of-daemon
ip link del t1
await '"weir:port-down".*t1.*gone' of-daemon
until weir topology | grep -qx 'fw:right - tap:t1 (gone)'; do sleep 0.01; done
jq -c 'select(.event | startswith("port")) | del(.time)' of-graph
jq -c '."ietf-restconf:notification" | del(.eventTime) | select(has("weir:port-up") or has("weir:port-down"))' of-daemon
grep -v 'fw:' hooked"#;
    let text =
        place.output(&format!("exec unshare {namespace} bash -c \"$(cat <<'SCRIPT'\n{script}\nSCRIPT\n)\""));
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with('{') || line.starts_with("port-")).collect();
    let of_graph: Vec<&&str> = lines.iter().filter(|line| line.starts_with("{\"event\"")).collect();
    assert_eq!(
        of_graph,
        [
            &r#"{"event":"port-down","device":"e0","reason":"down","element":["in","out"]}"#,
            &r#"{"event":"port-up","device":"e0","element":["in","out"]}"#,
            &r#"{"event":"port-down","device":"e0","reason":"no-carrier","element":["in","out"]}"#,
            &r#"{"event":"port-down","device":"e0","reason":"gone","element":["in","out"]}"#,
        ],
        "{text}"
    );
    let of_daemon: Vec<&&str> = lines.iter().filter(|line| line.starts_with("{\"weir:")).collect();
    for expected in [
        r#"{"weir:port-up":{"device":"t0","port":"fw:right","element":["_tap_t0"]}}"#,
        r#"{"weir:port-up":{"device":"e0","port":"fw:left","element":["_from_dev_e0","_to_dev_e0"]}}"#,
        r#"{"weir:port-down":{"device":"e0","reason":"down","port":"fw:left","element":["_from_dev_e0","_to_dev_e0"]}}"#,
        r#"{"weir:port-down":{"device":"e0","reason":"gone","port":"fw:left","element":["_from_dev_e0","_to_dev_e0"]}}"#,
    ] {
        assert!(of_daemon.iter().any(|line| **line == expected), "{expected}\n{text}");
    }
    // It went because it was no longer wanted.
    assert!(!of_daemon.iter().any(|line| line.contains(r#""port-down":{"device":"t0""#)), "{text}");
    let hooked: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("port-")).collect();
    assert_eq!(
        hooked,
        ["port-up e0", "port-down e0 down", "port-up e0", "port-down e0 no-carrier", "port-down e0 gone"],
        "{text}"
    );
}

#[test]
fn streams_end_with_what_tells_them_and_break_off_when_that_is_killed() {
    as_each_user(|place| {
        let text = told(
            place,
            r#"stir() { weir create firewall fw; weir delete fw; weir live g add x Null; weir live g rm x; }
               for signal in TERM KILL; do
                   weir run --quiet --name g -e 'InfiniteSource(ACTIVE false) -> Discard' & graph=$!
                   weir serve --volatile --socket api.socket --log off & daemon=$!
                   while ! weir show || ! weir live g show; do sleep 0.01; done >/dev/null 2>&1
                   weir events > events 2> errors & events=$!
                   weir live g events > live 2> live-errors & live=$!
                   weir trace -g g > trace 2> trace-errors & trace=$!
                   weir tap -g g InfiniteSource@1 --output tap 2> tap-errors & tap=$!
                   until grep -q . events && grep -q . live && [ -s tap ]; do stir; done >/dev/null 2>&1
                   kill -$signal $graph $daemon
                   { wait $graph; wait $daemon; } 2>/dev/null || :
                   for one in $events $live $trace $tap; do wait $one || echo $?; done
                   cat errors live-errors trace-errors tap-errors
               done"#,
        );
        let expected = "1\n1\n1\n1\n\
            weir: api.socket: the events broke off: the daemon was killed or has crashed, or they were not read in time\n\
            weir: the events broke off: the graph was killed, has crashed, or ended before all was read\n\
            weir: the trace broke off: the graph was killed, has crashed, or ended before all was read\n\
            weir: the tap broke off: the graph was killed, has crashed, or ended before all was read\n";
        assert_eq!(text, expected);
    });
}

#[test]
fn hooks_that_hang_hold_up_neither_packets_nor_the_api_nor_the_end() {
    as_each_user(|place| {
        hook(place, "netconf-config-change", "echo $$ >> pids; echo begins; exec sleep 1000");
        hook(place, "function-changed", "echo not reached");
        let mut daemon =
            place.start("exec weir serve --volatile --socket api.socket --hooks hooks --hook-timeout 200ms");
        super::await_answer(place, &mut daemon);
        told(place, "weir create firewall fw; weir set fw mtu=1400; weir set fw mtu=1300; weir show fw mtu");
        until("they are killed", || {
            daemon.stderr().matches("killed: it did not end within 0.2 s").count() == 3
        });
        assert_eq!(daemon.stderr().matches("hook netconf-config-change: begins").count(), 3);
        drop(daemon);

        // At the end, weir does not wait for ever.
        let mut daemon =
            place.start("exec weir serve --volatile --socket api.socket --hooks hooks --hook-timeout 1h");
        super::await_answer(place, &mut daemon);
        told(place, "weir create firewall fw");
        until("it runs", || daemon.stderr().contains("begins"));
        place.command("kill").arg(daemon.id().to_string()).status().unwrap();
        until("the daemon ends", || !daemon.runs());
        assert!(daemon.stderr().contains("killed: weir ends"), "{}", daemon.stderr());
        let pids = String::from_utf8(place.read("pids")).unwrap();
        assert_eq!(pids.lines().count(), 4);
        until("no hook is left", || {
            pids.lines().all(|pid| !std::path::Path::new(&format!("/proc/{pid}/exe")).exists())
        });
    });
}

#[test]
fn folders_of_hooks_that_cannot_be_are_told() {
    as_each_user(|place| {
        for command in ["weir serve --volatile --socket x", "weir run -e 'Idle -> Discard'"] {
            let run = place.run(&format!("{command} --hooks missing"));
            assert_eq!(
                (run.code, run.stderr.as_str()),
                (1, "weir: --hooks missing: No such file or directory\n")
            );
            assert_ne!(place.run(&format!("{command} --hook-timeout 1s")).code, 0);
        }
    });
}
