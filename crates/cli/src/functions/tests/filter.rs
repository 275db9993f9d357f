//! `weir filter`.

use super::super::testing::{check, fails, UDP};
use expect_test::expect;

#[test]
fn packets_that_do_not_match_are_dropped_and_counted() {
    check(
        &["filter", "udp", "and", "dst", "port", "53"],
        &[UDP, "ARP(10.0.0.1, 10.0.0.2)"],
        &["UDP(10.0.0.2, 53, 10.0.0.1, 1000)"],
        &["to_right/match.drops", "to_left/match.drops"],
        expect![[r#"
            to_right/match.drops: 1
            to_left/match.drops: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn one_direction_can_be_left_alone() {
    check(
        &["filter", "--left", "arp"],
        &[UDP],
        &[UDP],
        &["to_left/match.drops"],
        expect![[r#"
            to_left/match.drops: 1
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn a_wrong_expression_is_told() {
    fails(
        &["filter", "udp", "prt"],
        expect![[r#"
            filter: EXPR `udp prt`: can't parse filter expression: syntax error
              help: `man pcap-filter` describes the expressions"#]],
    );
}
