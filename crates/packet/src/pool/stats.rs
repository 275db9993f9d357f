//! How many slots a thread's pool has handed out.

use std::sync::atomic::Ordering;

use super::Pool;

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
