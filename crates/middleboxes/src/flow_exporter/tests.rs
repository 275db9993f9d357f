//! What the exporter makes of packets, read by a decoder that knows RFC 7011 only.

mod decoder;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::{expect, Expect};
use proptest::prelude::*;

use crate::testing::run;
use decoder::{decode, Record};

/// A file that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Scratch(std::env::temp_dir().join(format!("weir-flows-{}-{number}.ipfix", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may not have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What is printed, and the messages, when an exporter gets the packets of a summary dump, a line a packet.
fn export(packets: &str, args: &str, reads: &[&str]) -> (String, Vec<u8>) {
    let file = Scratch::new();
    let config = format!(
        "FromIPSummaryDump(DATA \"!data timestamp ip_src sport ip_dst dport ip_proto tcp_flags ip_len ip_tos\n{packets}\", \
         STOP true) -> fx :: FlowExporter(FILE {}, {args}) -> Discard;",
        file.0.display()
    );
    let told = run(&config, reads);
    (told, std::fs::read(&file.0).expect("the exporter wrote a file"))
}

/// The records of flows, a line each.
fn check_records(packets: &str, args: &str, expect: Expect) {
    let (told, bytes) = export(packets, args, &[]);
    let decoded = decode(&bytes).expect("the messages are right");
    let lines: String = decoded.flows().map(line).collect();
    expect.assert_eq(&(told + &lines));
}

fn line(record: &Record) -> String {
    let fields: Vec<String> = record
        .iter()
        .map(|((id, reverse), value)| {
            let reverse = if *reverse { "r" } else { "" };
            format!("{reverse}{id}={value}")
        })
        .collect();
    fields.join(" ") + "\n"
}

