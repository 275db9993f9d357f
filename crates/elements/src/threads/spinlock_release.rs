//! Ends a path that one thread at a time may be on.
//!
//! See `SpinlockAcquire`.
//!
//! ```click
//! SpinlockInfo(table);
//! InfiniteSource -> Queue -> SpinlockAcquire(table) -> Counter -> SpinlockRelease(table) -> Unqueue -> Discard;
//! ```

use element::Class;

use super::spinlock;

/// The class.
pub const CLASS: Class = spinlock::class("SpinlockRelease", "a/a");

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_are_pulled_through() {
        check_reading(
            "SpinlockInfo(t); InfiniteSource(LIMIT 3) -> Queue -> SpinlockAcquire(t) -> SpinlockRelease(t) -> u :: Unqueue
                -> c :: Counter -> Discard; DriverManager(wait 1s)",
            &["c.count"],
            expect![[r#"
                c.count: 3
            "#]],
        );
    }
}
