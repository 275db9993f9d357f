//! `weir firewall`.

use super::super::testing::{check, fails, graph, Scratch, UDP};
use expect_test::expect;

const WEB: &str = "TCP(10.0.0.1, 1000, 10.0.0.2, 80, S)";
const ANSWER: &str = "at=5 TCP(10.0.0.2, 80, 10.0.0.1, 1000, SA)";
const ARP: &str = "ARP(10.0.0.1, 10.0.0.2)";

#[test]
fn the_first_rule_that_matches_decides() {
    check(
        &["firewall", "deny tcp && dst port 80, allow udp", "allow tcp"],
        &[WEB, UDP, "TCP(10.0.0.1, 1000, 10.0.0.2, 81, S)", "PING(10.0.0.1, 10.0.0.2, 1)", ARP],
        &[WEB],
        &["to_right/allowed.count", "to_right/denied.count"],
        expect![[r#"
            to_right/allowed.count: 2
            to_right/denied.count: 2
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:81 S ttl 64 len 40
            to right at 4.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        "#]],
    );
}

#[test]
fn rules_look_behind_a_tag_and_non_ip_can_be_dropped() {
    let vlan = "VLAN(5, 10.0.0.1, 5, 10.0.0.2, 53)";
    check(
        &["firewall", "deny udp", "--default", "allow"],
        &[vlan, ARP],
        &[],
        &[],
        expect![[r#"
        to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
    "#]],
    );
    check(
        &["firewall", "allow udp", "--drop-non-ip"],
        &[vlan, ARP],
        &[UDP, ARP],
        &["from_left/other_denied.count", "from_right/other_denied.count"],
        expect![[r#"
            from_left/other_denied.count: 1
            from_right/other_denied.count: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 10.0.0.1:5 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn rules_can_be_for_both_directions_and_be_counted() {
    check(
        &["firewall", "--both", "--count-rules", "deny udp", "allow tcp"],
        &[UDP, WEB],
        &[WEB, WEB, "PING(10.0.0.1, 10.0.0.2, 1)"],
        &["to_right/rule1.count", "to_right/rule2.count", "to_left/rule2.count", "to_left/default.count"],
        expect![[r#"
            to_right/rule1.count: 1
            to_right/rule2.count: 1
            to_left/rule2.count: 2
            to_left/default.count: 1
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
            to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
        "#]],
    );
}

#[test]
fn rules_come_from_files_too() {
    let scratch = Scratch::new();
    let path = scratch.path("rules");
    // Editors put a byte-order mark in front and carriage returns at the ends of lines.
    std::fs::write(&path, "\u{feff}# Comment\r\nallow udp  # all\r\n\r\ndeny all\r\n").unwrap();
    check(
        &["firewall", "-f", &path, "--reverse", "deny udp, allow all"],
        &[UDP, WEB],
        &[UDP, WEB],
        &[],
        expect![[r#"
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
    "#]],
    );
    std::fs::write(&path, "allow udp\nallow upd\n").unwrap();
    let message = graph(&["firewall", "-f", &path]).unwrap_err().replace(&path, "FILE");
    expect!["firewall: --file `FILE`: line 2: `allow upd`: empty term near 'upd' (`weir help IPClassifier` describes patterns)"].assert_eq(&message);
    fails(
        &["firewall", "-f", "/nowhere/rules"],
        expect!["firewall: --file `/nowhere/rules`: cannot be read: No such file or directory"],
    );
    fails(
        &["firewall", "permit tcp"],
        expect![[r#"
            error: invalid value 'permit tcp' for '[RULES]...': `permit tcp`: `permit` is none of allow, deny, drop

            For more information, try '--help'.
        "#]],
    );
}

#[test]
fn with_state_answers_pass_and_nothing_else_does() {
    check(
        &["firewall", "--stateful", "allow tcp && dst port 80", "allow udp or icmp or ip proto 47"],
        &[
            WEB,
            UDP,
            "TCP(10.0.0.1, 5, 10.0.0.2, 22, S)",
            "PING(10.0.0.1, 10.0.0.2, 7)",
            "PROTO(47, 10.0.0.1, 10.0.0.2)",
            ARP,
        ],
        &[
            WEB,
            ANSWER,
            "at=6 TCP(10.0.0.2, 81, 10.0.0.1, 1000, S)",
            "at=7 PONG(10.0.0.2, 10.0.0.1, 7)",
            "at=8 PONG(10.0.0.2, 10.0.0.1, 8)",
            "at=9 PROTO(47, 10.0.0.2, 10.0.0.1)",
            "at=10 PROTO(47, 10.0.0.3, 10.0.0.1)",
            "at=11 ERROR(3, 3, 10.9.9.9, 10.0.0.1, 10.0.0.1, 1000, 10.0.0.2, 53)",
            "at=12 ERROR(3, 3, 10.9.9.9, 10.0.0.1, 10.0.0.1, 1001, 10.0.0.2, 53)",
            "at=13 UDP(10.0.0.2, 53, 10.0.0.1, 1000)",
            ARP,
        ],
        &["state/flows.table_size", "state/spoofed.count", "to_left/denied.count"],
        expect![[r#"
            state/flows.table_size: 2
            state/spoofed.count: 1
            to_left/denied.count: 10
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 ping 7 ttl 64 len 30
            to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 protocol 47 ttl 64 len 28
            to right at 5.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to left at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.2:80 > 10.0.0.1:1000 SA ttl 64 len 40
            to left at 7.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.2 > 10.0.0.1 pong 7 ttl 64 len 30
            to left at 9.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.2 > 10.0.0.1 protocol 47 ttl 64 len 28
            to left at 10.5 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to left at 11.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.9.9.9 > 10.0.0.1 ICMP 3/3 about [UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32] ttl 64 len 60
            to left at 13.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
        "#]],
    );
}

#[test]
fn with_state_rules_can_open_the_other_direction() {
    check(
        &["firewall", "--stateful", "--reverse", "allow tcp && dst port 22"],
        &["at=5 TCP(10.0.0.1, 22, 10.0.0.2, 1000, SA)", "at=6 TCP(10.0.0.1, 23, 10.0.0.2, 1000, SA)", UDP],
        &["TCP(10.0.0.2, 1000, 10.0.0.1, 22, S)", "TCP(10.0.0.2, 1000, 10.0.0.1, 23, S)"],
        &[],
        expect![[r#"
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.2:1000 > 10.0.0.1:22 S ttl 64 len 40
            to right at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:22 > 10.0.0.2:1000 SA ttl 64 len 40
        "#]],
    );
}

#[test]
fn with_state_fragments_are_judged_as_wholes_and_pass_as_fragments() {
    let first = "FRAGMENT(10.0.0.1, 10.0.0.2, 2000, 03e8003500480000 1111111111111111 1111111111111111 1111111111111111 1111111111111111)";
    let last = "FRAGMENT(10.0.0.1, 10.0.0.2, 5, 2222222222222222 3333333333333333 4444444444444444 5555555555555555)";
    check(
        &["firewall", "--stateful", "--mtu", "68", "allow dst udp port 53"],
        &[first, last],
        &[],
        &[],
        expect![[r#"
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 68 more
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 fragment at 48 ttl 64 len 44 last
    "#]],
    );
    check(&["firewall", "--stateful", "allow dst udp port 54"], &[last, first], &[], &[], expect![""]);
}
