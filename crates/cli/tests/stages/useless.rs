//! Streams and graphs that no packet can come through: they are told of, and nothing waits for ever.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::captures;
use super::process::{as_each_user, until, Place};

fn capture(place: &Place, n: u64) {
    let mut bytes = captures::header();
    (0..n).for_each(|idx| captures::add_record(&mut bytes, &captures::packet(7, idx)));
    place.write("in.pcap", bytes);
}

/// Runs a script that must end by itself with a status, and tell so.
#[track_caller]
fn ends(place: &Place, script: &str, code: i32, due: &str) {
    let finished = place.run(&format!("timeout 50 bash -c \"{script}\""));
    assert_eq!(finished.code, code, "{finished:?}");
    assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
}

#[test]
fn a_graph_to_which_nothing_can_ever_come_is_refused() {
    as_each_user(|place| {
        capture(place, 3);
        let due = "weir: nothing can ever come: the graph has no source";
        for script in [
            "weir stage --if left=stdout -e 'FromInterface(left) -> Discard' < in.pcap > out",
            "weir stage --if 'left=- file:out' -e 'FromInterface(left) -> Discard' < in.pcap",
            "weir stage -e '' < in.pcap > out",
            "weir stage -e 'Idle -> Discard' < in.pcap > out",
            "cat in.pcap | weir stage -e '' | cat; exit \\${PIPESTATUS[1]}",
        ] {
            ends(place, script, 1, due);
        }
        let own = "weir: count: nothing can ever come: packets come in by none of its interfaces";
        ends(place, "weir count --if left=stdout < in.pcap > out", 1, own);
        for graph in ["", "Idle -> Discard"] {
            let chain = format!("weir chain 'read in.pcap | stage -e \\\"{graph}\\\" | write out'");
            ends(place, &chain, 1, "nothing can ever come: the graph has no source");
        }
        // Others that read nothing have something to do.
        for script in [
            "weir stage -e 'InfiniteSource(LIMIT 5, STOP true) -> ToInterface(right)' > out",
            "weir stage -e 'Script(wait 0.1, stop)' > out",
            "weir read in.pcap | weir stage --if left=stdout --if right=stdin -e \
             'FromInterface(right) -> ToInterface(left)' > out",
            "weir linux --while-running -- true",
        ] {
            ends(place, script, 0, "");
        }
    });
}

#[test]
fn a_standard_stream_that_is_closed_is_told() {
    as_each_user(|place| {
        capture(place, 3);
        ends(
            place,
            "weir read in.pcap >&-",
            1,
            "weir: read: standard output is closed: give packets to a pipe",
        );
        ends(place, "weir count <&- > out", 1, "standard input is closed: give packets by a pipe");
        // Nobody misses what is not used.
        ends(place, "weir read in.pcap <&- > out; cmp in.pcap out", 0, "");
        ends(place, "weir write out < in.pcap >&-; cmp in.pcap out", 0, "");
    });
}

#[test]
fn what_is_printed_onto_a_full_disk_fails_the_stage() {
    as_each_user(|place| {
        capture(place, 3);
        for stage in ["weir print", "weir count", "weir hex"] {
            let finished = place.run(&format!("{stage} < in.pcap > out 2> /dev/full"));
            assert_eq!(finished.code, 1, "{finished:?}");
            place.output("cmp in.pcap out");
        }
    });
}

