//! Batches: up to 256 packets that travel together.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::ptr::{null_mut, NonNull};

use crate::Packet;

/// Most packets in a batch.
pub const BATCH_MAX: usize = 256;

/// Spares kept by a thread: a thread that gets more batches from others than it makes frees the rest.
const KEPT: usize = 1024;

/// What a batch points to.
#[repr(C, align(64))]
struct Storage {
    /// Number of packets; of a spare, how many further spares `next` leads to.
    len: usize,
    /// The next of the thread's spares, while this is one.
    next: *mut Storage,
    packets: [std::mem::MaybeUninit<Packet>; BATCH_MAX],
}

thread_local! {
    /// Storage for reuse, last in, first out.
    static SPARE: Cell<*mut Storage> = const { Cell::new(null_mut()) };
    static LEAVE: Leave = const { Leave };
}

/// Frees the thread's spares when the thread ends.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        let mut spare = SPARE.replace(null_mut());
        while !spare.is_null() {
            // SAFETY: spares come from `Box::leak` in `allocate` and belong to this thread alone.
            let storage = unsafe { Box::from_raw(spare) };
            spare = storage.next;
        }
    }
}

/// Makes the thread's end free its spares; a thread that is already ending leaves its last spares unfreed.
#[cold]
#[inline(never)]
fn free_at_end() {
    let _ = LEAVE.try_with(|_| ());
}

#[cold]
#[inline(never)]
fn allocate() -> NonNull<Storage> {
    let packets = [const { std::mem::MaybeUninit::uninit() }; BATCH_MAX];
    NonNull::from(Box::leak(Box::new(Storage { len: 0, next: null_mut(), packets })))
}

#[cold]
#[inline(never)]
fn free(storage: NonNull<Storage>) {
    // SAFETY: all storage comes from `Box::leak` in `allocate`, and the caller gives up the only pointer to it.
    drop(unsafe { Box::from_raw(storage.as_ptr()) });
}

/// Up to [`BATCH_MAX`] packets, in order. A batch is one pointer. What it points to comes from the thread's spares and
/// goes back to them, so that making and dropping batches does not allocate in the steady state.
pub struct Batch(NonNull<Storage>);

// SAFETY: a batch owns its storage and packets may be sent; spares belong to the thread that keeps them.
unsafe impl Send for Batch {}
// SAFETY: `&Batch` only reads.
unsafe impl Sync for Batch {}

impl Batch {
    /// An empty batch.
    #[inline]
    pub fn new() -> Batch {
        let Some(spare) = NonNull::new(SPARE.get()) else { return Batch(allocate()) };
        // SAFETY: a spare belongs to this thread alone.
        SPARE.set(unsafe { spare.as_ref() }.next);
        let mut batch = Batch(spare);
        // SAFETY: no place holds a packet.
        unsafe { batch.set_len(0) };
        batch
    }

    /// A batch of one.
    #[inline]
    pub fn of(packet: Packet) -> Batch {
        let mut batch = Batch::new();
        batch.push(packet);
        batch
    }

    #[inline]
    pub(crate) fn start(&self) -> *mut Packet {
        // SAFETY: the batch owns its storage.
        unsafe { (&raw mut (*self.0.as_ptr()).packets).cast() }
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the batch owns its storage.
        unsafe { self.0.as_ref().len }
    }

