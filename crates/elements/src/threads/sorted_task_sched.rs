//! An old name of `BalancedThreadSched`.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue -> Discard;
//! SortedTaskSched(500, false);
//! ```

use element::Class;

use super::balanced_thread_sched;

/// The class.
pub const CLASS: Class = {
    let mut class = balanced_thread_sched::CLASS.alias_of("BalancedThreadSched");
    class.facts.name = "SortedTaskSched";
    class
};

#[cfg(test)]
mod tests {
    use crate::testing::run_threads;
    use expect_test::expect;

    #[test]
    fn it_balances() {
        let graph = "s :: SortedTaskSched; a :: InfiniteSource(LIMIT 9) -> Discard; b :: InfiniteSource(LIMIT 9) -> Discard;
            DriverManager(wait 0.1s, stop)";
        expect![[r#"
            s.class: BalancedThreadSched
            a.home_thread: 0
            b.home_thread: 1
        "#]]
        .assert_eq(&run_threads(graph, 2, &["s.class", "a.home_thread", "b.home_thread"]));
    }
}
