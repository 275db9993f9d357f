//! `weir bridge`.

use super::super::testing::{check, fails, run_among, run_for};
use expect_test::expect;

const FROM_LEFT: &str = "from=02:00:00:00:00:0a to=02:00:00:00:00:0b UDP(10.0.0.1, 1, 10.0.0.2, 2)";
const FROM_RIGHT: &str = "from=02:00:00:00:00:0b to=02:00:00:00:00:0a UDP(10.0.0.2, 2, 10.0.0.1, 1)";

#[test]
fn stations_are_learned() {
    let told = run_among(
        &["bridge", "--if", "third=tap:x"],
        &[
            ("left", &[FROM_LEFT]),
            ("right", &[FROM_RIGHT]),
            ("third", &["at=3 from=02:00:00:00:00:0a to=02:00:00:00:00:0b UDP(10.0.0.1, 1, 10.0.0.2, 3)"]),
        ],
        &["bridge.table"],
    );
    expect![[r#"
        bridge.table: 02-00-00-00-00-0A 2
        02-00-00-00-00-0B 1

        to third at 0.0 ms: 2:0:0:0:0:a > 2:0:0:0:0:b UDP 10.0.0.1:1 > 10.0.0.2:2 ttl 64 len 32
        to right at 0.0 ms: 2:0:0:0:0:a > 2:0:0:0:0:b UDP 10.0.0.1:1 > 10.0.0.2:2 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:b > 2:0:0:0:0:a UDP 10.0.0.2:2 > 10.0.0.1:1 ttl 64 len 32
        to right at 3.0 ms: 2:0:0:0:0:a > 2:0:0:0:0:b UDP 10.0.0.1:1 > 10.0.0.2:3 ttl 64 len 32
    "#]]
    .assert_eq(&told);
}

#[test]
fn nothing_is_learned_if_so_told() {
    check(
        &["bridge", "--ageing", "0"],
        &[FROM_LEFT],
        &[FROM_RIGHT],
        &["bridge.table"],
        expect![[r#"
        bridge.table: 
        to right at 0.0 ms: 2:0:0:0:0:a > 2:0:0:0:0:b UDP 10.0.0.1:1 > 10.0.0.2:2 ttl 64 len 32
        to left at 0.5 ms: 2:0:0:0:0:b > 2:0:0:0:0:a UDP 10.0.0.2:2 > 10.0.0.1:1 ttl 64 len 32
    "#]],
    );
}

#[test]
fn a_bridge_of_a_tree_waits_before_it_forwards() {
    let frames: [&str; 2] = [FROM_LEFT, &format!("at=31000 {FROM_LEFT}")];
    let words = ["bridge", "--stp", "--ethernet", "02:00:00:00:00:ff"];
    let told = run_for("32s", &words, &[("left", &frames)], &["bridge.table"]);
    let lines = told.lines().filter(|line| !line.contains("> 1:80:c2:0:0:0"));
    expect![[r#"
        Setting send_tc_msg: BLOCK -> FORWARD on 0
        Changing port 0 from 0 to 1
        Setting send_tc_msg: BLOCK -> FORWARD on 1
        Changing port 1 from 0 to 1
        Changing port 0 from 1 to 2
        Changing port 1 from 1 to 2
        bridge.table: 02-00-00-00-00-0A 0
    "#]]
    .assert_eq(&lines.collect::<Vec<&str>>().join("\n"));
    assert!(told.contains("to left at 2000.0 ms: 2:0:0:0:0:ff > 1:80:c2:0:0:0"), "{told}");
}

#[test]
fn mistakes_are_told() {
    fails(
        &["bridge", "--stp", "--ethernet", "ff:ff:ff:ff:ff:ff"],
        expect![[r#"
        error: invalid value 'ff:ff:ff:ff:ff:ff' for '--ethernet <MAC>': expected the address of a single station, such as 02:00:00:00:00:01

        For more information, try '--help'.
    "#]],
    );
    fails(
        &["bridge", "--if", "a b=tap:x"],
        expect![[r#"
        error: invalid value 'a b=tap:x' for '--if <NAME=KIND>': `a b` is no name for an interface; use letters, digits, `_`, `-` and `.`

        For more information, try '--help'.
    "#]],
    );
}

#[test]
fn ports_have_vlans() {
    check(
        &["bridge", "--port", "left=access:10", "--port", "right=trunk"],
        &[FROM_LEFT],
        &["VLAN(10, 10.0.0.2, 1, 10.0.0.1, 2)", FROM_RIGHT],
        &["bridge.table", "bridge.dropped"],
        expect![[r#"
            bridge.table: 02-00-00-00-00-01 10 1
            02-00-00-00-00-0A 10 0

            bridge.dropped: 0 0 0
            1 0 1

            to right at 0.0 ms: 2:0:0:0:0:a > 2:0:0:0:0:b VLAN 10 UDP 10.0.0.1:1 > 10.0.0.2:2 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:1 > 10.0.0.1:2 ttl 64 len 32
        "#]],
    );
}

#[test]
fn vlans_of_no_port_are_refused() {
    fails(
        &["bridge", "--port", "lefft=access:10"],
        expect!["bridge: there is no port `lefft`; there are: left, right"],
    );
    fails(
        &["bridge", "--port", "left"],
        expect![[r#"
        error: invalid value 'left' for '--port <NAME=MODE[:VLAN]>': expected NAME=access:VLAN or NAME=trunk[:VLAN], such as left=access:10 or right=trunk

        For more information, try '--help'.
    "#]],
    );
    fails(
        &["bridge", "--port", "left=access:4095"],
        expect![[r#"
        error: invalid value 'left=access:4095' for '--port <NAME=MODE[:VLAN]>': expected a number from 1 to 4094

        For more information, try '--help'.
    "#]],
    );
    fails(
        &["bridge", "--port", "left=trunk", "--port", "left=access"],
        expect!["bridge: --port `left=access`: left has a port already; one is enough"],
    );
}
