//! Waiting until a descriptor can be read or written, a time has passed, or another thread calls.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{check, Result, SysError};

/// What a registered descriptor is watched for. Watching for nothing still reports errors and hang-ups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    pub readable: bool,
    pub writable: bool,
}

impl Interest {
    pub const READ: Self = Self { readable: true, writable: false };
    pub const WRITE: Self = Self { readable: false, writable: true };
    pub const BOTH: Self = Self { readable: true, writable: true };

    fn is_empty(self) -> bool {
        self == Self::default()
    }

    fn bits(self) -> u32 {
        let read = if self.readable { libc::EPOLLIN | libc::EPOLLRDHUP } else { 0 };
        let write = if self.writable { libc::EPOLLOUT } else { 0 };
        (read | write) as u32
    }
}

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number that the descriptor was registered with.
    pub token: u64,
    pub readable: bool,
    pub writable: bool,
    /// The other side is gone or the device failed: reading or writing says how.
    pub closed: bool,
}

/// The set of descriptors that a run loop waits for; level-triggered.
///
/// Files that epoll cannot watch (regular files, `/dev/null`) count as always ready, as poll(2) has it.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    always_ready: Vec<(RawFd, u64, Interest)>,
    events: Vec<Event>,
    has_pwait2: bool,
}

impl Poller {
    pub fn new() -> Result<Self> {
        // SAFETY: epoll_create1 takes flags only.
        let raw = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }, "epoll_create1", TARGET)?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        let epoll = unsafe { OwnedFd::from_raw_fd(raw) };
        Ok(Self { epoll, always_ready: Vec::new(), events: Vec::with_capacity(BATCH), has_pwait2: true })
    }

    /// Watches `fd` from now on; `token` comes back in its events. Remove it before closing it.
    pub fn add(&mut self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<()> {
        match self.control(libc::EPOLL_CTL_ADD, fd, token, interest) {
            Err(error) if error.errno() == Some(libc::EPERM) && !self.is_always_ready(fd) => {
                self.always_ready.push((fd.as_raw_fd(), token, interest));
                Ok(())
            }
            Err(error) if error.errno() == Some(libc::EPERM) => {
                let source = io::Error::from_raw_os_error(libc::EEXIST);
                Err(SysError::call("epoll_ctl", descriptor(fd), source))
            }
            other => other,
        }
    }

    /// Changes what a registered descriptor is watched for.
    pub fn modify(&mut self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<()> {
        match self.always_ready.iter_mut().find(|entry| entry.0 == fd.as_raw_fd()) {
            Some(entry) => *entry = (fd.as_raw_fd(), token, interest),
            None => self.control(libc::EPOLL_CTL_MOD, fd, token, interest)?,
        }
        Ok(())
    }

    /// Watches a registered descriptor no longer.
    pub fn remove(&mut self, fd: BorrowedFd<'_>) -> Result<()> {
        match self.always_ready.iter().position(|entry| entry.0 == fd.as_raw_fd()) {
            Some(idx) => drop(self.always_ready.swap_remove(idx)),
            None => self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::default())?,
        }
        Ok(())
    }

    /// Waits until something is ready, at most `timeout` (`None`: for ever). A signal ends the wait with no events.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<&[Event]> {
        self.events.clear();
        let ready = self.always_ready.iter().filter(|entry| !entry.2.is_empty());
        self.events.extend(ready.map(|&(_, token, interest)| Event {
            token,
            readable: interest.readable,
            writable: interest.writable,
            closed: false,
        }));
        let timeout = if self.events.is_empty() { timeout } else { Some(Duration::ZERO) };
        let mut raw = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
        let n_ready = match self.wait_raw(&mut raw, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            other => other.map_err(|error| SysError::call("epoll_wait", TARGET, error))?,
        };
        self.events.extend(raw.iter().take(n_ready).map(to_event));
        Ok(&self.events)
    }

    fn wait_raw(&mut self, raw: &mut [libc::epoll_event], timeout: Option<Duration>) -> io::Result<usize> {
        if self.has_pwait2 {
            match pwait2(self.epoll.as_fd(), raw, timeout) {
                Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => self.has_pwait2 = false,
                other => return other,
            }
        }
        wait_ms(self.epoll.as_fd(), raw, timeout)
    }

    fn is_always_ready(&self, fd: BorrowedFd<'_>) -> bool {
        self.always_ready.iter().any(|entry| entry.0 == fd.as_raw_fd())
    }

    fn control(&self, op: libc::c_int, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> Result<()> {
        let mut event = libc::epoll_event { events: interest.bits(), u64: token };
        // SAFETY: `event` is valid through the call; both descriptors are open.
        let returned = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), op, fd.as_raw_fd(), &mut event) };
        check(returned, "epoll_ctl", &descriptor(fd)).map(drop).map_err(|error| error.with_remedy(remedy))
    }
}

/// Wakes a waiting [`Poller`] from any thread; clones wake the same one.
#[derive(Clone, Debug)]
pub struct Waker {
    event: Arc<OwnedFd>,
    /// Whether another process has it too, which may let it block at any time.
    is_shared: bool,
}

