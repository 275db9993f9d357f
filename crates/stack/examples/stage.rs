//! Times the start of stacks: `stage [--count N] [--keep SECONDS] [COMMAND...]` prints microseconds and memory.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use stack::{Ended, Interface, Options, Program, Stack};
use sys::poll::{Interest, Poller};

fn main() {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let mut number = |name: &str, default: u64| match arguments.next_if(|argument| argument == name) {
        Some(_) => arguments.next().and_then(|n| n.to_str()?.parse().ok()).expect("a number follows"),
        None => default,
    };
    let (count, keep_s) = (number("--count", 1), number("--keep", 0));
    let command: Vec<OsString> = arguments.collect();
    let program = if command.is_empty() { Program::Nothing } else { Program::Command(command) };
    let mut stacks = Vec::new();
    let before = available_kib();
    for idx in 0..count {
        let start = Instant::now();
        let (stack, ready, ended) = run(&program);
        let total = start.elapsed();
        println!("{idx}: ready {} us, total {} us, {ended:?}", ready.as_micros(), total.as_micros());
        stacks.push(stack);
    }
    println!("{} KiB each", (before - available_kib()) / count as i64);
    std::thread::sleep(Duration::from_secs(keep_s));
}

fn run(program: &Program) -> (Stack, Duration, Option<Ended>) {
    let start = Instant::now();
    let interface =
        |name: &str, address: &str| Interface::new(name).address(address.parse().expect("valid"), 24);
    let interfaces = vec![interface("left", "10.0.1.1"), interface("right", "10.0.2.1")];
    let mut stack =
        Stack::create(&Options::new(interfaces, program.clone())).unwrap_or_else(|e| panic!("{e}"));
    let ready = start.elapsed();
    stack.start().expect("the agent is there");
    let mut poller = Poller::new().expect("epoll works");
    poller.add(stack.status_fd(), 0, Interest::READ).expect("epoll works");
    if *program == Program::Nothing {
        return (stack, ready, None);
    }
    loop {
        poller.wait(None).expect("epoll works");
        if let Some(ended) = stack.ended().expect("the agent is there") {
            return (stack, ready, Some(ended));
        }
    }
}

fn available_kib() -> i64 {
    let text = std::fs::read_to_string("/proc/meminfo").expect("/proc is mounted");
    let line = text.lines().find(|line| line.starts_with("MemAvailable:")).expect("the kernel tells it");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
}
