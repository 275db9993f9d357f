//! A hint to the processor that some memory is read soon.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Starts loading the cache line that holds the first byte of `place`; does nothing on processors without such a hint.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    imp::prefetch(std::ptr::from_ref(place).cast());
}

/// As [`prefetch`], for all cache lines of a value of at most two.
#[inline(always)]
pub fn prefetch_whole<T>(place: &T) {
    let first = std::ptr::from_ref(place).cast::<u8>();
    imp::prefetch(first);
    if size_of::<T>() > LINE || align_of::<T>() < LINE {
        imp::prefetch(first.wrapping_add(size_of::<T>().saturating_sub(1)));
    }
}

#[cfg(target_arch = "x86_64")]
mod imp {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};

    #[inline(always)]
    #[allow(unsafe_code)]
    pub fn prefetch(place: *const u8) {
        // SAFETY: a prefetch changes no program state and never faults, and SSE is part of x86_64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod imp {
    #[inline(always)]
    pub fn prefetch(_place: *const u8) {}
}
