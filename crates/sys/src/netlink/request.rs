//! Requests to the kernel's tables, as they are written.

use super::HEADER_LEN;
use crate::error::{Result, SysError};

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
    pub(super) call: &'static str,
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
    pub(super) fn explain(&self, error: SysError, target: &str) -> SysError {
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
        super::Socket::open()?.apply(self, target)
    }

    /// Whether it asks for all there are.
    pub(super) fn is_dump(&self) -> bool {
        u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) & DUMP == DUMP
    }

    /// The message's bytes, with its length, its number and the flags that `flags` adds.
    pub(super) fn finish(&mut self, sequence: u32, flags: u16) -> &[u8] {
        let len = self.bytes.len() as u32;
        let flags = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) | flags;
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
