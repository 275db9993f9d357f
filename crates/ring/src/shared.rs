//! One ring as either side sees it, and the ends of a pair of rings.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::consumer::Consumer;
use crate::control::Control;
use crate::layout::{max_data, pair_len, ring_len, LayoutError, ALIGN, CONTROL_LEN};
use crate::memory::Memory;
use crate::producer::Producer;

/// Which of the two processes of a pair this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Writes the forward ring, which lies first in the memory, and reads the backward ring.
    First,
    /// Reads the forward ring and writes the backward ring.
    Second,
}

/// The two ends that one process has of a pair of rings which fill the memory.
///
/// Positions go on from where the memory has them, so that a process can take over the ends of another that has stopped.
pub fn ends(
    memory: impl Memory + 'static,
    capacity: usize,
    side: Side,
) -> Result<(Producer, Consumer), LayoutError> {
    let [forward, backward] = rings(Arc::new(memory), capacity)?;
    match side {
        Side::First => Ok((Producer::new(forward)?, Consumer::new(backward)?)),
        Side::Second => Ok((Producer::new(backward)?, Consumer::new(forward)?)),
    }
}

/// The ends of both sides, for two threads of one process.
#[expect(clippy::type_complexity, reason = "two pairs, in the order of the sides")]
pub fn both_ends(
    memory: impl Memory + 'static,
    capacity: usize,
) -> Result<((Producer, Consumer), (Producer, Consumer)), LayoutError> {
    let [forward, backward] = rings(Arc::new(memory), capacity)?;
    let first = (Producer::new(forward.clone())?, Consumer::new(backward.clone())?);
    let second = (Producer::new(backward)?, Consumer::new(forward)?);
    Ok((first, second))
}

/// Both rings that lie in the memory, forward first.
fn rings(memory: Arc<dyn Memory>, capacity: usize) -> Result<[Ring; 2], LayoutError> {
    let needed = pair_len(capacity).ok_or(LayoutError::Capacity(capacity))?;
    if memory.len() != needed {
        return Err(LayoutError::Len { len: memory.len(), needed });
    }
    if !memory.start().cast::<Control>().is_aligned() {
        return Err(LayoutError::Alignment);
    }
    let len = ring_len(capacity).ok_or(LayoutError::Capacity(capacity))?;
    // SAFETY: the memory holds two rings of `len` bytes each.
    unsafe { Ok([Ring::new(memory.clone(), 0, capacity), Ring::new(memory, len, capacity)]) }
}

/// One ring, as either side sees it.
#[derive(Clone)]
pub(crate) struct Ring {
    control: NonNull<Control>,
    data: NonNull<u8>,
    capacity: usize,
    max_data: usize,
    _memory: Arc<dyn Memory>,
}

// SAFETY: the memory outlives the ring and is not tied to a thread.
unsafe impl Send for Ring {}

const _: () = assert!(size_of::<Control>() <= CONTROL_LEN);

impl Ring {
    /// # Safety
    /// `capacity` is allowed, and a ring of it lies in the memory at `offset`, which is a multiple of 128.
    unsafe fn new(memory: Arc<dyn Memory>, offset: usize, capacity: usize) -> Ring {
        // SAFETY: the ring lies in the memory.
        let (start, data) = unsafe { (memory.start().add(offset), memory.start().add(offset + CONTROL_LEN)) };
        Ring { control: start.cast(), data, capacity, max_data: max_data(capacity), _memory: memory }
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: invariant 1; all of it is atomics, for which any bytes are valid.
        unsafe { self.control.as_ref() }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn max_data(&self) -> usize {
        self.max_data
    }

    /// Where a position lies.
    #[inline(always)]
    pub(crate) fn offset(&self, position: u64) -> usize {
        position as usize & (self.capacity - 1)
    }

    /// The byte at an offset.
    ///
    /// # Safety
    /// `offset` is less than the capacity.
    #[inline(always)]
    pub(crate) unsafe fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset < self.capacity);
        // SAFETY: invariant 1.
        unsafe { self.data.as_ptr().add(offset) }
    }

    /// The word at an offset.
    ///
    /// # Safety
    /// `offset` is less than the capacity and a multiple of 8.
    #[inline(always)]
    pub(crate) unsafe fn word(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: data begins at a multiple of 128 and its length is one of 8, so a whole word lies there.
        unsafe { AtomicU64::from_ptr(self.at(offset).cast()) }
    }

    /// Writes a record's header.
    ///
    /// # Safety
    /// `offset` is a multiple of [`ALIGN`], and the header ends within the capacity.
    #[inline(always)]
    pub(crate) unsafe fn write_header<const N: usize>(&self, offset: usize, words: [u64; N]) {
        for (idx, word) in words.into_iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { self.word(offset + 8 * idx) }.store(word, Ordering::Relaxed);
        }
    }

    /// An address near `distance` bytes behind an offset, for hints.
    #[inline(always)]
    pub(crate) fn ahead(&self, offset: usize, distance: usize) -> *mut u8 {
        // SAFETY: the offset is less than the capacity.
        unsafe { self.at((offset + distance) & (self.capacity - 1)) }
    }
}

/// Whether a position is where a record can begin.
pub(crate) fn is_aligned(position: u64) -> bool {
    position.is_multiple_of(ALIGN as u64)
}
