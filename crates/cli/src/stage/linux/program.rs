//! The program of a stack: its start, its end, and what it hears of signals that ask the stage to stop.

use std::io::IsTerminal;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use stack::Ended;
use sys::poll::{Interest, Poller, Waker};
use sys::signals::Signal;

use super::{LinuxOptions, SharedStack};
use crate::stage::life::Ending;
use crate::stop::signals;

/// How long a program that was told to end may take before it is killed.
const GRACE: Duration = Duration::from_secs(2);
/// How long the terminal may take to tell it.
const TERMINAL: Duration = Duration::from_secs(1);
/// How long a signal that reached the program as well may take to be heard of here.
const HEARSAY: Duration = Duration::from_millis(200);
/// What a shell adds to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;

const STATUS: u64 = 0;
const BELL: u64 = 1;

/// Starts the program, and waits for its end.
pub fn start(
    stack: &SharedStack,
    options: &LinuxOptions,
    names: &[String],
    ending: Ending,
    wake: Box<dyn Fn() + Send>,
) -> Result<(), String> {
    let words = |error: stack::Error| format!("linux: {error}");
    let failed = |error: sys::SysError| format!("linux: {error}");
    let locked = stack.lock().unwrap_or_else(PoisonError::into_inner);
    locked.start().map_err(words)?;
    ending.set_starting(true);
    let status = locked.status_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    drop(locked);
    let (mut poller, bell) = (Poller::new().map_err(failed)?, Waker::new().map_err(failed)?);
    poller.add(status.as_fd(), STATUS, Interest::READ).map_err(failed)?;
    poller.add(bell.as_fd(), BELL, Interest::READ).map_err(failed)?;
    let asked = Arc::new(AtomicI32::new(0));
    let watch = Watch {
        stack: stack.clone(),
        called: options
            .command
            .first()
            .map_or("the shell".into(), |word| word.to_string_lossy().into_owned()),
        is_shell: options.command.is_empty(),
        is_short: options.while_running || options.command.is_empty() || names.is_empty(),
        status: Some(status),
        poller,
        bell: bell.clone(),
        asked: asked.clone(),
        leave: None,
        ending: ending.clone(),
        wake,
    };
    let begun = sys::thread::start("program", sys::thread::SMALL_STACK, move || watch.run());
    begun.map_err(|error| sys::no_thread(&error))?;
    ending.take_leave_with(move |signal| {
        asked.store(signal, Ordering::Relaxed);
        bell.wake();
    });
    Ok(())
}

/// Who waits for the program's end.
struct Watch {
    stack: SharedStack,
    /// How messages call the program.
    called: String,
    is_shell: bool,
    /// Whether the stage ends with the program.
    is_short: bool,
    /// Where its end is told, while it runs.
    status: Option<OwnedFd>,
    poller: Poller,
    /// Rings when a signal has come, whose number is in `asked`.
    bell: Waker,
    asked: Arc<AtomicI32>,
    leave: Option<Leave>,
    ending: Ending,
    wake: Box<dyn Fn() + Send>,
}

/// How far taking leave came.
struct Leave {
    signal: i32,
    /// When to pass it on, unless that is done.
    pass_on_at: Option<Instant>,
    kill_at: Instant,
}

impl Watch {
    fn run(mut self) {
        // What making the graph took is over too.
        sys::heap::give_back();
        let mut code = None;
        while code.is_none() {
            let next = self.leave.as_ref().map(|leave| leave.pass_on_at.unwrap_or(leave.kill_at));
            // Ended by the end of the process at the latest.
            let _ = self.poller.wait(next.map(|at| at.saturating_duration_since(Instant::now())));
            self.begin_leave();
            code = self.program_ended().or_else(|| self.go_on_leaving());
        }
        self.ending.end(code.unwrap_or_default());
        (self.wake)();
    }

    /// Hears of a signal.
    fn begin_leave(&mut self) {
        if !self.bell.reset() || self.leave.is_some() {
            return;
        }
        let signal = match self.asked.load(Ordering::Relaxed) {
            // A shell that talks to somebody ends for no other signal.
            signal if self.is_shell && signal == Signal::Terminate.number() => Signal::Hangup.number(),
            signal => signal,
        };
        let now = Instant::now();
        // The terminal's Ctrl-C reaches the program as well.
        let is_told = signal == Signal::Interrupt.number()
            && (std::io::stdin().is_terminal() || std::io::stderr().is_terminal());
        let pass_on_at = if is_told { now + TERMINAL } else { now };
        self.leave = Some(Leave { signal, pass_on_at: Some(pass_on_at), kill_at: now + GRACE });
    }

    /// The status to end with if the program has ended, and the stage with it.
    fn program_ended(&mut self) -> Option<u8> {
        self.status.as_ref()?;
        let mut stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = stack.ended();
        if stack.has_started() {
            self.ending.set_starting(false);
        }
        drop(stack);
        let Ok(Some(ended)) = ended else { return None };
        // From here on nothing more is told.
        if let Some(status) = self.status.take() {
            let _ = self.poller.remove(status.as_fd());
        }
        let code = ended.code();
        // A terminal and `timeout` tell all at once.
        if signals().any(|signal| code == BY_SIGNAL + signal.number()) && self.leave.is_none() {
            let _ = self.poller.wait(Some(HEARSAY));
            self.begin_leave();
        }
        if let Ended::NotStarted { reason, .. } = &ended {
            eprintln!("weir: linux: {reason}");
        } else if code != 0 && !self.is_short && self.leave.is_none() {
            let how = match &ended {
                Ended::Exited(status) => {
                    status.signal().map(|signal| format!("was ended by signal {signal}"))
                }
                _ => None,
            };
            let how = how.unwrap_or_else(|| format!("ended with status {code}"));
            eprintln!("weir: linux: {} {how}, and the stage with it", self.called);
        }
        match self.is_short || code != 0 && self.leave.is_none() {
            true => Some(code as u8),
            false => None,
        }
    }

    /// Does what is due to take leave; the status to end with if nothing more is.
    fn go_on_leaving(&mut self) -> Option<u8> {
        let leave = self.leave.as_mut()?;
        if self.status.is_none() {
            return Some(0);
        }
        let now = Instant::now();
        if leave.pass_on_at.is_some_and(|at| at <= now) {
            leave.pass_on_at = None;
            // If the stack is gone, that is told as its program's end.
            let _ = self.stack.lock().unwrap_or_else(PoisonError::into_inner).signal(leave.signal);
        }
        if now < leave.kill_at {
            return None;
        }
        eprintln!("weir: linux: {} did not end for signal {} and is killed", self.called, leave.signal);
        Some(if self.is_short { (BY_SIGNAL + leave.signal) as u8 } else { 0 })
    }
}