impl Waker {
    /// A waker to register for reading with [`Poller::add`].
    pub fn new() -> Result<Self> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: eventfd takes numbers only.
        let raw = check(unsafe { libc::eventfd(0, flags) }, "eventfd", "waker")?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(Self { event: Arc::new(unsafe { OwnedFd::from_raw_fd(raw) }), is_shared: false })
    }

    /// A waker that another process is to have, too.
    pub fn to_share() -> Result<Self> {
        Ok(Self { is_shared: true, ..Self::new()? })
    }

    /// A waker that another process sent: an event counter, and nothing else.
    pub fn from_received(fd: OwnedFd) -> Result<Self> {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let target = std::fs::read_link(path).unwrap_or_default();
        if target.to_str() != Some("anon_inode:[eventfd]") {
            let reason = "it is no event counter".to_string();
            return Err(SysError::Untrusted { target: "waker".into(), reason, remedy: None });
        }
        Ok(Self { event: Arc::new(fd), is_shared: true })
    }

    /// Makes the waker readable until the next [`Self::reset`].
    pub fn wake(&self) {
        // A counter is full only if another process filled it.
        if self.is_shared && !self.has_room() {
            return;
        }
        // SAFETY: `ONE` is eight readable bytes. The only failure is a full counter, which is awake already.
        unsafe { libc::write(self.event.as_raw_fd(), ONE.as_ptr().cast(), ONE.len()) };
    }

    /// Forgets all calls so far; whether there were any.
    pub fn reset(&self) -> bool {
        let mut count = [0u8; 8];
        let part = libc::iovec { iov_base: count.as_mut_ptr().cast(), iov_len: count.len() };
        // SAFETY: `part` is eight writable bytes. Not to wait is asked for with the call, for a flag of the file is the other process's
        // as well.
        unsafe { libc::preadv2(self.event.as_raw_fd(), &part, 1, -1, libc::RWF_NOWAIT) == 8 }
    }

    fn has_room(&self) -> bool {
        events_now(self.event.as_fd(), libc::POLLOUT) != 0
    }
}

/// Whether reading from a descriptor would not wait: there is something to read, or an end or an error.
pub fn is_readable(fd: BorrowedFd<'_>) -> bool {
    events_now(fd, libc::POLLIN) != 0
}

