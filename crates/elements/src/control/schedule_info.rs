//! Says how often elements' tasks run relative to others.
//!
//! Each argument is the name of an element and a number. An element with 2 runs four times as often as one with 0.5; the
//! default is 1. The number of a compound element, whose name is written with a slash at its end, multiplies those of the
//! elements inside. A definition in an outer compound replaces one for the same element in an inner one.
//!
//! ```click
//! InfiniteSource -> Queue -> fast :: Unqueue -> Discard;
//! InfiniteSource -> Queue -> slow :: Unqueue -> Discard;
//! ScheduleInfo(fast 2, slow 0.5);
//! ```

use element::{Arg, Class, Configure, Ctx, Element, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<ScheduleInfo>("ScheduleInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase::INFO);

const ARGS: &[Arg] = &[Arg::rest("ELEMENT PARAM", "name and real number", "An element and its share.")];

/// Bits of the fraction of a share: 1024 tickets stand for 1.
const FRACTION_BITS: u32 = 10;

/// See the page above.
pub struct ScheduleInfo {
    shares: Vec<(String, u32)>,
}

impl Element for ScheduleInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<ScheduleInfo, Failed> {
        let mut shares = Vec::new();
        for argument in conf.args.rest() {
            let words = args::split_words(&argument);
            let share = match words.as_slice() {
                [] => continue,
                [name, share] => args::fixed_point(share, FRACTION_BITS).ok().map(|share| (name, share)),
                _ => None,
            };
            match share {
                Some((name, share)) => shares.push((name.clone(), share)),
                None => conf.note("expected 'ELEMENTNAME PARAM'"),
            }
        }
        conf.finish()?;
        Ok(ScheduleInfo { shares })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let own = ctx.element;
        for (name, share) in &self.shares {
            ctx.runtime().define_tickets(own, name, *share);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn shares_multiply() {
        check_reading(
            "ScheduleInfo(a 2, c/ 3, c/u 0.5, x y z, big 40);
            Idle -> a :: Unqueue -> Discard; Idle -> big :: Unqueue -> Discard;
            c :: { Idle -> u :: Unqueue -> Discard; Idle -> v :: Unqueue -> Discard; ScheduleInfo(v 4) };",
            &["a.tickets", "big.tickets", "c/u.tickets", "c/v.tickets"],
            expect![[r#"
                config:1: While configuring 'ScheduleInfo@1 :: ScheduleInfo':
                  expected 'ELEMENTNAME PARAM'
                config:2: While initializing 'big :: Unqueue':
                  warning: ScheduleInfo too high; reduced to 32
                a.tickets: 2048
                big.tickets: 32768
                c/u.tickets: 1536
                c/v.tickets: 12288
            "#]],
        );
    }
}
