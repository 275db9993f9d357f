//! Files, named pipes and sockets that users name.

use super::captures;
use super::process::{as_each_user, until, Place};

/// A capture of `n` packets.
fn capture(n: u64) -> Vec<u8> {
    let mut bytes = captures::header();
    (0..n).for_each(|idx| captures::add_record(&mut bytes, &captures::packet(7, idx)));
    bytes
}

/// `n` lines of text, each a packet.
fn lines(n: u32) -> String {
    (0..n).map(|idx| format!("001122334455 66778899aabb 0800 {idx:02x}\n")).collect()
}

/// How many packets a capture in the place has.
fn n_packets(place: &Place, name: &str) -> usize {
    captures::packets(&place.read(name)).len()
}

/// Runs a script that must fail with status 1 and tell so.
#[track_caller]
fn fails(place: &Place, script: &str, due: &str) {
    let finished = place.run(script);
    assert_eq!(finished.code, 1, "{finished:?}");
    assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
}

#[test]
fn what_is_no_regular_file_is_read_from_its_first_byte() {
    as_each_user(|place| {
        place.write("in.pcap", capture(20));
        place.write("lines", lines(5));
        place.command("mkfifo").arg("fifo").status().expect("mkfifo runs");
        let wire = "weir stage -e 'FromInterface(left) -> ToInterface(right);'";
        for (script, n) in [
            ("cat in.pcap > fifo & weir read fifo | weir write out.pcap".to_string(), 20),
            ("cat lines > fifo & weir read fifo | weir write out.pcap".to_string(), 5),
            ("weir read <(cat in.pcap) > out.pcap".to_string(), 20),
            ("weir read <(cat lines) > out.pcap".to_string(), 5),
            ("cat in.pcap | weir read /dev/stdin > out.pcap".to_string(), 20),
            (format!("cat lines | {wire} --if left=file:/dev/stdin > out.pcap"), 5),
        ] {
            place.output(&script);
            assert_eq!(n_packets(place, "out.pcap"), n, "{script}");
        }
    });
}

#[test]
fn text_is_told_apart_in_a_file_as_in_a_pipe() {
    as_each_user(|place| {
        place.write("lines", format!("# comment\n{}", lines(2)));
        let bad = "line 1: `#` is no destination address of 12 hexadecimal digits; it is skipped\n";
        for (script, name) in [
            ("weir read lines > out.pcap", "lines"),
            ("cat lines | weir read - > out.pcap", "standard input"),
        ] {
            let finished = place.run(script);
            assert_eq!((finished.code, finished.stderr), (0, format!("weir: read: {name}: {bad}")));
            assert_eq!(n_packets(place, "out.pcap"), 2, "{script}");
        }
        place.write("other", b"\x7fELF\x02\x01\x01\x00");
        for script in ["weir read other > out.pcap", "cat other | weir read - > out.pcap"] {
            fails(place, script, "not a capture");
        }
    });
}

#[test]
fn the_number_of_lines_skipped_beyond_those_told_is_told() {
    as_each_user(|place| {
        place.write("lines", "nonsense\n".repeat(5000) + &lines(1));
        let finished = place.run("weir read lines > out.pcap");
        assert_eq!(finished.code, 0, "{finished:?}");
        assert!(
            finished.stderr.ends_with("weir: read: lines: 4990 further lines were skipped\n"),
            "{finished:?}"
        );
        assert_eq!((finished.stderr.lines().count(), n_packets(place, "out.pcap")), (11, 1));
    });
}

#[test]
fn a_lone_file_is_read_at_the_left_and_written_at_the_right() {
    as_each_user(|place| {
        place.write("in.pcap", capture(30));
        place.write("old.pcap", capture(3));
        place.command("mkfifo").arg("fifo").status().expect("mkfifo runs");
        for script in [
            "weir count --if right=file:new.pcap < in.pcap",
            "weir count --if left=file:in.pcap --if right=file:old.pcap",
            "weir count --if 'right=- file:new.pcap' --if 'left=file:in.pcap -'",
            "cat fifo > new.pcap & weir count --if right=fifo:fifo < in.pcap; wait",
            "weir chain --if left=file:in.pcap --if right=file:new.pcap 'count | count'",
        ] {
            place.output(script);
            let name = if script.contains("old") { "old.pcap" } else { "new.pcap" };
            assert_eq!(n_packets(place, name), 30, "{script}");
            place.write("new.pcap", "");
        }
        fails(
            place,
            "weir bridge --if aux=file:x.pcap < in.pcap > /dev/null",
            "say `- file:x.pcap` to write it or `file:x.pcap -` to read it",
        );
    });
}

