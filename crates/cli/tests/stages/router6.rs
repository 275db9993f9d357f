//! A router of IPv6 between Linux stacks.

use super::process::{as_each_user, Place};

/// A server of one connection to the address $1.
const SERVER: &str = "exec iperf3 -6 -s -1 -B $1 > iperf.server";

/// Runs a client's script in a stack in front of a pipeline; what it printed. It must end with 0.
fn printed(place: &Place, client: &str, stack: &str, chain: &str) -> String {
    place.write("client.sh", format!("exec > client.out 2>&1\n{client}"));
    place.write("server.sh", SERVER);
    let finished = place
        .start_with_taps(&format!(
            "weir linux {stack} --while-running -- sh -e client.sh | {chain}; echo ${{PIPESTATUS[0]}}"
        ))
        .finish();
    let told = String::from_utf8_lossy(&place.read("client.out")).into_owned();
    assert_eq!(finished.stdout, "0\n", "{finished:?}\n{told}");
    assert!(!finished.stderr.contains("weir: "), "{finished:?}\n{told}");
    told
}

/// Pings once, and tells who answered, without what differs from run to run.
const SHELL: &str = r"
ask() { ping -6 -c 1 -W 10 -n $@ | sed -n 's/ time=.*//; s/^From /From /p; s/^[0-9]* bytes/bytes/p'; }
";

#[test]
fn pings_errors_and_connections_pass_a_router() {
    as_each_user(|place| {
        let client = format!(
            "{SHELL}
            ask 2001:db8:a::1
            ask 2001:db8:b::1
            ask 2001:db8:b::6
            # As traceroute does.
            ask -t 1 2001:db8:b::6
            ask -t 2 2001:db8:b::6
            ask 2001:db9::1
            # Too big for the router, and so in fragments from the second time on.
            ask -s 1400 2001:db8:b::6
            until ask -s 1400 -W 1 2001:db8:b::6 | grep -q ^bytes; do :; done; echo fragments pass
            until iperf3 -6 -c 2001:db8:b::6 -n 4M > iperf.client 2>&1; do sleep 0.05; done
            ! curl -sg -m 10 http://[2001:db8:b::1]:9/ || exit 1"
        );
        let told = printed(
            place,
            &client,
            "--right 2001:db8:a::5/64 --gateway 2001:db8:a::1",
            "weir route --mtu 1300 -A left=2001:db8:a::1/64 -A right=2001:db8:b::1/64 \
             | weir linux --left 2001:db8:b::6/64 --gateway 2001:db8:b::1 -- sh server.sh 2001:db8:b::6",
        );
        expect_test::expect![[r#"
            bytes from 2001:db8:a::1: icmp_seq=1 ttl=63
            bytes from 2001:db8:b::1: icmp_seq=1 ttl=63
            bytes from 2001:db8:b::6: icmp_seq=1 ttl=63
            From 2001:db8:a::1 icmp_seq=1 Time exceeded: Hop limit
            bytes from 2001:db8:b::6: icmp_seq=1 ttl=63
            From 2001:db8:a::1 icmp_seq=1 Destination unreachable: No route
            From 2001:db8:a::1 icmp_seq=1 Packet too big: mtu=1300
            fragments pass
        "#]]
        .assert_eq(&told);
    });
}

/// The stage in front of the router puts frames into VLAN 20, as a switch with an access port does.
const ACCESS_PORT: &str = "weir stage -e 'FromInterface(left) -> VLANEncap(VLAN_ID 20) -> ToInterface(right); \
    FromInterface(right) -> tag :: Classifier(12/8100 14/0014%0fff, -) -> VLANDecap(false) -> ToInterface(left); tag[1] -> Discard;'";

#[test]
fn a_vlan_of_a_port_has_its_own_ipv6_network() {
    as_each_user(|place| {
        let client = format!(
            "{SHELL}
            ask 2001:db8:b::6
            until iperf3 -6 -c 2001:db8:b::6 -n 1M > iperf.client 2>&1; do sleep 0.05; done"
        );
        let told = printed(
            place,
            &client,
            "--right 2001:db8:20::5/64 --gateway 2001:db8:20::1",
            &format!(
                "{ACCESS_PORT} | weir route -a 'office vlan 20 of left' -A office=2001:db8:20::1/64 -A left=2001:db8:a::1/64 \
                 -A right=2001:db8:b::1/64 \
                 | weir linux --left 2001:db8:b::6/64 --gateway 2001:db8:b::1 -- sh server.sh 2001:db8:b::6"
            ),
        );
        assert_eq!(told, "bytes from 2001:db8:b::6: icmp_seq=1 ttl=63\n");
    });
}

#[test]
fn a_host_learns_its_address_and_its_router() {
    as_each_user(|place| {
        let client = format!(
            "{SHELL}
            # A host, not a router.
            conf=/proc/sys/net/ipv6/conf/right
            echo 0 > $conf/forwarding; echo 0 > $conf/addr_gen_mode
            ip link set right down; ip link set right up
            until ip -6 address show dev right scope global -tentative | grep -q 2001:db8:a:; do sleep 0.05; done
            until ip -6 route show default | grep -q 'via fe80::'; do sleep 0.05; done
            ask 2001:db8:b::6"
        );
        let told = printed(
            place,
            &client,
            "",
            "weir route -A left=2001:db8:a::1/64 -A right=2001:db8:b::1/64 --router-advertisement left \
             | weir linux --left 2001:db8:b::6/64 --gateway 2001:db8:b::1 -- sh server.sh 2001:db8:b::6",
        );
        assert_eq!(told, "bytes from 2001:db8:b::6: icmp_seq=1 ttl=63\n");
    });
}
