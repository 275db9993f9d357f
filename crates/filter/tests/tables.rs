//! Tables of rules decide as each rule by itself does, one after the other.

use filter::{BuiltInNames, Headers, IpFilter, Names};
use proptest::prelude::*;
use proptest::sample::select;
use std::cell::Cell;
use std::net::Ipv4Addr;

#[derive(Debug, Clone)]
struct Rule {
    output: Option<usize>,
    nets: [(u32, u32); 2],
    protocol: Option<u8>,
    /// The first and the last, of source and destination.
    ports: [Option<(u16, u16)>; 2],
}

#[derive(Debug, Clone)]
struct Packet {
    addresses: [u32; 2],
    protocol: u8,
    ports: [u16; 2],
    is_fragment: bool,
}

impl Rule {
    fn text(&self) -> String {
        let mut text = self.output.map_or("deny true".to_string(), |output| format!("{output} true"));
        for ((side, (address, length)), ports) in ["src", "dst"].iter().zip(self.nets).zip(self.ports) {
            text += &format!(" && {side} net {}/{length}", Ipv4Addr::from(address));
            match ports {
                Some((first, last)) if first == last => text += &format!(" && {side} port {first}"),
                Some((first, last)) => {
                    text += &format!(" && {side} port >= {first} && {side} port <= {last}")
                }
                None => {}
            }
        }
        text + &self.protocol.map_or(String::new(), |protocol| format!(" && proto {protocol}"))
    }

    fn holds(&self, packet: &Packet) -> bool {
        let has_ports = matches!(packet.protocol, 6 | 17) && !packet.is_fragment;
        let in_net = |(address, (net, length)): (u32, (u32, u32))| {
            length == 0 || (address ^ net) >> (32 - length) == 0
        };
        let in_ports = |(port, range): (u16, Option<(u16, u16)>)| {
            range.is_none_or(|(first, last)| has_ports && first <= port && port <= last)
        };
        packet.addresses.into_iter().zip(self.nets).all(in_net)
            && packet.ports.into_iter().zip(self.ports).all(in_ports)
            && self.protocol.is_none_or(|protocol| protocol == packet.protocol)
    }
}

impl Packet {
    fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[0] = 0x45;
        bytes[7] = self.is_fragment.into();
        bytes[9] = self.protocol;
        bytes[12..16].copy_from_slice(&self.addresses[0].to_be_bytes());
        bytes[16..20].copy_from_slice(&self.addresses[1].to_be_bytes());
        bytes[20..22].copy_from_slice(&self.ports[0].to_be_bytes());
        bytes[22..24].copy_from_slice(&self.ports[1].to_be_bytes());
        bytes
    }
}

/// Addresses of few networks, so that rules overlap.
fn address() -> impl Strategy<Value = u32> {
    let byte = || select(&[0u8, 1, 2, 3, 127, 128, 255][..]);
    (select(&[10u8, 11, 172][..]), byte(), byte(), byte())
        .prop_map(|(a, b, c, d)| u32::from_be_bytes([a, b, c, d]))
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![3 => 0..12u16, 1 => select(&[80u16, 1023, 1024, 65534, 65535][..])]
}

