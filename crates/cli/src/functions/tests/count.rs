//! `weir count`.

use super::super::testing::{check, fails, UDP};
use expect_test::expect;

#[test]
fn both_directions_are_counted() {
    check(
        &["count", "--interval", "1s", "--json"],
        &[UDP, UDP],
        &["ARP(10.0.0.1, 10.0.0.2)"],
        &["count/report.packets", "count/report.bytes"],
        expect![[r#"
            {"seconds":1.000,"right":{"packets":2,"bytes":92,"packets_per_s":2,"bits_per_s":736},"left":{"packets":1,"bytes":42,"packets_per_s":1,"bits_per_s":336}}
            {"seconds":2.000,"right":{"packets":2,"bytes":92,"packets_per_s":0,"bits_per_s":0},"left":{"packets":1,"bytes":42,"packets_per_s":0,"bits_per_s":0}}
            count/report.packets: right 2
            left 1

            count/report.bytes: right 92
            left 42

            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn an_interval_is_a_time() {
    fails(
        &["count", "--interval", "often"],
        expect![[r#"
        error: invalid value 'often' for '--interval <TIME>': expected a time such as 20ms, 1.5s or 2min

        For more information, try '--help'.
    "#]],
    );
}
