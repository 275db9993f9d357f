//! Signals as events of the run loop.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::OnceLock;

use signal_hook::low_level;

use crate::clock::monotonic_ns;
use crate::error::{Result, SysError};
use crate::poll::Waker;

/// The signals that a run loop answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Signal {
    Hangup = libc::SIGHUP,
    Interrupt = libc::SIGINT,
    Quit = libc::SIGQUIT,
    Terminate = libc::SIGTERM,
    User1 = libc::SIGUSR1,
    User2 = libc::SIGUSR2,
    /// A child process ended.
    Child = libc::SIGCHLD,
    /// The terminal has another size.
    Resize = libc::SIGWINCH,
}

impl Signal {
    const ALL: [Self; 8] = [
        Self::Hangup,
        Self::Interrupt,
        Self::Quit,
        Self::Terminate,
        Self::User1,
        Self::User2,
        Self::Child,
        Self::Resize,
    ];

    /// The signal's number on this machine.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// Collects signals while it lives; on drop the earlier reactions come back. One at a time in a process.
///
/// No signal is blocked, so that programs started meanwhile inherit an ordinary signal mask.
pub struct Signals {
    waker: &'static Waker,
    /// What each watched signal did before.
    earlier: Vec<(i32, libc::sigaction)>,
}

impl Signals {
    /// Collects `signals` from now on, whichever thread they reach.
    pub fn watch(signals: &[Signal]) -> Result<Self> {
        if ACTIVE.swap(true, Ordering::AcqRel) {
            return Err(SysError::invalid(
                "signals",
                format!("{signals:?}"),
                "are watched elsewhere in this process",
            ));
        }
        let waker = match waker() {
            Ok(waker) => waker,
            Err(error) => {
                ACTIVE.store(false, Ordering::Release);
                return Err(error);
            }
        };
        let mut this = Self { waker, earlier: Vec::with_capacity(signals.len()) };
        PENDING.store(0, Ordering::Relaxed);
        waker.reset();
        for &signal in signals {
            let earlier = install(signal.number())?;
            this.earlier.push((signal.number(), earlier));
        }
        Ok(this)
    }

    /// The signals that came since the last call, each once.
    pub fn take(&self) -> impl Iterator<Item = Signal> {
        self.waker.reset();
        let pending = PENDING.swap(0, Ordering::AcqRel);
        Signal::ALL.into_iter().filter(move |signal| pending >> signal.number() & 1 == 1)
    }
}

/// The descriptor to register for reading: readable when [`Signals::take`] has something.
impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (number, earlier) in self.earlier.iter().rev() {
            // SAFETY: `earlier` is what the kernel returned for this signal. It cannot fail for such a value.
            unsafe { libc::sigaction(*number, earlier, std::ptr::null_mut()) };
        }
        ACTIVE.store(false, Ordering::Release);
    }
}

/// Whether a signal does nothing to this process, as whoever started it may have arranged (`nohup`).
pub fn is_ignored(signal: Signal) -> bool {
    is_number_ignored(signal.number())
}

/// Has this signal end the process if another one that this was called for came a while ago: whoever asks once more does not want to
/// wait. A closed terminal never ends it so, as it tells twice: by the shell, and when that ends.
pub fn end_when_repeated(signal: Signal) -> io::Result<()> {
    let heard = move || {
        let now_ns = monotonic_ns();
        let Err(first_ns) = FIRST_NS.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed) else {
            return;
        };
        if signal != Signal::Hangup && now_ns.saturating_sub(first_ns) > TOGETHER_NS {
            let _ = low_level::emulate_default_handler(signal.number());
        }
    };
    // SAFETY: the action reads a clock, uses an atomic number, and calls what is made for handlers: all async-signal-safe.
    unsafe { low_level::register(signal.number(), heard) }.map(drop)
}

/// Lets a signal reach this thread that whoever started the process may have held back.
pub fn unblock(signal: Signal) {
    // SAFETY: `set` is filled by sigemptyset before it is read.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed().assume_init();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, signal.number());
        // It fails for wrong numbers only.
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, std::ptr::null_mut());
    }
}

