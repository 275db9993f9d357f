//! A stage that is started for a place in a running chain.

use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use sys::pipe::Kind;

use super::{hand_over, Place, LOOK, PATIENCE};
use crate::chain;
use crate::stage::options::{LEFT, RIGHT};
use crate::stage::status::{self, Status};

/// A stage that was started for a place in a chain, and the other ends of its pipes.
pub struct Newcomer {
    child: Child,
    to: PipeWriter,
    from: PipeReader,
}

impl Newcomer {
    /// Starts a stage to the right of stage `left` and waits until it can be asked.
    pub fn start(command: &str, words: &[OsString], left: u32) -> Result<Newcomer, String> {
        let program = words.first().and_then(|word| word.to_str());
        let words = if program == Some("weir") { &words[1..] } else { words };
        let name = words.first().map(|word| word.to_string_lossy()).unwrap_or_default();
        if !chain::stages().contains(&&*name) {
            let stages = chain::stages().join(", ");
            return Err(format!("{command}: no stage `{name}`; stages are {stages}"));
        }
        refuse_wrong(command, &name, words)?;
        let failed = |error: std::io::Error| format!("the new stage cannot be started: {error}");
        let (input, to) = std::io::pipe().map_err(failed)?;
        let (from, output) = std::io::pipe().map_err(failed)?;
        let child = Command::new("/proc/self/exe")
            .arg0("weir")
            .args(words)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(errors(left).map_err(failed)?)
            // It lives as long as its chain, not as long as who waits for this command.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut new = Newcomer { child, to, from };
        match new.await_answer().and_then(|status| check(&status, &name)) {
            Ok(()) => Ok(new),
            Err(message) => {
                // It may have ended by itself; then there is nothing to do.
                let _ = new.child.kill();
                let _ = new.child.wait();
                Err(format!("{command}: {message}; the chain is as it was"))
            }
        }
    }

    /// Waits until the stage tells of itself.
    fn await_answer(&mut self) -> Result<Status, String> {
        let begin = Instant::now();
        loop {
            if let Ok(status) = status::read(self.id()) {
                return Ok(status);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the new stage ended at once ({status})"));
            }
            if begin.elapsed() > PATIENCE {
                return Err("the new stage does not answer".into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Puts it between two stages: the right one first, so that what comes out finds a reader.
    pub fn take_place(&self, left: u32, right: u32) -> Result<(), String> {
        hand_over(Place { id: right, interface: LEFT }, self.from.as_raw_fd())?;
        hand_over(Place { id: left, interface: RIGHT }, self.to.as_raw_fd())
    }
}

/// Refuses a command line that is wrong, and stages of which it is plain that they have no place between others.
fn refuse_wrong(command: &str, name: &str, words: &[OsString]) -> Result<(), String> {
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let line: Vec<String> = std::iter::once("weir".to_string()).chain(words).collect();
    if let Err(error) = crate::command::of(&line).try_get_matches_from(&line) {
        error.exit();
    }
    // Before a file is made, or made anew.
    if ["read", "write"].contains(&name) && !line.iter().any(|word| word == "-") {
        return Err(format!(
            "{command}: `{name}` is an end of a chain, so that nothing would pass through it; `tee FILE` keeps a copy"
        ));
    }
    if name == "linux" && !line.iter().any(|word| word == "--") {
        return Err(format!(
            "{command}: `linux` without a command opens a shell, which needs this terminal; give `linux ... -- COMMAND`"
        ));
    }
    Ok(())
}

/// Refuses a stage that would part those on its sides.
fn check(status: &Status, name: &str) -> Result<(), String> {
    for side in [LEFT, RIGHT] {
        let interface = status.interfaces.iter().find(|interface| interface.name == side);
        // Nobody but this process has the other ends of its pipes.
        if interface.is_none_or(|interface| interface.joint != "pipe") {
            return Err(format!(
                "`{name}` has no pipe at its interface `{side}`, so that nothing would pass through it"
            ));
        }
    }
    Ok(())
}

/// Where a new stage tells of errors: where this command does, but for a pipe, whose reader waits for the end of all who have it.
/// Then it is where its neighbour does.
fn errors(left: u32) -> std::io::Result<Stdio> {
    let own = std::io::stderr();
    if !matches!(sys::pipe::kind(own.as_fd()), Ok(Kind::Pipe(_) | Kind::Socket)) {
        return Ok(Stdio::inherit());
    }
    let neighbours = File::options().append(true).open(format!("/proc/{left}/fd/2"));
    neighbours.or_else(|_| File::options().append(true).open("/dev/null")).map(Stdio::from)
}
