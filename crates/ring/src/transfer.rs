//! System calls straight into and out of the ring.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::consumer::Record;
use crate::slot::Slot;

impl Slot<'_> {
    /// Reads once from a descriptor: first into `prefix`, which stays private, then into the slot; the bytes of both.
    ///
    /// A tap, for example, puts its virtio-net header into the prefix and the frame into the slot.
    pub fn read_from(&mut self, fd: BorrowedFd<'_>, prefix: &mut [u8]) -> io::Result<usize> {
        let parts = [
            libc::iovec { iov_base: prefix.as_mut_ptr().cast(), iov_len: prefix.len() },
            libc::iovec { iov_base: self.as_mut_ptr().cast(), iov_len: self.len() },
        ];
        // SAFETY: both parts are writable for their lengths: `prefix` is borrowed exclusively, the slot holds its room.
        returned(unsafe { libc::readv(fd.as_raw_fd(), parts.as_ptr(), parts.len() as i32) })
    }
}

impl Record<'_> {
    /// Writes once to a descriptor: `prefix`, then the data as it is at that moment; the bytes written.
    pub fn write_to(&self, fd: BorrowedFd<'_>, prefix: &[u8]) -> io::Result<usize> {
        let parts = [
            libc::iovec { iov_base: prefix.as_ptr().cast_mut().cast(), iov_len: prefix.len() },
            libc::iovec { iov_base: self.as_ptr().cast_mut().cast(), iov_len: self.len() },
        ];
        // SAFETY: both parts are readable for their lengths, and the call does not write to them.
        returned(unsafe { libc::writev(fd.as_raw_fd(), parts.as_ptr(), parts.len() as i32) })
    }
}

/// What a system call that returns a length returned.
fn returned(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
