//! `weir print`.

use super::super::testing::{check, fails, UDP};
use expect_test::expect;

#[test]
fn a_line_a_packet_is_printed_in_order() {
    check(
        &["print"],
        &[
            UDP,
            "ARP(10.0.0.1, 10.0.0.2)",
            "UDP6(2001:db8::1, 5, 2001:db8::2, 6)",
            "VLAN(5, 10.0.0.1, 5, 10.0.0.2, 6)",
            UDP,
            "RAW(88cc 0102)",
        ],
        &["UDP(10.0.0.2, 53, 10.0.0.1, 1000)"],
        &[],
        expect![[r#"
            right: 1000000000.000000: 10.0.0.1.1000 > 10.0.0.2.53: udp 12
            left: 1000000000.000500: 10.0.0.2.53 > 10.0.0.1.1000: udp 12
            right: 1000000000.001000: arp who-has 10.0.0.2 tell 10.0.0.1
            right: 1000000000.002000: 2001:db8::1 -> 2001:db8::2 plen 8, next 17, hlim 64
            right vlan: 1000000000.003000: 10.0.0.1.5 > 10.0.0.2.6: udp 12
            right: 1000000000.004000: 10.0.0.1.1000 > 10.0.0.2.53: udp 12
            right: 1000000000.005000:   16 | 02000000 00020200 00000001 88cc0102
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP [2001:db8::1]:5 > [2001:db8::2]:6 hops 64 len 8
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 10.0.0.1:5 > 10.0.0.2:6 ttl 64 len 32
            to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
        "#]],
    );
}

#[test]
fn arp_that_is_not_for_ipv4_is_printed_in_bytes() {
    check(
        &["print", "--no-time", "--right"],
        &["RAW(0806 0000 0000 00 00 0000)"],
        &[],
        &[],
        expect![[r#"
            right:   22 | 02000000 00020200 00000001 08060000 00000000 0000
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 ARP 0.0.0.0 is at  to 0.0.0.0
        "#]],
    );
}

#[test]
fn contents_are_printed_if_wanted() {
    check(
        &["print", "--no-time", "--ttl", "--length", "--contents", "hex", "--max-length", "24", "--right"],
        &[UDP],
        &[UDP],
        &[],
        expect![[r#"
            right: ttl 64 length 32 10.0.0.1.1000 > 10.0.0.2.53: udp 12
              02000000 00020200 00000001 08004500 00200007 00004011
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
    fails(
        &["print", "--contents", "octal"],
        expect![[r#"
        error: invalid value 'octal' for '--contents <none|hex|ascii>': expected one of none, hex, ascii

        For more information, try '--help'.
    "#]],
    );
}
