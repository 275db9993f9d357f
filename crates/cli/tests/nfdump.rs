//! What a flow monitor exports over UDP is read by the collector nfcapd, and nfdump lists the flows that the capture has.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(20);

/// What tells a flow: hosts, ports, protocol and type of service.
type Key = (IpAddr, IpAddr, u16, u16, u8, u8);
/// Packets, octets and TCP flags by flow.
type Flows = BTreeMap<Key, (u64, u64, u8)>;

/// A folder that is removed after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("weir-nfdump-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("collected")).expect("a temporary folder can be made");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The collector; it is ended with the test.
struct Collector {
    process: Child,
    port: u16,
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Collector {
    /// Starts nfcapd on a port that is free, and waits until it listens there.
    fn start(folder: &Path) -> Collector {
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.expect("there is a free port").port();
        let mut command = Command::new("nfcapd");
        command.arg("-w").arg(folder.join("collected")).args(["-b", "127.0.0.1", "-p", &port.to_string()]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("nfcapd starts");
        let collector = Collector { process, port };
        wait_until("nfcapd listens", || collector.waiting_bytes().is_some());
        collector
    }

    /// Bytes that were sent to the collector and not yet read by it; `None` while it does not listen.
    fn waiting_bytes(&self) -> Option<u64> {
        let table = fs::read_to_string("/proc/net/udp").expect("Linux tells of its sockets");
        let own = format!(":{:04X}", self.port);
        table.lines().skip(1).find_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            words.next().filter(|address| address.ends_with(&own))?;
            let (_, waiting) = words.nth(2)?.split_once(':')?;
            u64::from_str_radix(waiting, 16).ok()
        })
    }

