//! Streams are searched as if they had come in one piece.

use detect::detector::{Detector, Limits};
use detect::rules::parse::Reader;
use graph::Diagnostics;
use proptest::prelude::*;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

fn detector(rules: &str, limits: Limits) -> Detector {
    let (mut reader, mut diagnostics) = (Reader::default(), Diagnostics::default());
    reader.read("rules", rules, &mut diagnostics);
    assert!(diagnostics.list.is_empty(), "{:?}", diagnostics.list);
    Detector::new(reader.finish(), limits)
}

const LIMITS: Limits = Limits { n_flows: 100, stream_memory: 1 << 20, depth: 0, is_inline: false };

fn ip(protocol: u8, from: [u8; 4], to: [u8; 4], body: &[u8]) -> Vec<u8> {
    let len = (20 + body.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    packet.extend(from);
    packet.extend(to);
    packet.extend(body);
    packet
}

/// A segment from the client (or to it), with flags as in the header.
fn tcp(to_server: bool, sequence: u32, acknowledgment: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let (client, server) = (4000u16.to_be_bytes(), 80u16.to_be_bytes());
    let (from, to) = if to_server { (client, server) } else { (server, client) };
    let mut segment = [from, to].concat();
    segment.extend(sequence.to_be_bytes());
    segment.extend(acknowledgment.to_be_bytes());
    segment.extend([0x50, flags, 1, 0, 0, 0, 0, 0]);
    segment.extend(payload);
    match to_server {
        true => ip(6, CLIENT, SERVER, &segment),
        false => ip(6, SERVER, CLIENT, &segment),
    }
}

fn udp(payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len() as u16).to_be_bytes();
    let mut datagram = vec![0x10, 0, 0, 53, len[0], len[1], 0, 0];
    datagram.extend(payload);
    ip(17, CLIENT, SERVER, &datagram)
}

/// The numbers of the rules that a packet matches.
fn fired(detector: &mut Detector, packet: &[u8], now_ns: i64) -> Vec<u32> {
    detector.inspect(packet, now_ns);
    let rules = detector.fired().iter().filter_map(|fired| detector.program().rule(fired.rule));
    rules.map(|rule| rule.sid).collect()
}

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;
const RST: u8 = 4;

fn open(detector: &mut Detector, isn: u32) {
    handshake(isn).iter().for_each(|packet| drop(fired(detector, packet, 0)));
}

#[test]
fn a_pattern_may_lie_across_segments() {
    let rules = r#"
        alert tcp any any -> any 80 (msg:"one"; content:"/etc/passwd"; sid:1;)
        alert tcp any any -> any 80 (msg:"two"; content:"union"; nocase; content:"select"; nocase; distance:1; within:20; sid:2;)
        alert tcp any any -> any 80 (msg:"begin"; content:"GET"; startswith; content:"root"; sid:3;)
        alert tcp any any -> any 80 (msg:"pattern"; content:"id="; pcre:"/id=\d+'/"; sid:4;)
        alert tcp any any -> any 80 (msg:"not"; content:"union"; nocase; content:!"select"; nocase; sid:5;)
        alert tcp any any -> any 80 (msg:"short"; content:"%"; content:"x"; distance:0; within:1; sid:6;)
    "#;
    let text = b"GET /?file=../../etc/passwd&id=15' UNION  SELECT %x root";
    let mut at_once = detector(rules, LIMITS);
    open(&mut at_once, 100);
    assert_eq!(fired(&mut at_once, &tcp(true, 101, 7001, ACK, text), 0), [1, 2, 3, 4, 6]);
    let mut byte_by_byte = detector(rules, LIMITS);
    open(&mut byte_by_byte, u32::MAX - 5);
    let mut all: Vec<u32> = Vec::new();
    for (i, byte) in text.iter().enumerate() {
        let sequence = (u32::MAX - 4).wrapping_add(i as u32);
        all.extend(fired(&mut byte_by_byte, &tcp(true, sequence, 7001, ACK, &[*byte]), 0));
    }
    // What is not there is not there yet when `union` is.
    assert_eq!(all, [1, 4, 5, 2, 6, 3]);
}

#[test]
fn what_came_first_counts_and_what_differs_is_looked_at_by_itself() {
    let rules = r#"alert tcp any any -> any any (content:"attack"; sid:1;)"#;
    let mut detector = detector(rules, LIMITS);
    open(&mut detector, 0);
    assert!(fired(&mut detector, &tcp(true, 1, 7001, ACK, b"harmless"), 0).is_empty());
    assert!(fired(&mut detector, &tcp(true, 1, 7001, ACK, b"harmless"), 0).is_empty());
    assert_eq!(detector.flows().counts.retransmissions, 0);
    assert_eq!(fired(&mut detector, &tcp(true, 1, 7001, ACK, b"an attack"), 0), [1]);
    assert_eq!(detector.flows().counts.retransmissions, 1);
}