/// Waits for one of the events that are of interest, an end or an error. A signal ends that with an error of the kind `Interrupted`.
pub(crate) fn await_event(fd: BorrowedFd<'_>, interest: Interest) -> io::Result<()> {
    // The bits of epoll are those of poll.
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: interest.bits() as libc::c_short, revents: 0 };
    // SAFETY: `poll` is one entry, which lives through the call.
    match unsafe { libc::poll(&mut poll, 1, -1) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Which of the events `wanted` a descriptor has just now, and errors and ends, which are always wanted.
pub(crate) fn events_now(fd: BorrowedFd<'_>, wanted: libc::c_short) -> libc::c_short {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: wanted, revents: 0 };
    // SAFETY: `poll` is one entry, which lives through the call; it does not wait.
    unsafe { libc::poll(&mut poll, 1, 0) };
    poll.revents
}

impl AsFd for Poller {
    /// Readable when a registered descriptor is ready, so that a poller can be watched by another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

const ONE: [u8; 8] = 1u64.to_ne_bytes();
const BATCH: usize = 64;
const TARGET: &str = "run loop";

fn to_event(raw: &libc::epoll_event) -> Event {
    let has = |bits: i32| raw.events & bits as u32 != 0;
    Event {
        token: raw.u64,
        readable: has(libc::EPOLLIN),
        writable: has(libc::EPOLLOUT),
        closed: has(libc::EPOLLHUP | libc::EPOLLERR | libc::EPOLLRDHUP),
    }
}

fn pwait2(
    epoll: BorrowedFd<'_>,
    raw: &mut [libc::epoll_event],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let time = timeout.map(|t| libc::timespec {
        tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let no_mask = std::ptr::null::<libc::sigset_t>();
    // SAFETY: the kernel writes at most `raw.len()` events and reads `time` if it is not null.
    let n_ready = unsafe {
        let len = raw.len() as libc::c_int;
        libc::syscall(libc::SYS_epoll_pwait2, epoll.as_raw_fd(), raw.as_mut_ptr(), len, time, no_mask, 0usize)
    };
    usize::try_from(n_ready).map_err(|_| io::Error::last_os_error())
}

/// Kernels before 5.11: milliseconds, rounded up so that no timer fires early.
fn wait_ms(
    epoll: BorrowedFd<'_>,
    raw: &mut [libc::epoll_event],
    timeout: Option<Duration>,
) -> io::Result<usize> {
    let ms = timeout.map_or(-1, |t| i32::try_from(t.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: the kernel writes at most `raw.len()` events.
    let n_ready =
        unsafe { libc::epoll_wait(epoll.as_raw_fd(), raw.as_mut_ptr(), raw.len() as libc::c_int, ms) };
    usize::try_from(n_ready).map_err(|_| io::Error::last_os_error())
}

fn descriptor(fd: BorrowedFd<'_>) -> String {
    format!("descriptor {}", fd.as_raw_fd())
}

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ENOSPC => Some("raise the limit on watched files: `sysctl fs.epoll.max_user_watches`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use std::fs::File;
    use std::io::{Read, Write};
    use std::time::Instant;

    const NOW: Option<Duration> = Some(Duration::ZERO);

    fn check(poller: &mut Poller, expected: Expect) {
        let mut events = poller.wait(NOW).unwrap().to_vec();
        events.sort_by_key(|event| event.token);
        let lines = events.iter().map(|event| {
            let word = |on, word| if on { word } else { "" };
            let (r, w) = (word(event.readable, " readable"), word(event.writable, " writable"));
            format!("{}{r}{w}{}\n", event.token, word(event.closed, " closed"))
        });
        expected.assert_eq(&lines.collect::<String>());
    }

    #[test]
    fn a_pipe_becomes_readable_writable_and_closed() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(reader.as_fd(), 1, Interest::READ).unwrap();
        poller.add(writer.as_fd(), 2, Interest::WRITE).unwrap();
        check(
            &mut poller,
            expect![[r"
            2 writable
        "]],
        );
        writer.write_all(b"x").unwrap();
        poller.modify(writer.as_fd(), 2, Interest::default()).unwrap();
        check(
            &mut poller,
            expect![[r"
            1 readable
        "]],
        );
        reader.read_exact(&mut [0]).unwrap();
        check(&mut poller, expect![""]);
        poller.remove(writer.as_fd()).unwrap();
        drop(writer);
        check(
            &mut poller,
            expect![[r"
            1 closed
        "]],
        );
    }

    #[test]
    fn files_that_epoll_refuses_are_always_ready() {
        let null = File::options().read(true).write(true).open("/dev/null").unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(null.as_fd(), 7, Interest::BOTH).unwrap();
        assert_eq!(poller.add(null.as_fd(), 7, Interest::BOTH).unwrap_err().errno(), Some(libc::EEXIST));
        check(
            &mut poller,
            expect![[r"
            7 readable writable
        "]],
        );
        poller.modify(null.as_fd(), 8, Interest::WRITE).unwrap();
        assert_eq!(poller.wait(None).unwrap().len(), 1);
        poller.modify(null.as_fd(), 8, Interest::default()).unwrap();
        check(&mut poller, expect![""]);
        poller.remove(null.as_fd()).unwrap();
        assert!(poller.remove(null.as_fd()).is_err());
    }

    #[test]
    fn timeouts_shorter_than_a_millisecond_are_kept() {
        let mut poller = Poller::new().unwrap();
        for timeout in [Duration::from_micros(300), Duration::from_millis(2)] {
            let start = Instant::now();
            assert!(poller.wait(Some(timeout)).unwrap().is_empty());
            assert!(start.elapsed() >= timeout);
        }
    }

    #[test]
    fn the_fallback_for_old_kernels_waits_as_long() {
        let mut poller = Poller::new().unwrap();
        poller.has_pwait2 = false;
        let start = Instant::now();
        assert!(poller.wait(Some(Duration::from_micros(1500))).unwrap().is_empty());
        assert!(start.elapsed() >= Duration::from_micros(1500));
    }

    #[test]
    fn another_thread_wakes_the_loop() {
        let (mut poller, waker) = (Poller::new().unwrap(), Waker::new().unwrap());
        poller.add(waker.as_fd(), 5, Interest::READ).unwrap();
        let remote = waker.clone();
        let thread = std::thread::spawn(move || {
            remote.wake();
            remote.wake();
        });
        assert_eq!(poller.wait(None).unwrap()[0].token, 5);
        thread.join().unwrap();
        assert!(waker.reset() && !waker.reset());
        check(&mut poller, expect![""]);
    }

    #[test]
    fn more_ready_descriptors_than_one_call_returns_all_come() {
        let wakers: Vec<Waker> = (0..BATCH + 10).map(|_| Waker::new().unwrap()).collect();
        let mut poller = Poller::new().unwrap();
        for (token, waker) in wakers.iter().enumerate() {
            poller.add(waker.as_fd(), token as u64, Interest::READ).unwrap();
            waker.wake();
        }
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..3 {
            seen.extend(poller.wait(NOW).unwrap().iter().map(|event| event.token));
        }
        assert_eq!(seen.len(), wakers.len());
    }

    #[test]
    fn a_process_that_has_a_waker_too_cannot_hold_this_one() {
        let mut theirs = File::from(Waker::new().unwrap().event.try_clone().unwrap());
        let received = Waker::from_received(theirs.try_clone().unwrap().into()).unwrap();
        // SAFETY: F_SETFL takes a number.
        unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETFL, 0) };
        assert!(!received.reset());
        theirs.write_all(&(u64::MAX - 1).to_ne_bytes()).unwrap();
        received.wake();
        assert!(received.reset() && !received.reset());
        received.wake();
        assert!(received.reset());
    }
}
