//! Pipes between stages, and between stages and other programs.

use std::process::Stdio;

use super::captures;
use super::process::{as_each_user, until, Place, Running};

/// A stage that only passes packets on.
const WIRE: &str = "weir stage -e 'FromInterface(left) -> ToInterface(right);'";
/// The status of a program that SIGPIPE ends.
const BROKEN_PIPE: i32 = 128 + 13;

/// A capture of `n` packets, as `NAME.pcap`.
fn capture(place: &Place, name: &str, n: u64) -> Vec<u8> {
    let mut bytes = captures::header();
    (0..n).for_each(|idx| captures::add_record(&mut bytes, &captures::packet(7, idx)));
    place.write(name, &bytes);
    bytes
}

/// Compares two captures' packets without showing them.
#[track_caller]
fn assert_same(received: &[u8], sent: &[u8], what: &str) {
    let (received, sent) = (captures::packets(received), captures::packets(sent));
    let first = received.iter().zip(&sent).position(|(one, other)| one != other);
    assert_eq!((received.len(), first), (sent.len(), None), "{what}: packets, and the first that differs");
}

/// The packets of a capture as lines of text.
fn lines(capture: &[u8]) -> String {
    let word = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let line = |packet: &&[u8]| {
        let payload: Vec<String> = packet[14..].iter().map(|byte| format!("{byte:02x}")).collect();
        let [to, from, kind] = [&packet[..6], &packet[6..12], &packet[12..14]].map(word);
        format!("{to} {from} {kind} {}\n", payload.join(" "))
    };
    captures::packets(capture).iter().map(line).collect()
}

#[test]
fn packets_arrive_as_they_were_through_any_number_of_stages() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 3000);
        let codes = place.output(&format!(
            "weir read in.pcap | {WIRE} | {WIRE} | weir write out.pcap; echo ${{PIPESTATUS[@]}}"
        ));
        assert_eq!(codes, "0 0 0 0\n");
        assert_same(&place.read("out.pcap"), &sent, "out.pcap");
    });
}

#[test]
fn another_program_between_two_stages_sees_plain_bytes_and_they_are_the_right_ones() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 500);
        for foreign in ["cat", "tee copy", "dd bs=7 status=none"] {
            place.output(&format!("weir read in.pcap | {foreign} | {WIRE} | weir write - > out.pcap"));
            assert!(place.read("out.pcap") == sent, "through {foreign}");
        }
        assert!(place.read("copy") == sent);
        place.output(&format!("weir read in.pcap --format ascii | tee lines | {WIRE} | weir write out.pcap"));
        assert!(String::from_utf8_lossy(&place.read("lines")) == lines(&sent));
        assert_same(&place.read("out.pcap"), &sent, "out.pcap");
    });
}

#[test]
fn neighbours_join_by_a_ring_unless_another_program_is_between_them() {
    as_each_user(|place| {
        place.command("mkfifo").arg("feed").status().expect("mkfifo runs");
        let mut chain = place.start(&format!("exec 3<>feed; {WIRE} <&3 | {WIRE} | cat | {WIRE} > /dev/null"));
        until("two of three stages are joined", || {
            let status = place.status();
            let joints: Vec<&str> = status
                .iter()
                .flat_map(|stage| stage["interfaces"].as_array().expect("a list"))
                .filter_map(|interface| interface["joint"].as_str())
                .collect();
            let n = |joint: &str| joints.iter().filter(|other| **other == joint).count();
            status.len() == 3 && n("ring") == 2 && n("pipe") == 3 && n("file") == 1
        });
        assert!(chain.runs());
    });
}

#[test]
fn both_directions_flow_through_one_pipe() {
    as_each_user(|place| {
        let (there, back) = (capture(place, "there.pcap", 700), capture(place, "back.pcap", 900));
        place.command("mkfifo").args(["feed", "answers", "stop"]).status().expect("mkfifo runs");
        let left = "FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(got);";
        let right = "FromInterface(left) -> ToInterface(right); FromInterface(from) -> ToInterface(left);";
        let chain = place.start(&format!(
            "weir stage --if got=file:got.pcap -e '{left}' < feed \
             | weir stage --if from=fifo:answers -e '{right}' > out.pcap"
        ));
        let feed =
            place.start("exec 3>feed 4>answers; cat there.pcap >&3; cat back.pcap >&4; read -r word < stop");
        until("all packets came", || {
            let read = |name| std::fs::read(place.path(name)).unwrap_or_default();
            captures::packets(&read("out.pcap")).len() == 700
                && captures::packets(&read("got.pcap")).len() == 900
        });
        drop(feed);
        assert_eq!(chain.finish().code, 0);
        assert_same(&place.read("out.pcap"), &there, "out.pcap");
        assert_same(&place.read("got.pcap"), &back, "got.pcap");
    });
}

