//! The standard streams: which were closed when the process began, as before `main` the library opens `/dev/null` in their places, and
//! reading and writing those that do not block.

use std::io::{ErrorKind, Read, Result, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::pipe::StandardStream;
use crate::poll::{await_event, Interest};

/// A bit for each descriptor.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Called by the loader, before anything of the library runs.
#[used]
#[link_section = ".init_array"]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    for fd in 0..=1 {
        // SAFETY: takes numbers, and tells by an error that no descriptor has this one.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << fd, Ordering::Relaxed);
        }
    }
}

/// Whether the stream was closed when the process began.
pub fn was_closed(stream: StandardStream) -> bool {
    let bit = match stream {
        StandardStream::Input => 0b01,
        StandardStream::Output => 0b10,
    };
    CLOSED.load(Ordering::Relaxed) & bit != 0
}

/// Waits where a stream that does not block would have it tried again. Whoever has a standard stream, too, may have said that it does
/// not block, at any time.
pub struct Blocking<F>(pub F);

impl<F: AsFd> Blocking<F> {
    fn retry<T>(&mut self, interest: Interest, mut act: impl FnMut(&mut F) -> Result<T>) -> Result<T> {
        loop {
            match act(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => await_event(self.0.as_fd(), interest)?,
                result => return result,
            }
        }
    }
}

impl<F: Read + AsFd> Read for Blocking<F> {
    fn read(&mut self, room: &mut [u8]) -> Result<usize> {
        self.retry(Interest::READ, |file| file.read(room))
    }
}

impl<F: Write + AsFd> Write for Blocking<F> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.retry(Interest::WRITE, |file| file.write(bytes))
    }

    fn flush(&mut self) -> Result<()> {
        self.retry(Interest::WRITE, F::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_that_does_not_block_is_waited_for() {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut reader = Blocking(crate::pipe::reopen_to_read(reader).unwrap());
        let mut writer = Blocking(crate::pipe::reopen_to_write(writer).unwrap());
        // More than a pipe holds.
        let sent: Vec<u8> = (0..300_000).map(|n| n as u8).collect();
        let copy = sent.clone();
        let thread = std::thread::spawn(move || writer.write_all(&copy).and_then(|()| writer.flush()));
        let mut received = Vec::new();
        reader.read_to_end(&mut received).unwrap();
        thread.join().unwrap().unwrap();
        assert!(received == sent, "{} bytes came", received.len());
    }

    #[test]
    fn streams_that_are_open_are_not_closed() {
        // Whoever runs tests gives them both.
        assert!(!was_closed(StandardStream::Input) && !was_closed(StandardStream::Output));
    }
}
