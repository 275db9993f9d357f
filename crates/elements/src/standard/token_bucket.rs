//! Token buckets: what limits a rate and yet lets bursts through.
//!
//! A bucket fills at a rate, a little every jiffy, up to its capacity. Tokens are counted in fractions such that a full
//! bucket is 2^32 - 1 of them. What comes in a jiffy is rounded down to whole fractions: the smaller the capacity, the more
//! exact the rate.

use super::jiffies;

const FULL: u32 = u32::MAX;

/// How fast a bucket fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    per_jiffy: u32,
    /// Fractions that make a token.
    scale: u32,
    jiffies_until_full: u32,
}

/// A bucket of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    rate: Rate,
    fractions: u32,
    filled_at: u32,
}

impl TokenBucket {
    /// A bucket that fills by `rate` tokens per second up to `capacity`, empty and last filled at jiffy 0: the first
    /// [`TokenBucket::refill`] fills it, unless it is very slow. A bucket without capacity never fills.
    pub fn new(rate: u32, capacity: u32) -> TokenBucket {
        TokenBucket { rate: Rate::new(rate, capacity), fractions: 0, filled_at: 0 }
    }

    /// Sets rate and capacity; the bucket stays as full, in proportion.
    pub fn set_rate(&mut self, rate: u32, capacity: u32) {
        self.rate = Rate::new(rate, capacity);
    }

    /// Sets rate and capacity; the bucket keeps its tokens, as many as fit.
    pub fn set_rate_and_keep(&mut self, rate: u32, capacity: u32) {
        let old_scale = self.rate.scale;
        self.rate = Rate::new(rate, capacity);
        let fractions = u64::from(self.fractions) * u64::from(self.rate.scale) / u64::from(old_scale);
        self.fractions = u32::try_from(fractions).unwrap_or(FULL);
    }

    /// Takes over how full another bucket is.
    pub fn take_fill(&mut self, other: &TokenBucket) {
        self.fractions = other.fractions;
        self.filled_at = other.filled_at;
    }

    /// The rate in tokens per second.
    pub fn rate(&self) -> u32 {
        let per_jiffy = u64::from(self.rate.per_jiffy);
        let per_second = per_jiffy * u64::from(jiffies::PER_SECOND) + per_jiffy / 2;
        u32::try_from(per_second / u64::from(self.rate.scale)).unwrap_or(u32::MAX)
    }

    /// Whole tokens in the bucket.
    #[inline]
    pub fn size(&self) -> u32 {
        self.fractions / self.rate.scale
    }

    /// Sets the number of tokens in the bucket.
    pub fn set(&mut self, tokens: u32) {
        self.fractions = tokens.saturating_mul(self.rate.scale);
    }

    /// Adds what has come since the bucket was last refilled. A clock that went back adds nothing.
    #[inline]
    pub fn refill(&mut self, jiffy: u32) {
        let passed = jiffy.saturating_sub(self.filled_at);
        if passed >= self.rate.jiffies_until_full {
            self.fractions = FULL;
        } else {
            self.fractions = self.fractions.saturating_add(passed.saturating_mul(self.rate.per_jiffy));
        }
        self.filled_at = jiffy;
    }

    /// Whether there are as many tokens.
    #[inline]
    pub fn contains(&self, tokens: u32) -> bool {
        tokens.checked_mul(self.rate.scale).is_some_and(|fractions| fractions <= self.fractions)
    }

    /// Takes out tokens, all if there are fewer.
    #[inline]
    pub fn remove(&mut self, tokens: u32) {
        self.fractions = self.fractions.saturating_sub(tokens.saturating_mul(self.rate.scale));
    }

    /// Jiffies until there are as many tokens; [`u32::MAX`] for never.
    pub fn jiffies_until_contains(&self, tokens: u32) -> u32 {
        let Some(wanted) = tokens.checked_mul(self.rate.scale) else { return u32::MAX };
        let lacking = wanted.saturating_sub(self.fractions);
        if lacking == 0 {
            return 0;
        }
        (lacking - 1).checked_div(self.rate.per_jiffy).map_or(u32::MAX, |jiffies| jiffies.saturating_add(1))
    }

    /// As [`TokenBucket::jiffies_until_contains`], in nanoseconds.
    pub fn ns_until_contains(&self, tokens: u32) -> i64 {
        i64::from(self.jiffies_until_contains(tokens)) * jiffies::NS
    }
}

