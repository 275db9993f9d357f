//! Several stacks in a row, each in a process of its own.

use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};

use stack::{Interface, Options, Peer, Program, Stack};
use sys::unix;

use crate::joints::{far_stack, inside};
use crate::packets::{pair, take};
use crate::programs::{run_to_end, shell};
use crate::users::folder;
use crate::wire::carry;
use crate::Test;

pub const TESTS: &[Test] = &[
    ("chains::a_stack_of_another_process_is_joined", a_stack_of_another_process_is_joined),
    ("chains::three_stacks_talk_by_cable_and_by_port", three_stacks_talk_by_cable_and_by_port),
];

/// Makes the stack at the right end of a chain and offers it at `path`.
pub fn offer(path: &str) {
    let stack = far_stack(Program::Nothing);
    let socket = UnixStream::connect(path).unwrap();
    unix::send_fds(&socket, b"here", &[stack.handle()]).unwrap();
    std::thread::park();
}

/// Kills a process that a test started, however the test ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_stack_of_another_process_is_joined() {
    let path = folder().join(format!("offer-{}", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let other = Command::new(std::env::current_exe().unwrap())
        .args(["--program", "offer", path.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let other = Killed(other);
    let (socket, _) = listener.accept().unwrap();
    let (_, mut fds) = unix::recv_fds(&socket, &mut [0; 16]).unwrap();
    let mut peer = Peer::from_fd(fds.remove(0)).unwrap();
    let mut near = Stack::create(&Options::new(pair(), shell("ping -c 3 -i 0.01 -W 5 10.0.2.2"))).unwrap();
    near.join_veth("right", &mut peer, "left").unwrap();
    assert_eq!(run_to_end(&mut near).code(), 0);
    drop(other);
    std::fs::remove_file(path).unwrap();
}

/// client | router | server: the first pair by cable, the second by ports.
fn three_stacks_talk_by_cable_and_by_port() {
    let client = Interface::new("right").address("10.0.1.2".parse().unwrap(), 24);
    let mut client = Stack::create(&Options::new(vec![client], Program::Nothing)).unwrap();
    let mut router = Stack::create(&Options::new(pair(), Program::Nothing)).unwrap();
    let mut server = far_stack(shell("ip route add default via 10.0.2.1; ping -c 3 -i 0.01 -W 5 10.0.1.2"));
    inside(&client, "ip route add default via 10.0.1.1");
    let mut peer = crate::joints::peer_of(&router);
    client.join_veth("right", &mut peer, "left").unwrap();
    let mut wires = (take(&mut router, "right"), take(&mut server, "left"));
    server.start().unwrap();
    let ended = loop {
        carry(&mut wires.0, &mut wires.1);
        if let Some(ended) = server.ended().unwrap() {
            break ended;
        }
    };
    assert_eq!(ended.code(), 0);
    assert!(client.statistics("right").unwrap().packets_received >= 3);
}
