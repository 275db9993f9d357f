//! Splits off what comes above a rate.
//!
//! Packets up to RATE go to output 0, the rest to output 1, or are dropped if that is not connected. What did not come is made up
//! for, up to the capacity of a token bucket. Unlike with `Meter`, RATE goes to output 0 however many packets come.
//!
//! ```click
//! InfiniteSource -> s :: RatedSplitter(RATE 1000) -> Discard;
//! s [1] -> Discard;
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler};

use super::rate_limit::{RateLimit, Unit, PACKET_ARGS, REFUSALS};

/// The class.
pub const CLASS: Class = class("RatedSplitter", PACKET_ARGS, configure);

const HANDLERS: &[Handler] = &[
    Handler::read("config", "The rate.").flags("alike"),
    Handler::read_write("rate", "The rate; writing it sets the capacity to that of 20 ms.").flags("setting"),
];

const DROPS: &[DropReason] = &[DropReason::new("above-rate", "The packet came above the rate.")];
const ABOVE: usize = 0;

/// A class of these; `configure` calls [`RatedSplitter::of_unit`].
pub(super) const fn class(
    name: &'static str,
    args: &'static [Arg],
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<RatedSplitter>(name, "1/1-2", "h/h", "x/x").causes(Causes::NOTHING);
    Class { configure, ..class.args(args).handlers(HANDLERS).drops(DROPS).refuses(REFUSALS).live() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RatedSplitter::of_unit(conf, Unit::Packets)
}

/// See the page above; `BandwidthRatedSplitter` is made of this, too.
pub struct RatedSplitter {
    limit: RateLimit,
}

impl Element for RatedSplitter {
    fn configure(conf: &mut Configure<'_>) -> Result<RatedSplitter, Failed> {
        Ok(RatedSplitter { limit: RateLimit::configure(conf, Unit::Packets)? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.limit.refill(ctx.now_ns());
        let n_passing = self.limit.n_passing(&batch);
        if n_passing == batch.len() {
            return ctx.emit(0, batch);
        }
        ctx.emit(0, batch.split_first(n_passing));
        ctx.emit_or_drop(1, ABOVE, batch);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "rate" | "config" => Ok(self.limit.unparse()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rate" => self.limit.write_rate(value),
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<RatedSplitter>(ctx, old) {
            self.limit.take_over(&old.limit);
        }
    }
}

impl RatedSplitter {
    /// Makes one that limits packets or bytes.
    pub(super) fn of_unit(conf: &mut Configure<'_>, unit: Unit) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(RatedSplitter { limit: RateLimit::configure(conf, unit)? }))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn what_comes_above_the_rate_is_split_off() {
        check_reading(
            "RatedSource(RATE 1000) -> s :: RatedSplitter(100, BURST_SIZE 10) -> c :: Counter -> Discard;
             s [1] -> d :: Counter -> Discard;
             DriverManager(wait 1s, read c.count, read d.count, write s.rate 10, wait 1s, stop)",
            &["c.count", "d.count", "s.rate"],
            expect![[r#"
                c.count:
                109
                d.count:
                900
                c.count: 118
                d.count: 1891
                s.rate: 10
            "#]],
        );
    }

    #[test]
    fn bytes_above_the_rate_are_split_off() {
        check_reading(
            "RatedSource(LENGTH 1000, RATE 1000) -> s :: BandwidthRatedSplitter(100kBps) -> c :: Counter -> Discard;
             DriverManager(wait 2s, stop)",
            &["c.count", "s.rate"],
            expect![[r#"
                c.count: 202
                s.rate: 800.4kbps
            "#]],
        );
    }
}