#[test]
fn what_is_sent_to_a_file_that_is_read_is_counted_and_told() {
    as_each_user(|place| {
        place.write("in.pcap", capture(5000));
        let graph = "FromInterface(left) -> t :: Tee -> ToInterface(left); t[1] -> ToInterface(right);";
        let told = "weir: stage: interface left can only be read; packets sent to it and lost: 5000\n";
        for input in ["< in.pcap", "--if left=file:in.pcap"] {
            let finished = place.run(&format!("weir stage -e '{graph}' {input} > out.pcap"));
            assert_eq!((finished.code, &*finished.stderr), (0, told), "{input}");
            assert_eq!(n_packets(place, "out.pcap"), 5000);
        }
        let finished = place.run(&format!("weir stage -e '{graph}' --if 'left=file:in.pcap -' > out.pcap"));
        assert_eq!((finished.code, &*finished.stderr), (0, ""));
    });
}

#[test]
fn interfaces_that_the_graph_does_not_have_and_names_given_twice_are_refused() {
    as_each_user(|place| {
        place.write("in.pcap", capture(3));
        for (script, due) in [
            (
                "weir count --if rigth=file:x.pcap < in.pcap > out.pcap",
                "--if rigth=file:x.pcap: the graph has no interface `rigth`; it has left, right",
            ),
            (
                "weir stage -e 'Idle -> Discard' --if left=stdin",
                "--if left=stdin: the graph has no interfaces",
            ),
            (
                "weir count --if right=file:x.pcap --if right=stdout < in.pcap > out.pcap",
                "--if right=stdout: `right` is given twice",
            ),
        ] {
            let finished = place.run(script);
            assert_eq!(finished.code, 2, "{finished:?}");
            assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
        }
        let chain = "weir chain 'read in.pcap | count --if aux=tap:t | write out.pcap'";
        let due = "stage 2 (`count --if aux=tap:t`): --if aux=tap:t: the graph has no interface `aux`";
        let finished = place.run(chain);
        assert_eq!(finished.code, 2, "{finished:?}");
        assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
        assert!(!std::path::Path::new(&place.path("x.pcap")).exists());
    });
}

#[test]
fn a_file_is_no_named_pipe_and_no_socket() {
    as_each_user(|place| {
        let keep = capture(3);
        place.write("keep.pcap", &keep);
        place.write("in.pcap", capture(9));
        place.command("mkfifo").arg("fifo").status().expect("mkfifo runs");
        let is = "keep.pcap is a file, no";
        for (script, due) in [
            (
                "weir count --if right=fifo:keep.pcap < in.pcap",
                format!("{is} named pipe: say file:keep.pcap"),
            ),
            ("weir count --if left=fifo:keep.pcap > out", format!("{is} named pipe: say file:keep.pcap")),
            ("weir count --if left=unix:keep.pcap > out", format!("{is} socket: say file:keep.pcap")),
            ("weir count --if left=unix:fifo > out", "fifo is a named pipe, no socket: say fifo:fifo".into()),
            ("weir count --if left=unix:. > out", ". is a folder, no socket".into()),
        ] {
            fails(place, script, &due);
        }
        assert!(place.read("keep.pcap") == keep);
    });
}

#[test]
fn standard_output_carries_packets_and_no_copy() {
    as_each_user(|place| {
        place.write("in.pcap", capture(3));
        let due = ": standard output is where packets go; write to another file";
        for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            for script in ["tee NAME", "capture NAME", "hex --out NAME", "flow-monitor --file NAME"] {
                let script = script.replace("NAME", name);
                fails(place, &format!("weir {script} < in.pcap > out"), due);
                fails(place, &format!("weir chain 'read in.pcap | {script} | count' > out"), due);
            }
        }
        let dump = "FromInterface(left) -> t :: Tee -> ToInterface(right); t[1] -> ToDump(-)";
        fails(place, &format!("weir stage -e '{dump}' < in.pcap > out"), due);
        // Where no packets go there, the copy may.
        place.output("weir tee /dev/stdout --if right=file:out < in.pcap > copy; weir read copy > again; cmp in.pcap again");
    });
}

