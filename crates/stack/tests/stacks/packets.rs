//! Packets into stacks, through them and out of them.

use std::net::Ipv4Addr;

use stack::{Interface, Options, Port, Program, Route, Stack};

use crate::host::{Host, ECHO};
use crate::programs::{run_to_end, shell};
use crate::wire::Wire;
use crate::Test;

pub const TESTS: &[Test] = &[
    ("packets::the_first_ping_is_answered", the_first_ping_is_answered),
    ("packets::interfaces_are_as_asked_for", interfaces_are_as_asked_for),
    ("packets::the_stack_keeps_quiet_by_itself", the_stack_keeps_quiet_by_itself),
    ("packets::an_iptables_script_translates_addresses", an_iptables_script_translates_addresses),
    ("packets::statistics_count_both_ways", statistics_count_both_ways),
    ("packets::many_interfaces", many_interfaces),
];

pub const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 1);
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 1);

/// Interfaces `left` and `right`, with an address each.
pub fn pair() -> Vec<Interface> {
    vec![Interface::new("left").address(LEFT.into(), 24), Interface::new("right").address(RIGHT.into(), 24)]
}

pub fn take(stack: &mut Stack, name: &str) -> Wire {
    Wire::new(stack.take_port(name).expect("the interface has a port"))
}

fn the_first_ping_is_answered() {
    let mut stack = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let (mut left, mut right) = (take(&mut stack, "left"), take(&mut stack, "right"));
    assert!(stack.take_port("left").is_none());
    assert_eq!(stack.note().is_some(), matches!(left.port, Port::Cable(_)));
    Host::new(1, "10.0.1.9").ping(&mut left, LEFT);
    Host::new(2, "10.0.2.9").ping(&mut right, RIGHT);
}

fn interfaces_are_as_asked_for() {
    let mut left = Interface::new("left").address(LEFT.into(), 24).address("fd00::1".parse().unwrap(), 64);
    left.mtu = 9000;
    left.mac = Some([2, 1, 2, 3, 4, 5]);
    left.routes = vec![
        Route {
            destination: Ipv4Addr::UNSPECIFIED.into(),
            prefix_len: 0,
            gateway: "10.0.1.254".parse().unwrap(),
        },
        Route { destination: "fd01::".parse().unwrap(), prefix_len: 48, gateway: "fd00::2".parse().unwrap() },
    ];
    let script = "set -e; cd /sys/class/net/left; \
        test $(cat mtu) = 9000; test $(cat address) = 02:01:02:03:04:05; test $(cat ifindex) = 2; \
        ip route show default | grep -q 'via 10.0.1.254 dev left'; \
        ip -6 route show fd01::/48 | grep -q 'via fd00::2 dev left'; \
        test -z \"$(ip -6 addr show tentative)\"; ip -6 addr show left | grep -q 'inet6 fd00::1/64'; \
        test $(cat /proc/sys/net/ipv4/ip_forward) = 1; test $(cat /proc/sys/net/ipv6/conf/left/forwarding) = 1; \
        ping -c 1 -W 5 127.0.0.1 >/dev/null; test \"$WEIR_INTERFACES\" = left";
    let mut stack = Stack::create(&Options::new(vec![left], shell(script))).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0);
}

/// Only the report of groups that a router owes (RFC 3810) may come.
fn the_stack_keeps_quiet_by_itself() {
    let mut stack = Stack::create(&Options::new(pair(), shell("ip addr"))).unwrap();
    let mut left = take(&mut stack, "left");
    assert_eq!(run_to_end(&mut stack).code(), 0);
    while let Some((_, frame)) = left.receive() {
        let is_report = frame[12..14] == [0x86, 0xdd] && frame[..2] == [0x33, 0x33] && frame[62] == 143;
        assert!(is_report, "{frame:02x?}");
    }
}

/// The rules of the NAT that a shell script sets up, by a command each.
const NAT: &str = "set -e; i=iptables-legacy; $i -t nat -A POSTROUTING -o right -j MASQUERADE; \
    $i -A FORWARD -i left -o right -j ACCEPT; \
    $i -A FORWARD -i right -o left -m state --state ESTABLISHED,RELATED -j ACCEPT; \
    $i -A FORWARD -j DROP; $i -A INPUT -i right -p tcp --dport 22 -j DROP";

fn an_iptables_script_translates_addresses() {
    let mut stack = Stack::create(&Options::new(pair(), shell(NAT))).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0, "`scripts/setup` installs iptables");
    let (mut left, mut right) = (take(&mut stack, "left"), take(&mut stack, "right"));
    let (inner, outer) = (Host::new(1, "10.0.1.9"), Host::new(2, "10.0.2.9"));
    let mac = inner.resolve(&mut left, LEFT);
    inner.send(&mut left, mac, outer.ip, ECHO, b"\0\x09\0\x01through");
    let seen = outer.wait(&mut right);
    assert_eq!((seen.from, seen.to, seen.ttl, seen.kind), (RIGHT, outer.ip, 63, ECHO));
    let mac = outer.resolve(&mut right, RIGHT);
    outer.send(&mut right, mac, RIGHT, 0, &seen.payload);
    let back = inner.wait(&mut left);
    assert_eq!((back.from, back.to, back.ttl, &back.payload[4..]), (outer.ip, inner.ip, 63, &b"through"[..]));
}

fn statistics_count_both_ways() {
    let mut stack = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let mut left = take(&mut stack, "left");
    let before = stack.statistics("left").unwrap();
    Host::new(1, "10.0.1.9").ping(&mut left, LEFT);
    let after = stack.statistics("left").unwrap();
    // The question for the address and the echo, and their answers.
    assert_eq!(after.packets_received - before.packets_received, 2);
    assert!(after.packets_sent - before.packets_sent >= 2, "{before:?} {after:?}");
    assert!(after.bytes_received - before.bytes_received >= 84);
    assert_eq!((after.drops_received, after.errors_sent), (before.drops_received, 0));
    assert!(stack.statistics("middle").is_err());
}

fn many_interfaces() {
    let name = |idx: u8| format!("if{idx}");
    let interface = |idx| Interface::new(name(idx)).address(Ipv4Addr::new(10, 1, idx, 1).into(), 24);
    let mut stack = Stack::create(&Options::new((0..40).map(interface).collect(), Program::Nothing)).unwrap();
    for idx in [0, 17, 39] {
        let mut wire = take(&mut stack, &name(idx));
        Host::new(1, &format!("10.1.{idx}.9")).ping(&mut wire, Ipv4Addr::new(10, 1, idx, 1));
    }
}