#[test]
fn a_flow_is_one_record() {
    check_records(
        "100.001 10.0.0.1 1000 10.0.0.2 80 T S 60 0\n100.5 10.0.0.2 80 10.0.0.1 1000 T SA 60 0\n\
         101.25 10.0.0.1 1000 10.0.0.2 80 T A 1500 0\n",
        "",
        expect![[r#"
            1=1560 2=2 4=6 5=0 6=18 7=1000 8=167772161 10=0 11=80 12=167772162 136=4 152=100001 153=101250
            1=60 2=1 4=6 5=0 6=18 7=80 8=167772162 10=0 11=1000 12=167772161 136=4 152=100500 153=100500
        "#]],
    );
}

#[test]
fn silence_ends_a_flow() {
    check_records(
        "100 10.0.0.1 1000 10.0.0.2 53 U - 60 0\n114.999 10.0.0.1 1000 10.0.0.2 53 U - 60 0\n\
         129.999 10.0.0.1 1000 10.0.0.2 53 U - 60 0\n",
        "KEYS source_port",
        expect![[r#"
            1=120 2=2 6=0 7=1000 136=1 152=100000 153=114999
            1=60 2=1 6=0 7=1000 136=4 152=129999 153=129999
        "#]],
    );
}

#[test]
fn what_lasts_for_long_makes_several_records() {
    let packets: String =
        (0..13).map(|n| format!("{} 1.0.0.1 1 1.0.0.2 2 U - 100 0\n", 100 + n * 10)).collect();
    check_records(
        &packets,
        "KEYS protocol",
        expect![[r#"
        1=600 2=6 4=17 6=0 136=2 152=100000 153=150000
        1=600 2=6 4=17 6=0 136=2 152=160000 153=210000
        1=100 2=1 4=17 6=0 136=4 152=220000 153=220000
    "#]],
    );
}

#[test]
fn a_fin_ends_a_flow_where_that_is_asked_for() {
    let packets = "100 1.0.0.1 1 1.0.0.2 2 T SA 40 0\n101 1.0.0.1 1 1.0.0.2 2 T FA 40 0\n\
                   101.5 1.0.0.1 1 1.0.0.2 2 T A 40 0\n103 1.0.0.1 1 1.0.0.2 2 T S 40 0\n";
    check_records(
        packets,
        "KEYS protocol, TCP_END 1",
        expect![[r#"
        1=120 2=3 4=6 6=19 136=3 152=100000 153=101500
        1=40 2=1 4=6 6=2 136=4 152=103000 153=103000
    "#]],
    );
    check_records(
        packets,
        "KEYS protocol, TCP_END 0",
        expect![[r#"
        1=80 2=2 4=6 6=19 136=3 152=100000 153=101000
        1=80 2=2 4=6 6=18 136=4 152=101500 153=103000
    "#]],
    );
    check_records(
        packets,
        "KEYS protocol",
        expect![[r#"
        1=160 2=4 4=6 6=19 136=4 152=100000 153=103000
    "#]],
    );
}

#[test]
fn the_flow_that_was_silent_for_the_longest_time_makes_room() {
    let packets = "100 1.0.0.1 1 1.0.0.2 2 U - 40 0\n101 1.0.0.2 1 1.0.0.2 2 U - 40 0\n\
                   102 1.0.0.1 1 1.0.0.2 2 U - 40 0\n103 1.0.0.3 1 1.0.0.2 2 U - 40 0\n";
    check_records(
        packets,
        "KEYS source, CAPACITY 2",
        expect![[r#"
        1=40 2=1 6=0 8=16777218 136=5 152=101000 153=101000
        1=80 2=2 6=0 8=16777217 136=4 152=100000 153=102000
        1=40 2=1 6=0 8=16777219 136=4 152=103000 153=103000
    "#]],
    );
}

#[test]
fn both_directions_make_one_record_where_that_is_asked_for() {
    check_records(
        "100 10.0.0.1 1000 10.0.0.2 80 T S 60 0\n100.5 10.0.0.2 80 10.0.0.1 1000 T SA 60 8\n\
         101 10.0.0.1 1000 10.0.0.2 80 T A 1500 0\n102 10.0.0.3 5 10.0.0.2 80 U - 1000 0\n",
        "BIFLOW true",
        expect![[r#"
            1=1560 r1=60 2=2 r2=1 4=6 6=18 r6=18 7=1000 8=167772161 11=80 12=167772162 136=4 152=100000 r152=100500 153=101000 r153=100500 239=1
            1=1000 2=1 4=17 6=0 7=5 8=167772163 11=80 12=167772162 136=4 152=102000 153=102000
        "#]],
    );
}

#[test]
fn one_packet_in_so_many_is_counted_and_the_collector_told() {
    let packets = "100 1.0.0.1 1 1.0.0.2 2 U - 40 0\n".repeat(10);
    let (told, bytes) = export(&packets, "SAMPLING 4", &["fx.count", "fx.ignored", "fx.flows"]);
    let decoded = decode(&bytes).expect("the messages are right");
    let options: String = decoded.options().map(line).collect();
    let flows: String = decoded.flows().map(line).collect();
    expect![[r#"
        fx.count: 3
        fx.ignored: 0
        fx.flows: 1
        40=0 41=0 42=0 149=1 164=0 166=0
        302=1 304=1 305=1 306=3
        1=120 2=3 4=17 5=0 6=0 7=1 8=16777217 10=0 11=2 12=16777218 136=4 152=100000 153=100000
    "#]]
    .assert_eq(&(told + &options + &flows));
}

#[test]
fn flows_and_templates_are_listed() {
    let data = "\\<4500001c0001000040110000 0a000001 0a000002 03e8 0035 00080000>";
    let ping = "\\<450000200001000040010000 0a0000010a000002 0800 0000 00010001 00000000>";
    let v6 = "\\<60000000 0008 3a 40 20010db8000000000000000000000001 20010db8000000000000000000000002 8000 0000 00010001>";
    let source = |data: &str, mark: &str| {
        format!("InfiniteSource(DATA {data}, LIMIT 2, STOP false) -> {mark} -> SetTimestamp(1000.5) -> p;")
    };
    crate::testing::check_reading(
        &format!(
            "p :: Paint(3) -> fx :: FlowExporter(EGRESS_ANNO 40, IDLE 0, ACTIVE 0) -> Discard; fx [1] -> Discard; {} {} {}",
            source(data, "MarkIPHeader"),
            source(ping, "MarkIPHeader"),
            source(v6, "MarkIP6Header"),
        ),
        &["fx.table", "fx.templates"],
        expect![[r#"
            fx.table: 17 10.0.0.1:1000 > 10.0.0.2:53 tos 0 vlan 0 interface 3 packets 2 octets 56 flags 0x00 first 1000.500 last 1000.500
            1 10.0.0.1 > 10.0.0.2 icmp 8/0 tos 0 vlan 0 interface 3 packets 2 octets 64 flags 0x00 first 1000.500 last 1000.500
            58 2001:db8::1 > 2001:db8::2 icmp 128/0 tos 0 vlan 0 interface 3 packets 2 octets 96 flags 0x00 first 1000.500 last 1000.500

            fx.templates: 256: sourceIPv4Address(8)/4 destinationIPv4Address(12)/4 sourceTransportPort(7)/2 destinationTransportPort(11)/2 protocolIdentifier(4)/1 ipClassOfService(5)/1 ingressInterface(10)/4 octetDeltaCount(1)/8 packetDeltaCount(2)/8 flowStartMilliseconds(152)/8 flowEndMilliseconds(153)/8 tcpControlBits(6)/2 egressInterface(14)/4 flowEndReason(136)/1
            257: sourceIPv4Address(8)/4 destinationIPv4Address(12)/4 icmpTypeCodeIPv4(32)/2 protocolIdentifier(4)/1 ipClassOfService(5)/1 ingressInterface(10)/4 octetDeltaCount(1)/8 packetDeltaCount(2)/8 flowStartMilliseconds(152)/8 flowEndMilliseconds(153)/8 tcpControlBits(6)/2 egressInterface(14)/4 flowEndReason(136)/1
            258: sourceIPv6Address(27)/16 destinationIPv6Address(28)/16 sourceTransportPort(7)/2 destinationTransportPort(11)/2 protocolIdentifier(4)/1 ipClassOfService(5)/1 ingressInterface(10)/4 octetDeltaCount(1)/8 packetDeltaCount(2)/8 flowStartMilliseconds(152)/8 flowEndMilliseconds(153)/8 tcpControlBits(6)/2 egressInterface(14)/4 flowEndReason(136)/1
            259: sourceIPv6Address(27)/16 destinationIPv6Address(28)/16 icmpTypeCodeIPv6(139)/2 protocolIdentifier(4)/1 ipClassOfService(5)/1 ingressInterface(10)/4 octetDeltaCount(1)/8 packetDeltaCount(2)/8 flowStartMilliseconds(152)/8 flowEndMilliseconds(153)/8 tcpControlBits(6)/2 egressInterface(14)/4 flowEndReason(136)/1
            300: observationDomainId(149)/4 exportedMessageTotalCount(41)/8 exportedFlowRecordTotalCount(42)/8 exportedOctetTotalCount(40)/8 ignoredPacketTotalCount(164)/8 notSentFlowTotalCount(166)/8

        "#]],
    );
}

#[test]
fn frames_tell_their_vlan() {
    let frame = "\\<020000000001 020000000002 8100 0064 86dd \
                 60000000 0010 00 40 20010db8000000000000000000000001 20010db8000000000000000000000002 \
                 1100 000000000000 03e8 0035 00080000>";
    let config = format!(
        "InfiniteSource(DATA {frame}, LIMIT 1, STOP false) -> SetTimestamp(5) \
         -> fx :: FlowExporter(ETHER true, KEYS source_port vlan protocol, IDLE 0, ACTIVE 0) -> Discard; fx [1] -> Discard;"
    );
    crate::testing::check_reading(
        &config,
        &["fx.table", "fx.ignored"],
        expect![[r#"
        fx.table: 17 [::]:1000 > [::]:0 tos 0 vlan 100 interface 0 packets 1 octets 56 flags 0x00 first 5.000 last 5.000

        fx.ignored: 0
    "#]],
    );
}

#[test]
fn templates_are_sent_again() {
    let packets: String =
        (0..40).map(|n| format!("{} 1.0.0.{n} 1 1.0.0.2 2 U - 40 0\n", 100 + n * 20)).collect();
    let n_templates = |args: &str| {
        let (_, bytes) = export(&packets, args, &[]);
        format!("{:?}", decode(&bytes).expect("the messages are right").n_templates)
    };
    expect!["[5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0]"]
        .assert_eq(&n_templates("TEMPLATE_INTERVAL 100, MTU 576"));
    expect!["[5, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0]"]
        .assert_eq(&n_templates("TEMPLATE_INTERVAL 1h, TEMPLATE_MESSAGES 7, MTU 576"));
}

#[test]
fn the_time_of_messages_never_turns_back() {
    // A packet of 117 s that ends no flow has the message of 100 s sent; packets of before then fill the next ones.
    let packet = |time: &str, n: u32| format!("{time} 1.0.0.{n} 1 1.0.0.2 2 U - 40 0\n");
    let late: String = (10..110).map(|n| packet("116.5", n)).collect();
    let packets = packet("100", 1) + &packet("100", 2) + &packet("117", 2) + &late;
    let (_, bytes) = export(&packets, "CAPACITY 1, IDLE 60, MTU 576", &[]);
    decode(&bytes).expect("the messages are right");
}

#[test]
fn messages_stay_within_the_mtu_and_fill_it() {
    let packets: String = (0..100).map(|n| format!("100 1.0.0.{n} 1 1.0.0.2 2 U - 40 0\n")).collect();
    let (_, bytes) = export(&packets, "MTU 600", &[]);
    let decoded = decode(&bytes).expect("the messages are right");
    expect!["[534, 550, 550, 550, 550, 550, 550, 550, 550, 550, 338]"]
        .assert_eq(&format!("{:?}", decoded.lengths));
}

#[test]
fn wrong_arguments_are_told_of() {
    crate::testing::check(
        "Idle -> FlowExporter(KEYS source colour, CAPACITY 0, MTU 100, SAMPLING 0) -> Discard;",
        expect![[r#"
            config:1: While configuring 'FlowExporter@2 :: FlowExporter':
              KEYS: 'colour' is no part of a key
              CAPACITY: must be at least 1
              MTU: out of range, bound 576
              SAMPLING: out of range, bound 1
              warning: flows are counted but not exported: there is neither output 1 nor FILE
            Router could not be initialized!
        "#]],
    );
    crate::testing::check(
        "Idle -> FlowExporter -> Discard;",
        expect![[r#"
        config:1: While configuring 'FlowExporter@2 :: FlowExporter':
          warning: flows are counted but not exported: there is neither output 1 nor FILE
    "#]],
    );
}

/// A packet: milliseconds since the one before, source, destination port, TCP flags and length.
type Sent = (i32, u8, u8, &'static str, u16);

fn any_packets() -> impl Strategy<Value = Vec<Sent>> {
    let flags = prop::sample::select(vec!["S", "A", "FA", "R", "PA"]);
    prop::collection::vec((-2000..20_000i32, 0..6u8, 0..4u8, flags, 40..1500u16), 1..120)
}

/// Packets and octets by source and destination port.
type Counts = BTreeMap<(u128, u128), (u128, u128)>;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn what_is_counted_is_what_was_seen(
        packets in any_packets(),
        active in 0..40u32,
        idle in 0..20u32,
        tcp_end in prop::option::of(0..4u32),
        capacity in 1..30u32,
        is_biflow: bool,
        mtu in 576..1500u32,
    ) {
        let mut at_ms = 1_000_000i64;
        let (mut text, mut seen) = (String::new(), Counts::new());
        for (wait, source, port, flags, len) in packets {
            at_ms += i64::from(wait);
            // Even sources are hosts that ask, odd ones those that answer.
            let (a, b) = (format!("10.0.0.{}", source & !1), format!("10.0.0.{}", source | 1));
            let (asks, answers) = ((a, 1000), (b, u32::from(port)));
            let ((from, sport), (to, dport)) = if source % 2 == 0 { (asks, answers) } else { (answers, asks) };
            text += &format!("{}.{:03} {from} {sport} {to} {dport} T {flags} {len} 0\n", at_ms / 1000, at_ms % 1000);
            let counts = seen.entry((u128::from(0x0a00_0000 + u32::from(source)), sport.into())).or_default();
            counts.0 += 1;
            counts.1 += u128::from(len);
        }
        let tcp_end = tcp_end.map(|seconds| format!(", TCP_END {seconds}")).unwrap_or_default();
        let args = format!("ACTIVE {active}, IDLE {idle}, CAPACITY {capacity}, BIFLOW {is_biflow}, MTU {mtu}{tcp_end}");
        let (told, bytes) = export(&text, &args, &[]);
        prop_assert_eq!(told, "");
        let decoded = decode(&bytes).expect("the messages are right");
        let mut counted = Counts::new();
        for record in decoded.flows() {
            let get = |id: u16, reverse: bool| record.get(&(id, reverse)).copied().unwrap_or(0);
            prop_assert!(get(152, false) <= get(153, false));
            for (is_reverse, source, port) in [(false, 8, 7), (true, 12, 11)] {
                if get(2, is_reverse) > 0 {
                    let counts = counted.entry((get(source, false), get(port, false))).or_default();
                    counts.0 += get(2, is_reverse);
                    counts.1 += get(1, is_reverse);
                }
            }
        }
        prop_assert_eq!(counted, seen);
        prop_assert!(decoded.lengths.iter().all(|len| *len <= mtu as usize - 48));
    }

    /// Where time never turns back, a record's packets are no further apart than IDLE, and last no longer than ACTIVE.
    #[test]
    fn records_keep_the_time_outs(
        waits in prop::collection::vec(0..9000i64, 1..100),
        active in 1..40i64,
        idle in 1..10i64,
    ) {
        let mut at_ms = 1_000_000i64;
        let mut text = String::new();
        let mut expected = Vec::new();
        for wait in waits {
            let before = at_ms;
            at_ms += wait;
            text += &format!("{}.{:03} 1.0.0.1 1 1.0.0.2 2 U - 40 0\n", at_ms / 1000, at_ms % 1000);
            match expected.last_mut() {
                Some((begin, end)) if at_ms - before < idle * 1000 && at_ms - *begin < active * 1000 => *end = at_ms,
                _ => expected.push((at_ms, at_ms)),
            }
        }
        let (_, bytes) = export(&text, &format!("ACTIVE {active}, IDLE {idle}"), &[]);
        let decoded = decode(&bytes).expect("the messages are right");
        let time = |record: &Record, id| record.get(&(id, false)).map_or(0, |ms| *ms as i64);
        let times: Vec<_> = decoded.flows().map(|record| (time(record, 152), time(record, 153))).collect();
        prop_assert_eq!(times, expected);
    }
}
