//! A cache that several elements use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::{Ctx, TimerId};

use super::{ArpCache, Limits};

/// A cache that several elements use.
pub type Shared = Arc<Mutex<ArpCache>>;

/// The cache, to be used.
pub fn locked(cache: &Shared) -> MutexGuard<'_, ArpCache> {
    cache.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time by which entries age.
pub fn now_ms(ctx: &mut Ctx<'_>) -> i64 {
    ctx.now_ns().div_euclid(1_000_000)
}

/// Sets the timer that looks for expired entries.
pub fn schedule(timer: TimerId, limits: Limits, ctx: &mut Ctx<'_>) {
    if limits.timeout_ms != 0 {
        ctx.schedule_after(timer, limits.timeout_ms / 1000 * 1_000_000_000);
    }
}

/// Drops expired entries and sets the timer again.
pub fn run_timer(cache: &Shared, ctx: &mut Ctx<'_>, timer: TimerId) {
    let now = now_ms(ctx);
    let mut cache = locked(cache);
    cache.slim(now);
    if cache.limits.timeout_ms != 0 {
        ctx.schedule_after(timer, (cache.limits.timeout_ms / 1000 + 1) * 1_000_000_000);
    }
}
