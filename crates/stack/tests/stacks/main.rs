//! Stacks from end to end, each test in a process of its own: as root, as an ordinary user, and without taps.
//!
//! `stacks [FILTER]` runs the tests whose name contains FILTER.

mod chains;
mod host;
mod joints;
mod lives;
mod packets;
mod programs;
mod users;
mod wire;

use std::process::{Child, Command, ExitCode, Stdio};

use users::User;

/// Seconds after which a test that hangs is killed.
const LONGEST: &str = "60";

type Test = (&'static str, fn());

fn tests() -> Vec<Test> {
    [packets::TESTS, programs::TESTS, lives::TESTS, joints::TESTS, chains::TESTS].concat()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--run", name] => {
            let (_, test) = tests().into_iter().find(|(known, _)| *known == name).expect("the test exists");
            test();
            ExitCode::SUCCESS
        }
        ["--program", name, ref rest @ ..] => {
            programs::run(name, rest);
            ExitCode::SUCCESS
        }
        _ => run_all(arguments.iter().find(|argument| !argument.starts_with('-')).map_or("", String::as_str)),
    }
}

fn run_all(filter: &str) -> ExitCode {
    let stage = users::Stage::new();
    let (mut n_passed, mut failed) = (0, Vec::new());
    for (name, _) in tests() {
        let is_wanted = |user: &User| format!("{name} ({user})").contains(filter);
        // At the same time, as they mostly wait; all start before the first is waited for.
        let running: Vec<(User, Child)> =
            User::ALL.into_iter().filter(is_wanted).map(|user| (user, start(name, user, &stage))).collect();
        for (user, child) in running {
            let output = child.wait_with_output().expect("it can be waited for");
            if output.status.success() {
                n_passed += 1;
            } else {
                let errors = String::from_utf8_lossy(&output.stderr);
                println!("---- {name} ({user}): {}\n{errors}", output.status);
                failed.push(format!("{name} ({user})"));
            }
        }
    }
    println!("test result: {n_passed} passed; {} failed {failed:?}", failed.len());
    if failed.is_empty() && (n_passed > 0 || !filter.is_empty()) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Starts a test in a process of its own.
fn start(name: &str, user: User, stage: &users::Stage) -> Child {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", LONGEST]).args(user.wrapper()).arg(stage.program()).args(["--run", name]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("`timeout` runs")
}
