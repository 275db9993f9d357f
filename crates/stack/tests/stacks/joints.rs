//! Cables between stacks, laid and taken away while connections last.

use std::fs::File;
use std::io::{Read, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Command;
use std::time::{Duration, Instant};

use stack::{Error, Interface, Options, Peer, Program, Stack};
use sys::poll::{Interest, Poller};
use sys::{namespace, unix};

use crate::host::Host;
use crate::packets::{pair, take, LEFT, RIGHT};
use crate::programs::{command, run_to_end, shell, wait_for_end};
use crate::users::folder;
use crate::wire::{carry, Wire, PATIENCE};
use crate::Test;

pub const TESTS: &[Test] = &[
    ("joints::a_connection_lasts_through_joining_and_parting", a_connection_lasts),
    ("joints::what_was_set_for_the_devices_stays", what_was_set_stays),
    ("joints::what_is_set_meanwhile_stays", what_is_set_meanwhile_stays),
    ("joints::a_route_that_cannot_be_put_back_is_told", a_route_that_cannot_be_put_back_is_told),
    ("joints::a_device_whose_peer_died_comes_back", a_device_whose_peer_died_comes_back),
    ("joints::a_stack_of_somebody_stronger_is_refused", a_stack_of_somebody_stronger_is_refused),
    ("joints::what_cannot_be_joined_is_left_alone", what_cannot_be_joined_is_left_alone),
];

const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);

/// A stack with one interface `left`, neighbour of [`pair`]'s right.
pub fn far_stack(program: Program) -> Stack {
    let left = Interface::new("left").address(FAR.into(), 24).address("fd00:2::2".parse().unwrap(), 64);
    Stack::create(&Options::new(vec![left], program)).unwrap()
}

pub fn peer_of(stack: &Stack) -> Peer {
    Peer::from_fd(stack.handle().try_clone_to_owned().unwrap()).unwrap()
}

