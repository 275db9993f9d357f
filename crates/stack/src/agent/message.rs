//! What a stack's first process is asked and what it answers, as messages with descriptors.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sys::{unix, SysError};

/// What is asked of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Start the program.
    Go,
    /// Send this signal to all processes of the stack.
    Signal { number: i32 },
    /// Open a tap, or what stands in for one, as device number `index`.
    Open { index: u32, name: String },
    /// Send the network namespace and a new socket to its tables.
    Enter,
    /// The settings of a device under `/proc/sys/net`.
    Settings { name: String },
    /// Write those of these settings that are different now.
    Set { settings: String },
}

/// What an agent answers, or tells by itself.
#[derive(Debug)]
pub(crate) enum Reply {
    Entered {
        network: OwnedFd,
        netlink: OwnedFd,
    },
    Tap(OwnedFd),
    /// Packet sockets in a hidden namespace, that namespace, and a socket to its tables.
    Cable {
        rx: OwnedFd,
        tx: OwnedFd,
        network: OwnedFd,
        netlink: OwnedFd,
        reason: String,
    },
    Settings(String),
    Done,
    Failed(String),
    /// The program has ended, with a status as of wait(2).
    Ended(i32),
    /// The program could not be started: why, and the kernel's number for that, or 0.
    NotStarted {
        reason: String,
        errno: i32,
    },
}

/// More than all settings of a device take, and more than anything else takes.
const LONGEST: usize = 64 << 10;
const SHORT: usize = 4096;

impl Request {
    /// Sends the request, and with it the socket to answer on.
    pub(crate) fn send(&self, socket: impl AsFd, answer: Option<BorrowedFd<'_>>) -> sys::Result<()> {
        let bytes = match self {
            Self::Go => vec![b'g'],
            Self::Signal { number } => [&b"k"[..], &number.to_ne_bytes()].concat(),
            Self::Open { index, name } => [&b"o"[..], &index.to_ne_bytes(), name.as_bytes()].concat(),
            Self::Enter => vec![b'e'],
            Self::Settings { name } => [b"s", name.as_bytes()].concat(),
            Self::Set { settings } => [b"w", settings.as_bytes()].concat(),
        };
        unix::send_fds(socket, &bytes, answer.as_slice()).map(drop)
    }

    /// Receives a request and the socket to answer on; `None` for what is no request.
    pub(crate) fn receive(socket: impl AsFd) -> sys::Result<Option<(Self, Option<OwnedFd>)>> {
        let (bytes, fds) = receive(socket, LONGEST)?;
        Ok(Self::parse(&bytes).map(|request| (request, fds.into_iter().next())))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Some(match kind {
            b'g' => Self::Go,
            b'k' => Self::Signal { number: i32::from_ne_bytes(*rest.first_chunk()?) },
            b'o' => {
                let (index, name) = rest.split_first_chunk()?;
                Self::Open { index: u32::from_ne_bytes(*index), name: text(name)? }
            }
            b'e' => Self::Enter,
            b's' => Self::Settings { name: text(rest)? },
            b'w' => Self::Set { settings: text(rest)? },
            _ => return None,
        })
    }
}

impl Reply {
    pub(crate) fn send(&self, socket: impl AsFd) -> sys::Result<()> {
        let not_started;
        let (kind, rest, fds): (u8, &[u8], Vec<&OwnedFd>) = match self {
            Self::Entered { network, netlink } => (b'e', &[], vec![network, netlink]),
            Self::Tap(tap) => (b't', &[], vec![tap]),
            Self::Cable { rx, tx, network, netlink, reason } => {
                (b'c', reason.as_bytes(), vec![rx, tx, network, netlink])
            }
            Self::Settings(text) => (b's', text.as_bytes(), Vec::new()),
            Self::Done => (b'd', &[], Vec::new()),
            Self::Failed(text) => (b'f', text.as_bytes(), Vec::new()),
            Self::Ended(status) => (b'x', &status.to_ne_bytes(), Vec::new()),
            Self::NotStarted { reason, errno } => {
                not_started = [&errno.to_ne_bytes(), reason.as_bytes()].concat();
                (b'n', &not_started, Vec::new())
            }
        };
        let fds: Vec<BorrowedFd<'_>> = fds.into_iter().map(AsFd::as_fd).collect();
        unix::send_fds(socket, &[&[kind], rest].concat(), &fds).map(drop)
    }

