//! The function `capture`.

mod harness;

use expect_test::expect;
use harness::{run, Scratch, UDP};
use interfaces::capture::Reader;
use serde_json::{json, Value};

const WEB: &str = "TCP(10.0.0.1, 1000, 10.0.0.2, 80, A)";

/// Captures among two packets each way; handlers' values and what passed, then the lengths of the packets in each file.
fn capture(mut instance: Value, scratch: &Scratch, files: &[&str]) -> String {
    instance["file"] = scratch.path("out.pcap").into();
    let reads = ["file.count", "filter.drops", "file.full_files"];
    let mut told = run("capture", instance, &[("left", &[UDP, WEB]), ("right", &[UDP, WEB])], &reads);
    for name in files {
        let Ok(mut reader) = Reader::open(&scratch.path(name)) else {
            told += &format!("{name}: none\n");
            continue;
        };
        let mut lengths = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            lengths.push(format!("{} of {}", record.data.len(), record.wire_len));
        }
        told += &format!("{name}: {}\n", lengths.join(", "));
    }
    told
}

#[test]
fn packets_of_both_directions_are_written_and_pass() {
    let scratch = Scratch::new();
    expect![[r#"
        file.count: 4
        filter.drops: 0
        file.full_files: 0
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        out.pcap: 46 of 46, 46 of 46, 54 of 54, 54 of 54
    "#]]
    .assert_eq(&capture(json!({ "name": "c" }), &scratch, &["out.pcap"]));
}

#[test]
fn packets_are_chosen_and_cut() {
    let scratch = Scratch::new();
    let instance = json!({ "name": "c", "filter": "tcp and (port 80)", "snaplen": 20, "direction": "left" });
    expect![[r#"
        file.count: 1
        filter.drops: 1
        file.full_files: 0
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        out.pcap: 20 of 54
    "#]]
    .assert_eq(&capture(instance, &scratch, &["out.pcap"]));
}

#[test]
fn files_rotate() {
    let scratch = Scratch::new();
    let instance = json!({ "name": "c", "max-packets": "1", "files": 2 });
    expect![[r#"
        file.count: 4
        filter.drops: 0
        file.full_files: 3
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 A ttl 64 len 40
        out.pcap: 54 of 54
        out.pcap.1: 54 of 54
        out.pcap.2: none
    "#]]
    .assert_eq(&capture(instance, &scratch, &["out.pcap", "out.pcap.1", "out.pcap.2"]));
}

#[test]
fn nothing_is_written_while_it_is_not_enabled() {
    let scratch = Scratch::new();
    let told = capture(json!({ "name": "c", "enabled": false }), &scratch, &["out.pcap"]);
    assert!(told.starts_with("file.count: 0\n") && told.ends_with("out.pcap: \n"), "{told}");
    assert_eq!(told.matches("to right").count() + told.matches("to left").count(), 4, "{told}");
}

#[test]
fn names_and_filters_stay_what_they_are() {
    let scratch = Scratch::new();
    let name = "a, b) -> Discard; \"x\" $y ${z} \\<41> \\.pcap";
    let instance = json!({ "name": "c", "file": scratch.path(name), "filter": "udp) -> Discard; //" });
    let told = run("capture", instance, &[("left", &[UDP])], &[]);
    assert!(told.contains("udp) -> Discard; //"), "{told}");
    let instance = json!({ "name": "c", "file": scratch.path(name) });
    let told = run("capture", instance, &[("left", &[UDP])], &["file.count"]);
    assert!(told.starts_with("file.count: 1\n"), "{told}");
    assert!(std::path::Path::new(&scratch.path(name)).exists());
}

#[test]
fn instances_that_cannot_be_are_refused() {
    let told = |instance: Value| run("capture", instance, &[("left", &[UDP])], &[]);
    expect!["/capture:capture[name='c']/file: an instance cannot write to standard output: give the name of a file"].assert_eq(&told(json!({ "name": "c", "file": "-" })));
    expect!["/capture:capture[name='c']/files: files never become full: give max-packets or max-bytes"]
        .assert_eq(&told(json!({ "name": "c", "file": "x", "files": 3 })));
}
