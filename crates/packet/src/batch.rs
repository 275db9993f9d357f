//! Batches: up to 256 packets that travel together.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use crate::packet::drop_user;
use crate::pool::{self, Meta};
use crate::Packet;

/// Most packets in a batch.
pub const BATCH_MAX: usize = 256;

/// Batches kept for reuse by a thread.
const KEPT: usize = 64;

thread_local! {
    static SPARE: RefCell<Vec<Vec<Packet>>> = const { RefCell::new(Vec::new()) };
}

/// Up to [`BATCH_MAX`] packets, in order. Its storage is taken from and given back to the thread's spares, so that
/// making and dropping batches does not allocate in the steady state.
pub struct Batch {
    packets: Vec<Packet>,
}

impl Batch {
    /// An empty batch.
    #[inline]
    pub fn new() -> Batch {
        let spare = SPARE.try_with(|spare| spare.try_borrow_mut().ok().and_then(|mut spare| spare.pop()));
        Batch { packets: spare.ok().flatten().unwrap_or_else(|| Vec::with_capacity(BATCH_MAX)) }
    }

    /// A batch of one.
    #[inline]
    pub fn of(packet: Packet) -> Batch {
        let mut batch = Batch::new();
        batch.packets.push(packet);
        batch
    }

    /// Adds a packet at the end.
    ///
    /// # Panics
    /// When the batch is full: callers bound what they add by [`Batch::room`].
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        assert!(self.packets.len() < BATCH_MAX, "a batch holds at most {BATCH_MAX} packets");
        self.packets.push(packet);
    }

    /// Takes the last packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        self.packets.pop()
    }

    /// How many packets can be added.
    #[inline]
    pub fn room(&self) -> usize {
        BATCH_MAX - self.packets.len()
    }

    /// Removes all packets in order.
    #[inline]
    pub fn drain(&mut self) -> std::vec::Drain<'_, Packet> {
        self.packets.drain(..)
    }

    /// Removes the first `n` packets in order; all if there are fewer.
    #[inline]
    pub fn drain_first(&mut self, n: usize) -> std::vec::Drain<'_, Packet> {
        let n = n.min(self.packets.len());
        self.packets.drain(..n)
    }

    /// Shows the first `n` packets to `copy`, which takes them over, and forgets them here.
    #[inline]
    pub(crate) fn take_front(&mut self, n: usize, copy: impl FnOnce(*const Packet)) {
        debug_assert!(n <= self.packets.len());
        let left = self.packets.len() - n;
        copy(self.packets.as_ptr());
        // SAFETY: the first `n` packets belong to somebody else now; those behind them move to the front.
        unsafe {
            let start = self.packets.as_mut_ptr();
            std::ptr::copy(start.add(n), start, left);
            self.packets.set_len(left);
        }
    }

    /// Lets `copy` write `n` packets behind the present ones. There is room for them.
    #[inline]
    pub(crate) fn add_back(&mut self, n: usize, copy: impl FnOnce(*mut Packet)) {
        let len = self.packets.len();
        assert!(len + n <= self.packets.capacity(), "a batch holds at most {BATCH_MAX} packets");
        // SAFETY: the slots behind the present packets are within the capacity; `copy` fills `n` of them.
        unsafe {
            copy(self.packets.as_mut_ptr().add(len));
            self.packets.set_len(len + n);
        }
    }

    /// Moves all packets of `other` to the end of this batch, as many as fit; the rest stay in `other`.
    pub fn append(&mut self, other: &mut Batch) {
        let n = self.room();
        self.packets.extend(other.drain_first(n));
    }

    /// Shortens the batch to `n` packets, dropping the others.
    pub fn truncate(&mut self, n: usize) {
        self.packets.truncate(n);
    }

    /// Keeps, in order, the packets for which `keep` holds and drops the others.
    #[inline]
    pub fn retain(&mut self, keep: impl FnMut(&mut Packet) -> bool) {
        self.packets.retain_mut(keep);
    }

    /// Asks the processor to bring all packets near.
    #[inline]
    pub fn prefetch(&self) {
        for packet in &self.packets {
            packet.prefetch();
        }
    }

    /// Keeps, in order, the packets for which `port_of` yields 0 and passes every other one, with what it yielded, to
    /// `elsewhere`, in order. This is the loop under all elements that look at packets one by one.
    #[inline(always)]
    pub fn split(
        &mut self,
        mut port_of: impl FnMut(&mut Packet) -> u32,
        mut elsewhere: impl FnMut(u32, Packet),
    ) {
        let mut i = 0;
        let n = self.packets.len();
        // As long as all stay, nothing moves.
        while i < n {
            let port = port_of(&mut self.packets[i]);
            if port != 0 {
                return self.split_rest(i, port, port_of, elsewhere);
            }
            i += 1;
        }
        let _ = &mut elsewhere;
    }

    #[inline(always)]
    fn split_rest(
        &mut self,
        from: usize,
        port: u32,
        mut port_of: impl FnMut(&mut Packet) -> u32,
        mut elsewhere: impl FnMut(u32, Packet),
    ) {
        let mut rest = Batch::new();
        rest.packets.extend(self.packets.drain(from..));
        let mut rest_packets = rest.packets.drain(..);
        if let Some(packet) = rest_packets.next() {
            elsewhere(port, packet);
        }
        for mut packet in rest_packets {
            match port_of(&mut packet) {
                0 => self.packets.push(packet),
                port => elsewhere(port, packet),
            }
        }
    }

    /// Drops all packets; clones of one buffer that follow each other are counted off together.
    #[inline]
    pub fn clear(&mut self) {
        let mut run: (*mut Meta, u32) = (std::ptr::null_mut(), 0);
        for packet in self.packets.drain(..) {
            let slot = packet.0.as_ptr();
            std::mem::forget(packet);
            // SAFETY: the forgotten packet owned its slot; what `Packet::drop` does is done here, but that users of the
            // same buffer are counted off together, before that buffer's count is looked at by anyone else.
            unsafe {
                let owner = (*slot).owner;
                if !std::ptr::eq(owner, run.0) {
                    if run.1 > 0 {
                        drop_user(run.0, run.1);
                    }
                    run = (owner, 0);
                }
                run.1 += 1;
                if !std::ptr::eq(owner, slot) {
                    pool::put(slot);
                }
            }
        }
        if run.1 > 0 {
            // SAFETY: `run.1` packets used this buffer until now.
            unsafe { drop_user(run.0, run.1) };
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
        &self.packets
    }
}

impl DerefMut for Batch {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Packet] {
        &mut self.packets
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
        if !self.packets.is_empty() {
            self.clear();
        }
        let packets = std::mem::take(&mut self.packets);
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut() {
                if spare.len() < KEPT && packets.capacity() > 0 {
                    spare.push(packets);
                }
            }
        });
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.packets.iter()).finish()
    }
}
