//! Threads, where there may be no memory for one.

use std::io;
use std::thread::{Builder, JoinHandle};

use crate::region::{HugePages, Region};

/// The stack of most threads, in bytes.
pub const STACK: usize = 2 << 20;
/// The stack of a thread that does little, in bytes.
pub const SMALL_STACK: usize = 64 << 10;
/// What a thread takes beside its stack before it does anything: pages that guard, a stack for signals, and values of its own.
const BESIDE: usize = 512 << 10;

/// Starts a thread. The only way to start one in this program: the system may refuse, which is told by [`crate::no_thread`].
///
/// A new thread that finds no memory for its stack for signals ends the process, so this looks first whether there is room for
/// all that it takes.
pub fn start<T: Send + 'static>(
    name: &str,
    stack_len: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let room = Region::anonymous(stack_len + BESIDE, HugePages::Off);
    drop(room.map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?);
    Builder::new().name(name.to_string()).stack_size(stack_len).spawn(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_its_name_and_gives_its_result() {
        let thread = start("named", SMALL_STACK, || std::thread::current().name().map(str::to_string));
        assert_eq!(thread.unwrap().join().unwrap().as_deref(), Some("named"));
    }

    #[test]
    fn a_thread_for_which_there_is_no_room_is_refused() {
        let error = start("vast", 1 << 62, || ()).map(drop).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOMEM));
    }
}
