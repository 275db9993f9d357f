//! The end of a ring that takes records out.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use sys::span::Source;

use crate::copy::out_of_shared;
use crate::corrupt::Corrupt;
use crate::header::{plain_len, Header, Words, WRAP};
use crate::layout::{record_len, HEADER_LEN, PLAIN_HEADER_LEN};
use crate::prefetch;
use crate::shared::{is_aligned, Ring};

/// How far ahead of what is read the cache line is asked for.
const AHEAD: usize = 1024;

/// The end of a ring that takes records out.
pub struct Consumer {
    ring: Ring,
    /// Where the next record begins.
    next: u64,
    /// Up to here the producer was given the bytes back.
    head: u64,
    /// Up to here records are known to be there.
    tail: u64,
    /// What was wrong; nothing is read any more.
    corrupt: Option<Corrupt>,
}

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

impl Consumer {
    pub(crate) fn new(ring: Ring) -> Result<Consumer, Corrupt> {
        let head = ring.control().head();
        let mut consumer = Consumer { ring, next: head, head, tail: head, corrupt: None };
        if !is_aligned(head) {
            return Err(Corrupt::Head { head, tail: consumer.ring.control().tail() });
        }
        consumer.look()?;
        Ok(consumer)
    }

    /// The next record, `None` if no other was published.
    ///
    /// After an error, every call returns the same error.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows the consumer, which no iterator can express"
    )]
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Corrupt> {
        if self.next == self.tail && !self.look()? {
            return Ok(None);
        }
        // SAFETY: positions are multiples of ALIGN.
        let mut first = unsafe { self.ring.word(self.ring.offset(self.next)) }.load(Ordering::Relaxed);
        if first == WRAP {
            self.wrap()?;
            if self.next == self.tail && !self.look()? {
                return Ok(None);
            }
            // SAFETY: as above.
            first = unsafe { self.ring.word(self.ring.offset(self.next)) }.load(Ordering::Relaxed);
        }
        self.record(first).map(Some)
    }

    /// The record at `next`, whose first word was loaded.
    #[inline(always)]
    fn record(&mut self, first: u64) -> Result<Record<'_>, Corrupt> {
        let offset = self.ring.offset(self.next);
        let plain_len = plain_len(first);
        let is_plain = plain_len.is_some();
        let header_len = if is_plain { PLAIN_HEADER_LEN } else { HEADER_LEN };
        let len = plain_len.unwrap_or(first as u32);
        let published = self.tail.wrapping_sub(self.next) as usize;
        let total = record_len(header_len, len as usize);
        if len as usize > self.ring.max_data() || total > published.min(self.ring.capacity() - offset) {
            return Err(self.fail(Corrupt::Len { offset, len }));
        }
        // SAFETY: the record, and so its header, ends before the ring does.
        let word = |at| unsafe { self.ring.word(offset + at) }.load(Ordering::Relaxed);
        let header = if is_plain {
            Header { wire_len: len, timestamp_ns: word(8) as i64, ..Header::default() }
        } else {
            self.header(offset, [first, word(8), word(16), word(24)])?
        };
        if published > AHEAD + 128 {
            prefetch::for_reading(self.ring.ahead(offset, AHEAD));
            prefetch::for_reading(self.ring.ahead(offset, AHEAD + 64));
        }
        self.next = self.next.wrapping_add(total as u64);
        // SAFETY: the record ends before the ring does.
        let data = unsafe { self.ring.at(offset).add(header_len) };
        Ok(Record { header, is_plain, data, len: len as usize, _ring: PhantomData })
    }

    /// What the words of a packet's header tell that is not plain.
    #[inline]
    fn header(&mut self, offset: usize, words: Words) -> Result<Header, Corrupt> {
        let Some(header) = Header::from_words(words) else {
            return Err(self.fail(Corrupt::Mark { offset }));
        };
        let (len, wire_len) = (words[0] as u32, header.wire_len);
        if wire_len < len {
            return Err(self.fail(Corrupt::WireLen { offset, len, wire_len }));
        }
        Ok(header)
    }

    /// Gives the space of all records so far back; `true`: the producer sleeps and is to be woken.
    #[must_use = "the producer may have to be woken"]
    pub fn release(&mut self) -> bool {
        if self.head == self.next {
            return false;
        }
        self.head = self.next;
        self.ring.control().release(self.head, self.ring.capacity() as u64)
    }

    /// Tells the producer that nothing more will be read; `true`: it sleeps and is to be woken.
    #[must_use = "the producer may have to be woken"]
    pub fn close(&mut self) -> bool {
        let wakes = self.release();
        self.ring.control().close() | wakes
    }

    /// Whether the producer ended cleanly and everything was read.
    pub fn is_finished(&self) -> bool {
        self.corrupt.is_none() && self.ring.control().is_finished() && self.ring.control().tail() == self.next
    }

    /// Bytes that were published and not read, headers and padding included.
    pub fn pending_bytes(&self) -> usize {
        let pending = self.ring.control().tail().wrapping_sub(self.next);
        pending.min(self.ring.capacity() as u64) as usize
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Most bytes of data in one record.
    pub fn max_data(&self) -> usize {
        self.ring.max_data()
    }

    /// Tells the producer that this side is about to sleep; `true`: there is nothing to read, and it may.
    ///
    /// All that was read must have been released. `false`: there are records, an error, or the end; look again.
    pub fn prepare_to_wait(&mut self) -> bool {
        debug_assert_eq!(self.head, self.next, "release first: the producer may be waiting for that room");
        self.corrupt.is_none() && self.next == self.tail && self.ring.control().wait_for_data(self.tail)
    }

    /// Tells the producer that this side waits no more.
    pub fn cancel_wait(&mut self) {
        self.ring.control().stop_waiting_for_data();
    }

    /// Looks how far the producer is; whether there is something to read.
    #[cold]
    fn look(&mut self) -> Result<bool, Corrupt> {
        if let Some(corrupt) = self.corrupt {
            return Err(corrupt);
        }
        let tail = self.ring.control().tail();
        let used = tail.wrapping_sub(self.head);
        let is_sound = used <= self.ring.capacity() as u64 && used >= self.next.wrapping_sub(self.head);
        if !is_sound || !is_aligned(tail) {
            return Err(self.fail(Corrupt::Tail { tail, head: self.head }));
        }
        self.tail = tail;
        Ok(self.next != tail)
    }

    /// Skips the rest of the ring, which its producer left empty.
    #[cold]
    fn wrap(&mut self) -> Result<(), Corrupt> {
        let offset = self.ring.offset(self.next);
        let rest = (self.ring.capacity() - offset) as u64;
        if offset == 0 || rest > self.tail.wrapping_sub(self.next) {
            return Err(self.fail(Corrupt::Len { offset, len: WRAP as u32 }));
        }
        self.next = self.next.wrapping_add(rest);
        Ok(())
    }

    /// Reads no more.
    #[cold]
    fn fail(&mut self, corrupt: Corrupt) -> Corrupt {
        self.corrupt = Some(corrupt);
        self.tail = self.next;
        corrupt
    }
}

