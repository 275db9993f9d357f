//! Listening on a port or a file for clients.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixListener;

use rustix::process::{getpid, pidfd_getfd, pidfd_open, PidfdFlags, PidfdGetfdFlags};

/// Bytes of the longest name of a Unix socket, and its end.
pub const PATH_MAX: usize = 108;
/// Ports to try after the first one where any near it will do.
const NEARBY_PORTS: u16 = 11;

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a TCP port, or the next free one, of all addresses or the local one.
    Tcp { port: u16, or_next: bool, is_local: bool },
    /// On a file.
    Unix { path: String },
    /// Not at all: a descriptor that is a connection already.
    Socket { fd: i32 },
}

/// A listening socket that does not block.
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Place {
    /// Begins to listen; gives the port or file.
    pub fn listen(&self) -> std::io::Result<(Listener, String)> {
        match self {
            Place::Tcp { port, or_next, is_local } => {
                let ip = if *is_local { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
                let last = port.saturating_add(if *or_next { NEARBY_PORTS } else { 0 }).min(65534).max(*port);
                let mut port = *port;
                let listener = loop {
                    match TcpListener::bind((ip, port)) {
                        Err(_) if port < last => port += 1,
                        result => break result?,
                    }
                };
                listener.set_nonblocking(true)?;
                Ok((Listener::Tcp(listener), port.to_string()))
            }
            Place::Unix { path } => {
                let listener = UnixListener::bind(path)?;
                listener.set_nonblocking(true)?;
                Ok((Listener::Unix(listener), path.clone()))
            }
            Place::Socket { .. } => Err(std::io::ErrorKind::Unsupported.into()),
        }
    }

    /// The port or file as far as it is known before listening.
    pub fn address(&self) -> String {
        match self {
            Place::Tcp { port, or_next, .. } => format!("{port}{}", if *or_next { "+" } else { "" }),
            Place::Unix { path } => path.clone(),
            Place::Socket { fd } => fd.to_string(),
        }
    }
}

/// A descriptor of this process by its number.
pub fn adopt(fd: i32) -> std::io::Result<OwnedFd> {
    let process = pidfd_open(getpid(), PidfdFlags::empty())?;
    Ok(pidfd_getfd(process, fd, PidfdGetfdFlags::empty())?)
}

impl Listener {
    /// The next client, with its address if it has one to speak of.
    pub fn accept(&self) -> std::io::Result<(OwnedFd, Option<String>)> {
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                let peer = match peer {
                    SocketAddr::V4(peer) => format!("{}.{}", peer.ip(), peer.port()),
                    SocketAddr::V6(peer) => peer.to_string(),
                };
                Ok((stream.into(), Some(peer)))
            }
            Listener::Unix(listener) => Ok((listener.accept()?.0.into(), None)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        }
    }
}