#[test]
fn either_side_may_start_first() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 200);
        place.command("mkfifo").arg("link").status().expect("mkfifo runs");
        for scripts in [
            ["weir read in.pcap > link", "weir write out.pcap < link"],
            ["weir write out.pcap < link", "weir read in.pcap > link"],
        ] {
            let first = place.start(scripts[0]);
            let second = place.start(scripts[1]);
            assert_eq!((first.finish().code, second.finish().code), (0, 0));
            assert_same(&place.read("out.pcap"), &sent, "out.pcap");
        }
    });
}

#[test]
fn writers_may_follow_one_another() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 150);
        place.output(
            "(weir read in.pcap; weir read in.pcap; weir read in.pcap; cat in.pcap) | weir write out.pcap",
        );
        let four = [&sent[..], &sent[24..], &sent[24..], &sent[24..]].concat();
        assert_same(&place.read("out.pcap"), &four, "all four");
    });
}

#[test]
fn a_reader_that_goes_ends_its_writers_as_sigpipe_does() {
    as_each_user(|place| {
        capture(place, "in.pcap", 3000);
        let script =
            format!("yes 001122334455 66778899aabb 0800 45 | {WIRE} | {WIRE} | head -c 999 > /dev/null");
        let finished = place.run(&format!("{script}; echo ${{PIPESTATUS[@]:1:2}}"));
        assert_eq!(finished.stdout, format!("{BROKEN_PIPE} {BROKEN_PIPE}\n"), "{finished:?}");
        assert_eq!(finished.stderr, "");
    });
}

#[test]
fn a_stage_that_nobody_reads_any_more_ends_though_nothing_goes_back_to_its_neighbour() {
    as_each_user(|place| {
        let running = place.start(
            "mkfifo ff; cat ff > part & echo $! > reader; \
             weir stage -e 'RatedSource(RATE 200, LENGTH 60) -> ToInterface(right)' \
             | weir stage --if right=fifo:ff -e 'FromInterface(left) -> ToInterface(right)'; echo ${PIPESTATUS[1]}",
        );
        place.await_rings(2);
        place.output("kill $(cat reader)");
        let finished = running.finish();
        assert_eq!(finished.stdout, "141\n", "{finished:?}");
    });
}

#[test]
fn formats_are_read_by_tcpdump_and_its_captures_are_read() {
    as_each_user(|place| {
        let lan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/lan.pcap");
        place.write("lan.pcap", std::fs::read(lan).expect("the capture is there"));
        let direct = place.output("tcpdump -nn -r lan.pcap 2>/dev/null");
        for format in ["pcap", "pcapng"] {
            let seen =
                place.output(&format!("weir read lan.pcap --format {format} | tcpdump -nn -r - 2>/dev/null"));
            assert!(seen == direct, "{format}");
        }
        let seen = place
            .output(&format!("tcpdump -r lan.pcap -w - 2>/dev/null | {WIRE} | tcpdump -nn -r - 2>/dev/null"));
        assert!(seen == direct, "from tcpdump");
        // Lines of text have no times.
        let plain = place.output("tcpdump -t -nn -r lan.pcap 2>/dev/null");
        let seen = place
            .output("weir read lan.pcap --format ascii | weir write - | tcpdump -t -nn -r - 2>/dev/null");
        assert!(seen == plain, "ascii");
    });
}

