//! Sends all packets to one output.
//!
//! An OUTPUT that does not exist, such as a negative one, drops all packets.
//!
//! ```click
//! FromDump(in.pcap) -> s :: StaticSwitch(1);
//! s[0] -> Discard;
//! s[1] -> Print -> Discard;
//! ```

use element::{Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<StaticSwitch>("StaticSwitch", "1/-", "h/h", "x/x")
    .causes(Causes::NOTHING)
    .blind()
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("OUTPUT", "int", "The output.")];

const DROPS: &[DropReason] = &[DropReason::new("off", "The switch is set to no output.")];
const OFF: usize = 0;

/// See the page above.
pub struct StaticSwitch {
    output: Option<usize>,
}

impl Element for StaticSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<StaticSwitch, Failed> {
        let output: i32 = conf.args.need("OUTPUT");
        conf.finish()?;
        let output = usize::try_from(output).ok().filter(|output| *output < conf.n_outputs);
        Ok(StaticSwitch { output })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        match self.output {
            Some(output) => ctx.emit(output, batch),
            None => ctx.drop_batch(OFF, batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn all_packets_leave_by_one_output() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1, STOP true) -> s :: StaticSwitch(1);
            s[0] -> Print(zero) -> Discard;
            s[1] -> Print(one) -> t :: StaticSwitch(-1) -> Print(no) -> Discard;
            ",
            expect![[r#"
                one:    1 | 78
            "#]],
        );
    }
}
