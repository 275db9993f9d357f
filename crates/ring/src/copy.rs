//! Copies between private and shared memory, without a call for what is short.

use std::sync::atomic::{compiler_fence, Ordering};

/// Copies `N` bytes with plain moves.
///
/// # Safety
/// As for [`into_shared`], with `len` at least `N`.
#[inline(always)]
unsafe fn chunk<const N: usize>(from: *const u8, to: *mut u8, offset: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from.add(offset), to.add(offset), N) };
}

/// Copies `N..=2 * N` bytes as two chunks that may overlap.
///
/// # Safety
/// As for [`into_shared`].
#[inline(always)]
unsafe fn two_chunks<const N: usize>(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: both chunks lie within `len` bytes, which is at least `N`.
    unsafe {
        chunk::<N>(from, to, 0);
        chunk::<N>(from, to, len - N);
    }
}

/// Copies `len` bytes into the ring.
///
/// # Safety
/// `from` is readable and `to` writable for `len` bytes, and the two do not overlap.
#[inline(always)]
pub(crate) unsafe fn into_shared(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; each arm is for lengths of at least its chunk.
    unsafe {
        match len {
            0 => {}
            1..=3 => {
                for idx in 0..len {
                    chunk::<1>(from, to, idx);
                }
            }
            4..=8 => two_chunks::<4>(from, to, len),
            9..=16 => two_chunks::<8>(from, to, len),
            17..=32 => two_chunks::<16>(from, to, len),
            33..=64 => two_chunks::<32>(from, to, len),
            65..=128 => two_chunks::<64>(from, to, len),
            _ => std::ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

/// Copies `len` bytes out of the ring. The compiler must not look at the ring again where the copy is used.
///
/// # Safety
/// As for [`into_shared`].
#[inline(always)]
pub(crate) unsafe fn out_of_shared(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { into_shared(from, to, len) };
    compiler_fence(Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_copied_exactly() {
        let from: Vec<u8> = (0..400u32).map(|n| (n * 7 + 1) as u8).collect();
        for len in 0..300 {
            let mut to = vec![0; 302];
            // SAFETY: both buffers are longer than `len` and one byte.
            unsafe { out_of_shared(from.as_ptr(), to.as_mut_ptr().add(1), len) };
            assert_eq!(to[0], 0);
            assert_eq!(to[1..=len], from[..len]);
            assert!(to[len + 1..].iter().all(|&byte| byte == 0), "length {len}");
        }
    }
}
