use expect_test::expect;

use super::*;
use crate::testing::{check, check_reading};

/// An IPv4 header with ports behind it.
fn header(source: u8, protocol: u8, fragment: u16, ports: [u8; 4]) -> Vec<u8> {
    let [high, low] = fragment.to_be_bytes();
    let fixed = [0x45, 0, 0, 28, 0, 1, high, low, 64, protocol, 0, 0, 10, 0, 0, source, 192, 0, 2, 1];
    [&fixed[..], &ports, &[0; 4]].concat()
}

#[test]
fn addresses_protocol_and_ports_tell_flows_apart() {
    let flow = |source, protocol, ports| Ip4::flow_hash(&header(source, protocol, 0, ports)).unwrap();
    let one = flow(1, 17, [0, 1, 0, 2]);
    assert_eq!(one, flow(1, 17, [0, 1, 0, 2]));
    for other in [
        flow(2, 17, [0, 1, 0, 2]),
        flow(1, 6, [0, 1, 0, 2]),
        flow(1, 17, [0, 2, 0, 2]),
        flow(1, 17, [0, 1, 0, 3]),
    ] {
        assert_ne!(one, other);
    }
    // An ICMP echo has no ports there.
    assert_eq!(flow(1, 1, [8, 0, 1, 2]), flow(1, 1, [8, 0, 3, 4]));
}

#[test]
fn all_fragments_take_one_hop() {
    let hash = |fragment, ports| Ip4::flow_hash(&header(1, 17, fragment, ports)).unwrap();
    assert_eq!(hash(0x2000, [0, 1, 0, 2]), hash(0x00b9, [9, 9, 9, 9]));
    assert_eq!(hash(0x4000, [0, 1, 0, 2]), hash(0, [0, 1, 0, 2]));
}

#[test]
fn what_is_cut_off_is_harmless() {
    let whole = header(1, 17, 0, [0, 1, 0, 2]);
    for len in 0..whole.len() {
        assert_eq!(Ip4::flow_hash(&whole[..len]).is_some(), len >= 20);
    }
    let long = [&[0x4f], &whole[1..]].concat();
    assert!(Ip4::flow_hash(&long).is_some());
    assert_eq!(Ip4::flow_hash(&[0x60; 40]), None);
}

#[test]
fn packets_get_the_hop_and_leave_by_its_output() {
    check_reading(
        "FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto
10.0.0.5 1 192.0.2.1 80 U
10.0.0.5 1 192.0.2.1 80 U
10.0.0.5 2 192.0.2.1 80 U
10.0.0.5 3 192.0.2.1 80 U
10.0.0.5 4 192.0.2.1 80 U
10.0.0.5 5 192.0.2.1 80 U
', CHECKSUM true) -> h :: NextHopSwitch(10.0.0.2, 10.0.1.2 3);
         h[0] -> IPPrint(first, TIMESTAMP false) -> StoreIPAddress(16) -> IPPrint(to, TIMESTAMP false) -> Discard;
         h[1] -> IPPrint(second, TIMESTAMP false) -> StoreIPAddress(16) -> IPPrint(to, TIMESTAMP false) -> Discard;
         Idle -> h; InfiniteSource(DATA xyz, LIMIT 1) -> h;",
        &["h.hops"],
        expect![[r#"
            second: 10.0.0.5.1 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.1 > 10.0.1.2.80: udp 8
            second: 10.0.0.5.1 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.1 > 10.0.1.2.80: udp 8
            second: 10.0.0.5.2 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.2 > 10.0.1.2.80: udp 8
            second: 10.0.0.5.3 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.3 > 10.0.1.2.80: udp 8
            second: 10.0.0.5.4 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.4 > 10.0.1.2.80: udp 8
            first: 10.0.0.5.5 > 192.0.2.1.80: udp 8
            to: 10.0.0.5.5 > 10.0.0.2.80: udp 8
            h.hops: 10.0.0.2 1 1 25.3
            10.0.1.2 3 5 74.7

        "#]],
    );
}

#[test]
fn mistakes_are_told() {
    check(
        "Idle -> NextHopSwitch() -> Discard; Idle -> NextHopSwitch(10.0.0.1, 10.0.0.1 2) -> Discard;
         Idle -> NextHopSwitch(10.0.0.1 0, 10.0.0.2 256, here, 10.0.0.3 1 2) -> Discard; Idle -> NextHopSwitch(10.0.0.1, 10.0.0.2) -> Discard;",
        expect![[r#"
            config:1: While configuring 'NextHopSwitch@2 :: NextHopSwitch':
              expected 1 to 256 hops
            config:1: While configuring 'NextHopSwitch@5 :: NextHopSwitch':
              10.0.0.1 is a hop already
            config:2: While configuring 'NextHopSwitch@8 :: NextHopSwitch':
              `10.0.0.1 0`: expected an IP address, and perhaps a weight from 1 to 255
              `10.0.0.2 256`: expected an IP address, and perhaps a weight from 1 to 255
              `here`: expected an IP address, and perhaps a weight from 1 to 255
              `10.0.0.3 1 2`: expected an IP address, and perhaps a weight from 1 to 255
            config:2: While configuring 'NextHopSwitch@11 :: NextHopSwitch':
              warning: 2 hops, but 1 outputs
            Router could not be initialized!
        "#]],
    );
}