impl Rate {
    fn new(rate: u32, capacity: u32) -> Rate {
        let (rate, capacity) = if capacity == 0 { (0, FULL) } else { (rate, capacity) };
        // At least what comes in a jiffy, so that `per_jiffy` fits.
        let capacity = capacity.max(rate.div_ceil(jiffies::PER_SECOND));
        let scale = FULL / capacity;
        if rate == 0 {
            return Rate { per_jiffy: 0, scale, jiffies_until_full: u32::MAX };
        }
        let per_jiffy = u64::from(rate) * u64::from(scale) / u64::from(jiffies::PER_SECOND);
        let per_jiffy = u32::try_from(per_jiffy).unwrap_or(FULL).max(1);
        Rate { per_jiffy, scale, jiffies_until_full: (FULL - 1) / per_jiffy + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes a token at every jiffy that has one; says at which.
    fn jiffies_with_tokens(mut bucket: TokenBucket, end: u32) -> Vec<u32> {
        let mut taken = Vec::new();
        for jiffy in 1_000_000..1_000_000 + end {
            bucket.refill(jiffy);
            if bucket.contains(1) {
                bucket.remove(1);
                taken.push(jiffy - 1_000_000);
            }
        }
        taken
    }

    #[test]
    fn tokens_come_at_the_rate_after_a_burst() {
        assert_eq!(jiffies_with_tokens(TokenBucket::new(100, 2), 45), [0, 1, 11, 21, 31, 41]);
        assert_eq!(jiffies_with_tokens(TokenBucket::new(1000, 1), 4), [0, 1, 2, 3]);
        assert_eq!(jiffies_with_tokens(TokenBucket::new(0, 10), 9), [0u32; 0]);
        assert_eq!(jiffies_with_tokens(TokenBucket::new(10, 0), 9), [0u32; 0]);
    }

    #[test]
    fn the_wait_for_tokens_is_known() {
        let mut bucket = TokenBucket::new(100, 2);
        bucket.refill(5_000);
        assert_eq!((bucket.size(), bucket.jiffies_until_contains(2)), (2, 0));
        bucket.remove(2);
        assert_eq!(bucket.jiffies_until_contains(1), 11);
        assert_eq!(bucket.jiffies_until_contains(3), u32::MAX);
        assert_eq!(TokenBucket::new(0, 2).jiffies_until_contains(1), u32::MAX);
    }

    #[test]
    fn a_new_rate_keeps_the_tokens() {
        let mut bucket = TokenBucket::new(1000, 100);
        bucket.set(50);
        bucket.set_rate_and_keep(1000, 200);
        assert_eq!(bucket.size(), 50);
        bucket.set_rate_and_keep(1000, 10);
        assert_eq!(bucket.size(), 10);
    }

    proptest! {
        #[test]
        fn no_more_tokens_come_than_rate_and_capacity_allow(
            rate in 0u32..1_000_000, capacity in 1u32..1_000_000, steps in prop::collection::vec(0u32..5000, 1..50),
        ) {
            let mut bucket = TokenBucket::new(rate, capacity);
            bucket.refill(1 << 31);
            // The size of a token in fractions is rounded down, so a few more may fit.
            let capacity = capacity.max(rate.div_ceil(1000));
            let capacity = u32::MAX / (u32::MAX / capacity);
            prop_assert!(bucket.size() <= capacity);
            let (mut jiffy, mut taken, start) = (1u32 << 31, 0u64, bucket.size());
            for step in steps {
                jiffy += step;
                bucket.refill(jiffy);
                let size = bucket.size();
                prop_assert!(size <= capacity && bucket.contains(size) && !bucket.contains(size + 1));
                bucket.remove(size);
                taken += u64::from(size);
            }
            let most = u64::from(start) + u64::from(jiffy - (1 << 31)) * u64::from(rate) / 1000 + 1;
            prop_assert!(taken <= most, "{taken} of {most}");
        }

        #[test]
        fn the_rate_read_is_the_rate_set(rate in 0u32..1_000_000, capacity in 1u32..1000) {
            let read = TokenBucket::new(rate, capacity).rate();
            prop_assert!(read.abs_diff(rate) <= 1 + rate / 1000, "{read} for {rate}");
        }

        #[test]
        fn nothing_overflows(rate: u32, capacity: u32, tokens: u32, jiffy: u32, other: u32) {
            let mut bucket = TokenBucket::new(rate, capacity);
            bucket.refill(jiffy);
            bucket.set(tokens);
            bucket.set_rate_and_keep(other, tokens);
            bucket.refill(other);
            bucket.remove(tokens);
            let _ = (bucket.rate(), bucket.ns_until_contains(tokens));
        }
    }
}