#[test]
fn a_file_that_is_read_is_not_written() {
    as_each_user(|place| {
        let keep = capture(50);
        place.write("x", &keep);
        place.command("ln").args(["-s", "x", "link"]).status().expect("ln runs");
        let due = ": input file is output file; write to another one";
        for script in [
            "weir chain 'read x | write x'",
            "weir chain 'read x | count | write link'",
            "weir chain 'read --timing x | write x'",
            "weir chain 'read x | tee x | write out'",
            "weir write x < x",
            "weir tee x < x > out",
            "weir hex --out x < x > out",
            "weir capture x < x > out",
            "weir flow-monitor --file x < x > out",
            "weir read x >> x",
        ] {
            fails(place, script, due);
            assert!(place.read("x") == keep, "{script}");
        }
        // Whoever has read all of it before the first packet is written may be a reader no more: then it is written, as it was.
        place.run("weir read x | weir write x");
        assert!(place.read("x") == keep);
        let keep = capture(60_000);
        place.write("x", &keep);
        let due = "it is being read by weir; write to another one";
        for (script, told) in [
            ("weir read x | weir write x", "x: "),
            ("weir read x | weir count | cat | weir write x", "x: "),
            ("weir read x | weir tee x > out", "ToDump(x): "),
            ("weir read x | weir capture x > out", "ToDump(x): "),
            ("weir read x | weir hex --out x > out", "ToHexDump(x): "),
            ("weir read x | weir stage -e 'FromInterface(left) -> ToDump(x)'", "ToDump(x): "),
        ] {
            fails(place, script, &format!("{told}{due}"));
            assert!(place.read("x") == keep, "{script}");
        }
        place.output("weir read x | weir write y; weir read x | weir filter 'arp && ip' | weir write y");
        assert_eq!(n_packets(place, "y"), 0, "what was in the file goes, though nothing else comes");
        place.output("weir read x | weir filter 'arp && ip' | weir hex --out y > out");
        assert!(place.read("y").is_empty(), "what was in the file goes, though nothing else comes");
    });
}

#[test]
fn a_stage_that_does_not_start_reports_no_traffic() {
    as_each_user(|place| {
        let finished = place.run("weir count --if right=file:/nowhere/x < /dev/null");
        assert_eq!(finished.code, 1);
        assert!(!finished.stderr.contains("packets"), "{finished:?}");
    });
}

#[test]
fn a_file_that_cannot_be_written_on_is_told_once_and_fails_the_stage() {
    as_each_user(|place| {
        place.write("in.pcap", capture(300));
        for (stage, due) in [
            ("tee copy", "weir: tee: ToDump(copy): File too large"),
            ("capture copy", "weir: capture: ToDump(copy): File too large"),
            ("hex --out copy", "weir: hex: ToHexDump(copy): File too large"),
        ] {
            // As a disk that becomes full.
            let finished =
                place.run(&format!("trap '' XFSZ; ulimit -f 8; weir {stage} < in.pcap > /dev/null"));
            assert_eq!((finished.code, finished.stderr), (1, format!("{due}\n")), "{stage}");
        }
        fails(
            place,
            "weir tee /dev/full < in.pcap > /dev/null",
            "/dev/full: unable to write file header: No space left on device",
        );
    });
}

#[test]
fn what_a_device_refuses_is_told() {
    as_each_user(|place| {
        let graph = "InfiniteSource(LENGTH 3000, LIMIT 5, STOP true) -> ToInterface(right)";
        let script = format!(
            "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 && \
             ip link add v0 type veth peer name v1 && \
             for dev in v0 v1; do ip link set $dev up || exit; done && \
             weir stage -e '{graph}' | weir port v0 --side right"
        );
        // Without IPv6 the kernel itself sends nothing by the cable.
        place.write("script", script);
        let finished = place.run("weir linux -- sh script");
        let due = "weir: port: interface right did not take all packets (Message too long); lost: 5\n";
        assert_eq!((finished.code, &*finished.stderr), (0, due));
    });
}

#[test]
fn what_a_device_receives_faster_than_it_is_read_is_told() {
    as_each_user(|place| {
        let graph = "InfiniteSource(LENGTH 1400, LIMIT 30000, STOP true) -> ToInterface(right)";
        let script = format!(
            "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 && \
             ip link add v0 type veth peer name v1 && \
             for dev in v0 v1; do ip link set $dev up || exit; done; mkfifo go
             sh -c 'echo $$ > pid; exec weir port v0 --side left 2> told' | {{ read line < go; wc -c > size; }} &
             until weir status | grep -q 'port v0'; do sleep 0.02; done
             weir stage -e '{graph}' | weir port v1 --side right && kill $(cat pid) && echo > go; wait $!"
        );
        place.write("script", script);
        place.output("weir linux -- sh script");
        let told = String::from_utf8(place.read("told")).unwrap();
        let line =
            told.lines().find(|line| line.contains("packets came faster than they were received; lost: "));
        assert!(line.is_some_and(|line| line.starts_with("weir: port: interface left: ")), "{told}");
    });
}

