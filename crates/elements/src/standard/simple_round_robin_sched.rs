//! Pulls from its inputs in turn, and asks none before whether it is empty.
//!
//! As `RoundRobinSched`, but every input is pulled from whatever it says.
//!
//! ```click
//! s :: SimpleRoundRobinSched -> Unqueue -> Discard;
//! InfiniteSource(LIMIT 3) -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{Class, Configure, Element, Failed};

use super::round_robin_sched::{self, RoundRobinSched};

/// The class.
pub const CLASS: Class = round_robin_sched::class("SimpleRoundRobinSched", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RoundRobinSched::listening(conf, false)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn inputs_have_their_turns() {
        check(
            "s :: SimpleRoundRobinSched -> Print(out) -> Unqueue(BURST 3) -> Discard;
             Idle -> [0]s; InfiniteSource(b, LIMIT 3) -> Queue -> [1]s; InfiniteSource(c, LIMIT 5, STOP true) -> [2]s;",
            expect![[r#"
                out:    1 | 63
                out:    1 | 63
                out:    1 | 63
                out:    1 | 62
                out:    1 | 63
                out:    1 | 63
                out:    1 | 62
            "#]],
        );
    }
}
