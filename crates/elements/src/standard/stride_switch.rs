//! Spreads packets over its outputs in proportion to their tickets.
//!
//! An output with twice the tickets gets twice the packets. Stride scheduling says whose turn it is, so that the packets of an
//! output are as evenly spaced as can be. A port without tickets gets none.
//!
//! ```click
//! FromDump(in.pcap) -> s :: StrideSwitch(2, 1);
//! s[0] -> Discard;
//! s[1] -> Discard;
//! ```

use element::{same, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Refusal, Verdict};

use super::stride::{self, Stride};

/// The class.
pub const CLASS: Class = Class::new::<StrideSwitch>("StrideSwitch", "1/1-", "h/h", "x/x")
    .causes(Causes::NOTHING)
    .blind()
    .args(&[stride::TICKETS_ARG])
    .handlers(stride::HANDLERS)
    .drops(DROPS)
    .silent()
    .refuses(&[("config", Refusal::FailedUnless("need "))])
    .live();

const NO_TICKETS: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-tickets", "No output has tickets.")];

/// See the page above.
pub struct StrideSwitch {
    stride: Stride,
}

impl Element for StrideSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<StrideSwitch, Failed> {
        let stride = Stride::configure(conf, conf.n_outputs, "output");
        conf.finish()?;
        Ok(StrideSwitch { stride })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let stride = &mut self.stride;
        ctx.spread(batch, |_, _| stride.turn(Some).map_or(Verdict::drop(NO_TICKETS), Verdict::port));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.stride.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.stride.write(ctx, name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<StrideSwitch>(ctx, old) {
            self.stride.take_over(&old.stride);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn outputs_get_packets_by_tickets() {
        testing::check_reading(
            r"
            i :: InfiniteSource(x, LIMIT 6, STOP true) -> s :: StrideSwitch(2, 1, 0);
            s[0] -> Print(0) -> Discard; s[1] -> Print(1) -> Discard; s[2] -> Print(2) -> Discard;
            ",
            &["s.tickets0", "s.tickets2"],
            expect![[r#"
                0:    1 | 78
                0:    1 | 78
                1:    1 | 78
                0:    1 | 78
                0:    1 | 78
                1:    1 | 78
                s.tickets0: 2
                s.tickets2: 0
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> StrideSwitch -> StrideSwitch(1, 2) -> StrideSwitch(x) -> StrideSwitch(-1)
                -> StrideSwitch(40000) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'StrideSwitch@4 :: StrideSwitch':
                  argument 0 should be number of tickets (integer)
                config:2: While configuring 'StrideSwitch@2 :: StrideSwitch':
                  need 1 arguments, one per output port
                config:2: While configuring 'StrideSwitch@3 :: StrideSwitch':
                  need 1 arguments, one per output port
                config:2: While configuring 'StrideSwitch@5 :: StrideSwitch':
                  argument 0 (number of tickets) must be >= 0
                config:3: While configuring 'StrideSwitch@6 :: StrideSwitch':
                  warning: input 0's tickets reduced to 32768
                Router could not be initialized!
            "#]],
        );
    }
}
