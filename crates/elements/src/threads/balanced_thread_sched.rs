//! Spreads the graph over the threads so that each has about as much to do.
//!
//! Before the graph begins, each part of it (what no queue separates) that has tasks, and that no `StaticThreadSched` has
//! given a thread, is given the thread whose tasks have the fewest tickets so far: first the parts that have few tickets or,
//! unless INCREASING, those that have many. On one thread this changes nothing.
//!
//! Every INTERVAL milliseconds from then on, parts move from the thread whose tasks have worked longest of late to the one whose
//! tasks have worked least, as long as that makes the difference smaller; nothing moves while all threads are within an eighth of
//! the mean. A part moves as a whole, while all threads stand still for a moment. What lies further back counts for less: half with
//! each interval. `home_thread` tells where a task runs.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> Unqueue -> Discard;
//! BalancedThreadSched;
//! ```

use element::{Arg, Balance, Class, Configure, Ctx, Element, Failed, Role, TimerId};

/// The class.
pub const CLASS: Class = Class::new::<BalancedThreadSched>("BalancedThreadSched", "0/0", "a/a", "x/x")
    .args(ARGS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::optional("INTERVAL", "int", "Milliseconds from one balance to the next, at least 1. Default 1000."),
    Arg::optional(
        "INCREASING",
        "bool",
        "Whether the parts with the fewest tickets come first. Default true.",
    ),
];

/// See the page above.
pub struct BalancedThreadSched {
    order: Balance,
    interval_ns: i64,
    timer: Option<TimerId>,
}

impl Element for BalancedThreadSched {
    fn configure(conf: &mut Configure<'_>) -> Result<BalancedThreadSched, Failed> {
        let interval = conf.args.get_or::<i32>("INTERVAL", 1000);
        if interval < 1 {
            conf.args.fail("INTERVAL must be positive");
        }
        let order = match conf.args.get_or("INCREASING", true) {
            true => Balance::Increasing,
            false => Balance::Decreasing,
        };
        conf.finish()?;
        Ok(BalancedThreadSched { order, interval_ns: i64::from(interval) * 1_000_000, timer: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        ctx.runtime().balance_threads(Some(self.order));
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, self.interval_ns);
        self.timer = Some(timer);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        ctx.runtime().balance_threads(Some(self.order));
        ctx.schedule_after(timer, self.interval_ns);
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        // An element that could not be configured has begun nothing.
        if self.timer.is_some() {
            ctx.runtime().balance_threads(None);
        }
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, _old: Box<dyn Element>) {
        // The old one's cleanup would end what this one has begun.
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
    fn parts_move_to_threads_that_do_less() {
        // By their tickets, `a` and `c` begin on the first thread, and only they do something.
        let text = run_threads(
            "a :: InfiniteSource -> Discard; b :: InfiniteSource(ACTIVE false) -> Discard;
             c :: InfiniteSource -> Discard; d :: InfiniteSource(ACTIVE false) -> Discard; BalancedThreadSched(20);
             DriverManager(label again, wait 0.01s,
                 goto again $(eq $(a.home_thread) $(c.home_thread)), stop)",
            2,
            &["b.home_thread", "d.home_thread"],
        );
        assert_eq!(text, "b.home_thread: 1\nd.home_thread: 1\n");
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
