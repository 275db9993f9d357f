//! Sends a copy of each packet to every output.
//!
//! The copies share their bytes until one of them is changed.
//!
//! ```click
//! InfiniteSource -> t :: Tee -> Discard;
//! t [1] -> Queue -> TimedSink;
//! ```

use element::{Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<Tee>("Tee", "1/1-", "h/h", "x/x").lengthens(0).causes(Causes::COPIES).stateless().args(ARGS);

/// The arguments of tees.
pub(super) const ARGS: &[Arg] =
    &[Arg::optional("N", "unsigned", "Number of outputs that you expect; an error if it is another.")];

/// See the page above.
pub struct Tee {
    n_outputs: usize,
}

impl Element for Tee {
    fn configure(conf: &mut Configure<'_>) -> Result<Tee, Failed> {
        let n_outputs = check_n_outputs(conf)?;
        Ok(Tee { n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let last = self.n_outputs.saturating_sub(1);
        emit_clones(ctx, 0..last, &batch);
        ctx.emit(last, batch);
    }
}

/// Reads N and yields the number of outputs.
pub(super) fn check_n_outputs(conf: &mut Configure<'_>) -> Result<usize, Failed> {
    let n_outputs = conf.n_outputs;
    let expected: u32 = conf.args.get_or("N", n_outputs as u32);
    if expected as usize != n_outputs {
        conf.args.fail(format!("{n_outputs} outputs implies {n_outputs} arms"));
    }
    conf.finish()?;
    Ok(n_outputs)
}

/// Emits clones of a batch to each of some outputs.
pub(super) fn emit_clones(ctx: &mut Ctx<'_>, outputs: std::ops::Range<usize>, batch: &Batch) {
    for port in outputs {
        ctx.emit(port, batch.clones());
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn every_output_gets_a_copy() {
        check_reading(
            "InfiniteSource(LENGTH 1, DATA \\<05>, LIMIT 2, STOP true) -> t :: Tee
                 -> StoreData(0, \\<ff>) -> Print(A) -> Discard;
             t [1] -> Print(B) -> Discard;",
            &[],
            expect![[r#"
                A:    1 | ff
                B:    1 | 05
                A:    1 | ff
                B:    1 | 05
            "#]],
        );
        check_reading(
            "Idle -> t :: Tee(3) -> Discard; t [1] -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 't :: Tee':
                  2 outputs implies 2 arms
                Router could not be initialized!
            "#]],
        );
    }
}
