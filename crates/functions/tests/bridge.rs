//! The function `bridge` with VLANs.

mod harness;

use expect_test::{expect, Expect};
use functions::Functions;
use harness::{run, run_for, UDP};
use serde_json::{json, Value};

const READS: [&str; 2] = ["bridge.table", "bridge.dropped"];

fn check(ports: Value, frames: &[(&str, &[&str])], expect: Expect) {
    let instance = json!({ "name": "b", "port": ports });
    expect.assert_eq(&run("bridge", instance, frames, &READS));
}

/// Two access ports and a trunk.
fn office() -> Value {
    json!([
        { "name": "left", "vlan": 10 },
        { "name": "right", "mode": "access", "vlan": 20 },
        { "name": "up", "mode": "trunk", "vlan": 10, "allowed": [20, "30..40"] }
    ])
}

#[test]
fn access_ports_have_no_tags_and_trunks_have() {
    check(
        office(),
        &[
            ("left", &[UDP, "VLAN(10, 10.0.0.1, 1, 10.0.0.9, 2)"]),
            ("right", &["at=10 UDP(10.1.0.1, 1000, 10.1.0.2, 53)"]),
            ("up", &["at=20 VLAN(20, 10.1.0.9, 1, 10.1.0.1, 2)", "at=21 UDP(10.0.0.9, 1, 10.0.0.1, 2)"]),
        ],
        expect![[r#"
            bridge.table: 02-00-00-00-00-01 10 2
            02-00-00-00-00-01 20 2

            bridge.dropped: 0 0 0
            1 0 0
            2 0 0

            to up at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to up at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1 > 10.0.0.9:2 ttl 64 len 32
            to up at 10.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 20 UDP 10.1.0.1:1000 > 10.1.0.2:53 ttl 64 len 32
            to right at 20.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.1.0.9:1 > 10.1.0.1:2 ttl 64 len 32
            to left at 21.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.9:1 > 10.0.0.1:2 ttl 64 len 32
        "#]],
    );
}

#[test]
fn frames_of_other_vlans_are_dropped_and_counted() {
    check(
        json!([{ "name": "left", "vlan": 10 }, { "name": "right", "mode": "trunk", "allowed": ["10..20"] }]),
        &[
            ("left", &["VLAN(11, 10.0.0.1, 1, 10.0.0.9, 2)", UDP]),
            ("right", &[UDP, "VLAN(21, 10.0.0.1, 1, 10.0.0.9, 2)", "VLAN(10, 10.0.0.7, 1, 10.0.0.9, 2)"]),
        ],
        expect![[r#"
            bridge.table: 02-00-00-00-00-01 10 1

            bridge.dropped: 0 1 0
            1 1 1

            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 10 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 2.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.7:1 > 10.0.0.9:2 ttl 64 len 32
        "#]],
    );
}

#[test]
fn stations_are_learned_in_each_vlan_by_itself() {
    let reply = "from=2:0:0:0:0:2 to=2:0:0:0:0:1 UDP(10.0.0.2, 53, 10.0.0.1, 1000)";
    check(
        office(),
        &[
            ("left", &[UDP, &format!("at=30 {UDP}")]),
            ("right", &[&format!("at=10 {UDP}")]),
            ("up", &[&format!("at=20 {reply}")]),
        ],
        expect![[r#"
            bridge.table: 02-00-00-00-00-01 10 0
            02-00-00-00-00-02 10 2
            02-00-00-00-00-01 20 1

            bridge.dropped: 0 0 0
            1 0 0
            2 0 0

            to up at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to up at 10.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 20 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 20.0 ms: 2:0:0:0:0:2 > 2:0:0:0:0:1 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
            to up at 30.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

#[test]
fn a_trunk_has_all_vlans_and_ports_without_an_entry_have_vlan_1() {
    check(
        json!([{ "name": "up", "mode": "trunk" }, { "name": "down", "mode": "trunk" }]),
        &[
            ("left", &[UDP]),
            ("up", &["VLAN(4094, 10.0.0.1, 1, 10.0.0.9, 2)", "VLAN(4095, 10.0.0.1, 1, 10.0.0.9, 2)"]),
            ("down", &[]),
        ],
        expect![[r#"
            bridge.table: 02-00-00-00-00-01 1 2
            02-00-00-00-00-01 4094 0

            bridge.dropped: 0 1 0
            1 0 0
            2 0 0

            to down at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 4094 UDP 10.0.0.1:1 > 10.0.0.9:2 ttl 64 len 32
            to up at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 1 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to down at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 1 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
    );
}

/// A better bridge behind both trunks: one of them closes a loop.
#[test]
fn a_spanning_tree_takes_trunks_out_of_loops() {
    let message = "to=1:80:c2:0:0:0 from=2:0:0:0:0:9 RAW(0026 424203 0000 00 00 00 0000 020000000009 00000000 0000 020000000009 8001 0000 1400 0200 0f00)";
    let messages: Vec<String> = (0..25).map(|i| format!("at={} {message}", i * 2000)).collect();
    let at_trunk: Vec<&str> = messages.iter().map(String::as_str).collect();
    let ports = json!([{ "name": "left", "vlan": 10 }, { "name": "up", "mode": "trunk" }, { "name": "down", "mode": "trunk" }]);
    let early = format!("at=5000 {UDP}");
    let late = format!("at=45000 {UDP}");
    let told = run_for(
        "48s",
        "bridge",
        json!({ "name": "b", "port": ports, "stp": true }),
        &[("left", &[&early, &late]), ("up", &at_trunk), ("down", &at_trunk)],
        &READS,
    );
    let frames: Vec<&str> = told.lines().filter(|line| line.contains("VLAN")).collect();
    expect!["to up at 45000.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 10 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32"].assert_eq(&frames.join("\n"));
    // It tells of the tree where there may be other bridges.
    assert!(told.contains("to left at") && told.contains("type 0026"), "{told}");
}

#[test]
fn what_is_wrong_with_vlans_is_told() {
    let wrong = |port: Value| {
        let instance = json!({ "name": "b", "port": [port] });
        run("bridge", instance, &[("left", &[]), ("right", &[])], &[])
    };
    let told = [
        json!({ "name": "left", "mode": "trunk", "allowed": ["20..10"] }),
        json!({ "name": "left", "mode": "trunk", "allowed": ["10-20"] }),
        json!({ "name": "left", "mode": "trunk", "allowed": [4095] }),
        json!({ "name": "left", "mode": "trunk", "allowed": ["1..4095"] }),
        json!({ "name": "left", "vlan": 0 }),
        json!({ "name": "left", "allowed": [10] }),
        json!({ "name": "left", "mode": "hybrid" }),
    ]
    .map(wrong);
    expect![[r#"
        port `left`: allowed `20..10`: the lower VLAN comes first; say 10..20
        /bridge:bridge[name='b']/port[name='left']/allowed: Invalid union value "10-20" - no matching subtype found:
            ly2 integers: Invalid non-number-encoded uint16 value "10-20".
            ly2 string: expected VLANs from 1 to 4094, the lower one first, such as 10..20

        /bridge:bridge[name='b']/port[name='left']/allowed: Invalid union value "4095" - no matching subtype found:
            ly2 integers: Unsatisfied range - value "4095" is out of the allowed range.
            ly2 string: Invalid non-string-encoded string value "4095".

        /bridge:bridge[name='b']/port[name='left']/allowed: Invalid union value "1..4095" - no matching subtype found:
            ly2 integers: Invalid non-number-encoded uint16 value "1..4095".
            ly2 string: expected VLANs from 1 to 4094, the lower one first, such as 10..20

        /bridge:bridge[name='b']/port[name='left']/vlan: Unsatisfied range - value "0" is out of the allowed range.
        /bridge:bridge[name='b']/port[name='left']/allowed[.='10']: When condition "../mode = 'trunk'" not satisfied.
        /bridge:bridge[name='b']/port[name='left']/mode: Invalid enumeration value "hybrid"."#]].assert_eq(&told.join("\n"));
}

/// The graph of an instance with these ports, which knows a station of VLANs 10 and 20 if `source` says so.
fn graph(ports: Option<Value>, source: &str) -> String {
    let functions = Functions::shipped_one("bridge").unwrap();
    let mut instance = json!({ "name": "b" });
    if let Some(ports) = ports {
        instance["port"] = ports;
    }
    let names = ["left", "right"].map(str::to_string);
    let text = functions.get("bridge").unwrap().render(&instance, &names, functions::Interfaces).unwrap();
    let text = text.replace("FromInterface(left)", "left").replace("FromInterface(right)", "Idle");
    let text = text.replace("ToInterface(left)", "Discard").replace("ToInterface(right)", "Discard");
    format!("{source} -> left :: Null; {text} tick :: TimedSource(1ms) -> Discard;")
}

#[test]
fn stations_outlive_a_change_of_vlans_where_they_are_still_right() {
    let frame =
        |vlan: u8| format!("InfiniteSource(DATA \\<ffffffffffff020000000001810000{vlan:02x}0800>, LIMIT 1)");
    let trunk = |allowed: Value| Some(json!([{ "name": "left", "mode": "trunk", "allowed": allowed }]));
    let source = format!("{} -> u :: Null; {} -> u; u", frame(10), frame(20));
    let before = graph(trunk(json!(["1..4094"])), &source);
    let after = graph(trunk(json!([20])), "Idle");
    let library = testing::Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes));
    let told = library.run_changing(&before, &[&after], 3, &READS);
    expect![[r#"
        bridge.table: 02-00-00-00-00-01 20 0

        bridge.dropped: 0 0 0
        1 0 0

    "#]]
    .assert_eq(&told);
    // A bridge without VLANs has another kind of table.
    let told = library.run_changing(&before, &[&graph(None, "Idle")], 3, &["bridge.table"]);
    expect![[r#"
        bridge.table: 
    "#]]
    .assert_eq(&told);
}
