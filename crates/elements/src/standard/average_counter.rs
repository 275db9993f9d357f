//! Counts packets and bytes, and measures their rates from the first packet to the last.
//!
//! Unlike `Counter`, whose rates are recent ones, the rates are strict averages. The first seconds can be left out.
//!
//! ```click
//! RatedSource(RATE 100, LIMIT 1000, STOP true) -> c :: AverageCounter(IGNORE 1) -> Discard;
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler};

use super::jiffies;

/// The class.
pub const CLASS: Class = Class::new::<AverageCounter>("AverageCounter", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .blind()
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] =
    &[Arg::optional("IGNORE", "unsigned", "Seconds after the first packet that are not counted. Default 0.")];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets since the last reset."),
    Handler::read("byte_count", "Bytes since the last reset."),
    Handler::read("rate", "Packets per second."),
    Handler::read("byte_rate", "Bytes per second."),
    Handler::write("reset", "Sets the counts to 0.").flags("button"),
];

/// See the page above.
pub struct AverageCounter {
    ignore_jiffies: u32,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    n_packets: u64,
    n_bytes: u64,
    /// Jiffies of the first packet and the last.
    span: Option<(u32, u32)>,
}

impl Element for AverageCounter {
    fn configure(conf: &mut Configure<'_>) -> Result<AverageCounter, Failed> {
        let ignore_s: u32 = conf.args.get_or("IGNORE", 0);
        conf.finish()?;
        let ignore_jiffies = ignore_s.wrapping_mul(jiffies::PER_SECOND);
        Ok(AverageCounter { ignore_jiffies, tally: Tally::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.count(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.count(ctx, &batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "count" => self.tally.n_packets.to_string(),
            "byte_count" => self.tally.n_bytes.to_string(),
            "rate" => self.rate(self.tally.n_packets),
            "byte_rate" => self.rate(self.tally.n_bytes),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "reset" {
            return Err(format!("no {name} write handler"));
        }
        self.tally = Tally::default();
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AverageCounter>(ctx, old) else { return };
        self.tally = old.tally;
    }
}

impl AverageCounter {
    fn count(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if batch.is_empty() {
            return;
        }
        let jiffy = jiffies::at(ctx.now_ns());
        let first = self.tally.span.map_or(jiffy, |(first, _)| first);
        if jiffy.wrapping_sub(first) >= self.ignore_jiffies {
            self.tally.n_packets += batch.len() as u64;
            self.tally.n_bytes += batch.iter().map(|packet| packet.len() as u64).sum::<u64>();
        }
        self.tally.span = Some((first, jiffy));
    }

    fn rate(&self, count: u64) -> String {
        let (first, last) = self.tally.span.unwrap_or((0, 0));
        let n_jiffies = last.wrapping_sub(first).wrapping_sub(self.ignore_jiffies).max(1);
        args::unparse_double(count as f64 * f64::from(jiffies::PER_SECOND) / f64::from(n_jiffies))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn rates_are_averages_from_first_to_last() {
        check_reading(
            "RatedSource(LENGTH 10, RATE 333, LIMIT 1000, STOP true) -> a :: AverageCounter
                 -> b :: AverageCounter(IGNORE 1) -> Discard",
            &["a.count", "a.rate", "a.byte_rate", "b.count", "b.byte_count", "b.rate"],
            expect![[r#"
                a.count: 1000
                a.rate: 334.001336005
                a.byte_rate: 3340.01336005
                b.count: 665
                b.byte_count: 6650
                b.rate: 333.500501505
            "#]],
        );
    }
}
