//! Defines locks.
//!
//! Each argument is the name of a lock, for `SpinlockAcquire`, `SpinlockRelease` and `SpinlockPush` in the same compound element
//! and inside of it.
//!
//! ```click
//! SpinlockInfo(table);
//! InfiniteSource -> SpinlockAcquire(table) -> Counter -> SpinlockRelease(table) -> Discard;
//! ```

use element::{Arg, Class, Configure, Ctx, Element, Failed, Phase};

use super::spinlock::{names, DEFINING};

/// The class.
pub const CLASS: Class =
    Class::new::<SpinlockInfo>(DEFINING, "0/0", "a/a", "x/x").args(ARGS).phase(Phase::INFO);

const ARGS: &[Arg] = &[Arg::rest("NAME", "strings", "Names of locks.")];

/// See the page above.
pub struct SpinlockInfo;

impl Element for SpinlockInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<SpinlockInfo, Failed> {
        for name in names(&conf.args.rest(), conf.scope) {
            if name.is_none() {
                conf.error("bad NAME");
            }
        }
        conf.finish()?;
        Ok(SpinlockInfo)
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, _old: Box<dyn Element>) {}
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn locks_are_seen_in_their_compound_and_inside() {
        check(
            "SpinlockInfo(a, \"b c\");
             elementclass Inner { SpinlockInfo(d); input -> SpinlockAcquire(a) -> SpinlockRelease(\"b c\")
                 -> SpinlockPush(d) -> output; }
             InfiniteSource(DATA x, LIMIT 2) -> Inner -> Print(x) -> Discard; DriverManager(wait 1s)",
            expect![[r#"
                x:    1 | 78
                x:    1 | 78
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "SpinlockInfo(a b, c); Idle -> SpinlockAcquire(x) -> SpinlockRelease -> SpinlockPush(c, d) -> Discard;
             elementclass Inner { SpinlockInfo(d); input -> output; } Idle -> Inner -> SpinlockRelease(d) -> Discard",
            expect![[r#"
                config:1: While configuring 'SpinlockInfo@1 :: SpinlockInfo':
                  bad NAME
                config:1: While configuring 'SpinlockAcquire@3 :: SpinlockAcquire':
                  cannot locate spinlock x
                config:1: While configuring 'SpinlockRelease@4 :: SpinlockRelease':
                  LOCK: required argument missing
                config:1: While configuring 'SpinlockPush@5 :: SpinlockPush':
                  too many arguments
                config:2: While configuring 'SpinlockRelease@9 :: SpinlockRelease':
                  cannot locate spinlock d
                Router could not be initialized!
            "#]],
        );
    }
}