#[test]
fn text2pcap_grep_and_awk_understand_lines_of_text() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 100);
        // What text2pcap reads: an offset, then bytes.
        let dump = r#"awk '{ gsub(/../, "& ", $1); gsub(/../, "& ", $2); gsub(/../, "& ", $3); print "000000 " $0 }'"#;
        place.output(&format!(
            "weir read in.pcap --format ascii | {dump} | text2pcap -q - - | weir write out.pcap"
        ));
        assert_same(&place.read("out.pcap"), &sent, "out.pcap");
        let first = lines(&sent).split(' ').next().expect("there is a line").to_string();
        place.output(&format!(
            "weir read in.pcap --format ascii | grep --line-buffered -v ^{first} | {WIRE} | weir write out.pcap"
        ));
        assert!(captures::packets(&place.read("out.pcap")) == captures::packets(&sent)[1..]);
        place.output("weir read in.pcap --format ascii | awk 'NR % 2' | weir write out.pcap");
        assert_eq!(captures::packets(&place.read("out.pcap")).len(), 50);
    });
}

#[test]
fn text2pcap_reads_what_weir_hex_writes() {
    as_each_user(|place| {
        place.write("lan.pcap", include_bytes!("../../../../captures/lan.pcap"));
        let dump = |file| format!("tcpdump -ttnn -r {file} 2>/dev/null");
        place.output("weir read lan.pcap | weir hex --out hex | weir write out.pcap");
        place.output(r#"text2pcap -q -D -t "%Y-%m-%dT%H:%M:%S.%f" hex hex.pcap"#);
        assert!(place.output(&dump("hex.pcap")) == place.output(&dump("lan.pcap")));
    });
}

#[test]
fn lines_that_are_no_packets_are_told_by_number_and_skipped() {
    as_each_user(|place| {
        place.write(
            "lines",
            "001122334455 66778899aabb 0800 45\nnonsense\n\n001122334455 66778899aabb 0800 zz\n",
        );
        let finished = place.run("cat lines | weir write out.pcap");
        assert_eq!(finished.code, 0);
        assert_eq!(captures::packets(&place.read("out.pcap")).len(), 1);
        let told: Vec<&str> = finished.stderr.lines().collect();
        assert_eq!(told, [
            "weir: write: standard input: line 2: `nonsense` is no destination address of 12 hexadecimal digits; it is skipped",
            "weir: write: standard input: line 4: `zz` is no byte of 2 hexadecimal digits; it is skipped",
        ]);
    });
}

#[test]
fn text_without_a_packet_is_an_error() {
    as_each_user(|place| {
        for (script, name) in [
            ("echo 12 | weir write out.pcap", "write: standard input"),
            ("echo 12 > notes; weir read notes > out.pcap", "read: notes"),
        ] {
            let finished = place.run(script);
            let due = format!(
                "weir: {name}: line 1: `12` is no destination address of 12 hexadecimal digits; it is skipped\n\
                 weir: {name}: no line is a packet, as `001122334455 66778899aabb 0800 45 00` is: addresses, type and bytes\n"
            );
            assert_eq!((finished.code, finished.stderr), (1, due), "{script}");
        }
        // No line at all is no wrong line.
        assert_eq!(place.run("printf '' | weir write out.pcap").code, 0);
    });
}

#[test]
fn the_environment_names_interfaces_as_in_the_paper() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 60);
        place.command("mkfifo").args(["fifo1", "fifo2"]).status().expect("mkfifo runs");
        place.output(
            "(IF0=fifo1 IF1=stdout weir stage -e 'FromInterface(left) -> ToInterface(right);' \
             | IF0=stdin IF1='stdin fifo2' IFTYPE1=ascii weir stage -e 'FromInterface(left) -> ToInterface(right);') & \
             cat fifo2 > lines & cat in.pcap > fifo1; wait",
        );
        assert!(String::from_utf8_lossy(&place.read("lines")) == lines(&sent));
    });
}

#[test]
fn interfaces_of_every_kind_that_is_a_stream_carry_packets() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 80);
        let graph = "-e 'FromInterface(left) -> ToInterface(right);'";
        place.command("mkfifo").arg("link").status().expect("mkfifo runs");
        for script in [
            format!("weir stage {graph} --if left=file:in.pcap --if right=file:out.pcap"),
            format!("weir read in.pcap > link & weir stage {graph} --if left=fifo:link > out.pcap; wait"),
            format!("weir write out.pcap < link & weir stage {graph} --if right=fifo:link < in.pcap; wait"),
            format!(
                "weir stage {graph} --if right=unix:socket < in.pcap & \
                 weir stage {graph} --if left=unix:socket > out.pcap; wait"
            ),
            format!("weir stage {graph} --if left=fd:5 --if right=fd:6 5< in.pcap 6> out.pcap"),
        ] {
            let _ = std::fs::remove_file(place.path("out.pcap"));
            place.output(&script);
            assert_same(&place.read("out.pcap"), &sent, &script);
        }
    });
}

