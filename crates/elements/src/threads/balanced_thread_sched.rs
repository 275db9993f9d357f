//! Spreads the graph over the threads so that each has about as much to do.
//!
//! Before the graph begins, each part of it (what no queue separates) that has tasks, and that no `StaticThreadSched` has
//! given a thread, is given the thread whose tasks have the fewest tickets so far: first the parts that have few tickets or,
//! unless INCREASING, those that have many. On one thread this changes nothing.
//!
//! Parts stay where they are: a task runs in the world of its thread, which owns the elements, timers, signals and descriptors that
//! the task touches without a lock, and where parts meet, rings of one writer and one reader are laid between two certain threads
//! when the graph is split. So no task moves while the graph runs, what tasks cost is not measured, and INTERVAL, after which Click
//! would move them, is accepted and has no effect.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> Unqueue -> Discard;
//! BalancedThreadSched;
//! ```

use element::{Arg, Balance, Class, Configure, Ctx, Element, Failed, Role};

/// The class.
pub const CLASS: Class = Class::new::<BalancedThreadSched>("BalancedThreadSched", "0/0", "a/a", "x/x")
    .args(ARGS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::optional("INTERVAL", "int", "Milliseconds; has no effect. Default 1000."),
    Arg::optional(
        "INCREASING",
        "bool",
        "Whether the parts with the fewest tickets come first. Default true.",
    ),
];

/// See the page above.
pub struct BalancedThreadSched {
    order: Balance,
}

impl Element for BalancedThreadSched {
    fn configure(conf: &mut Configure<'_>) -> Result<BalancedThreadSched, Failed> {
        conf.args.get::<i32>("INTERVAL");
        let order = match conf.args.get_or("INCREASING", true) {
            true => Balance::Increasing,
            false => Balance::Decreasing,
        };
        conf.finish()?;
        Ok(BalancedThreadSched { order })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        ctx.runtime().balance_threads(self.order);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run_threads};
    use expect_test::{expect, Expect};

    /// Five parts whose tasks have 1024 to 5120 tickets.
    const PARTS: &str = "a :: InfiniteSource(LIMIT 9) -> Discard; b :: InfiniteSource(LIMIT 9) -> Discard;
        c :: InfiniteSource(LIMIT 9) -> Discard; d :: InfiniteSource(LIMIT 9) -> qd :: Queue -> ud :: Unqueue -> Discard;
        ScheduleInfo(a 5, b 4, c 3, d 2, ud 1); ";

    fn check_threads(sched: &str, n_threads: usize, expect: Expect) {
        let handlers: Vec<_> = "abcd".chars().map(|c| format!("{c}.home_thread")).collect();
        let mut handlers: Vec<&str> = handlers.iter().map(String::as_str).collect();
        handlers.push("ud.home_thread");
        let text =
            run_threads(&format!("{PARTS} {sched}; DriverManager(wait 0.1s, stop)"), n_threads, &handlers);
        expect.assert_eq(&text);
    }

    #[test]
    fn parts_are_spread_by_their_tickets() {
        check_threads(
            "BalancedThreadSched(INCREASING false)",
            3,
            expect![[r#"
            a.home_thread: 0
            b.home_thread: 1
            c.home_thread: 2
            d.home_thread: 2
            ud.home_thread: 1
        "#]],
        );
        check_threads(
            "BalancedThreadSched(500)",
            2,
            expect![[r#"
            a.home_thread: 0
            b.home_thread: 1
            c.home_thread: 0
            d.home_thread: 1
            ud.home_thread: 0
        "#]],
        );
    }

    #[test]
    fn parts_that_have_a_thread_stay_there() {
        check_threads(
            "BalancedThreadSched(500, false); StaticThreadSched(c 1, ud 1)",
            2,
            expect![[r#"
            a.home_thread: 0
            b.home_thread: 1
            c.home_thread: 1
            d.home_thread: 0
            ud.home_thread: 1
        "#]],
        );
    }

    #[test]
    fn on_one_thread_nothing_changes() {
        check_threads(
            "BalancedThreadSched",
            1,
            expect![[r#"
            a.home_thread: 0
            b.home_thread: 0
            c.home_thread: 0
            d.home_thread: 0
            ud.home_thread: 0
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "BalancedThreadSched(x, y, z)",
            expect![[r#"
            config:1: While configuring 'BalancedThreadSched@1 :: BalancedThreadSched':
              INTERVAL: invalid number
              too many arguments
            Router could not be initialized!
        "#]],
        );
    }
}