    /// Asks the processor to bring the first bytes of all packets near: for who is likely to be the first to look at them, and has
    /// more to do with each than a processor does ahead of time.
    #[inline(always)]
    pub fn prefetch_data(&self) {
        self.iter().for_each(Packet::prefetch_data);
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// # Safety
    /// The first `len` places hold packets that belong to the batch, and `len` is at most [`BATCH_MAX`].
    #[inline]
    pub(crate) unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= BATCH_MAX);
        // SAFETY: the batch owns its storage.
        unsafe { self.0.as_mut().len = len };
    }

    /// Adds a packet at the end.
    ///
    /// # Panics
    /// When the batch is full: callers bound what they add by [`Batch::room`].
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        let len = self.len();
        assert!(len < BATCH_MAX, "a batch holds at most {BATCH_MAX} packets");
        // SAFETY: the place is within the storage and holds no packet.
        unsafe {
            self.start().add(len).write(packet);
            self.set_len(len + 1);
        }
    }

    /// Takes the last packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let last = self.len().checked_sub(1)?;
        // SAFETY: the place held a packet and no longer counts as one that does.
        unsafe {
            self.set_len(last);
            Some(self.start().add(last).read())
        }
    }

    /// How many packets can be added.
    #[inline]
    pub fn room(&self) -> usize {
        BATCH_MAX - self.len()
    }

    /// Removes all packets in order.
    #[inline]
    pub fn drain(&mut self) -> Drain<'_> {
        self.drain_first(BATCH_MAX)
    }

    /// Passes all packets, in order and with their places, to `take`: a drain without a way to stop.
    #[inline(always)]
    pub fn take_all(&mut self, mut take: impl FnMut(usize, Packet)) {
        let n = self.len();
        // SAFETY: no place counts as one that holds a packet any more, so that a panic leaks packets at worst; each is read
        // once.
        unsafe {
            self.set_len(0);
            for i in 0..n {
                take(i, self.start().add(i).read());
            }
        }
    }

    /// Removes the first `n` packets in order; all if there are fewer.
    #[inline]
    pub fn drain_first(&mut self, n: usize) -> Drain<'_> {
        let len = self.len();
        let end = n.min(len);
        // SAFETY: no place counts as one that holds a packet until the drain is dropped: a drain that is forgotten
        // leaks packets.
        unsafe { self.set_len(0) };
        Drain { batch: self, next: 0, end, len }
    }

    /// Takes the first `n` packets into a batch of their own; all if there are fewer.
    pub fn split_first(&mut self, n: usize) -> Batch {
        let mut first = Batch::new();
        let n = n.min(self.len());
        self.take_front(n, |from| {
            // SAFETY: `n` packets begin at `from`, which belongs to another batch.
            first.add_back(n, |to| unsafe { std::ptr::copy_nonoverlapping(from, to, n) });
        });
        first
    }

    /// Shows the first `n` packets to `copy`, which takes them over, and forgets them here.
    #[inline]
    pub(crate) fn take_front(&mut self, n: usize, copy: impl FnOnce(*const Packet)) {
        debug_assert!(n <= self.len());
        let left = self.len() - n;
        copy(self.start());
        // SAFETY: the first `n` packets belong to somebody else now; those behind them move to the front.
        unsafe {
            if left > 0 {
                std::ptr::copy(self.start().add(n), self.start(), left);
            }
            self.set_len(left);
        }
    }

    /// Lets `copy` write `n` packets behind the present ones. There is room for them.
    #[inline]
    pub(crate) fn add_back(&mut self, n: usize, copy: impl FnOnce(*mut Packet)) {
        assert!(n <= self.room(), "a batch holds at most {BATCH_MAX} packets");
        let len = self.len();
        // SAFETY: the places behind the present packets are within the storage; `copy` fills `n` of them.
        unsafe {
            copy(self.start().add(len));
            self.set_len(len + n);
        }
    }

    /// Moves all packets of `other` to the end of this batch, as many as fit; the rest stay in `other`.
    pub fn append(&mut self, other: &mut Batch) {
        let n = self.room().min(other.len());
        other.take_front(n, |from| {
            // SAFETY: `n` packets begin at `from`, which belongs to another batch.
            self.add_back(n, |to| unsafe { std::ptr::copy_nonoverlapping(from, to, n) });
        });
    }

    /// Puts the packets in the order of their places among those that they set out with ([`Packet::place`]); those of one place stay in
    /// their order. So few are sorted without memory from the heap.
    pub fn sort_by_place(&mut self) {
        self.sort_by_key(Packet::place);
    }

    /// Shortens the batch to `n` packets, dropping the others.
    pub fn truncate(&mut self, n: usize) {
        while self.len() > n {
            self.pop();
        }
    }

    /// Keeps, in order, the packets for which `keep` holds and drops the others.
    #[inline]
    pub fn retain(&mut self, mut keep: impl FnMut(&mut Packet) -> bool) {
        self.split(|packet| u32::from(!keep(packet)), |_, packet| drop(packet));
    }

    /// Keeps, in order, the packets for which `port_of` yields 0 and passes every other one, with what it yielded, to
    /// `elsewhere`, in order. This is the loop under all elements that look at packets one by one.
    #[inline(always)]
    pub fn split(
        &mut self,
        mut port_of: impl FnMut(&mut Packet) -> u32,
        mut elsewhere: impl FnMut(u32, Packet),
    ) {
        let n = self.len();
        let start = self.start();
        let mut n_kept = 0;
        // SAFETY: no place counts as one that holds a packet until the end, so that a panic leaks packets at worst. Each of
        // the `n` packets is looked at once, then moved to the place of the last one kept or given away.
        unsafe {
            self.set_len(0);
            for i in 0..n {
                let at = start.add(i);
                let port = port_of(&mut *at);
                let packet = at.read();
                if port == 0 {
                    start.add(n_kept).write(packet);
                    n_kept += 1;
                } else {
                    elsewhere(port, packet);
                }
            }
            self.set_len(n_kept);
        }
    }
}

