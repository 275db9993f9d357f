//! Pools: where packets' slots come from and go back to.
//!
//! Each thread has one pool. Taking a slot from it and giving one back on the same thread takes no lock and no atomic
//! operation; a slot that is given back on another thread goes onto its home pool's `remote` stack, from which the
//! owner takes all at once when it runs out. When a thread ends, the next new thread adopts its pool.

mod install;
mod slots;
mod stats;

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::remote::Remote;
use crate::slot::{Class, Meta, LARGE_BUFFER, META, SMALL_BUFFER};
pub use install::{install, PoolError};
use slots::{Slots, LARGE_SLOTS, LARGE_STRIDE, SMALL_SLOTS, SMALL_STRIDE};
pub use stats::{stats, PoolStats};

/// A thread's pool. It is never freed: packets may outlive the thread.
pub(crate) struct Pool {
    /// Used by the owning thread alone.
    local: UnsafeCell<Local>,
    /// Slots given back by other threads, linked through `family`.
    remote: Remote<Meta>,
    /// Heap slots in use, from any thread.
    n_heap: AtomicUsize,
}

struct Local {
    small: Slots,
    large: Slots,
}

// SAFETY: `local` is only touched by the thread whose `CURRENT` points to the pool, and a pool is in at most one thread's
// `CURRENT`: it is handed on through `ORPHANS` under a lock. All else is atomic.
unsafe impl Sync for Pool {}
// SAFETY: as above; nothing in the pool is tied to the thread that made it.
unsafe impl Send for Pool {}

thread_local! {
    static CURRENT: Cell<*const Pool> = const { Cell::new(std::ptr::null()) };
    static LEAVE: Leave = const { Leave };
}

static ORPHANS: Mutex<Vec<&'static Pool>> = Mutex::new(Vec::new());

/// Hands the thread's pool on when the thread ends.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        let pool = CURRENT.replace(std::ptr::null());
        // SAFETY: pools are leaked, so a non-null pointer stays valid.
        if let (Some(pool), Ok(mut orphans)) = (unsafe { pool.as_ref() }, ORPHANS.lock()) {
            orphans.push(pool);
        }
    }
}

impl Pool {
    fn new() -> Pool {
        let small = Slots::new(SMALL_STRIDE, SMALL_SLOTS);
        let large = Slots::new(LARGE_STRIDE, LARGE_SLOTS);
        Pool {
            local: UnsafeCell::new(Local { small, large }),
            remote: Remote::new(),
            n_heap: AtomicUsize::new(0),
        }
    }

    /// The calling thread's pool.
    #[inline]
    fn current() -> &'static Pool {
        let pool = CURRENT.get();
        if pool.is_null() {
            return Pool::enter();
        }
        // SAFETY: pools are leaked, so a non-null pointer stays valid.
        unsafe { &*pool }
    }

    #[cold]
    fn enter() -> &'static Pool {
        let orphan = ORPHANS.lock().ok().and_then(|mut orphans| orphans.pop());
        let pool = orphan.unwrap_or_else(|| Box::leak(Box::new(Pool::new())));
        CURRENT.set(pool);
        // Makes the thread's end call `Leave::drop`; a thread that is already ending keeps the pool for itself.
        let _ = LEAVE.try_with(|_| ());
        pool
    }

    /// Takes a slot with a buffer of at least `size` bytes, and its class.
    #[inline]
    fn take(&self, size: usize) -> (*mut Meta, usize, Class) {
        // SAFETY: `self` is the calling thread's pool, so no other reference to `local` exists.
        let local = unsafe { &mut *self.local.get() };
        if size <= SMALL_BUFFER {
            if let Some(slot) = local.small.free.pop() {
                return (slot, SMALL_BUFFER, Class::Small);
            }
        }
        self.take_rarely(size)
    }

    #[cold]
    fn take_rarely(&self, size: usize) -> (*mut Meta, usize, Class) {
        // Slots that come back from other threads go before slots that were never used, which cost a page each.
        self.collect_remote();
        // SAFETY: as in `take`; the reference made there is no longer used.
        let local = unsafe { &mut *self.local.get() };
        if size <= SMALL_BUFFER {
            if let Some(slot) = local.small.take() {
                return (slot, SMALL_BUFFER, Class::Small);
            }
        }
        if size <= LARGE_BUFFER {
            if let Some(slot) = local.large.take() {
                return (slot, LARGE_BUFFER, Class::Large);
            }
        }
        self.take_heap(size)
    }

    /// Takes a slot from the heap.
    fn take_heap(&self, size: usize) -> (*mut Meta, usize, Class) {
        let size = size.next_multiple_of(128);
        let layout = heap_layout(size);
        // SAFETY: the layout's size is not zero.
        let slot = unsafe { alloc_zeroed(layout) }.cast::<Meta>();
        if slot.is_null() {
            handle_alloc_error(layout);
        }
        self.n_heap.fetch_add(1, Ordering::Relaxed);
        (slot, size, Class::Heap)
    }

    /// Moves the slots that other threads gave back to the free lists.
    fn collect_remote(&self) {
        self.remote.take_all(|slot| self.put_local(slot));
    }

    #[inline]
    fn put_local(&self, slot: *mut Meta) {
        // SAFETY: called on the owning thread with a free slot of this pool.
        unsafe {
            let local = &mut *self.local.get();
            match (*slot).class {
                Class::Small => local.small.free.push(slot),
                _ => local.large.free.push(slot),
            }
        }
    }

    /// Makes a small slot free if there is one.
    #[cold]
    fn refill(&self) {
        self.collect_remote();
        // SAFETY: as in `take`; the reference made in `collect_remote` is no longer used.
        let small = unsafe { &mut (*self.local.get()).small };
        if !small.free.is_empty() {
            return;
        }
        if let Some(slot) = small.touch() {
            // SAFETY: the slot is ours alone, and initialised memory.
            unsafe { ((*slot).home, (*slot).class, *(*slot).refs.get_mut()) = (self, Class::Small, 0) };
            small.free.push(slot);
        }
    }

    #[cold]
    fn put_remote(&self, slot: *mut Meta) {
        // SAFETY: the slot is free, and this thread holds the only pointer to it.
        unsafe { self.remote.push(slot) };
    }
}

