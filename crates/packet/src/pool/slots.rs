//! The slots of one size class: a region, and which slots in it are free.

use crate::region::{Anonymous, Region};
use crate::slot::{Meta, LARGE_BUFFER, META, SMALL_BUFFER};

/// Most slots of each class. They only take memory once they are used.
pub const SMALL_SLOTS: usize = 1 << 20;
pub const LARGE_SLOTS: usize = 1 << 15;
/// The stride of a slot is an odd number of 64-byte cache lines, so that the first lines of metadata and of data spread over
/// all cache sets instead of meeting in some.
pub const SMALL_STRIDE: usize = META + SMALL_BUFFER + 64;
pub const LARGE_STRIDE: usize = META + LARGE_BUFFER + 64;
const _: () = assert!(SMALL_STRIDE / 64 % 2 == 1 && LARGE_STRIDE / 64 % 2 == 1);

/// The slots of one size class.
pub struct Slots {
    /// Where they are; without a region there are none.
    pub region: Option<Box<dyn Region>>,
    /// Bytes from one to the next.
    pub stride: usize,
    /// How many the region has room for.
    pub n_slots: usize,
    /// How many were ever handed out: the first ones.
    pub n_touched: usize,
    /// Those of them that are free now.
    pub free: Vec<*mut Meta>,
}

impl Slots {
    /// Slots in memory of their own; fewer than `n_slots` if the system refuses as much.
    pub fn new(stride: usize, n_slots: usize) -> Slots {
        let mut n_slots = n_slots;
        let region = loop {
            match Anonymous::reserve(stride * n_slots) {
                Some(region) => break Some(Box::new(region) as Box<dyn Region>),
                None if n_slots > 64 => n_slots /= 4,
                None => break None,
            }
        };
        let n_slots = if region.is_some() { n_slots } else { 0 };
        Slots { region, stride, n_slots, n_touched: 0, free: Vec::new() }
    }

    /// A free slot, or one that was never handed out.
    #[inline]
    pub fn take(&mut self) -> Option<*mut Meta> {
        self.free.pop().or_else(|| self.touch())
    }

    /// A slot that was never handed out.
    #[cold]
    pub fn touch(&mut self) -> Option<*mut Meta> {
        let region = self.region.as_ref().filter(|_| self.n_touched < self.n_slots)?;
        // SAFETY: `n_touched < n_slots` and `n_slots * stride <= region.len()`, so the slot lies within the region.
        let slot = unsafe { region.base().as_ptr().add(self.n_touched * self.stride).cast::<Meta>() };
        self.n_touched += 1;
        Some(slot)
    }
}