/// Packets on their way out of a batch. Those that are not taken are dropped with it.
pub struct Drain<'a> {
    batch: &'a mut Batch,
    next: usize,
    end: usize,
    /// Packets that the batch had.
    len: usize,
}

impl Iterator for Drain<'_> {
    type Item = Packet;

    #[inline]
    fn next(&mut self) -> Option<Packet> {
        if self.next == self.end {
            return None;
        }
        // SAFETY: the places from `next` to `end` hold packets that belong to the drain.
        let packet = unsafe { self.batch.start().add(self.next).read() };
        self.next += 1;
        Some(packet)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.next, Some(self.end - self.next))
    }
}

impl ExactSizeIterator for Drain<'_> {}

impl Drop for Drain<'_> {
    #[inline]
    fn drop(&mut self) {
        for packet in self.by_ref() {
            drop(packet);
        }
        let left = self.len - self.end;
        // SAFETY: the packets behind `end` were never taken; they move to the front and count again.
        unsafe {
            let start = self.batch.start();
            if left > 0 {
                std::ptr::copy(start.add(self.end), start, left);
            }
            self.batch.set_len(left);
        }
    }
}

impl Default for Batch {
    fn default() -> Batch {
        Batch::new()
    }
}

impl Deref for Batch {
    type Target = [Packet];
    #[inline]
    fn deref(&self) -> &[Packet] {
        // SAFETY: the first `len` places hold packets.
        unsafe { std::slice::from_raw_parts(self.start(), self.len()) }
    }
}

impl DerefMut for Batch {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Packet] {
        // SAFETY: the first `len` places hold packets.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len()) }
    }
}

impl Extend<Packet> for Batch {
    /// Adds packets.
    ///
    /// # Panics
    /// When the batch overflows.
    fn extend<I: IntoIterator<Item = Packet>>(&mut self, packets: I) {
        for packet in packets {
            self.push(packet);
        }
    }
}

impl Drop for Batch {
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            self.clear();
        }
        let next = SPARE.get();
        if next.is_null() {
            free_at_end();
        }
        // SAFETY: the storage is no longer used by this batch, and holds no packet; `next` is a spare or null.
        let n = unsafe {
            let n = next.as_ref().map_or(0, |next| next.len + 1);
            let storage = self.0.as_mut();
            (storage.len, storage.next) = (n, next);
            n
        };
        if n < KEPT {
            SPARE.set(self.0.as_ptr());
        } else {
            free(self.0);
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
