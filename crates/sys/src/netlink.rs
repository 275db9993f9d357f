//! Requests to the kernel's routing and device tables (rtnetlink).

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{check, Result, SysError};

pub(crate) const CREATE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16;
pub(crate) const REPLACE: u16 = (libc::NLM_F_CREATE | libc::NLM_F_REPLACE) as u16;

/// A request being written: a header, a fixed part, then attributes.
pub(crate) struct Request {
    bytes: Vec<u8>,
    call: &'static str,
}

/// An attribute that holds attributes, still open.
pub(crate) struct Nest(usize);

impl Request {
    /// `call` is the kernel's name of the message `kind`, for errors.
    pub(crate) fn new(call: &'static str, kind: u16, flags: u16, fixed: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER_LEN];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        let flags = flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(fixed);
        Self { bytes, call }
    }

    /// Appends an attribute; values here are names, numbers and addresses, far shorter than 64 KiB.
    pub(crate) fn attr(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let nest = self.begin(kind);
        self.bytes.extend_from_slice(value);
        self.end(nest);
        self
    }

    /// Appends bytes inside an open nest.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn begin(&mut self, kind: u16) -> Nest {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        Nest(start)
    }

    pub(crate) fn end(&mut self, Nest(start): Nest) {
        let len = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Sends the request in the calling thread's network namespace and waits for the kernel's answer.
    pub(crate) fn send(mut self, target: &str) -> Result<()> {
        let len = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        let socket = open(target)?;
        // SAFETY: the kernel reads exactly the bytes of the request.
        let sent = unsafe { libc::send(socket.as_raw_fd(), self.bytes.as_ptr().cast(), self.bytes.len(), 0) };
        if sent < 0 {
            return Err(SysError::last(self.call, target));
        }
        let mut answer = [0u8; 1024];
        // SAFETY: the kernel writes at most the length of `answer`.
        let n_bytes = unsafe { libc::recv(socket.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
        let Ok(n_bytes) = usize::try_from(n_bytes) else {
            return Err(SysError::last(self.call, target));
        };
        match acknowledged(answer.get(..n_bytes).unwrap_or_default()) {
            0 => Ok(()),
            errno => Err(SysError::call(self.call, target, std::io::Error::from_raw_os_error(errno))),
        }
    }
}

const HEADER_LEN: usize = 16;

fn open(target: &str) -> Result<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes numbers only.
    let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
    let raw = check(raw, "socket(AF_NETLINK)", target)?;
    // SAFETY: the call returned a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// The error number in an NLMSG_ERROR answer, 0 for success; a negative number follows the message header.
fn acknowledged(answer: &[u8]) -> i32 {
    let kind = answer.get(4..6).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes);
    let code = answer.get(HEADER_LEN..HEADER_LEN + 4).and_then(|b| b.try_into().ok()).map(i32::from_ne_bytes);
    match (kind.map(i32::from), code) {
        (Some(libc::NLMSG_ERROR), Some(code)) => code.wrapping_neg(),
        _ => libc::EBADMSG,
    }
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
    fn answers_that_are_no_acknowledgement_are_errors() {
        assert_eq!(acknowledged(&[]), libc::EBADMSG);
        let mut answer = [0; 20];
        answer[4..6].copy_from_slice(&2u16.to_ne_bytes());
        assert_eq!(acknowledged(&answer), 0);
        answer[16..20].copy_from_slice(&(-libc::EPERM).to_ne_bytes());
        assert_eq!(acknowledged(&answer), libc::EPERM);
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in proptest::collection::vec(any::<u8>(), 0..64)) {
            acknowledged(&answer);
        }
    }
}
