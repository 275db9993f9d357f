//! The fast form and the program as written send every packet the same way.

use filter::{BuiltInNames, Classifier, Headers, IpFilter};
use proptest::prelude::*;
use proptest::sample::select;

fn text(options: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(options).prop_map(str::to_string)
}

/// Few values, so that rules overlap and packets match.
fn primitive() -> impl Strategy<Value = String> {
    let side = || text(&["", "src ", "dst ", "src and dst ", "src or dst "]);
    let op = || text(&["", "!= ", "> ", "< ", ">= ", "<= "]);
    prop_oneof![
        4 => (side(), 0..4u8, 0..4u8, select(&[8, 15, 16, 22, 24, 30, 32][..]))
            .prop_map(|(side, a, b, len)| format!("{side}net 10.{a}.{b}.1/{len}")),
        2 => (side(), 0..3u8).prop_map(|(side, a)| format!("{side}host 10.0.{a}.1")),
        1 => (side(), 0..3u8).prop_map(|(side, a)| format!("{side}host != 10.0.{a}.1")),
        4 => (side(), text(&["", "tcp ", "udp "]), op(), 0..6u16)
            .prop_map(|(side, proto, op, port)| format!("{side}{proto}port {op}{port}")),
        2 => (side(), op(), any::<u16>()).prop_map(|(side, op, port)| format!("{side}port {op}{port}")),
        3 => text(&["tcp", "udp", "icmp", "proto 47", "proto != 6", "proto > 5", "proto & 3 = 1", "tcpudp"]),
        3 => text(&["syn", "ack", "tcp opt 3", "ip frag", "unfrag", "ip ect", "ip ce", "true", "false", "transp"]),
        2 => (text(&["ttl", "tos", "dscp", "vers", "hl"]), op(), 0..70u8)
            .prop_map(|(field, op, value)| format!("ip {field} {op}{}", value % 16 * 4)),
        1 => (op(), 0..1500u16).prop_map(|(op, len)| format!("ip len {op}{len}")),
        1 => text(&["icmp type echo", "icmp type != echo", "tcp win > 77", "src 0:1:2:3:4:5", "ether host 0:1:2:3:4:6"]),
        2 => (text(&["ip", "transp", "tcp", "udp"]), select(&[0, 1, 2, 3, 4, 9, 12, 16, 20, 24][..]), op(), any::<u8>())
            .prop_map(|(header, at, op, value)| format!("{header}[{at}] & 0x{:x} {op}{}", value | 1, value & 15)),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    primitive().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) and ({b})")),
            3 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) or ({b})")),
            1 => inner.clone().prop_map(|a| format!("not ({a})")),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| format!("({a}) ? ({b}) : ({c})")),
        ]
    })
}

fn five_tuple() -> impl Strategy<Value = String> {
    let len = || select(&[8, 16, 20, 24, 28, 32][..]);
    (0..4u8, 0..4u8, len(), len(), text(&["tcp", "udp", "tcpudp"]), 0..6u16, any::<bool>()).prop_map(
        |(a, b, src, dst, proto, port, range)| {
            let op = if range { ">=" } else { "" };
            format!(
                "src net 10.{a}.{b}.1/{src} && dst net 10.{b}.{a}.1/{dst} && {proto} && dst port {op} {port}"
            )
        },
    )
}

fn rules(
    one: impl Strategy<Value = String>,
    n: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<String>> {
    let rule =
        (text(&["allow", "deny", "1", "2", "3"]), one).prop_map(|(action, rule)| format!("{action} {rule}"));
    proptest::collection::vec(rule, n)
}

#[derive(Debug, Clone)]
struct Packet {
    mac: Vec<u8>,
    network: Vec<u8>,
    transport: usize,
}

impl Packet {
    fn headers(&self) -> Headers<'_> {
        Headers { mac: &self.mac, network: &self.network, transport: self.transport }
    }
}