impl Record<'_> {
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
    pub fn copy_to<'t>(&self, to: &'t mut [MaybeUninit<u8>]) -> &'t mut [u8] {
        let to = &mut to[..self.len];
        // SAFETY: the data is readable and `to` writable for `self.len` bytes; private and shared memory do not overlap.
        unsafe { out_of_shared(self.data, to.as_mut_ptr().cast(), self.len) };
        // SAFETY: all of it was just written.
        unsafe { &mut *(std::ptr::from_mut(to) as *mut [u8]) }
    }

    /// Copies the data to the start of `to`; the part of `to` that now is the data.
    ///
    /// # Panics
    /// If `to` is shorter than the data.
    #[inline]
    pub fn copy_into_slice<'t>(&self, to: &'t mut [u8]) -> &'t mut [u8] {
        let to = &mut to[..self.len];
        // SAFETY: as in `copy_to`.
        unsafe { out_of_shared(self.data, to.as_mut_ptr(), self.len) };
        to
    }

    /// Appends the data to `to`.
    pub fn append_to(&self, to: &mut Vec<u8>) {
        to.reserve(self.len);
        self.copy_to(to.spare_capacity_mut());
        // SAFETY: `copy_to` wrote that many bytes behind the vector's end.
        unsafe { to.set_len(to.len() + self.len) };
    }
}

impl fmt::Debug for Consumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ring, next, head, tail, corrupt } = self;
        f.debug_struct("Consumer")
            .field("capacity", &ring.capacity())
            .field("next", next)
            .field("head", head)
            .field("tail", tail)
            .field("corrupt", corrupt)
            .finish()
    }
}
