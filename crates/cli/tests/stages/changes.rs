//! Stages that are put into a running chain and taken out of it by commands.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;

use serde_json::Value;

use super::captures;
use super::process::{as_each_user, until, Finished, Place, Running};

/// The neighbour of a stage at one of its interfaces.
fn neighbour(stage: &Value, side: &str) -> Option<u64> {
    let interfaces = stage["interfaces"].as_array()?;
    interfaces.iter().find(|interface| interface["name"] == side)?["neighbour"].as_u64()
}

/// The numbers of a chain's stages from left to right, once all `n` know each other.
fn stages(place: &Place, n: usize) -> Vec<u64> {
    let mut ids = Vec::new();
    until(&format!("{n} stages are joined"), || {
        let all = place.status();
        let id = |stage: &Value| stage["id"].as_u64();
        ids = all.iter().filter(|stage| neighbour(stage, "left").is_none()).filter_map(id).collect();
        // The others have not met yet.
        ids.truncate(usize::from(ids.len() == 1));
        while let Some(next) = all
            .iter()
            .find(|stage| id(stage) == ids.last().copied())
            .and_then(|stage| neighbour(stage, "right"))
            .filter(|_| ids.len() < n)
        {
            ids.push(next);
        }
        all.len() == n && ids.len() == n
    });
    ids
}

/// Starts a chain of three stages that runs until it is stopped.
fn start(place: &Place) -> Running {
    place.output("[ -e feed ] || mkfifo feed");
    place.start("exec 3<>feed; weir print <&3 | weir count | weir write out.pcap")
}

/// Runs a script that must fail in a certain way.
#[track_caller]
fn fails(place: &Place, script: &str, code: i32, told: &str) -> Finished {
    let finished = place.run(script);
    assert_eq!(finished.code, code, "{finished:?}");
    assert!(finished.stderr.contains(told), "due is {told}: {finished:?}");
    finished
}

#[test]
fn a_new_stage_holds_nothing_of_the_command_that_put_it_there() {
    as_each_user(|place| {
        let mut chain = start(place);
        let ids = stages(place, 3);
        let id = place.output(&format!("x=$(weir insert --after {} count 2>&1); echo $x", ids[0]));
        let new: u64 = id.trim().parse().unwrap_or_else(|_| panic!("{id}"));
        assert_eq!(stages(place, 4), [ids[0], new, ids[1], ids[2]]);
        let group = place.output(&format!("ps -o pgid= -p {new}"));
        assert_eq!(group.trim(), new.to_string());
        let id = place.output(&format!("x=$(weir replace {new} print 2>&1); echo $x"));
        let newer: u64 = id.trim().parse().unwrap_or_else(|_| panic!("{id}"));
        assert_eq!(stages(place, 4), [ids[0], newer, ids[1], ids[2]]);
        assert_eq!(place.output(&format!("weir remove {newer} 2>&1")), "");
        assert_eq!(stages(place, 3), ids);
        assert!(chain.runs());
    });
}

#[test]
fn stages_of_subshells_and_wrappers_are_taken_out_at_once() {
    as_each_user(|place| {
        place.output("[ -e feed ] || mkfifo feed");
        // Each of the first two has a parent that keeps both pipes open for as long as it lives.
        let mut chain = place.start(
            "exec 3<>feed; timeout 600 weir count <&3 | (weir count; true) | weir count | weir write out.pcap",
        );
        let ids = stages(place, 4);
        for id in &ids[1..3] {
            let id = place.output(&format!("weir replace {id} count")).trim().to_string();
            place.output(&format!("weir remove {id}"));
        }
        assert_eq!(stages(place, 2), [ids[0], ids[3]]);
        assert!(chain.runs());
    });
}

#[test]
fn changes_at_once_are_made_one_after_the_other() {
    as_each_user(|place| {
        let mut packets = captures::header();
        (0..100).for_each(|n| captures::add_record(&mut packets, &captures::packet(1, n)));
        place.write("in.pcap", &packets);
        for round in 0..6 {
            place.output("[ -e feed ] || mkfifo feed");
            let chain = place.start(
                "exec 3<>feed; weir print <&3 | weir count | weir count | weir count | weir write out.pcap",
            );
            let ids = stages(place, 5);
            let [a, b, c] = [ids[1], ids[2], ids[3]];
            let (commands, due) = match round % 3 {
                // Neighbours, and one stage twice: one of both finds that it is gone.
                0 => (vec![format!("remove {a}"), format!("remove {b}"), format!("remove {b}")], (2, 3)),
                1 => {
                    let insert = format!("insert --after {a} count");
                    (vec![insert.clone(), insert, format!("insert --before {b} count")], (3, 8))
                }
                _ => {
                    (vec![format!("replace {b} count"), format!("remove {c}"), format!("remove {a}")], (3, 3))
                }
            };
            let begun: String =
                commands.iter().map(|command| format!("weir {command} 2>&1 & p=\"$p $!\"; ")).collect();
            let told =
                place.output(&format!("{begun} n=0; for p in $p; do wait $p && n=$((n+1)); done; echo $n"));
            let n_done = told.lines().last().and_then(|n| n.trim().parse().ok());
            assert_eq!((n_done, stages(place, due.1).len()), (Some(due.0), due.1), "{commands:?}: {told}");
            place.output("cat in.pcap > feed");
            until("all packets have come through", || place.read("out.pcap").len() == packets.len());
            drop(chain);
            until("the chain is gone", || place.status().is_empty());
        }
    });
}

