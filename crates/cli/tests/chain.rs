//! `weir chain` does what the same text does as a shell pipeline, in fewer processes.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
/// How long anything may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(60);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that goes away.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("weir-chain-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The first packets of a capture: enough for every path, quick for many stages.
        let short = folder.join("in.pcap");
        let capture = root().join("captures/lan.pcap");
        let bytes = std::fs::read(capture).unwrap();
        std::fs::write(&short, first_packets(&bytes, 300)).unwrap();
        Scratch(folder)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn command(&self, program: &str, args: &[&str]) -> Command {
        // Signals end it, however the tests were started (`nohup`, `&`).
        let mut command = Command::new("env");
        command
            .args(["--default-signal", program])
            .args(args)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs `weir chain`.
    fn chain(&self, args: &[&str]) -> Output {
        finish(self.command(WEIR, &[&["chain"], args].concat()).spawn().unwrap())
    }

    /// Runs a text with `weir` in front of its stages as a shell pipeline.
    fn shell(&self, text: &str) -> Output {
        let path =
            format!("{}:{}", Path::new(WEIR).parent().unwrap().display(), std::env::var("PATH").unwrap());
        finish(self.command("sh", &["-c", text]).env("PATH", path).spawn().unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A capture file's first packets.
fn first_packets(bytes: &[u8], n: usize) -> &[u8] {
    let mut end = 24;
    for _ in 0..n {
        let len = u32::from_le_bytes(bytes[end + 8..end + 12].try_into().unwrap());
        end += 16 + len as usize;
    }
    &bytes[..end]
}

/// Waits for a process and takes what it said.
fn finish(mut child: Child) -> Output {
    let mut pipes = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let stderr = std::thread::spawn(move || {
        let mut text = Vec::new();
        pipes.1.read_to_end(&mut text).unwrap();
        text
    });
    let watch = watch(child.id());
    let mut stdout = Vec::new();
    pipes.0.read_to_end(&mut stdout).unwrap();
    let status = child.wait().unwrap();
    drop(watch);
    Output { status, stdout, stderr: stderr.join().unwrap() }
}

/// Kills a process that takes too long.
fn watch(pid: u32) -> std::sync::mpsc::Sender<()> {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        if receiver.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
        }
    });
    sender
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Looks until `found` is, with a limit.
fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Middle stages, whose result is the same whenever they run.
const STAGES: &[&str] = &[
    "stage -e 'FromInterface(left) -> c :: Counter -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left)'",
    "stage -e 'FromInterface(left) -> Queue(100000) -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> Queue(100000) -> Unqueue -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> Strip(14) -> Unstrip(14) -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> cl :: Classifier(12/0800, -); cl[0] -> ToInterface(right); cl[1] -> Discard'",
    "stage -e 'FromInterface(left) -> t :: Tee(2); t[0] -> ToInterface(right); t[1] -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> Strip(14) -> CheckIPHeader -> f :: IPFilter(allow udp, deny all) -> Unstrip(14) -> ToInterface(right)'",
    "stage -e 'FromInterface(left) -> CheckLength(200) -> ToInterface(right)'",
    "stage -e 'elementclass Both { input -> Counter -> output } FromInterface(left) -> Both -> b :: Both -> ToInterface(right)'",
];

/// Ready-made functions, whose result is the same whenever they run.
const FUNCTIONS: &[&str] = &[
    "count",
    "count --interval 10s --json",
    "print",
    "hex",
    "bridge",
    "filter udp or arp",
    "filter --left 'tcp port 80'",
    "firewall 'deny udp && dst port 53' 'allow all'",
    "firewall --stateful --both 'allow all'",
    "tee copy.pcap",
    "loss 0",
    "shape 1Gbps",
];

/// Both forms of a chain with this middle give the same file.
fn is_same(scratch: &Scratch, read: &str, middle: &[&str], write: &str) {
    // One packet at a time: where a graph branches, packets of a batch leave in the order of its outputs.
    let with_weir = |file: &str| {
        let mut stages = vec![format!("weir {read}")];
        stages.extend(middle.iter().map(|stage| format!("weir {stage}")));
        stages.push(format!("weir {write} {file}"));
        stages
    };
    // Through `cat` no two stages find each other: what one pipe carries is what any program would read there.
    let one_by_one: Vec<String> = with_weir("piped").iter().map(|stage| with_burst_of_1(stage)).collect();
    let piped = scratch.shell(&one_by_one.join(" | cat | "));
    assert!(piped.status.success(), "{}", stderr(&piped));
    let text = with_weir("fused").join(" | ").replace("weir ", "");
    let fused = scratch.chain(&["--burst", "1", &text]);
    assert!(fused.status.success(), "{text}: {}", stderr(&fused));
    let (piped, fused) = (scratch.read("piped"), scratch.read("fused"));
    assert!(piped.len() > 20, "nothing came through {text}");
    assert!(piped == fused, "{text}: {} bytes by pipes, {} in one process", piped.len(), fused.len());
}

fn with_burst_of_1(stage: &str) -> String {
    let words: Vec<&str> = stage.splitn(3, ' ').collect();
    match words.as_slice() {
        [weir, name, rest] => format!("{weir} {name} --burst 1 {rest}"),
        _ => format!("{stage} --burst 1"),
    }
}

#[test]
fn what_a_stage_holds_on_purpose_is_waited_for() {
    let scratch = Scratch::new("held");
    let output = scratch.chain(&["read in.pcap | delay 1.2s | delay 1.2s | write out.pcap"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scratch.read("out.pcap").len(), scratch.read("in.pcap").len());
}

#[test]
fn a_fused_chain_writes_what_the_pipeline_writes() {
    let scratch = Scratch::new("same");
    for stage in STAGES {
        is_same(&scratch, "read in.pcap", &[stage], "write");
    }
    is_same(&scratch, "read in.pcap", &[], "write");
    for function in FUNCTIONS {
        is_same(&scratch, "read in.pcap", &[function], "write");
        is_same(&scratch, "read in.pcap", &[STAGES[0], function, STAGES[2]], "write");
    }
    // What a delay lets go has a new time, which lines of text do not tell.
    is_same(&scratch, "read in.pcap", &["delay 1ms", STAGES[1]], "write --format ascii");
    // Some of all combinations, always the same ones.
    let all: Vec<&str> = STAGES.iter().chain(FUNCTIONS).copied().collect();
    let mut number = 7usize;
    for len in [2, 2, 3, 3, 3, 4, 4, 5, 14] {
        let middle: Vec<&str> = (0..len)
            .map(|_| {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                all[(number >> 33) % all.len()]
            })
            .filter(|stage| !stage.contains("Tee"))
            .collect();
        is_same(&scratch, "read in.pcap", &middle, "write");
    }
}

#[test]
fn formats_are_those_of_the_stages() {
    let scratch = Scratch::new("formats");
    for format in ["pcap", "pcapng", "ascii"] {
        is_same(&scratch, "read in.pcap", &[STAGES[0]], &format!("write --format {format}"));
        std::fs::rename(scratch.0.join("fused"), scratch.0.join(format)).unwrap();
        // Lines of text have no time, so that captures of them are alike only as text.
        is_same(&scratch, &format!("read {format}"), &[STAGES[0]], "write --format ascii");
    }
    let lines = scratch.chain(&["--format", "ascii", &format!("read in.pcap | {}", STAGES[0])]);
    assert_eq!(String::from_utf8(lines.stdout).unwrap().lines().count(), 300);
}

#[test]
fn a_source_that_stops_lets_the_others_finish() {
    let scratch = Scratch::new("stops");
    let source = "stage -e 'InfiniteSource(LIMIT 500, STOP true) -> ToInterface(right)'";
    let queue = "stage -e 'FromInterface(left) -> Queue(1000) -> RatedUnqueue(5000) -> ToInterface(right)'";
    let output = scratch.chain(&["--format", "ascii", &format!("{source} | {queue}")]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 500);
    // What nothing will ever move does not keep the chain from its end.
    let stuck =
        "stage -e 'FromInterface(left) -> Queue(1000) -> Unqueue(ACTIVE false) -> ToInterface(right)'";
    let output = scratch.chain(&["--drain", "0.1", &format!("{source} | {stuck}")]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("packets that it still held are lost, 500 at least"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn other_programs_take_part() {
    let scratch = Scratch::new("programs");
    let chain = format!("read in.pcap | tcpdump -r - -w - -U | {} | cat | weir write fused", STAGES[0]);
    let output = scratch.chain(&[&chain]);
    assert!(output.status.success(), "{}", stderr(&output));
    let direct = scratch.chain(&["read in.pcap | write direct"]);
    assert!(direct.status.success());
    // tcpdump writes microseconds; what it writes is read and written again.
    assert_eq!(scratch.read("fused").len(), scratch.read("direct").len());
    let lines = scratch.chain(&["--format", "ascii", "read in.pcap | grep -c ."]);
    assert_eq!(String::from_utf8_lossy(&lines.stdout).trim(), "300", "{}", stderr(&lines));
}

#[test]
fn the_exit_status_is_that_of_the_last_stage_or_of_the_first_that_failed() {
    let scratch = Scratch::new("status");
    let code = |args: &[&str]| scratch.chain(args).status.code();
    assert_eq!(code(&["read in.pcap | sh -c 'cat > /dev/null; exit 3'"]), Some(3));
    assert_eq!(code(&["sh -c 'exit 4' | sh -c 'exit 5' | cat"]), Some(0));
    assert_eq!(code(&["--pipefail", "sh -c 'exit 4' | sh -c 'exit 5' | cat"]), Some(4));
    assert_eq!(code(&["--pipefail", "cat in.pcap | write x"]), Some(0));
    let killed = scratch.chain(&["cat in.pcap | sh -c 'kill -9 $$'"]);
    assert_eq!(killed.status.code(), Some(137));
    assert!(
        stderr(&killed).contains("stage 2 (`sh -c 'kill -9 $$'`) was ended by signal 9"),
        "{}",
        stderr(&killed)
    );
}

#[test]
fn mistakes_are_told_by_stage_and_nothing_starts() {
    let scratch = Scratch::new("mistakes");
    for (text, told) in [
        (
            "touch made | read in.pcap --nothing | write x",
            "stage 2 (`read in.pcap --nothing`): unexpected argument '--nothing'",
        ),
        ("touch made | write", "stage 2 (`write`): the following required arguments were not provided"),
        (
            "touch made | raed x",
            "stage 2 (`raed x`): there is neither a stage nor a program `raed`; did you mean `read`?",
        ),
        (
            "touch made | weir check x",
            "stage 2 (`weir check x`): `weir check` is no stage; stages are stage, read",
        ),
        ("touch made | weir nothing", "stage 2 (`weir nothing`): no stage `nothing`"),
        (
            "touch made | stage -e 'FromInterface(left) -> Nothing -> Discard'",
            "stage 2:1:24: undeclared element 'Nothing'",
        ),
        (
            "touch made | stage -e 'FromInterface(aux) -> Discard'",
            "stage 2:1:1: no interface 'aux'; there are left, right",
        ),
        (
            "touch made | port t0 | touch x",
            "stage 2 (`port t0`): a port in the middle of a chain: say with --side",
        ),
        ("touch made | stage -", "stage 2 (`stage -`): in a chain packets come by standard input"),
        (
            "touch made | read in.pcap > x",
            "stage 2: `>` is the shell's: a chain redirects nothing; use the stages",
        ),
        ("touch made |", "stage 2 is empty"),
        (
            "touch made | loss x",
            "expected a probability such as 1% or 0.01, at most 100% or 1\n  help: see `weir loss",
        ),
        ("touch made | policer", "stage 2 (`policer`): policer: there is nothing to limit"),
        ("touch made | linux --nothing", "stage 2 (`linux --nothing`): unexpected argument '--nothing'"),
        (
            "linux --left x | touch made",
            "stage 1 (`linux --left x`): invalid value 'x' for '--left <ADDR/LEN>'",
        ),
        (
            "touch made | chain ''",
            "stage 2 (`chain ''`): invalid value '' for '<STAGES>': the chain is empty",
        ),
        (
            "touch made | read in.pcap --if left=nonsense",
            "'--if <NAME=KIND>': `nonsense` is no kind of interface",
        ),
    ] {
        let output = scratch.chain(&[text]);
        // What is wrong with a graph is told with its place; all else is a wrong command line.
        let code = if told.starts_with("stage 2:1:") { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(stderr(&output).contains(told), "{text} tells\n{}", stderr(&output));
        assert!(!scratch.0.join("made").exists(), "{text} has started something");
    }
    let output = scratch.chain(&["--if", "aux=tap:x", "read in.pcap | write x"]);
    assert!(
        stderr(&output).contains("--if aux: a chain has the interfaces left and right"),
        "{}",
        stderr(&output)
    );
    let both = scratch.chain(&["read | grpe | write"]);
    let told = stderr(&both);
    assert!(told.contains("stage 1") && told.contains("stage 2") && told.contains("stage 3"), "{told}");
    let missing = scratch.chain(&["read nowhere.pcap | write x"]);
    assert_eq!(missing.status.code(), Some(1));
    let due = "weir: stage 1 (`read nowhere.pcap`): nowhere.pcap: No such file or directory\n";
    assert_eq!(stderr(&missing), due);
}

#[test]
fn the_ends_can_be_given_to_the_chain_or_to_a_stage() {
    let scratch = Scratch::new("ends");
    let fused = |args: &[&str], environment: &[(&str, &str)]| {
        let words = [&["chain"], args].concat();
        let mut command = scratch.command(WEIR, &words);
        let output = finish(command.envs(environment.iter().copied()).spawn().unwrap());
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        let read = std::fs::read(scratch.0.join("out"));
        let _ = std::fs::remove_file(scratch.0.join("out"));
        read.unwrap_or(output.stdout)
    };
    let expected = fused(&["read in.pcap | write out"], &[]);
    let middle = STAGES[0];
    let two = format!("{middle} | {middle}");
    assert!(fused(&["--if", "left=file:in.pcap", "--if", "right=stdin file:out", &two], &[]) == expected);
    assert!(fused(&[&two], &[("IF0", "file:in.pcap"), ("IF1", "stdin file:out")]) == expected);
    assert!(
        fused(&[&format!("IF0=file:in.pcap weir {middle} | IF1='stdin file:out' {middle}")], &[]) == expected
    );
    // The environment is that of the chain's ends in several processes, too.
    let apart = format!("{middle} | cat | {middle}");
    assert!(fused(&[&apart], &[("IF0", "file:in.pcap"), ("IF1", "stdin file:out")]) == expected);
    assert!(fused(&["--if", "left=file:in.pcap", "--if", "right=stdin file:out", &apart], &[]) == expected);
    // A variable that is not about interfaces needs a process of its own.
    let output = scratch.chain(&[&format!("read in.pcap | CLICKPATH=/x {middle} | write out")]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("CLICKPATH is set for it alone"), "{}", stderr(&output));
    assert!(scratch.read("out") == expected);
}

#[test]
fn explaining_runs_nothing() {
    let scratch = Scratch::new("explain");
    let text = format!(
        "read nowhere | {0} | linux -- true | linux -- true | {0} | {0} | tcpdump -r - | write never",
        STAGES[0]
    );
    let output = scratch.chain(&["--explain", "--json", &text]);
    assert!(output.status.success(), "{}", stderr(&output));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let joints: Vec<&str> =
        told["joints"].as_array().unwrap().iter().map(|joint| joint["joint"].as_str().unwrap()).collect();
    assert_eq!(
        joints,
        [
            "direct call",
            "pipe -> ring",
            "kernel cable (veth), else ring",
            "pipe -> ring",
            "direct call",
            "pipe (capture bytes)",
            "pipe (capture bytes)"
        ]
    );
    let processes: Vec<u64> =
        told["stages"].as_array().unwrap().iter().map(|stage| stage["process"].as_u64().unwrap()).collect();
    assert_eq!(processes, [1, 1, 2, 3, 4, 4, 5, 6]);
    assert!(told["processes"][3]["graph"].as_str().unwrap().contains("stage_2/c"), "{told:#}");
    let lines = scratch.chain(&["--explain", &text]);
    let lines = String::from_utf8(lines.stdout).unwrap();
    assert!(lines.contains("joint: kernel cable (veth), else ring\n"), "{lines}");
    assert!(lines.contains("FromInterface(left) -> c :: Counter -> ToInterface(right)\n"), "{lines}");
    let picture = scratch.chain(&["--dot", &text]);
    assert_eq!(String::from_utf8(picture.stdout).unwrap().matches("digraph").count(), 3);
    assert!(!scratch.0.join("never").exists());
}

#[test]
fn a_named_chain_answers_and_ends_with_what_it_has_taken_when_interrupted() {
    let scratch = Scratch::new("named");
    let name = format!("chain-{}", std::process::id());
    let text = format!("{0} | {0} | write out", STAGES[0]);
    let mut command = scratch.command(WEIR, &["chain", "--name", &name, &text]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&scratch.read("in.pcap")).unwrap();
    input.flush().unwrap();
    let handler = |handler: &str| {
        let output = Command::new(WEIR).args(["handler", "-g", &name, "read", handler]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    };
    eventually("the packets are counted", || (handler("stage/c.count") == "300").then_some(()));
    assert_eq!(handler("stage_2/c.count"), "300");
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = finish(child);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    drop(input);
    let again = scratch.chain(&["--format", "ascii", "read out"]);
    assert_eq!(String::from_utf8(again.stdout).unwrap().lines().count(), 300);
}

/// The processes that a process has started.
fn children_of(pid: u32) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().map(|number| number.parse().unwrap()).collect()
}

/// Whether a process is there and no zombie.
fn lives(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|text| !text.contains(") Z "))
}

#[test]
fn signals_reach_all_processes_of_a_chain() {
    let scratch = Scratch::new("signals");
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let mut command = scratch.command(WEIR, &["chain", &format!("{} | sleep 1000", STAGES[0])]);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let started = eventually("both run", || Some(children_of(child.id())).filter(|list| list.len() == 2));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = finish(child);
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert_eq!(stderr(&output), "");
        assert!(started.iter().all(|pid| !lives(*pid)));
        drop(input);
    }
}

#[test]
fn a_killed_chain_leaves_no_process() {
    let scratch = Scratch::new("killed");
    let mut command = scratch.command(WEIR, &["chain", &format!("{} | sleep 1000", STAGES[0])]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    let started = eventually("both run", || Some(children_of(child.id())).filter(|list| list.len() == 2));
    eventually("sleep runs", || {
        let is_sleep = |pid: &u32| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
        };
        started.iter().any(is_sleep).then_some(())
    });
    child.kill().unwrap();
    finish(child);
    eventually("all have ended", || started.iter().all(|pid| !lives(*pid)).then_some(()));
    drop(input);
}

#[test]
fn a_reader_that_leaves_ends_the_chain() {
    let scratch = Scratch::new("closed");
    let endless = "stage -e 'InfiniteSource -> ToInterface(right)'";
    for text in [format!("{endless} | {}", STAGES[0]), format!("{endless} | cat | {}", STAGES[0])] {
        let shell = format!("weir chain \"{text}\"; echo $? >&2");
        let output = scratch.shell(&format!("{{ {shell}; }} | head -c 1000 | wc -c"));
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1000");
        assert!(stderr(&output).trim().ends_with("141"), "{}", stderr(&output));
    }
}

#[test]
fn a_stage_in_the_middle_can_have_interfaces_of_its_own() {
    let scratch = Scratch::new("aux");
    let copy = "stage --if aux='file:in.pcap file:copy' -e 'FromInterface(left) -> t :: Tee -> ToInterface(right); t[1] -> ToInterface(aux)'";
    let output = scratch.chain(&[&format!(
        "read in.pcap | {copy} | {copy2} | write out",
        copy2 = copy.replace("file:copy", "file:copy2")
    )]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(scratch.read("copy") == scratch.read("out"));
    assert!(scratch.read("copy2") == scratch.read("out"));
}

#[test]
fn pings_go_both_ways_through_a_fused_chain() {
    let scratch = Scratch::new("ping");
    let text = "port t0 --address 10.77.0.1/24 | \
                stage -e 'FromInterface(left) -> c :: Counter -> ToInterface(right); FromInterface(right) -> d :: Counter -> ToInterface(left)' | \
                port t1";
    // One namespace has t0, another one t1.
    let script = format!(
        "set -e
         ip link set lo up
         \"$WEIR\" chain --name ping-$$ \"{text}\" & chain=$!
         unshare --net sleep 60 & other=$!
         trap 'kill $chain $other' EXIT
         until ip link show t1 > /dev/null 2>&1; do kill -0 $chain; sleep 0.01; done
         until [ \"$(readlink /proc/$other/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]; do sleep 0.01; done
         ip link set t1 netns $other
         nsenter --net --target $other ip address add 10.77.0.2/24 dev t1
         nsenter --net --target $other ip link set t1 up
         ping -q -c 3 -i 0.05 -W 5 10.77.0.2
         for way in c d; do [ \"$(\"$WEIR\" handler -g ping-$$ read stage/$way.count)\" -ge 3 ]; done
         kill -INT $chain
         wait $chain
         echo ended $?"
    );
    let mut args = vec!["--net"];
    if !is_root() {
        args.extend(["--user", "--map-root-user"]);
    }
    args.extend(["sh", "-c", &script]);
    let mut command = scratch.command("unshare", &args);
    let output = finish(command.env("WEIR", WEIR).spawn().unwrap());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    if !told.contains("ended") && std::env::var_os("WEIR_MAY_SKIP").is_some() {
        eprintln!("left out: {}", stderr(&output));
        return;
    }
    assert!(told.contains("3 received") && told.contains("ended 0"), "{told}\n{}", stderr(&output));
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

#[test]
fn the_examples_of_the_page_run() {
    let scratch = Scratch::new("page");
    let page = std::fs::read_to_string(root().join("docs/chain.md")).unwrap();
    std::os::unix::fs::symlink(root().join("captures").canonicalize().unwrap(), scratch.0.join("captures"))
        .unwrap();
    let mut n = 0;
    for block in page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next()) {
        for line in block.lines() {
            let line = line.replace("/tmp/", "./");
            let output = scratch.shell(&line);
            assert!(output.status.success(), "{line}: {}", stderr(&output));
            n += 1;
        }
    }
    assert!(n > 5, "only {n} examples were found");
    let count = |file: &str| {
        let output = scratch.chain(&["--format", "ascii", &format!("read {file}")]);
        String::from_utf8(output.stdout).unwrap().lines().count()
    };
    assert!(count("udp.pcap") > 0 && count("no-dns.pcap") > 0 && count("tcp.pcap") > 0);
}

#[test]
fn linux_stacks_are_children_of_a_chain() {
    let scratch = Scratch::new("linux");
    let text = "linux --right 10.78.0.1/24 -- sleep 1000 | count | \
                linux --left 10.78.0.2/24 --while-running -- ping -q -c 3 -i 0.05 -W 5 10.78.0.1";
    let output = scratch.chain(&[text]);
    let told = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    if !output.status.success() && std::env::var_os("WEIR_MAY_SKIP").is_some() {
        eprintln!("left out: {told}");
        return;
    }
    assert!(output.status.success() && told.contains("3 received"), "{told}");
    // What the graph in between has counted.
    assert!(told.contains("right: ") && told.contains("left: "), "{told}");
}
