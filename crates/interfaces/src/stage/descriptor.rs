//! Descriptors that the process was given, and Unix sockets.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use element::output::reason;
use sys::pipe::{self, Kind};
use sys::unix::{listen_at, Listening};

use super::pipe_in::PipeIn;
use super::pipe_out::PipeOut;
use super::table::Ends;
use super::{door, file, Format, Input, Output};

/// How long a socket may be there before somebody listens.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often to look whether somebody does.
const LOOK: Duration = Duration::from_millis(1);

/// The numbers that were given to interfaces.
static TAKEN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// The directions `(reads, writes)` of a stream.
pub fn stream(fd: BorrowedFd<'_>, label: &str, format: Format, uses: (bool, bool)) -> Result<Ends, String> {
    let words = |error: sys::SysError| format!("{label}: {error}");
    let open = |reads| -> Result<File, String> {
        let is_pipe = matches!(pipe::kind(fd), Ok(Kind::Pipe(_)));
        if is_pipe {
            return reopened(fd, reads).map_err(|error| format!("{label}: {error}"));
        }
        let file = fd.try_clone_to_owned().map_err(|error| format!("{label}: {}", reason(&error)))?;
        if matches!(pipe::kind(fd), Ok(Kind::Socket)) {
            let socket = UnixStream::from(file);
            socket.set_nonblocking(true).map_err(|error| format!("{label}: {}", reason(&error)))?;
            return Ok(OwnedFd::from(socket).into());
        }
        Ok(file.into())
    };
    let input = match uses.0 {
        true => Some(Box::new(PipeIn::new(open(true)?, label.to_string()).map_err(words)?) as Box<dyn Input>),
        false => None,
    };
    let output = match uses.1 {
        true => {
            let output = PipeOut::new(open(false)?, label.to_string(), format).map_err(words)?;
            Some(Box::new(output) as Box<dyn Output>)
        }
        false => None,
    };
    Ok((input, output))
}

/// A pipe's end, opened anew so that it does not block.
pub fn reopened(fd: BorrowedFd<'_>, reads: bool) -> Result<File, String> {
    let file = if reads { pipe::reopen_to_read(fd) } else { pipe::reopen_to_write(fd) };
    file.map_err(|error| reason(&error))
}

/// A descriptor that was open when the process began.
pub fn inherited(number: i32, format: Format) -> Result<Ends, String> {
    let label = format!("descriptor {number}");
    let path = format!("/proc/self/fd/{number}");
    if std::fs::symlink_metadata(&path).is_err() {
        return Err(format!("{label} is not open"));
    }
    if !TAKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(number) {
        return Err(format!("{label} is another interface already"));
    }
    let fd = pipe::take(number).map_err(|error| error.to_string())?;
    let kind = pipe::kind(&fd).map_err(|error| error.to_string())?;
    let (reads, writes) = pipe::access(&fd).map_err(|error| error.to_string())?;
    let uses = match kind {
        Kind::Socket => (true, true),
        _ if reads => (true, false),
        _ => (false, writes),
    };
    stream(fd.as_fd(), &label, format, uses)
}

/// A Unix socket: whoever listens there is the other side, else whoever connects first. They are waited for unless `may_come_later`;
/// then it is said whether an element sends there.
pub fn unix(path: &str, format: Format, may_come_later: Option<bool>) -> Result<Ends, String> {
    let words = |error: std::io::Error| format!("{path}: {}", reason(&error));
    if let Some(kind) = std::fs::metadata(path).map(|facts| facts.file_type()).ok().filter(|k| !k.is_socket())
    {
        return Err(file::mismatch(path, kind, "socket"));
    }
    let begin = Instant::now();
    let socket = loop {
        match listen_at(Path::new(path), PATIENCE).map_err(words)? {
            Listening::Elsewhere(Some(socket)) => break socket,
            // Somebody else is being let in.
            Listening::Elsewhere(None) if begin.elapsed() < PATIENCE => std::thread::sleep(LOOK),
            Listening::Elsewhere(None) => return Err(format!("{path}: too many wait for who listens there")),
            Listening::Here(listener, file) => {
                if let Some(is_written) = may_come_later {
                    return door::wait_at(path, (file, listener), format, is_written);
                }
                let accepted = listener.accept();
                // One stage is at each end: nobody else is to find the socket.
                drop(file);
                break accepted.map_err(words)?.0;
            }
        }
    };
    stream(socket.as_fd(), path, format, (true, true))
}
