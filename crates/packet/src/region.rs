//! Regions: the memory that a pool lays its slots in.

use std::ptr::NonNull;

/// A contiguous region of memory that a pool may use as long as it lives.
///
/// # Safety
/// `base()` must point to `len()` bytes that are initialised, writable, aligned to 128 bytes and used by nobody else
/// until the region is dropped; both must always return the same value.
pub unsafe trait Region: Send {
    /// First byte.
    fn base(&self) -> NonNull<u8>;
    /// Size in bytes.
    fn len(&self) -> usize;
    /// Whether the region has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Bytes at the start of an anonymous region that stay on small pages, so that a small graph touches little memory.
const SMALL_PAGE_BYTES: usize = 1 << 20;

/// Most bytes that the interpreter Miri, which cannot leave pages untouched, is asked for.
const MIRI_BYTES: usize = 4 << 20;

/// An anonymous mapping whose pages are taken from the system when first touched.
pub struct Anonymous {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread.
unsafe impl Send for Anonymous {}

impl Anonymous {
    /// Reserves `len` bytes, all zero; `None` if the system refuses.
    pub fn reserve(len: usize) -> Option<Anonymous> {
        if cfg!(miri) && len > MIRI_BYTES {
            return None;
        }
        let lazily = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | lazily;
        // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps nothing.
        let ptr = unsafe {
            libc::mmap(std::ptr::null_mut(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if ptr == libc::MAP_FAILED {
            return None;
        }
        let base = NonNull::new(ptr.cast::<u8>())?;
        if len > 2 * SMALL_PAGE_BYTES && !cfg!(miri) {
            // SAFETY: the range lies within the mapping; the call is only advice, so its result does not matter.
            unsafe {
                libc::madvise(ptr.add(SMALL_PAGE_BYTES), len - SMALL_PAGE_BYTES, libc::MADV_HUGEPAGE);
            }
        }
        Some(Anonymous { base, len })
    }
}

// SAFETY: an anonymous mapping is zeroed, page-aligned, and owned by this value until `drop` unmaps it.
unsafe impl Region for Anonymous {
    fn base(&self) -> NonNull<u8> {
        self.base
    }

    fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Anonymous {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `reserve` with this base and length and is unmapped once.
        unsafe {
            libc::munmap(self.base.as_ptr().cast(), self.len);
        }
    }
}