/// Mostly plausible packets, cut at any length.
fn packet() -> impl Strategy<Value = Packet> {
    let bytes = (any::<[u8; 32]>(), any::<[u8; 32]>());
    let address = || (0..4u8, 0..4u8, 0..3u8);
    let header = (address(), address(), select(&[1, 6, 17, 47, 0][..]), select(&[0, 0, 0, 0x2000, 1][..]));
    let ports = (0..7u16, prop_oneof![0..7u16, any::<u16>()]);
    (bytes, header, ports, select(&[20, 20, 20, 24][..]), 0..64usize, 0..7u8, any::<bool>()).prop_map(
        |((a, b), (src, dst, protocol, fragment), (sport, dport), transport, len, mac, is_cut)| {
            let mut network = [a, b].concat();
            network[6..8].copy_from_slice(&u16::to_be_bytes(fragment));
            network[9] = protocol;
            network[12..16].copy_from_slice(&[10, src.0, src.1, src.2]);
            network[16..20].copy_from_slice(&[10, dst.0, dst.1, dst.2]);
            network[transport..transport + 2].copy_from_slice(&sport.to_be_bytes());
            network[transport + 2..transport + 4].copy_from_slice(&dport.to_be_bytes());
            network.truncate(if is_cut { len } else { 64 });
            Packet { mac: vec![0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, mac, 8, 0], network, transport }
        },
    )
}

/// Leaves out rules with errors, such as values out of range.
fn agree(rules: &[String], packets: &[Packet]) -> Result<(), TestCaseError> {
    let is_good = |rule: &&String| IpFilter::parse(&[rule], 4, &BuiltInNames).0.is_some();
    let rules: Vec<&String> = rules.iter().filter(is_good).collect();
    let (Some(filter), _) = IpFilter::parse(&rules, 4, &BuiltInNames) else {
        return Err(TestCaseError::fail("good rules make a good filter"));
    };
    for packet in packets {
        let (fast, program) =
            (filter.classify(&packet.headers()), filter.classify_by_program(&packet.headers()));
        prop_assert_eq!(fast, program, "{} {:?} {:?}", filter.structure(), rules, packet);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn short_lists(rules in rules(expression(), 1..6), packets in proptest::collection::vec(packet(), 40)) {
        agree(&rules, &packets)?;
    }

    #[test]
    fn long_lists(rules in rules(expression(), 20..60), packets in proptest::collection::vec(packet(), 40)) {
        agree(&rules, &packets)?;
    }

    #[test]
    fn many_primitives(rules in rules(primitive(), 30..120), packets in proptest::collection::vec(packet(), 60)) {
        agree(&rules, &packets)?;
    }

    #[test]
    fn five_tuples(rules in rules(five_tuple(), 10..200), packets in proptest::collection::vec(packet(), 80)) {
        agree(&rules, &packets)?;
    }

    #[test]
    fn classifiers(
        patterns in proptest::collection::vec("(!?(0|1|2|5|12|14|23)/(0[018]|[0f?]{2}){1,3}(%f0)? ?){1,3}|-", 1..40),
        packets in proptest::collection::vec(proptest::collection::vec(select(&[0u8, 1, 8, 0xf0, 0x0f][..]), 0..40), 40),
        align_offset in 0..4u32,
    ) {
        if let (Some(classifier), _) = Classifier::parse(&patterns, patterns.len(), align_offset) {
            for packet in &packets {
                prop_assert_eq!(classifier.classify(packet), classifier.classify_by_program(packet));
            }
        }
    }

    #[test]
    fn any_text_is_parsed_without_panic(
        patterns in proptest::collection::vec("[0-9a-f/%!? -]{0,12}|\\PC{0,12}", 0..4),
        expressions in proptest::collection::vec(
            "(allow|1|drop|0) ((src|dst|and|or|not|\\(|\\)|tcp|port|ip|\\[|\\]|0x7|-3|:|\\?|<|>=|&|10/8|host|net|mask|syn|ether|\
             0:1:2:3:4:5|4294967295|99:4|8191:1|é) ?){0,9}", 0..4),
        packet in packet(),
    ) {
        let (classifier, _) = Classifier::parse(&patterns, patterns.len(), 0);
        classifier.map(|classifier| classifier.classify(&packet.network));
        let (filter, _) = IpFilter::parse(&expressions, 2, &BuiltInNames);
        if let Some(filter) = filter {
            prop_assert_eq!(filter.classify(&packet.headers()), filter.classify_by_program(&packet.headers()));
            let _ = filter.program().to_string();
        }
    }
}