#[test]
fn what_would_cut_a_chain_is_refused_and_the_chain_stays() {
    as_each_user(|place| {
        let mut chain = start(place);
        let ids = stages(place, 3);
        place.write("keep.pcap", "as it was");
        let at = format!("weir insert --after {}", ids[0]);
        fails(place, &format!("{at} write keep.pcap"), 2, "weir: insert: `write` is an end of a chain");
        fails(place, &format!("{at} port t0"), 2, "weir: insert: `port` is an end of a chain");
        let ending = "chain 'count | write keep.pcap'";
        fails(place, &format!("{at} {ending}"), 2, "weir: insert: `write` is an end of a chain");
        for several in ["count | cat", "count | linux -- true", "chain count"] {
            let due = "weir: insert: a chain of several processes has no place between stages";
            fails(place, &format!("{at} chain '{several}'"), 2, due);
        }
        fails(place, &format!("{at} linux"), 2, "weir: insert: `linux` without a command opens a shell");
        fails(
            place,
            &format!("{at} linux -- nosuch"),
            2,
            "weir: insert: linux: there is no program `nosuch`",
        );
        assert_eq!(place.read("keep.pcap"), b"as it was");
        fails(
            place,
            &format!("weir replace {} read keep.pcap", ids[1]),
            2,
            "weir: replace: `read` is an end",
        );
        let sink = "stage -e 'FromInterface(left) -> Discard'";
        fails(place, &format!("{at} {sink}"), 1, "`stage` has no pipe at its interface `right`");
        let file = "count --if 'right=- file:other.pcap'";
        fails(place, &format!("{at} {file}"), 2, "`count` has no pipe at its interface `right`");
        fails(place, &format!("{at} cat"), 2, "weir: insert: no stage `cat`; stages are stage, read, write");
        assert!(!std::path::Path::new(&place.path("other.pcap")).exists());
        let wrong = fails(place, &format!("{at} count --nonsense"), 2, "unexpected argument '--nonsense'");
        assert!(wrong.stderr.contains("Usage: weir count "), "{wrong:?}");
        assert_eq!(stages(place, 3), ids);
        assert!(chain.runs());
    });
}

#[test]
fn a_new_stage_that_gets_no_place_reports_nothing() {
    as_each_user(|place| {
        let _chain = start(place);
        let ids = stages(place, 3);
        // Another command, which keeps what is next to the first stage as it is.
        let socket = place.path(&format!("run/weir/stage-{}.sock", ids[0]));
        let mut other = UnixStream::connect(socket).expect("the stage listens");
        writeln!(other, "{{\"op\":\"hold\"}}").expect("it hears");
        BufReader::new(&other).read_line(&mut String::new()).expect("it answers");
        let insert = place.start(&format!("exec weir insert --after {} count", ids[0]));
        until("the new stage runs", || place.status().len() == 4);
        place.output(&format!("kill -KILL {}", ids[1]));
        drop(other);
        let finished = insert.finish();
        assert_eq!(finished.code, 1, "{finished:?}");
        assert!(finished.stderr.starts_with("weir: "), "{finished:?}");
        assert!(finished.stderr.contains("stage"), "{finished:?}");
        assert!(!finished.stderr.contains("packets"), "{finished:?}");
        assert_eq!(finished.stdout, "", "{finished:?}");
    });
}

#[test]
fn help_is_given_where_it_is_true() {
    as_each_user(|place| {
        let finished = fails(place, "weir remove 999999999", 1, "no stage 999999999 runs");
        assert!(!finished.stderr.contains("help: "), "{finished:?}");
        let _chain = start(place);
        let ids = stages(place, 3);
        let due = format!("help: stage {} is an end of its chain, which ends without it", ids[2]);
        fails(place, &format!("weir remove {}", ids[2]), 1, &due);
    });
}

#[test]
fn the_examples_of_help_change_a_chain() {
    as_each_user(|place| {
        let _chain = start(place);
        for command in ["insert", "replace", "remove"] {
            let help = place.output(&format!("weir {command} --help"));
            let (_, examples) = help.split_once("Examples:\n").expect("there are examples");
            for line in examples.lines().filter(|line| !line.starts_with("  #")) {
                let mut middle = String::new();
                until("there is a stage between others", || {
                    let all = place.status();
                    let inner = all.iter().find(|stage| {
                        neighbour(stage, "left").is_some() && neighbour(stage, "right").is_some()
                    });
                    middle = inner.map(|stage| stage["id"].to_string()).unwrap_or_default();
                    !middle.is_empty()
                });
                place.output(&line.replace("4711", &middle));
            }
        }
    });
}
