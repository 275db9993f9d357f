//! The `weir` command as a user runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn weir(args: &[&str]) -> Output {
    weir_in(&root(), args)
}

/// Runs the command in a folder.
fn weir_in(folder: &Path, args: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_weir");
    Command::new(command).args(args).current_dir(folder).output().expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of this test's own in a temporary folder.
fn scratch(name: &str) -> String {
    let folder = std::env::temp_dir().join(format!("weir-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    folder.join(name).to_string_lossy().into_owned()
}

#[test]
fn nat_and_firewall_run_over_the_bundled_capture() {
    let out = scratch("nat.pcap");
    let output = weir(&["run", "examples/nat-firewall.click", &format!("OUT={out}"), "--json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("the summary is JSON");
    let interfaces = summary["interfaces"].as_array().expect("there are interfaces");
    let n_in = interfaces.iter().filter_map(|i| i["in"]["packets"].as_u64()).sum::<u64>();
    let n_out = interfaces.iter().filter_map(|i| i["out"]["packets"].as_u64()).sum::<u64>();
    let drops = summary["drops"].as_array().expect("there are drops");
    let n_dropped = |reason: &str| {
        let drops = drops.iter().filter(|drop| drop["reason"] == reason);
        drops.filter_map(|drop| drop["packets"].as_u64()).sum::<u64>()
    };
    assert!(n_in > 500 && n_out > 400 && n_dropped("denied") > 10, "{summary}");
    assert_eq!(n_in, n_out + n_dropped("denied") + n_dropped("discarded"), "{summary}");
    let bytes = std::fs::read(&out).expect("the capture was written");
    assert!(bytes.windows(4).any(|address| address == [203, 0, 113, 2]), "nothing was translated");
}

/// Click moves one packet at a time by default, `weir run` as many as the queues behind have room for.
#[test]
fn bursts_lose_no_packets_in_queues_where_single_ones_lose_none() {
    let source = "FromDump(captures/lan.pcap, STOP true)";
    for graph in [
        format!("{source} -> q :: Queue(3) -> Unqueue -> c :: Counter -> Discard;"),
        format!("{source} -> q :: Queue(30) -> Unqueue(BURST 1) -> c :: Counter -> Discard;"),
        format!("{source} -> q :: Queue -> Unqueue(BURST 3) -> c :: Counter -> Discard;"),
        format!("{source} -> q :: Queue -> Unqueue(BURST 1) -> Queue -> Unqueue -> c :: Counter -> Discard;"),
        format!("{source} -> RED(5, 50, 0.02) -> q :: Queue -> Unqueue -> c :: Counter -> Discard;"),
        format!(
            "{source} -> Queue -> Unqueue -> q :: FrontDropQueue(7) -> Unqueue -> c :: Counter -> Discard;"
        ),
        format!(
            "{source} -> q :: Queue(8) -> Unqueue -> s :: RoundRobinSwitch -> d :: MixedQueue(2) -> Unqueue
            -> c :: Counter -> Discard; s [1] -> [1] d;"
        ),
        "InfiniteSource(LIMIT 799, STOP true) -> q :: SimpleQueue(6) -> Unqueue -> c :: Counter -> Discard;"
            .to_string(),
        // Also where packets are pulled.
        format!("{source} -> Queue -> p :: PullTee -> Discard; p [1] -> q :: Queue(8) -> Unqueue -> c :: Counter -> Discard;"),
        format!(
            "{source} -> Queue -> l :: CheckLength(0) -> Unqueue -> Discard;
            l [1] -> q :: Queue(5) -> Unqueue -> c :: Counter -> Discard;"
        ),
    ] {
        let graph = format!("{graph} DriverManager(pause, read c.count, read q.drops)");
        for command in [&["run", "--quiet"][..], &["run", "--quiet", "--burst", "256"], &["click"]] {
            let output = weir(&[command, &["-e", &graph]].concat());
            assert_eq!(stderr(&output), "c.count:\n799\nq.drops:\n0\n", "{command:?} {graph}");
        }
    }
    // A burst that is given is as large as it is.
    let graph = "FromDump(captures/lan.pcap, STOP true, BURST 32) -> q :: Queue(3) -> Unqueue -> Discard;
        DriverManager(pause, read q.drops)";
    assert!(stderr(&weir(&["run", "--quiet", "-e", graph])).contains("q :: Queue: overflow\nq.drops:\n72"));
}

#[test]
fn packets_of_bursts_are_told_of_and_written_in_the_order_of_single_ones() {
    let file = scratch("bursts.pcap");
    for graph in [
        "c :: Classifier(12/0800 23/06, 12/0800 23/11, -) -> Print(tcp, 10) -> t;
         c [1] -> CheckLength(100) -> t; c [2] -> Print(other, 2) -> t;",
        "Strip(14) -> CheckIPHeader -> c :: IPClassifier(tcp, -); r :: IPRewriter(pattern 10.9.9.9 - - - 0 1, pass 1);
         c -> r; c [1] -> [1] r; r -> IPPrint(a) -> n :: Null; r [1] -> IPPrint(b) -> n; n -> Unstrip(14) -> t;",
        "x :: Tee -> Print(a) -> t; x [1] -> Print(b) -> t;",
        "Strip(14) -> CheckIPHeader -> d :: DecIPTTL -> f :: IPFragmenter(600) -> u :: Unstrip(14) -> t;
         f [1] -> Paint(1) -> u;",
    ] {
        let graph = format!("t :: ToDump({file}); FromDump(captures/lan.pcap, STOP true) -> {graph}");
        let [run, click] = [&["run", "--quiet"][..], &["click"]].map(|command| {
            let told = stderr(&weir(&[command, &["-e", &graph]].concat()));
            let packets: Vec<_> = std::fs::read(&file).unwrap()[24..].to_vec();
            (told, packets)
        });
        assert!(!click.1.is_empty() && run.0 == click.0, "{graph}\n{}\n{}", run.0, click.0);
        assert!(run.1 == click.1, "{graph}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn packets_of_a_pipe_do_not_wait_for_those_behind_them() {
    let capture = std::fs::read(root().join("captures/lan.pcap")).expect("the capture is there");
    let len = u32::from_le_bytes(capture[32..36].try_into().expect("four bytes")) as usize;
    for command in ["run", "click"] {
        let mut weir = Command::new(env!("CARGO_BIN_EXE_weir"));
        weir.args([command, "-e", "FromDump(-, STOP true) -> Print(came, 4) -> Discard"]);
        let mut weir =
            weir.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command can be started");
        let mut pipe = weir.stdin.take().expect("there is a pipe");
        let lines = BufReader::new(weir.stderr.take().expect("there is a pipe")).lines();
        let (heard, hears) = std::sync::mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| heard.send(line)));
        pipe.write_all(&capture[..40 + len]).expect("the command reads");
        let line = hears.recv_timeout(Duration::from_secs(60));
        assert!(line.as_ref().is_ok_and(|line| line.starts_with("came: ")), "{command}: {line:?}");
        drop(pipe);
        assert!(weir.wait().expect("the command ends").success(), "{command}");
    }
}

#[test]
fn every_example_and_benchmark_is_a_valid_graph() {
    let mut n = 0;
    let mut folders = vec![root().join("examples"), root().join("benches")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder exists") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "click") {
                n += 1;
                let output = weir_in(
                    path.parent().expect("a file is in a folder"),
                    &["check", &path.to_string_lossy()],
                );
                assert!(output.status.success(), "{}: {}", path.display(), stderr(&output));
                if path.starts_with(root().join("examples")) {
                    let output = weir(&["fmt", "--check", &path.to_string_lossy()]);
                    assert!(output.status.success(), "not in the standard layout: {}", stdout(&output));
                }
            }
        }
    }
    assert!(n > 30, "only {n} graphs were found");
}

#[test]
fn click_runs_with_its_own_command_line() {
    let graph = "InfiniteSource(LIMIT 5, STOP true) -> c :: Counter -> Discard";
    let output = weir(&["click", "-e", graph, "-h", "c.count"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("5\n", Some(0)));
    let output = weir(&["click", "-e", graph, "-h", "c.count", "-h", "c.class"]);
    assert_eq!(stdout(&output), "c.count:\n5\n\nc.class:\nCounter\n\n");
    let output = weir(&["click", "-q", "-e", "Idle -> Strip(x) -> Discard"]);
    assert_eq!(output.status.code(), Some(1));
    let expected = "config:1: While configuring 'Strip@2 :: Strip':\n  LENGTH: invalid number\nRouter could not be initialized!\n";
    assert_eq!(stderr(&output).replace("config:1:   ", "  "), expected);
    let output = weir(&["click", "--nonsense"]);
    assert!(stderr(&output).starts_with("click: unrecognized option") && output.status.code() == Some(1));
}

#[test]
fn click_goes_where_there_is_no_record_of_a_capture() {
    const NO_RECORD: &str = "captures/lan.pcap: bad packet header; giving up\n";
    const NO_PLACE: &str = "FILEPOS out of range\n";
    let unplaced = format!(
        "config:1: While initializing 'f :: FromDump':\n  {NO_PLACE}Router could not be initialized!\n"
    );
    let unwritten = format!("While calling 'f.filepos 9000000':\n  {NO_PLACE}");
    let cases = [
        ("FILEPOS 73", "wait_stop", NO_RECORD.to_string()),
        ("FILEPOS 9000000", "wait_stop", String::new()),
        ("FILEPOS 9000000, MMAP false", "wait_stop", unplaced),
        (
            "ACTIVE false",
            "write f.filepos 0, write f.active true, wait_stop",
            format!("c:    0\n{NO_RECORD}"),
        ),
        ("ACTIVE false", "write f.filepos 9000000", String::new()),
        ("ACTIVE false, MMAP false", "write f.filepos 9000000", unwritten),
    ];
    for (args, calls, expected) in cases {
        let graph = format!(
            "f :: FromDump(captures/lan.pcap, STOP true, {args}) -> Print(c) -> Discard; DriverManager({calls})"
        );
        let output = weir(&["click", "-e", &graph]);
        assert_eq!(stderr(&output), expected, "{args}: {calls}");
    }
}

#[test]
fn click_stands_behind_the_header_that_is_none() {
    let len = std::fs::metadata(root().join("captures/lan.pcap")).expect("the capture is there").len();
    // A header that is none, and the rest of a record, in which there is no room for a header.
    for (filepos, expected) in [(73, 89), (len - 10, len)] {
        let graph = format!("f :: FromDump(captures/lan.pcap, STOP true, FILEPOS {filepos}) -> Discard");
        let output = weir(&["click", "-e", &graph, "-h", "f.filepos"]);
        assert_eq!(stdout(&output), format!("{expected}\n"), "{filepos}: {}", stderr(&output));
    }
}

#[test]
fn click_stops_at_the_end_of_packets_that_are_not_ip() {
    let lan = std::fs::read(root().join("captures/lan.pcap")).expect("the capture can be read");
    let record = [&[0; 8], &14u32.to_le_bytes()[..], &14u32.to_le_bytes(), &[0; 14]].concat();
    let folder = std::env::temp_dir().join(format!("weir-not-ip-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there can be a folder");
    std::fs::write(folder.join("not-ip.pcap"), [&lan[..24], &record].concat()).expect("it can be written");
    std::fs::write(folder.join("lan.pcap"), lan).expect("it can be written");
    // In the run that looks at it, before anybody else's turn, and behind the packet itself.
    let graph =
        "f :: FromDump(not-ip.pcap, STOP true, FORCE_IP true) -> Discard; f[1] -> Print(other) -> Discard;
        g :: FromDump(lan.pcap) -> Discard";
    let output = weir_in(&folder, &["click", "-e", graph, "-h", "g.count"]);
    std::fs::remove_dir_all(&folder).expect("the folder is there");
    assert_eq!(stdout(&output), "0\n");
    assert_eq!(stderr(&output), "other:   14 | 00000000 00000000 00000000 0000\n");
}

#[test]
fn click_prints_handlers_in_turn_with_elements() {
    let graph = "FromIPSummaryDump(DATA '!data sport\n5', STOP true) -> ToIPSummaryDump(-, FIELDS sport, HEADER false)";
    let output = weir(&["click", "-e", graph, "-h", "timewarp"]);
    assert_eq!(stdout(&output), "5\n1\n", "{}", stderr(&output));
}

#[test]
fn click_exits_with_what_a_handler_call_gives() {
    let graph = "s :: Script(TYPE PASSIVE, return $(s.add $1 1)); c :: RatedSource -> Discard";
    let cases = [
        ("s.run 5", 6, ""),
        (" \"s\".run 5 ", 6, ""),
        ("s.eq 1 1", 0, ""),
        ("s.add 3 4", 7, ""),
        ("c.rate 5", 255, "read handler 'c.rate' does not take parameters\n"),
        ("1.name", 255, "no element named '1'\n"),
        ("s.none", 255, "no 's.none' read handler\n"),
        ("s.add x", 255, "exit handler value should be integer\n"),
        (" ", 255, "syntax error\n"),
    ];
    for (call, code, told) in cases {
        let output = weir(&["click", "-q", "-e", graph, "-x", call]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(code), told), "{call}");
    }
}

#[test]
fn click_takes_a_variables_first_value() {
    let output =
        weir(&["click", "-q", "a=1", "-e", "Idle -> Strip($a) -> Discard", "a=2", "-h", "Strip@2.config"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("1\n", Some(0)));
    assert_eq!(stderr(&output), "parameter 'a' multiply defined\n");
}

#[test]
fn click_makes_control_sockets_of_ports_files_and_descriptors() {
    let path = scratch("options.socket");
    let options = ["-u", &path, "--socket", "0", "-p", "0", "-p", "http"];
    let first = ["click", "-q", "-o", "-", "-e", "Idle -> Discard"];
    // Nobody else need be able to have port 80.
    let output = weir(&[&first[..], &options[..6]].concat());
    let sockets: Vec<String> = stdout(&output)
        .lines()
        .filter_map(|line| Some(line.split_once(":: Control")?.1.to_string()))
        .collect();
    let expected =
        ["Socket(TCP, 0);".to_string(), format!("Socket(UNIX, {path});"), "Socket(SOCKET, 0);".to_string()];
    assert_eq!(sockets, expected, "{}", stderr(&output));
    let output = weir(&["click", "-q", "-p", "http+", "-e", "Idle"]);
    assert!(stderr(&output).starts_with("click: ‘-p’ expects a TCP port number, not ‘http+’\n"));
    let output = weir(&["click", "-q", "-u", "", "-e", "Idle -> Discard"]);
    assert!(stderr(&output).contains("  FILENAME: required argument missing\n"), "{}", stderr(&output));
}

#[test]
fn click_reads_the_standard_input_where_a_name_is_empty() {
    for args in [&["click", "-q", ""][..], &["click", "-q", "-f", ""], &["click", "-q", "--file="]] {
        let output = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(args)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("the command runs");
        assert_eq!((stderr(&output).as_str(), output.status.code()), ("", Some(0)), "{args:?}");
    }
}

#[test]
fn click_lists_hotconfig_among_the_handlers() {
    let output = weir(&["click", "-q", "-R", "-e", "Idle -> Discard", "-h", "handlers"]);
    assert!(stdout(&output).ends_with("packages\tr\nhotconfig\tw%\ntimewarp\trw\n"), "{}", stdout(&output));
}

#[test]
fn click_tells_texts_that_look_like_places_as_they_are() {
    let told = |graph: &str| stderr(&weir(&["click", "-e", graph]));
    assert!(
        told("FromDump(/no/01T12:30) -> Discard").contains("\n  /no/01T12:30: No such file or directory\n")
    );
    let script = "While executing 'Script@1 :: Script':\n";
    assert_eq!(told("Script(write stop, error 12:30: hello)"), format!("{script}  12:30: hello\n"));
    assert_eq!(told("Script(write stop, error {a} b)"), format!("{script}   b\n"));
    assert_eq!(told("Script(write stop, error {l:f:1}b)"), format!("f:1: {script}f:1:   b\n"));
    let dump = scratch("1.2.3.4");
    std::fs::write(&dump, "1 2\n").expect("the file can be written");
    let told = told(&format!("FromIPSummaryDump({dump}, STOP true) -> Discard"));
    assert!(told.contains(&format!("\n{dump}:0:   warning: missing banner line")), "{told}");
    assert!(told.contains(&format!("\n{dump}:1: no '!data' provided")), "{told}");
}

#[test]
fn click_does_not_warp_simulated_time() {
    let graph = "DriverManager(write timewarp 2, stop)";
    let output = weir(&["click", "--simtime", "-e", graph, "-h", "timewarp"]);
    assert_eq!(stdout(&output), "simulation\n");
    assert_eq!(stderr(&output), "no 'timewarp' write handler\n");
}

#[test]
fn click_lists_requirements_by_kind_and_name() {
    let output = weir(&["click", "-e", "require(compact_config); DriverManager(stop)", "-h", "requirements"]);
    assert_eq!(stdout(&output), "compact_config\n\n");
}

#[test]
fn files_without_a_name_are_standard_input() {
    for class in ["FromTcpdump", "FromNetFlowSummaryDump", "FromCapDump"] {
        let graph = format!("{class}(, STOP true) -> Discard");
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(["click", "-e", &graph]).stdin(std::process::Stdio::null());
        let told = stderr(&command.output().expect("the command runs"));
        assert!(told.contains("\n<stdin>:0:   empty file\n"), "{told}");
    }
}

#[test]
fn handlers_know_files_of_the_home_folder_and_a_script_shows_the_standard_input() {
    let own = scratch("home-file");
    std::fs::write(&own, "own").expect("the file can be written");
    let folder = Path::new(&own).parent().expect("it is in a folder");
    let script = "Idle -> a :: AggregateCounter -> Idle; Script(write a.write_text_file ~/home-counts,
        print $(cat ~/home-file)$(catq -), print $(cat ~/missing), stop)";
    let mut click = Command::new(env!("CARGO_BIN_EXE_weir"));
    click.args(["click", "-e", script]).env("HOME", folder);
    let piped = click.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = piped.expect("the command runs");
    child.stdin.take().expect("it is a pipe").write_all(b"sent").expect("somebody reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(stdout(&output), "own\"sent\"\n");
    let missing = format!("{}/missing: No such file or directory\n", folder.display());
    assert!(stderr(&output).ends_with(&missing), "{}", stderr(&output));
    assert!(folder.join("home-counts").exists());
}

#[test]
fn click_tells_what_elements_print_where_it_stands_among_warnings() {
    let graph = "s :: FastUDPSource(1, 0, 3, 0:1:2:3:4:5, 1.0.0.1, 1, 0:1:2:3:4:6, 1.0.0.2, 2)
        -> Discard; RoundRobinIPMapper(1.0.0.1 5 - - 0 0)";
    assert_eq!(
        stderr(&weir(&["click", "-q", "-e", graph])),
        "config:2: While configuring 'RoundRobinIPMapper@3 :: RoundRobinIPMapper':\n  warning: only one pattern given\n\
         warning: packet length < 60, defaulting to 60\n"
    );
    let graph =
        "p :: ICMPPingSource(1.0.0.1, 1.0.0.2) -> Discard; Idle -> p; Idle -> RED(1, 2, 0.5) -> Discard";
    assert_eq!(
        stderr(&weir(&["click", "-q", "-e", graph])),
        "config:1: While initializing 'RED@5 :: RED':\n  no nearby Queues\nRouter could not be initialized!\n\
         p :: ICMPPingSource: 0 packets transmitted, 0 received\n"
    );
}

#[test]
fn click_knows_no_ethernet_address_of_a_loopback() {
    let output = weir(&["click", "-e", "Idle -> HostEtherFilter(lo:eth) -> Discard; DriverManager(stop)"]);
    let expected = "\
config:1: While configuring 'HostEtherFilter@2 :: HostEtherFilter':
  ETHER: parse error
Router could not be initialized!
";
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(1), expected));
}

#[test]
fn click_tells_places_in_front_of_what_it_was_doing() {
    let graph = "DriverManager(writeq hotconfig 'Idle -> Queue(x, 1) -> Discard', stop)";
    let output = weir(&["click", "-R", "-e", graph]);
    let expected = "\
config:1: While calling 'hotconfig Idle -> Queue(x, 1) -> Discard':
config:1:   While configuring 'Queue@2 :: Queue':
    CAPACITY: invalid number
    too many arguments
  Router could not be initialized!
";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn click_lets_ip_tell_of_devices_that_are_not_there() {
    let graph = "AddressInfo(a weir-none:gw)";
    let asked = "/sbin/ip route show to 0/0 oif weir-none";
    let told = Command::new("/bin/sh").args(["-c", asked]).output().expect("there is a shell");
    let output = weir(&["click", "-q", "-e", graph]);
    let expected = "config:1: While configuring 'AddressInfo@1 :: AddressInfo':\n  \
                    'weir-none:gw' is not a recognizable address\nRouter could not be initialized!\n";
    assert_eq!(stderr(&output), stderr(&told) + expected);
}

#[test]
fn click_reads_a_configuration_from_an_archive() {
    let file = scratch("config.ar");
    let config = "Idle -> n :: Null -> Discard";
    let header = format!("{:<16}{:<32}{:<10}`\n", "config/", "0", config.len());
    std::fs::write(&file, format!("!<arch>\n{header}{config}")).expect("the file can be written");
    let output = weir(&["click", "-q", &file, "-h", "n.class"]);
    assert_eq!(stdout(&output), "Null\n", "{}", stderr(&output));
    std::fs::write(&file, "!<arch>\n").expect("the file can be written");
    let output = weir(&["click", "-q", &file]);
    assert!(
        stderr(&output).ends_with("archive has no 'config' section\n") && output.status.code() == Some(1)
    );
}

#[test]
fn control_sockets_answer_llrpcs() {
    let path = scratch("llrpc.socket");
    let graph = format!(
        "ControlSocket(UNIX, {path}); Idle -> s :: Switch(0) -> c :: Counter -> Discard; s[1] -> Discard"
    );
    let mut running = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["click", "-e", &graph])
        .spawn()
        .expect("the command runs");
    // It listens some time after it was started; until then nobody can connect.
    let socket = (0..10_000_000).find_map(|_| UnixStream::connect(&path).ok());
    let mut socket = socket.expect("the graph listens");
    let commands = b"llrpc s#80044006 4\n\x01\0\0\0llrpc s#4004C005\nllrpc s#80044006 4\n\x02\0\0\0\
        llrpc c#C004C003 4\n\x01\0\0\0llrpc c#C004C003 4\n\x05\0\0\0llrpc c#1\nwrite stop\n";
    socket.write_all(commands).expect("the graph reads");
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).expect("the graph answers");
    assert!(running.wait().expect("the graph ends").success());
    let answer =
        String::from_utf8_lossy(&answer).replace("\r\n", "|").replace('\0', "0").replace('\x01', "1");
    let expected =
        "Click::ControlSocket/1.3|200 LLRPC 's#80044006' OK|DATA 0|200 LLRPC 's#4004C005' OK|DATA 4|1000\
        522 LLRPC 's#80044006' error: Invalid argument|200 LLRPC 'c#C004C003' OK|DATA 4|0000\
        522 LLRPC 'c#C004C003' error: Invalid argument|501 Cannot call LLRPC 'c#1' remotely|\
        200 Write handler 'stop' OK|";
    assert_eq!(answer, expected);
}

