//! Pulls packets from one input.
//!
//! An INPUT that does not exist, such as a negative one, yields no packets.
//!
//! ```click
//! s :: StaticPullSwitch(1) -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> [0]s;
//! FromDump(in.pcap) -> Queue -> [1]s;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class =
    Class::new::<StaticPullSwitch>("StaticPullSwitch", "-/1", "l/l", "x/x").blind().args(ARGS);

const ARGS: &[Arg] = &[Arg::required("INPUT", "int", "The input.")];

/// See the page above.
pub struct StaticPullSwitch {
    input: Option<usize>,
}

impl Element for StaticPullSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<StaticPullSwitch, Failed> {
        let input: i32 = conf.args.need("INPUT");
        conf.finish()?;
        let input = usize::try_from(input).ok().filter(|input| *input < conf.n_inputs);
        Ok(StaticPullSwitch { input })
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        self.input.map_or_else(Batch::new, |input| ctx.pull(input, max))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn one_input_is_pulled_from() {
        testing::check(
            r"
            s :: StaticPullSwitch(1) -> Print(out) -> Unqueue(LIMIT 2) -> Discard;
            InfiniteSource(a, LIMIT 2) -> [0]s; InfiniteSource(b, LIMIT 2) -> [1]s;
            DriverManager(wait 1s);
            ",
            expect![[r#"
                out:    1 | 62
                out:    1 | 62
            "#]],
        );
    }
}
