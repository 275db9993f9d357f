//! The other side of a stream that may come and go: a Unix socket, a named pipe that is read, or a file.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use element::output::reason;
use sys::unix::{connect, listen_at, Listening, SocketFile};

use super::pipe_out::PipeOut;
use super::table::Ends;
use super::{descriptor, file, Endpoint, Format, Interface};

/// No reader has opened the pipe (fifo(7)).
const ENXIO: i32 = 6;

/// Looks for the other side of an endpoint, without waiting.
pub struct Peers {
    endpoint: Endpoint,
    /// The socket's file goes before the socket does.
    file: Option<SocketFile>,
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
                Ok(Peers { endpoint, file: None, listener: None, was_refused: false })
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
        match connect(Path::new(path)) {
            Ok(socket) => {
                self.was_refused = false;
                return peer(socket, path);
            }
            // It may be about to listen.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && !self.was_refused => {
                self.was_refused = true;
                return Ok(Found::Nobody);
            }
            // Whoever listened there was killed, or nobody did.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => {}
            Err(error) if is_for_now(error.kind()) => return Ok(Found::Nobody),
            Err(error) => return Err(words(path, &error)),
        }
        self.was_refused = false;
        // Packets of others wait meanwhile: it is not waited for those who begin at the same time.
        match listen_at(Path::new(path), Duration::ZERO) {
            Ok(Listening::Here(listener, file)) => {
                listener.set_nonblocking(true).map_err(|error| words(path, &error))?;
                (self.listener, self.file) = (Some(listener), Some(file));
                Ok(Found::Listening)
            }
            Ok(Listening::Elsewhere(Some(socket))) => peer(socket, path),
            Ok(Listening::Elsewhere(None)) => Ok(Found::Nobody),
            Err(error) if is_for_now(error.kind()) => Ok(Found::Nobody),
            Err(error) => Err(words(path, &error)),
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

fn peer(socket: UnixStream, path: &str) -> Result<Found, String> {
    descriptor::stream(socket.as_fd(), path, Format::Pcap, (true, true)).map(Found::Peer)
}

fn find_reader(path: &str) -> Result<Found, String> {
    let facts = std::fs::metadata(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("{}; `mkfifo` makes a named pipe", words(path, &error)),
        _ => words(path, &error),
    })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_goes_with_who_listens_at_it_and_that_of_another_stays() {
        let path = std::env::temp_dir().join(format!("weir-peer-{}", std::process::id()));
        let text = format!("unix:{}", path.display());
        let listening = || {
            let mut peers = Peers::new(&text).unwrap();
            // One that refuses may be about to listen.
            while !matches!(peers.find().unwrap(), Found::Listening) {}
            peers
        };
        drop(listening());
        assert!(!path.exists());
        let peers = listening();
        std::fs::remove_file(&path).unwrap();
        drop(UnixListener::bind(&path).unwrap());
        drop(peers);
        assert!(path.exists());
        // Whoever listened there was killed.
        let mut peers = listening();
        let mut other = Peers::new(&text).unwrap();
        assert!(matches!(other.find().unwrap(), Found::Peer(_)));
        assert!(matches!(peers.find().unwrap(), Found::Peer(_)));
        drop(peers);
        assert!(!path.exists());
    }
}
