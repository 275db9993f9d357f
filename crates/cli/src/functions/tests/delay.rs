//! `weir delay`.

use super::super::testing::{check, fails, UDP};
use expect_test::expect;

#[test]
fn packets_are_held_for_the_time() {
    check(
        &["delay", "20ms"],
        &[UDP, UDP],
        &[UDP],
        &["to_right/line.delay"],
        expect![[r#"
        to_right/line.delay: 20ms
        to right at 20.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 20.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 21.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
    "#]],
    );
}

#[test]
fn jitter_varies_the_time() {
    check(
        &["delay", "20ms", "--jitter", "10ms", "--right"],
        &[UDP, UDP, UDP, UDP],
        &[UDP],
        &[],
        expect![[r#"
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 26.8 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 26.8 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 27.7 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 29.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn times_that_cannot_be_are_refused() {
    fails(
        &["delay", "soon"],
        expect![[r#"
        error: invalid value 'soon' for '<TIME>': expected a time such as 20ms, 1.5s or 2min

        For more information, try '--help'.
    "#]],
    );
    fails(
        &["delay", "1000"],
        expect![[r#"
        error: invalid value '1000' for '<TIME>': expected a time below 1000 s

        For more information, try '--help'.
    "#]],
    );
    fails(
        &["delay", "1ms", "--jitter", "2ms"],
        expect!["delay: --jitter `2ms`: a packet cannot leave before it came; the delay is 1ms"],
    );
    fails(&["delay", "1_0"], expect!["delay: TIME: expected a time such as 20ms, 1.5s or 2min"]);
}
