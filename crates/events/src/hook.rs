//! A single run of a hook.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::process::{kill_process_group, pidfd_open, Pid, PidfdFlags, Signal};

use crate::event::Event;
use crate::hooks::{Level, Shared};

/// Longest line of output that is logged whole.
const MAX_LINE: usize = 4096;
/// Most lines of a run that are logged.
const MAX_LINES: usize = 1000;
/// How often to look whether all is over.
const LOOK: Duration = Duration::from_millis(100);

/// Runs a program for an event, and logs what it prints; what went wrong.
pub fn run(shared: &Shared, path: &Path, event: &Event) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("it cannot be run: {}", sys::reason(&error));
    let (output, theirs) = std::io::pipe().map_err(failed)?;
    let mut command = Command::new(path);
    command.stdin(input(event).map_err(failed)?).stderr(theirs.try_clone().map_err(failed)?).stdout(theirs);
    command.envs(event.variables());
    command.envs(shared.settings.variables.iter().map(|(name, value)| (name, value)));
    // A group of its own: Ctrl-C is not for it, and what it starts ends with it.
    command.process_group(0);
    let child = command.spawn().map_err(failed)?;
    // The command holds the pipe's other end.
    drop(command);
    let mut lines = Lines { event: &event.event, shared, rest: Vec::new(), n: 0 };
    let ended = await_end(shared, child, OwnedFd::from(output).into(), &mut lines);
    lines.finish();
    ended
}

/// The event as a file: a program that does not read it holds up nothing.
fn input(event: &Event) -> std::io::Result<Stdio> {
    let mut file = File::from(memfd_create("event", MemfdFlags::CLOEXEC)?);
    writeln!(file, "{}", serde_json::to_string(event).map_err(std::io::Error::other)?)?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

/// Reads what a program prints until it ends, or until its time is up.
fn await_end(
    shared: &Shared,
    mut child: Child,
    mut output: File,
    lines: &mut Lines<'_>,
) -> Result<(), String> {
    let pid = Pid::from_child(&child);
    let timeout = shared.settings.timeout;
    let until = Instant::now() + timeout;
    let ended = rustix::io::ioctl_fionbio(&output, true)
        .and_then(|()| pidfd_open(pid, PidfdFlags::empty()))
        .map_err(|error| format!("it cannot be waited for: {}", sys::reason(&error)))
        .and_then(|pidfd| wait(shared, &pidfd, &mut output, lines, until));
    if let Err(problem) = &ended {
        // It has not been waited for, so that the number is its own.
        let _ = kill_process_group(pid, Signal::KILL);
        let _ = child.wait();
        read(&mut output, lines);
        return Err(problem.clone());
    }
    read(&mut output, lines);
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(match status.signal() {
            Some(signal) => format!("it was ended by signal {signal}"),
            None => format!("it failed with status {}", status.code().unwrap_or_default()),
        }),
        Err(error) => Err(error.to_string()),
    }
}

fn wait(
    shared: &Shared,
    pidfd: &OwnedFd,
    output: &mut File,
    lines: &mut Lines<'_>,
    until: Instant,
) -> Result<(), String> {
    let mut is_open = true;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let seconds = shared.settings.timeout.as_secs_f64();
            return Err(format!("killed: it did not end within {seconds} s"));
        }
        if shared.is_over() {
            return Err("killed: weir ends".to_string());
        }
        let patience = Timespec::try_from(left.min(LOOK)).map_err(|error| error.to_string())?;
        let mut fds = vec![PollFd::new(pidfd, PollFlags::IN)];
        let fd = output.as_fd();
        fds.extend(is_open.then(|| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // A signal that ends the wait early does no harm.
        let _ = poll(&mut fds, Some(&patience));
        let has = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let (has_ended, has_output) = (has(0), has(1));
        if has_output {
            is_open = read(output, lines);
        }
        if has_ended {
            return Ok(());
        }
    }
}

/// Reads what there is, but not for ever; false at the end.
fn read(output: &mut File, lines: &mut Lines<'_>) -> bool {
    let mut buffer = [0; 4096];
    for _ in 0..16 {
        match output.read(&mut buffer) {
            Ok(0) => return false,
            Ok(n) => lines.take(&buffer[..n]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == std::io::ErrorKind::WouldBlock,
        }
    }
    true
}

/// Logs output line by line.
struct Lines<'s> {
    event: &'s str,
    shared: &'s Shared,
    rest: Vec<u8>,
    n: usize,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' => self.line(),
                byte => self.rest.push(*byte),
            }
            if self.rest.len() >= MAX_LINE {
                self.line();
            }
        }
    }

    fn line(&mut self) {
        self.n += 1;
        let line = std::mem::take(&mut self.rest);
        if self.n <= MAX_LINES {
            let text: String = String::from_utf8_lossy(&line).chars().filter(|c| !c.is_control()).collect();
            self.shared.say(Level::Info, &format!("hook {}: {text}", self.event));
        }
    }

    fn finish(mut self) {
        if !self.rest.is_empty() {
            self.line();
        }
        if let Some(n) = self.n.checked_sub(MAX_LINES).filter(|n| *n > 0) {
            self.shared.say(Level::Warn, &format!("hook {}: {n} more lines are not logged", self.event));
        }
    }
}