#[test]
fn terminals_are_refused_with_what_to_do() {
    as_each_user(|place| {
        let finished = place.run("script -qec \"weir stage -e 'FromInterface(left) -> Discard;'\" /dev/null");
        assert_ne!(finished.code, 0, "{finished:?}");
        assert!(
            finished.stdout.contains("standard input is a terminal: give packets by a pipe"),
            "{finished:?}"
        );
        capture(place, "in.pcap", 1);
        let finished = place.run("script -qec 'weir read in.pcap' /dev/null");
        assert_ne!(finished.code, 0, "{finished:?}");
        assert!(
            finished.stdout.contains("standard output is a terminal: give packets to a pipe"),
            "{finished:?}"
        );
        let finished = place.run("script -qec 'weir tap -g edge ttl' /dev/null");
        assert!(finished.stdout.contains("standard output is a terminal: give packets to"), "{finished:?}");
    });
}

#[test]
fn a_full_disk_is_told_and_ends_the_stage_with_an_error() {
    as_each_user(|place| {
        capture(place, "in.pcap", 50);
        for script in ["weir write /dev/full < in.pcap", "weir read in.pcap > /dev/full"] {
            let finished = place.run(script);
            assert!(finished.stderr.contains("No space left on device"), "{finished:?}");
            assert_eq!(finished.code, 1, "{finished:?}");
        }
    });
}

#[test]
fn a_file_that_fails_beside_other_outputs_is_told_at_once_and_nothing_waits_for_it() {
    as_each_user(|place| {
        capture(place, "in.pcap", 50);
        place.command("mkfifo").arg("feed").status().expect("mkfifo runs");
        let graph = "FromInterface(left) -> t :: Tee(2) -> ToInterface(right); t[1] -> ToInterface(aux);";
        let mut stage = place.start(&format!(
            "exec 3<>feed; cat in.pcap >&3; weir stage --if aux=file:/dev/full -e '{graph}' <&3 | cat > /dev/null"
        ));
        until("it is told", || stage.stderr().contains("/dev/full: No space left on device"));
        until("the rest is dropped", || {
            let status = place.status();
            let interfaces = status.iter().flat_map(|stage| stage["interfaces"].as_array().expect("a list"));
            let mut aux = interfaces.filter(|interface| interface["name"] == "aux");
            aux.any(|aux| aux["drops"].as_u64() > Some(0) && aux["waiting"] == 0)
        });
        assert!(stage.runs());
    });
}

#[test]
fn a_signal_ends_a_stage_whose_reader_does_not_read() {
    as_each_user(|place| {
        place.command("mkfifo").arg("feed").status().expect("mkfifo runs");
        let graph = "RatedSource(RATE 1000000, LENGTH 1000) -> ToInterface(right)";
        for signal in ["INT", "TERM", "HUP"] {
            let stage = place.start(&format!(
                "exec 3<>feed; weir stage -e '{graph}' > feed & echo $! > pid.{signal}; wait $!"
            ));
            let pid = place.number(&format!("pid.{signal}"));
            until("the stage waits in a write", || {
                let status = place.status();
                status.first().is_some_and(|stage| stage["interfaces"][0]["waiting"].as_u64() >= Some(4096))
            });
            place.output(&format!("kill -{signal} {pid}"));
            stage.finish();
        }
    });
}

