//! Lets one thread at a time be on the path behind it.
//!
//! That is all that a packet does until the push returns: up to the next queue, or until it is dropped. The lock is one that a
//! `SpinlockInfo` defines. As with `SpinlockAcquire`, elements of one lock are always on the same thread.
//!
//! ```click
//! SpinlockInfo(table);
//! InfiniteSource -> SpinlockPush(table) -> Counter -> Discard;
//! ```

use element::Class;

use super::spinlock;

/// The class.
pub const CLASS: Class = spinlock::class("SpinlockPush", "h/h");

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn its_packets_are_pushed() {
        check(
            "SpinlockInfo(t); InfiniteSource -> Queue -> SpinlockPush(t) -> Discard",
            expect![[r#"
                'Queue@3 :: Queue' pull output 0 connected to 'SpinlockPush@4 :: SpinlockPush' push input 0
                Router could not be initialized!
            "#]],
        );
    }
}