pub(crate) fn is_number_ignored(number: i32) -> bool {
    let mut now = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: only asks; `now` is a valid place for the answer, and all of it may be zero.
    unsafe {
        libc::sigaction(number, std::ptr::null(), now.as_mut_ptr());
        now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// Lets writing to a closed pipe or socket return EPIPE instead of ending the process.
pub fn ignore_broken_pipe() {
    // SAFETY: SIG_IGN runs no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// Lets writing to a closed pipe end the process, as programs that print are expected to end.
pub fn end_on_broken_pipe() {
    // SAFETY: SIG_DFL runs no code of ours.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Does what writing to a closed pipe does: it ends the process unless [`ignore_broken_pipe`] was called.
pub fn break_pipe() {
    // SAFETY: no handler of ours is installed for this signal.
    unsafe { libc::raise(libc::SIGPIPE) };
}

/// Lets writing beyond the limit of a file's size return EFBIG instead of ending the process. Programs that it starts are ended as
/// ever: a handler ends with `exec`, which an ignored signal does not.
pub fn fail_on_large_files() {
    extern "C" fn do_nothing(_: libc::c_int) {}
    // SAFETY: all fields of sigaction may be zero, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(libc::SIGXFSZ, std::ptr::null(), &mut action);
        if action.sa_sigaction == libc::SIG_DFL {
            action.sa_sigaction = do_nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigaction(libc::SIGXFSZ, &action, std::ptr::null_mut());
        }
    }
}

/// How long after the first signal others tell the same: `timeout` tells a process and then its group, and so it twice.
const TOGETHER_NS: u64 = 200_000_000;
/// When the first one came for which [`end_when_repeated`] was called; 0 before.
static FIRST_NS: AtomicU64 = AtomicU64::new(0);

static ACTIVE: AtomicBool = AtomicBool::new(false);
/// One bit a signal number.
static PENDING: AtomicU64 = AtomicU64::new(0);
/// What the handler writes to; never closed, as a handler may run at any time.
static WAKER_FD: AtomicI32 = AtomicI32::new(-1);

fn waker() -> Result<&'static Waker> {
    static WAKER: OnceLock<Waker> = OnceLock::new();
    if WAKER.get().is_none() {
        // ACTIVE admits one thread at a time, so the value is set here or was there before.
        let _ = WAKER.set(Waker::new()?);
    }
    let waker = WAKER.get().ok_or_else(|| SysError::invalid("signals", "waker", "could not be kept"))?;
    WAKER_FD.store(waker.as_fd().as_raw_fd(), Ordering::Release);
    Ok(waker)
}

fn install(number: i32) -> Result<libc::sigaction> {
    let mut earlier = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all fields of sigaction may be zero; the handler does only what signal-safety(7) allows.
    let returned = unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(number, &action, earlier.as_mut_ptr())
    };
    if returned < 0 {
        return Err(SysError::last("sigaction", format!("signal {number}")));
    }
    // SAFETY: sigaction succeeded and filled it.
    Ok(unsafe { earlier.assume_init() })
}

extern "C" fn on_signal(number: libc::c_int) {
    let errno = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    PENDING.fetch_or(1u64.wrapping_shl(number as u32), Ordering::AcqRel);
    let one = 1u64.to_ne_bytes();
    // SAFETY: write(2) is async-signal-safe and the descriptor is never closed. errno belongs to the interrupted
    // code and is put back.
    unsafe {
        libc::write(WAKER_FD.load(Ordering::Acquire), one.as_ptr().cast(), one.len());
        *libc::__errno_location() = errno;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::poll::{Interest, Poller};

    fn raise(signal: Signal) {
        // SAFETY: the signal is watched by this test, so it runs our handler.
        assert_eq!(unsafe { libc::raise(signal.number()) }, 0);
    }

    fn handler_of(signal: Signal) -> libc::sighandler_t {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: only asks; `action` is a valid place for the answer.
        unsafe {
            assert_eq!(libc::sigaction(signal.number(), std::ptr::null(), action.as_mut_ptr()), 0);
            action.assume_init().sa_sigaction
        }
    }

    /// One test, as the signals of a process are one shared thing.
    #[test]
    fn signals_become_events_and_old_reactions_come_back() {
        let before = handler_of(Signal::User1);
        let signals = Signals::watch(&[Signal::User1, Signal::User2]).unwrap();
        assert!(Signals::watch(&[Signal::Hangup]).is_err());
        let mut poller = Poller::new().unwrap();
        poller.add(signals.as_fd(), 9, Interest::READ).unwrap();

        assert_eq!(signals.take().count(), 0);
        raise(Signal::User2);
        raise(Signal::User1);
        raise(Signal::User1);
        assert_eq!(poller.wait(None).unwrap()[0].token, 9);
        assert_eq!(signals.take().collect::<Vec<_>>(), [Signal::User1, Signal::User2]);
        assert_eq!(signals.take().count(), 0);

        drop(signals);
        assert_eq!(handler_of(Signal::User1), before);
        drop(Signals::watch(&[Signal::Hangup]).unwrap());

        // SAFETY: no other test needs these reactions.
        unsafe { libc::signal(Signal::Resize.number(), libc::SIG_IGN) };
        assert!(is_ignored(Signal::Resize) && !is_ignored(Signal::User1));
    }

    /// In a process of its own, which it ends.
    #[test]
    fn a_signal_that_comes_again_ends_the_process_unless_both_come_together() {
        const CHILD: &str = "WEIR_TEST_CHILD";
        if std::env::var_os(CHILD).is_some() {
            end_when_repeated(Signal::Terminate).unwrap();
            raise(Signal::Terminate);
            raise(Signal::Terminate);
            println!("goes on");
            std::thread::sleep(Duration::from_nanos(TOGETHER_NS + 1));
            raise(Signal::Terminate);
            println!("still goes on");
            return;
        }
        let own = "signals::tests::a_signal_that_comes_again_ends_the_process_unless_both_come_together";
        let mut child = Command::new(std::env::current_exe().unwrap());
        let ended = child.args([own, "--exact", "--nocapture"]).env(CHILD, "").output().unwrap();
        let text = String::from_utf8_lossy(&ended.stdout);
        assert!(text.contains("goes on") && !text.contains("still"), "{text}");
        assert_eq!(ended.status.signal(), Some(libc::SIGTERM));
    }
}
