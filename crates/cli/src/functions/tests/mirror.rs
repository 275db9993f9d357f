//! `weir mirror`.

use super::super::testing::{fails, run_among, UDP};
use expect_test::expect;

#[test]
fn copies_of_what_matches_leave_by_the_third_port() {
    let told = run_among(
        &["mirror", "--if", "mirror=tap:x", "udp", "dst", "port", "53"],
        &[("left", &[UDP, "UDP(10.0.0.1, 1, 10.0.0.2, 54)"]), ("right", &[]), ("mirror", &[UDP])],
        &["copied_right.count", "ignored.count"],
    );
    expect![[r#"
        copied_right.count: 1
        ignored.count: 1
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to mirror at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1 > 10.0.0.2:54 ttl 64 len 32
    "#]]
    .assert_eq(&told);
}

#[test]
fn the_third_port_is_needed() {
    fails(
        &["mirror", "--if", "copies=tap:x"],
        expect![
            "mirror: no interface `mirror`; there are left, right, copies; add it with --if mirror=KIND:ARGS"
        ],
    );
}
