//! Tests of the views: what they accept, what they read, and that a setter changes its own field only.

use crate::*;
use expect_test::{expect, Expect};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Reads a frame through all views that fit and compares the outcome.
fn check(hex: &str, expect: Expect) {
    let frame = bytes(hex);
    let mut out = Vec::new();
    if let Some(eth) = Ethernet::new(&frame[..]) {
        out.push(format!("ether {:04x} multicast={}", eth.ethertype(), eth.is_multicast()));
        match eth.ethertype() {
            ethertype::ARP => out.push(match Arp::new(eth.payload()) {
                Some(arp) => format!("arp {} {} -> {}", arp.operation(), arp.sender_ip(), arp.target_ip()),
                None => "not arp".into(),
            }),
            ethertype::VLAN => {
                if let Some(vlan) = Vlan::new(eth.as_bytes()) {
                    out.push(format!("vlan {} pcp {} {:04x}", vlan.id(), vlan.priority(), vlan.ethertype()));
                    out.extend(ip(vlan.payload()));
                }
            }
            _ => out.extend(ip(eth.payload())),
        }
    }
    expect.assert_eq(&out.join("\n"));
}

fn ip(packet: &[u8]) -> Vec<String> {
    if let Some(ip) = Ipv4::new(packet) {
        let line = format!(
            "ip {} -> {} (finally {}) ttl {} options {} valid {}",
            ip.source(),
            ip.destination(),
            ip.final_destination(),
            ip.ttl(),
            ip.options().len(),
            ip.is_checksum_valid()
        );
        let pseudo = ip.pseudo_header_sum(ip.payload().len() as u16);
        return [vec![line], transport(ip.protocol(), pseudo, ip.payload())].concat();
    }
    let Some(ip) = Ipv6::new(packet) else { return vec!["not ip".into()] };
    let line = format!("ip6 {} -> {} hops {}", ip.source(), ip.destination(), ip.hop_limit());
    let pseudo = ip.pseudo_header_sum(ip.next_header(), ip.payload().len() as u32);
    [vec![line], transport(ip.next_header(), pseudo, ip.payload())].concat()
}

fn transport(protocol: u8, pseudo: u16, segment: &[u8]) -> Vec<String> {
    let valid = checksum::is_transport_valid(pseudo, segment);
    let text = match protocol {
        protocol::TCP => Tcp::new(segment).map(|tcp| {
            let (source, destination) = (tcp.source_port(), tcp.destination_port());
            let (flags, options) = (tcp.flags(), tcp.options().len());
            format!("tcp {source} -> {destination} flags {flags:02x} options {options} valid {valid}")
        }),
        protocol::UDP => Udp::new(segment).map(|udp| {
            format!(
                "udp {} -> {} data {:?} valid {valid}",
                udp.source_port(),
                udp.destination_port(),
                udp.payload()
            )
        }),
        protocol::ICMP => Icmp::new(segment).map(|icmp| {
            let valid = checksum::is_valid(segment);
            format!("icmp {}/{} seq {} valid {valid}", icmp.kind(), icmp.code(), icmp.sequence())
        }),
        _ => None,
    };
    vec![text.unwrap_or_else(|| "no transport header".into())]
}