#[test]
fn hotconfig_answers_when_the_new_graph_has_begun_or_failed() {
    let path = scratch("hotconfig.socket");
    let mut running = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["click", "-R", "-u", &path, "-e", "c :: Idle -> Discard"])
        .spawn()
        .expect("the command runs");
    let socket = (0..10_000_000).find_map(|_| UnixStream::connect(&path).ok());
    let mut socket = socket.expect("the graph listens");
    let commands = b"write hotconfig FromDump(/nosuch.pcap) -> Discard\nread c.class\n\
        write hotconfig s :: Idle -> Discard; FromDump(/nosuch.pcap, SAMPLE 0, ACTIVE false) -> Discard\n\
        write hotconfig s :: Idle -> Discard; FromIPSummaryDump(DATA x, ACTIVE false) -> Discard\n\
        read s.class\nwrite stop\n";
    socket.write_all(commands).expect("the graph reads");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("the graph answers");
    assert!(running.wait().expect("the graph ends").success());
    let expected = "Click::ControlSocket/1.3|520-Write handler 'hotconfig' error:|\
        520-config:1: While initializing 'FromDump@1 :: FromDump':|520-  /nosuch.pcap: No such file or directory|\
        520 Router could not be initialized!|200 Read handler 'c.class' OK|DATA 4|Idle\
        520-Write handler 'hotconfig' error:|520-config:1: While configuring 'FromDump@3 :: FromDump':|\
        520-  warning: SAMPLE probability is 0; emitting no packets|\
        520-config:1: While initializing 'FromDump@3 :: FromDump':|\
        520-  /nosuch.pcap: No such file or directory|520 Router could not be initialized!|\
        220-Write handler 'hotconfig' OK with warnings:|\
        220-config:1: While initializing 'FromIPSummaryDump@3 :: FromIPSummaryDump':|\
        220 <data>:0:   warning: missing banner line; is this an IP summary dump?|\
        200 Read handler 's.class' OK|DATA 4|Idle200 Write handler 'stop' OK|";
    assert_eq!(answer.replace("\r\n", "|"), expected);
}