#[test]
fn errors_name_the_flag_its_value_and_what_to_do() {
    as_each_user(|place| {
        for (script, due) in [
            ("weir read in --format xml", "invalid value 'xml' for '--format <FORMAT>'"),
            ("weir read in --format xml", "[possible values: pcap, pcapng, ascii]"),
            ("weir read /missing", "/missing: No such file"),
            ("weir read /missing", "weir: read: /missing: No such file or directory\n"),
            ("weir stage -e 'FromInterface(left) -> ToInterface(aux);' < /dev/null", "--if aux=KIND"),
            ("weir stage -e 'FromInterface(left) -> Discard;' --if left=fd:77", "descriptor 77 is not open"),
            ("IF0=nothing weir write -", "IF0: `nothing` is no kind of interface"),
            ("IFTYPE0=xml weir write -", "IFTYPE0: `xml` is no format; choose pcap, pcapng, ascii"),
            ("weir linux --left 10.0.0.1/24 -- true", "--if left=KIND"),
            ("weir remove 999999999", "no stage 999999999 runs (`weir status` lists them)"),
            ("weir insert --after 999999999 stage", "no stage 999999999 runs"),
        ] {
            let finished = place.run(&format!("{script} > /dev/null"));
            assert_ne!(finished.code, 0, "{finished:?}");
            assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
        }
    });
}

#[test]
fn a_wrong_command_line_ends_with_2() {
    let parts = [
        ("weir write - --if aux=eth9", "'--if <NAME=KIND>': `eth9` is no kind of interface; kinds are stdin"),
        ("weir count --if right=foo", "'--if <NAME=KIND>': `foo` is no kind of interface; kinds are stdin"),
        ("weir write - --if aux", "invalid value 'aux' for '--if <NAME=KIND>': give NAME=KIND, such as"),
        ("weir write - --if aux=fd:x", "`fd:x`: `x` is no number of an open descriptor"),
        ("weir write - --drain=-1", "invalid value '-1' for '--drain <SECONDS>': give a number of seconds"),
        ("weir count --drain 1e400", "'--drain <SECONDS>': give a number of seconds from 0 to 1000000000"),
        ("weir count --drain NaN", "'--drain <SECONDS>': give a number of seconds"),
        ("weir linux --mtu 0 -- true", "`0` is no MTU; give a number of bytes from 68 to 65521"),
        ("weir port t0 --mtu 12", "`12` is no MTU; give a number of bytes from 68 to 65521"),
        ("weir linux --left 10.0.0.1/99 -- true", "'--left <ADDR/LEN>': `10.0.0.1/99` is no address"),
        ("weir linux --right foo -- true", "'--right <ADDR/LEN>': `foo` is no address"),
        ("weir linux --address foo -- true", "'--address <NAME=ADDR/LEN>': give NAME=ADDR/LEN, such as"),
        ("weir port t0 --address foo", "'--address <ADDR/LEN>': `foo` is no address"),
        ("weir linux --joint rope -- true", "[possible values: ring, pump, veth]"),
        ("weir chain ''", "the chain is empty; give stages, such as"),
        ("weir count --burst -1", "invalid value '-1' for '--burst <BURST>': -1 is not in 1..=256"),
        ("weir count --drain -1", "'--drain <SECONDS>': give a number of seconds from 0 to 1000000000"),
        ("weir linux --mtu -1 -- true", "`-1` is no MTU; give a number of bytes from 68 to 65521"),
        ("weir delay 1ms --queue -1", "invalid value '-1' for '--queue <N>'"),
        ("weir count --if =stdin", "'--if <NAME=KIND>': `` is no name for an interface; use letters"),
        (
            "weir count --if 'a b=file:x'",
            "'--if <NAME=KIND>': `a b` is no name for an interface; use letters",
        ),
        ("weir count --if left=file:a --if left=file:b", "`left` is given twice; an interface is one thing"),
        ("IFTYPE1=bogus weir count", "IFTYPE1: `bogus` is no format; choose pcap, pcapng, ascii"),
        ("weir stage", "stage: no configuration; name a file, `-` for the standard input, or use -e 'EXPR'"),
        ("weir stage -e 'Idle -> Discard' FILE", "stage: `FILE`: there is a configuration already"),
        ("weir read ''", "invalid value '' for '<FILE>': the name is empty; name a capture file, or `-`"),
        ("weir write ''", "invalid value '' for '<FILE>': the name is empty; name a capture file, or `-`"),
        ("weir port ''", "invalid value '' for '<DEV>': the name is empty; name a network device, or a tap"),
        (
            "cat /dev/null | weir port t0 | cat",
            "port: standard input and output both are pipes or files; say with --side",
        ),
        ("weir linux --left 10.0.0.1/24 -- true", "linux: --left: standard input is no pipe"),
        ("weir shape 1bps", "from 8bps to 34Gbps or from 1pps to 1Gpps"),
        ("weir print --left --right", "the argument '--left' cannot be used with '--right'"),
    ];
    as_each_user(|place| {
        for (script, due) in parts {
            let finished = place.run(&format!("set -o pipefail; {script} > /dev/null"));
            assert_eq!(finished.code, 2, "{finished:?}");
            assert!(finished.stderr.contains(due), "due is {due}: {finished:?}");
        }
    });
}

