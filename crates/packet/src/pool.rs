//! Pools: where packets' slots come from and go back to.
//!
//! Each thread has one pool. Taking a slot from it and giving one back on the same thread takes no lock and no atomic
//! operation; a slot that is given back on another thread goes onto its home pool's `remote` stack, from which the
//! owner takes all at once when it runs out. When a thread ends, the next new thread adopts its pool.

use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::region::{Anonymous, Region};
use crate::remote::{Link, Remote};

/// Bytes of metadata before a slot's buffer.
pub(crate) const META: usize = 128;
/// Bytes of a small buffer: headroom, a 1500-byte frame and tailroom.
pub const SMALL_BUFFER: usize = 2048;
/// Bytes of a large buffer: headroom and 64 KiB with their headers.
pub const LARGE_BUFFER: usize = 66 * 1024;

const SMALL_SLOTS: usize = 1 << 20;
const LARGE_SLOTS: usize = 1 << 15;
/// The stride of a slot is an odd number of 64-byte cache lines, so that the first lines of metadata and of data spread over
/// all cache sets instead of meeting in some.
const SMALL_STRIDE: usize = META + SMALL_BUFFER + 64;
const LARGE_STRIDE: usize = META + LARGE_BUFFER + 64;
const _: () = assert!(SMALL_STRIDE / 64 % 2 == 1 && LARGE_STRIDE / 64 % 2 == 1);

/// A slot's metadata; the buffer follows it. The first cache line holds what tells the packet's bytes and the annotations that
/// most graphs use, destination address, paint and aggregate among them, so that they do without the second.
#[repr(C, align(64))]
pub(crate) struct Meta {
    /// Packets that use the slot's buffer.
    pub refs: AtomicU32,
    pub class: Class,
    /// Only written by the packet that owns the slot.
    pub kinds: Cell<Kinds>,
    pub view: View,
    pub home: *const Pool,
}

/// What a packet is, in one byte each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kinds {
    pub packet_type: u8,
    pub offload_flags: u8,
    pub gso_type: u8,
}

/// The part of a slot's metadata that a clone takes over as it is.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct View {
    /// The slot whose buffer holds the data.
    pub owner: *mut Meta,
    /// Where the data begins and ends, from the buffer's start on.
    pub offset: u32,
    pub end: u32,
    /// Where headers begin, from the buffer's start on.
    pub mac: u32,
    pub network: u32,
    pub transport: u32,
    /// Lowest offset from the buffer's start at which data has begun: a copy keeps the bytes from here on, so that a stripped header
    /// can be put back.
    pub low: u32,
    pub anno: [u8; 48],
    pub timestamp_ns: i64,
    pub gso_header_len: u16,
    pub gso_size: u16,
    pub checksum_start: u16,
    pub checksum_offset: u16,
    /// The slot of the packet that this one was first cloned from, or its own; only compared.
    pub family: *mut Meta,
    /// Bytes of the buffer that holds the data.
    pub cap: u32,
}

impl View {
    /// Where the buffer begins that holds the data.
    #[inline(always)]
    pub fn base(&self) -> *mut u8 {
        self.owner.cast::<u8>().wrapping_add(META)
    }

    /// Where the data begins.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.base().wrapping_add(self.offset as usize)
    }

    /// Bytes of data.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.end - self.offset
    }
}

// The first 24 bytes of annotations are in the first cache line.
const _: () = assert!(size_of::<Meta>() == META && std::mem::offset_of!(Meta, view.anno) == 64 - 24);

impl Deref for Meta {
    type Target = View;
    #[inline(always)]
    fn deref(&self) -> &View {
        &self.view
    }
}

impl DerefMut for Meta {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut View {
        &mut self.view
    }
}

/// The size class of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Class {
    Small,
    Large,
    /// A slot of its own, from the heap.
    Heap,
}

/// Why a region cannot become a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolError {
    /// The region has no room for a single slot of this many bytes.
    RegionTooSmall {
        /// Bytes given.
        len: usize,
        /// Bytes of one slot.
        slot: usize,
    },
    /// The region's first byte is not aligned to 128 bytes.
    Misaligned,
    /// Packets of the thread's present pool are still alive.
    InUse,
}

