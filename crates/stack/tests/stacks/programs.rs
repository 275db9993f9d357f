//! Programs in stacks, and those that these tests run in them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use stack::{Ended, Options, Program, Stack};
use sys::poll::{Interest, Poller};

use crate::packets::pair;
use crate::users::folder;
use crate::wire::PATIENCE;
use crate::Test;
use crate::{chains, joints, lives};

pub const TESTS: &[Test] = &[
    ("programs::their_end_is_told", their_end_is_told),
    ("programs::what_cannot_be_started_is_told", what_cannot_be_started_is_told),
    ("programs::a_signal_reaches_all_processes", a_signal_reaches_all_processes),
    ("programs::they_see_only_their_own_processes_and_devices", they_see_only_their_own),
    ("programs::what_they_print_goes_to_the_errors", what_they_print_goes_to_the_errors),
    ("programs::resolv_conf_can_be_ones_own", resolv_conf_can_be_ones_own),
    ("programs::a_shell_gets_the_terminal_and_gives_it_back", a_shell_gets_the_terminal),
];

pub fn shell(script: &str) -> Program {
    command(&["sh", "-c", script])
}

pub fn command(words: &[&str]) -> Program {
    Program::Command(words.iter().map(Into::into).collect())
}

pub fn run_to_end(stack: &mut Stack) -> Ended {
    stack.start().unwrap();
    wait_for_end(stack)
}

pub fn wait_for_end(stack: &mut Stack) -> Ended {
    let mut poller = Poller::new().unwrap();
    poller.add(stack.status_fd(), 0, Interest::READ).unwrap();
    loop {
        assert!(!poller.wait(Some(PATIENCE)).unwrap().is_empty(), "the program does not end");
        if let Some(ended) = stack.ended().unwrap() {
            return ended;
        }
    }
}

/// The programs of this file, to run in a process of their own.
pub fn run(name: &str, arguments: &[&str]) {
    match (name, arguments) {
        ("echo-server", []) => echo_server(),
        ("echo-client", [address, reports]) => echo_client(address, reports),
        ("set-addresses", [reports]) => joints::set_addresses(reports),
        ("shell", []) => shell_on_terminal(),
        ("hold", [script]) => lives::hold(script),
        ("join", [path]) => joints::join_in_vain(path),
        ("offer", [path]) => chains::offer(path),
        ("print", []) => {
            let mut stack = Stack::create(&Options::new(pair(), shell("echo out; echo err >&2"))).unwrap();
            assert_eq!(run_to_end(&mut stack).code(), 0);
        }
        _ => panic!("no program {name} {arguments:?}"),
    }
}

/// Sends back what it gets, to one after the other.
fn echo_server() {
    let listener = TcpListener::bind("0.0.0.0:7").unwrap();
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let mut byte = [0];
        while matches!(stream.read(&mut byte), Ok(1)) {
            stream.write_all(&byte).unwrap();
        }
    }
}

/// Sends a byte and waits until it comes back, for ever, over one connection; each time it writes one to `reports`.
fn echo_client(address: &str, reports: &str) {
    let mut reports = UnixStream::connect(reports).unwrap();
    let mut stream = loop {
        // The server may not be there yet.
        if let Ok(stream) = TcpStream::connect(address) {
            break stream;
        }
    };
    stream.set_nodelay(true).unwrap();
    for byte in (0..=255).cycle() {
        let mut back = [0];
        stream.write_all(&[byte]).and_then(|()| stream.read_exact(&mut back)).unwrap();
        assert_eq!(back, [byte]);
        if reports.write_all(&back).is_err() {
            return;
        }
    }
}

fn their_end_is_told() {
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let mut stack = Stack::create(&Options::new(pair(), shell(script))).unwrap();
        assert_eq!((stack.ended().unwrap(), stack.has_started()), (None, false));
        assert_eq!(run_to_end(&mut stack).code(), code, "{script}");
        assert_eq!((stack.ended().unwrap(), stack.has_started()), (None, true));
    }
}

fn what_cannot_be_started_is_told() {
    for (words, code) in [(&["/nonexistent/program"][..], 127), (&["/etc/passwd"], 126), (&[], 127)] {
        let mut stack = Stack::create(&Options::new(pair(), command(words))).unwrap();
        let ended = run_to_end(&mut stack);
        assert!(matches!(&ended, Ended::NotStarted { reason, .. } if !reason.is_empty()), "{ended:?}");
        assert_eq!((ended.code(), stack.has_started()), (code, false));
        // The stack is there all the same.
        stack.statistics("left").unwrap();
    }
}

