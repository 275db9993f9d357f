//! Functions as stages of pipelines: what their examples promise, and traffic both ways.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with the capture that the examples read; it is removed on drop.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-functions-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        std::fs::copy(root().join("captures/lan.pcap"), path.join("lan.pcap")).unwrap();
        std::fs::write(path.join("rules.txt"), "deny tcp && dst port 80\nallow all # the rest\n").unwrap();
        Scratch(path)
    }

    /// Runs a line of shell in the folder, where `weir` is the program under test.
    fn run(&self, line: &str) -> Output {
        let weir = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
        let path = format!("{}:{}", weir.display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "60", "bash", "-o", "pipefail", "-c", line])
            .current_dir(&self.0)
            .env("PATH", path);
        command.output().expect("the shell runs")
    }

    /// Runs a line that must succeed; what it printed on standard output.
    fn succeed(&self, line: &str) -> String {
        let output = self.run(line);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}\n{told}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// How many packets a capture holds.
    fn count(&self, name: &str) -> usize {
        let text = self.succeed(&format!("tcpdump -nr {name} 2>/dev/null"));
        text.lines().count()
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The examples of a function's page, each a line of shell.
fn examples(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split_once("\n```"));
    blocks.map(|(line, _)| line.to_string()).collect()
}

/// Bytes of a capture without packets.
const EMPTY: u64 = 24;
/// Packets in the capture that the examples read.
const LAN: usize = 799;

#[test]
fn the_examples_of_all_pages_run() {
    let mut n = 0;
    for entry in std::fs::read_dir(root().join("docs/functions")).unwrap() {
        let page = entry.unwrap().path();
        for line in examples(&page) {
            let scratch = Scratch::new();
            let printed = scratch.succeed(&format!("{{ {line}; }} 2>&1"));
            match line.split_whitespace().last().unwrap() {
                "true" => assert!(printed.contains(" 1 received"), "{line} printed {printed}"),
                written => {
                    let len = std::fs::metadata(scratch.0.join(written)).map_or(0, |about| about.len());
                    assert!(len > EMPTY, "{line} wrote {len} bytes of {written}");
                }
            }
            n += 1;
        }
    }
    assert!(n >= 12, "only {n} examples were found");
}

/// What the help of a command has below `Examples:`, each as it would be pasted into a shell.
fn pasted(help: &str) -> Vec<String> {
    let (_, text) = help.split_once("Examples:\n").unwrap_or_else(|| panic!("no examples in\n{help}"));
    let mut examples: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.starts_with("  #"), examples.last_mut()) {
            (true, Some(last)) if last.is_empty() => {}
            (true, _) => examples.push(String::new()),
            (_, Some(last)) => *last += &format!("{line}\n"),
            (_, None) => panic!("no purpose in front of {line}"),
        }
    }
    examples
}

#[test]
fn the_examples_of_help_run_as_they_are_pasted() {
    let commands = ["read", "write", "linux", "stage", "chain", "status"];
    let functions = ["nat", "firewall", "count", "flow-monitor", "mirror", "route", "ddos-mitigator"];
    for command in commands.iter().chain(&functions) {
        let scratch = Scratch::new();
        let examples = pasted(&scratch.succeed(&format!("weir {command} --help")));
        assert!(!examples.is_empty(), "{command}");
        for example in examples {
            // A reader that has enough ends its writers.
            scratch.succeed(&format!("set +o pipefail\n{example}"));
        }
    }
}

#[test]
fn a_filter_passes_what_tcpdump_passes() {
    let scratch = Scratch::new();
    scratch.succeed("weir read lan.pcap | weir filter udp port 53 or arp | weir write out.pcap");
    let expected = scratch.succeed("tcpdump -nr lan.pcap 'udp port 53 or arp' 2>/dev/null").lines().count();
    assert_eq!(scratch.count("out.pcap"), expected);
    assert!(expected > 0 && expected < LAN);
}

#[test]
fn functions_that_only_watch_leave_packets_as_they_are() {
    let scratch = Scratch::new();
    let before = scratch.succeed("tcpdump -ttennXr lan.pcap 2>/dev/null");
    for function in [
        "count",
        "print",
        "hex",
        "tee copy.pcap",
        "loss 0",
        "capture seen.pcap",
        "flow-monitor --file flows.ipfix",
        "mirror --if 'mirror=- file:mirrored.pcap'",
    ] {
        scratch.succeed(&format!("weir read lan.pcap | weir {function} 2>told | weir write out.pcap"));
        let after = scratch.succeed("tcpdump -ttennXr out.pcap 2>/dev/null");
        assert!(before == after, "weir {function} changed something");
    }
    for copy in ["copy.pcap", "seen.pcap", "mirrored.pcap"] {
        assert_eq!(scratch.count(copy), LAN, "{copy}");
    }
}

/// A batch's frames that are not IP go around the rules, so that their order among the others may change; fragments get the time
/// at which their packet was whole.
#[test]
fn a_firewall_that_allows_all_changes_nothing() {
    let scratch = Scratch::new();
    let before = scratch.succeed("tcpdump -Stennr lan.pcap 2>/dev/null | sort");
    for flags in ["", "--stateful", "--both --count-rules"] {
        scratch.succeed(&format!(
            "weir read lan.pcap | weir firewall {flags} 'allow all' | weir write out.pcap"
        ));
        assert!(before == scratch.succeed("tcpdump -Stennr out.pcap 2>/dev/null | sort"), "{flags}");
    }
}

