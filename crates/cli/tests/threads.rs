//! Graphs on several cores and threads, as a user runs them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use interfaces::capture::Reader;

const LAN: &str = "captures/lan.pcap";
const N_LAN: usize = 799;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command that is killed if it hangs.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_weir")]).args(args).current_dir(root());
    command
}

fn weir(args: &[&str]) -> Output {
    command(args).output().expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a graph quietly and gives the values of read handlers, in order.
fn values(layout: &[&str], graph: &str, reads: &[&str]) -> Vec<String> {
    let mut args = [&["run", "-q"], layout, &["-e", graph]].concat();
    reads.iter().for_each(|read| args.extend(["--read", read]));
    let output = weir(&args);
    assert!(output.status.success(), "{graph}: {}", stderr(&output));
    let text = stdout(&output);
    let value = |line: &str| line.split_once(": ").map(|(_, value)| value.to_string());
    text.lines().filter_map(value).collect()
}

/// A folder of this test's own.
fn scratch(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("weir-threads-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    folder
}

/// The packets of a capture in their order, by flow: the addresses and ports of both ends, whichever the direction.
fn flows(path: &Path) -> BTreeMap<Vec<Vec<u8>>, Vec<Vec<u8>>> {
    let mut reader = Reader::open(&path.to_string_lossy()).expect("the capture can be opened");
    let mut flows: BTreeMap<_, Vec<Vec<u8>>> = BTreeMap::new();
    while let Some(record) = reader.next_record().expect("the capture can be read") {
        let data = record.data.to_vec();
        let mut key = vec![data.get(12..14).unwrap_or(&[]).to_vec()];
        if let Some(ip) = data.get(14..).filter(|_| key[0] == [8, 0]) {
            let header_len = usize::from(ip[0] & 15) * 4;
            let ports = if [6, 17].contains(&ip[9]) { ip.get(header_len..header_len + 4) } else { None };
            let ports = ports.unwrap_or(&[0; 4]);
            let mut ends = vec![[&ip[12..16], &ports[..2]].concat(), [&ip[16..20], &ports[2..]].concat()];
            ends.sort();
            key.push(vec![ip[9]]);
            // An ICMP error goes with the flow that it is about.
            if ip[9] == 1 && [3, 11].contains(&ip[header_len]) {
                key.push(ip.get(header_len + 20..header_len + 32).unwrap_or(&[]).to_vec());
            }
            key.append(&mut ends);
        }
        flows.entry(key).or_default().push(data);
    }
    flows
}

#[test]
fn counters_of_all_cores_add_up_to_those_of_one() {
    let graph = format!(
        "f :: FromDump({LAN}, STOP true) -> all :: Counter
         -> c :: IPClassifier(tcp, udp, icmp, -);
         c[0] -> tcp :: Counter -> Discard; c[1] -> udp :: Counter -> Discard;
         c[2] -> icmp :: Counter -> Discard; c[3] -> other :: Counter -> Discard;"
    );
    let graph = graph.replace("-> c ::", "-> Strip(14) -> CheckIPHeader -> c ::");
    let reads = [
        "all.count",
        "all.byte_count",
        "tcp.count",
        "udp.count",
        "icmp.count",
        "f.count",
        "f.filepos",
        "drops",
    ];
    let one = values(&[], &graph, &reads);
    assert_eq!(one[0], N_LAN.to_string());
    for n in ["1", "2", "3"] {
        assert_eq!(values(&["--cores", n], &graph, &reads), one, "{n} cores");
    }
}

#[test]
fn a_file_that_all_cores_write_has_every_packet_once_and_flows_in_order() {
    let folder = scratch("files");
    let expected = flows(&root().join(LAN));
    for (i, path_between) in
        ["->", "-> Queue(10000) ->", "-> Queue(10000) -> Unqueue ->"].into_iter().enumerate()
    {
        let file = folder.join(format!("{i}.pcap"));
        let name = file.to_string_lossy();
        // A queue is not empty when the graph stops: what is still in it is not in the file.
        let graph = format!(
            "FromDump({LAN}) {path_between} out :: ToDump({name}, SNAPLEN 0);
             Script(label again, wait 1ms, goto again $(lt $(out.count) {N_LAN}), stop)"
        );
        let written = values(&["--cores", "2"], &graph, &["out.count", "out.tx_packets"]);
        assert_eq!(written, [N_LAN.to_string(), N_LAN.to_string()], "{path_between}");
        assert!(flows(&file) == expected, "{path_between}: the packets differ");
    }
}

#[test]
fn a_sink_with_an_output_passes_packets_on_where_they_are() {
    let file = scratch("tee").join("out.pcap");
    let name = file.to_string_lossy();
    let graph =
        format!("FromDump({LAN}, STOP true) -> out :: ToDump({name}, SNAPLEN 0) -> c :: Counter -> Discard;");
    let n = N_LAN.to_string();
    assert_eq!(values(&["--cores", "2"], &graph, &["out.count", "c.count"]), [n.clone(), n]);
    assert!(flows(&file) == flows(&root().join(LAN)), "the packets differ");
}

#[test]
fn a_flow_is_wholly_on_one_core() {
    let folder = scratch("flows");
    let file = folder.join("seen");
    let name = file.to_string_lossy();
    let graph = format!(
        "FromDump({LAN}, STOP true) -> Strip(14) -> CheckIPHeader
         -> IPFilter(allow tcp or udp) -> IPPrint(OUTFILE {name}, TIMESTAMP false) -> c :: Counter -> Discard;"
    );
    let count: usize =
        values(&["--cores", "2"], &graph, &["c.count"])[0].parse().expect("a count is a number");
    let seen = |path: &Path| -> Vec<String> {
        let text = std::fs::read_to_string(path).expect("each core writes its file");
        let flow = |line: &str| {
            let mut ends: Vec<&str> =
                line.split_whitespace().filter(|word| word.contains('.')).take(2).collect();
            ends.sort();
            ends.join(" ").replace(':', "")
        };
        text.lines().map(flow).collect()
    };
    let (first, second) = (seen(&file), seen(&folder.join("seen.1")));
    assert_eq!(first.len() + second.len(), count);
    assert!(first.len() > 20 && second.len() > 20, "{} and {} packets", first.len(), second.len());
    let shared: Vec<&String> = first.iter().filter(|flow| second.contains(flow)).collect();
    assert!(shared.is_empty(), "on both cores: {shared:?}");
}

#[test]
fn standard_input_is_read_once_and_dealt_out() {
    let file = scratch("stdin").join("out.pcap");
    let graph =
        format!("FromDump(-, STOP true) -> c :: Counter -> ToDump({}, SNAPLEN 0);", file.to_string_lossy());
    let input = std::fs::File::open(root().join(LAN)).expect("the capture is there");
    let output =
        command(&["run", "-q", "--cores", "3", "-e", &graph, "--read", "c.count"]).stdin(input).output();
    assert_eq!(stdout(&output.expect("the command runs")), format!("c.count: {N_LAN}\n"));
    assert!(flows(&file) == flows(&root().join(LAN)), "the packets differ");
    let output = weir(&["run", "--cores", "2", "-e", "FromDump(-) -> PullNull -> Unqueue -> Discard"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("cannot be pulled from on several cores"), "{}", stderr(&output));
}

#[test]
fn handlers_are_merged_and_written_everywhere() {
    let graph = "s :: InfiniteSource(LIMIT 100) -> c :: Counter -> q :: Queue(500) -> u :: Unqueue(ACTIVE false) -> Discard;
         DriverManager(wait 50ms, write q.capacity 600, write u.active true, wait 50ms, stop)";
    let reads = ["s.count", "c.count", "q.capacity", "u.active", "u.count", "q.length", "c.class", "q.drops"];
    let expected = ["200", "200", "600", "true", "200", "0", "Counter", "0"];
    assert_eq!(values(&["--cores", "2"], graph, &reads), expected);
    // What is no count is not added up.
    let settings = "InfiniteSource(LIMIT 100, STOP true) -> a :: AggregateIP(ip src/8) -> t :: TimeRange -> n :: SetAnnoByte(17, 3)
         -> q :: Queue(500) -> s :: Shaper(1000000) -> u :: Unqueue -> m :: Meter(10) -> Discard; m[1] -> Discard; DriverManager(stop)";
    let reads = ["s.config", "a.bit_length", "m.meters", "n.anno", "q.capacity"];
    assert_eq!(values(&["--cores", "2"], settings, &reads), ["1000000", "8", "9.766", "17", "500"]);
    let output = weir(&["click", "--cores", "2", "-e", graph, "-h", "c.count", "-h", "nobody.count"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("c.count:\n200\n"), "{}", stdout(&output));
}

#[test]
fn a_class_of_another_name_is_the_same_on_all_cores() {
    let graph = "Idle -> q :: FullNoteQueue -> Unqueue -> r :: FullNoteQueue -> Unqueue -> Discard;
                 Idle -> Unqueue -> r; DriverManager(stop)";
    assert_eq!(values(&["--cores", "2"], graph, &["r.class", "r.length"]), ["Queue", "0"]);
}

#[test]
fn the_driver_manager_acts_when_all_cores_have_stopped() {
    let graph = format!(
        "f :: FromDump({LAN}, STOP true) -> c :: Counter -> Discard;
         DriverManager(pause, print \"all $(c.count)\", write c.reset, wait 10ms, print \"none $(c.count)\", stop)"
    );
    for layout in [["--cores", "2"], ["--cores", "4"]] {
        let output = weir(&["click", layout[0], layout[1], "-e", &graph]);
        assert_eq!(stdout(&output), format!("all {N_LAN}\nnone 0\n"), "{layout:?}: {}", stderr(&output));
    }
    // Without a manager the run ends when every core's source has stopped.
    let graph = "InfiniteSource(LIMIT 1000, STOP true) -> c :: Counter -> Discard";
    assert_eq!(values(&["--cores", "2"], graph, &["c.count"]), ["2000"]);
}

#[test]
fn an_interrupt_ends_all_threads_cleanly() {
    for (layout, graph) in [
        ("--cores", "s :: InfiniteSource -> c :: Counter -> Discard; StaticThreadSched(s 0);"),
        ("--threads", "s :: InfiniteSource -> Queue -> c :: Counter -> Discard; StaticThreadSched(s 1);"),
        ("--cores", "s :: RatedSource(RATE 100) -> c :: Counter -> Discard;"),
        (
            "--threads",
            "s :: RatedSource(RATE 100) -> Queue -> c :: Counter -> Discard; StaticThreadSched(s 1);",
        ),
    ] {
        // The script says when packets flow.
        let graph =
            format!("{graph} Script(label again, wait 1ms, goto again $(eq $(c.count) 0), print \"flows\")");
        let mut running = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["run", layout, "2", "-e", &graph, "--read", "c.count"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command runs");
        let mut line = String::new();
        let mut out = std::io::BufReader::new(running.stdout.take().expect("its output is piped"));
        std::io::BufRead::read_line(&mut out, &mut line).expect("it prints");
        assert_eq!(line, "flows\n");
        let kill = Command::new("kill").args(["-INT", &running.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let output = running.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{layout} {graph}: {}", stderr(&output));
        assert!(stderr(&output).contains("ran "), "{}", stderr(&output));
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut out, &mut rest).expect("it prints");
        assert!(rest.starts_with("c.count: "), "{rest}");
    }
}

#[test]
fn a_queue_between_two_threads_loses_nothing_it_has_room_for() {
    let n = 50_000;
    for (source, sink) in [(0, 1), (1, 0), (1, 2)] {
        for capacity in [1, 7, 1000] {
            let graph = format!(
                "StaticThreadSched(s {source}, u {sink});
                 s :: InfiniteSource(LIMIT {n}) -> a :: Counter -> q :: Queue({capacity})
                 -> u :: Unqueue -> c :: Counter -> Discard;
                 Script(label again, wait 1ms, goto again $(lt $(c.count) {n}), stop)"
            );
            let reads =
                ["a.count", "c.count", "q.drops", "q.length", "s.home_thread", "u.home_thread", "q.capacity"];
            let expected = [n, n, 0, 0, source, sink, capacity].map(|number| number.to_string());
            let args = ["click", "--threads", "3", "-e", &graph].into_iter();
            let args: Vec<&str> = args.chain(reads.iter().flat_map(|read| ["-h", read])).collect();
            let text = stdout(&weir(&args));
            let told: Vec<&str> =
                text.lines().filter(|line| !line.is_empty() && !line.ends_with(':')).collect();
            assert_eq!(told, expected, "from {source} to {sink}, room for {capacity}");
        }
    }
}

#[test]
fn what_a_queue_between_two_threads_drops_is_counted() {
    let n = 20_000u64;
    let graph = format!(
        "StaticThreadSched(s 1, u 0);
         s :: InfiniteSource(LIMIT {n}, BURST 64) -> q :: SimpleQueue(100) -> u :: TimedSink(1ms);
         q[1] -> lost :: Counter -> Discard;
         Script(label again, wait 1ms, goto again $(lt $(s.count) {n}), wait 20ms, stop)"
    );
    let told = values(
        &["--threads", "2"],
        &graph,
        &["s.count", "q.drops", "q.length", "lost.count", "q.highwater_length"],
    );
    let told: Vec<u64> = told.iter().map(|text| text.parse().expect("a count is a number")).collect();
    let [sent, drops, length, lost, highwater] = told[..] else { panic!("{told:?}") };
    assert_eq!((sent, drops, highwater), (n, lost, 100));
    // The rest is in the queue or was pulled, one packet a millisecond.
    assert!(drops + length <= n && drops > n / 2, "{told:?}");
}

#[test]
fn elements_without_a_queue_between_them_share_a_thread() {
    let graph =
        "StaticThreadSched(a 1, b 0); a :: InfiniteSource(LIMIT 10, STOP true) -> d :: Counter -> Discard;
         b :: InfiniteSource(LIMIT 10) -> d;";
    let output = weir(&["click", "--threads", "2", "-e", graph, "-h", "a.home_thread"]);
    assert_eq!(stdout(&output), "0\n");
    assert!(stderr(&output).contains("'a' runs on thread 0, not 1"), "{}", stderr(&output));
    let output = weir(&[
        "click",
        "--threads",
        "2",
        "-e",
        "StaticThreadSched(a 2); a :: InfiniteSource -> Discard; Script(stop)",
    ]);
    assert!(stderr(&output).contains("warning: thread preference 2 out of range"), "{}", stderr(&output));
}

#[test]
fn a_stop_on_any_thread_steps_the_driver_manager() {
    let graph = format!(
        "StaticThreadSched(f 1);
         f :: FromDump({LAN}, STOP true) -> a :: Counter -> q :: Queue(10000) -> u :: Unqueue -> c :: Counter -> Discard;
         DriverManager(pause, write f.active false, label again, wait 1ms, goto again $(lt $(c.count) {N_LAN}),
             print \"$(a.count) $(c.count) $(q.drops)\", write a.reset, print a.count, stop)"
    );
    let output = weir(&["click", "--threads", "2", "-e", &graph]);
    assert_eq!(stdout(&output), format!("{N_LAN} {N_LAN} 0\n0\n"), "{}", stderr(&output));
}

#[test]
fn handlers_that_elements_call_reach_other_threads() {
    let graph = "StaticThreadSched(s 1, t 0);
         s :: InfiniteSource(LIMIT 1000) -> c :: Counter(COUNT_CALL 500 note.run) -> Discard;
         t :: InfiniteSource(ACTIVE false, LIMIT 10) -> d :: Counter -> Discard;
         note :: Script(TYPE PASSIVE, write t.active true);
         Script(label again, wait 1ms, goto again $(lt $(d.count) 10), print \"$(gt $(c.count) 499) $(d.count)\", stop)";
    let output = weir(&["click", "--threads", "2", "-e", graph]);
    assert_eq!(stdout(&output), "true 10\n", "{}", stderr(&output));
}

#[test]
fn simulated_time_goes_by_alike_on_any_number_of_threads() {
    let graph = "StaticThreadSched(s 1); s :: RatedSource(RATE 10) -> q :: Queue -> d :: Discard;
         Script(wait 1s, print \"$(s.count) $(s.home_thread) $(d.home_thread)\", stop)";
    let output = weir(&["click", "--simtime", "--threads=2", "-e", graph]);
    assert_eq!(stdout(&output), "11 1 0\n", "{}", stderr(&output));
}

#[test]
fn wrong_numbers_are_refused() {
    let graph = "InfiniteSource(LIMIT 1, STOP true) -> Discard";
    for args in [["--cores", "0"], ["--cores", "x"], ["--threads", "0"], ["--cores", "99999"]] {
        let output = weir(&["run", args[0], args[1], "-e", graph]);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(stderr(&output).contains(args[0]), "{}", stderr(&output));
    }
    for args in [["--cores", "0"], ["--cores", "x"], ["--threads", "x"]] {
        let output = weir(&["click", args[0], args[1], "-e", graph]);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains("expects a"), "{}", stderr(&output));
    }
    for command in ["run", "click"] {
        let output = weir(&[command, "--cores", "2", "--simtime", "-e", graph]);
        // Click gives 1 for whatever is wrong.
        assert_eq!(output.status.code(), Some(if command == "click" { 1 } else { 2 }));
        assert!(stderr(&output).contains("simulated time runs on one core"), "{}", stderr(&output));
        let output = weir(&[command, "--cores", "200", "-e", graph]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).starts_with("warning: 200 cores are asked for"), "{}", stderr(&output));
    }
    let output = weir(&["run", "--cores", "2", "--threads", "2", "-e", graph]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_running_graph_on_several_threads_answers() {
    let runtime = scratch("runtime");
    for (layout, sum) in [("--cores", "20"), ("--threads", "10")] {
        let graph =
            "s :: RatedSource(RATE 1000) -> a :: Counter -> Queue -> u :: Unqueue -> c :: Counter -> Discard;
             one :: InfiniteSource(LIMIT 10) -> Discard; StaticThreadSched(u 1);";
        let name = format!("threads-{}{layout}", std::process::id());
        let ask = |args: &[&str]| {
            command(args).env("XDG_RUNTIME_DIR", &runtime).output().expect("the command runs")
        };
        let running = command(&["run", "-q", layout, "2", "--name", &name, "-e", graph])
            .env("XDG_RUNTIME_DIR", &runtime)
            .spawn()
            .expect("the command runs");
        let is_there = |text: &str| {
            (0..20_000)
                .any(|_| stdout(&ask(&["handler", "--graph", &name, "read", "one.count"])).trim() == text)
        };
        assert!(is_there(sum), "{layout}: the graph does not answer");
        let told = stdout(&ask(&["trace", "--graph", &name, "-c", "2"]));
        assert!(told.contains("packet 2") && told.contains("u :: Unqueue"), "{layout}: {told}");
        let tapped = ask(&["tap", "--graph", &name, "-c", "3", "u"]);
        assert_eq!(tapped.stdout.get(..4), Some(&[0x4d, 0x3c, 0xb2, 0xa1][..]), "{layout}");
        assert!(ask(&["handler", "--graph", &name, "write", "c.reset"]).status.success());
        assert!(ask(&["handler", "--graph", &name, "write", "stop"]).status.success());
        assert!(running.wait_with_output().expect("the graph ends").status.success());
    }
}
