//! A record that is taken out of a ring.

use std::marker::PhantomData;

use sys::span::Source;

use crate::consumer::Consumer;
use crate::copy::out_of_shared;
use crate::header::Header;

/// A record that still lies in the ring; its space is given back by [`Consumer::release`].
///
/// The header was copied and checked. The other process can change the data at any time: copy it out, then look at it.
#[derive(Debug)]
pub struct Record<'a> {
    /// What goes with the data.
    pub header: Header,
    /// Whether the header tells no more than a timestamp: the data is as long as on the wire, with no offload work left.
    pub is_plain: bool,
    data: *const u8,
    len: usize,
    _ring: PhantomData<&'a Consumer>,
}

impl<'a> Record<'a> {
    /// # Safety
    /// `len` bytes at `data` lie in a ring, whose memory is kept as long as the borrow lasts.
    #[inline(always)]
    pub(crate) unsafe fn new(header: Header, is_plain: bool, data: *const u8, len: usize) -> Record<'a> {
        Record { header, is_plain, data, len, _ring: PhantomData }
    }

    /// Bytes of data.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The data as it lies in the ring, for a system call.
    pub fn source(&self) -> Source<'_> {
        // SAFETY: the record lies in the ring, whose memory the consumer that it borrows keeps.
        unsafe { Source::new(self.data, self.len) }
    }

    /// Copies the data to the start of `to`; the part of `to` that now is the data.
    ///
    /// # Panics
    /// If `to` is shorter than the data.
    #[inline]
    pub fn copy_into_slice<'t>(&self, to: &'t mut [u8]) -> &'t mut [u8] {
        let to = &mut to[..self.len];
        // SAFETY: the data is readable and `to` writable for `self.len` bytes; private and shared memory do not overlap.
        unsafe { out_of_shared(self.data, to.as_mut_ptr(), self.len) };
        to
    }
}