fn a_signal_reaches_all_processes() {
    let ready = folder().join(format!("ready-{}", std::process::id()));
    // What a shell begins in the background has its trap until it is another program.
    let sleeper = format!(": > {}; exec sleep 1000", ready.display());
    let script = format!("trap 'wait; exit 9' TERM; sh -c '{sleeper}' & wait");
    let mut stack = Stack::create(&Options::new(pair(), shell(&script))).unwrap();
    stack.start().unwrap();
    let begin = std::time::Instant::now();
    while !ready.exists() {
        assert!(begin.elapsed() < PATIENCE, "the program does not begin");
    }
    stack.signal(libc::SIGTERM).unwrap();
    assert_eq!(wait_for_end(&mut stack).code(), 9);
}

fn they_see_only_their_own() {
    let mut stack = Stack::create(&Options::new(
        pair(),
        command(&["grep", "-q", "^SigBlk:[[:space:]]*0*$", "/proc/self/status"]),
    ))
    .unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0, "no signal is blocked");
    let script = "set -e; test \"$(ls /sys/class/net | tr '\\n' ' ')\" = 'left lo right '; \
        test $(ls -d /proc/[0-9]* | wc -l) -le 5; test $(id -u) = 0; \
        echo 1 > /proc/sys/net/ipv4/conf/left/rp_filter; test -n \"$XTABLES_LOCKFILE\"; : >> \"$XTABLES_LOCKFILE\"";
    let mut stack = Stack::create(&Options::new(pair(), shell(script))).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0);
}

fn own_program(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--program", name]);
    command
}

fn what_they_print_goes_to_the_errors() {
    let output = own_program("print").output().unwrap();
    assert!(output.status.success());
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b""[..], &b"out\nerr\n"[..]));
}

fn resolv_conf_can_be_ones_own() {
    let file = folder().join(format!("resolv-{}", std::process::id()));
    std::fs::write(&file, "nameserver 10.0.1.9\n").unwrap();
    let mut options = Options::new(pair(), shell("grep -q '^nameserver 10.0.1.9$' /etc/resolv.conf"));
    options.resolv_conf = Some(file.clone());
    let mut stack = Stack::create(&options).unwrap();
    assert_eq!(run_to_end(&mut stack).code(), 0);
    assert!(!std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default().contains("10.0.1.9"));
    options.resolv_conf = Some("/nonexistent".into());
    let Err(error) = Stack::create(&options) else { panic!("there is no such file") };
    assert!(error.to_string().contains("/etc/resolv.conf"), "{error}");
    std::fs::remove_file(file).unwrap();
}

/// Runs a shell in a stack, then reads from the terminal, which stops whoever does not have it.
fn shell_on_terminal() {
    let mut stack = Stack::create(&Options::new(pair(), Program::Shell)).unwrap();
    println!("shell ended with {}", run_to_end(&mut stack).code());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    println!("then came {line}");
}

fn a_shell_gets_the_terminal() {
    let own = std::env::current_exe().unwrap();
    let mut script = Command::new("script")
        .args(["-q", "-e", "-c", &format!("{} --program shell", own.display()), "/dev/null"])
        .env("SHELL", "/bin/sh")
        .env("ENV", "")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = script.stdin.take().unwrap();
    let mut screen = script.stdout.take().unwrap();
    let mut seen = String::new();
    let mut read_until = |text: &str| {
        while !seen.contains(text) {
            let mut bytes = [0; 1024];
            let n_bytes = screen.read(&mut bytes).unwrap();
            assert!(n_bytes > 0, "`{text}` did not come: {seen}");
            seen.push_str(&String::from_utf8_lossy(&bytes[..n_bytes]));
        }
    };
    keys.write_all(b"test -t 0 && echo terminal=$?\n").unwrap();
    read_until("terminal=0");
    // Interrupts what runs in the foreground, and nothing else. A shell that is just forking would miss it: no fork.
    keys.write_all(b"sh -c 'echo wait$((1+1)); exec sleep 1000'\n").unwrap();
    read_until("wait2");
    keys.write_all(b"\x03").unwrap();
    keys.write_all(b"echo alive=$((3+4))\n").unwrap();
    read_until("alive=7");
    keys.write_all(b"exit 3\n").unwrap();
    read_until("shell ended with 3");
    keys.write_all(b"words\n").unwrap();
    read_until("then came words");
    assert!(script.wait().unwrap().success());
}
