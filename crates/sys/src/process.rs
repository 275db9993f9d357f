//! Child processes in namespaces of their own, which end when this one does.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::panic::{catch_unwind, AssertUnwindSafe};

use crate::error::{check, Result, SysError};
use crate::poll::is_readable;
use crate::signals;

/// What a child does not share with its parent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Namespaces {
    /// Users and groups; whoever makes one has all capabilities over what is in it.
    pub user: bool,
    pub network: bool,
    pub mount: bool,
    /// Process numbers; the child is number 1, and all others in there die with it.
    pub pid: bool,
}

impl Namespaces {
    fn bits(self) -> libc::c_int {
        let bit = |on, bit| if on { bit } else { 0 };
        bit(self.user, libc::CLONE_NEWUSER)
            | bit(self.network, libc::CLONE_NEWNET)
            | bit(self.mount, libc::CLONE_NEWNS)
            | bit(self.pid, libc::CLONE_NEWPID)
    }
}

/// A process that this one started. Its descriptor is readable once it has ended.
#[derive(Debug)]
pub struct Child {
    pid: libc::pid_t,
    pidfd: OwnedFd,
}

/// Runs `main` in a copy of this process, which must have no other thread, and exits with what it returns.
///
/// The child's memory is copied when either side writes to it.
pub fn spawn(namespaces: Namespaces, main: impl FnOnce() -> i32) -> Result<Child> {
    if n_threads()? != 1 {
        // What other threads were doing, holding locks perhaps, would stay half done for ever in the copy.
        return Err(SysError::invalid("process", "this one", "has several threads and cannot be copied"));
    }
    let mut pidfd: RawFd = -1;
    let flags = namespaces.bits() | libc::CLONE_PIDFD | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and with no stack given this is fork(2); the kernel writes one descriptor to `pidfd`.
    // No other thread exists, so the copy is as sound as the original.
    let pid = unsafe {
        let no_stack = std::ptr::null_mut::<libc::c_void>();
        libc::syscall(libc::SYS_clone, flags as libc::c_ulong, no_stack, &raw mut pidfd, 0usize, 0usize)
    };
    if pid == 0 {
        let status = catch_unwind(AssertUnwindSafe(main)).unwrap_or(PANICKED);
        // SAFETY: ends the copy at once, without running what the original registered for its own exit.
        unsafe { libc::_exit(status) };
    }
    let pid = check(pid as libc::c_int, "clone", "namespaces").map_err(|e| e.with_remedy(remedy))?;
    // SAFETY: the call returned a new descriptor that nothing else owns.
    Ok(Child { pid, pidfd: unsafe { OwnedFd::from_raw_fd(pidfd) } })
}

impl Child {
    /// The number by which this process knows it.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Kills it, and with process 1 of a namespace all others there. That it ended already is no error.
    pub fn kill(&self) -> Result<()> {
        let no_info = std::ptr::null::<libc::siginfo_t>();
        // SAFETY: takes numbers, and no information about the sender.
        let returned = unsafe {
            libc::syscall(libc::SYS_pidfd_send_signal, self.pidfd.as_raw_fd(), libc::SIGKILL, no_info, 0)
        };
        match check(returned as libc::c_int, "pidfd_send_signal", "child") {
            Err(error) if error.errno() != Some(libc::ESRCH) => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until it has ended, and frees its number. To be called once.
    pub fn wait(&self) -> Result<i32> {
        let mut status = 0;
        loop {
            // SAFETY: the kernel writes one number.
            let returned = unsafe { libc::waitpid(self.pid, &mut status, 0) };
            match check(returned, "waitpid", "child") {
                Err(error) if error.errno() == Some(libc::EINTR) => {}
                other => return other.map(|_| status),
            }
        }
    }
}

impl AsFd for Child {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// Has the kernel kill this process when the thread that started it ends; whoever started it may be gone already.
pub fn die_with_parent() -> Result<()> {
    // SAFETY: takes numbers.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) }, "prctl(PR_SET_PDEATHSIG)", "self")
        .map(drop)
}

/// Has the kernel ask `command`, once it runs, to end when the thread that starts it does.
pub fn ends_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: the closure runs between fork and exec and makes one system call with numbers.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
}

/// The session of a process; 0 if that is none of this process's namespace, as for all that the kernel does by itself.
pub fn session(pid: u32) -> Option<u32> {
    let pid = libc::pid_t::try_from(pid).ok()?;
    // SAFETY: takes a number.
    u32::try_from(unsafe { libc::getsid(pid) }).ok()
}

/// Whether a process has ended, and closed all that it had, even if nobody has asked for its status yet. That is not known of
/// one of another namespace, whose number is 0, nor where no descriptor is free.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: takes numbers.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let pidfd = match check(raw as libc::c_int, "pidfd_open", "process") {
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(raw) => unsafe { OwnedFd::from_raw_fd(raw) },
        Err(error) => return error.errno() == Some(libc::ESRCH),
    };
    is_readable(pidfd.as_fd())
}

