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

use element::{Batch, Class, Configure, Ctx, DropReason, Element, Failed};

use super::outputs::Outputs;
use super::stride::{self, Stride};

/// The class.
pub const CLASS: Class = Class::new::<StrideSwitch>("StrideSwitch", "1/1-", "h/h", "x/x")
    .args(&[stride::TICKETS_ARG])
    .handlers(stride::HANDLERS)
    .drops(DROPS)
    .silent()
    .live();

const DROPS: &[DropReason] = &[DropReason::new("no-tickets", "No output has tickets.")];
const NO_TICKETS: usize = 0;

/// See the page above.
pub struct StrideSwitch {
    stride: Stride,
    outputs: Outputs,
}

impl Element for StrideSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<StrideSwitch, Failed> {
        let stride = Stride::configure(conf, conf.n_outputs, "output");
        conf.finish()?;
        Ok(StrideSwitch { stride, outputs: Outputs::new(conf.n_outputs) })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let stride = &mut self.stride;
        self.outputs.spread(ctx, batch, NO_TICKETS, |_, _| stride.turn(Some).unwrap_or(usize::MAX));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.stride.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.stride.write(ctx, name, value)
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let Ok(old) = old.downcast::<StrideSwitch>() {
            self.stride.take_over(&old.stride);
        }
    }
}
