//! The end of a ring that takes records out.

use std::fmt;
use std::sync::atomic::Ordering;

use crate::copy::out_of_shared;
use crate::corrupt::Corrupt;
use crate::header::{plain_len, Header, Words, WRAP};
use crate::layout::{record_len, HEADER_LEN, PLAIN_HEADER_LEN};
use crate::prefetch;
use crate::record::Record;
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
        self.look_ahead(offset, published);
        self.next = self.next.wrapping_add(total as u64);
        // SAFETY: the record ends before the ring does, whose memory the consumer keeps.
        Ok(unsafe { Record::new(header, is_plain, self.ring.at(offset).add(header_len), len as usize) })
    }

    /// Asks for what will be read soon, while what was published reaches so far.
    #[inline(always)]
    fn look_ahead(&self, offset: usize, published: usize) {
        if published > AHEAD + 128 {
            prefetch::for_reading(self.ring.ahead(offset, AHEAD));
            prefetch::for_reading(self.ring.ahead(offset, AHEAD + 64));
        }
    }

    /// Copies the data of the next record to the start of `to`: its length, and its timestamp. This is the way of most records.
    ///
    /// `None`: there is none, or none that is plain and no longer than `to`; [`Consumer::next`] tells.
    #[inline(always)]
    pub fn copy_plain(&mut self, to: &mut [u8]) -> Option<(usize, i64)> {
        if self.next == self.tail && self.look() != Ok(true) {
            return None;
        }
        let (offset, published) = (self.ring.offset(self.next), self.tail.wrapping_sub(self.next) as usize);
        // SAFETY: positions are multiples of ALIGN.
        let first = unsafe { self.ring.word(offset) }.load(Ordering::Relaxed);
        let len = plain_len(first)? as usize;
        let total = record_len(PLAIN_HEADER_LEN, len);
        if len > to.len().min(self.ring.max_data()) || total > published.min(self.ring.capacity() - offset) {
            return None;
        }
        self.look_ahead(offset, published);
        self.next = self.next.wrapping_add(total as u64);
        // SAFETY: the record ends before the ring does, and its data is no longer than `to`, which is private memory.
        unsafe {
            out_of_shared(self.ring.at(offset).add(PLAIN_HEADER_LEN), to.as_mut_ptr(), len);
            Some((len, self.ring.word(offset + 8).load(Ordering::Relaxed) as i64))
        }
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
