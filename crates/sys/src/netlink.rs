//! Requests to the kernel's tables of devices, addresses and routes (rtnetlink), and what it answers.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{check, Result, SysError};
use crate::sockopt;

/// Makes what is not there, and fails if it is.
pub const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
/// Makes what is not there, or changes it.
pub const REPLACE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;
/// Makes it beside what is there.
pub const APPEND: u16 = (libc::NLM_F_CREATE | libc::NLM_F_APPEND) as u16;
/// Asks for all there are.
pub const DUMP: u16 = libc::NLM_F_DUMP as u16;

/// A request being written: a header, a fixed part, then attributes.
pub struct Request {
    bytes: Vec<u8>,
    call: &'static str,
    /// What of the target it is about, if an error is to say so, and what can be done about one.
    about: Option<(String, Remedy)>,
}

/// What the operator can do where the kernel refused with this number.
pub type Remedy = fn(i32) -> Option<&'static str>;

/// An attribute that holds attributes, still open.
pub struct Nest(usize);

impl Request {
    /// `call` is the kernel's name of the message `kind`, for errors.
    pub fn new(call: &'static str, kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = flags | libc::NLM_F_REQUEST as u16;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self { bytes, call, about: None }
    }

    /// The request, of which errors tell what of its target it is about.
    pub fn about(mut self, what: String, remedy: Remedy) -> Self {
        self.about = Some((what, remedy));
        self
    }

    /// The error with what this request is about.
    fn explain(&self, error: SysError, target: &str) -> SysError {
        match (&self.about, error) {
            (Some((what, remedy)), SysError::Call { call, source, .. }) => {
                SysError::call(call, format!("{target}: {what}"), source).with_remedy(*remedy)
            }
            (_, error) => error,
        }
    }

    /// Appends an attribute; values are far shorter than 64 KiB.
    pub fn attr(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let nest = self.begin(kind);
        self.bytes.extend_from_slice(value);
        self.end(nest);
        self
    }

    /// Appends bytes inside an open nest.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Opens an attribute that holds attributes.
    pub fn begin(&mut self, kind: u16) -> Nest {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        Nest(start)
    }

    pub fn end(&mut self, Nest(start): Nest) {
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Sends the request in the calling thread's network namespace and waits for the kernel's answer.
    pub(crate) fn send(self, target: &str) -> Result<()> {
        Socket::open()?.apply(self, target)
    }

    /// The message's bytes, with its length, its number and the flags that `flags` adds.
    fn finish(&mut self, sequence: u32, flags: u16) -> &[u8] {
        let len = self.bytes.len() as u32;
        let flags = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) | flags;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.bytes
    }
}

/// A message of the kernel: its kind, and its fixed part with the attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: u16,
    pub payload: Vec<u8>,
}

/// What changed in the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The entry, as an answer tells it.
    pub message: Message,
    /// Whether it takes the place of another.
    pub replaces: bool,
    /// Whether a program asked for it by a socket such as [`Socket`], and it did not come of another change.
    pub was_asked_for: bool,
}