/// Runs a shell script with the eyes of a stack; what it prints.
pub fn inside(stack: &Stack, script: &str) -> String {
    let mut command = Command::new("nsenter");
    command.args(["--target", &stack.pid().to_string(), "--net", "--mount"]);
    if !namespace::is_privileged().unwrap() {
        command.args(["--user", "--preserve-credentials"]);
    }
    let output = command.args(["sh", "-c", script]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

fn a_connection_lasts() {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let path = folder().join(format!("reports-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let client = command(&[own, "--program", "echo-client", "10.0.2.2:7", path.to_str().unwrap()]);
    let mut near = Stack::create(&Options::new(pair(), client)).unwrap();
    let mut far = far_stack(command(&[own, "--program", "echo-server"]));
    let mut wires = (take(&mut near, "right"), take(&mut far, "left"));
    far.start().unwrap();
    near.start().unwrap();
    carry_until(&mut wires, || listener.set_nonblocking(true).is_ok() && is_ready(&listener));
    let mut reports = listener.accept().unwrap().0;
    expect_more(&mut reports, Some(&mut wires));
    let mut peer = peer_of(&far);
    for _ in 0..2 {
        near.join_veth("right", &mut peer, "left").unwrap();
        drop(wires);
        expect_more(&mut reports, None);
        let (right, left) = near.unjoin("right", &mut peer, "left").unwrap();
        wires = (Wire::new(right), Wire::new(left));
        expect_more(&mut reports, Some(&mut wires));
    }
    assert_eq!((near.ended().unwrap(), far.ended().unwrap()), (None, None));
    std::fs::remove_file(path).unwrap();
}

fn is_ready(fd: &impl std::os::fd::AsFd) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(fd.as_fd(), 0, Interest::READ).unwrap();
    !poller.wait(Some(Duration::from_millis(1))).unwrap().is_empty()
}

fn carry_until(wires: &mut (Wire, Wire), mut is_enough: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_enough() {
        assert!(Instant::now() < deadline, "nothing comes through");
        carry(&mut wires.0, &mut wires.1);
    }
}

/// Waits for many more bytes to have gone there and back than can be on their way.
fn expect_more(reports: &mut UnixStream, mut wires: Option<&mut (Wire, Wire)>) {
    // What was reported before counts for nothing.
    reports.set_nonblocking(true).unwrap();
    while matches!(reports.read(&mut [0; 4096]), Ok(1..)) {}
    let (mut n_more, deadline) = (0, Instant::now() + PATIENCE);
    while n_more < 300 {
        assert!(Instant::now() < deadline, "nothing comes through");
        if let Some(wires) = wires.as_deref_mut() {
            carry(&mut wires.0, &mut wires.1);
        }
        match reports.read(&mut [0; 4096]) {
            Ok(0) => panic!("the connection broke"),
            Ok(n) => n_more += n,
            Err(_) => {
                is_ready(reports);
            }
        }
    }
}

/// Everything that a script may set for a device, and what there is to see of it.
const SET: &str = "set -e; ip link add bridge type bridge; ip link set bridge up; \
    ip link set right mtu 1400 txqueuelen 77 alias uplink; ip link set right address 02:00:00:00:00:77; \
    ip addr add 10.0.2.7/24 dev right; ip addr add 10.9.9.1 peer 10.9.9.2/32 dev right label right:p2p; \
    ip -6 addr add fd00:2::1/64 dev right nodad; \
    ip route add 172.16.0.0/16 via 10.0.2.200 metric 5; ip route add 172.17.0.0/16 dev right table 100; \
    ip route add 172.18.0.0/16 nexthop via 10.0.2.200 weight 2 nexthop via 10.0.1.200; \
    ip route add 172.19.0.0/16 via 10.0.1.200 src 10.0.2.7; ip -6 route add fd0a::/48 via fd00:2::2; \
    ip route add default via 10.0.2.200; ip route add 172.20.0.0/16 via 192.0.2.9 dev right onlink; \
    ip neigh add 10.0.2.200 lladdr 02:00:00:00:00:c8 dev right nud permanent; \
    ip neigh add proxy 10.0.2.201 dev right; ip rule add iif right table 100; \
    cd /proc/sys/net; echo 2 > ipv4/conf/right/rp_filter; echo 1 > ipv4/conf/right/proxy_arp; \
    echo 0 > ipv6/conf/right/accept_redirects; echo 1234 > ipv4/neigh/right/base_reachable_time_ms";
const SHOW: &str =
    "cd /sys/class/net/right; cat ifindex address mtu tx_queue_len ifalias; cd /proc/sys/net; \
    for s in ipv?/conf/right/* ipv?/neigh/right/*; do echo $s $(cat $s 2>/dev/null || true); done; \
    ip -o addr show dev right | sed 's/^[0-9]*: //'; ip route show table all; ip -6 route show table all; \
    ip neigh show nud permanent; ip neigh show proxy; ip rule";

fn what_was_set_stays() {
    let mut near = Stack::create(&Options::new(pair(), shell(SET))).unwrap();
    let mut far = far_stack(Program::Nothing);
    assert_eq!(run_to_end(&mut near).code(), 0);
    let show = || seen(&inside(&near, SHOW));
    let before = show();
    let far_before = seen(&inside(&far, &SHOW.replace("right", "left")));
    for word in ["172.19.0.0/16", "172.20.0.0/16", "fd0a::/48", "right:p2p", "rp_filter 2", "uplink"] {
        assert!(before.iter().any(|line| line.contains(word)), "{word}: {before:#?}");
    }
    let mut peer = peer_of(&far);
    near.join_veth("right", &mut peer, "left").unwrap();
    let joined = seen(&inside(&near, SHOW));
    compare(&before, &joined);
    compare(&far_before, &seen(&inside(&far, &SHOW.replace("right", "left"))));
    inside(&near, "ip -d link show right | grep -q veth; ping -c 1 -W 5 10.0.2.2; ping -c 1 -W 5 fd00:2::2");
    let (right, left) = near.unjoin("right", &mut peer, "left").unwrap();
    compare(&before, &seen(&inside(&near, SHOW)));
    compare(&far_before, &seen(&inside(&far, &SHOW.replace("right", "left"))));
    let mut wires = (Wire::new(right), Wire::new(left));
    Host::new(1, "10.0.2.9").ping(&mut wires.0, RIGHT);
    Host::new(2, "10.0.2.8").ping(&mut wires.1, FAR);
    drop(far.take_port("left"));
}

/// Gives the device `right` one address after the other, and writes to a file which it got.
pub fn set_addresses(path: &str) {
    let mut file = File::create(path).unwrap();
    for n in 0..N_ADDRESSES {
        let [high, low] = n.to_be_bytes();
        // For a moment there is no such device.
        while sys::link::add_address("right", Ipv4Addr::new(172, 30, high, low).into(), 32).is_err() {}
        file.write_all(&[high, low]).unwrap();
        // The kernel keeps some hundred pieces of news for who reads a device meanwhile.
        std::thread::sleep(Duration::from_micros(300));
    }
    std::thread::sleep(PATIENCE);
}

/// More than there is time for.
const N_ADDRESSES: u16 = 10_000;

fn what_is_set_meanwhile_stays() {
    let own = std::env::current_exe().unwrap();
    let path = folder().join(format!("addresses-{}", std::process::id()));
    let program = command(&[own.to_str().unwrap(), "--program", "set-addresses", path.to_str().unwrap()]);
    let mut near = Stack::create(&Options::new(pair(), program)).unwrap();
    let far = far_stack(Program::Nothing);
    near.start().unwrap();
    let n_set = || std::fs::read(&path).map_or(0, |set| set.len());
    let mut peer = peer_of(&far);
    let mut ports = None;
    for _ in 0..3 {
        let (n_before, begin) = (n_set(), Instant::now());
        while n_set() == n_before {
            assert!(begin.elapsed() < PATIENCE, "no address is set");
        }
        near.join_veth("right", &mut peer, "left").unwrap();
        // The devices are there as long as these are.
        ports = Some(near.unjoin("right", &mut peer, "left").unwrap());
    }
    near.signal(libc::SIGKILL).unwrap();
    wait_for_end(&mut near);
    let set = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let there = inside(&near, "ip -o address show dev right");
    let is_there = |two: &&[u8]| there.contains(&format!("172.30.{}.{}/32", two[0], two[1]));
    let n_there = set.chunks(2).filter(is_there).count();
    drop(ports);
    assert_eq!(n_there, set.len() / 2);
}

/// A route that goes with an address of this device, though it leads to another device, whose gateway is out of reach by then.
fn a_route_that_cannot_be_put_back_is_told() {
    let mut near = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let far = far_stack(Program::Nothing);
    let mut peer = peer_of(&far);
    near.join_veth("right", &mut peer, "left").unwrap();
    assert_eq!(near.take_left_out(), Vec::<String>::new());
    let set = format!(
        "set -e; ip route add 172.19.0.0/16 via 10.0.1.200 src {RIGHT}; ip addr add 10.0.9.1/24 dev left; \
         ip addr del {LEFT}/24 dev left; ip route | grep 172.19.0.0"
    );
    inside(&near, &set);
    let (right, _left) = near.unjoin("right", &mut peer, "left").unwrap();
    let told = "the route to 172.19.0.0/16 is lost: right: RTM_NEWROUTE: Network is unreachable";
    assert_eq!(near.take_left_out(), [told]);
    assert_eq!((near.take_left_out(), peer.take_left_out()), (Vec::new(), Vec::new()));
    Host::new(1, "10.0.2.9").ping(&mut Wire::new(right), RIGHT);
}

/// From within another user namespace nobody reaches out.
fn a_stack_of_somebody_stronger_is_refused() {
    let path = folder().join(format!("stronger-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let far = far_stack(Program::Nothing);
    let mut weak = Command::new("unshare")
        .args(["--user", "--map-root-user", std::env::current_exe().unwrap().to_str().unwrap()])
        .args(["--program", "join", path.to_str().unwrap()])
        .spawn()
        .unwrap();
    let (socket, _) = listener.accept().unwrap();
    unix::send_fds(&socket, b"here", &[far.handle()]).unwrap();
    assert!(weak.wait().unwrap().success());
    inside(&far, "ip addr show left | grep -q 10.0.2.2");
    std::fs::remove_file(path).unwrap();
}

/// Tries to join the stack that is offered at `path`, which must be refused and change nothing.
pub fn join_in_vain(path: &str) {
    let mut near = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let socket = UnixStream::connect(path).unwrap();
    let (_, mut fds) = unix::recv_fds(&socket, &mut [0; 16]).unwrap();
    let mut peer = Peer::from_fd(fds.remove(0)).unwrap();
    let error = near.join_veth("right", &mut peer, "left").unwrap_err();
    assert!(matches!(error, Error::NotAllowed { .. }), "{error}");
    let mut right = take(&mut near, "right");
    Host::new(1, "10.0.2.9").ping(&mut right, RIGHT);
}

/// The lines, without order, and without what only says whether somebody is at the other end just now.
fn seen(text: &str) -> Vec<String> {
    let state = [" linkdown", " dead", "@if2", "@if3", " onlink-state"];
    let mut lines: Vec<String> = text
        .lines()
        .map(|line| state.iter().fold(line.trim_end().to_string(), |line, word| line.replace(word, "")))
        .collect();
    lines.sort();
    lines
}

fn compare(before: &[String], after: &[String]) {
    let missing: Vec<_> = before.iter().filter(|line| !after.contains(line)).collect();
    let added: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
    assert!(missing.is_empty() && added.is_empty(), "missing {missing:#?}, added {added:#?}");
}

fn a_device_whose_peer_died_comes_back() {
    let mut near = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let far = far_stack(Program::Nothing);
    let mut peer = peer_of(&far);
    let saved = near.save("right").unwrap();
    near.join_veth("right", &mut peer, "left").unwrap();
    drop((peer, far));
    let deadline = Instant::now() + PATIENCE;
    while near.statistics("right").is_ok() {
        assert!(Instant::now() < deadline, "the cable outlives its other end");
    }
    let mut right = Wire::new(near.restore(&saved).unwrap());
    Host::new(1, "10.0.2.9").ping(&mut right, RIGHT);
}

fn what_cannot_be_joined_is_left_alone() {
    let mut near = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let far = far_stack(Program::Nothing);
    let mut peer = peer_of(&far);
    assert!(near.join_veth("middle", &mut peer, "left").is_err());
    assert!(near.join_veth("right", &mut peer, "middle").is_err());
    // A handle of nobody, and one of somebody who answers nonsense.
    let (here, there) = unix::message_pair(None).unwrap();
    drop(there);
    assert!(matches!(Peer::from_fd(here), Err(Error::Silent)));
    assert!(Peer::from_fd(std::fs::File::open("/dev/null").unwrap().into()).is_err());
    let mut left = take(&mut near, "left");
    Host::new(1, "10.0.1.9").ping(&mut left, LEFT);
    let mut right = take(&mut near, "right");
    Host::new(1, "10.0.2.9").ping(&mut right, RIGHT);
}
