//! A token bucket that counts exactly: what was taken from it, in tokens times nanoseconds.

use super::rate::Limit;

const NS: u64 = 1_000_000_000;

/// A bucket, full at first.
#[derive(Clone, Copy, Default, Debug)]
pub struct Bucket {
    /// Tokens that are missing, times 10^9: then a nanosecond at RATE is RATE of these.
    missing: u64,
    /// When that was so.
    at_ns: u64,
}

impl Bucket {
    /// Takes tokens if they are there; all that are there, and those still to come, if the bucket is full and holds less.
    #[inline(always)]
    pub fn take(&mut self, limit: &Limit, n_tokens: u64, now_ns: u64) -> bool {
        let missing = self.missing_at(limit, now_ns);
        (self.missing, self.at_ns) = (missing, self.at_ns.max(now_ns));
        let wanted = missing.saturating_add(n_tokens.saturating_mul(NS));
        let is_there = missing == 0 || wanted <= limit.burst.saturating_mul(NS);
        if is_there {
            self.missing = wanted;
        }
        is_there
    }

    /// Lets no more be missing than a bucket of this limit holds.
    pub fn fit(&mut self, limit: &Limit) {
        self.missing = self.missing.min(limit.burst.saturating_mul(NS));
    }

    /// Whether nothing is missing.
    pub fn is_full(&self, limit: &Limit, now_ns: u64) -> bool {
        self.missing_at(limit, now_ns) == 0
    }

    #[inline(always)]
    fn missing_at(&self, limit: &Limit, now_ns: u64) -> u64 {
        let elapsed_ns = now_ns.saturating_sub(self.at_ns);
        self.missing.saturating_sub(elapsed_ns.saturating_mul(limit.rate.tokens_per_s()))
    }
}
