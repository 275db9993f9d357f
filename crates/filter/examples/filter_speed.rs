//! Prints the time to classify a packet, for rule sets of several kinds and sizes.

use filter::{BuiltInNames, Headers, IpFilter};
use std::hint::black_box;
use std::time::Instant;

/// A small generator with fixed seeds, so that runs compare.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

type Packet = [u8; 60];

fn packet(src: [u8; 4], dst: [u8; 4], protocol: u8, ports: (u16, u16)) -> Packet {
    let mut packet = [0; 60];
    packet[0] = 0x45;
    packet[9] = protocol;
    packet[12..16].copy_from_slice(&src);
    packet[16..20].copy_from_slice(&dst);
    packet[20..22].copy_from_slice(&ports.0.to_be_bytes());
    packet[22..24].copy_from_slice(&ports.1.to_be_bytes());
    packet
}

/// Rules that each match a network pair, a protocol and a port, and packets for them.
fn five_tuples(n: u64, random: &mut Random) -> (Vec<String>, Vec<Packet>) {
    let mut rules = Vec::new();
    let mut packets = Vec::new();
    for rule in 0..n {
        let (a, b, c) = (random.below(200) as u8, (rule >> 8) as u8, rule as u8);
        let port = random.below(1000) as u16;
        rules.push(format!(
            "{} src net 10.{b}.{c}.0/24 && dst net 172.16.{a}.0/24 && tcp && dst port {port}",
            ["allow", "deny"][rule as usize % 2]
        ));
        packets.push(packet([10, b, c, 7], [172, 16, a, 9], 6, (1025, port)));
    }
    (rules, packets)
}

/// The same without any packet that matches.
fn misses(n: u64, random: &mut Random) -> (Vec<String>, Vec<Packet>) {
    let (rules, packets) = five_tuples(n, random);
    let miss = |mut packet: Packet| {
        packet[9] = 17;
        packet
    };
    (rules, packets.into_iter().map(miss).collect())
}

fn hosts(n: u64, random: &mut Random) -> (Vec<String>, Vec<Packet>) {
    let mut rules = Vec::new();
    let mut packets = Vec::new();
    for _ in 0..n {
        let [a, b, c] = [random.below(250), random.below(250), random.below(250)].map(|byte| byte as u8);
        rules.push(format!("allow src host 10.{a}.{b}.{c}"));
        packets.push(packet([10, a, b, c], [172, 16, 0, 1], 17, (53, 53)));
        packets.push(packet([11, a, b, c], [172, 16, 0, 1], 17, (53, 53)));
    }
    (rules, packets)
}

/// Overlapping rules of many shapes, as in real access lists.
fn access_list(n: u64, random: &mut Random) -> (Vec<String>, Vec<Packet>) {
    let lens = [0, 8, 16, 20, 22, 24, 24, 24, 27, 28, 30, 32, 32];
    let mut rules = Vec::new();
    let mut packets = Vec::new();
    for rule in 0..n {
        let mut net = || {
            let [a, b, c] = [random.below(8), random.below(250), random.below(250)].map(|byte| byte as u8);
            ([10 + a, b, c, 1], lens[random.below(lens.len() as u64) as usize])
        };
        let ((src, mut src_len), (dst, dst_len)) = (net(), net());
        if dst_len < 16 {
            src_len = src_len.max(16);
        }
        let port = random.below(1024) as u16;
        let protocol = ["tcp", "udp", "tcpudp"][random.below(3) as usize];
        let ports = match random.below(5) {
            0 => format!("&& {protocol} dst port > {port}"),
            1 => format!("&& {protocol} src port {port}"),
            2 => "&& true".to_string(),
            _ => format!("&& {protocol} dst port {port}"),
        };
        let [s, d] = [src, dst].map(|ip| ip.map(|byte| byte.to_string()).join("."));
        let action = ["allow", "deny"][rule as usize % 2];
        rules.push(format!("{action} src net {s}/{src_len} && dst net {d}/{dst_len} {ports}"));
        packets.push(packet(src, dst, 6 + 11 * random.below(2) as u8, (random.below(2000) as u16, port)));
    }
    (rules, packets)
}

fn web(_n: u64, _random: &mut Random) -> (Vec<String>, Vec<Packet>) {
    let rules = ["0 tcp dst port 80", "1 tcp", "2 udp", "3 icmp", "4 -"].map(str::to_string);
    let kinds = [(6, 80), (6, 443), (17, 53), (1, 0), (47, 0)];
    let packets = kinds.map(|(protocol, port)| packet([10, 0, 0, 1], [10, 0, 0, 2], protocol, (1025, port)));
    (rules.to_vec(), packets.to_vec())
}

type Generator = fn(u64, &mut Random) -> (Vec<String>, Vec<Packet>);

fn measure(kind: &str, n: u64, generator: Generator) {
    let random = &mut Random(n + 7);
    let (rules, packets) = generator(n, random);
    let start = Instant::now();
    let (filter, diagnostics) = IpFilter::parse(&rules, 5, &BuiltInNames);
    let Some(filter) = filter else { return eprintln!("{}", diagnostics[0]) };
    let compiled = start.elapsed();
    let order: Vec<usize> = (0..4096).map(|_| random.below(packets.len() as u64) as usize).collect();
    let mut best = f64::MAX;
    let mut sum = 0;
    for _ in 0..20 {
        let start = Instant::now();
        for &at in &order {
            let headers = Headers { mac: &[], network: &packets[at], transport: 20 };
            sum += filter.classify(&headers).unwrap_or(1);
        }
        best = best.min(start.elapsed().as_nanos() as f64 / order.len() as f64);
    }
    black_box(sum);
    println!("{kind:12} {n:5} rules {best:7.1} ns  {:8} compiled in {compiled:.1?}", filter.structure());
}

fn main() {
    let kinds: [(&str, Generator); 4] =
        [("five-tuple", five_tuples), ("miss", misses), ("src host", hosts), ("access list", access_list)];
    measure("web", 5, web);
    for (kind, generator) in kinds {
        for n in [1, 10, 100, 500, 5000] {
            measure(kind, n, generator);
        }
    }
}