/// Lets the files under `/proc/self` belong to this process's user, also if its program has capabilities of its own.
pub fn become_visible() -> Result<()> {
    // SAFETY: takes numbers.
    check(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1) }, "prctl(PR_SET_DUMPABLE)", "self").map(drop)
}

/// Lets all signals do what they do in a new process. What was ignored stays so (`nohup`), but for what this process ignores itself.
pub fn reset_signals() -> Result<()> {
    for number in 1..libc::SIGSYS + 1 {
        let is_own = matches!(number, libc::SIGPIPE | libc::SIGCHLD);
        if number != libc::SIGKILL
            && number != libc::SIGSTOP
            && (is_own || !signals::is_number_ignored(number))
        {
            // SAFETY: the default reaction runs no code of this process.
            unsafe { libc::signal(number, libc::SIG_DFL) };
        }
    }
    // SAFETY: `none` is filled by sigemptyset, then only read.
    let returned = unsafe {
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut())
    };
    check(returned, "sigprocmask", "self").map(drop)
}

/// Sends a signal to all other processes of the namespace that this process is the first one of. That there are none is no error.
pub fn signal_all(number: i32) {
    // Elsewhere, all processes of the user are meant.
    if std::process::id() == 1 {
        // SAFETY: takes numbers.
        unsafe { libc::kill(-1, number) };
    }
}

/// Closes every descriptor but the three standard ones and those of `kept`.
///
/// For a new child that goes its own way: whoever owns the closed ones must not use them in this process any more.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> Result<()> {
    let mut kept: Vec<u32> = kept.iter().map(|fd| fd.as_raw_fd() as u32).filter(|&fd| fd > 2).collect();
    kept.sort_unstable();
    let mut first = 3;
    for fd in kept.into_iter().chain([u32::MAX]) {
        if fd > first {
            // SAFETY: takes numbers; nothing that is mapped depends on its descriptor.
            let returned = unsafe { libc::syscall(libc::SYS_close_range, first, fd - 1, 0) };
            check(returned as libc::c_int, "close_range", "self")?;
        }
        first = fd.saturating_add(1);
    }
    Ok(())
}

/// Makes standard input and output of this process `/dev/null`.
pub fn detach_standard_streams() -> Result<()> {
    let_go_of_standard(2)
}

/// Makes standard input of this process `/dev/null`.
pub fn detach_standard_input() -> Result<()> {
    let_go_of_standard(1)
}

fn let_go_of_standard(n_streams: libc::c_int) -> Result<()> {
    let null = std::fs::File::options().read(true).write(true).open("/dev/null");
    let null = null.map_err(|e| SysError::call("open", "/dev/null", e))?;
    for standard in 0..n_streams {
        // SAFETY: takes numbers; the standard descriptors are owned by nobody.
        check(unsafe { libc::dup2(null.as_raw_fd(), standard) }, "dup2", "/dev/null")?;
    }
    Ok(())
}