#[test]
fn an_arp_request_is_read() {
    check(
        "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002",
        expect![[r#"
            ether 0806 multicast=true
            arp 1 10.0.0.1 -> 10.0.0.2"#]],
    );
}

#[test]
fn arp_for_other_hardware_is_refused() {
    check(
        "ffffffffffff 020000000001 0806 0006 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002",
        expect![[r#"
            ether 0806 multicast=true
            not arp"#]],
    );
}

#[test]
fn a_tagged_datagram_is_read_and_its_padding_left_out() {
    check(
        "020000000002 020000000001 8100 6005 0800
         4500 001d 0001 0000 40 11 66cd 0a000001 0a000002 04d2 0035 0009 85d2 61 000000000000",
        expect![[r#"
            ether 8100 multicast=false
            vlan 5 pcp 3 0800
            ip 10.0.0.1 -> 10.0.0.2 (finally 10.0.0.2) ttl 64 options 0 valid true
            udp 1234 -> 53 data [97] valid true"#]],
    );
}

#[test]
fn a_source_route_tells_the_final_destination() {
    check(
        "020000000002 020000000001 0800
         4700 0024 0001 0000 40 01 5246 0a000001 0a000002 01 83 07 04 0a000009 0800 f7fc 0000 0003",
        expect![[r#"
            ether 0800 multicast=false
            ip 10.0.0.1 -> 10.0.0.2 (finally 10.0.0.9) ttl 64 options 8 valid true
            icmp 8/0 seq 3 valid true"#]],
    );
}

#[test]
fn a_segment_over_ipv6_is_read() {
    check(
        "020000000002 020000000001 86dd 6000 0000 0018 06 40
         20010db8000000000000000000000001 20010db8000000000000000000000002
         0400 0050 00000001 00000000 60 02 ffff 3875 0000 0204 05a0",
        expect![[r#"
            ether 86dd multicast=false
            ip6 2001:db8::1 -> 2001:db8::2 hops 64
            tcp 1024 -> 80 flags 02 options 4 valid true"#]],
    );
}

#[test]
fn a_tcp_header_longer_than_its_segment_is_refused() {
    check(
        "020000000002 020000000001 0800 4500 0028 0000 0000 40 06 0000 0a000001 0a000002
         0400 0050 00000001 00000000 60 02 ffff 0000 0000",
        expect![[r#"
            ether 0800 multicast=false
            ip 10.0.0.1 -> 10.0.0.2 (finally 10.0.0.2) ttl 64 options 0 valid false
            no transport header"#]],
    );
}

#[test]
fn headers_are_built_from_nothing() {
    let mut packet = [0xee; 40];
    let mut ip = Ipv4::init(&mut packet[..]).unwrap();
    ip.set_total_len(40);
    ip.set_protocol(protocol::TCP);
    ip.set_source([10, 0, 0, 1].into());
    ip.set_destination([10, 0, 0, 2].into());
    ip.update_checksum();
    let pseudo = ip.pseudo_header_sum(20);
    let mut tcp = Tcp::init(ip.payload_mut()).unwrap();
    tcp.set_flags(tcp_flag::SYN | tcp_flag::ACK);
    let sum = checksum::transport(pseudo, tcp.as_bytes());
    tcp.set_checksum(sum);
    assert!(Ipv4::new(&packet[..]).unwrap().is_checksum_valid());
    assert!(checksum::is_transport_valid(pseudo, &packet[20..]));
    assert!(
        Ipv4::init(&mut packet[..19]).is_none()
            && Ipv6::init([0; 39]).is_none()
            && Arp::init([0; 27]).is_none()
    );
}

#[test]
fn ipv6_fields_within_the_first_word_keep_apart() {
    let mut ip = Ipv6::init([0; 40]).unwrap();
    ip.set_traffic_class(0xab);
    ip.set_flow_label(0xfff1_2345);
    assert_eq!((ip.version(), ip.traffic_class(), ip.flow_label()), (6, 0xab, 0x1_2345));
}

/// Calls everything of every view that takes `bytes`.
fn read_all(bytes: &[u8]) -> usize {
    let mut n_read = 0;
    if let Some(eth) = Ethernet::new(bytes) {
        n_read += eth.payload().len();
    }
    n_read += Vlan::new(bytes).map_or(0, |vlan| vlan.payload().len());
    n_read += Arp::new(bytes).map_or(0, |arp| usize::from(arp.operation()));
    n_read += ip(bytes).len();
    for kind in [protocol::TCP, protocol::UDP, protocol::ICMP] {
        n_read += transport(kind, 0, bytes).len();
    }
    n_read + Tcp::new(bytes).map_or(0, |tcp| tcp.payload().len() + tcp.options().len())
}

proptest! {
    #[test]
    fn no_bytes_make_a_view_panic(mut bytes: Vec<u8>, first in prop::sample::select(vec![0x45u8, 0x4f, 0x60, 0x46])) {
        read_all(&bytes);
        if let Some(version) = bytes.first_mut() {
            *version = first;
        }
        read_all(&bytes);
    }

    #[test]
    fn a_header_length_set_too_long_makes_no_view_panic(bytes: [u8; 24], len: u8) {
        let mut ip = Ipv4::init(bytes).unwrap();
        ip.set_version_and_len(len);
        ip.update_checksum();
        prop_assert!(ip.options().len() + ip.payload().len() + ip.payload_mut().len() <= 48);
        let _ = (ip.final_destination(), ip.is_checksum_valid());
    }

    #[test]
    fn a_setter_changes_its_own_field_only(before: [u8; 20], ports: [u16; 2], numbers: [u32; 2]) {
        let mut tcp = Tcp::init(before).unwrap();
        tcp.set_source_port(ports[0]);
        tcp.set_destination_port(ports[1]);
        tcp.set_sequence(numbers[0]);
        tcp.set_acknowledgment(numbers[1]);
        let expected = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
        prop_assert_eq!(&tcp.as_bytes()[..4], &expected[..]);
        prop_assert_eq!((tcp.source_port(), tcp.destination_port()), (ports[0], ports[1]));
        prop_assert_eq!((tcp.sequence(), tcp.acknowledgment()), (numbers[0], numbers[1]));
        prop_assert_eq!(&tcp.as_bytes()[12..], &[0x50, 0, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn the_checksum_follows_every_time_to_live() {
    for ttl in 2..=255 {
        for id in [0, 0x1234, 0xba9a, 0xffff_u16] {
            let mut header = [0x45, 0, 0, 20, 0, 0, 0, 0, ttl, 17, 0, 0, 10, 1, 1, 1, 10, 2, 2, 2];
            header[4..6].copy_from_slice(&id.to_be_bytes());
            let sum = checksum::checksum(&header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            assert!(decrement_ttl(&mut header));
            assert!(checksum::is_valid(&header), "{header:?}");
            assert_eq!(header[8], ttl - 1);
        }
    }
}

#[test]
fn a_decrement_makes_of_every_checksum_what_click_makes_of_it() {
    for check in 0..=0xffff_u16 {
        let mut header = [0; 20];
        [header[8], header[9]] = [2, 17];
        header[10..12].copy_from_slice(&check.to_be_bytes());
        assert!(decrement_ttl(&mut header));
        let sum = u32::from(!check) + 0xfeff;
        let expected = !((sum + (sum >> 16)) as u16);
        assert_eq!(header[8..12], [1, 17, (expected >> 8) as u8, expected as u8], "{check:#06x}");
    }
}

#[test]
fn a_time_to_live_that_runs_out_stays() {
    for ttl in [0, 1] {
        let mut header = [7; 20];
        header[8] = ttl;
        assert!(!decrement_ttl(&mut header));
        assert_eq!((header[8], header[10..12] == [7, 7]), (ttl, true));
    }
}
