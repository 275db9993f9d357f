//! Leads packets by another way while it is active.
//!
//! A `Bypass` between push ports sends what comes in by input 0 to output 0, or to output 1 while it is active; what comes in by
//! input 1 leaves by output 0. Between pull ports, pulls from output 0 go to input 0, or to input 1 while it is active, and
//! pulls from output 1 to input 0. So the same other way, from output 1 to input 1, suits both.
//!
//! ```click
//! InfiniteSource(LIMIT 10) -> b :: Bypass -> Discard;
//! b[1] -> Print(seen) -> [1]b;
//! Script(wait 1s, write b.active true);
//! ```

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use element::{Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

/// The class.
pub const CLASS: Class = Class::new::<Bypass>("Bypass", "1-2/1-2", "a/a", "xy/[xy]x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .pulls_through(1, 0);

const ARGS: &[Arg] = &[
    Arg::optional("ACTIVE", "bool", "Whether packets go the other way. Default false."),
    Arg::keyword("INLINE", "bool", "Taken for Click's sake: there is nothing to choose here."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("active", "Whether packets go the other way.")];

/// See the page above.
pub struct Bypass {
    /// Handlers may be called by who is pulled from.
    is_active: Arc<AtomicBool>,
}

impl Element for Bypass {
    fn configure(conf: &mut Configure<'_>) -> Result<Bypass, Failed> {
        let is_active = conf.args.get_or("ACTIVE", false);
        let _: Option<bool> = conf.args.get("INLINE");
        conf.finish()?;
        Ok(Bypass { is_active: Arc::new(AtomicBool::new(is_active)) })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let output = self.other_end(port, ctx.n_outputs());
        ctx.emit(output, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        let input = self.other_end(port, ctx.n_inputs());
        ctx.pull(input, max)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "active" => Ok(self.is_active.load(Ordering::Relaxed).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                let is_active = args::boolean(value).map_err(|_| "syntax error")?;
                self.is_active.store(is_active, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(Bypass { is_active: self.is_active.clone() }))
    }
}

impl Bypass {
    /// The port on the other side that packets at `port` come from or go to; there are `n_ports` on that side.
    fn other_end(&self, port: usize, n_ports: usize) -> usize {
        let is_active = self.is_active.load(Ordering::Relaxed);
        usize::from(is_active && port == 0 && n_ports > 1)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn pushed_packets_go_the_other_way_while_it_is_active() {
        check(
            r"InfiniteSource(\<11>, LIMIT 4, STOP true) -> Counter(COUNT_CALL 3 b.active true)
                -> b :: Bypass -> Print(A) -> Discard;
            b[1] -> Print(B) -> [1]b;",
            expect![[r#"
                A:    1 | 11
                A:    1 | 11
                B:    1 | 11
                A:    1 | 11
                B:    1 | 11
                A:    1 | 11
            "#]],
        );
    }

    #[test]
    fn pulls_go_the_other_way_while_it_is_active() {
        check(
            r"InfiniteSource(\<11>, LIMIT 4, STOP true) -> PullNull -> Counter(COUNT_CALL 3 b.active true)
                -> b :: Bypass -> Print(C) -> Discard;
            b[1] -> Print(D) -> [1]b;",
            expect![[r#"
                C:    1 | 11
                C:    1 | 11
                C:    1 | 11
                D:    1 | 11
                C:    1 | 11
            "#]],
        );
    }

    #[test]
    fn without_another_way_it_changes_nothing() {
        check(
            r"InfiniteSource(x, LIMIT 1) -> b :: Bypass(true, INLINE true) -> Print(A) -> Discard;
            InfiniteSource(y, LIMIT 1) -> Queue -> Bypass(true) -> Print(B) -> Discard;
            DriverManager(read b.active, wait 1s, write b.active maybe)",
            expect![[r#"
                b.active:
                true
                A:    1 | 78
                B:    1 | 79
                While executing 'DriverManager@10 :: DriverManager':
                  While calling 'b.active maybe':
                    syntax error
            "#]],
        );
    }
}
