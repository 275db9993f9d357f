//! Requests to the kernel's tables of devices, addresses and routes (rtnetlink), and what it answers.

mod message;
mod request;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{check, retry, Result, SysError};
use crate::sockopt;
pub use message::{attributes, Message, News};
use message::{collect, tell};
pub(crate) use message::{messages, u32_at};
pub use request::{Nest, Remedy, Request, APPEND, CREATE, DUMP, REPLACE};

/// A socket to the kernel's tables of one network namespace: that in which it was opened.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
}

impl Socket {
    /// Opens a socket to the calling thread's namespace.
    pub fn open() -> Result<Self> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: socket takes numbers only.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        let raw = check(raw, "socket(AF_NETLINK)", TARGET)?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        Ok(Self { fd: unsafe { OwnedFd::from_raw_fd(raw) }, sequence: 0 })
    }

    /// Takes over a socket that another process opened, in its namespace, and sent; it must not use it itself.
    pub fn from_received(fd: OwnedFd) -> Result<Self> {
        let option = |option, call| -> Result<libc::c_int> {
            sockopt::get(fd.as_fd(), (libc::SOL_SOCKET, option), call, TARGET)
        };
        let family = option(libc::SO_DOMAIN, "getsockopt(SO_DOMAIN)")?;
        let protocol = option(libc::SO_PROTOCOL, "getsockopt(SO_PROTOCOL)")?;
        if (family, protocol) != (libc::AF_NETLINK, libc::NETLINK_ROUTE) {
            let reason = "it is no socket of rtnetlink".into();
            return Err(SysError::Untrusted { target: TARGET.into(), reason, remedy: None });
        }
        sockopt::set_receive_timeout(fd.as_fd(), PATIENCE, TARGET)?;
        Ok(Self { fd, sequence: 0 })
    }

    /// Has the kernel do what `request` says; `target` names what it is about, for errors.
    pub fn apply(&mut self, request: Request, target: &str) -> Result<()> {
        self.apply_all(vec![request], target)
    }

    /// As [`Self::apply`], with one system call for all; the others are done even if one fails.
    pub fn apply_all(&mut self, mut requests: Vec<Request>, target: &str) -> Result<()> {
        let Some(last) = requests.last() else { return Ok(()) };
        let (call, first) = (last.call, self.sequence.wrapping_add(1));
        let mut bytes = Vec::new();
        for request in &mut requests {
            self.sequence = self.sequence.wrapping_add(1);
            bytes.extend_from_slice(request.finish(self.sequence, libc::NLM_F_ACK as u16));
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        send_to_kernel(self.fd.as_fd(), &bytes, call, target)?;
        let mut failed = Ok(());
        for (sequence, request) in
            std::iter::successors(Some(first), |n| Some(n.wrapping_add(1))).zip(&requests)
        {
            // Each acknowledgement is a message of its own.
            let result = self.receive_all(&mut [0; ANSWER_LEN], sequence, request.call, target);
            failed = failed.and(result.map(drop).map_err(|error| request.explain(error, target)));
        }
        failed
    }

    /// The kernel's answers to a question: one, or all that a request with [`DUMP`] asked for.
    pub fn ask(&mut self, mut request: Request, target: &str) -> Result<Vec<Message>> {
        // The acknowledgement that follows a single answer is the end to wait for.
        let flags = if request.is_dump() { 0 } else { libc::NLM_F_ACK as u16 };
        self.sequence = self.sequence.wrapping_add(1);
        let call = request.call;
        send_to_kernel(self.fd.as_fd(), request.finish(self.sequence, flags), call, target)?;
        self.receive_all(&mut vec![0; DUMP_LEN], self.sequence, call, target)
    }

    /// Hears from now on of what changes in the tables of these groups (`RTMGRP_*`, or-ed), by [`Self::news`]. Such a socket, which was
    /// not used yet, asks nothing.
    pub fn subscribe(&self, groups: libc::c_int) -> Result<()> {
        // SAFETY: a sockaddr_nl of zeros is valid.
        let mut own: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        own.nl_family = libc::AF_NETLINK as u16;
        own.nl_groups = groups as u32;
        let len = size_of_val(&own) as libc::socklen_t;
        // SAFETY: the kernel reads exactly the address given.
        let bound = unsafe { libc::bind(self.fd.as_raw_fd(), std::ptr::from_ref(&own).cast(), len) };
        check(bound, "bind(AF_NETLINK)", TARGET).map(drop)
    }

    /// What has changed since [`Self::subscribe`] or the last call, in order, as far as the kernel kept it.
    pub fn news(&mut self) -> Vec<News> {
        let (mut news, mut buffer) = (Vec::new(), vec![0; DUMP_LEN]);
        loop {
            // SAFETY: the kernel writes at most the length of `buffer`.
            let n_bytes = unsafe {
                let start = buffer.as_mut_ptr().cast();
                libc::recv(self.fd.as_raw_fd(), start, buffer.len(), libc::MSG_DONTWAIT)
            };
            match usize::try_from(n_bytes) {
                Ok(n_bytes) => tell(&buffer[..n_bytes], &mut news),
                // What there was no room for is missing, and the rest follows.
                Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => {}
                Err(_) => return news,
            }
        }
    }

    fn receive_all(
        &self,
        buffer: &mut [u8],
        sequence: u32,
        call: &'static str,
        target: &str,
    ) -> Result<Vec<Message>> {
        let mut answers = Vec::new();
        loop {
            let n_bytes = receive(self.fd.as_fd(), buffer, call, target)?;
            match collect(&buffer[..n_bytes], sequence, &mut answers) {
                None => {}
                Some(0) => return Ok(answers),
                Some(errno) => {
                    let source = std::io::Error::from_raw_os_error(errno);
                    return Err(SysError::call(call, target, source));
                }
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> Self {
        socket.fd
    }
}

const TARGET: &str = "rtnetlink";
const HEADER_LEN: usize = 16;
/// The kernel fills no message of a dump beyond 32 KiB (netlink_dump in af_netlink.c).
const DUMP_LEN: usize = 32 << 10;
/// Room for an error with the request that it is about.
const ANSWER_LEN: usize = 4096;
/// The kernel answers at once; another process that kept a copy of the socket could steal answers.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sends to an address, not just along the socket.
///
/// Without an address the kernel asks also whether whoever opened the socket has the capability
/// (`__netlink_ns_capable` in af_netlink.c), which root of one user namespace has not in another; with one, only
/// whether the sender has. The owner of both has it in both.
fn send_to_kernel(socket: BorrowedFd<'_>, bytes: &[u8], call: &'static str, target: &str) -> Result<()> {
    // SAFETY: a sockaddr_nl of zeros is valid.
    let mut kernel: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    kernel.nl_family = libc::AF_NETLINK as u16;
    let len = size_of_val(&kernel) as libc::socklen_t;
    // SAFETY: the kernel reads exactly the bytes and the address given.
    let sent = unsafe {
        let address = std::ptr::from_ref(&kernel).cast();
        libc::sendto(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), 0, address, len)
    };
    if sent < 0 {
        return Err(SysError::last(call, target));
    }
    Ok(())
}

fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8], call: &'static str, target: &str) -> Result<usize> {
    // SAFETY: the kernel writes at most the length of `buffer`.
    retry(|| unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) })
        .map_err(|error| SysError::call(call, target, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_found_and_a_missing_one_is_an_error() {
        let mut socket = Socket::open().unwrap();
        let all = socket.ask(Request::new("RTM_GETLINK", libc::RTM_GETLINK, DUMP, &[0; 16]), "all").unwrap();
        let is_lo = |m: &Message| attributes(&m.payload[16..]).any(|a| a == (libc::IFLA_IFNAME, b"lo\0"));
        assert!(all.iter().any(is_lo));
        let mut one = Request::new("RTM_GETLINK", libc::RTM_GETLINK, 0, &[0; 16]);
        one.attr(libc::IFLA_IFNAME, b"nosuchdevice\0");
        assert_eq!(socket.ask(one, "nosuchdevice").unwrap_err().errno(), Some(libc::ENODEV));
    }

    #[test]
    fn of_several_requests_the_first_error_is_told_and_the_rest_is_done() {
        crate::testing::in_namespace(|| {
            let mut socket = Socket::open().unwrap();
            let set = |index, mtu: u32| {
                let mut request = crate::link_request::change(index, 0, 0);
                request.attr(libc::IFLA_MTU, &mtu.to_ne_bytes());
                request
            };
            let error = socket.apply_all(vec![set(1, 9000), set(77, 1), set(1, 8000)], "lo").unwrap_err();
            assert_eq!(error.errno(), Some(libc::ENODEV));
            assert_eq!(crate::link::mtu("lo").unwrap(), 8000);
            socket.apply_all(vec![set(1, 9000)], "lo").unwrap();
            assert_eq!(crate::link::mtu("lo").unwrap(), 9000);
        });
    }

    #[test]
    fn sockets_of_another_kind_are_refused() {
        let (_, writer) = std::io::pipe().unwrap();
        assert!(Socket::from_received(writer.into()).is_err());
        let (here, _) = std::os::unix::net::UnixStream::pair().unwrap();
        assert!(Socket::from_received(here.into())
            .unwrap_err()
            .to_string()
            .contains("no socket of rtnetlink"));
        Socket::from_received(Socket::open().unwrap().into()).unwrap();
    }
}