#[test]
fn what_a_format_cannot_express_is_told() {
    as_each_user(|place| {
        let graph = "InfiniteSource(LENGTH 13, LIMIT 2, STOP true) -> ToInterface(right)";
        for script in ["> out", "| cat > out", "--if right=file:out"] {
            let finished = place.run(&format!("weir stage -e '{graph}' --format ascii {script}"));
            let due = "weir: stage: interface right did not take all packets (a line takes packets of 14 bytes or more); lost: 2\n";
            assert_eq!((finished.code, &*finished.stderr), (0, due), "{script}");
        }
    });
}

#[test]
fn packets_whose_reader_has_gone_are_told_and_the_others_go_on() {
    as_each_user(|place| {
        // More than a pipe holds: whoever reads a little of it and goes leaves many.
        place.write("in.pcap", capture(40_000));
        let both = "t :: Tee -> ToInterface(right); t[1] -> ToInterface(aux)";
        let finished = place.run(&format!(
            "mkfifo fifo; head -c 100 fifo > start &
             weir stage --if 'aux=- fifo:fifo' -e 'FromInterface(left) -> {both}' < in.pcap > out.pcap; wait"
        ));
        let told = "weir: stage: interface aux: its reader has gone; packets sent to it and lost: ";
        let n: u64 = finished.stderr.trim_end().strip_prefix(told).expect(&finished.stderr).parse().unwrap();
        assert!((1..40_000).contains(&n), "{n}");
        assert_eq!((finished.code, n_packets(place, "out.pcap")), (0, 40_000));
        // Nobody asked for these.
        let graph = format!("FromInterface(aux) -> {both}");
        let finished = place.run(&format!("weir stage --if 'aux=file:in.pcap -' -e '{graph}' > out.pcap"));
        assert_eq!((finished.code, &*finished.stderr), (0, ""));
    });
}

#[test]
fn packets_sent_into_a_pipe_that_is_only_read_are_told() {
    as_each_user(|place| {
        // More than may wait, as well.
        for n in [300, 6000] {
            place.write("in.pcap", capture(n));
            let graph = "FromInterface(left) -> t :: Tee -> ToInterface(right); t[1] -> ToInterface(left);";
            let told =
                format!("weir: stage: interface left can only be read; packets sent to it and lost: {n}\n");
            let stage = format!("weir stage -e '{graph}'");
            for script in [
                format!("cat in.pcap | {stage} > out.pcap"),
                format!(
                    "rm -f fifo; mkfifo fifo; cat in.pcap > fifo & {stage} --if left=fifo:fifo > out.pcap"
                ),
            ] {
                let finished = place.run(&script);
                assert_eq!((finished.code, &*finished.stderr), (0, &*told), "{script}");
                assert_eq!(n_packets(place, "out.pcap") as u64, n);
            }
        }
    });
}

#[test]
fn a_stage_that_drops_everything_tells_who_did_and_why() {
    as_each_user(|place| {
        place.write("in.pcap", capture(300));
        let run = |rule: &str| {
            let graph = format!("FromInterface(left) -> f :: {rule} -> ToInterface(right)");
            place.run(&format!("weir stage -e '{graph}' < in.pcap > out.pcap"))
        };
        let finished = run("IPFilter(allow udp)");
        assert_eq!(
            (finished.code, &*finished.stderr),
            (0, "weir: stage: nothing went out; dropped: f denied 300\n")
        );
        assert_eq!(run("RandomSample(0.5)").stderr, "", "some went out");
    });
}

#[test]
fn a_limit_on_the_size_of_files_is_told_as_a_full_disk_is() {
    as_each_user(|place| {
        place.write("in.pcap", capture(3000));
        let script = "ulimit -f 100; (weir read in.pcap | weir filter -- | weir write out.pcap); exit ${PIPESTATUS[0]}";
        let finished = place.run(script);
        assert_eq!((finished.code, &*finished.stderr), (1, "weir: write: out.pcap: File too large\n"));
        // What is started is ended by the signal as ever: 128 and the number of SIGXFSZ.
        let command = "weir linux --while-running -- sh -c 'ulimit -f 1; exec head -c 9999 /dev/zero > big'";
        assert_eq!(place.run(command).code, 153);
    });
}