    /// Receives a reply; `None` for what is none, as when the agent is gone.
    pub(crate) fn receive(socket: impl AsFd) -> sys::Result<Option<Self>> {
        let (bytes, fds) = receive(socket, SHORT)?;
        Ok(Self::parse(&bytes, fds))
    }

    /// As [`Self::receive`], for the settings of a device.
    pub(crate) fn receive_settings(socket: impl AsFd) -> sys::Result<Option<Self>> {
        let (bytes, fds) = receive(socket, LONGEST)?;
        Ok(Self::parse(&bytes, fds))
    }

    fn parse(bytes: &[u8], fds: Vec<OwnedFd>) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let text = String::from_utf8_lossy(rest).into_owned();
        let mut fds = fds.into_iter();
        Some(match kind {
            b'e' => Self::Entered { network: fds.next()?, netlink: fds.next()? },
            b't' => Self::Tap(fds.next()?),
            b'c' => {
                let (rx, tx, network, netlink) = (fds.next()?, fds.next()?, fds.next()?, fds.next()?);
                Self::Cable { rx, tx, network, netlink, reason: text }
            }
            b's' => Self::Settings(text),
            b'd' => Self::Done,
            b'f' => Self::Failed(text),
            b'x' => Self::Ended(i32::from_ne_bytes(*rest.first_chunk()?)),
            b'n' => {
                let (errno, reason) = rest.split_first_chunk()?;
                let reason = String::from_utf8_lossy(reason).into_owned();
                Self::NotStarted { reason, errno: i32::from_ne_bytes(*errno) }
            }
            _ => return None,
        })
    }
}

impl From<SysError> for Reply {
    fn from(error: SysError) -> Self {
        Self::Failed(error.to_string())
    }
}

fn receive(socket: impl AsFd, room: usize) -> sys::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut bytes = vec![0; room];
    let (n_bytes, fds) = unix::recv_fds(socket, &mut bytes)?;
    bytes.truncate(n_bytes);
    Ok((bytes, fds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn requests_arrive_as_they_were_sent() {
        let (here, there) = unix::message_pair(None).unwrap();
        for request in [
            Request::Go,
            Request::Signal { number: 15 },
            Request::Open { index: 7, name: "left".into() },
            Request::Enter,
            Request::Settings { name: "right".into() },
            Request::Set { settings: "ipv4/conf/left/rp_filter 1\n".into() },
        ] {
            request.send(&here, Some(here.as_fd())).unwrap();
            let (received, answer) = Request::receive(&there).unwrap().unwrap();
            assert!(received == request && answer.is_some());
        }
    }

    #[test]
    fn replies_bring_their_descriptors() {
        let (here, there) = unix::message_pair(None).unwrap();
        let fd = || here.try_clone().unwrap();
        let reason = "no taps".to_string();
        Reply::Cable { rx: fd(), tx: fd(), network: fd(), netlink: fd(), reason }.send(&here).unwrap();
        Reply::Ended(-3).send(&here).unwrap();
        Reply::NotStarted { reason: "why".into(), errno: 13 }.send(&here).unwrap();
        let cable = Reply::receive(&there).unwrap();
        assert!(matches!(&cable, Some(Reply::Cable { reason, .. }) if reason == "no taps"));
        drop(cable);
        assert!(matches!(Reply::receive(&there).unwrap(), Some(Reply::Ended(-3))));
        let reply = Reply::receive(&there).unwrap();
        assert!(matches!(reply, Some(Reply::NotStarted { reason, errno: 13 }) if reason == "why"));
        drop(here);
        assert!(Reply::receive(&there).unwrap().is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_none_are_taken_for_descriptors(bytes: Vec<u8>) {
            Request::parse(&bytes);
            let reply = Reply::parse(&bytes, Vec::new());
            let has_fds = matches!(reply, Some(Reply::Tap(_) | Reply::Entered { .. } | Reply::Cable { .. }));
            prop_assert!(!has_fds);
        }
    }
}
