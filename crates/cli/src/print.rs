//! `println!` and its like for this crate. Those of the standard library panic where a text cannot be written: here a message that
//! nobody can receive is lost, and standard output that cannot be written ends the program with an error.

use std::fmt::Arguments;
use std::io::{ErrorKind, StdinLock, StdoutLock, Write};
use std::os::fd::AsFd;

use element::output::reason;
use sys::pipe::StandardStream;
use sys::poll::{Interest, Poller};
use sys::standard;

macro_rules! print {
    ($($text:tt)*) => { $crate::print::text(format_args!($($text)*), "") };
}
macro_rules! println {
    () => { $crate::print::text(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::print::text(format_args!($($text)*), "\n") };
}
macro_rules! eprint {
    ($($text:tt)*) => { $crate::print::message(format_args!($($text)*), "") };
}
macro_rules! eprintln {
    () => { $crate::print::message(format_args!(""), "\n") };
    ($($text:tt)*) => { $crate::print::message(format_args!($($text)*), "\n") };
}

/// Writes to standard output.
pub fn text(text: Arguments<'_>, end: &str) {
    written(output().and_then(|mut out| {
        out.write_fmt(text)?;
        out.write_all(end.as_bytes())
    }));
}

/// Writes bytes to standard output.
pub fn bytes(bytes: &[u8]) {
    written(output().and_then(|mut out| out.write_all(bytes)));
}

/// Standard output, unless it was closed when the program began: what is written would be lost.
pub fn output() -> std::io::Result<StdoutLock<'static>> {
    refuse_closed(StandardStream::Output).map(|()| std::io::stdout().lock())
}

/// Standard input, unless it was closed when the program began: it would seem to be empty.
pub fn input() -> std::io::Result<StdinLock<'static>> {
    refuse_closed(StandardStream::Input).map(|()| std::io::stdin().lock())
}

/// Ends the program once nobody reads standard output any more, as writing to it would: for what may wait long before it writes.
pub fn end_with_reader() {
    if refuse_closed(StandardStream::Output).is_err() {
        return;
    }
    // Without the thread it ends when it writes.
    let _ = sys::thread::start("reader", sys::thread::SMALL_STACK, || -> sys::Result<()> {
        let mut poller = Poller::new()?;
        poller.add(std::io::stdout().as_fd(), 0, Interest::default())?;
        while !poller.wait(None)?.iter().any(|event| event.closed) {}
        sys::signals::break_pipe();
        Ok(())
    });
}

fn refuse_closed(stream: StandardStream) -> std::io::Result<()> {
    match standard::was_closed(stream) {
        true => Err(std::io::Error::other("it is closed")),
        false => Ok(()),
    }
}

fn written(written: std::io::Result<()>) {
    match written {
        Ok(()) => {}
        // Graphs go on when a reader goes away; all else has ended by the signal.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => {
            eprintln!("weir: standard output: {}", reason(&error));
            std::process::exit(1);
        }
    }
}

/// A number of things: `1 step`, `2 steps`.
pub fn counted(n: usize, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Writes to standard error.
pub fn message(text: Arguments<'_>, end: &str) {
    let mut out = std::io::stderr().lock();
    let _ = out.write_fmt(text).and_then(|()| out.write_all(end.as_bytes()));
}
