//! A region of the caller's for a thread's packets, in the place of the pool's own.

use super::slots::{Slots, SMALL_STRIDE};
use super::Pool;
use crate::region::Region;

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
