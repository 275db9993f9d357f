//! Tests of the switch with VLANs.

use crate::testing::{check, check_reading};
use expect_test::{expect, Expect};

const A: &str = "02000000000a";
const B: &str = "02000000000b";
const ALL: &str = "ffffffffffff";

/// Sends frames, given as port, destination, source and the rest, through a switch of four ports. What comes is printed.
fn frames(arguments: &str, frames: &[(usize, &str, &str, &str)], expect: Expect) {
    let mut config = format!("s :: VLANSwitch({arguments});\n");
    for port in 0..4 {
        config += &format!(
            "i{port} :: Null -> [{port}]s; s[{port}] -> Print({port}, 20) -> Discard;\nIdle -> i{port};"
        );
    }
    for (port, destination, source, rest) in frames {
        config += &format!("InfiniteSource(DATA \\<{destination}{source}{rest}>, LIMIT 1) -> i{port};\n");
    }
    check_reading(&config, &["s.table", "s.dropped", "drops"], expect);
}

const PORTS: &str = "access 10, access 20, trunk 10 ALLOWED 20, trunk";

#[test]
fn frames_stay_in_their_vlans_and_have_tags_on_trunks() {
    frames(
        PORTS,
        &[
            (0, ALL, A, "0800aaaa"),
            (1, ALL, A, "0800bbbb"),
            (2, ALL, B, "8100e0140800cccc"),
            (2, A, B, "8100200a0800dddd"),
            (3, A, B, "8100000a0800eeee"),
            (3, ALL, B, "810000070800ffff"),
        ],
        expect![[r#"
            2:   16 | ffffffff ffff0200 0000000a 0800aaaa
            3:   20 | ffffffff ffff0200 0000000a 8100000a 0800aaaa
            2:   20 | ffffffff ffff0200 0000000a 81000014 0800bbbb
            3:   20 | ffffffff ffff0200 0000000a 81000014 0800bbbb
            1:   16 | ffffffff ffff0200 0000000b 0800cccc
            3:   20 | ffffffff ffff0200 0000000b 8100e014 0800cccc
            0:   16 | 02000000 000a0200 0000000b 0800dddd
            0:   16 | 02000000 000a0200 0000000b 0800eeee
            s.table: 02-00-00-00-00-0B 7 3
            02-00-00-00-00-0A 10 0
            02-00-00-00-00-0B 10 3
            02-00-00-00-00-0A 20 1
            02-00-00-00-00-0B 20 2

            s.dropped: 0 0 0
            1 0 0
            2 0 0
            3 0 0

            drops: s	alone	1

        "#]],
    );
}

#[test]
fn a_station_is_another_one_in_each_vlan() {
    frames(
        PORTS,
        &[
            (0, ALL, A, "08000001"),
            (1, ALL, A, "08000002"),
            (3, A, B, "8100000a08000003"),
            (3, A, B, "8100001408000004"),
            (0, B, A, "08000005"),
        ],
        expect![[r#"
            2:   16 | ffffffff ffff0200 0000000a 08000001
            3:   20 | ffffffff ffff0200 0000000a 8100000a 08000001
            2:   20 | ffffffff ffff0200 0000000a 81000014 08000002
            3:   20 | ffffffff ffff0200 0000000a 81000014 08000002
            0:   16 | 02000000 000a0200 0000000b 08000003
            1:   16 | 02000000 000a0200 0000000b 08000004
            3:   20 | 02000000 000b0200 0000000a 8100000a 08000005
            s.table: 02-00-00-00-00-0A 10 0
            02-00-00-00-00-0B 10 3
            02-00-00-00-00-0A 20 1
            02-00-00-00-00-0B 20 3

            s.dropped: 0 0 0
            1 0 0
            2 0 0
            3 0 0

            drops: 
        "#]],
    );
}

#[test]
fn what_does_not_belong_to_a_port_is_dropped_and_counted() {
    frames(
        PORTS,
        &[
            (0, ALL, A, "8100001408000001"),
            (0, ALL, A, "8100000a08000002"),
            (0, ALL, A, "8100800008000003"),
            (2, ALL, A, "8100000b08000004"),
            (3, ALL, A, "08000005"),
            (3, ALL, A, "81000fff08000006"),
            (3, ALL, A, "8100000008000007"),
            (3, ALL, A, "8100006308000008"),
            (1, "0200", "", ""),
            (1, ALL, A, "8100"),
        ],
        expect![[r#"
            2:   16 | ffffffff ffff0200 0000000a 08000002
            3:   20 | ffffffff ffff0200 0000000a 8100000a 08000002
            2:   16 | ffffffff ffff0200 0000000a 08000003
            3:   20 | ffffffff ffff0200 0000000a 8100800a 08000003
            2:   18 | ffffffff ffff0200 0000000a 81000014 8100
            3:   18 | ffffffff ffff0200 0000000a 81000014 8100
            s.table: 02-00-00-00-00-0A 10 0
            02-00-00-00-00-0A 20 1
            02-00-00-00-00-0A 99 3

            s.dropped: 0 1 0
            1 0 0
            2 1 0
            3 1 2

            drops: s	not-member	3
            s	untagged	2
            s	short	1
            s	alone	1

        "#]],
    );
}

#[test]
fn ports_of_which_nothing_is_said_are_access_ports_of_vlan_1() {
    frames(
        "trunk, TIMEOUT 0",
        &[(1, ALL, A, "08000001"), (0, A, B, "8100000108000002"), (0, A, B, "88a8000108000003")],
        expect![[r#"
            0:   20 | ffffffff ffff0200 0000000a 81000001 08000001
            2:   16 | ffffffff ffff0200 0000000a 08000001
            3:   16 | ffffffff ffff0200 0000000a 08000001
            1:   16 | 02000000 000a0200 0000000b 08000002
            2:   16 | 02000000 000a0200 0000000b 08000002
            3:   16 | 02000000 000a0200 0000000b 08000002
            s.table: 
            s.dropped: 0 0 1
            1 0 0
            2 0 0
            3 0 0

            drops: s	untagged	1

        "#]],
    );
}

#[test]
fn service_tags_are_left_alone() {
    frames(
        "access, access 2, trunk 1, access 2",
        &[(0, A, B, "88a8000108000003")],
        expect![[r#"
        2:   20 | 02000000 000a0200 0000000b 88a80001 08000003
        s.table: 02-00-00-00-00-0B 1 0

        s.dropped: 0 0 0
        1 0 0
        2 0 0
        3 0 0

        drops: 
    "#]],
    );
}

#[test]
fn stations_above_the_capacity_are_not_learned_until_others_are_silent() {
    let frame = |source: u8, time: u32| {
        format!(
            "InfiniteSource(DATA \\<ffffffffffff0200000000{source:02x}0800>, LIMIT 1) -> SetTimestamp({time}) -> i;"
        )
    };
    check_reading(
        &format!(
            "s :: VLANSwitch(CAPACITY 2, TIMEOUT 10); i :: Null -> s -> Discard; Idle -> [1] s [1] -> Discard; {} {} {} {} {}",
            frame(1, 1),
            frame(2, 2),
            frame(3, 5),
            frame(1, 6),
            frame(4, 13)
        ),
        &["s.table", "s.stations", "s.unlearned", "s.timeout"],
        expect![[r#"
            s.table: 02-00-00-00-00-01 1 0
            02-00-00-00-00-04 1 0

            s.stations: 2
            s.unlearned: 1
            s.timeout: 10
        "#]],
    );
}

#[test]
fn silent_stations_are_forgotten() {
    let frame = |port: u8, to: u8, from: u8, time: u32| {
        format!(
            "InfiniteSource(DATA \\<0200000000{to:02x}0200000000{from:02x}0800>, LIMIT 1) -> SetTimestamp({time}) -> i{port};"
        )
    };
    check_reading(
        &format!(
            "s :: VLANSwitch(TIMEOUT 10); i0 :: Null -> s -> Discard; i1 :: Null -> [1] s [1] -> c1 :: Counter -> Discard; Idle -> i1;
             Idle -> [2] s [2] -> c2 :: Counter -> Discard; {} {} {}",
            frame(1, 9, 1, 1),
            frame(0, 1, 2, 10),
            frame(0, 1, 2, 11)
        ),
        &["s.table", "c1.count", "c2.count"],
        expect![[r#"
            s.table: 02-00-00-00-00-02 1 0

            c1.count: 2
            c2.count: 2
        "#]],
    );
}

#[test]
fn arguments_are_checked() {
    check(
        "s :: VLANSwitch(access 0, trunk ALLOWED 20..10, CAPACITY 0); t :: VLANSwitch(access, access, trunk);
         Idle -> t -> Discard; Idle -> [1] t [1] -> Discard; Idle -> s -> Discard; Idle -> [1] s [1] -> Discard;",
        expect![[r#"
            config:1: While configuring 's :: VLANSwitch':
              CAPACITY: out of range, bound 1
              PORTS: port 0: `0`: expected a VLAN from 1 to 4094
              PORTS: port 1: `20..10`: the lower VLAN comes first; say 10..20
            config:1: While configuring 't :: VLANSwitch':
              there are VLANs for 3 ports, but only 2
            Router could not be initialized!
        "#]],
    );
}

#[test]
fn stations_of_vlans_that_a_port_keeps_outlive_a_change() {
    let library = testing::Library::new(crate::FOLDERS.iter().map(|(_, classes)| *classes));
    let graph = |ports: &str, source: &str| {
        let tick = "tick :: TimedSource(1ms) -> tock :: Discard;";
        format!("{source} -> s :: VLANSwitch({ports}) -> Discard; Idle -> [1] s [1] -> Discard; {tick}")
    };
    let told = library.run_changing(
        &graph("trunk", "InfiniteSource(DATA \\<ffffffffffff02000000000181000007>, LIMIT 1) -> u :: Null; InfiniteSource(DATA \\<ffffffffffff02000000000181000008>, LIMIT 1) -> u; InfiniteSource(DATA \\<ffffffffffff0200000000010800>, LIMIT 3) -> u; u"),
        &[&graph("trunk ALLOWED 8", "u :: Idle")],
        50,
        &["s.table", "s.dropped"],
    );
    expect![[r#"
        s.table: 02-00-00-00-00-01 8 0

        s.dropped: 0 0 3
        1 0 0

    "#]]
    .assert_eq(&told);
}

#[test]
fn a_flushed_switch_knows_nobody() {
    check_reading(
        "InfiniteSource(DATA \\<ffffffffffff0200000000010800>, LIMIT 3) -> s :: VLANSwitch(trunk 3) -> Discard; Idle -> [1] s [1] -> Discard;
         InfiniteSource(DATA \\<ffffffffffff0200000000020800>, LIMIT 3) -> e :: EtherSwitch -> Discard; Idle -> [1] e [1] -> Discard;
         DriverManager(wait 1ms, read s.table, read e.table, write s.flush, write e.flush, write s.reset_counts, write s.timeout 7, stop)",
        &["s.table", "e.table", "s.timeout", "s.dropped", "drops"],
        expect![[r#"
            s.table:
            02-00-00-00-00-01 3 0

            e.table:
            02-00-00-00-00-02 0

            s.table: 
            e.table: 
            s.timeout: 7
            s.dropped: 0 0 0
            1 0 0

            drops: s	alone	3

        "#]],
    );
}
