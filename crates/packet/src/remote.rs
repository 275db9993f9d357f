//! The slots that other threads gave back: a stack onto which many threads push, and which the owner empties at once.
//!
//! Nothing is ever popped singly, so that a slot that comes back again cannot be mistaken for its former self.
//! `tests/remote.rs` runs this file under every interleaving of a few threads.

use crate::atomic::{AtomicPtr, Ordering};

/// What can lie on a stack: it has a place for a pointer to what lies below.
pub trait Link {
    /// # Safety
    /// `this` lies on no stack and the caller holds the only pointer to it.
    unsafe fn set_below(this: *mut Self, below: *mut Self);
    /// # Safety
    /// `this` was taken from a stack by the caller.
    unsafe fn below(this: *mut Self) -> *mut Self;
}

/// A stack of what other threads gave back.
pub struct Remote<T> {
    top: AtomicPtr<T>,
}

impl<T: Link> Remote<T> {
    /// An empty stack.
    pub fn new() -> Remote<T> {
        Remote { top: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Puts something on top.
    ///
    /// # Safety
    /// `item` is valid until it has been taken, lies on no stack, and the caller holds the only pointer to it.
    pub unsafe fn push(&self, item: *mut T) {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            // SAFETY: this thread holds the only pointer to the item until the exchange succeeds.
            unsafe { T::set_below(item, top) };
            match self.top.compare_exchange_weak(top, item, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Takes all there is and hands it over one by one; nobody else can reach what `take` is given.
    pub fn take_all(&self, mut take: impl FnMut(*mut T)) {
        let mut item = self.top.swap(std::ptr::null_mut(), Ordering::Acquire);
        while !item.is_null() {
            // SAFETY: after the swap only this thread can reach the item and those below.
            let below = unsafe { T::below(item) };
            take(item);
            item = below;
        }
    }
}
