//! Which standard streams were closed when the process began: before `main`, the library opens `/dev/null` in their places.

use std::sync::atomic::{AtomicU8, Ordering};

use crate::pipe::StandardStream;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_that_are_open_are_not_closed() {
        // Whoever runs tests gives them both.
        assert!(!was_closed(StandardStream::Input) && !was_closed(StandardStream::Output));
    }
}
