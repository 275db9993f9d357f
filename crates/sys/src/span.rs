//! Memory that a system call reads or writes while this program has no reference to it: another process may change it at any
//! time.

use std::marker::PhantomData;

/// Bytes for a system call to read.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    start: *const u8,
    len: usize,
    _memory: PhantomData<&'a [u8]>,
}

/// Bytes for a system call to write.
#[derive(Debug)]
pub struct Sink<'a> {
    start: *mut u8,
    len: usize,
    _memory: PhantomData<&'a mut [u8]>,
}

impl<'a> Source<'a> {
    /// Bytes that may be shared with another process.
    ///
    /// # Safety
    /// The memory is mapped readable for `len` bytes as long as `'a` lasts.
    pub unsafe fn new(start: *const u8, len: usize) -> Source<'a> {
        Source { start, len, _memory: PhantomData }
    }

    /// What system calls take.
    pub(crate) fn iovec(&self) -> libc::iovec {
        libc::iovec { iov_base: self.start.cast_mut().cast(), iov_len: self.len }
    }
}

impl<'a> Sink<'a> {
    /// Bytes that may be shared with another process.
    ///
    /// # Safety
    /// The memory is mapped writable for `len` bytes as long as `'a` lasts, in which this program neither reads nor writes it in
    /// another way.
    pub unsafe fn new(start: *mut u8, len: usize) -> Sink<'a> {
        Sink { start, len, _memory: PhantomData }
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes without a system call.
    ///
    /// # Panics
    /// If there are fewer bytes than `from` has.
    pub fn copy_from_slice(&mut self, from: &[u8]) {
        assert!(from.len() <= self.len, "{} bytes do not fit into {}", from.len(), self.len);
        // SAFETY: there are as many bytes, which nobody else in this program touches while `self` is borrowed.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), self.start, from.len()) };
    }

    /// Writes `bytes` at `at` and lets what was there, of `len` bytes in all, follow; `false` if there is no room.
    pub(crate) fn insert(&mut self, at: usize, len: usize, bytes: &[u8]) -> bool {
        if at > len || len > self.len || self.len - len < bytes.len() {
            return false;
        }
        // SAFETY: `at` and `len + bytes.len()` lie within the bytes, which nobody else in this program touches while `self` is
        // borrowed.
        unsafe {
            let place = self.start.add(at);
            std::ptr::copy(place, place.add(bytes.len()), len - at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        true
    }

    /// What system calls take.
    pub(crate) fn iovec(&mut self) -> libc::iovec {
        libc::iovec { iov_base: self.start.cast(), iov_len: self.len }
    }
}

impl<'a, B: AsRef<[u8]> + ?Sized> From<&'a B> for Source<'a> {
    fn from(bytes: &'a B) -> Source<'a> {
        let bytes = bytes.as_ref();
        Source { start: bytes.as_ptr(), len: bytes.len(), _memory: PhantomData }
    }
}

impl<'a, B: AsMut<[u8]> + ?Sized> From<&'a mut B> for Sink<'a> {
    fn from(bytes: &'a mut B) -> Sink<'a> {
        let bytes = bytes.as_mut();
        Sink { start: bytes.as_mut_ptr(), len: bytes.len(), _memory: PhantomData }
    }
}