    /// Ends the collector, which then writes what it has, once it has read everything.
    fn finish(mut self) {
        wait_until("nfcapd has read everything", || self.waiting_bytes() == Some(0));
        let pid = self.process.id().to_string();
        let status = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(status.is_ok_and(|status| status.success()), "nfcapd can be ended");
        wait_until("nfcapd ends", || self.process.try_wait().is_ok_and(|status| status.is_some()));
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < LIMIT, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether nfdump is there; if not the test fails, unless `WEIR_MAY_SKIP` is set.
fn has_nfdump() -> bool {
    let starts = |program| Command::new(program).arg("-V").output().is_ok();
    if starts("nfcapd") && starts("nfdump") {
        return true;
    }
    let may_skip = std::env::var_os("WEIR_MAY_SKIP").is_some();
    assert!(may_skip, "nfdump is not installed; set WEIR_MAY_SKIP to leave such tests out.");
    println!("left out: nfdump is not installed");
    false
}

/// The captured frames: those of the LAN, and a few of IPv6, some of them with VLAN tags.
fn capture() -> Vec<u8> {
    let lan = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/lan.pcap");
    let mut capture = fs::read(lan).expect("the capture is there");
    // Time goes on from the last packet of the LAN.
    let (seconds, _) = frames(&capture).last().expect("the capture has packets");
    for n in 0..20u8 {
        let frame = ipv6_frame(n);
        let len = frame.len() as u32;
        for word in [seconds, u32::from(n), len, len] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(frame);
    }
    capture
}

/// An Ethernet frame of IPv6: UDP, TCP behind an extension header, or a ping.
fn ipv6_frame(n: u8) -> Vec<u8> {
    let (next, payload): (u8, Vec<u8>) = match n % 3 {
        0 => (17, [&[0x13, 0x88, 0, 53, 0, 20, 0, 0][..], &[n; 12]].concat()),
        1 => (
            60,
            [&[
                6,
                0,
                1,
                4,
                0,
                0,
                0,
                0,
                0x13,
                0x89,
                0,
                80,
                0,
                0,
                0,
                n,
                0,
                0,
                0,
                0,
                0x50,
                1 << (n % 4),
                0,
                0,
                0,
                0,
                0,
                0,
            ][..]]
            .concat(),
        ),
        _ => (58, vec![128, 0, 0, 0, 0, 1, 0, n]),
    };
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if n.is_multiple_of(2) {
        frame.extend([0x81, 0, 0, 100]);
    }
    frame.extend([0x86, 0xdd, 0x62, 0, 0, 0, 0, payload.len() as u8, next, 64]);
    let address = |host: u16| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host).octets();
    frame.extend(address(1 + u16::from(n) % 4).into_iter().chain(address(9)));
    frame.extend(payload);
    frame
}

/// The frames of a capture in microseconds and little-endian numbers, with their seconds.
fn frames(capture: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = capture.get(24..).unwrap_or(&[]);
    std::iter::from_fn(move || {
        let word = |at: usize| Some(u32::from_le_bytes(rest.get(at..at + 4)?.try_into().ok()?));
        let (seconds, len) = (word(0)?, word(8)? as usize);
        let frame = rest.get(16..16 + len)?;
        rest = rest.get(16 + len..)?;
        Some((seconds, frame))
    })
}

/// The flows of a capture, counted apart from weir's own headers.
fn flows_of(capture: &[u8]) -> Flows {
    let mut flows = Flows::new();
    for (_, frame) in frames(capture) {
        let at = if frame[12..14] == [0x81, 0] { 18 } else { 14 };
        let ip = &frame[at..];
        let word = |at: usize| u16::from_be_bytes([ip[at], ip[at + 1]]);
        let (source, destination, mut protocol, tos, octets, mut payload): (IpAddr, IpAddr, _, _, _, _) =
            match frame[at - 2..at] {
                [8, 0] => {
                    let address = |at: usize| <[u8; 4]>::try_from(&ip[at..at + 4]).expect("four").into();
                    let is_first = word(6) & 0x1fff == 0;
                    let payload = if is_first { &ip[usize::from(ip[0] & 15) * 4..] } else { &[] };
                    (address(12), address(16), ip[9], ip[1], u64::from(word(2)), payload)
                }
                [0x86, 0xdd] => {
                    let address = |at: usize| <[u8; 16]>::try_from(&ip[at..at + 16]).expect("sixteen").into();
                    let tos = (word(0) >> 4) as u8;
                    (address(8), address(24), ip[6], tos, 40 + u64::from(word(4)), &ip[40..])
                }
                _ => continue,
            };
        if protocol == 60 {
            (protocol, payload) = (payload[0], &payload[8..]);
        }
        let port = |at: usize| payload.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let (sport, dport) = if [1, 58].contains(&protocol) { (0, port(0)) } else { (port(0), port(2)) };
        let flags = if protocol == 6 { payload[13] } else { 0 };
        let flow = flows.entry((source, destination, sport, dport, protocol, tos)).or_default();
        *flow = (flow.0 + 1, flow.1 + octets, flow.2 | flags);
    }
    flows
}

/// The records that nfdump lists, as the named columns of its comma-separated values.
fn listed(folder: &Path) -> Vec<BTreeMap<String, String>> {
    let output = Command::new("nfdump").arg("-R").arg(folder.join("collected")).args(["-o", "csv"]).output();
    let text = String::from_utf8(output.expect("nfdump runs").stdout).expect("nfdump writes text");
    let mut lines = text.lines().take_while(|line| *line != "Summary");
    let split = |line: &str| line.split(',').map(|word| word.trim().to_string()).collect::<Vec<_>>();
    let names = split(lines.next().expect("nfdump names its columns"));
    lines.map(|line| names.iter().cloned().zip(split(line)).collect()).collect()
}

/// The flows among these records: each flow's columns of packets and octets, from the named host on.
fn flows_listed(records: &[BTreeMap<String, String>], columns: [&str; 2], is_reverse: bool) -> Flows {
    let mut flows = Flows::new();
    for record in records {
        let text = |name: &str| record.get(name).unwrap_or_else(|| panic!("nfdump tells {name}")).as_str();
        let number = |name: &str| text(name).parse::<u64>().unwrap_or_else(|_| panic!("{name} is a number"));
        let [packets, octets] = columns.map(number);
        if packets == 0 {
            continue;
        }
        let protocol = match text("pr") {
            "TCP" => 6,
            "UDP" => 17,
            "ICMP" => 1,
            "ICMP6" => 58,
            other => panic!("protocol {other}"),
        };
        let flags = text("flg").bytes().rev().enumerate();
        let flags = flags.filter(|(_, letter)| *letter != b'.').fold(0, |flags, (bit, _)| flags | 1 << bit);
        let address = |name: &str| text(name).parse().expect("nfdump writes addresses");
        let mut ends = [(address("sa"), number("sp") as u16), (address("da"), number("dp") as u16)];
        if is_reverse {
            ends.reverse();
        }
        let [(source, sport), (destination, dport)] = ends;
        let flow =
            flows.entry((source, destination, sport, dport, protocol, number("stos") as u8)).or_default();
        *flow = (flow.0 + packets, flow.1 + octets, flow.2 | flags);
    }
    flows
}

/// Exports the flows of the capture to nfcapd and yields what nfdump lists.
fn collect(name: &str, args: &str) -> Vec<BTreeMap<String, String>> {
    let scratch = Scratch::new(name);
    let pcap = scratch.0.join("in.pcap");
    fs::write(&pcap, capture()).expect("the folder can be written");
    let collector = Collector::start(&scratch.0);
    let graph = format!(
        "FromDump({}, STOP true) -> fx :: FlowExporter(ETHER true{args}) -> Discard;
         fx [1] -> Socket(UDP, 127.0.0.1, {});
         DriverManager(wait, write fx.flush, stop);",
        pcap.display(),
        collector.port
    );
    let path = scratch.0.join("graph.click");
    fs::write(&path, graph).expect("the folder can be written");
    let output = Command::new(WEIR).args(["run", "-q"]).arg(&path).output().expect("weir runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    collector.finish();
    listed(&scratch.0)
}

#[test]
fn nfdump_lists_the_flows_of_the_capture() {
    if !has_nfdump() {
        return;
    }
    let records = collect("flows", "");
    let expected = flows_of(&capture());
    assert_eq!(records.len(), expected.len(), "each flow is one record");
    assert_eq!(flows_listed(&records, ["ipkt", "ibyt"], false), expected);
}

#[test]
fn nfdump_reads_records_of_both_directions() {
    if !has_nfdump() {
        return;
    }
    let records =
        collect("biflows", ", BIFLOW true, KEYS source destination source_port destination_port protocol");
    // Types of service are no keys here, nor does the collector tell flags of the two directions apart.
    let plain = |flows: Flows| {
        let mut plain = BTreeMap::<_, (u64, u64)>::new();
        for ((source, destination, sport, dport, protocol, _), (packets, octets, _)) in flows {
            // An echo request's type is told for its reply, too.
            let ports = if [1, 58].contains(&protocol) { (0, 0) } else { (sport, dport) };
            let flow = plain.entry((source, destination, ports, protocol)).or_default();
            *flow = (flow.0 + packets, flow.1 + octets);
        }
        plain
    };
    let mut listed = plain(flows_listed(&records, ["ipkt", "ibyt"], false));
    for (key, counts) in plain(flows_listed(&records, ["opkt", "obyt"], true)) {
        let flow = listed.entry(key).or_default();
        *flow = (flow.0 + counts.0, flow.1 + counts.1);
    }
    let expected = plain(flows_of(&capture()));
    assert!(records.len() < expected.len(), "some records are of both directions");
    assert_eq!(listed, expected);
}
