//! The function `flow-monitor`.

mod harness;

use std::net::UdpSocket;
use std::time::Duration;

use expect_test::expect;
use harness::{run, Scratch, UDP};
use serde_json::json;

const BACK: &str = "UDP(10.0.0.2, 53, 10.0.0.1, 1000)";
const READS: [&str; 6] = ["fx.flows", "fx.count", "fx.ignored", "fx.exported", "fx.messages", "fx.table"];

#[test]
fn flows_of_both_directions_are_counted_and_packets_pass() {
    let instance = json!({ "name": "fm", "idle-timeout": 600 });
    let ping = "PING(10.0.0.1, 10.0.0.2, 7)";
    let told = run(
        "flow-monitor",
        instance,
        &[("left", &[UDP, UDP, "ARP(10.0.0.1, 10.0.0.2)", ping]), ("right", &[BACK])],
        &READS,
    );
    expect![[r#"
        config:9: While configuring 'fx :: FlowExporter':
          warning: flows are counted but not exported: there is neither output 1 nor FILE
        fx.flows: 3
        fx.count: 4
        fx.ignored: 1
        fx.exported: 0
        fx.messages: 0
        fx.table: 17 10.0.0.1:1000 > 10.0.0.2:53 tos 0 vlan 0 interface 1 packets 2 octets 64 flags 0x00 first 1000000000.000 last 1000000000.001
        17 10.0.0.2:53 > 10.0.0.1:1000 tos 0 vlan 0 interface 2 packets 1 octets 32 flags 0x00 first 1000000000.000 last 1000000000.000
        1 10.0.0.1 > 10.0.0.2 icmp 8/0 tos 0 vlan 0 interface 1 packets 1 octets 30 flags 0x00 first 1000000000.003 last 1000000000.003

        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 2.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 ping 7 ttl 64 len 30
    "#]].assert_eq(&told);
}

#[test]
fn the_lines_of_its_table_are_entries() {
    let functions = functions::Functions::shipped_one("flow-monitor").unwrap();
    let statistics = functions.get("flow-monitor").unwrap().node.child("statistics").unwrap().clone();
    let line = regex_lite::Regex::new(statistics.child("flow").unwrap().extension("line").unwrap()).unwrap();
    for (biflow, told) in
        [(false, "17 10.0.0.1:1000 10.0.0.2:53 1 32"), (true, "17 10.0.0.1:1000 10.0.0.2:53 1 32")]
    {
        let instance = json!({ "name": "fm", "biflow": biflow });
        let table = run("flow-monitor", instance, &[("left", &[UDP]), ("right", &[BACK])], &["fx.table"]);
        let first = table.lines().find_map(|line| line.strip_prefix("fx.table: ")).unwrap();
        let found = line.captures(first).unwrap_or_else(|| panic!("{first}"));
        let names = ["protocol", "source", "destination", "packets", "octets"];
        let values: Vec<&str> = names.iter().map(|name| found.name(name).unwrap().as_str()).collect();
        assert_eq!(values.join(" "), told, "{first}");
    }
}

#[test]
fn records_are_written_to_a_file() {
    let scratch = Scratch::new();
    let file = scratch.path("a, b.ipfix");
    let instance = json!({ "name": "fm", "idle-timeout": 1, "file": file, "biflow": true });
    let told = run("flow-monitor", instance, &[("left", &[UDP]), ("right", &[BACK])], &READS);
    assert!(told.contains("fx.exported: 1\nfx.messages: 1\n"), "{told}");
    let bytes = std::fs::read(file).unwrap();
    assert_eq!(&bytes[..2], [0, 10], "the version of IPFIX");
}

#[test]
fn records_are_sent_to_a_collector() {
    let collector = UdpSocket::bind("127.0.0.1:0").unwrap();
    collector.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let port = collector.local_addr().unwrap().port();
    let instance = json!({
        "name": "fm", "idle-timeout": 1, "collector": "127.0.0.1", "port": port, "domain": 7, "sampling": 1,
    });
    let told = run("flow-monitor", instance, &[("left", &[UDP]), ("right", &[BACK])], &READS);
    assert!(told.contains("fx.exported: 2\n"), "{told}");
    let mut message = [0; 2000];
    let len = collector.recv(&mut message).unwrap();
    assert_eq!((&message[..2], usize::from(message[3]) | usize::from(message[2]) << 8), (&[0, 10][..], len));
    assert_eq!(message[12..16], [0, 0, 0, 7], "the observation domain");
}
