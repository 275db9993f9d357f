use expect_test::expect;

use crate::ip6::discovery;
use crate::testing::check_reading;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// An element that shows what leaves it, and a graph in which it stands.
fn graph(rest: &str) -> String {
    format!(
        "nd :: IP6Neighbors(2:0:0:0:0:1, fe80::1/64 2001:db8::1/64) -> Print(frame, -1) -> Discard;
        nd[1] -> Print(lost, -1) -> Discard; Idle -> [0] nd; Idle -> [1] nd; {rest}"
    )
}

/// A source of one frame at a time in seconds.
fn frame(packet: element::Packet, at: f64) -> String {
    let hex: String = packet.data().iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "InfiniteSource(DATA \\<{hex}>, LIMIT 1) -> SetTimestamp -> Queue -> DelayShaper({at}) -> Unqueue -> [1] nd;"
    )
}

fn address(text: &str) -> std::net::Ipv6Addr {
    text.parse().unwrap()
}

#[test]
fn packets_wait_for_the_answer_and_are_lost_without_one() {
    let answer = discovery::answer([OTHER, OWN], address("fe80::1"), address("2001:db8::9"), true);
    check_reading(
        &graph(&format!(
            "InfiniteSource(DATA abc, LIMIT 2) -> SetIP6Address(2001:db8::9) -> nd; InfiniteSource(DATA x, LIMIT 1) -> SetIP6Address(2001:db8::a) -> nd;
            InfiniteSource(DATA z, LIMIT 1) -> SetIP6Address(ff02::5) -> nd; {} Script(wait 5s, stop)",
            frame(answer, 0.5)
        )),
        &["nd.table", "nd.queries", "nd.count", "nd.length"],
        expect![[r#"
            frame:   86 | 3333ff00 00090200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 00098700 4b510000 00002001 0db80000 00000000 00000000 00090101 02000000 0001
            frame:   86 | 3333ff00 000a0200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 000a8700 4b4f0000 00002001 0db80000 00000000 00000000 000a0101 02000000 0001
            frame:   15 | 33330000 00050200 00000001 86dd7a
            frame:   17 | 02000000 00020200 00000001 86dd6162 63
            frame:   17 | 02000000 00020200 00000001 86dd6162 63
            frame:   86 | 3333ff00 000a0200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 000a8700 4b4f0000 00002001 0db80000 00000000 00000000 000a0101 02000000 0001
            frame:   86 | 3333ff00 000a0200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 000a8700 4b4f0000 00002001 0db80000 00000000 00000000 000a0101 02000000 0001
            lost:    1 | 78
            nd.table: 2001:db8::9 reachable 02:00:00:00:00:02 router 4 0

            nd.queries: 4
            nd.count: 1
            nd.length: 0
        "#]],
    );
}

#[test]
fn who_asks_is_answered_and_known() {
    let ask = |source: &str, target: &str| discovery::question(OTHER, address(source), address(target));
    let frames = [
        ask("2001:db8::5", "2001:db8::1"),
        ask("fe80::5", "fe80::1"),
        // The address that any router has.
        ask("fe80::5", "2001:db8::"),
        // Another's address, and an asker who is no neighbor.
        ask("fe80::5", "2001:db8::7"),
        ask("2001:db9::5", "2001:db8::1"),
    ];
    let sources: String =
        frames.into_iter().zip([0.1, 0.2, 0.3, 0.4, 0.5]).map(|(packet, at)| frame(packet, at)).collect();
    check_reading(
        &graph(&format!("{sources} Script(wait 1s, stop)")),
        &["nd.table", "nd.answers", "nd.queries"],
        expect![[r#"
            frame:   86 | 02000000 00020200 00000001 86dd6000 00000020 3aff2001 0db80000 00000000 00000000 00012001 0db80000 00000000 00000000 00058800 0a70e000 00002001 0db80000 00000000 00000000 00010201 02000000 0001
            frame:   86 | 02000000 00020200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001fe80 00000000 00000000 00000000 00058800 9818e000 0000fe80 00000000 00000000 00000000 00010201 02000000 0001
            frame:   86 | 02000000 00020200 00000001 86dd6000 00000020 3aff2001 0db80000 00000000 00000000 0000fe80 00000000 00000000 00000000 00058800 59aac000 00002001 0db80000 00000000 00000000 00000201 02000000 0001
            nd.table: 2001:db8::5 stale 02:00:00:00:00:02 host 0 0
            fe80::5 stale 02:00:00:00:00:02 host 0 0

            nd.answers: 3
            nd.queries: 0
        "#]],
    );
}

#[test]
fn who_is_about_to_take_an_address_is_told_with_all_others() {
    let mut body = [0; 24];
    body[0] = 135;
    body[8..].copy_from_slice(&address("fe80::1").octets());
    let addresses = [address("::"), address("ff02::1:ff00:1")];
    let packet = discovery::frame([OTHER, [0x33, 0x33, 0xff, 0, 0, 1]], addresses, [&body, &[]]);
    check_reading(
        &graph(&format!("{} Script(wait 1s, stop)", frame(packet, 0.1))),
        &["nd.table", "nd.answers"],
        expect![[r#"
            frame:   86 | 33330000 00010200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018800 d79aa000 0000fe80 00000000 00000000 00000000 00010201 02000000 0001
            nd.table: 
            nd.answers: 1
        "#]],
    );
}

#[test]
fn stations_with_an_own_address_are_told_of_once() {
    let packet = || discovery::answer([OTHER, OWN], address("2001:db8::5"), address("2001:db8::1"), true);
    let own = discovery::question(OWN, address("fe80::1"), address("2001:db8::5"));
    check_reading(
        &graph(&format!(
            "{}{}{} Script(wait 1s, stop)",
            frame(packet(), 0.1),
            frame(packet(), 0.2),
            frame(own, 0.3)
        )),
        &["nd.table", "nd.duplicates"],
        expect![[r#"
            nd: station 02:00:00:00:00:02 has an address of this interface
            nd.table: 
            nd.duplicates: 2
        "#]],
    );
}

#[test]
fn neighbors_are_noted_and_forgotten_by_hand() {
    check_reading(
        &graph(
            "InfiniteSource(DATA abc, LIMIT 1) -> SetIP6Address(2001:db8::9) -> nd;
            Script(wait 0.1s, write nd.insert 2001:db8::9 2:0:0:0:0:9, write nd.insert fe80::9 2:0:0:0:0:9, write nd.insert x y,
                wait 0.1s, read nd.table, write nd.delete fe80::9, read nd.table, write nd.clear, stop)",
        ),
        &["nd.table", "nd.length"],
        expect![[r#"
            frame:   86 | 3333ff00 00090200 00000001 86dd6000 00000020 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 00098700 4b510000 00002001 0db80000 00000000 00000000 00090101 02000000 0001
            frame:   17 | 02000000 00090200 00000001 86dd6162 63
            While executing 'Script@10 :: Script':
              While calling 'nd.insert x y':
                IP: parse error
                ETH: parse error
            nd.table:
            2001:db8::9 reachable 02:00:00:00:00:09 host 0 0
            fe80::9 reachable 02:00:00:00:00:09 host 0 0

            nd.table:
            2001:db8::9 reachable 02:00:00:00:00:09 host 0 0

            nd.table: 
            nd.length: 0
        "#]],
    );
}

#[test]
fn what_is_spoken_to_is_asked_again() {
    check_reading(
        &graph(
            "s :: RatedSource(DATA abc, RATE 1, LIMIT 50) -> SetIP6Address(2001:db8::9) -> nd;
            Script(write nd.insert 2001:db8::9 2:0:0:0:0:9, wait 34.5s, read nd.table, wait 2s, read nd.table, wait 3s, read nd.table,
                stop)",
        )
        .replace("-> Print(frame, -1)", "-> c :: Classifier(12/86dd 20/3a, -) -> Print(probe, 14) -> Discard; c[1]"),
        &["nd.queries"],
        expect![[r#"
            probe:   86 | 3333ff00 00090200 00000001 86dd
            nd.table:
            2001:db8::9 delay 02:00:00:00:00:09 host 34 0

            probe:   86 | 02000000 00090200 00000001 86dd
            probe:   86 | 02000000 00090200 00000001 86dd
            nd.table:
            2001:db8::9 probe 02:00:00:00:00:09 host 36 0

            probe:   86 | 02000000 00090200 00000001 86dd
            probe:   86 | 3333ff00 00090200 00000001 86dd
            probe:   86 | 3333ff00 00090200 00000001 86dd
            nd.table:
            2001:db8::9 incomplete - host 1 2

            nd.queries: 6
        "#]],
    );
}

#[test]
fn a_group_is_no_address_of_an_interface() {
    check_reading(
        "Idle -> nd :: IP6Neighbors(2:0:0:0:0:1, ff02::1) -> Discard; Idle -> [1] nd;
         Idle -> mute :: IP6Neighbors(2:0:0:0:0:1, \"\") -> Discard; Idle -> [1] mute;",
        &[],
        expect![[r#"
            config:1: While configuring 'nd :: IP6Neighbors':
              ADDRESSES: ff02::1 is not the address of a single host
            config:2: While configuring 'mute :: IP6Neighbors':
              ADDRESSES: parse error
            Router could not be initialized!
        "#]],
    );
}
