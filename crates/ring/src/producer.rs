//! The end of a ring that puts records in.

use std::fmt;
use std::sync::atomic::Ordering;

use sys::span::Sink;

use crate::copy::into_shared;
use crate::corrupt::Corrupt;
use crate::header::{plain_word, Header, WRAP};
use crate::layout::{record_len, HEADER_LEN};
use crate::prefetch;
use crate::shared::{is_aligned, Ring};

/// How far ahead of what is written the cache line is asked for.
const AHEAD: usize = 2048;

/// Why a record was not put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no room now.
    NoRoom,
    /// The data is longer than [`Producer::max_data`].
    TooLong,
    /// The consumer reads no more.
    Closed,
    /// [`Producer::finish`] was called.
    Finished,
    /// The consumer broke the ring's rules.
    Corrupt(Corrupt),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoom => f.write_str("the shared ring is full"),
            Self::TooLong => f.write_str("the packet is longer than the shared ring takes"),
            Self::Closed => f.write_str("the neighbour reads no more"),
            Self::Finished => f.write_str("the stream was finished"),
            Self::Corrupt(corrupt) => corrupt.fmt(f),
        }
    }
}

impl std::error::Error for Refused {}

/// The end of a ring that puts records in.
pub struct Producer {
    ring: Ring,
    /// Where the next record goes.
    tail: u64,
    /// Up to here the consumer was told.
    published: u64,
    /// Up to here the ring is known to be free; `tail` once nothing more may be put in.
    limit: u64,
    /// Why nothing more may be put in.
    ended: Option<Refused>,
}

/// Room for a record whose data is written in place. Nothing comes of it unless it is [committed](Room::commit).
pub struct Room<'a> {
    producer: &'a mut Producer,
    place: Place,
    max: usize,
}

/// Where a record goes.
struct Place {
    /// The bytes from `tail` to the end of the ring are too few and stay empty.
    wraps: bool,
    /// Position where the record begins.
    position: u64,
    /// Its offset.
    offset: usize,
}

impl Producer {
    pub(crate) fn new(ring: Ring) -> Result<Producer, Corrupt> {
        let (tail, head) = (ring.control().tail(), ring.control().head());
        if tail.wrapping_sub(head) > ring.capacity() as u64 || !is_aligned(tail) {
            return Err(Corrupt::Tail { tail, head });
        }
        let limit = head.wrapping_add(ring.capacity() as u64);
        Ok(Producer { ring, tail, published: tail, limit, ended: None })
    }

    /// Copies one record in; the consumer sees it after [`publish`](Self::publish).
    #[inline]
    pub fn push(&mut self, header: &Header, data: &[u8]) -> Result<(), Refused> {
        if header.is_plain(data.len()) {
            return self.push_plain(header.timestamp_ns, data);
        }
        self.put(header.to_words(data.len() as u32), data)
    }

    /// Copies the record of a packet in that is as long as on the wire and has no offload work left.
    #[inline(always)]
    pub fn push_plain(&mut self, timestamp_ns: i64, data: &[u8]) -> Result<(), Refused> {
        self.put([plain_word(data.len()), timestamp_ns as u64], data)
    }

    /// Copies a header and data in.
    #[inline(always)]
    fn put<const N: usize>(&mut self, header: [u64; N], data: &[u8]) -> Result<(), Refused> {
        let header_len = size_of_val(&header);
        let place = self.place(header_len, data.len())?;
        if self.limit.wrapping_sub(self.tail) as usize > AHEAD + 128 {
            prefetch::for_writing(self.ring.ahead(place.offset, AHEAD));
            prefetch::for_writing(self.ring.ahead(place.offset, AHEAD + 64));
        }
        // SAFETY: `place` found room for a header and `data.len()` bytes in one piece, which the consumer has released. Where data
        // is empty, its address is not used.
        unsafe {
            into_shared(data.as_ptr(), self.ring.at(place.offset).add(header_len), data.len());
            self.take(place, header, data.len());
        }
        Ok(())
    }