#[test]
fn a_graph_goes_on_when_a_control_connection_is_given_up() {
    let path = scratch("given-up.socket");
    let mut running = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["click", "-e", &format!("ControlSocket(UNIX, {path}); Idle -> c :: Counter -> Discard")])
        .spawn()
        .expect("the command runs");
    let connect =
        || (0..10_000_000).find_map(|_| UnixStream::connect(&path).ok()).expect("the graph listens");
    for _ in 0..5 {
        // The answers find nobody any more.
        connect().write_all(&b"READ config\n".repeat(1000)).expect("the graph reads");
    }
    connect().write_all(b"WRITE stop\n").expect("the graph reads");
    assert!(running.wait().expect("the graph ends").success());
}

#[test]
fn a_full_disk_and_a_message_that_nobody_receives_are_no_panic() {
    let full = || std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    for args in [
        &["elements"][..],
        &["help", "Queue"],
        &["elements", "--json"],
        &["man", "run"],
        &["completions", "bash"],
        &["fmt", "examples/source.click"],
        &["flatten", "-e", "Idle -> Discard"],
        &["help"],
        &["--help"],
        &["--version"],
        &["run", "--help"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(args)
            .current_dir(root())
            .stdout(full())
            .output()
            .expect("it runs");
        assert_eq!(stderr(&output), "weir: standard output: No space left on device\n", "{args:?}");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
    }
    for args in [&["check", "-e", "Foo"][..], &["run", "no-such-file"], &["read", "no-such-file"]] {
        let status = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(args)
            .stdout(std::process::Stdio::null())
            .stderr(full())
            .status();
        assert_eq!(status.expect("it runs").code(), Some(1), "{args:?}");
    }
}

#[test]
fn records_that_cannot_be_written_are_told_and_fail_the_run() {
    let source = "FromDump(captures/lan.pcap, STOP true)";
    let full = "No space left on device";
    for (graph, due) in [
        (format!("{source} -> ToDump(/dev/full)"), format!("ToDump(/dev/full): {full}")),
        (format!("{source} -> MarkIPHeader(14) -> IPPrint(OUTFILE /dev/full) -> Discard"), format!("/dev/full: {full}")),
        (format!("{source} -> MarkMACHeader(0, 14) -> ARPPrint(OUTFILE /dev/full) -> Discard"), format!("/dev/full: {full}")),
        (format!("{source} -> MarkIPHeader(14) -> ToIPSummaryDump(/dev/full)"), format!("/dev/full: {full}")),
        (
            format!("{source} -> b :: PPPoEServer(2:0:0:0:0:1, 10.0.0.1, STATIC 2:0:0:0:0:2 7 10.0.0.7, ACCOUNTING /dev/full) -> Discard; Idle -> [1] b; b[1] -> Discard"),
            format!("/dev/full: {full}"),
        ),
    ] {
        let output = weir(&["run", "-e", &graph]);
        let told = stderr(&output);
        assert_eq!((output.status.code(), told.matches(&due).count()), (Some(1), 1), "{graph}\n{told}");
        assert!(!told.contains("  out  ") || told.contains("  out  /dev/full                             0 packets"), "{told}");
    }
    let graph = format!("{source} -> MarkIPHeader(14) -> IPPrint(OUTFILE /dev/full) -> Discard");
    let output = weir(&["click", "-e", &graph]);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""), "Click says nothing");
}

