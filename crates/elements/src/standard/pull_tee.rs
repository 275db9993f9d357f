//! Sends a copy of each packet that is pulled to every other output.
//!
//! Its input and output 0 are pull, its other outputs push.
//!
//! ```click
//! InfiniteSource -> Queue -> t :: PullTee -> TimedSink;
//! t [1] -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed};

use super::tee::{check_n_outputs, emit_clones, ARGS};

/// The class.
pub const CLASS: Class = Class::new::<PullTee>("PullTee", "1/1-", "l/lh", "x/x").args(ARGS);

/// See the page above.
pub struct PullTee {
    n_outputs: usize,
}

impl Element for PullTee {
    fn configure(conf: &mut Configure<'_>) -> Result<PullTee, Failed> {
        let n_outputs = check_n_outputs(conf)?;
        Ok(PullTee { n_outputs })
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        emit_clones(ctx, 1..self.n_outputs, &batch);
        batch
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn other_outputs_are_pushed_to() {
        check_reading(
            "InfiniteSource(DATA \\<05>, LIMIT 2) -> t :: PullTee -> Print(A) -> TimedSink(1ms);
             t [1] -> Print(B) -> Discard; DriverManager(wait 0.1, stop)",
            &[],
            expect![[r#"
                B:    1 | 05
                A:    1 | 05
                B:    1 | 05
                A:    1 | 05
            "#]],
        );
    }
}