#[test]
fn what_was_sent_is_written_though_another_output_is_read_no_more() {
    as_each_user(|place| {
        place.write("in.pcap", capture(40_000));
        let graph = "FromInterface(left) -> t :: Tee -> ToInterface(right); t[1] -> ToInterface(copy)";
        for copy in ["copy.pcap", "copy.pcap.gz"] {
            let script = format!(
                "weir stage -e '{graph}' --if copy=file:{copy} < in.pcap | head -c 1000 > head; echo ${{PIPESTATUS[0]}}"
            );
            assert_eq!(place.run(&script).stdout, "141\n");
            let unpack = if copy.ends_with("gz") { "gzip -dc" } else { "cat" };
            // All that had been read by then, to the end of a packet.
            place.output(&format!(
                "{unpack} {copy} > whole; cmp -n 1000 whole in.pcap; weir read whole > again"
            ));
        }
    });
}

#[test]
fn the_writer_of_a_descriptor_learns_that_it_is_read_no_more() {
    as_each_user(|place| {
        place.write("in.pcap", capture(1));
        let graph =
            "FromInterface(left) -> Discard; FromInterface(aux) -> Discard; Idle -> ToInterface(right)";
        place.command("mkfifo").arg("feed").status().expect("mkfifo runs");
        let script = format!(
            "(head -c 24 in.pcap; exec yes) > feed & sleep 1000 | weir stage -e '{graph}' --if aux=fd:5 5< feed > /dev/null 2> told & \
             wait %1; for i in $(seq 1000); do [ -s told ] && break; sleep 0.01; done; kill $(jobs -p); cat told >&2"
        );
        // It ends only if the writer is told.
        let told = place.run(&script).stderr;
        assert!(told.contains("weir: stage: descriptor 5: byte 24: "), "{told}");
        let twice = format!("weir stage -e '{graph}' --if aux=fd:5 --if left=fd:5 5< in.pcap > out");
        fails(place, &twice, "descriptor 5 is another interface already");
    });
}

#[test]
fn a_socket_of_somebody_who_was_killed_stands_in_nobodys_way() {
    as_each_user(|place| {
        place.write("in.pcap", capture(5));
        // Killed, and gone: what it listened at leads nowhere.
        let wait = "weir count --if left=unix:s > out & until test -S s; do sleep 0.01; done; kill -KILL $!; wait $!; test -S s";
        place.output(wait);
        let read = "weir write out.pcap --if left=unix:s < /dev/null & until test -S s; do sleep 0.05; done; \
                    weir stage -e 'FromInterface(left) -> ToInterface(right)' --if right=unix:s < in.pcap; wait; cmp in.pcap out.pcap";
        place.output(read);
    });
}

#[test]
fn a_name_may_ask_for_pcapng() {
    as_each_user(|place| {
        place.write("in.pcap", capture(30));
        for stage in ["weir write", "weir tee >/dev/null", "weir capture >/dev/null"] {
            for (name, unpack) in [("a.pcapng", "cat"), ("b.pcapng.gz", "gzip -dc")] {
                let (stage, rest) = stage.split_once(" >").unwrap_or((stage, "/dev/null"));
                place.output(&format!("{stage} {name} < in.pcap > {rest}"));
                let head = place.output(&format!("{unpack} {name} | head -c 4 | od -An -tx1"));
                assert_eq!(head.trim(), "0a 0d 0d 0a", "{stage} {name}");
                place.output(&format!("weir read {name} | cmp - in.pcap"));
            }
        }
        place.output("weir write --format pcap c.pcapng < in.pcap; cmp c.pcapng in.pcap");
    });
}

#[test]
fn only_packets_wait_in_what_status_tells() {
    as_each_user(|place| {
        let graph = "RatedSource(LENGTH 64, RATE 10) -> CheckLength(1500) -> ToInterface(right); \
                     InfiniteSource(LENGTH 60, LIMIT 7) -> Queue -> Idle;";
        let stage = place.start(&format!("exec weir stage -e '{graph}' > /dev/null"));
        until("seven packets wait", || place.status().first().is_some_and(|one| one["queued"] == 7));
        drop(stage);
    });
}

#[test]
fn a_name_that_is_no_text_is_refused_and_stands_for_no_other() {
    as_each_user(|place| {
        place.write("in.pcap", capture(1));
        for script in [
            "weir read $'a\\xff' > out",
            "weir read in.pcap | weir write $'a\\xff'",
            "weir tee $'a\\xff' < in.pcap",
        ] {
            let finished = place.run(script);
            assert_eq!(finished.code, 2, "{finished:?}");
            let due = "weir: \"a\\xFF\" is no text in UTF-8; if it is the name of a file, give the file another name";
            assert!(finished.stderr.contains(due), "{finished:?}");
        }
        assert_eq!(place.output("ls -d a* | wc -l").trim(), "0");
    });
}
