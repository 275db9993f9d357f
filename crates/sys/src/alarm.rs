//! A descriptor that becomes readable when a time has passed.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{check, Result};

/// Rings once, some time after it was set.
#[derive(Debug)]
pub struct Alarm {
    timer: OwnedFd,
}

impl Alarm {
    pub fn new() -> Result<Self> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: timerfd_create takes numbers only.
        let raw =
            check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }, "timerfd_create", TARGET)?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(Self { timer: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Lets it ring after `time`, which is more than zero, and not before.
    pub fn set(&self, time: Duration) -> Result<()> {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        };
        let setting = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: the kernel reads `setting`, and writes nothing where it is given no place.
        let done =
            unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &setting, std::ptr::null_mut()) };
        check(done, "timerfd_settime", TARGET).map(drop)
    }

    /// Silences it; it rings no more until it is set.
    pub fn stop(&self) -> Result<()> {
        self.set(Duration::ZERO)
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

const TARGET: &str = "alarm";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::{Interest, Poller};

    #[test]
    fn it_rings_once_set_until_it_is_stopped() {
        let alarm = Alarm::new().unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(alarm.as_fd(), 1, Interest::READ).unwrap();
        let mut rings = |patience| !poller.wait(patience).unwrap().is_empty();
        assert!(!rings(Some(Duration::ZERO)));
        alarm.set(Duration::from_micros(1)).unwrap();
        assert!(rings(None) && rings(Some(Duration::ZERO)));
        alarm.stop().unwrap();
        assert!(!rings(Some(Duration::ZERO)));
    }
}