/// Has this thread, and what it starts from now on, keep SIGCHLD back or not; the set of that signal.
fn keep_child_signals(how: libc::c_int) -> Result<libc::sigset_t> {
    // SAFETY: `set` is filled by sigemptyset before it is read.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        check(libc::sigprocmask(how, &set, std::ptr::null_mut()), "sigprocmask", "self")?;
        Ok(set)
    }
}

/// Tells when children have ended: readable then.
#[derive(Debug)]
pub struct Reaper {
    signals: OwnedFd,
}

impl Reaper {
    /// Keeps SIGCHLD for this process from now on.
    pub fn new() -> Result<Self> {
        let set = keep_child_signals(libc::SIG_BLOCK)?;
        // SAFETY: the set is only read.
        let raw = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        let raw = check(raw, "signalfd", "SIGCHLD")?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(Self { signals: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Starts children with `start`, which get SIGCHLD as others do. Of one that ends meanwhile nothing is told: look for it then.
    pub fn let_start<T>(&self, start: impl FnOnce() -> T) -> Result<T> {
        keep_child_signals(libc::SIG_UNBLOCK)?;
        let started = start();
        keep_child_signals(libc::SIG_BLOCK)?;
        Ok(started)
    }

    /// A child that has ended and its status as of wait(2), if there is one.
    pub fn reap(&self) -> Option<(i32, i32)> {
        let mut unused = [0u8; size_of::<libc::signalfd_siginfo>()];
        let mut status = 0;
        // SAFETY: the kernel writes at most the lengths given.
        let pid = unsafe {
            libc::read(self.signals.as_raw_fd(), unused.as_mut_ptr().cast(), unused.len());
            libc::waitpid(-1, &mut status, libc::WNOHANG)
        };
        (pid > 0).then_some((pid, status))
    }
}

impl AsFd for Reaper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }
}

/// What a child that panicked exits with, as Rust programs do.
const PANICKED: i32 = 101;

fn n_threads() -> Result<u64> {
    let path = "/proc/self/task";
    let facts = std::fs::metadata(path).map_err(|e| SysError::call("stat", path, e))?;
    // Two links of the folder itself, and one from each folder in it.
    Ok(facts.nlink().saturating_sub(2))
}

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EPERM | libc::EACCES => Some(
            "allow namespaces: `sysctl kernel.unprivileged_userns_clone=1` (Debian), \
             `sysctl kernel.apparmor_restrict_unprivileged_userns=0` (Ubuntu); a container must allow them; or run as root",
        ),
        libc::ENOSPC | libc::EUSERS => {
            Some("raise the limits on namespaces: `sysctl user.max_user_namespaces user.max_net_namespaces`")
        }
        libc::EAGAIN => Some("raise the limit on processes: `ulimit -u`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a process of one thread can do the crate `stack` tests, as tests here have several.
    #[test]
    fn a_process_of_several_threads_is_not_copied() {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || stopped.recv());
        let error = spawn(Namespaces::default(), || 0).unwrap_err();
        assert!(error.to_string().contains("several threads"), "{error}");
        drop(stop);
        other.join().unwrap().unwrap_err();
    }

    #[test]
    fn a_process_has_the_session_of_its_parent_and_one_that_is_gone_has_none() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        assert_eq!(session(child.id()), session(std::process::id()));
        child.wait().unwrap();
        assert_eq!(session(child.id()), None);
    }

    #[test]
    fn a_process_has_ended_before_its_status_is_asked_for() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let id = child.id();
        assert!(!has_ended(id) && !has_ended(std::process::id()));
        drop(child.stdin.take());
        while !has_ended(id) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(has_ended(id) && !has_ended(0));
    }

    #[test]
    fn each_namespace_has_its_flag() {
        let all = Namespaces { user: true, network: true, mount: true, pid: true };
        assert_eq!(all.bits().count_ones(), 4);
        assert_eq!(Namespaces::default().bits(), 0);
    }
}
