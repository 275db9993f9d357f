//! Memory that rings lie in.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ptr::NonNull;

use sys::region::Region;

/// Memory that stays where it is as long as the value lives.
///
/// # Safety
/// `start()` points to `len()` bytes that are readable and writable until the value is dropped, both always return the
/// same, and in this process nothing but the rings made of it touches the bytes through this address. Other processes
/// may, at any time.
pub unsafe trait Memory: Send + Sync {
    /// First byte.
    fn start(&self) -> NonNull<u8>;
    /// Size in bytes.
    fn len(&self) -> usize;
    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// SAFETY: a region is a mapping that lives until it is dropped; it was given away by value, and touching it through the
// pointer that it gave out before takes `unsafe`.
unsafe impl Memory for Region {
    fn start(&self) -> NonNull<u8> {
        NonNull::new(self.as_ptr()).expect("a mapping does not begin at zero")
    }

    fn len(&self) -> usize {
        Region::len(self)
    }
}

/// Memory of this process alone, for rings between its threads.
#[derive(Debug)]
pub struct Heap {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the bytes belong to this value and are not tied to a thread.
unsafe impl Send for Heap {}
// SAFETY: shared methods only read the address and the length.
unsafe impl Sync for Heap {}

impl Heap {
    /// `len` zeroed bytes, at least one.
    pub fn new(len: usize) -> Heap {
        let layout = Layout::from_size_align(len.max(1), 4096).expect("a length fits into the address space");
        // SAFETY: the layout has at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        Heap { start, layout }
    }
}

// SAFETY: the allocation lives until `drop`, and no other pointer to it was given out.
unsafe impl Memory for Heap {
    fn start(&self) -> NonNull<u8> {
        self.start
    }

    fn len(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with the same layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
