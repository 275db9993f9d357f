//! When stacks end, and what is left of them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stack::{Ended, Error, Interface, Options, Program, Stack};

use crate::packets::{pair, take, LEFT};
use crate::programs::{run_to_end, shell, wait_for_end};
use crate::{host::Host, Test};

pub const TESTS: &[Test] = &[
    ("lives::a_stack_outlives_its_program", a_stack_outlives_its_program),
    ("lives::all_programs_die_with_the_process_that_made_the_stack", all_programs_die),
    ("lives::death_at_any_moment_leaves_nothing", death_at_any_moment_leaves_nothing),
    ("lives::a_dropped_stack_takes_its_programs_along", a_dropped_stack_takes_its_programs_along),
    ("lives::a_killed_agent_is_told", a_killed_agent_is_told),
    ("lives::mistakes_are_told", mistakes_are_told),
    ("lives::mounts_stay_inside", mounts_stay_inside),
];

/// Makes a stack, says so, and waits to be killed.
pub fn hold(script: &str) {
    let stack = Stack::create(&Options::new(pair(), shell(script))).unwrap();
    stack.start().unwrap();
    println!("{}", stack.pid());
    std::thread::park();
}

/// Starts [`hold`] with a pipe that ends when nobody of its stack is left.
fn start_holding(script: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--program", "hold", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads until the last process that could write has ended.
fn read_to_end(from: &mut impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

fn a_stack_outlives_its_program() {
    let script = "setsid sh -c 'sleep 1000' </dev/null >/dev/null 2>&1 & exit 4";
    let mut stack = Stack::create(&Options::new(pair(), shell(script))).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 4);
    let mut left = take(&mut stack, "left");
    Host::new(1, "10.0.1.9").ping(&mut left, LEFT);
}

fn all_programs_die() {
    // One in the foreground, one orphan in a session of its own that heeds no signal.
    let script =
        "setsid sh -c 'trap \"\" HUP TERM INT; echo daemon >&2; sleep 1000; sleep 1000' & sleep 1000";
    let mut holder = start_holding(script);
    let mut errors = BufReader::new(holder.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    assert_eq!(line, "daemon\n");
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(read_to_end(&mut errors), "");
}

fn death_at_any_moment_leaves_nothing() {
    for step in 0..30 {
        let mut holder = start_holding("sleep 1000");
        let mut errors = holder.stderr.take().unwrap();
        // Spread over what a start takes, however fast this machine is: any moment is as good.
        let until = Instant::now() + Duration::from_micros(200 * step);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        holder.kill().unwrap();
        holder.wait().unwrap();
        assert_eq!(read_to_end(&mut errors), "");
    }
}

fn a_dropped_stack_takes_its_programs_along() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let script = "setsid sleep 1000 & sleep 1000";
    let stack = Stack::create(&Options::new(pair(), shell(script))).unwrap();
    drop(writer);
    assert_eq!(read_to_end(&mut reader), "", "the agent keeps no descriptor of ours");
    stack.start().unwrap();
    let agent = format!("/proc/{}", stack.pid());
    assert!(std::fs::exists(&agent).unwrap());
    drop(stack);
    // Process 1 of a namespace ends after all others in there.
    assert!(!std::fs::exists(&agent).unwrap());
}

fn a_killed_agent_is_told() {
    let mut stack = Stack::create(&Options::new(pair(), shell("sleep 1000"))).unwrap();
    stack.start().unwrap();
    let killed = Command::new("kill").args(["-KILL", &stack.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(wait_for_end(&mut stack), Ended::Killed);
    assert!(matches!(stack.save("left"), Err(Error::Silent)));
}

fn mistakes_are_told() {
    let refusal = |interfaces| match Stack::create(&Options::new(interfaces, Program::Nothing)) {
        Ok(_) => panic!("that is no stack"),
        Err(error) => error.to_string(),
    };
    assert!(refusal(vec![Interface::new("a"), Interface::new("a")]).contains("two interfaces"));
    assert!(refusal(vec![Interface::new("a b")]).contains("white space"));
    assert!(refusal(vec![Interface::new("lo")]).contains("lo"));
    assert!(refusal(vec![Interface::new("a").address("10.0.0.1".parse().unwrap(), 33)]).contains("longer"));
    let mut huge = Interface::new("a");
    huge.mtu = 1 << 20;
    assert!(refusal(vec![huge]).contains("a: RTM_NEWLINK"));
    // A copy of one thread alone could wait for ever for what another holds.
    let thread = std::thread::spawn(std::thread::park);
    assert!(refusal(pair()).contains("several threads"));
    thread.thread().unpark();
    thread.join().unwrap();
}

fn mounts_stay_inside() {
    let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let mut stack = Stack::create(&Options::new(pair(), shell("mount -t tmpfs none /mnt"))).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0);
    assert_eq!(mounts(), before);
}