#[test]
fn alerts_for_a_standard_output_that_is_full_are_told_of_by_its_name() {
    let graph = "FromDump(captures/lan.pcap, STOP true) -> MarkIPHeader(14)
        -> IntrusionDetector(RULE 'alert ip any any -> any any (sid:1;)', EVE -) -> Discard";
    let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["run", "-q", "-e", graph])
        .current_dir(root())
        .stdout(full)
        .output()
        .expect("it runs");
    let told = stderr(&output);
    assert!(told.contains("standard output: No space left on device; no more alerts are written"), "{told}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_capture_that_is_cut_off_fails_the_run() {
    let (cut, whole) =
        (scratch("cut.pcap"), std::fs::read(root().join("captures/lan.pcap")).expect("it is there"));
    std::fs::write(&cut, &whole[..50_000]).expect("a temporary file can be written");
    let graph = format!("FromDump({cut}, STOP true) -> c :: Counter -> Discard");
    let output = weir(&["run", "--json", "--read", "c.count", "--read", "c.class", "-e", &graph]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("truncated record"), "{}", stderr(&output));
    let summary: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("all of it is JSON");
    assert_eq!(summary["read"], serde_json::json!({ "c.count": "78", "c.class": "Counter" }));
    let graph = format!("f :: FromDump({cut}, STOP true) -> Discard");
    let output = weir(&["click", "-e", &graph, "-h", "f.filepos"]);
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), ""), "Click says nothing");
    assert_eq!(stdout(&output), "50000\n");
}

