//! The other side of a stream that may come and go: a Unix socket, a named pipe that is read, or a file.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};

use element::output::reason;
use socket2::{Domain, SockAddr, Socket, Type};

use super::pipe_out::PipeOut;
use super::table::Ends;
use super::{descriptor, file, Endpoint, Format, Interface};

/// No reader has opened the pipe (fifo(7)).
const ENXIO: i32 = 6;

/// Looks for the other side of an endpoint, without waiting.
pub struct Peers {
    endpoint: Endpoint,
    listener: Option<UnixListener>,
    /// Nobody listened at a socket that was there.
    was_refused: bool,
}

/// What was found.
pub enum Found {
    /// Somebody is there.
    Peer(Ends),
    /// Nobody yet: the listener tells when somebody is.
    Listening,
    /// Nobody yet: look again later.
    Nobody,
}

/// Somebody is at the other side.
pub struct Open {
    /// What packets go through.
    pub interface: Interface,
    /// Duplicates of what tells of packets and of room.
    pub watched: [OwnedFd; 2],
}

impl Peers {
    /// For `unix:PATH`, `fifo:PATH` or `file:PATH`.
    pub fn new(text: &str) -> Result<Peers, String> {
        match Endpoint::parse(text) {
            Ok(endpoint @ (Endpoint::Unix(_) | Endpoint::Fifo(_) | Endpoint::File(_))) => {
                Ok(Peers { endpoint, listener: None, was_refused: false })
            }
            _ => Err(format!("`{text}`: expected unix:PATH, fifo:PATH or file:PATH")),
        }
    }

    /// What is looked for.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Tells by being readable that somebody has come.
    pub fn listener(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().map(AsFd::as_fd)
    }

    /// Whether there can be another one when the one that is there has gone.
    pub fn may_come_again(&self) -> bool {
        !matches!(self.endpoint, Endpoint::File(_))
    }

    /// Looks for somebody.
    pub fn find(&mut self) -> Result<Found, String> {
        match self.endpoint.clone() {
            Endpoint::Unix(path) => self.find_at_socket(&path),
            Endpoint::Fifo(path) => find_reader(&path),
            Endpoint::File(path) => file::output(&path, Format::Pcap).map(Found::Peer),
            _ => Ok(Found::Nobody),
        }
    }

    fn find_at_socket(&mut self, path: &str) -> Result<Found, String> {
        if let Some(listener) = &self.listener {
            return match listener.accept() {
                Ok((socket, _)) => peer(socket, path),
                Err(error) if is_for_now(error.kind()) => Ok(Found::Listening),
                Err(error) => Err(words(path, &error)),
            };
        }
        let is_socket = std::fs::symlink_metadata(path).map(|facts| facts.file_type().is_socket());
        if let Ok(false) = is_socket {
            return Err(format!("{path}: there is something else than a socket"));
        }
        match connect(path) {
            Ok(socket) => {
                self.was_refused = false;
                return peer(socket, path);
            }
            // It may be about to listen.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && !self.was_refused => {
                self.was_refused = true;
                return Ok(Found::Nobody);
            }
            // Whoever listened there was killed.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => drop(std::fs::remove_file(path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) if is_for_now(error.kind()) => return Ok(Found::Nobody),
            Err(error) => return Err(words(path, &error)),
        }
        self.was_refused = false;
        let listener = UnixListener::bind(path).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok(listener)
        });
        self.listener = Some(listener.map_err(|error| words(path, &error))?);
        Ok(Found::Listening)
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        if let (Some(_), Endpoint::Unix(path)) = (&self.listener, &self.endpoint) {
            // Somebody may have removed it before.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Open {
    /// From the two ends of what was found.
    pub fn new((input, output): Ends, name: &str) -> Result<Open, String> {
        let words = |error: sys::SysError| error.to_string();
        let mut interface = Interface::new(name).map_err(words)?;
        if let Some(input) = input {
            interface.add_input(input).map_err(words)?;
        }
        if let Some(output) = output {
            interface.add_output(output).map_err(words)?;
        }
        let reason = |error: std::io::Error| element::output::reason(&error);
        let rx = interface.rx_fd().try_clone_to_owned().map_err(reason)?;
        let tx = interface.tx_fd().try_clone_to_owned().map_err(reason)?;
        Ok(Open { interface, watched: [rx, tx] })
    }
}

fn words(path: &str, error: &std::io::Error) -> String {
    format!("{path}: {}", reason(error))
}

fn is_for_now(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
}

/// Connects without waiting, as one does where too many wait already.
fn connect(path: &str) -> std::io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(OwnedFd::from(socket).into())
}

fn peer(socket: UnixStream, path: &str) -> Result<Found, String> {
    descriptor::stream(socket.as_fd(), path, Format::Pcap, (true, true)).map(Found::Peer)
}

fn find_reader(path: &str) -> Result<Found, String> {
    let facts = std::fs::metadata(path).map_err(|error| words(path, &error))?;
    if !facts.file_type().is_fifo() {
        return Err(format!("{path}: this is no named pipe; `mkfifo` makes one"));
    }
    let file: File = match OpenOptions::new().write(true).custom_flags(sys::pipe::NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(ENXIO) => return Ok(Found::Nobody),
        other => other.map_err(|error| words(path, &error))?,
    };
    let output = PipeOut::new(file, path.to_string(), Format::Pcap).map_err(|error| error.to_string())?;
    Ok(Found::Peer((None, Some(Box::new(output)))))
}
