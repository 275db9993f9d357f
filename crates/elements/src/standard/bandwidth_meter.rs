//! Sends packets to an output chosen by their recent bandwidth.
//!
//! Below the first RATE packets go to output 0, below the second to output 1, and so on; above all of them to the last output.
//! The bandwidth is a moving average over some milliseconds. Unlike with `BandwidthRatedSplitter`, all packets leave by a later
//! output while the bandwidth is above a rate. A rate is at most 4194303 bytes per second.
//!
//! ```click
//! InfiniteSource(LENGTH 1000) -> m :: BandwidthMeter(1MBps, 4MBps) -> Discard;
//! m [1] -> Discard;
//! m [2] -> Discard;
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

use super::ewma::{unparse_scaled, RateEwma};
use super::jiffies;

/// The class.
pub const CLASS: Class = Class::new::<BandwidthMeter>("BandwidthMeter", "1/2-", "h/h", "x/x")
    .causes(Causes::NOTHING)
    .looks_at_clock(1)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] =
    &[Arg::rest("RATES", "bandwidths", "Rates in ascending order, one less than there are outputs.")];

const HANDLERS: &[Handler] = &[
    Handler::read("rate", "Recent bytes per second."),
    Handler::read("meters", "The rates.").flags("alike"),
];

/// See the page above.
pub struct BandwidthMeter {
    meter: Meter,
}

impl Element for BandwidthMeter {
    fn configure(conf: &mut Configure<'_>) -> Result<BandwidthMeter, Failed> {
        Ok(BandwidthMeter { meter: Meter::configure(conf)? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let n_bytes = batch.iter().map(|packet| packet.len() as u64).sum();
        let port = self.meter.count(n_bytes, ctx.now_ns());
        ctx.emit(port, batch);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.meter.read(name, ctx.now_ns()).ok_or_else(|| format!("no {name} read handler"))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<BandwidthMeter>(ctx, old) else { return };
        self.meter.take_rate(&old.meter);
    }
}

/// A rate and the levels that it is compared with.
pub(super) struct Meter {
    rate: RateEwma,
    /// In events per jiffy with the bits of fraction, ascending.
    levels: Vec<u64>,
}

/// Bits of fraction of rates.
const SCALE: u32 = 10;
/// The highest rate that has room for them.
const RATE_MAX: u32 = u32::MAX >> SCALE;

impl Meter {
    /// Reads the arguments: bandwidths, one less than there are outputs.
    pub fn configure(conf: &mut Configure<'_>) -> Result<Meter, Failed> {
        let texts = conf.args.rest();
        if texts.is_empty() {
            return Err("too few arguments to BandwidthMeter(bandwidth, ...)".into());
        }
        let mut rates: Vec<u32> = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            let Ok(rate) = args::bandwidth(text) else {
                return Err(format!("argument {} syntax error", i + 1).into());
            };
            if rates.last().is_some_and(|last| rate.bytes_per_s <= *last) {
                return Err(format!("rate {} must be > rate {i}", i + 1).into());
            }
            if rate.is_unitless {
                conf.warning(format!("no units for bandwidth argument {}, assuming Bps", i + 1));
            }
            rates.push(rate.bytes_per_s);
        }
        if let Some(at) = rates.iter().position(|rate| *rate > RATE_MAX) {
            return Err(format!("rate {} too large (max {RATE_MAX})", at + 1).into());
        }
        if rates.len() + 1 != conf.n_outputs {
            let n = conf.n_outputs.saturating_sub(1);
            return Err(format!("need {n} arguments, one less than the number of output ports").into());
        }
        conf.finish()?;
        let level = |rate: &u32| (u64::from(*rate) << SCALE) / u64::from(jiffies::PER_SECOND);
        Ok(Meter { rate: RateEwma::new(4, SCALE), levels: rates.iter().map(level).collect() })
    }

    /// Goes on from the rate of the meter that this one replaces.
    pub fn take_rate(&mut self, old: &Meter) {
        self.rate = old.rate;
    }

    /// Counts events and yields the output for the packets: the rate is the same for all that come in a jiffy.
    #[inline]
    pub fn count(&mut self, n_events: u64, now_ns: i64) -> usize {
        self.rate.update(n_events, jiffies::at(now_ns));
        let rate = self.rate.scaled();
        self.levels.iter().position(|level| rate < *level).unwrap_or(self.levels.len())
    }

    /// Reads a handler.
    pub fn read(&mut self, name: &str, now_ns: i64) -> Option<String> {
        Some(match name {
            "rate" => {
                self.rate.update(0, jiffies::at(now_ns));
                self.rate.unparse()
            }
            "meters" => {
                let level = |level: &u64| unparse_scaled(level * u64::from(jiffies::PER_SECOND), SCALE);
                self.levels.iter().map(level).collect()
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_bandwidth_chooses_the_output() {
        check_reading(
            "RatedSource(LENGTH 100, RATE 333, LIMIT 1000, STOP true) -> m :: BandwidthMeter(30kBps) -> a :: Counter
                 -> Discard; m [1] -> b :: Counter -> Discard",
            &["a.count", "b.count", "m.rate", "m.meters"],
            expect![[r#"
                a.count: 23
                b.count: 977
                m.rate: 31208.984
                m.meters: 30000
            "#]],
        );
    }

    #[test]
    fn rates_are_checked() {
        let meter =
            |config: &str| format!("Idle -> m :: BandwidthMeter({config}) -> Discard; m [1] -> Discard");
        check_reading(
            &meter(""),
            &[],
            expect![[r#"
                config:1: While configuring 'm :: BandwidthMeter':
                  too few arguments to BandwidthMeter(bandwidth, ...)
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &meter("1kBps, 1kBps"),
            &[],
            expect![[r#"
                config:1: While configuring 'm :: BandwidthMeter':
                  rate 2 must be > rate 1
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &meter("1kBps, x"),
            &[],
            expect![[r#"
                config:1: While configuring 'm :: BandwidthMeter':
                  argument 2 syntax error
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &meter("4194303Bps, 4194304Bps"),
            &[],
            expect![[r#"
                config:1: While configuring 'm :: BandwidthMeter':
                  rate 2 too large (max 4194303)
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &meter("1kBps, 2kBps"),
            &[],
            expect![[r#"
                config:1: While configuring 'm :: BandwidthMeter':
                  need 1 arguments, one less than the number of output ports
                Router could not be initialized!
            "#]],
        );
    }
}