#[test]
fn a_compressed_capture_that_is_cut_off_is_told_of_as_by_gzip() {
    let (whole, cut) = (scratch("whole.pcap.gz"), scratch("cut.pcap.gz"));
    weir(&["click", "-e", &format!("FromDump(captures/lan.pcap, STOP true) -> ToDump({whole})")]);
    let bytes = std::fs::read(&whole).expect("it was written");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).expect("a temporary file can be written");
    let output = weir(&["click", "-e", &format!("FromDump({cut}, STOP true) -> Discard")]);
    let due = format!("\ngzip: {cut}: unexpected end of file\n");
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(0), &*due));
}

#[test]
fn what_is_no_field_is_printed_as_in_click() {
    let told =
        |command: &str| stderr(&weir(&[command, "-e", "Idle -> AggregateIP(tcp nosuch/8) -> Discard"]));
    assert!(told("click").starts_with(" nosuch/8\nconfig:1: While configuring "), "{}", told("click"));
    assert!(!told("run").starts_with(" nosuch"));
}

#[test]
fn values_of_handlers_follow_what_is_told_of_others_as_in_click() {
    let click = format!("{} click -q -e 'i :: Idle(); i -> Discard'", env!("CARGO_BIN_EXE_weir"));
    let command = format!("{click} -h i.name -h i.no -h i.class 2>&1");
    let output = Command::new("sh").args(["-c", &command]).output().expect("a shell is there");
    assert_eq!(stdout(&output), "no 'i.no' handler\ni.name:\ni\n\ni.class:\nIdle\n\n");
}

