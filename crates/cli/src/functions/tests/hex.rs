//! `weir hex`.

use super::super::testing::{check, fails, Scratch, UDP};
use expect_test::expect;

#[test]
fn both_directions_are_written() {
    let scratch = Scratch::new();
    let path = scratch.path("out.txt");
    check(
        &["hex", "--out", &path],
        &[UDP],
        &["RAW(88cc 0102)"],
        &["dump/file.count"],
        expect![[r#"
        dump/file.count: 2
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
    "#]],
    );
    expect![[r#"
        O 2001-09-09T01:46:40.000000000 len=46
        000000 02 00 00 00 00 02 02 00 00 00 00 01 08 00 45 00
        000010 00 20 00 07 00 00 40 11 66 c4 0a 00 00 01 0a 00
        000020 00 02 03 e8 00 35 00 0c 3d 0c 55 55 55 55

        I 2001-09-09T01:46:40.000500000 len=16
        000000 02 00 00 00 00 02 02 00 00 00 00 01 88 cc 01 02

    "#]]
    .assert_eq(&std::fs::read_to_string(&path).unwrap());
    check(
        &["hex", "-o", &path, "--left"],
        &[UDP],
        &["RAW(88cc 0102)"],
        &["dump/file.count"],
        expect![[r#"
        dump/file.count: 1
        to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
    "#]],
    );
}

#[test]
fn standard_output_is_no_place_for_a_dump() {
    fails(
        &["hex", "--out", "-"],
        expect!["hex: --out `-`: standard output is where packets go; name a file, or leave --out away"],
    );
}