/// The attributes in `bytes`, kind and value; what is cut short ends them.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & NLA_TYPE_MASK;
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

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
        let is_dump = u16::from_ne_bytes([request.bytes[6], request.bytes[7]]) & DUMP == DUMP;
        // The acknowledgement that follows a single answer is the end to wait for.
        let flags = if is_dump { 0 } else { libc::NLM_F_ACK as u16 };
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
/// Above the two bits that say how a value is written.
const NLA_TYPE_MASK: u16 = 0x3fff;
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
    loop {
        // SAFETY: the kernel writes at most the length of `buffer`.
        let n_bytes = unsafe { libc::recv(socket.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
        match usize::try_from(n_bytes) {
            Ok(n_bytes) => return Ok(n_bytes),
            Err(_) => {
                let source = std::io::Error::last_os_error();
                if source.kind() != std::io::ErrorKind::Interrupted {
                    return Err(SysError::call(call, target, source));
                }
            }
        }
    }
}

/// Adds the messages in `bytes` to `answers`; the error number of the end if it is among them, 0 for success.
fn collect(bytes: &[u8], sequence: u32, answers: &mut Vec<Message>) -> Option<i32> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (Some(len), Some(kind)) = (u32_at(rest, 0), u16_at(rest, 4)) else { return Some(libc::EBADMSG) };
        let Some(payload) = rest.get(HEADER_LEN..len as usize) else { return Some(libc::EBADMSG) };
        // What answers an earlier request that was given up is passed over.
        if u32_at(rest, 8) == Some(sequence) {
            match i32::from(kind) {
                // Both carry a negative error number; a dump ends well without one on old kernels.
                libc::NLMSG_ERROR | libc::NLMSG_DONE => {
                    return Some(u32_at(payload, 0).map_or(0, |code| (code as i32).wrapping_neg()));
                }
                libc::NLMSG_NOOP => {}
                _ => answers.push(Message { kind, payload: payload.to_vec() }),
            }
        }
        rest = rest.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// Adds what the messages in `bytes` tell.
fn tell(bytes: &[u8], news: &mut Vec<News>) {
    let mut rest = bytes;
    while let (Some(len), Some(kind), Some(flags), Some(by)) =
        (u32_at(rest, 0), u16_at(rest, 4), u16_at(rest, 6), u32_at(rest, 12))
    {
        let Some(payload) = rest.get(HEADER_LEN..len as usize) else { return };
        news.push(News {
            message: Message { kind, payload: payload.to_vec() },
            replaces: flags & libc::NLM_F_REPLACE as u16 != 0,
            was_asked_for: by != 0,
        });
        rest = rest.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    bytes.get(start..start + 2).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    bytes.get(start..start + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_are_padded_and_nests_know_their_length() {
        let mut request = Request::new("test", 16, 0, &[]);
        let nest = request.begin(18);
        request.attr(3, b"abcde");
        request.end(nest);
        let mut expected = vec![16, 0, 18, 0, 9, 0, 3, 0];
        expected.extend(b"abcde\0\0\0");
        if cfg!(target_endian = "little") {
            assert_eq!(request.bytes[HEADER_LEN..], expected);
        }
    }

    #[test]
    fn attributes_that_were_written_are_read() {
        let mut request = Request::new("test", 16, 0, &[]);
        let nest = request.begin(18);
        request.attr(3, b"abcde").attr(4, &[]);
        request.end(nest);
        request.attr(9, &[1, 2, 3, 4]);
        let outer: Vec<_> = attributes(&request.bytes[HEADER_LEN..]).collect();
        assert_eq!((outer[0].0, outer[1]), (18, (9, &[1u8, 2, 3, 4][..])));
        assert_eq!(attributes(outer[0].1).collect::<Vec<_>>(), [(3, &b"abcde"[..]), (4, &[])]);
    }

    fn message(kind: i32, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut request = Request::new("test", kind as u16, 0, payload);
        request.finish(sequence, 0).to_vec()
    }

    #[test]
    fn answers_end_with_an_error_number_or_a_message_that_says_so() {
        let mut answers = Vec::new();
        let refused = message(libc::NLMSG_ERROR, 7, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(collect(&refused, 7, &mut answers), Some(libc::EPERM));
        assert_eq!(collect(&refused, 8, &mut answers), None);
        let dump = [message(16, 7, b"four"), message(libc::NLMSG_DONE, 7, &[0; 4])].concat();
        assert_eq!(collect(&dump, 7, &mut answers), Some(0));
        assert_eq!(answers, [Message { kind: 16, payload: b"four".to_vec() }]);
        assert_eq!(collect(&dump[..18], 7, &mut answers), Some(libc::EBADMSG));
        assert_eq!(collect(&[1], 7, &mut answers), Some(libc::EBADMSG));
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in proptest::collection::vec(any::<u8>(), 0..64)) {
            collect(&answer, 0, &mut Vec::new());
            tell(&answer, &mut Vec::new());
            attributes(&answer).count();
        }
    }

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
