//! Measures the detector: `cargo run --release -p detect --example detect_speed -- RULES [SECONDS]`.
//!
//! Sends 1500-byte packets of text, made from words and markup, as UDP and as TCP streams, with few matches and many, and
//! what somebody would send who wants the detector to be slow.

use detect::detector::{Detector, Limits};
use detect::rules::parse::Reader;
use graph::Diagnostics;

const WORDS: &[&str] = &[
    "the ",
    "of ",
    "and ",
    "to ",
    "<div class=\"item\">",
    "</a>\r\n",
    "is ",
    "that ",
    "href=\"/news/2024/",
    ".html\"",
    "world ",
    "function(",
    "return ",
    "var i = 0; ",
    "margin: 0px; ",
    "people ",
    "time ",
    "www.",
    ".com/",
    "content",
    "<p>",
    "year ",
];
const N_PAYLOADS: usize = 64;
const LEN: usize = 1448;

/// A generator of numbers (xorshift), the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

fn payloads(random: &mut Random, matching: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut one = || {
        let mut text: Vec<u8> = Vec::new();
        while text.len() < LEN {
            text.extend(WORDS[random.below(WORDS.len())].bytes());
            if !matching.is_empty() && random.below(40) == 0 {
                text.extend(&matching[random.below(matching.len())]);
            }
        }
        text.truncate(LEN);
        text
    };
    (0..N_PAYLOADS).map(|_| one()).collect()
}

fn ip(protocol: u8, source: u32, body: &[&[u8]]) -> Vec<u8> {
    let body = body.concat();
    let len = (20 + body.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, len[0], len[1], 0, 0, 0, 0, 64, protocol, 0, 0];
    packet.extend(source.to_be_bytes());
    packet.extend([192, 168, 1, 1]);
    packet.extend(body);
    packet
}

fn udp(source: u32, payload: &[u8]) -> Vec<u8> {
    let len = (8 + payload.len() as u16).to_be_bytes();
    ip(17, source, &[&[0x90, 0, 0, 80, len[0], len[1], 0, 0], payload])
}

fn tcp(source: u32, payload: &[u8]) -> Vec<u8> {
    ip(6, source, &[&[0x90, 0, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 16, 1, 0, 0, 0, 0, 0], payload])
}

/// Processor time that this thread has used.
fn used_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).expect("the kernel counts the time of threads")
}

/// Sends packets round after round for a time; `change` prepares each for its round.
fn measure(name: &str, rules: &str, packets: Vec<Vec<u8>>, seconds: f64, change: impl Fn(&mut [u8], u32)) {
    let (mut reader, mut diagnostics) = (Reader::default(), Diagnostics::default());
    reader.read("rules", rules, &mut diagnostics);
    assert!(diagnostics.list.is_empty(), "{:?}", diagnostics.list.first());
    let limits = Limits { n_flows: 65_536, stream_memory: 64 << 20, depth: 0, is_inline: false };
    let mut detector = Detector::new(reader.finish(), limits);
    let mut packets = packets;
    let (mut n_packets, mut n_bytes, mut round) = (0u64, 0u64, 0u32);
    let mut spent_ns = 0;
    while (spent_ns as f64) < seconds * 1e9 {
        packets.iter_mut().for_each(|packet| change(packet, round));
        let begin_ns = used_ns();
        for packet in &packets {
            detector.inspect(packet, i64::from(round) * 1_000_000);
            n_bytes += packet.len() as u64 + 14;
        }
        spent_ns += used_ns() - begin_ns;
        n_packets += packets.len() as u64;
        round += 1;
    }
    let ns = spent_ns as f64;
    println!(
        "{name:<34} {:>6.2} Gbit/s {:>8.1} ns a packet {:>6.3} matches a packet, {} KiB of streams",
        n_bytes as f64 * 8.0 / ns,
        ns / n_packets as f64,
        detector.counts().n_alerts as f64 / n_packets as f64,
        detector.flows().memory.n_bytes() >> 10,
    );
}

/// Gives a TCP packet the sequence number of its round.
fn in_order(len: usize) -> impl Fn(&mut [u8], u32) {
    move |packet, round| {
        if let Some(sequence) = packet.get_mut(24..28) {
            sequence.copy_from_slice(&round.wrapping_mul(len as u32).to_be_bytes());
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let rules = args.next().expect("the first argument is a file of rules");
    let rules = std::fs::read_to_string(&rules).expect("the rules can be read");
    let seconds = args.next().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let contents: Vec<Vec<u8>> = rules
        .lines()
        .filter_map(|line| line.split("content:\"").nth(1)?.split('"').next())
        .filter(|text| !text.contains(['|', '\\']))
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let random = &mut Random(0x1234_5678);
    let plain = payloads(random, &[]);
    let matching = payloads(random, &contents);
    let numbered = |payloads: &[Vec<u8>], make: fn(u32, &[u8]) -> Vec<u8>, n: usize| -> Vec<Vec<u8>> {
        (0..n).map(|i| make(0x0A00_0000 + i as u32, &payloads[i % payloads.len()])).collect()
    };
    let still = |_: &mut [u8], _: u32| {};
    // Enough packets that reading the time does not count.
    let n_each = 512;
    measure("UDP", &rules, numbered(&plain, udp, n_each), seconds, still);
    measure("UDP, many matches", &rules, numbered(&matching, udp, n_each), seconds, still);
    measure("TCP, 512 streams", &rules, numbered(&plain, tcp, n_each), seconds, in_order(LEN));
    measure("TCP, 10000 streams", &rules, numbered(&plain, tcp, 10_000), seconds, in_order(LEN));
    measure("TCP, many matches", &rules, numbered(&matching, tcp, n_each), seconds, in_order(LEN));
    let each_new = |packet: &mut [u8], round: u32| {
        if let Some(source) = packet.get_mut(12..14) {
            source.copy_from_slice(&(round as u16).to_be_bytes());
        }
    };
    measure("TCP, each packet a new flow", &rules, numbered(&plain, tcp, n_each), seconds, each_new);
    let gaps = |packet: &mut [u8], round: u32| in_order(2 * LEN)(packet, round);
    measure("TCP, every other segment missing", &rules, numbered(&plain, tcp, n_each), seconds, gaps);
    let tiny: Vec<Vec<u8>> = matching.iter().flat_map(|text| text.chunks(4).map(<[u8]>::to_vec)).collect();
    let tiny = |n: usize| -> Vec<Vec<u8>> {
        (0..n).map(|i| tcp(0x0A00_0000 + i as u32, &tiny[i % tiny.len()])).collect()
    };
    measure("TCP, 4 bytes a segment", &rules, tiny(n_each), seconds, in_order(4));
    let nasty = "alert tcp any any -> any any (content:\"aaaa\"; content:\"a\"; distance:0; content:\"a\"; distance:0; \
                 content:\"a\"; distance:0; content:\"b\"; distance:0; within:1; pcre:\"/(a+)+b/\"; sid:1;)";
    let aaaa = |n_bytes: usize| -> Vec<Vec<u8>> {
        (0..n_each).map(|i| tcp(0x0A00_0000 + i as u32, &vec![b'a'; n_bytes])).collect()
    };
    measure("a rule for which all is a candidate", nasty, aaaa(LEN), seconds, in_order(LEN));
    measure("the same, 4 bytes a segment", nasty, aaaa(4), seconds, in_order(4));
}