#[test]
fn a_stage_that_waits_at_a_socket_is_seen_and_leaves_no_socket() {
    as_each_user(|place| {
        capture(place, 40);
        for (signal, script) in
            [("TERM", "weir count --if left=unix:s > out"), ("INT", "weir count --if right=unix:s < in.pcap")]
        {
            let running = place.start(&format!("exec {script}"));
            until("it is seen", || {
                let seen = place.status();
                seen.iter().any(|stage| stage["interfaces"].to_string().contains("socket"))
            });
            place.output(&format!("test -S s; kill -{signal} {}", running.child.id()));
            assert_eq!(running.finish().code, 0, "{script}");
            assert!(!std::path::Path::new(&place.path("s")).exists(), "{script}");
        }
        // Nobody who comes late misses anything, be it only the end.
        let late = "weir count --if right=unix:s < FILE & until test -S s; do sleep 0.01; done; sleep 0.2; \
                    weir write out --if left=unix:s; wait; cmp FILE out";
        place.output(&late.replace("FILE", "in.pcap"));
        capture(place, 0);
        place.output(&late.replace("FILE", "in.pcap"));
        // Nor does anything wait for the end.
        capture(place, 40);
        let writer = place.start("(cat in.pcap; exec sleep 100) | exec weir count --if right=unix:s");
        until("it waits", || std::path::Path::new(&place.path("s")).exists());
        let reader = place.start("exec weir write out --if left=unix:s < /dev/null");
        until("all has come", || {
            let seen = place.status();
            let reader = seen.iter().find(|stage| stage["function"] == "write out");
            reader.is_some_and(|stage| stage["interfaces"][0]["rx_packets"] == 40)
        });
        drop((writer, reader));
    });
}

#[test]
fn a_stage_whose_parent_does_not_hear_of_its_end_is_not_told_to_be_stopped() {
    as_each_user(|place| {
        let parent = place.start("weir count < <(sleep 100) > /dev/null & echo $! > pid; exec sleep 100");
        until("it runs", || place.status().len() == 1);
        place.output(&format!("kill -KILL {}", place.number("pid")));
        until("it does not", || {
            let told = place.run("weir status");
            assert!(!told.stderr.contains("stopped"), "{told:?}");
            told.stdout.lines().count() == 1
        });
        drop(parent);
    });
}

#[test]
fn a_stage_that_is_stopped_is_listed() {
    as_each_user(|place| {
        let parent = place.start("exec weir count < <(sleep 100) > /dev/null");
        until("it runs", || place.status().len() == 1);
        let id = parent.id();
        let told = place.run(&format!("kill -STOP {id}; weir status; kill -CONT {id}"));
        let last = told.stdout.lines().last().unwrap_or_default();
        assert!(last.starts_with(&id.to_string()) && last.ends_with("(does not answer)"), "{told:?}");
        assert!(told.stderr.contains("it is stopped (SIGSTOP); `kill -CONT"), "{told:?}");
        drop(parent);
    });
}

#[test]
fn where_descriptors_are_short_the_stage_tells_so() {
    as_each_user(|place| {
        capture(place, 3);
        let mut n_failed = 0;
        for limit in 6..64 {
            let finished =
                place.run(&format!("ulimit -n {limit}; exec timeout 50 weir count < in.pcap > out"));
            if finished.code == 0 {
                continue;
            }
            n_failed += 1;
            let first = finished.stderr.lines().next().unwrap_or_default();
            assert!(first.starts_with("weir: count: ") && first.contains("limit"), "{finished:?}");
            assert!(!finished.stderr.contains("(os error "), "{finished:?}");
        }
        assert!(n_failed > 0);
        assert_eq!(place.output("find run -type s"), "", "sockets are left behind");
    });
}

