//! Whole packets through the NAT: a script of packets, what becomes of them, and what always holds.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;

use args::Scope;
use element::Packet;
use expect_test::{expect, Expect};
use proptest::prelude::*;
use wire::{checksum, ip_flag, protocol, tcp_flag, Icmp, Ipv4, Tcp, Udp};

use super::entries::Inside;
use super::listing;
use super::log::Journal;
use super::look::{look, look_at, look_at_error, Kind, Seen};
use super::nat::Nat;
use super::ranges::{self, Ranges};
use super::rewrite;
use super::settings::{Filtering, Settings, Timeouts};
use super::{Endpoint, Protocol, Refusal};

const SECOND_NS: u64 = 1_000_000_000;

fn settings(filtering: Filtering) -> Settings {
    Settings {
        pool: Ranges::parse("203.0.113.0/31", &Scope::builtin()).unwrap(),
        inside: ranges::prefixes("100.64.0.0/10", &Scope::builtin()).unwrap(),
        fixed: None,
        first_port: 1024,
        block_size: 4,
        blocks_per_address: 4,
        n_blocks: 2,
        n_sessions: 20,
        capacity: 1000,
        n_fragments: 2,
        filtering,
        is_paired: true,
        keeps_parity: false,
        is_random: false,
        timeouts: Timeouts {
            established_ns: 7440 * SECOND_NS,
            transitory_ns: 240 * SECOND_NS,
            udp_ns: 300 * SECOND_NS,
            icmp_ns: 60 * SECOND_NS,
            fragment_ns: 30 * SECOND_NS,
        },
        quarantine_s: 120,
    }
}

fn endpoint(text: &str) -> Endpoint {
    let (address, port) = text.split_once(':').unwrap_or((text, "0"));
    Endpoint { address: address.parse::<Ipv4Addr>().unwrap().to_bits(), port: port.parse().unwrap() }
}

/// An IPv4 packet around a transport segment.
fn ip(
    number: u8,
    source: Endpoint,
    destination: Endpoint,
    id: u16,
    fragment: u16,
    segment: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes.extend_from_slice(segment);
    let len = bytes.len() as u16;
    let mut ip = Ipv4::init(&mut bytes).unwrap();
    ip.set_total_len(len);
    ip.set_id(id);
    ip.set_fragment(fragment);
    ip.set_ttl(64);
    ip.set_protocol(number);
    ip.set_source(source.address.into());
    ip.set_destination(destination.address.into());
    ip.update_checksum();
    bytes
}

fn flags_of(text: &str) -> u8 {
    let flag = |letter| match letter {
        'S' => tcp_flag::SYN,
        'A' => tcp_flag::ACK,
        'F' => tcp_flag::FIN,
        _ => tcp_flag::RST,
    };
    text.chars().map(flag).sum()
}

fn segment(kind: &str, source: Endpoint, destination: Endpoint, flags: &str) -> (u8, Vec<u8>) {
    let (number, at, mut bytes) = match kind {
        "tcp" => {
            let mut bytes = vec![0; 23];
            let mut tcp = Tcp::init(&mut bytes).unwrap();
            tcp.set_source_port(source.port);
            tcp.set_destination_port(destination.port);
            tcp.set_flags(flags_of(flags));
            (protocol::TCP, Tcp::CHECKSUM_AT, bytes)
        }
        "udp" => {
            let mut bytes = vec![7; 13];
            let mut udp = Udp::new(&mut bytes).unwrap();
            udp.set_source_port(source.port);
            udp.set_destination_port(destination.port);
            udp.set_len(13);
            udp.set_checksum(0);
            (protocol::UDP, Udp::CHECKSUM_AT, bytes)
        }
        _ => {
            let mut bytes = vec![5; 12];
            let mut icmp = Icmp::new(&mut bytes).unwrap();
            icmp.set_kind(if kind == "reply" { 0 } else { 8 });
            icmp.set_identifier(if kind == "reply" { destination.port } else { source.port });
            icmp.set_checksum(0);
            (protocol::ICMP, Icmp::CHECKSUM_AT, bytes)
        }
    };
    let addresses = (source.address.into(), destination.address.into());
    let pseudo = checksum::pseudo_ipv4(addresses.0, addresses.1, number, bytes.len() as u16);
    let sum = checksum::transport(if number == protocol::ICMP { 0 } else { pseudo }, &bytes);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    (number, bytes)
}