#[test]
fn a_run_writes_no_file_that_it_reads_and_warns_of_variables_that_nothing_mentions() {
    let file = scratch("own.pcap");
    std::fs::copy(root().join("captures/lan.pcap"), &file).expect("it can be copied");
    let before = std::fs::read(&file).expect("it is there");
    let graph = "FromDump($IN, STOP true) -> ToDump($OUT)";
    let output = weir(&["run", "-e", graph, &format!("IN={file}"), &format!("OUT={file}")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("input file is output file; write to another one"),
        "{}",
        stderr(&output)
    );
    assert!(std::fs::read(&file).expect("it is there") == before);
    let output = weir(&["run", "-q", "-e", "Idle -> Discard; DriverManager(stop)", "FOO=1"]);
    assert_eq!(stderr(&output), "weir: warning: FOO=...: config has no variable $FOO\n");
    let output = weir(&["check", "-e", "Idle -> Discard", "FOO=1"]);
    assert_eq!(stderr(&output), "config: warning: FOO=...: it has no variable $FOO\n");
}

#[test]
fn a_capture_is_no_configuration() {
    let file = root().join("captures/lan.pcap").display().to_string();
    for command in ["run", "check", "flatten", "graph", "bench"] {
        let output = weir(&[command, &file]);
        let due =
            format!("weir: {file}: it is a capture and no configuration; `weir read` reads its packets\n");
        assert_eq!((output.status.code(), stderr(&output)), (Some(1), due), "{command}");
    }
}

#[test]
fn values_of_options_are_refused_with_what_can_be() {
    for (line, due) in [
        ("status abc", "expected the number of a stage; `weir status` lists them"),
        ("insert --after abc count", "expected the number of a stage; `weir status` lists them"),
        ("candidate commit --confirm-within abc", "expected a number of seconds from 1 to 86400, such as 60"),
        ("serve --keep-state=abc", "expected a time such as 10s or 5min"),
        ("serve --listen host:99999", "expected ADDRESS:PORT, such as 10.0.0.1:8443 or [::]:8443"),
        ("linux --gateway foo", "give an address, such as 10.0.0.1 or fd00::1"),
        ("linux --right 10.0.0.1", "`10.0.0.1` has no prefix length; give one, such as 10.0.0.1/24"),
        ("port t --address fd00::1", "`fd00::1` has no prefix length; give one, such as fd00::1/64"),
        ("write x.pcap.zst", "captures are not written as `.zst`; compressed ones end with `.gz` or `.bz2`"),
    ] {
        let output = weir(&line.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{line}");
        assert!(stderr(&output).contains(due), "{line}: {}", stderr(&output));
    }
}

#[test]
fn mistakes_are_told_with_place_and_remedy() {
    let output = weir(&["check", "-e", "Idle -> DecIPTL -> Discard"]);
    let text = stderr(&output);
    assert!(text.starts_with("config:1:") && text.contains("help: "), "{text}");
    let output = weir(&["check", "--json", "-e", "Idle -> Strip(x) -> Discard"]);
    let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("the report is JSON");
    assert_eq!(report["ok"], false);
    assert_eq!(report["diagnostics"][0]["element"], "Strip@2 :: Strip");
    let output = weir(&["run", "no-such-file.click"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("no-such-file.click: No such file or directory"));
    let output = weir(&["help", "Countr"]);
    assert!(stderr(&output).contains("did you mean `Counter`?"));
}

#[test]
fn a_running_graph_answers_and_ends_cleanly() {
    let runtime = scratch("runtime");
    std::fs::create_dir_all(&runtime).expect("a temporary folder can be made");
    let graph = "s :: RatedSource(RATE 1000) -> c :: Counter -> Discard";
    let name = format!("test-{}", std::process::id());
    let ask = |args: &[&str]| {
        let command = &mut Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(args).env("XDG_RUNTIME_DIR", &runtime).output().expect("the command runs")
    };
    let running = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["run", "--json", "--name", &name, "-e", graph])
        .env("XDG_RUNTIME_DIR", &runtime)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the command runs");
    // The graph answers as soon as it listens; asking fails until then.
    let answered =
        (0..20_000).any(|_| ask(&["handler", "--graph", &name, "read", "c.class"]).status.success());
    assert!(answered, "the graph does not answer");
    let output = ask(&["trace", "--graph", &name, "-c", "2"]);
    assert!(stdout(&output).contains("c :: Counter"), "{} {}", stdout(&output), stderr(&output));
    let output = ask(&["tap", "--graph", &name, "-c", "3", "c"]);
    assert_eq!(output.stdout.get(..4), Some(&[0x4d, 0x3c, 0xb2, 0xa1][..]));
    let output = ask(&["handler", "--graph", &name, "read", "c.nonsense"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(ask(&["handler", "--graph", &name, "write", "stop"]).status.success());
    let output = running.wait_with_output().expect("the graph ends");
    assert!(output.status.success());
}

#[test]
fn a_trace_that_nobody_reads_tells_how_much_is_left_out() {
    use std::io::{BufRead, BufReader, Write};

    let runtime = scratch("slow-trace");
    std::fs::create_dir_all(&runtime).expect("a temporary folder can be made");
    let name = format!("slow-{}", std::process::id());
    let weir = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
        command.args(args).env("XDG_RUNTIME_DIR", &runtime).stdout(std::process::Stdio::piped());
        command
    };
    let graph = "InfiniteSource -> c :: Counter -> Discard";
    let running = weir(&["run", "--json", "--name", &name, "-e", graph]).spawn().expect("the command runs");
    let read = |handler: &str| {
        let output = weir(&["handler", "--graph", &name, "read", handler])
            .stderr(std::process::Stdio::null())
            .output()
            .expect("the command runs");
        stdout(&output).trim().parse::<u64>().ok()
    };
    assert!((0..20_000).any(|_| read("c.count").is_some()), "the graph does not answer");
    let path = format!("{runtime}/weir/{name}.sock");
    let mut stream = std::os::unix::net::UnixStream::connect(path).expect("the graph listens");
    writeln!(stream, r#"{{"op":"trace","count":1000000000,"filter":""}}"#).expect("the graph reads");
    let begin = read("c.count").expect("the graph answers");
    // More than the queue and the socket hold.
    assert!((0..20_000).any(|_| read("c.count").is_some_and(|count| count > begin + 100_000)));
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("the graph writes"));
    assert!(lines.by_ref().take(100_000).any(|line| line.starts_with(r#"{"left_out":"#)));
    drop(lines);
    assert!(weir(&["handler", "--graph", &name, "write", "stop"]).status().expect("it runs").success());
    running.wait_with_output().expect("the graph ends");
}

#[test]
fn who_asks_a_stopped_graph_is_told_and_goes_on_waiting() {
    let runtime = scratch("silent");
    std::fs::create_dir_all(&runtime).expect("a temporary folder can be made");
    let script = r#"
        "$1" run -q --name silent -e 'Script(wait 100s)' > /dev/null & graph=$!
        trap 'kill -CONT $graph; kill $graph' EXIT
        "$1" handler --wait=10 -g silent list || exit 1
        kill -STOP $graph
        "$1" handler -g silent list 2> "$XDG_RUNTIME_DIR/told" & asking=$!
        for try in $(seq 1000); do [ -s "$XDG_RUNTIME_DIR/told" ] && break; sleep 0.02; done
        kill -CONT $graph
        wait $asking || exit 2
        cat "$XDG_RUNTIME_DIR/told""#;
    let output = Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_weir")])
        .env("XDG_RUNTIME_DIR", &runtime)
        .output()
        .expect("the shell runs");
    let expected = "1\nScript@1\n1\nScript@1\nweir: no answer so far; the graph may be busy, or stopped (SIGSTOP; `kill -CONT` \
                    lets it go on)\n";
    assert_eq!(stdout(&output), expected, "{output:?}");
}

#[test]
fn formatting_is_stable_and_keeps_the_meaning() {
    let file = "examples/nat-firewall.click";
    let once = stdout(&weir(&["fmt", file]));
    let copy = scratch("fmt.click");
    std::fs::write(&copy, &once).expect("a temporary file can be written");
    assert_eq!(stdout(&weir(&["fmt", &copy])), once);
    assert_eq!(stdout(&weir(&["flatten", &copy])), stdout(&weir(&["flatten", file])));
}

#[test]
fn formatting_writes_through_links_and_reads_standard_input() {
    let (file, link) = (scratch("linked.click"), scratch("link.click"));
    std::fs::write(&file, "Idle->Discard").expect("a temporary file can be written");
    std::os::unix::fs::symlink("linked.click", &link).expect("links can be made");
    assert!(weir(&["fmt", "-w", &link]).status.success());
    assert!(std::fs::symlink_metadata(&link).expect("it is there").is_symlink());
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "Idle -> Discard;\n");
    let input = std::fs::File::open(&file).expect("it is there");
    let output = Command::new(env!("CARGO_BIN_EXE_weir")).args(["fmt", "-"]).stdin(input).output();
    assert_eq!(stdout(&output.expect("it runs")), "Idle -> Discard;\n");
}

#[test]
fn formatting_that_fails_leaves_the_file_and_nothing_beside_it() {
    let file = scratch("large.click");
    std::fs::write(&file, "Idle->Discard").expect("a temporary file can be written");
    // A file that may not grow stands for a full disk.
    let output = shell(&format!("trap '' XFSZ; ulimit -f 0; weir fmt -w {file} 2>/dev/null"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "Idle->Discard");
    assert!(!std::path::Path::new(&format!("{file}.weir-fmt")).exists());
}

#[test]
fn pages_come_from_the_definitions() {
    assert!(stdout(&weir(&["help", "DecIPTTL"])).starts_with("# DecIPTTL\n"));
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/functions/nat.md"));
    assert_eq!(stdout(&weir(&["help", "nat"])), page.unwrap());
    assert!(stdout(&weir(&["completions", "bash"])).contains("_weir"));
    assert!(stdout(&weir(&["man"])).contains(".TH"));
    let linux = stdout(&weir(&["help", "linux"]));
    assert!(linux.contains("Usage: weir linux [OPTIONS]") && linux.contains("Examples:\n"), "{linux}");
    assert_eq!(linux, stdout(&weir(&["linux", "--help"])));
    let add = stdout(&weir(&["help", "live", "add"]));
    assert!(add.contains("Usage: weir live <GRAPH> add "), "{add}");
    let wrong = weir(&["help", "live", "ad"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("`weir help live` shows what there is"), "{}", stderr(&wrong));
    for command in ["read", "write", "port", "stage", "chain", "status", "insert", "remove", "replace"] {
        let help = stdout(&weir(&["help", command]));
        assert!(help.contains(&format!("Usage: weir {command} ")) && help.contains("Examples:\n"), "{help}");
    }
    assert!(stdout(&weir(&["help"])).contains("Usage: weir <COMMAND>") && weir(&["help"]).status.success());
    assert!(stdout(&weir(&["help", "router"])).contains("Usage: weir create router "));
    assert!(stderr(&weir(&["help", "routr"])).contains("did you mean `route`?"));
    assert!(stderr(&weir(&["help", "linx"])).contains("did you mean `linux`?"));
    assert!(stdout(&weir(&["graph", "--mermaid", "examples/source.click"])).contains("Counter"));
}

#[test]
fn a_handler_whose_script_gives_up_is_no_success() {
    let graph = "s :: Script(TYPE PASSIVE, label a, goto a); Idle -> Discard; DriverManager(stop)";
    for options in
        [&["click", "-e", graph, "-h", "s.run"][..], &["run", "-q", "-e", graph, "--read", "s.run"]]
    {
        let output = weir(options);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(stderr(&output), "s :: Script: too many jumps, giving up\n");
    }
    assert!(weir(&["click", "-e", graph, "-h", "s.class"]).status.success());
}

#[test]
fn a_manual_page_is_printed_and_all_are_written_into_a_folder() {
    let folder = scratch("man");
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let page = weir_in(Path::new(&folder), &["man", "nat"]);
    let text = stdout(&page);
    assert!(text.contains(".TH WEIR-NAT 1") && text.contains("\n.SH EXAMPLES\n.nf\n"), "{text}");
    assert!(!Path::new(&folder).join("nat").exists());
    let output = weir_in(Path::new(&folder), &["man", "pages/"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let written = Path::new(&folder).join("pages/weir-nat.1");
    assert_eq!(std::fs::read_to_string(written).expect("the page was written"), text);
    let output = weir_in(Path::new(&folder), &["man", "nta"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no command `nta`") && stderr(&output).contains("did you mean `nat`?"));
    assert!(!Path::new(&folder).join("nta").exists());
    let in_folder = |name: &str| Path::new(&folder).join(name);
    std::fs::create_dir(in_folder("nat")).expect("there is no such folder");
    std::fs::write(in_folder("hex"), "").expect("there is no such file");
    std::fs::write(in_folder("natt"), "").expect("there is no such file");
    assert_eq!(
        stdout(&weir_in(Path::new(&folder), &["man", "nat"])),
        text,
        "a command is meant, not the folder"
    );
    assert!(!in_folder("nat/weir.1").exists());
    assert!(
        weir_in(Path::new(&folder), &["man", "nat/"]).status.success() && in_folder("nat/weir.1").exists()
    );
    assert!(stdout(&weir_in(Path::new(&folder), &["man", "hex"])).contains(".TH WEIR-HEX 1"));
    let output = weir_in(Path::new(&folder), &["man", "natt"]);
    assert!(output.status.code() == Some(2) && stderr(&output).contains("did you mean `nat`?"));
}

#[test]
fn what_cannot_be_read_at_the_end_is_told_at_the_start() {
    let source = "RatedSource -> c :: Counter -> Discard";
    let output = weir(&["run", "-e", source, "--read", "nosuch.count", "--read", "c.nosuch"]);
    let due = "weir: --read nosuch.count: no element named 'nosuch'\nweir: --read c.nosuch: no 'c.nosuch' read handler\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (due, Some(2)));
}

#[test]
fn an_empty_configuration_is_doubtful_and_no_error() {
    let output = weir(&["run", "-q", "-e", " // nothing"]);
    let due = "weir: warning: config: the configuration has no elements\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (due, Some(0)));
    let output = weir(&["check", "-e", " // nothing"]);
    let due = "config: warning: the configuration has no elements\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (due, Some(0)));
}

#[test]
fn bytes_of_other_encodings_stay_in_the_standard_layout() {
    let file = scratch("latin1.click");
    std::fs::write(&file, b"// caf\xe9 \xa0\nIdle->Discard; // \xf4\x8f\xbc\x80 \xff\n")
        .expect("the file can be written");
    let due = b"// caf\xe9 \xa0\nIdle -> Discard; // \xf4\x8f\xbc\x80 \xff\n";
    assert_eq!(weir(&["fmt", &file]).stdout, due);
    assert!(weir(&["fmt", "--write", &file]).status.success());
    assert_eq!(std::fs::read(&file).expect("the file is there"), due);
    assert!(weir(&["fmt", "--check", &file]).status.success());
}

#[test]
fn no_class_that_matches_is_a_failure_in_each_form() {
    assert_eq!(weir(&["elements", "zzz"]).status.code(), Some(1));
    let output = weir(&["elements", "zzz", "--json"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("[]\n", Some(1)));
}

#[test]
fn clients_wait_for_a_graph_that_starts_if_they_are_told_to() {
    let name = format!("test-wait-{}", std::process::id());
    let output = weir(&["handler", "read", "c.count", "--graph", &name]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with(&format!("weir: no running graph named `{name}`\n")),
        "{}",
        stderr(&output)
    );
    let run = format!(
        "sleep 0.3; exec {0} run -q --name {name} -e 'RatedSource -> c :: Counter -> Discard'",
        env!("CARGO_BIN_EXE_weir")
    );
    let mut graph = Command::new("sh").args(["-c", &run]).spawn().expect("a shell is there");
    let output = weir(&["handler", "--wait=30", "list", "--graph", &name]);
    assert!(output.status.success() && stdout(&output).contains("c\n"), "{}", stderr(&output));
    let output = weir(&["live", &name, "watches", "--wait"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let output = weir(&["live", &name, "unwatch", "w"]);
    assert_eq!(stderr(&output), "weir: no watch `w`; there is none; `weir live GRAPH watch` makes one\n");
    assert!(weir(&["handler", "write", "stop", "--graph", &name]).status.success());
    assert!(graph.wait().expect("the graph ends").success());
}

#[test]
fn wrong_command_lines_give_status_2_and_all_else_that_fails_gives_1() {
    let graph = "Idle -> Discard";
    for (args, due) in [
        (&["run"][..], "no configuration; name a file"),
        (&["run", ""], "the name of the file is empty"),
        (&["run", "-e", graph, "file.click"], "`file.click`: there is a configuration already"),
        (&["run", "-e", graph, "--name", "a/b"], "`a/b` is no name for a graph"),
        (&["run", "-e", graph, "--simtime=nan"], "give a number of seconds from 0 to 9000000000"),
        (&["run", "-e", graph, "--simtime=1e300"], "give a number of seconds from 0 to 9000000000"),
        (&["check"], "no configuration; name a file"),
        (&["flatten", "-e", graph, "-"], "`-`: there is a configuration already"),
        (&["graph"], "no configuration; name a file"),
        (&["fmt", ""], "a value is required for '[FILES]...'"),
        (&["help", "Quueue"], "did you mean `Queue`?"),
        (&["trace", "not", "a", "filter"], "can't parse filter expression"),
        (&["trace", "-c", "x"], "expected a number of packets, such as 100"),
        (&["trace", "-g", "g", "-c", "0"], "expected at least 1 packet"),
        (
            &["live", "g", "rollback", "x"],
            "expected the number of a graph; `weir live GRAPH history` lists them",
        ),
        (&["chain", "--name", "a/b", "count"], "`a/b` is no name for a graph"),
        (&["live", "a/b", "show"], "`a/b` is no name for a graph"),
        (&["live", "a/b", "watch", "w", "c.count", "--rising", "1"], "`a/b` is no name for a graph"),
        (&["live", "a/b", "events"], "`a/b` is no name for a graph"),
        (&["handler", "list", "--graph", "a/b"], "`a/b` is no name for a graph"),
        (&["trace", "--graph", "a/b"], "`a/b` is no name for a graph"),
        (&["tap", "--graph", "a/b", "c"], "`a/b` is no name for a graph"),
        (&["nat"], "nat: --left-address ADDRESS/LENGTH is needed"),
        (&["policer"], "policer: there is nothing to limit"),
        (&["filter", "not a filter"], "can't parse filter expression"),
        (&["port", "a-name-that-is-too-long"], "give at most 15 bytes"),
        (&["count", "--if", "left=tap:a-name-that-is-too-long"], "give at most 15 bytes"),
        (&["insert", "--after", "5", "nosuch"], "insert: no stage `nosuch`; stages are stage, read"),
        (&["insert", "--after", "5", "write", "x"], "insert: `write` is an end of a chain"),
        (&["replace", "5", "count", "--if", "left=file:x"], "`count` has no pipe at its interface `left`"),
        (&["replace", "5", "nat"], "weir: replace: nat: --left-address ADDRESS/LENGTH is needed"),
        (&["create"], "say `weir create FUNCTION NAME [FLAGS]`"),
        (&["create", "--nosuch"], "say `weir create FUNCTION NAME [FLAGS]`"),
        (&["call", "fw", "x", "--candidate"], "`weir call` is about what runs; leave out --candidate"),
        (&["serve", "--keep-state", "10s"], "a value of --keep-state stands behind `=`: --keep-state=10s"),
        (&["run", "--simtime", "10", "-e", graph], "a value of --simtime stands behind `=`: --simtime=10"),
        (&["show", "--wait", "5"], "a value of --wait stands behind `=`: --wait=5"),
        (&["set", "--wait", "5", "fw", "mtu=1400"], "a value of --wait stands behind `=`: --wait=5"),
        (&["handler", "--wait", "5", "read", "c.count"], "a value of --wait stands behind `=`: --wait=5"),
        (&["delete", "5"], "the name of an instance begins with a letter"),
        (&["connect", "fw:left", "fw"], "`fw`: expected INSTANCE:PORT, "),
        (&["set", "fw", "rule"], "`rule`: expected PATH=VALUE"),
        (&["watch", "w", "fw", "--rising", "1"], "say INSTANCE PATH"),
        (&["show", "--server", "http://localhost"], "expected https://HOST:PORT"),
        (&["serve", "--volatile", "--log", "loud,loud=loud"], "--log "),
        (
            &["serve", "--listen", "[::1]:0", "--certificate", "c", "--key", "k"],
            "give --client-ca FILE, --tokens FILE, or both",
        ),
        (&["bench", "--vs", ""], "--vs: the command is empty"),
    ] {
        let output = weir(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(due), "{args:?} tells\n{}", stderr(&output));
    }
    for args in [
        &["run", "no-such-file"][..],
        &["check", "-e", "Foo"],
        &["chain", "read no-such-file | count"],
        &["firewall", "--file", "no-such-file"],
        &["insert", "--after", "4194304", "count"],
        &["show", "--socket", "no-such-socket"],
        &["bench", "no-such-file"],
    ] {
        let output = weir(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", stderr(&output));
    }
}

/// Runs a shell's line in which `weir` is the command.
fn shell(line: &str) -> Output {
    let line = line.replace("weir ", &format!("{} ", env!("CARGO_BIN_EXE_weir")));
    Command::new("bash").args(["-c", &line]).current_dir(root()).output().expect("there is a shell")
}

#[test]
fn a_standard_stream_that_is_closed_is_told() {
    for command in [
        "flatten examples/source.click",
        "fmt examples/source.click",
        "graph examples/source.click",
        "elements",
        "help",
        "help Queue",
        "status",
        "man nat",
        "--version",
        "run --help",
        "xform examples/source.click",
    ] {
        let output = shell(&format!("weir {command} >&-"));
        assert!(stderr(&output).ends_with(": it is closed\n"), "{command}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
    for command in ["check -", "flatten -", "fmt", "graph -", "run -", "apply -"] {
        let output = shell(&format!("weir {command} <&-"));
        assert!(stderr(&output).ends_with(": it is closed\n"), "{command}: {}", stderr(&output));
        assert_eq!(output.status.code(), Some(1), "{command}");
    }
}

#[test]
fn bench_runs_on_a_processor_that_it_may_use() {
    let allowed = sys::cpu::allowed().expect("processors are known");
    let last = allowed.last().expect("there is one");
    let output = shell(&format!(
        "taskset -c {last} weir bench --rounds 1 --warm 0 --duration 0.01 benches/a0_source_discard.click"
    ));
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_program_that_gave_up_its_group_cannot_take_it_back() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can give a program another group");
        return;
    }
    let program = scratch("weir-of-a-group");
    std::fs::copy(env!("CARGO_BIN_EXE_weir"), &program).expect("the program can be copied");
    let script = format!(
        "chgrp 4242 {program} && chmod 2755 {program} && chmod a+rx $(dirname {program}) && cd / && \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups \
         {program} run --quiet -e 'ChangeUID; Idle -> Discard; \
         Script(print $$, wait 60)'"
    );
    let mut running =
        Command::new("sh").args(["-c", &script]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut id = String::new();
    BufReader::new(running.stdout.take().expect("a pipe")).read_line(&mut id).expect("it says its number");
    let status = std::fs::read_to_string(format!("/proc/{}/status", id.trim())).expect("it runs");
    running.kill().expect("it can be ended");
    running.wait().expect("it ends");
    let groups = status.lines().find(|line| line.starts_with("Gid:")).expect("it has a group");
    assert_eq!(groups.split_whitespace().collect::<Vec<_>>(), ["Gid:", "65534", "65534", "65534", "65534"]);
}