#[test]
fn a_closed_terminal_ends_stages_in_order_unless_that_is_ignored() {
    as_each_user(|place| {
        let sent = capture(place, "in.pcap", 20);
        place.command("mkfifo").arg("feed").status().expect("mkfifo runs");
        let chains = [
            WIRE.to_string() + " > out.pcap",
            "weir chain --name c 'count | cat | write out.pcap'".to_string(),
        ];
        for chain in chains {
            let all = format!("exec 3<>feed; cat in.pcap >&3; {chain} <&3 & echo $! > pid; wait $!");
            let _ = std::fs::remove_file(place.path("out.pcap"));
            let running = place.start(&all);
            let has_all = || {
                let now = std::fs::read(place.path("out.pcap")).unwrap_or_default();
                now.len() >= 24 && captures::packets(&now).len() == 20
            };
            until("the packets came", has_all);
            place.output(&format!("kill -HUP {}", place.number("pid")));
            running.finish();
            assert_same(&place.read("out.pcap"), &sent, &chain);
            until("all stages are gone", || place.status().is_empty());
            let left: Vec<_> = std::fs::read_dir(place.path("run/weir")).expect("it was made").collect();
            assert!(left.is_empty(), "{left:?}");
        }
        // Nor need who starts a stage let signals through.
        let blocked =
            "exec 3<>feed; env --block-signal=TERM weir count <&3 > /dev/null & echo $! > pid; wait $!";
        let running = place.start(blocked);
        until("the stage runs", || place.status().len() == 1);
        place.output(&format!("kill -TERM {}", place.number("pid")));
        assert_eq!(running.finish().code, 0);
        let nohup = "trap '' HUP; exec 3<>feed; weir count <&3 > /dev/null & echo $! > pid; wait $!";
        let mut running = place.start(nohup);
        until("the stage runs", || place.status().len() == 1);
        let pid = place.number("pid");
        place.output(&format!("kill -HUP {pid}"));
        assert_eq!(place.status().len(), 1);
        assert!(running.runs());
        place.output(&format!("kill -TERM {pid}"));
        assert_eq!(running.finish().code, 0);
    });
}

#[test]
fn a_chain_that_is_to_stay_with_pipes_does_so() {
    as_each_user(|place| {
        let _running = place.start(
            "weir stage -e 'RatedSource(RATE 100) -> ToInterface(right)' | weir chain --plain 'count | stage -e \
             \"FromInterface(left) -> Discard\"'",
        );
        let joint = "/interfaces/0/joint";
        until("both are there, and packets pass", || {
            let stages = place.status();
            stages.len() == 2 && stages.iter().all(|stage| stage.pointer(joint).is_some())
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        for stage in place.status() {
            assert!(!stage.to_string().contains("\"ring\""), "{stage}");
        }
    });
}

#[test]
fn interactive_traffic_is_not_delayed_by_plain_pipes() {
    as_each_user(|place| {
        let (input, mut to) = std::io::pipe().expect("pipes can be made");
        let mut command = place.command("bash");
        command.args(["-c", &format!("{WIRE} --format ascii | cat | {WIRE} --format ascii")]);
        command.stdin(Stdio::from(input));
        let chain = Running::start(command, place, "a chain of text");
        for n in 1..=3 {
            std::io::Write::write_all(&mut to, b"001122334455 66778899aabb 0800 45\n")
                .expect("the chain reads");
            until("the line came", || chain.stdout().lines().count() == n);
        }
        drop(to);
        assert_eq!(chain.finish().code, 0);
    });
}