#[test]
fn functions_that_refuse_little_pass_all_that_is_right() {
    let scratch = Scratch::new();
    let before = scratch.succeed("tcpdump -Stennr lan.pcap 2>/dev/null | sort");
    for function in ["policer 1Gpps", "ddos-mitigator --drop-invalid-tcp false --syn-rate 1000000"] {
        scratch.succeed(&format!("weir read lan.pcap | weir {function} | weir write out.pcap"));
        let after = scratch.succeed("tcpdump -Stennr out.pcap 2>/dev/null | sort");
        assert!(before == after, "weir {function} changed something");
    }
}

#[test]
fn counts_are_told_in_the_end() {
    let scratch = Scratch::new();
    scratch.succeed("weir read lan.pcap | weir count --json 2>told | weir write out.pcap");
    let told = scratch.text("told");
    assert!(told.contains("\"right\":{\"packets\":799,\"bytes\":621785,"), "{told}");
    assert!(told.contains("\"left\":{\"packets\":0,"), "{told}");
}

#[test]
fn a_firewall_with_500_rules_refuses_what_they_say() {
    let scratch = Scratch::new();
    let mut rules = String::new();
    for i in 0..500 {
        rules += &format!("deny src host 192.168.{}.{} && tcp && dst port {}\n", i / 250, i % 250 + 1, i + 1);
    }
    std::fs::write(scratch.0.join("many"), rules + "deny udp && dst port 53\n").unwrap();
    scratch.succeed("weir read lan.pcap | weir firewall -f many --default allow | weir write out.pcap");
    let expected =
        scratch.succeed("tcpdump -nr lan.pcap 'not (udp dst port 53)' 2>/dev/null").lines().count();
    assert_eq!(scratch.count("out.pcap"), expected);
}

#[test]
fn packets_are_translated_on_their_way_through_and_back() {
    let scratch = Scratch::new();
    // The mirror behind the NAT sends every datagram back to where it came from.
    let mirror = "weir stage -e 'FromInterface(left) -> EtherMirror -> CheckIPHeader(14) -> IPMirror -> ToInterface(left)'";
    let nat = "weir nat --transparent --address 203.0.113.2";
    let client = "weir stage -e 'RatedSource(LENGTH 20, RATE 1000, LIMIT 5, STOP false) \
         -> UDPIPEncap(10.0.0.5, 4000, 198.51.100.1, 80) -> EtherEncap(0x0800, 2:0:0:0:0:5, 2:0:0:0:0:6) -> ToInterface(right); \
         FromInterface(right) -> MarkIPHeader(14) -> IPPrint(back, TIMESTAMP false) -> c :: Counter(COUNT_CALL 5 stop) -> Discard'";
    scratch.run(&format!("{client} 2>told | {nat} | {mirror}"));
    let told = scratch.text("told");
    assert_eq!(told.matches("back: 198.51.100.1.80 > 10.0.0.5.4000").count(), 5, "{told}");
}

#[test]
fn what_is_wrong_on_a_command_line_is_told() {
    let scratch = Scratch::new();
    for (line, told) in [
        ("weir nat --left-address 10.0.0.1", "--left-address"),
        ("weir shape fast", "10Mbps"),
        ("weir tee -", "mkfifo"),
        ("weir firewall -f nowhere", "nowhere"),
        ("weir filter udp prt 7 </dev/null", "man pcap-filter"),
    ] {
        let output = scratch.run(line);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(told), "{line}: {text}");
    }
}

#[test]
fn the_graph_of_a_function_can_be_printed_and_run() {
    let scratch = Scratch::new();
    scratch.succeed("weir firewall --print-graph 'deny udp' 'allow all' > graph.click && weir read lan.pcap | weir stage graph.click | weir write out.pcap");
    let expected = scratch.succeed("tcpdump -nr lan.pcap not udp 2>/dev/null").lines().count();
    assert_eq!(scratch.count("out.pcap"), expected);
}

/// Offloaded segments and checksums, fragments and pings between two stacks of the kernel's.
#[test]
fn linux_stacks_talk_through_a_nat_and_a_firewall() {
    let scratch = Scratch::new();
    let client = "exec > client 2>&1; until ping -c 1 -W 1 203.0.113.1; do :; done; ping -c 1 -W 5 10.0.0.1 && \
         ping -c 1 -W 5 -s 4000 203.0.113.1 && until head -c 3000000 /dev/zero | nc -N -w 5 203.0.113.1 9000; do sleep 0.1; done";
    let server = "nc -l -p 9000 | wc -c > got; cat > /dev/null";
    scratch.run(&format!(
        "weir linux --right 10.0.0.5/24 --gateway 10.0.0.1 --while-running -- sh -c '{client}' \
         | weir nat --left-address 10.0.0.1/24 --right-address 203.0.113.2/24 \
         | weir firewall --stateful 'allow all' | weir linux --left 203.0.113.1/24 -- sh -c '{server}'"
    ));
    let told = scratch.text("client");
    assert_eq!(scratch.text("got").trim(), "3000000", "{told}");
    assert!(
        told.contains("4008 bytes from 203.0.113.1") && told.contains("64 bytes from 10.0.0.1"),
        "{told}"
    );
}