fn handshake(isn: u32) -> Vec<Vec<u8>> {
    vec![
        tcp(true, isn, 0, SYN, b""),
        tcp(false, 7000, isn.wrapping_add(1), SYN | ACK, b""),
        tcp(true, isn.wrapping_add(1), 7001, ACK, b""),
    ]
}

/// What the client's two segments match that carry `EVIL` and `STUFF`, the connection having begun with these packets.
fn after(begin: &[Vec<u8>], first: u32) -> Vec<u32> {
    let mut detector = detector(r#"alert tcp any any -> any 80 (content:"EVILSTUFF"; sid:1;)"#, LIMITS);
    begin.iter().for_each(|packet| drop(fired(&mut detector, packet, 0)));
    assert!(fired(&mut detector, &tcp(true, first, 7001, ACK, b"EVIL"), 0).is_empty());
    fired(&mut detector, &tcp(true, first.wrapping_add(4), 7001, ACK, b"STUFF"), 0)
}

#[test]
fn the_connection_that_was_answered_is_followed() {
    let opening = handshake;
    let stray = tcp(true, 900_000_000, 0, SYN, b"");
    assert_eq!(after(&opening(0), 1), [1]);
    assert_eq!(after(&[vec![stray.clone()], opening(0)].concat(), 1), [1]);
    // A SYN that comes late, again, or is never answered does nothing; a reset from elsewhere neither.
    assert_eq!(after(&[opening(0), vec![stray.clone()]].concat(), 1), [1]);
    let again = tcp(false, 7000, 1, SYN | ACK, b"");
    let reset = tcp(true, 123_456_789, 0, RST, b"");
    assert_eq!(
        after(&[opening(0), vec![tcp(true, 1, 7001, ACK, b"data"), again, reset, stray]].concat(), 5),
        [1]
    );
    // Another connection between the same ports, of which the first one's end was missed.
    let used = [opening(0), vec![tcp(true, 1, 7001, ACK, b"data")], opening(600_000_000)].concat();
    assert_eq!(after(&used, 600_000_001), [1]);
    // The other side has far more than was seen here.
    let far = tcp(false, 7001, 1 + (1 << 25), ACK, b"");
    assert_eq!(after(&[opening(0), vec![far]].concat(), 1 + (1 << 25)), [1]);
}

/// What packets match behind a handshake, of which the client's data begins at 101 and the server's at 7001.
fn within(packets: &[Vec<u8>]) -> Vec<u32> {
    let mut detector = detector(r#"alert tcp any any -> any 80 (content:"EVILSTUFF"; sid:1;)"#, LIMITS);
    open(&mut detector, 100);
    packets.iter().flat_map(|packet| fired(&mut detector, packet, 0)).collect()
}

#[test]
fn answers_to_what_was_not_asked_are_ignored() {
    let client = |at: u32, payload: &[u8]| tcp(true, 101 + at, 7001, ACK, payload);
    let server = |acknowledged: u32| tcp(false, 7001, 101 + acknowledged, ACK, b"");
    let strays = [
        tcp(true, 9, 9, SYN | ACK, b""),
        tcp(true, 9, 7001, SYN | ACK, b""),
        tcp(true, 9, 5_000_000, SYN | ACK, b"data"),
        tcp(false, 9, 9, SYN | ACK, b""),
        tcp(false, 9, 101, SYN | ACK, b"data"),
        tcp(false, 9, 5000, SYN | ACK, b""),
        // It would be the next data, but its receiver ignores it.
        tcp(true, 104, 7001, SYN | ACK, b"other"),
        tcp(true, 104, 0, SYN, b"other"),
    ];
    for stray in &strays {
        let stray = stray.clone();
        assert_eq!(within(&[client(0, b"EVIL"), server(4), stray, server(4), client(4, b"STUFF")]), [1]);
    }
    for stray in &strays[..6] {
        let mut packets = vec![stray.clone()];
        packets.extend((0..20).map(|i| client(i * 9, b"EVILSTUFF")));
        assert_eq!(within(&packets), [1; 20]);
        let mut before = handshake(100);
        before.insert(1, stray.clone());
        assert_eq!(after(&before, 101), [1]);
    }
    // The same of the server's side.
    let rules = r#"alert tcp any 80 -> any any (content:"EVILSTUFF"; sid:1;)"#;
    let mut detector = detector(rules, LIMITS);
    open(&mut detector, 100);
    fired(&mut detector, &tcp(false, 9, 101, SYN | ACK, b""), 0);
    fired(&mut detector, &tcp(false, 7001, 101, ACK, b"EVIL"), 0);
    assert_eq!(fired(&mut detector, &tcp(false, 7005, 101, ACK, b"STUFF"), 0), [1]);
}

#[test]
fn data_in_a_syn_counts_as_far_as_it_is_acknowledged() {
    let rules = r#"
        alert tcp any any -> any 80 (content:"EVILSTUFF"; sid:1;)
        alert tcp any any -> any 80 (content:"EVILSTUFF"; startswith; flow:established,to_server; sid:2;)
        alert tcp any 80 -> any any (content:"EVILSTUFF"; sid:3;)
    "#;
    let syn = |payload: &[u8]| tcp(true, 100, 0, SYN, payload);
    let answer = |n: u32| tcp(false, 7000, 101 + n, SYN | ACK, b"");
    let data = |at: u32, payload: &[u8]| tcp(true, 101 + at, 7001, ACK, payload);
    let stray = tcp(true, 900_000_000, 0, SYN, b"");
    let find = |packets: &[Vec<u8>]| -> Vec<Vec<u32>> {
        let mut detector = detector(rules, LIMITS);
        packets.iter().map(|packet| fired(&mut detector, packet, 0)).collect()
    };
    assert_eq!(find(&[syn(b"EVIL"), answer(4), data(4, b"STUFF")]), [vec![], vec![], vec![1, 2]]);
    assert_eq!(find(&[syn(b"EVIL"), stray, answer(4), data(4, b"STUFF")])[3], [1, 2]);
    assert_eq!(find(&[syn(b"EVIL"), syn(b"EVIL"), answer(4), data(4, b"STUFF")])[3], [1, 2]);
    assert_eq!(find(&[syn(b"EVILSTUFF"), answer(9), data(9, b"x")]), [vec![1], vec![2], vec![]]);
    // What was not taken comes again, and may be another.
    assert_eq!(find(&[syn(b"EVIL"), answer(0), data(0, b"EVIL"), data(4, b"STUFF")])[3], [1, 2]);
    assert_eq!(find(&[syn(b"GOOD"), answer(0), data(0, b"EVIL"), data(4, b"STUFF")])[3], [1, 2]);
    assert_eq!(find(&[syn(b"EVILGOOD"), answer(4), data(4, b"STUFF")])[2], [1, 2]);
}

#[test]
fn what_is_acknowledged_but_was_not_sent_is_ignored() {
    let client = |at: u32, payload: &[u8]| tcp(true, 101 + at, 7001, ACK, payload);
    let server = |acknowledged: u32| tcp(false, 7001, 101 + acknowledged, ACK, b"");
    for wild in [10, 4999, 1 << 25, 1 << 30] {
        let packets = [client(0, b"EVIL"), server(wild), client(4, b"STUFF")];
        assert_eq!(within(&packets), [1]);
        // It is not believed any more when another one says less.
        let packets =
            [client(0, b"EVIL"), server(wild), server(4), client(wild, b"later"), client(4, b"STUFF")];
        assert_eq!(within(&packets), [1]);
    }
    // Packets were missed: what waits is searched, and the stream goes on where its data does.
    let packets = [client(10, b"EVILSTUFF"), server(50), client(50, b"EVIL"), client(54, b"STUFF")];
    assert_eq!(within(&packets), [1, 1]);
    let packets = [client(10, b"EVILSTUFF"), tcp(true, 101 + 19, 7001, ACK | FIN, b""), server(20)];
    assert_eq!(within(&packets), [1]);
}

#[test]
fn behind_the_depth_nothing_is_missed() {
    let rules = r#"alert tcp any any -> any any (content:"attack"; sid:1;)"#;
    let mut shallow = detector(rules, Limits { depth: 50, ..LIMITS });
    open(&mut shallow, 0);
    for i in 0..20u32 {
        fired(&mut shallow, &tcp(true, 1 + i * 10, 7001, ACK, b"harmless.."), 0);
        fired(&mut shallow, &tcp(false, 7001, 11 + i * 10, ACK, b""), 0);
    }
    assert_eq!(shallow.flows().counts.gaps, 0);
}

#[test]
fn rules_of_packets_see_whole_packets_and_those_that_came() {
    let rules = r#"
        alert tcp any any -> any 80 (pcre:"/EVIL[A-Z]+/"; sid:1;)
        alert tcp any any -> any 80 (content:"EVILSTUFF"; dsize:>3000; offset:2900; sid:2;)
        alert tcp any any -> any 80 (dsize:>100; content:!"EVILSTUFF"; sid:3;)
        alert tcp any any -> any 80 (content:"EVILSTUFF"; depth:9; sid:4;)
        alert tcp any any -> any 80 (content:"EVILSTUFF"; offset:2900; sid:5;)
        alert tcp any any -> any 80 (dsize:5; content:"EARLY"; sid:6;)
        alert tcp any any -> any 80 (dsize:3; content:"EARLY"; sid:7;)
    "#;
    let big = |n: usize| [&vec![b'a'; n][..], b"EVILSTUFF", &[b'b'; 500]].concat();
    for (n, mut due) in [(3000, vec![1, 2, 5]), (2048, vec![1]), (60_000, vec![1, 2])] {
        let mut detector = detector(rules, LIMITS);
        open(&mut detector, 0);
        let mut found = fired(&mut detector, &tcp(true, 1, 7001, ACK, &big(n)), 0);
        found.sort_unstable();
        if n == 60_000 {
            // The offset of a stream's pattern is not known any more there.
            found.retain(|sid| *sid != 5);
        }
        due.sort_unstable();
        assert_eq!(found, due, "{n}");
    }
    let mut detector = detector(rules, LIMITS);
    open(&mut detector, 0);
    assert_eq!(fired(&mut detector, &tcp(true, 4, 7001, ACK, b"EARLY"), 0), [6]);
    assert!(fired(&mut detector, &tcp(true, 1, 7001, ACK, b"abc"), 0).is_empty());
}

#[test]
fn what_passes_in_what_was_acknowledged_says_nothing_of_who_does() {
    let rules = r#"
        pass tcp any 80 -> any any (content:"GOOD"; sid:1;)
        alert tcp any any -> any 80 (content:"EVIL"; sid:2;)
    "#;
    let mut detector = detector(rules, LIMITS);
    open(&mut detector, 0);
    fired(&mut detector, &tcp(false, 7002, 1, ACK, b"GOOD"), 0);
    assert_eq!(fired(&mut detector, &tcp(true, 1, 7006, ACK, b"EVIL"), 0), [2]);
}

#[test]
fn what_passes_is_told_of_by_no_other_rule_wherever_it_is_found() {
    let rules = r#"
        pass tcp any any -> any 80 (content:"GOOD"; sid:1;)
        alert tcp any any -> any 80 (dsize:>0; sid:2;)
        drop tcp any any -> any 80 (content:"EVIL"; flowbits:set,bad; sid:3;)
        alert tcp any any -> any 80 (content:"LAST"; flowbits:isset,bad; sid:4;)
        alert tcp any any -> any 80 (content:"some"; threshold:type limit, track by_src, count 1, seconds 60; sid:5;)
        alert tcp any any -> any 80 (dsize:>2000; threshold:type limit, track by_src, count 1, seconds 60; sid:6;)
    "#;
    let segment = |at: u32, payload: &[u8]| tcp(true, 1 + at, 7001, ACK, payload);
    let find = |packets: &[Vec<u8>]| -> Vec<Vec<u32>> {
        let mut detector = detector(rules, Limits { is_inline: true, ..LIMITS });
        open(&mut detector, 0);
        packets.iter().map(|packet| fired(&mut detector, packet, 0)).collect()
    };
    let long = |begin: &[u8], end: &[u8]| [begin, &vec![b'.'; 3000], end].concat();
    let len = |payload: &[u8]| payload.len() as u32;
    let (good, late) = (long(b"GOOD", b""), long(b"some EVIL", b"GOOD"));
    assert_eq!(find(&[segment(0, &good), segment(len(&good), b"x")]), [vec![], vec![2]]);
    assert_eq!(find(&[segment(0, &late), segment(len(&late), b"some LAST")]), [vec![], vec![2, 5]]);
    // It may begin in the segment before.
    let (rest, other) = (long(b"OD", b"some"), long(b"", b"some"));
    let all = find(&[segment(0, b"GO"), segment(2, &rest), segment(2 + len(&rest), &other)]);
    assert_eq!(all, [vec![2], vec![], vec![2, 6, 5]]);
    // One that comes early passes by itself; in its turn it says nothing of others that have waited.
    assert_eq!(
        find(&[segment(5, b"GOOD"), segment(9, b"some"), segment(0, b"12345")]),
        [vec![], vec![2], vec![2, 5]]
    );
}

#[test]
fn numbers_and_patterns_are_read_as_snort_reads_them() {
    let rules = r#"
        alert udp any any -> any any (content:"ab"; byte_test:4,!=,7,200; sid:1;)
        alert udp any any -> any any (content:"ab"; byte_test:2,!=,7,200,relative; sid:2;)
        alert udp any any -> any any (content:"len="; byte_test:6,>,100,0,relative,string,dec; sid:3;)
        alert udp any any -> any any (content:"evil"; pcre:"/evil$/"; sid:4;)
        alert udp any any -> any any (content:"evil"; pcre:"/evil$/E"; sid:5;)
        alert udp any any -> any any (content:"evil"; pcre:"/a[ _]evil/x"; sid:6;)
        alert udp any any -> any any (content:"evil"; pcre:"/a\ evil/x"; sid:7;)
        alert udp any any -> any any (content:"a"; pcre:!"/zzz/"; content:"X"; distance:0; within:1; sid:8;)
    "#;
    let mut detector = detector(rules, LIMITS);
    let mut find = |payload: &[u8]| fired(&mut detector, &udp(payload), 0);
    assert!(find(b"ab").is_empty());
    assert_eq!(find(b"len=500\r\n\xff\xff"), [3]);
    assert_eq!(find(b"a evil\n"), [4, 6, 7]);
    assert_eq!(find(b"an evil"), [4, 5]);
    assert_eq!(find(&[b"ab".repeat(40), b"aX".to_vec()].concat()), [8]);
}

#[test]
fn lists_of_addresses_are_what_they_say() {
    let mut all = detector("alert udp [any,10.0.0.9] any -> any any (sid:1;)", LIMITS);
    assert_eq!(fired(&mut all, &udp(b"x"), 0), [1]);
    let wrong = [
        ("![10.0.0.0/8,!10.1.0.0/16]", "sid:1;"),
        ("any", "byte_test:1,=,1,0,bitmask 0x0f; sid:1;"),
        ("any", "byte_jump:1,0,from_end; sid:1;"),
        ("any", "flow:only_frag; sid:1;"),
    ];
    for (from, options) in wrong {
        let (mut reader, mut diagnostics) = (Reader::default(), Diagnostics::default());
        reader.read("rules", &format!("alert tcp {from} any -> any any ({options})"), &mut diagnostics);
        assert_eq!(diagnostics.list.len(), 1, "{from} {options}");
    }
}

#[test]
fn segments_that_come_early_wait() {
    let rules = r#"alert tcp any any -> any any (content:"attack"; sid:1;)"#;
    let mut waiting = detector(rules, LIMITS);
    open(&mut waiting, 0);
    assert!(fired(&mut waiting, &tcp(true, 4, 7001, ACK, b"ack"), 0).is_empty());
    assert_eq!(fired(&mut waiting, &tcp(true, 1, 7001, ACK, b"att"), 0), [1]);
    // The server has got what was not seen here: what waits is searched then.
    assert!(fired(&mut waiting, &tcp(true, 20, 7001, ACK, b"attack"), 0).is_empty());
    assert_eq!(fired(&mut waiting, &tcp(false, 7001, 26, ACK, b""), 0), [1]);
    assert_eq!(waiting.flows().counts.gaps, 1);
}

#[test]
fn segments_that_wait_and_differ_are_both_looked_at() {
    let rules = r#"
        alert tcp any any -> any any (content:"attack"; sid:1;)
        alert tcp any any -> any any (content:"harmless"; sid:2;)
    "#;
    let early = |segments: &[&[u8]]| {
        let mut detector = detector(rules, LIMITS);
        open(&mut detector, 0);
        for segment in segments {
            assert!(fired(&mut detector, &tcp(true, 4, 7001, ACK, segment), 0).is_empty());
        }
        let mut all = fired(&mut detector, &tcp(true, 1, 7001, ACK, b"abc"), 0);
        all.sort_unstable();
        (all, detector.flows().counts.retransmissions)
    };
    let (harmless, longer, shorter) = (&b"harmless"[..], &b"an attack"[..], &b"attack"[..]);
    assert_eq!(early(&[harmless, longer]), (vec![1, 2], 1));
    assert_eq!(early(&[longer, harmless]), (vec![1, 2], 1));
    assert_eq!(early(&[harmless, shorter]), (vec![1, 2], 1));
    assert_eq!(early(&[longer, longer, b"an att"]), (vec![1], 0));
}

#[test]
fn without_memory_all_of_a_segment_is_looked_at() {
    let rules = r#"alert tcp any any -> any any (content:"attack"; sid:1;)"#;
    let mut detector = detector(rules, Limits { stream_memory: 0, ..LIMITS });
    open(&mut detector, 0);
    let payload = [vec![b'.'; 3000], b"attack".to_vec()].concat();
    assert_eq!(fired(&mut detector, &tcp(true, 1, 7001, ACK, &payload), 0), [1]);
}

#[test]
fn early_segments_and_tiny_ones_are_bounded() {
    let rules = r#"alert tcp any any -> any any (content:"attack"; content:"never"; sid:1;)"#;
    let limits = Limits { n_flows: 50, stream_memory: 64 << 10, ..LIMITS };
    let mut detector = detector(rules, limits);
    for flow in 0..500u32 {
        for i in 0..100u32 {
            let mut packet = tcp(true, 1 + i * 1000, 0, ACK, b"attack attack ");
            packet[12..16].copy_from_slice(&flow.to_be_bytes());
            fired(&mut detector, &packet, 0);
        }
    }
    assert!(detector.flows().len() <= 50);
    assert!(detector.flows().memory.n_bytes() <= 64 << 10);
    assert!(detector.flows().counts.gaps > 0 && detector.flows().n_evicted > 0);
}

#[test]
fn flow_options_follow_the_connection() {
    let rules = r#"
        alert tcp any any -> any any (flow:to_server,established; content:"x"; sid:1;)
        alert tcp any any -> any any (flow:to_client; content:"x"; sid:2;)
        alert tcp any any -> any any (flags:S; sid:3;)
        alert tcp any any -> any any (content:"login"; flowbits:set,seen; flowbits:noalert; sid:4;)
        alert tcp any any -> any any (flowbits:isset,seen; content:"x"; sid:5;)
        alert tcp any any -> any any (flowbits:isnotset,seen; content:"y"; sid:6;)
    "#;
    let mut detector = detector(rules, LIMITS);
    assert_eq!(fired(&mut detector, &tcp(true, 0, 0, SYN, b""), 0), [3]);
    assert!(fired(&mut detector, &tcp(false, 7000, 1, SYN | ACK, b""), 0).is_empty());
    assert_eq!(fired(&mut detector, &tcp(true, 1, 7001, ACK, b"xy"), 0), [1, 6]);
    assert_eq!(fired(&mut detector, &tcp(false, 7001, 3, ACK, b"x"), 0), [2]);
    assert!(fired(&mut detector, &tcp(true, 3, 7002, ACK, b"login"), 0).is_empty());
    assert_eq!(fired(&mut detector, &tcp(true, 8, 7002, ACK, b"x y"), 0), [1, 5]);
    fired(&mut detector, &tcp(true, 11, 7002, FIN | ACK, b""), 0);
    fired(&mut detector, &tcp(false, 7002, 12, RST, b""), 0);
    assert_eq!(fired(&mut detector, &tcp(true, 500, 0, SYN, b""), 0), [3]);
    assert_eq!(fired(&mut detector, &tcp(true, 501, 0, ACK, b"y"), 0), [6]);
    assert_eq!(detector.flows().counts.gaps, 0);
}

#[test]
fn a_detector_goes_on_with_the_flows_and_counts_of_another_by_its_own_rules() {
    let before = r#"
        alert tcp any any -> any any (content:"hello"; flowbits:set,greeted; sid:1;)
        alert tcp any any -> any any (content:"attack"; sid:2;)
    "#;
    let after = r#"
        alert tcp any any -> any any (content:"x"; flowbits:set,other; sid:3;)
        alert tcp any any -> any any (flowbits:isset,greeted; content:"bye"; sid:4;)
    "#;
    let mut old = detector(before, LIMITS);
    open(&mut old, 0);
    assert_eq!(fired(&mut old, &tcp(true, 1, 7001, ACK, b"hello attack b"), 0), [1, 2]);
    let mut new = detector(after, Limits { depth: 17, ..LIMITS });
    new.take_over(old);
    assert_eq!(fired(&mut new, &tcp(true, 15, 7001, ACK, b"ye attack"), 0), [4]);
    assert_eq!(fired(&mut new, &tcp(true, 24, 7001, ACK, b"bye"), 0), [0; 0]);
    assert_eq!((new.flows().len(), new.counts().n_packets, new.counts().n_alerts), (1, 6, 3));
}

#[test]
fn dropped_connections_stay_dropped() {
    let rules = r#"drop tcp any any -> any any (content:"attack"; sid:1;) pass udp any any -> any any (content:"ok"; sid:2;)"#;
    let rules = rules.replace(") pass", ")\npass") + "\nalert udp any any -> any any (content:\"o\"; sid:3;)";
    let mut detector = detector(&rules, Limits { is_inline: true, ..LIMITS });
    let dropped =
        |detector: &mut Detector, packet: &[u8]| detector.inspect(packet, 0).expect("IP").is_dropped;
    assert!(!dropped(&mut detector, &tcp(true, 1, 0, ACK, b"att")));
    assert!(dropped(&mut detector, &tcp(true, 4, 0, ACK, b"ack")));
    // The same again would be old, and pass.
    assert!(dropped(&mut detector, &tcp(true, 4, 0, ACK, b"ack")));
    assert_eq!(fired(&mut detector, &udp(b"ok"), 0), [0; 0]);
    assert_eq!(fired(&mut detector, &udp(b"no"), 0), [3]);
    // The server sees neither an end of the connection nor a beginning.
    for packet in [
        tcp(true, 4, 0, RST, b""),
        tcp(true, 500, 0, RST, b""),
        tcp(true, 3, 0, SYN, b""),
        tcp(true, 4, 0, ACK, b"more"),
        tcp(true, 8, 0, FIN | ACK, b""),
        tcp(false, 1, 9, FIN | ACK, b""),
        tcp(true, 3, 0, SYN, b""),
        tcp(true, 4, 0, ACK, b"more"),
    ] {
        assert!(dropped(&mut detector, &packet));
    }
}

#[test]
fn only_what_is_in_sequence_ends_a_connection() {
    let client = |at: u32, flags: u8| tcp(true, 101u32.wrapping_add(at), 7001, flags, b"");
    let server = |at: u32, flags: u8| tcp(false, 7001 + at, 101, flags, b"");
    let numbers = |end: &[Vec<u8>]| {
        let mut detector = detector(r#"alert tcp any any -> any 80 (content:"EVIL"; sid:1;)"#, LIMITS);
        open(&mut detector, 100);
        end.iter()
            .chain(&[tcp(true, 900, 0, SYN, b"")])
            .for_each(|packet| drop(fired(&mut detector, packet, 0)));
        detector.inspect(&tcp(true, 901, 0, ACK, b""), 0).expect("IP").flow
    };
    for end in [
        vec![client(1, RST)],
        vec![client(u32::MAX, RST)],
        vec![client(500, RST)],
        vec![client(1, FIN | ACK), server(0, FIN | ACK)],
        vec![client(0, FIN | ACK), server(1, FIN | ACK)],
    ] {
        assert_eq!(numbers(&end), 1);
    }
    assert_eq!(numbers(&[client(0, RST)]), 2);
    assert_eq!(numbers(&[client(0, FIN | ACK), server(0, FIN | ACK)]), 2);
    assert_eq!(numbers(&[tcp(true, 101, 7001, FIN | ACK, b"data"), server(0, FIN | ACK)]), 2);
}

#[test]
fn matches_are_counted_as_thresholds_say() {
    let rules = r#"
        alert udp any any -> any any (content:"a"; threshold:type limit, track by_src, count 2, seconds 10; sid:1;)
        alert udp any any -> any any (content:"a"; threshold:type threshold, track by_src, count 2, seconds 10; sid:2;)
        alert udp any any -> any any (content:"a"; threshold:type both, track by_dst, count 3, seconds 10; sid:3;)
        alert udp any any -> any any (content:"a"; detection_filter:track by_src, count 3, seconds 10; sid:4;)
    "#;
    let mut detector = detector(rules, LIMITS);
    let second = 1_000_000_000;
    let all: Vec<Vec<u32>> = (0..5).map(|i| fired(&mut detector, &udp(b"a"), i * second)).collect();
    assert_eq!(all, [vec![1], vec![1, 2], vec![3], vec![2, 4], vec![4]]);
    assert_eq!(fired(&mut detector, &udp(b"a"), 10 * second), [1]);
}

#[test]
fn counts_and_flows_do_not_wait_for_a_clock_that_was_set_back() {
    let rules = r#"alert udp any any -> any any (content:"a"; threshold:type limit, track by_src, count 1, seconds 10; sid:1;)"#;
    let mut detector = detector(rules, LIMITS);
    let second = 1_000_000_000;
    let times = [3600, 5, 14, 15].map(|at| at * second);
    let all = times.map(|now_ns| fired(&mut detector, &udp(b"a"), now_ns));
    assert_eq!(all, [vec![1], vec![], vec![], vec![1]]);
    let mut begin = |from: u8, now_ns: i64| {
        let mut packet = udp(b"");
        packet[12] = from;
        fired(&mut detector, &packet, now_ns);
        detector.flows().len()
    };
    // A flow of the time before ends as any other that is silent.
    begin(1, 3600 * second);
    assert_eq!([begin(2, 20 * second), begin(3, 55 * second)], [2, 1]);
}

fn letters(n: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(b"abAB".to_vec()), n)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// A rule: contents, the later ones relative to those before or not.
fn rule() -> impl Strategy<Value = String> {
    let content = (letters(1..5), any::<bool>(), prop::option::of((-2i32..4, 0u32..6)));
    prop::collection::vec(content, 1..4).prop_map(|contents| {
        let mut options = String::new();
        for (i, (text, ignores_case, relative)) in contents.iter().enumerate() {
            options += &format!("content:\"{text}\";");
            if *ignores_case {
                options += "nocase;";
            }
            if let Some((distance, within)) = relative.filter(|_| i > 0) {
                options += &format!("distance:{distance};within:{};", within + text.len() as u32);
            }
        }
        options
    })
}

proptest! {
    #[test]
    fn any_segments_in_any_order_match_what_the_whole_stream_matches(
        rules in prop::collection::vec(rule(), 1..6),
        stream in letters(1..60),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        order in prop::collection::vec(any::<u32>(), 9),
        repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
    ) {
        let text: String = rules.iter().enumerate()
            .map(|(i, options)| format!("alert tcp any any -> any any ({options} sid:{};)\n", i + 1)).collect();
        let mut whole = detector(&text, LIMITS);
        open(&mut whole, 0);
        let mut expected = fired(&mut whole, &tcp(true, 1, 7001, ACK, stream.as_bytes()), 0);
        expected.sort_unstable();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len())).chain([0, stream.len()]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut pieces: Vec<(usize, &str)> = ends.windows(2).map(|ends| (ends[0], &stream[ends[0]..ends[1]])).collect();
        // Some come twice, one byte longer at its beginning.
        for idx in &repeated {
            let (at, piece) = *idx.get(&pieces);
            let from = at.saturating_sub(1);
            pieces.push((from, &stream[from..at + piece.len()]));
        }
        let mut numbered: Vec<_> = order.iter().cycle().zip(pieces).collect();
        numbered.sort();
        let mut pieces_first = detector(&text, LIMITS);
        open(&mut pieces_first, 0);
        let mut found = Vec::new();
        for (_, (at, piece)) in numbered {
            found.extend(fired(&mut pieces_first, &tcp(true, 1 + at as u32, 7001, ACK, piece.as_bytes()), 0));
        }
        found.sort_unstable();
        found.dedup();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn contents_are_found_where_trying_all_places_finds_them(options in rule(), text in letters(0..30)) {
        let mut detector = detector(&format!("alert udp any any -> any any ({options} sid:1;)"), LIMITS);
        let found = !fired(&mut detector, &udp(text.as_bytes()), 0).is_empty();
        prop_assert_eq!(found, tried(&options, text.as_bytes()), "{}", options);
    }

    #[test]
    fn no_packet_stops_the_detector(packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..20), is_ip in any::<bool>()) {
        let rules = "alert ip any any -> any any (content:\"a\"; sid:1;)\nalert tcp any any <> any any (pcre:\"/a/\"; sid:2;)";
        let mut detector = detector(rules, LIMITS);
        for (i, mut packet) in packets.into_iter().enumerate() {
            if let (true, Some(first)) = (is_ip, packet.first_mut()) {
                *first = if i % 3 == 0 { 0x60 } else { 0x45 };
                if let Some(protocol) = packet.get_mut(if i % 3 == 0 { 6 } else { 9 }) {
                    *protocol = [6, 17, 1, 0, 44][i % 5];
                }
            }
            fired(&mut detector, &packet, i as i64);
        }
    }
}

/// Whether contents are in a text, by trying all places.
fn tried(options: &str, text: &[u8]) -> bool {
    let contents: Vec<&str> = options.split("content:").skip(1).collect();
    place(&contents, text, 0)
}

fn place(contents: &[&str], text: &[u8], end: usize) -> bool {
    let Some((content, rest)) = contents.split_first() else { return true };
    let wanted = content.split('"').nth(1).expect("quoted").as_bytes();
    let number =
        |key: &str| content.split(key).nth(1).and_then(|rest| rest.split(';').next()?.parse::<i64>().ok());
    let folds = content.contains("nocase");
    (0..=text.len().saturating_sub(wanted.len())).any(|at| {
        let Some(there) = text.get(at..at + wanted.len()) else { return false };
        let is_there = there == wanted || folds && there.eq_ignore_ascii_case(wanted);
        let is_near = match (number("distance:"), number("within:")) {
            (Some(distance), Some(within)) => {
                let from = end as i64 + distance;
                at as i64 >= from && (at + wanted.len()) as i64 <= from + within
            }
            _ => true,
        };
        is_there && is_near && place(rest, text, at + wanted.len())
    })
}
