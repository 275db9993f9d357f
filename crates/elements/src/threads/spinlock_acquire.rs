//! Begins a path that one thread at a time may be on.
//!
//! The path ends at the `SpinlockRelease` of the same lock, which a `SpinlockInfo` defines. Elements of one lock are always on the
//! same thread (a warning tells if a `StaticThreadSched` wants something else), so packets pass at once.
//!
//! ```click
//! SpinlockInfo(table);
//! InfiniteSource -> SpinlockAcquire(table) -> Counter -> SpinlockRelease(table) -> Discard;
//! ```

use element::Class;

use super::spinlock;

/// The class.
pub const CLASS: Class = spinlock::class("SpinlockAcquire", "a/a");

#[cfg(test)]
mod tests {
    use crate::testing::run_threads;
    use expect_test::expect;

    #[test]
    fn elements_of_a_lock_share_a_thread() {
        let graph = "SpinlockInfo(x, y);
            a :: InfiniteSource(LIMIT 3) -> SpinlockAcquire(x) -> SpinlockRelease(x) -> Discard;
            b :: InfiniteSource(LIMIT 3) -> SpinlockPush(x) -> Discard;
            c :: InfiniteSource(LIMIT 3) -> SpinlockAcquire(y) -> SpinlockRelease(y) -> Discard;
            StaticThreadSched(a 1, b 0, c 1); BalancedThreadSched; DriverManager(wait 0.1s, stop)";
        let handlers = &["a.home_thread", "b.home_thread", "c.home_thread", "b.count"];
        expect![[r#"
            config:2: warning: 'a' runs on thread 0, not 1: no queue is between it and what runs there
            a.home_thread: 0
            b.home_thread: 0
            c.home_thread: 1
            b.count: 3
        "#]]
        .assert_eq(&run_threads(graph, 2, handlers));
    }
}