/// A packet from its words: `udp A > B`, `tcp A > B FLAGS`, `request A > B`, `reply A > B`, `gre A > B`,
/// `error A > B PACKET`, `more ID PACKET`, `later ID A > B`.
fn build(words: &[&str]) -> Vec<u8> {
    match words {
        ["more", id, rest @ ..] => {
            let mut bytes = build(rest);
            let mut ip = Ipv4::new(&mut bytes).unwrap();
            ip.set_id(id.parse().unwrap());
            ip.set_fragment(ip_flag::MF);
            ip.update_checksum();
            bytes
        }
        ["later", id, a, ">", b] => {
            ip(protocol::UDP, endpoint(a), endpoint(b), id.parse().unwrap(), 185, &[9; 30])
        }
        ["gre", a, ">", b] => ip(protocol::GRE, endpoint(a), endpoint(b), 0, 0, &[0; 8]),
        ["error", a, ">", b, rest @ ..] => {
            let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
            // Routers quote no more than they must.
            message.extend(&build(rest)[..28]);
            let sum = checksum::checksum(&message);
            message[2..4].copy_from_slice(&sum.to_be_bytes());
            ip(protocol::ICMP, endpoint(a), endpoint(b), 0, 0, &message)
        }
        [kind, a, ">", b, rest @ ..] => {
            let (a, b) = (endpoint(a), endpoint(b));
            let (number, bytes) = segment(kind, a, b, rest.first().unwrap_or(&""));
            ip(number, a, b, 0, 0, &bytes)
        }
        _ => panic!("{words:?}"),
    }
}

fn describe_seen(seen: &Seen) -> String {
    let kind = match seen.kind {
        Kind::Ports(protocol, _) => protocol.name(),
        Kind::Request => "request",
        Kind::Reply => "reply",
        Kind::Error => "error",
        Kind::LaterFragment => "later",
        Kind::Other => "other",
        Kind::Broken => "broken",
    };
    format!("{kind} {} > {}", seen.source, seen.destination)
}

/// What a packet is; its checksums must be right, also those of a packet that an error is about.
fn describe(bytes: &[u8]) -> String {
    let seen = look_at(bytes);
    let ip = Ipv4::new(bytes).unwrap();
    assert!(ip.is_checksum_valid(), "{bytes:x?}");
    let pseudo = match ip.protocol() {
        protocol::ICMP => 0,
        _ => ip.pseudo_header_sum(ip.payload().len() as u16),
    };
    if seen.protocol().is_some() || seen.kind == Kind::Error {
        assert!(checksum::is_transport_valid(pseudo, ip.payload()), "{bytes:x?}");
    }
    let mut text = describe_seen(&seen);
    if seen.kind == Kind::Error {
        assert!(Ipv4::new(&bytes[28..]).unwrap().is_checksum_valid(), "{bytes:x?}");
        text += &format!(" about {}", describe_seen(&look_at_error(bytes, seen.transport_at).unwrap()));
    }
    text
}

fn translate(nat: &mut Nat, port: usize, bytes: &[u8], now_ns: u64) -> Result<(usize, Vec<u8>), Refusal> {
    let mut packet = Packet::from_bytes(bytes);
    packet.set_network_header(0, 20);
    let mut seen = [look(&packet)];
    nat.prepare(port, &mut seen);
    let planned = nat.plan(port, &seen[0], packet.network(), now_ns)?;
    rewrite::apply(&mut packet, &seen[0], &planned);
    Ok((planned.output, packet.data().to_vec()))
}

/// Runs a script, a line each: packets that come from inside (`out`) or outside (`in`), `wait SECONDS`, `list`, `blocks`.
fn check(settings: Settings, script: &str, expect: Expect) {
    let mut nat = Nat::new(settings, Journal::default());
    let mut now_ns = 1_000 * SECOND_NS;
    let mut text = String::new();
    for line in script.lines().map(str::trim) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [side @ ("out" | "in"), ref packet @ ..] => {
                let port = usize::from(side == "in");
                text += &match translate(&mut nat, port, &build(packet), now_ns) {
                    Ok((output, bytes)) => format!("[{output}] {}\n", describe(&bytes)),
                    Err(refusal) => format!("{refusal:?}\n"),
                };
            }
            ["wait", seconds] => {
                now_ns += seconds.parse::<u64>().unwrap() * SECOND_NS;
                while !nat.expire(now_ns, 10) {}
            }
            ["list"] => text += &listing::mappings(&nat, now_ns),
            ["lookup", what] => text += &listing::lookup(&nat, what).unwrap_or_else(|error| error + "\n"),
            ["blocks"] => text += &listing::blocks(&nat),
            _ => panic!("{line}"),
        }
        check_invariants(&nat);
    }
    expect.assert_eq(&text);
}