impl std::fmt::Display for PoolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PoolError::RegionTooSmall { len, slot } => {
                write!(f, "the region has {len} bytes, but one packet slot takes {slot}")
            }
            PoolError::Misaligned => f.write_str("the region must begin at a multiple of 128 bytes"),
            PoolError::InUse => f.write_str("packets of the thread's present pool are still alive"),
        }
    }
}

impl std::error::Error for PoolError {}

/// How many slots the calling thread's pool has handed out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Small slots ever touched: the pool's high-water mark.
    pub small_touched: usize,
    /// Small slots that are free for reuse on this thread.
    pub small_free: usize,
    /// Large slots ever touched.
    pub large_touched: usize,
    /// Large slots that are free for reuse on this thread.
    pub large_free: usize,
    /// Packets whose buffers came from the heap because the pool was exhausted or they were larger than a large buffer.
    pub heap: usize,
}

impl PoolStats {
    /// Packets of this thread's pool that exist.
    pub fn in_use(&self) -> usize {
        let n_slots = self.small_touched + self.large_touched + self.heap;
        n_slots.saturating_sub(self.small_free + self.large_free)
    }
}

/// The slots of one size class.
struct Slots {
    region: Option<Box<dyn Region>>,
    stride: usize,
    n_slots: usize,
    n_touched: usize,
    free: Vec<*mut Meta>,
}

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

impl Slots {
    fn new(stride: usize, n_slots: usize) -> Slots {
        // A system that refuses a large reservation still gets a pool, if a smaller one.
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

    #[inline]
    fn take(&mut self) -> Option<*mut Meta> {
        self.free.pop().or_else(|| self.touch())
    }

    #[cold]
    fn touch(&mut self) -> Option<*mut Meta> {
        let region = self.region.as_ref().filter(|_| self.n_touched < self.n_slots)?;
        // SAFETY: `n_touched < n_slots` and `n_slots * stride <= region.len()`, so the slot lies within the region.
        let slot = unsafe { region.base().as_ptr().add(self.n_touched * self.stride).cast::<Meta>() };
        self.n_touched += 1;
        Some(slot)
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

impl Link for Meta {
    unsafe fn set_below(this: *mut Meta, below: *mut Meta) {
        // SAFETY: the caller holds the only pointer to the slot.
        unsafe { (*this).view.family = below };
    }

    unsafe fn below(this: *mut Meta) -> *mut Meta {
        // SAFETY: the caller holds the only pointer to the slot.
        unsafe { (*this).view.family }
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

/// Bytes of the slot's own buffer.
#[inline]
pub(crate) fn own_capacity(class: Class, cap: u32) -> u32 {
    match class {
        Class::Small => SMALL_BUFFER as u32,
        Class::Large => LARGE_BUFFER as u32,
        Class::Heap => cap,
    }
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

/// Lays the calling thread's small packets in `region` from now on.
///
/// # Errors
/// When the region is misaligned or too small, or packets of the thread's present pool are alive.
pub fn install(region: Box<dyn Region>) -> Result<(), PoolError> {
    if region.len() < SMALL_STRIDE {
        return Err(PoolError::RegionTooSmall { len: region.len(), slot: SMALL_STRIDE });
    }
    if !(region.base().as_ptr() as usize).is_multiple_of(128) {
        return Err(PoolError::Misaligned);
    }
    let pool = Pool::current();
    pool.collect_remote();
    // SAFETY: `pool` is the calling thread's pool and no other reference to `local` is alive.
    let small = unsafe { &mut (*pool.local.get()).small };
    if small.free.len() != small.n_touched {
        return Err(PoolError::InUse);
    }
    let n_slots = region.len() / SMALL_STRIDE;
    *small = Slots { region: Some(region), stride: SMALL_STRIDE, n_slots, n_touched: 0, free: Vec::new() };
    Ok(())
}

/// Figures of the calling thread's pool.
pub fn stats() -> PoolStats {
    let pool = Pool::current();
    pool.collect_remote();
    // SAFETY: `pool` is the calling thread's pool and no other reference to `local` is alive.
    let local = unsafe { &*pool.local.get() };
    PoolStats {
        small_touched: local.small.n_touched,
        small_free: local.small.free.len(),
        large_touched: local.large.n_touched,
        large_free: local.large.free.len(),
        heap: pool.n_heap.load(Ordering::Relaxed),
    }
}
