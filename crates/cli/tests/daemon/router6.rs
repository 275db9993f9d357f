//! IPv6 through the daemon's router: taps in network namespaces, and their kernels' neighbor discovery.

use super::namespaces::run_with_daemon;

/// Two namespaces, joined by a router of the daemon's.
const SETUP: &str = r#"
weir create router r --address lan.1 --address right --address6 lan.1=2001:db8:a::1/64 --address6 right=2001:db8:b::1/64
weir connect r:lan.1 tap:wl
weir connect r:right tap:wr
ip link set wr netns $other
ip addr add 2001:db8:a::5/64 dev wl nodad
ip -6 route add default via 2001:db8:a::1
in_other ip link set lo up
in_other ip addr add 2001:db8:b::6/64 dev wr nodad
in_other ip link set wr up
in_other ip -6 route add default via 2001:db8:b::1
ask() { ping -6 -c 1 -W 10 -n "$@" | sed -n 's/ time=.*//; s/^From /From /p; s/^[0-9]* bytes/bytes/p'; }
"#;

/// Needs devices, and so root, as which CI runs.
#[test]
fn neighbors_stay_known_when_routes_change() {
    let script = r#"
ask 2001:db8:b::6
neighbors() { weir show r --json | jq -c '.. | .neighbor? // empty | map(select(.address | startswith("2001")) | [.address, .kind, .ethernet])'; }
neighbors | sed 's/,"[0-9A-F:]*"//'
before=$(neighbors)
ask 2001:db9::1
weir set r ipv6-route='2001:db9::/32 via 2001:db8:b::6'
in_other ip -6 addr add 2001:db9::1/128 dev lo nodad
ask 2001:db9::1
[ "$before" = "$(neighbors)" ] || neighbors
weir set r 'ipv6-route=default via fe80::1%middle' || :
"#;
    let Some(text) = run_with_daemon(&format!("{SETUP}\n{script}")) else { return };
    expect_test::expect![[r#"
        bytes from 2001:db8:b::6: icmp_seq=1 ttl=63
        [["2001:db8:a::5","host"]]
        [["2001:db8:b::6","host"]]
        From 2001:db8:a::1 icmp_seq=1 Destination unreachable: No route
        bytes from 2001:db9::1: icmp_seq=1 ttl=63
        weir: `r`: --route6 `default via fe80::1%middle`: no interface `middle` with an IPv6 address; there are lan.1, right
    "#]].assert_eq(&text);
}