fn rule(lengths: &'static [u32]) -> impl Strategy<Value = Rule> {
    let net = move || (address(), select(lengths));
    let range = || (port(), port()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let ports = move || prop_oneof![2 => Just(None), 2 => port().prop_map(|port| Some((port, port))), 1 => range().prop_map(Some)];
    let protocol = prop_oneof![Just(None), select(&[1u8, 6, 17][..]).prop_map(Some)];
    (prop_oneof![Just(None), (0..4usize).prop_map(Some)], net(), net(), protocol, ports(), ports()).prop_map(
        |(output, src, dst, protocol, sport, dport)| Rule {
            output,
            nets: [src, dst],
            protocol,
            ports: [sport, dport],
        },
    )
}

fn packet() -> impl Strategy<Value = Packet> {
    (address(), address(), select(&[1u8, 6, 17, 47][..]), port(), port(), prop::bool::weighted(0.1)).prop_map(
        |(src, dst, protocol, sport, dport, is_fragment)| Packet {
            addresses: [src, dst],
            protocol,
            ports: [sport, dport],
            is_fragment,
        },
    )
}

fn check(rules: &[Rule], packets: &[Packet]) -> Result<(), TestCaseError> {
    let texts: Vec<String> = rules.iter().map(Rule::text).collect();
    let (filter, diagnostics) = IpFilter::parse(&texts, 4, &BuiltInNames);
    let filter = filter.ok_or_else(|| TestCaseError::fail(format!("{diagnostics:?}")))?;
    for packet in packets {
        let bytes = packet.bytes();
        let headers = Headers { mac: &[], network: &bytes, transport: 20 };
        let expected = rules.iter().find(|rule| rule.holds(packet)).and_then(|rule| rule.output);
        prop_assert_eq!(filter.classify(&headers), expected, "{} {:?}", filter.structure(), packet);
        for length in 20..=25 {
            let headers = Headers { network: &bytes[..length], ..headers };
            prop_assert_eq!(
                filter.classify(&headers),
                filter.classify_by_program(&headers),
                "{} bytes",
                length
            );
        }
    }
    Ok(())
}

const PREFIXES: &[u32] = &[8, 9, 15, 16, 17, 23, 24, 25, 30, 31, 32];
const ANY: &[u32] = &[0, 0, 8, 16, 24, 32];
const HOSTS: &[u32] = &[32];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn small_tables(
        rules in prop::collection::vec(rule(ANY), 1..40),
        packets in prop::collection::vec(packet(), 60),
    ) {
        check(&rules, &packets)?;
    }

    #[test]
    fn tables_of_nested_networks(
        rules in prop::collection::vec(rule(PREFIXES), 40..300),
        packets in prop::collection::vec(packet(), 100),
    ) {
        check(&rules, &packets)?;
    }

    #[test]
    fn tables_of_hosts(
        rules in prop::collection::vec(rule(HOSTS), 1..300),
        packets in prop::collection::vec(packet(), 60),
    ) {
        check(&rules, &packets)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_that_are_split(
        rules in prop::collection::vec(prop_oneof![rule(PREFIXES), rule(ANY)], 1024..2000),
        packets in prop::collection::vec(packet(), 300),
    ) {
        check(&rules, &packets)?;
    }
}

#[test]
fn tables_of_many_thousand_networks() {
    let net = |at: u32| (10 << 24 | at << 8, 20 + at % 13);
    let rule = |at: u32| Rule {
        output: Some(at as usize % 4),
        nets: [net(at), net(at * 7 % 40_000)],
        protocol: Some(if at.is_multiple_of(2) { 6 } else { 17 }),
        ports: [
            None,
            (!at.is_multiple_of(3)).then_some((at as u16 % 1000, at as u16 % 1000 + at as u16 % 5)),
        ],
    };
    let rules: Vec<Rule> = (0..20_000).map(rule).collect();
    let packet = |at: u32| Packet {
        addresses: [net(at).0 + at % 2, net(at * 7 % 40_000).0 + at % 3],
        protocol: [6, 17][at as usize % 2],
        ports: [5, (at % 1000) as u16],
        is_fragment: at.is_multiple_of(50),
    };
    check(&rules, &(0..20_000).step_by(97).map(packet).collect::<Vec<_>>()).unwrap();
}

/// Conditions that would become more conjunctions than there is memory for, or take longer than anybody waits.
#[test]
fn rules_that_multiply_stay_small() {
    let product =
        (0..60).map(|n| format!("(src port {n} or dst port {})", n + 1)).collect::<Vec<_>>().join(" and ");
    let choice =
        (0..60).fold("tcp".to_string(), |inner, n| format!("({inner} ? src port {n} : dst port {n})"));
    let sum =
        (0..3000).map(|n| format!("src host 10.0.{}.{}", n / 250, n % 250)).collect::<Vec<_>>().join(" or ");
    for hard in [product, choice, sum.clone(), format!("not ({sum})")] {
        let mut rules: Vec<String> = (0..100).map(|n| format!("{} tcp && dst port {n}", n % 4)).collect();
        rules.insert(50, format!("deny {hard}"));
        let (filter, _) = IpFilter::parse(&rules, 4, &BuiltInNames);
        let filter = filter.expect("the rules are right");
        for port in 0..100 {
            let packet =
                Packet { addresses: [10 << 24, 1], protocol: 6, ports: [5, port], is_fragment: false };
            let headers = Headers { mac: &[], network: &packet.bytes(), transport: 20 };
            assert_eq!(filter.classify(&headers), filter.classify_by_program(&headers), "{port}");
        }
    }
}

/// Asks a host, which takes long.
#[derive(Default)]
struct Host(Cell<u32>);

impl Names for Host {
    fn has_numeric(&self) -> bool {
        false
    }

    fn ip(&self, name: &str) -> Option<Ipv4Addr> {
        self.0.set(self.0.get() + 1);
        (name == "web").then_some([10, 0, 0, 1].into())
    }
}

#[test]
fn a_name_is_looked_up_once_for_all_rules() {
    let host = Host::default();
    let rules: Vec<String> = (0..1000)
        .map(|port| {
            format!("allow src host web and dst net 10.{}.0/24 and tcp and dst port {port}", port % 9)
        })
        .collect();
    assert!(IpFilter::parse(&rules, 1, &host).0.is_some());
    assert_eq!(host.0.get(), 2, "of `web` and of what follows `tcp`");
}

/// Numbers are names like any other.
struct Numbers;

impl Names for Numbers {
    fn port(&self, protocol: u8, name: &str) -> Option<u16> {
        match name {
            "80" => Some(8080),
            _ => BuiltInNames.port(protocol, name),
        }
    }

    fn prefix(&self, name: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
        (name == "10.1/2/3").then_some(([10, 9, 0, 0].into(), [255, 255, 0, 0].into()))
    }
}

#[test]
fn numbers_may_be_names() {
    let (filter, diagnostics) = IpFilter::parse(&["allow src net 10.1/2/3 && tcp dst port 80"], 1, &Numbers);
    let filter = filter.unwrap_or_else(|| panic!("{diagnostics:?}"));
    for (address, port, expected) in
        [(0x0a09_0102, 8080, Some(0)), (0x0a09_0102, 80, None), (0x0a01_0203, 8080, None)]
    {
        let packet = Packet { addresses: [address, 1], protocol: 6, ports: [5, port], is_fragment: false };
        let headers = Headers { mac: &[], network: &packet.bytes(), transport: 20 };
        assert_eq!(filter.classify(&headers), expected, "{address:x} {port}");
    }
}
