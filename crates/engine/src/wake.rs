//! The waker: lets a signal end the driver's sleep.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// A pair of sockets: what is written to one makes the other readable.
#[derive(Debug)]
pub struct Waker {
    reader: UnixStream,
    writer: UnixStream,
}

impl Waker {
    /// A waker that has not been woken.
    pub fn new() -> std::io::Result<Waker> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Waker { reader, writer })
    }

    /// The end to write to, for somebody else to own.
    pub fn writer(&self) -> std::io::Result<UnixStream> {
        self.writer.try_clone()
    }

    /// Wakes who waits, or will wait next.
    pub fn wake(&self) {
        // A full socket wakes as well.
        let _ = (&self.writer).write(&[0]);
    }

    /// Forgets that it was woken.
    pub fn reset(&self) {
        let mut buf = [0; 64];
        while (&self.reader).read(&mut buf).is_ok_and(|n| n == buf.len()) {}
    }
}

/// Readable when it has been woken.
impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }
}