#[test]
fn who_connects_where_no_descriptor_is_left_does_not_keep_a_graph_busy() {
    as_each_user(|place| {
        for (element, greeting) in [
            ("ControlSocket(UNIX, sock)", "Click::ControlSocket/1.3\r\n"),
            ("ChatterSocket(UNIX, sock)", "Click::ChatterSocket/1.0\r\n"),
            ("Socket(UNIX, sock) -> Discard", ""),
        ] {
            let script = "Script(wait 0.1, print >ready \"yes\")";
            let running = place.start(&format!("exec weir run --quiet -e '{element}; {script}' 2> told"));
            let (id, socket, ready) = (running.id(), place.path("sock"), place.path("ready"));
            let link = |fd: u32| fs::read_link(format!("/proc/{id}/fd/{fd}")).ok();
            let is_written =
                || Path::new(&ready).exists() && (0..64).all(|fd| link(fd) != Some(ready.clone().into()));
            until("the graph runs and has all descriptors, and no more", is_written);
            let first_free = (0..).find(|fd| link(*fd).is_none()).unwrap();
            place.output(&format!("prlimit --pid {id} --nofile={first_free}:64"));
            let mut waiting = UnixStream::connect(&socket).unwrap();
            let told = || String::from_utf8(place.read("told")).unwrap();
            until("it is told", || !told().is_empty());
            std::thread::sleep(std::time::Duration::from_millis(300));
            assert_eq!(told().lines().count(), 1, "{}", told());
            assert!(told().contains("accept: Too many open files"), "{}", told());
            // Once there is room again, it goes on.
            place.output(&format!("prlimit --pid {id} --nofile=64:64"));
            if greeting.is_empty() {
                until("it is accepted", || {
                    link(first_free).is_some_and(|name| name.to_string_lossy().starts_with("socket:"))
                });
            } else {
                let mut said = vec![0; greeting.len()];
                waiting.read_exact(&mut said).unwrap();
                assert_eq!(String::from_utf8(said).unwrap(), greeting);
            }
            drop(running);
            for file in [socket, ready] {
                let _ = fs::remove_file(file);
            }
        }
    });
}

/// How long a thread has run so far, in hundredths of a second.
fn ticks(task: &Path) -> u64 {
    let stat = fs::read_to_string(task.join("stat")).expect("the thread is there");
    let numbers = stat.rsplit(')').next().unwrap_or_default();
    numbers.split_whitespace().skip(11).take(2).map(|number| number.parse::<u64>().expect("a number")).sum()
}

#[test]
fn who_connects_where_no_descriptor_is_left_does_not_keep_a_stage_busy() {
    as_each_user(|place| {
        let running = place.start("mkfifo in; exec weir count --if left=fifo:in > out");
        let id = running.id();
        let socket = place.path(&format!("run/weir/stage-{id}.sock"));
        let control = || {
            let tasks = fs::read_dir(format!("/proc/{id}/task")).expect("it runs").flatten();
            let mut tasks = tasks.map(|task| task.path());
            tasks.find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|name| name == "control\n"))
        };
        until("the stage listens", || Path::new(&socket).exists() && control().is_some());
        place.output(&format!("prlimit --pid {id} --nofile=3:3"));
        let _waiting = UnixStream::connect(&socket).unwrap();
        let (own, control) = (Path::new("/proc/thread-self"), control().unwrap());
        let (before, begin) = (ticks(&control), ticks(own));
        // As long as this thread runs, the other one could.
        while ticks(own) - begin < 50 {}
        let n = ticks(&control) - before;
        assert!(n < 20, "it ran for {n} of 50");
    });
}

#[test]
fn where_memory_is_short_that_is_told_and_nothing_panics() {
    as_each_user(|place| {
        capture(place, 3);
        let parent = place.start("exec weir count < <(sleep 100) > /dev/null");
        until("it runs", || place.status().len() == 1);
        // From where the program can just be started on; a debug build and an optimised one differ in that.
        let least = place.output("for k in $(seq 10000 1000 99000); do (ulimit -v $k; weir --version) && break; done > /dev/null 2>&1; echo $k");
        let least: u32 = least.trim().parse().expect("it is a number");
        for kib in (least..least + 12_000).step_by(1000) {
            for command in
                ["weir status", "weir read in.pcap", "weir run -q --threads 3 -e 'Idle -> Discard'"]
            {
                let finished = place.run(&format!("ulimit -v {kib}; timeout -s INT 0.3 {command} > out"));
                assert!(!finished.stderr.contains("panicked"), "{finished:?}");
                assert!(!finished.stderr.contains("(os error "), "{finished:?}");
            }
        }
        drop(parent);
    });
}

