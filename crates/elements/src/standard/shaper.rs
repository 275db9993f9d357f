//! Lets packets be pulled at most at a rate.
//!
//! Pulls on output 0 get a packet if the next of RATE packets per second is due: the spacing is as even as the pulls are. Pulls
//! on output 1, if it is connected, get a packet if none is due on output 0.
//!
//! ```click
//! InfiniteSource -> Queue -> Shaper(100) -> TimedSink(1ms);
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

use super::gap_rate::{GapRate, MAX_RATE};
use super::rate_limit::{Unit, REFUSALS};

/// The class.
pub const CLASS: Class = class("Shaper", ARGS, configure);

const ARGS: &[Arg] = &[Arg::required("RATE", "unsigned", "Packets per second, at most 4096000000.")];

const HANDLERS: &[Handler] = &[
    Handler::read("config", "The rate.").flags("alike"),
    Handler::read_write("rate", "The rate.").flags("setting"),
    Handler::write("reset", "Forgets what has passed: the rate begins anew."),
];

/// A class of these; `configure` calls [`Shaper::of_unit`].
pub(super) const fn class(
    name: &'static str,
    args: &'static [Arg],
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<Shaper>(name, "1/1-2", "l/l", "x/x");
    Class { configure, ..class.causes(Causes::CHOICE).args(args).handlers(HANDLERS).refuses(REFUSALS).live() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Shaper::of_unit(conf, Unit::Packets)
}

/// See the page above; `BandwidthShaper` is made of this, too.
pub struct Shaper {
    rate: GapRate,
    unit: Unit,
}

impl Element for Shaper {
    fn configure(conf: &mut Configure<'_>) -> Result<Shaper, Failed> {
        Shaper::new(conf, Unit::Packets)
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        if self.unit == Unit::Bytes {
            return self.pull_bytes(ctx, max);
        }
        let n_due = self.rate.n_due(ctx.now_ns());
        match port {
            0 if n_due > 0 => {
                let batch = ctx.pull(0, n_due.min(max as u64) as usize);
                self.rate.count(batch.len() as u64);
                batch
            }
            1 if n_due == 0 => ctx.pull(0, max),
            _ => Batch::new(),
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match (name, self.unit) {
            ("rate" | "config", Unit::Packets) => Ok(self.rate.rate().to_string()),
            ("rate" | "config", Unit::Bytes) => Ok(args::unparse_bandwidth(self.rate.rate())),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rate" => {
                let rate = match self.unit {
                    Unit::Packets => args::integer(value),
                    Unit::Bytes => args::bandwidth(value).map(|bandwidth| bandwidth.bytes_per_s),
                };
                let rate = rate.map_err(|error| format!("RATE: {error}"))?;
                if rate > MAX_RATE {
                    ctx.tell(&too_large());
                }
                self.rate.set_rate(rate, ctx.now_ns());
            }
            "reset" => self.rate.reset(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<Shaper>(ctx, old) {
            if old.unit == self.unit {
                let rate = self.rate.rate();
                self.rate = old.rate;
                self.rate.set_rate(rate, ctx.now_ns());
            }
        }
    }
}

impl Shaper {
    /// Makes one that limits packets or bytes.
    pub(super) fn of_unit(conf: &mut Configure<'_>, unit: Unit) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(Shaper::new(conf, unit)?))
    }

    fn new(conf: &mut Configure<'_>, unit: Unit) -> Result<Shaper, Failed> {
        let rate = match unit {
            Unit::Packets => conf.args.need("RATE"),
            Unit::Bytes => conf.args.need::<args::Bandwidth>("RATE").bytes_per_s,
        };
        conf.finish()?;
        if rate > MAX_RATE {
            conf.note(too_large());
        }
        Ok(Shaper { rate: GapRate::new(rate), unit })
    }

    /// Pulls as long as bytes are due: each packet's length counts before the next is pulled.
    fn pull_bytes(&mut self, ctx: &mut Ctx<'_>, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max && self.rate.is_due(ctx.now_ns()) {
            let Some(packet) = ctx.pull_packet(0) else { break };
            self.rate.count(packet.len() as u64);
            batch.push(packet);
        }
        batch
    }
}

fn too_large() -> String {
    format!("rate too large; lowered to {MAX_RATE}")
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn pulls_get_packets_at_the_rate() {
        check_reading(
            "InfiniteSource -> s :: Shaper(100) -> c :: Counter -> TimedSink(1ms);
             DriverManager(wait 0.5s, read c.count, write s.rate 500, write s.reset, wait 0.5s, write s.rate x, stop)",
            &["c.count", "s.rate"],
            expect![[r#"
                c.count:
                51
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 's.rate x':
                    RATE: invalid number
                c.count: 302
                s.rate: 500
            "#]],
        );
    }

    #[test]
    fn the_second_output_gets_what_is_not_due() {
        check_reading(
            "InfiniteSource(LIMIT 100) -> s :: Shaper(500) => ([0] -> a :: Counter -> [0]; [1] -> [1])
                 => RoundRobinSched -> all :: Counter -> TimedSink(1ms);
             DriverManager(wait 150ms, stop)",
            &["a.count", "all.count"],
            expect![[r#"
                a.count: 51
                all.count: 100
            "#]],
        );
    }

    #[test]
    fn pulls_get_bytes_at_the_rate() {
        check_reading(
            "InfiniteSource(LENGTH 100) -> s :: BandwidthShaper(10kBps) -> c :: Counter -> TimedSink(1ms);
             DriverManager(wait 0.9s, stop)",
            &["c.byte_count", "s.rate"],
            expect![[r#"
                c.byte_count: 9000
                s.rate: 80kbps
            "#]],
        );
    }
}
