//! Pulls from the first input that has a packet, and asks none before whether it is empty.
//!
//! As `PrioSched`, but every input is pulled from whatever it says.
//!
//! ```click
//! s :: SimplePrioSched -> Unqueue -> Discard;
//! InfiniteSource(LIMIT 3) -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{Class, Configure, Element, Failed};

use super::prio_sched::{self, PrioSched};

/// The class.
pub const CLASS: Class = prio_sched::class("SimplePrioSched", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    PrioSched::listening(conf, false)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn earlier_inputs_come_first_though_they_sleep() {
        check(
            "s :: SimplePrioSched -> Print(out) -> Unqueue(BURST 4) -> Discard;
             Idle -> [0]s; InfiniteSource(b, LIMIT 3) -> Queue -> [1]s; InfiniteSource(c, LIMIT 5, STOP true) -> [2]s;",
            expect![[r#"
                out:    1 | 63
                out:    1 | 63
                out:    1 | 63
                out:    1 | 63
                out:    1 | 62
                out:    1 | 63
            "#]],
        );
    }
}
