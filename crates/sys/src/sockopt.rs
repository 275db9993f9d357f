//! Socket options as typed values.

use std::mem::{size_of, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::error::{check, Result};

/// A type that is plain bytes for the kernel: any bit pattern is a value.
///
/// # Safety
/// The type must be `repr(C)` data without references or invalid bit patterns.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($ty:ty),* $(,)?) => {
        // SAFETY: integers and C structures of integers.
        $(unsafe impl Plain for $ty {})*
    };
}
plain!(
    libc::c_int,
    libc::tpacket_req3,
    libc::tpacket_stats,
    libc::tpacket_stats_v3,
    libc::packet_mreq,
    libc::ucred,
    libc::timeval
);

/// `setsockopt` with `value`; `call` and `target` name it in an error.
pub(crate) fn set<T: Plain>(
    fd: BorrowedFd<'_>,
    (level, option): (libc::c_int, libc::c_int),
    value: &T,
    call: &'static str,
    target: &str,
) -> Result<()> {
    // SAFETY: `value` is plain data that lives through the call, and its size is passed with it.
    let returned = unsafe {
        let pointer = std::ptr::from_ref(value).cast();
        libc::setsockopt(fd.as_raw_fd(), level, option, pointer, size_of::<T>() as libc::socklen_t)
    };
    check(returned, call, target).map(drop)
}

/// Ends calls that wait for something to receive after `timeout`, with EAGAIN.
pub(crate) fn set_receive_timeout(fd: BorrowedFd<'_>, timeout: Duration, target: &str) -> Result<()> {
    let value = libc::timeval {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: timeout.subsec_micros().into(),
    };
    set(fd, (libc::SOL_SOCKET, libc::SO_RCVTIMEO), &value, "setsockopt(SO_RCVTIMEO)", target)
}

/// `getsockopt`; fields that an older kernel does not fill are zero.
pub(crate) fn get<T: Plain>(
    fd: BorrowedFd<'_>,
    (level, option): (libc::c_int, libc::c_int),
    call: &'static str,
    target: &str,
) -> Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes, the size of `value`.
    let returned =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &mut len) };
    check(returned, call, target)?;
    // SAFETY: zeroed, then partly overwritten; `Plain` allows any bit pattern.
    Ok(unsafe { value.assume_init() })
}