#[test]
fn what_full_queues_cost_is_told_in_the_end() {
    as_each_user(|place| {
        capture(place, 50);
        let finished = place.run("weir delay 300ms --queue 10 < in.pcap > out");
        assert_eq!(finished.code, 0, "{finished:?}");
        let due = "weir: delay: dropped because a queue was full: ";
        assert!(finished.stderr.contains(due) && finished.stderr.contains("queue-full 39"), "{finished:?}");
    });
}

#[test]
fn what_a_stage_held_when_it_was_stopped_is_told() {
    as_each_user(|place| {
        capture(place, 50);
        let stopped = "cat in.pcap - < wait | timeout 2 weir delay 100s > out";
        let finished = place.run(&format!("mkfifo wait; sleep 6 > wait & {stopped}; wait"));
        let due = "weir: delay: stopped by a signal; packets that it still held are lost, ";
        assert!(finished.stderr.starts_with(due) && finished.stderr.contains(" at least"), "{finished:?}");
        // One that held nothing has nothing to tell.
        let idle = "cat in.pcap - < wait | timeout 2 weir filter udp > out";
        let finished = place.run(&format!("sleep 6 > wait & {idle}; wait"));
        assert!(!finished.stderr.contains("stopped"), "{finished:?}");
    });
}

#[test]
fn what_a_graph_still_holds_after_the_drain_is_told_and_a_shaper_is_waited_for() {
    as_each_user(|place| {
        capture(place, 20);
        let stuck = "FromInterface(left) -> Queue -> Unqueue(ACTIVE false) -> ToInterface(right)";
        let finished = place.run(&format!("weir stage --drain 0.1 -e '{stuck}' < in.pcap > out"));
        let due = "weir: stage: no packet left its graph any more (--drain); packets that it still held are lost, 20 at least\n";
        assert_eq!((finished.code, &*finished.stderr), (0, due));
        // Each packet but the first waits for longer than `--drain`.
        let finished = place.run("weir shape 20pps --bucket 1 --drain 0 --format ascii < in.pcap | wc -l");
        assert_eq!((finished.code, &*finished.stdout, &*finished.stderr), (0, "20\n", ""));
    });
}

#[test]
fn cooked_captures_are_ethernet_frames() {
    as_each_user(|place| {
        let header = |link: u32| {
            let mut bytes = captures::header();
            bytes[20..24].copy_from_slice(&link.to_ne_bytes());
            bytes
        };
        let mut cooked = header(113);
        captures::add_record(&mut cooked, b"\0\x01\0\x01\0\x06\x02\0\0\0\0\x09\0\0\x08\x06\0\x01");
        place.write("sll.pcap", cooked);
        let due = "ffffffffffff 020000000009 0806 00 01\n";
        assert_eq!(place.output("weir read sll.pcap --format ascii | cat"), due);
        assert_eq!(
            place.output(
                "weir stage -e 'FromInterface(left) -> ToInterface(right)' --format ascii < sll.pcap | cat"
            ),
            due
        );
        let mut usb = header(220);
        (0..3).for_each(|_| captures::add_record(&mut usb, &[7; 60]));
        place.write("usb.pcap", usb);
        for (script, name) in [
            ("weir read usb.pcap > out", "read: usb.pcap"),
            ("weir read - < usb.pcap > out", "read: standard input"),
        ] {
            let finished = place.run(script);
            assert_eq!(finished.code, 1, "{finished:?}");
            let due = format!(
                "weir: {name}: packets of link type #220 cannot be made Ethernet frames; they are skipped\n\
                 weir: {name}: 2 further packets were skipped\n"
            );
            assert_eq!(finished.stderr, due);
            assert!(captures::packets(&place.read("out")).is_empty());
        }
    });
}
