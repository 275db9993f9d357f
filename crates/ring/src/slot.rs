//! Room for a record that is filled in place.

use crate::copy::into_shared;
use crate::header::Header;
use crate::producer::{Place, Producer};

/// Room for one record, in one piece; dropped without [`commit`](Self::commit), nothing has happened.
///
/// The other process can see and change the bytes at any time: write them, and do not decide anything by reading them.
pub struct Slot<'a> {
    producer: &'a mut Producer,
    place: Place,
    len: usize,
}

impl<'a> Slot<'a> {
    pub(crate) fn new(producer: &'a mut Producer, place: Place, len: usize) -> Slot<'a> {
        Slot { producer, place, len }
    }

    /// First byte of the room; it is writable for [`len`](Self::len) bytes while the slot lives.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.producer.data_at(self.place)
    }

    /// Bytes that were reserved.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no bytes were reserved.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Copies bytes to an offset of the room.
    ///
    /// # Panics
    /// If they go beyond it.
    pub fn write(&mut self, offset: usize, bytes: &[u8]) {
        let is_inside = offset <= self.len && bytes.len() <= self.len - offset;
        assert!(is_inside, "{} bytes at {offset} go beyond the {} that were reserved", bytes.len(), self.len);
        // SAFETY: the bytes end within the reserved room.
        unsafe { into_shared(bytes.as_ptr(), self.as_mut_ptr().add(offset), bytes.len()) };
    }

    /// Makes the first `len` bytes a record; the consumer sees it after [`Producer::publish`].
    ///
    /// # Panics
    /// If `len` is more than was reserved.
    pub fn commit(self, len: usize, header: &Header) {
        assert!(len <= self.len, "{len} bytes are more than the {} that were reserved", self.len);
        // SAFETY: the place was found for `self.len` bytes, and the slot borrowed the producer since.
        unsafe { self.producer.commit(self.place, len, header) };
    }
}