fn heap_layout(size: usize) -> Layout {
    Layout::from_size_align(META + size, 128).expect("a packet's size is far below isize::MAX")
}

/// Takes a slot with a buffer of at least `size` bytes; only `data`, `len`, header offsets and annotations are left to set.
#[inline]
pub(crate) fn take(size: usize) -> NonNull<Meta> {
    let pool = Pool::current();
    begin(pool, pool.take(size))
}

/// As [`take`], the slot being one from the heap, with a buffer of little more than `size` bytes.
pub(crate) fn take_heap(size: usize) -> NonNull<Meta> {
    let pool = Pool::current();
    begin(pool, pool.take_heap(size))
}

#[inline(always)]
fn begin(pool: &Pool, (slot, cap, class): (*mut Meta, usize, Class)) -> NonNull<Meta> {
    // SAFETY: the slot is ours alone, META + cap bytes long, and its memory is initialised (zeroed when made).
    unsafe {
        (*slot).view.owner = slot;
        (*slot).home = pool;
        (*slot).view.cap = cap as u32;
        (*slot).class = class;
        *(*slot).refs.get_mut() = 1;
        NonNull::new_unchecked(slot)
    }
}

/// Writes free slots with small buffers to `places`, at most `n`; how many, none only if all are in use. Of their metadata
/// only what invariant 5 tells is set.
///
/// # Safety
/// `n` pointers can be written to `places`.
#[inline(always)]
pub(crate) unsafe fn take_many(places: *mut *mut Meta, n: usize) -> usize {
    let pool = Pool::current();
    // SAFETY: as in `Pool::take`; after `refill`, which makes a reference of its own, a new one is made.
    unsafe {
        if (*pool.local.get()).small.free.is_empty() {
            pool.refill();
        }
        let free = &mut (*pool.local.get()).small.free;
        let n = n.min(free.len());
        let left = free.len() - n;
        for (i, slot) in free.drain(left..).rev().enumerate() {
            places.add(i).write(slot);
        }
        n
    }
}

/// Whether a slot is one of those that [`put_many`] takes.
///
/// # Safety
/// The slot is the caller's.
#[inline(always)]
pub(crate) unsafe fn is_near(slot: *const Meta) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*slot).class == Class::Small && std::ptr::eq((*slot).home, CURRENT.get()) }
}

/// Gives small slots back to the calling thread's pool, whose they are.
///
/// # Safety
/// As for [`put`], of slots that [are near](is_near).
#[inline]
pub(crate) unsafe fn put_many(slots: &[*mut Meta]) {
    if slots.is_empty() {
        return;
    }
    // SAFETY: as in `Pool::take`.
    unsafe { (*Pool::current().local.get()).small.free.extend_from_slice(slots) };
}

/// Gives a slot back to its home pool.
///
/// # Safety
/// No packet uses the slot's metadata or buffer any more.
#[inline]
pub(crate) unsafe fn put(slot: *mut Meta) {
    // SAFETY: the slot is valid and ours; its home pool is leaked.
    unsafe {
        let home = &*(*slot).home;
        if (*slot).class == Class::Heap {
            put_heap(home, slot);
        } else if std::ptr::eq(home, CURRENT.get()) {
            home.put_local(slot);
        } else {
            home.put_remote(slot);
        }
    }
}

#[cold]
unsafe fn put_heap(home: &Pool, slot: *mut Meta) {
    home.n_heap.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: a heap slot's `cap` is its own buffer's size: heap slots are never used for a clone's metadata.
    unsafe { dealloc(slot.cast(), heap_layout((*slot).view.cap as usize)) };
}
