//! `weir policer`.

use super::super::testing::{check, fails, UDP};
use expect_test::expect;

#[test]
fn packets_above_the_rate_are_dropped() {
    check(
        &["policer", "1pps", "-b", "2"],
        &[UDP; 4],
        &[UDP],
        &["to_right/rest.exceeding", "to_left/rest.exceeding"],
        expect![[r#"
            to_right/rest.exceeding: 2
            to_left/rest.exceeding: 0
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn a_policer_without_a_rate_is_refused() {
    fails(&["policer"], expect!["policer: there is nothing to limit: give a rate, or a class with one"]);
}
