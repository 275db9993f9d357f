//! The controlling terminal: who may read from it, and how it was set.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use crate::error::{check, Result, SysError};

/// The controlling terminal as it was when this was made.
pub struct Terminal {
    file: File,
    foreground: libc::pid_t,
    modes: libc::termios,
}

impl Terminal {
    /// A process in the background stops first, as all do that read from the terminal, until it is in the foreground.
    pub fn open() -> Result<Self> {
        let file = open()?;
        await_foreground(&file)?;
        let mut modes = MaybeUninit::<libc::termios>::zeroed();
        // SAFETY: the kernel fills the structure.
        check(unsafe { libc::tcgetattr(file.as_raw_fd(), modes.as_mut_ptr()) }, "tcgetattr", PATH)?;
        // SAFETY: takes a number.
        let foreground = check(unsafe { libc::tcgetpgrp(file.as_raw_fd()) }, "tcgetpgrp", PATH)?;
        // SAFETY: tcgetattr succeeded and filled it.
        Ok(Self { file, foreground, modes: unsafe { modes.assume_init() } })
    }

    /// Gives the terminal back to the processes that had it, with its modes.
    pub fn restore(&self) -> Result<()> {
        take(self.file.as_raw_fd(), self.foreground).map_err(|e| SysError::call("tcsetpgrp", PATH, e))?;
        // SAFETY: the modes are those that tcgetattr gave.
        let returned = unsafe { libc::tcsetattr(self.file.as_raw_fd(), libc::TCSADRAIN, &self.modes) };
        check(returned, "tcsetattr", PATH).map(drop)
    }
}

/// Has `command` talk to the terminal, as the process group that the terminal listens to.
pub fn in_foreground(command: &mut Command) -> Result<()> {
    let terminal = open()?;
    let duplicate = || terminal.try_clone().map_err(|e| SysError::call("dup", PATH, e));
    command
        .stdin(Stdio::from(duplicate()?))
        .stdout(Stdio::from(duplicate()?))
        .stderr(Stdio::from(duplicate()?));
    command.process_group(0);
    // SAFETY: the closure runs between fork and exec and makes only calls that signal-safety(7) lists.
    unsafe { command.pre_exec(|| take(libc::STDIN_FILENO, libc::getpgrp())) };
    Ok(())
}

const PATH: &str = "/dev/tty";
/// How often a process asks to be stopped. Nothing stops one that ignores that, or whose shell is gone.
const ATTEMPTS: usize = 16;

/// Stops this process, and those that its shell started with it, while others have the terminal.
fn await_foreground(terminal: &File) -> Result<()> {
    for _ in 0..ATTEMPTS {
        // SAFETY: plain calls on numbers.
        let (foreground, own) = unsafe { (libc::tcgetpgrp(terminal.as_raw_fd()), libc::getpgrp()) };
        if check(foreground, "tcgetpgrp", PATH)? == own {
            break;
        }
        // SAFETY: as above.
        check(unsafe { libc::kill(0, libc::SIGTTIN) }, "kill", "this process group")?;
    }
    Ok(())
}

fn open() -> Result<File> {
    let file = File::options().read(true).write(true).open(PATH);
    file.map_err(|e| SysError::call("open", PATH, e).with_remedy(remedy))
}

/// Makes `group` the one that the terminal listens to.
fn take(terminal: RawFd, group: libc::pid_t) -> io::Result<()> {
    // SAFETY: plain calls on numbers, and sets that sigemptyset fills first. A process in the background is stopped by
    // SIGTTOU for this unless it blocks the signal.
    let returned = unsafe {
        let (mut stop, mut earlier) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigemptyset(&mut stop);
        libc::sigaddset(&mut stop, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_BLOCK, &stop, &mut earlier);
        let returned = libc::tcsetpgrp(terminal, group);
        libc::sigprocmask(libc::SIG_SETMASK, &earlier, std::ptr::null_mut());
        returned
    };
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn remedy(errno: i32) -> Option<&'static str> {
    (errno == libc::ENXIO).then_some("this process has no terminal: give a command instead of a shell")
}