/// No external endpoint is two mappings', blocks are their subscribers', and limits hold.
fn check_invariants(nat: &Nat) {
    let mut externals = HashSet::new();
    let mut n_mappings: HashMap<u32, u32> = HashMap::new();
    let mut n_sessions = 0;
    for (idx, inside, mapping) in nat.mappings.iter() {
        assert!(externals.insert((mapping.external, inside.protocol)), "{} twice", mapping.external);
        assert_eq!(nat.pool.mapping(mapping.external, inside.protocol), Some(idx));
        let block = nat.pool.block(nat.pool.block_at(mapping.external).unwrap()).unwrap();
        assert_eq!(block.subscriber, mapping.subscriber);
        let (address, subscriber) = nat.subscribers.get(mapping.subscriber).unwrap();
        assert_eq!(*address, inside.address);
        if nat.settings.is_paired {
            assert_eq!(nat.pool.ranges.index(mapping.external.address), Some(subscriber.address));
        }
        *n_mappings.entry(mapping.subscriber).or_default() += 1;
        n_sessions += nat.sessions.of_mapping(mapping.first_session).count();
    }
    assert_eq!(nat.sessions.len(), n_sessions);
    let mut n_blocks: HashMap<u32, u32> = HashMap::new();
    nat.pool.assigned().for_each(|(_, block)| *n_blocks.entry(block.subscriber).or_default() += 1);
    assert_eq!(nat.pool.n_assigned(), n_blocks.values().sum::<u32>());
    assert_eq!(nat.subscribers.len(), n_blocks.len());
    for (idx, _, subscriber) in nat.subscribers.iter() {
        assert_eq!((n_blocks[&idx], n_mappings[&idx]), (subscriber.n_blocks, subscriber.n_mappings));
        assert!(subscriber.n_blocks <= nat.settings.n_blocks);
        assert!(subscriber.n_sessions <= nat.settings.n_sessions);
    }
}

