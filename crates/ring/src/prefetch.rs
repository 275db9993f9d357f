//! Hints that memory will be needed soon.

pub(crate) use imp::{for_reading, for_writing};

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod imp {
    use std::arch::asm;
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};

    /// Brings the cache line of any address near.
    #[inline(always)]
    pub(crate) fn for_reading(at: *const u8) {
        // SAFETY: a prefetch does not touch memory as the program sees it and never faults.
        unsafe { _mm_prefetch(at.cast(), _MM_HINT_T0) };
    }

    /// Brings the cache line of any address near, and takes it from other cores.
    #[inline(always)]
    pub(crate) fn for_writing(at: *const u8) {
        // The compiler makes a plain prefetch of the intrinsic unless told that the processor has this instruction; on
        // those that do not, it does nothing.
        // SAFETY: as above.
        unsafe { asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly)) };
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod imp {
    /// Nothing, on processors without a known hint.
    pub(crate) fn for_reading(_at: *const u8) {}

    /// Nothing, on processors without a known hint.
    pub(crate) fn for_writing(_at: *const u8) {}
}
