//! Sends packets to an output chosen by their recent rate.
//!
//! As `BandwidthMeter`, but the rates are in packets per second. Warns that they have no unit, as they cannot have.
//!
//! ```click
//! InfiniteSource -> m :: Meter(1000, 10000) -> Discard;
//! m [1] -> Discard;
//! m [2] -> Discard;
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

use super::bandwidth_meter;

/// The class.
pub const CLASS: Class = Class::new::<Meter>("Meter", "1/2-", "h/h", "x/x")
    .causes(Causes::NOTHING)
    .looks_at_clock(1)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::rest(
    "RATES",
    "numbers",
    "Packets per second in ascending order, one less than there are outputs.",
)];

const HANDLERS: &[Handler] = &[
    Handler::read("rate", "Recent packets per second."),
    Handler::read("meters", "The rates.").flags("alike"),
];

/// See the page above.
pub struct Meter {
    meter: bandwidth_meter::Meter,
}

impl Element for Meter {
    fn configure(conf: &mut Configure<'_>) -> Result<Meter, Failed> {
        Ok(Meter { meter: bandwidth_meter::Meter::configure(conf)? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let port = self.meter.count(batch.len() as u64, ctx.now_ns());
        ctx.emit(port, batch);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.meter.read(name, ctx.now_ns()).ok_or_else(|| format!("no {name} read handler"))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Meter>(ctx, old) else { return };
        self.meter.take_rate(&old.meter);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_rate_chooses_the_output() {
        check_reading(
            "r :: RatedSource(RATE 150) -> m :: Meter(100, 200) -> a :: Counter -> Discard;
             m [1] -> b :: Counter -> Discard; m [2] -> c :: Counter -> Discard;
             DriverManager(wait 1s, read m.rate, write r.rate 500, wait 1s, stop)",
            &["a.count", "b.count", "c.count", "m.meters"],
            expect![[r#"
                config:1: While configuring 'm :: Meter':
                  warning: no units for bandwidth argument 1, assuming Bps
                  warning: no units for bandwidth argument 2, assuming Bps
                m.rate:
                128.906
                a.count: 4
                b.count: 150
                c.count: 499
                m.meters: 99.609199.219
            "#]],
        );
    }
}