#[test]
fn mappings_hang_on_the_inside_endpoint_alone() {
    check(
        settings(Filtering::EndpointIndependent),
        "out udp 100.64.0.1:5000 > 198.51.100.1:53
         out udp 100.64.0.1:5000 > 198.51.100.2:99
         out tcp 100.64.0.1:5000 > 198.51.100.1:53 S
         out udp 100.64.0.1:5001 > 198.51.100.1:53
         out udp 100.64.0.2:5000 > 198.51.100.1:53
         out request 100.64.0.2:77 > 198.51.100.1
         in udp 198.51.100.1:53 > 203.0.113.0:1024
         in udp 192.0.2.9:1 > 203.0.113.0:1025
         in reply 198.51.100.1 > 203.0.113.1:1024
         in udp 198.51.100.1:53 > 203.0.113.0:1026
         in udp 198.51.100.1:53 > 203.0.113.2:1024
         in request 198.51.100.1:1024 > 203.0.113.1
         out udp 10.0.0.1:1 > 198.51.100.1:53
         out gre 100.64.0.1 > 198.51.100.1
         list
         blocks",
        expect![[r#"
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            [0] udp 203.0.113.0:1024 > 198.51.100.2:99
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:53
            [0] udp 203.0.113.0:1025 > 198.51.100.1:53
            [0] udp 203.0.113.1:1024 > 198.51.100.1:53
            [0] request 203.0.113.1:1024 > 198.51.100.1:0
            [1] udp 198.51.100.1:53 > 100.64.0.1:5000
            [1] udp 192.0.2.9:1 > 100.64.0.1:5001
            [1] reply 198.51.100.1:0 > 100.64.0.2:77
            NoMapping
            NotExternal
            NoMapping
            NotSubscriber
            Protocol
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:53 opening-out expires 240
            udp 100.64.0.1:5000 203.0.113.0:1024 expires 300
            udp 100.64.0.1:5001 203.0.113.0:1025 expires 300
            udp 100.64.0.2:5000 203.0.113.1:1024 expires 300
            icmp 100.64.0.2:77 203.0.113.1:1024 expires 60
            100.64.0.1 203.0.113.0 1024-1027 mappings 3
            100.64.0.2 203.0.113.1 1024-1027 mappings 2
        "#]],
    );
}

#[test]
fn a_subscriber_gets_blocks_of_one_address_up_to_its_limit() {
    let packets: Vec<String> =
        (1..=9).map(|port| format!("out udp 100.64.0.1:{port} > 198.51.100.1:53")).collect();
    let script = packets.join("\n") + "\nblocks\nwait 301\nblocks\nout udp 100.64.0.1:1 > 198.51.100.1:53";
    check(
        settings(Filtering::EndpointIndependent),
        &script,
        expect![[r#"
        [0] udp 203.0.113.0:1024 > 198.51.100.1:53
        [0] udp 203.0.113.0:1025 > 198.51.100.1:53
        [0] udp 203.0.113.0:1026 > 198.51.100.1:53
        [0] udp 203.0.113.0:1027 > 198.51.100.1:53
        [0] udp 203.0.113.0:1028 > 198.51.100.1:53
        [0] udp 203.0.113.0:1029 > 198.51.100.1:53
        [0] udp 203.0.113.0:1030 > 198.51.100.1:53
        [0] udp 203.0.113.0:1031 > 198.51.100.1:53
        PortLimit
        100.64.0.1 203.0.113.0 1024-1027 mappings 4
        100.64.0.1 203.0.113.0 1028-1031 mappings 4
        [0] udp 203.0.113.1:1024 > 198.51.100.1:53
    "#]],
    );
}

#[test]
fn fixed_blocks_follow_from_the_addresses() {
    let fixed = Ranges::parse("100.64.0.0/30", &Scope::builtin()).unwrap();
    let settings = Settings { fixed: Some(fixed), ..settings(Filtering::EndpointIndependent) };
    check(
        settings,
        "out udp 100.64.0.3:1 > 198.51.100.1:53
         out udp 100.64.0.0:1 > 198.51.100.1:53
         out udp 100.64.0.0:2 > 198.51.100.1:53
         out udp 100.64.0.0:3 > 198.51.100.1:53
         out udp 100.64.0.0:4 > 198.51.100.1:53
         out udp 100.64.0.0:5 > 198.51.100.1:53
         lookup 203.0.113.0:1029
         lookup 100.64.0.2
         wait 301
         out udp 100.64.0.0:1 > 198.51.100.1:53
         lookup 100.64.0.0",
        expect![[r#"
            [0] udp 203.0.113.0:1036 > 198.51.100.1:53
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            [0] udp 203.0.113.0:1025 > 198.51.100.1:53
            [0] udp 203.0.113.0:1026 > 198.51.100.1:53
            [0] udp 203.0.113.0:1027 > 198.51.100.1:53
            NoBlock
            100.64.0.1 203.0.113.0 1028-1031 mappings 0
            100.64.0.2 203.0.113.0 1032-1035 mappings 0
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            100.64.0.0 203.0.113.0 1024-1027 mappings 1
        "#]],
    );
}

#[test]
fn released_ports_rest() {
    let settings = Settings {
        pool: Ranges::parse("203.0.113.9", &Scope::builtin()).unwrap(),
        block_size: 2,
        blocks_per_address: 1,
        n_blocks: 1,
        ..settings(Filtering::EndpointIndependent)
    };
    check(
        settings,
        "out udp 100.64.0.1:1 > 198.51.100.1:53
         out udp 100.64.0.2:1 > 198.51.100.1:53
         wait 200
         out udp 100.64.0.1:2 > 198.51.100.1:53
         wait 200
         list
         out udp 100.64.0.1:3 > 198.51.100.1:53
         wait 120
         out udp 100.64.0.1:3 > 198.51.100.1:53
         wait 500
         out udp 100.64.0.1:4 > 198.51.100.1:53",
        expect![[r#"
            [0] udp 203.0.113.9:1024 > 198.51.100.1:53
            NoBlock
            [0] udp 203.0.113.9:1025 > 198.51.100.1:53
            udp 100.64.0.1:2 203.0.113.9:1025 expires 100
            PortLimit
            NoBlock
            [0] udp 203.0.113.9:1024 > 198.51.100.1:53
        "#]],
    );
}

#[test]
fn tcp_mappings_live_as_long_as_their_connections() {
    check(
        settings(Filtering::EndpointIndependent),
        "out tcp 100.64.0.1:5000 > 198.51.100.1:80 A
         out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 SA
         out tcp 100.64.0.1:5000 > 198.51.100.2:80 S
         in tcp 198.51.100.3:9 > 203.0.113.0:1024 A
         in tcp 198.51.100.3:9 > 203.0.113.0:1024 S
         list
         wait 241
         list
         out tcp 100.64.0.1:5000 > 198.51.100.1:80 FA
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 FA
         wait 239
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 A
         wait 2
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 A
         blocks",
        expect![[r#"
            OutOfState
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [0] tcp 203.0.113.0:1024 > 198.51.100.2:80
            OutOfState
            [1] tcp 198.51.100.3:9 > 100.64.0.1:5000
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.2:80 opening-out expires 240, 198.51.100.1:80 established expires 7440
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 established expires 7199
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            NoMapping
        "#]],
    );
}

#[test]
fn filters_let_in_whom_the_subscriber_has_sent_to() {
    let script = "out udp 100.64.0.1:5000 > 198.51.100.1:53
         out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         in udp 198.51.100.1:53 > 203.0.113.0:1024
         in udp 198.51.100.1:54 > 203.0.113.0:1024
         in udp 198.51.100.2:53 > 203.0.113.0:1024
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 SA
         in tcp 198.51.100.1:81 > 203.0.113.0:1024 S
         in tcp 198.51.100.2:80 > 203.0.113.0:1024 S
         list
         wait 200
         in udp 198.51.100.1:53 > 203.0.113.0:1024
         wait 101
         in udp 198.51.100.1:53 > 203.0.113.0:1024
         list";
    check(
        settings(Filtering::Address),
        script,
        expect![[r#"
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] udp 198.51.100.1:53 > 100.64.0.1:5000
            [1] udp 198.51.100.1:54 > 100.64.0.1:5000
            Filtered
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.1:81 > 100.64.0.1:5000
            Filtered
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 established expires 7440
            udp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:0 expires 300
            [1] udp 198.51.100.1:53 > 100.64.0.1:5000
            NoMapping
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 established expires 7139
        "#]],
    );
    check(
        settings(Filtering::AddressPort),
        script,
        expect![[r#"
        [0] udp 203.0.113.0:1024 > 198.51.100.1:53
        [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
        [1] udp 198.51.100.1:53 > 100.64.0.1:5000
        Filtered
        Filtered
        [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
        Filtered
        Filtered
        tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 established expires 7440
        udp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:53 expires 300
        [1] udp 198.51.100.1:53 > 100.64.0.1:5000
        NoMapping
        tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 established expires 7139
    "#]],
    );
}

#[test]
fn subscribers_reach_each_other_by_external_addresses() {
    check(
        settings(Filtering::AddressPort),
        "out udp 100.64.0.1:5000 > 198.51.100.1:53
         out udp 100.64.0.2:6000 > 203.0.113.0:1024
         out udp 100.64.0.1:5000 > 203.0.113.1:1024
         out udp 100.64.0.2:6000 > 203.0.113.0:1024
         out udp 100.64.0.2:6000 > 203.0.113.0:1027
         out request 100.64.0.2:6 > 203.0.113.0
         out error 100.64.0.2 > 203.0.113.0 udp 203.0.113.0:1024 > 100.64.0.2:6000",
        expect![[r#"
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            Filtered
            [1] udp 203.0.113.0:1024 > 100.64.0.2:6000
            [1] udp 203.0.113.1:1024 > 100.64.0.1:5000
            NoMapping
            NoMapping
            [1] error 203.0.113.1:0 > 100.64.0.1:0 about udp 100.64.0.1:5000 > 203.0.113.1:1024
        "#]],
    );
}

#[test]
fn icmp_errors_are_translated_both_ways_with_what_they_are_about() {
    check(
        settings(Filtering::EndpointIndependent),
        "out udp 100.64.0.1:5000 > 198.51.100.1:53
         out request 100.64.0.1:9 > 198.51.100.1
         out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         in error 192.0.2.1 > 203.0.113.0 udp 203.0.113.0:1024 > 198.51.100.1:53
         in error 192.0.2.1 > 203.0.113.0 request 203.0.113.0:1024 > 198.51.100.1
         in error 192.0.2.1 > 203.0.113.0 tcp 203.0.113.0:1024 > 198.51.100.1:80 S
         in error 192.0.2.1 > 203.0.113.0 udp 203.0.113.0:1025 > 198.51.100.1:53
         in error 192.0.2.1 > 203.0.113.1 udp 203.0.113.0:1024 > 198.51.100.1:53
         in error 192.0.2.1 > 192.0.2.2 udp 203.0.113.0:1024 > 198.51.100.1:53
         out error 100.64.0.1 > 198.51.100.1 udp 198.51.100.1:53 > 100.64.0.1:5000
         out error 100.64.9.9 > 198.51.100.1 tcp 198.51.100.1:80 > 100.64.0.1:5000 S
         out error 100.64.0.1 > 198.51.100.1 udp 198.51.100.1:53 > 100.64.0.1:5001
         out error 100.64.0.1 > 198.51.100.1 reply 198.51.100.1 > 100.64.0.1:9",
        expect![[r#"
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            [0] request 203.0.113.0:1024 > 198.51.100.1:0
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] error 192.0.2.1:0 > 100.64.0.1:0 about udp 100.64.0.1:5000 > 198.51.100.1:53
            [1] error 192.0.2.1:0 > 100.64.0.1:0 about request 100.64.0.1:9 > 198.51.100.1:0
            [1] error 192.0.2.1:0 > 100.64.0.1:0 about tcp 100.64.0.1:5000 > 198.51.100.1:80
            NoMapping
            NoMapping
            NotExternal
            [0] error 203.0.113.0:0 > 198.51.100.1:0 about udp 198.51.100.1:53 > 203.0.113.0:1024
            [0] error 203.0.113.0:0 > 198.51.100.1:0 about tcp 198.51.100.1:80 > 203.0.113.0:1024
            NoMapping
            [0] error 203.0.113.0:0 > 198.51.100.1:0 about reply 198.51.100.1:0 > 203.0.113.0:1024
        "#]],
    );
}

#[test]
fn later_fragments_follow_the_first() {
    check(
        settings(Filtering::EndpointIndependent),
        "out later 7 100.64.0.1 > 198.51.100.1
         out more 7 udp 100.64.0.1:5000 > 198.51.100.1:53
         out later 7 100.64.0.1 > 198.51.100.1
         in later 7 100.64.0.1 > 198.51.100.1
         in more 7 udp 198.51.100.1:53 > 203.0.113.0:1024
         in later 7 198.51.100.1 > 203.0.113.0
         out more 7 udp 100.64.0.2:6000 > 203.0.113.0:1024
         out later 7 100.64.0.2 > 203.0.113.0
         out later 7 100.64.0.1 > 198.51.100.1
         wait 30
         out later 7 100.64.0.2 > 203.0.113.0",
        expect![[r#"
            LostFragment
            [0] udp 203.0.113.0:1024 > 198.51.100.1:53
            [0] later 203.0.113.0:0 > 198.51.100.1:0
            LostFragment
            [1] udp 198.51.100.1:53 > 100.64.0.1:5000
            [1] later 198.51.100.1:0 > 100.64.0.1:0
            [1] udp 203.0.113.1:1024 > 100.64.0.1:5000
            [1] later 203.0.113.1:0 > 100.64.0.1:0
            LostFragment
            LostFragment
        "#]],
    );
}

#[test]
fn external_ports_keep_their_parity() {
    let settings =
        Settings { keeps_parity: true, first_port: 1025, ..settings(Filtering::EndpointIndependent) };
    check(
        settings,
        "out udp 100.64.0.1:5000 > 198.51.100.1:53
         out udp 100.64.0.1:5002 > 198.51.100.1:53
         out udp 100.64.0.1:5001 > 198.51.100.1:53
         out udp 100.64.0.1:5004 > 198.51.100.1:53
         out udp 100.64.0.1:5006 > 198.51.100.1:53",
        expect![[r#"
            [0] udp 203.0.113.0:1026 > 198.51.100.1:53
            [0] udp 203.0.113.0:1028 > 198.51.100.1:53
            [0] udp 203.0.113.0:1025 > 198.51.100.1:53
            [0] udp 203.0.113.0:1027 > 198.51.100.1:53
            [0] udp 203.0.113.0:1030 > 198.51.100.1:53
        "#]],
    );
}

#[test]
fn sessions_of_a_subscriber_are_limited() {
    let settings = Settings { n_sessions: 2, ..settings(Filtering::EndpointIndependent) };
    check(
        settings,
        "out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         out tcp 100.64.0.1:5000 > 198.51.100.2:80 S
         out tcp 100.64.0.1:5000 > 198.51.100.3:80 S
         out tcp 100.64.0.1:5001 > 198.51.100.3:80 S
         in tcp 198.51.100.3:9 > 203.0.113.0:1024 S
         list",
        expect![[r#"
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [0] tcp 203.0.113.0:1024 > 198.51.100.2:80
            SessionLimit
            SessionLimit
            [1] tcp 198.51.100.3:9 > 100.64.0.1:5000
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.2:80 opening-out expires 240, 198.51.100.1:80 opening-out expires 240
        "#]],
    );
}

#[test]
fn who_calls_from_outside_uses_up_nothing_and_is_served_when_answered() {
    check(
        Settings { n_sessions: 4, ..settings(Filtering::EndpointIndependent) },
        "out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         in tcp 198.51.100.2:1 > 203.0.113.0:1024 S
         in tcp 198.51.100.2:2 > 203.0.113.0:1024 S
         in tcp 198.51.100.2:3 > 203.0.113.0:1024 S
         in tcp 198.51.100.2:4 > 203.0.113.0:1024 S
         list
         out tcp 100.64.0.1:5000 > 198.51.100.2:1 RA
         out tcp 100.64.0.1:5000 > 198.51.100.2:2 A
         out tcp 100.64.0.1:5000 > 198.51.100.2:3 SA
         out tcp 100.64.0.1:5000 > 198.51.100.2:4 SA
         list
         in tcp 198.51.100.2:3 > 203.0.113.0:1024 A
         out tcp 100.64.0.1:5001 > 198.51.100.1:80 S
         out tcp 100.64.0.1:5002 > 198.51.100.1:80 S
         list",
        expect![[r#"
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] tcp 198.51.100.2:1 > 100.64.0.1:5000
            [1] tcp 198.51.100.2:2 > 100.64.0.1:5000
            [1] tcp 198.51.100.2:3 > 100.64.0.1:5000
            [1] tcp 198.51.100.2:4 > 100.64.0.1:5000
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 opening-out expires 240
            [0] tcp 203.0.113.0:1024 > 198.51.100.2:1
            OutOfState
            [0] tcp 203.0.113.0:1024 > 198.51.100.2:3
            SessionLimit
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.2:3 opening-in expires 240, 198.51.100.1:80 opening-out expires 240
            [1] tcp 198.51.100.2:3 > 100.64.0.1:5000
            [0] tcp 203.0.113.0:1025 > 198.51.100.1:80
            [0] tcp 203.0.113.0:1026 > 198.51.100.1:80
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.2:3 established expires 7440, 198.51.100.1:80 opening-out expires 240
            tcp 100.64.0.1:5001 203.0.113.0:1025, 198.51.100.1:80 opening-out expires 240
            tcp 100.64.0.1:5002 203.0.113.0:1026, 198.51.100.1:80 opening-out expires 240
        "#]],
    );
}

#[test]
fn nobody_outside_keeps_a_tcp_mapping() {
    check(
        settings(Filtering::EndpointIndependent),
        "out tcp 100.64.0.1:5000 > 198.51.100.1:80 S
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 SA
         wait 200
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 R
         in tcp 198.51.100.2:80 > 203.0.113.0:1024 S
         list
         wait 200
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 A
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 R
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 S
         in tcp 198.51.100.2:80 > 203.0.113.0:1024 S
         list
         wait 41
         in tcp 198.51.100.1:80 > 203.0.113.0:1024 S
         out tcp 100.64.0.2:5000 > 198.51.100.1:80 S
         in tcp 198.51.100.1:80 > 203.0.113.1:1024 SA
         wait 7000
         in tcp 198.51.100.1:80 > 203.0.113.1:1024 A
         list
         out tcp 100.64.0.2:5000 > 198.51.100.1:80 A
         list",
        expect![[r#"
            [0] tcp 203.0.113.0:1024 > 198.51.100.1:80
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.2:80 > 100.64.0.1:5000
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 reset expires 240
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.1:80 > 100.64.0.1:5000
            [1] tcp 198.51.100.2:80 > 100.64.0.1:5000
            tcp 100.64.0.1:5000 203.0.113.0:1024, 198.51.100.1:80 reset expires 40
            NoMapping
            [0] tcp 203.0.113.1:1024 > 198.51.100.1:80
            [1] tcp 198.51.100.1:80 > 100.64.0.2:5000
            [1] tcp 198.51.100.1:80 > 100.64.0.2:5000
            tcp 100.64.0.2:5000 203.0.113.1:1024, 198.51.100.1:80 established expires 440
            [0] tcp 203.0.113.1:1024 > 198.51.100.1:80
            tcp 100.64.0.2:5000 203.0.113.1:1024, 198.51.100.1:80 established expires 7440
        "#]],
    );
}

/// A packet from inside, and how long after the one before it.
#[derive(Clone, Copy, Debug)]
struct Step {
    subscriber: u8,
    port: u16,
    remote: u8,
    kind: usize,
    pause_s: u64,
}

fn step() -> impl Strategy<Value = Step> {
    let pause = prop_oneof![4 => Just(0u64), 1 => 0u64..400];
    (0u8..6, 1u16..8, 0u8..3, 0usize..3, pause).prop_map(|(subscriber, port, remote, kind, pause_s)| Step {
        subscriber,
        port,
        remote,
        kind,
        pause_s,
    })
}

/// Sends a packet out and, if it is translated, an answer back, which is returned.
fn exchange(nat: &mut Nat, step: &Step, now_ns: u64) -> Option<Vec<u8>> {
    let (out, back) = [("tcp", "tcp"), ("udp", "udp"), ("request", "reply")][step.kind];
    let inside = format!("100.64.0.{}:{}", step.subscriber, step.port);
    let remote = match step.kind {
        2 => "198.51.100.1".to_string(),
        _ => format!("198.51.100.1:{}", step.remote + 1),
    };
    let packet = build(&[out, &inside, ">", &remote, "S"]);
    let (output, bytes) = translate(nat, 0, &packet, now_ns).ok()?;
    describe(&bytes);
    assert_eq!(output, 0);
    let external = look_at(&bytes).source.to_string();
    let answer = build(&[back, &remote, ">", &external, "SA"]);
    let (output, bytes) = translate(nat, 1, &answer, now_ns).expect("an answer is let in");
    assert_eq!(output, 1);
    assert_eq!(bytes, build(&[back, &remote, ">", &inside, "SA"]));
    Some(answer)
}

/// Other settings, by number.
fn changed(settings: &Settings, which: usize) -> Settings {
    let pool = |text: &str| Ranges::parse(text, &Scope::builtin()).unwrap();
    let settings = settings.clone();
    match which {
        0 => Settings { quarantine_s: 1, n_sessions: 30, ..settings },
        1 => Settings {
            timeouts: Timeouts { udp_ns: 5 * SECOND_NS, ..settings.timeouts },
            capacity: 4,
            ..settings
        },
        2 => Settings { inside: ranges::prefixes("100.64.0.0/30", &Scope::builtin()).unwrap(), ..settings },
        3 => Settings { pool: pool("203.0.113.0/30"), ..settings },
        4 => Settings { pool: pool("203.0.113.1"), ..settings },
        5 => Settings { block_size: 2, blocks_per_address: 8, ..settings },
        6 => Settings { first_port: 1026, blocks_per_address: 3, n_blocks: 1, ..settings },
        7 => Settings { filtering: Filtering::EndpointIndependent, capacity: 3, ..settings },
        8 => Settings { filtering: Filtering::Address, ..settings },
        9 => Settings { filtering: Filtering::AddressPort, is_paired: !settings.is_paired, ..settings },
        _ => Settings { fixed: Some(pool("100.64.0.0/30")), n_blocks: 1, ..settings },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_other_settings_allow_goes_on(
        steps in prop::collection::vec(step(), 1..60),
        more in prop::collection::vec(step(), 1..30),
        filtering in 0usize..3,
        is_paired: bool,
        which in 0usize..11,
    ) {
        let filterings = [Filtering::EndpointIndependent, Filtering::Address, Filtering::AddressPort];
        let before = Settings { is_paired, quarantine_s: 20, ..settings(filterings[filtering]) };
        let after = changed(&before, which);
        let mut old = Nat::new(before, Journal::new(true, true));
        let mut now_ns = 1_000 * SECOND_NS;
        let mut answers = Vec::new();
        for step in steps {
            now_ns += step.pause_s * SECOND_NS / 10;
            while !old.expire(now_ns, 10) {}
            answers.extend(exchange(&mut old, &step, now_ns));
        }
        let known: HashMap<_, _> = old.mappings.iter().map(|(_, inside, mapping)| (*inside, mapping.external)).collect();
        old.journal.clear();
        let mut nat = Nat::new(after, Journal::new(true, true));
        nat.take_over(&mut old, now_ns);
        check_invariants(&nat);
        for (_, inside, mapping) in nat.mappings.iter() {
            prop_assert_eq!(known.get(inside), Some(&mapping.external));
        }
        if which < 2 {
            prop_assert_eq!(nat.mappings.len(), known.len());
        }
        let journal: String = nat.journal.records(0).collect();
        prop_assert_eq!(journal.matches(" unmapped ").count(), known.len() - nat.mappings.len(), "{}", journal);
        for answer in answers {
            // It belongs to who it did, or to nobody.
            if let Ok((_, bytes)) = translate(&mut nat, 1, &answer, now_ns) {
                let (before, after) = (look_at(&answer), look_at(&bytes));
                let inside = Inside::new(after.destination, after.protocol().unwrap());
                prop_assert_eq!(known.get(&inside), Some(&before.destination));
            }
        }
        for step in more {
            now_ns += step.pause_s * SECOND_NS;
            while !nat.expire(now_ns, 10) {}
            exchange(&mut nat, &step, now_ns);
        }
        check_invariants(&nat);
        nat.flush(None, now_ns);
        prop_assert_eq!((nat.pool.n_assigned(), nat.subscribers.len(), nat.sessions.len()), (0, 0, 0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_comes_back_is_what_went_out_mirrored(
        steps in prop::collection::vec(step(), 1..120),
        filtering in 0usize..3,
        is_paired: bool,
        seed: u64,
    ) {
        let filterings = [Filtering::EndpointIndependent, Filtering::Address, Filtering::AddressPort];
        let settings = Settings { is_paired, quarantine_s: 20, ..settings(filterings[filtering]) };
        let mut nat = Nat::new(settings, Journal::default());
        nat.pool.set_seed(seed);
        let mut now_ns = 1_000 * SECOND_NS;
        for step in steps {
            now_ns += step.pause_s * SECOND_NS;
            while !nat.expire(now_ns, 10) {}
            check_invariants(&nat);
            exchange(&mut nat, &step, now_ns);
        }
        check_invariants(&nat);
        nat.flush(None, now_ns);
        prop_assert_eq!((nat.pool.n_assigned(), nat.subscribers.len(), nat.sessions.len()), (0, 0, 0));
    }
}

#[test]
fn broken_packets_are_refused() {
    let mut nat = Nat::new(settings(Filtering::EndpointIndependent), Journal::default());
    let whole = build(&["tcp", "100.64.0.1:1", ">", "198.51.100.1:2", "S"]);
    for len in 0..38 {
        let mut packet = Packet::from_bytes(&whole[..len]);
        packet.set_network_header(0, 20);
        let seen = look(&packet);
        assert_eq!(nat.plan(0, &seen, packet.network(), 0), Err(Refusal::NoHeader), "{len}");
    }
    assert_eq!(Protocol::ALL.map(Protocol::name), ["tcp", "udp", "icmp"]);
}