    /// Finds room for a record with at most `max` bytes of data, which a system call is to write.
    pub fn reserve(&mut self, max: usize) -> Result<Room<'_>, Refused> {
        let place = self.place(HEADER_LEN, max)?;
        Ok(Room { producer: self, place, max })
    }

    /// Makes a record of a place whose data was written.
    ///
    /// # Safety
    /// `place` is what the last call of [`place`](Self::place) found, for such a header and at least `len` bytes of data.
    #[inline(always)]
    unsafe fn take<const N: usize>(&mut self, place: Place, header: [u64; N], len: usize) {
        if place.wraps {
            // SAFETY: the tail is a multiple of ALIGN, so there is at least a word left to the ring's end.
            unsafe { self.ring.word(self.ring.offset(self.tail)) }.store(WRAP, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise.
        unsafe { self.ring.write_header(place.offset, header) };
        self.tail = place.position.wrapping_add(record_len(size_of_val(&header), len) as u64);
    }

    /// Shows the consumer all records so far; `true`: it sleeps and is to be woken.
    #[must_use = "the consumer may have to be woken"]
    pub fn publish(&mut self) -> bool {
        if self.tail == self.published {
            return false;
        }
        self.published = self.tail;
        let wakes = self.ring.control().publish(self.tail);
        self.is_closed();
        wakes
    }

    /// Publishes and marks the clean end of the stream; `true`: the consumer sleeps and is to be woken.
    #[must_use = "the consumer may have to be woken"]
    pub fn finish(&mut self) -> bool {
        let wakes = self.publish();
        self.end(Refused::Finished);
        self.ring.control().finish() | wakes
    }

    /// Whether the consumer has said that it reads no more.
    pub fn is_closed(&mut self) -> bool {
        let is_closed = self.ring.control().is_closed();
        if is_closed {
            self.end(Refused::Closed);
        }
        is_closed
    }

    /// Whether a record of `len` bytes has room now.
    pub fn fits(&mut self, len: usize) -> bool {
        self.place(HEADER_LEN, len).is_ok()
    }

    /// Bytes that are free as far as is known without asking the other side; each record takes more than its data.
    pub fn room(&self) -> usize {
        self.limit.wrapping_sub(self.tail) as usize
    }

    /// Bytes in the ring that the consumer has not released.
    pub fn pending_bytes(&self) -> usize {
        let used = self.tail.wrapping_sub(self.ring.control().head());
        used.min(self.ring.capacity() as u64) as usize
    }

    /// Bytes of the ring.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// Most bytes of data in one record.
    pub fn max_data(&self) -> usize {
        self.ring.max_data()
    }

    /// Tells the consumer that this side is about to sleep until a record of `len` bytes fits; `true`: it may sleep.
    ///
    /// All records must have been published. The consumer wakes it when there is room and a quarter of the ring is free,
    /// or all of it. `false`: there is room, or there never will be; [`push`](Self::push) tells.
    pub fn prepare_to_wait(&mut self, len: usize) -> bool {
        debug_assert_eq!(
            self.tail, self.published,
            "publish first: the consumer cannot make room of what it does not see"
        );
        if self.ended.is_some() || len > self.ring.max_data() {
            return false;
        }
        let (_, total) = self.fit(record_len(HEADER_LEN, len));
        let wanted = total.max(self.ring.capacity() / 4);
        self.ring.control().wait_for_room(wanted as u32);
        let may_sleep = self.make_room(total as u64) == Err(Refused::NoRoom);
        if !may_sleep {
            self.cancel_wait();
        }
        may_sleep
    }

    /// Tells the consumer that this side waits no more.
    pub fn cancel_wait(&mut self) {
        self.ring.control().stop_waiting_for_room();
    }

    /// Whether the rest of the ring is too short for a record that takes `needed` bytes, and how many it takes in all.
    #[inline(always)]
    fn fit(&self, needed: usize) -> (bool, usize) {
        let rest = self.ring.capacity() - self.ring.offset(self.tail);
        if needed > rest {
            (true, rest + needed)
        } else {
            (false, needed)
        }
    }

    /// Finds room for a record of `len` bytes.
    #[inline(always)]
    fn place(&mut self, header_len: usize, len: usize) -> Result<Place, Refused> {
        if len > self.ring.max_data() {
            return Err(self.ended.unwrap_or(Refused::TooLong));
        }
        let needed = record_len(header_len, len);
        let (wraps, total) = self.fit(needed);
        if self.limit.wrapping_sub(self.tail) < total as u64 {
            self.make_room(total as u64)?;
        }
        let position = self.tail.wrapping_add((total - needed) as u64);
        Ok(Place { wraps, position, offset: self.ring.offset(position) })
    }

    /// Looks how far the consumer is; whether `total` bytes are free.
    #[cold]
    fn make_room(&mut self, total: u64) -> Result<(), Refused> {
        self.is_closed();
        if let Some(reason) = self.ended {
            return Err(reason);
        }
        let (head, capacity) = (self.ring.control().head(), self.ring.capacity() as u64);
        let used = self.tail.wrapping_sub(head);
        let is_sound = used <= capacity && used >= self.tail.wrapping_sub(self.published);
        if !is_sound || !is_aligned(head) {
            let corrupt = Corrupt::Head { head, tail: self.published };
            self.end(Refused::Corrupt(corrupt));
            return Err(Refused::Corrupt(corrupt));
        }
        self.limit = head.wrapping_add(capacity);
        if capacity - used < total {
            Err(Refused::NoRoom)
        } else {
            Ok(())
        }
    }

    /// Takes no more records; the first reason counts.
    fn end(&mut self, reason: Refused) {
        self.limit = self.tail;
        self.ended.get_or_insert(reason);
    }
}

impl Room<'_> {
    /// The bytes for the data.
    pub fn sink(&mut self) -> Sink<'_> {
        // SAFETY: `place` found room for a header and `max` bytes in one piece, which the consumer has released. The ring keeps
        // its memory, and nobody else writes there while the producer is borrowed.
        unsafe { Sink::new(self.producer.ring.at(self.place.offset).add(HEADER_LEN), self.max) }
    }

    /// Puts in a record of the first `len` bytes; the consumer sees it after [`Producer::publish`].
    ///
    /// # Panics
    /// If there was not room for so many.
    pub fn commit(self, header: &Header, len: usize) {
        let Room { producer, place, max } = self;
        assert!(len <= max, "a record of {len} bytes where {max} were reserved");
        // SAFETY: the producer was borrowed since it found the place.
        unsafe { producer.take(place, header.to_words(len as u32), len) };
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ring, tail, published, limit, ended } = self;
        f.debug_struct("Producer")
            .field("capacity", &ring.capacity())
            .field("tail", tail)
            .field("published", published)
            .field("limit", limit)
            .field("ended", ended)
            .finish()
    }
}
