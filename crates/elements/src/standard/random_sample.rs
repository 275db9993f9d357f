//! Lets each packet pass with a probability.
//!
//! The other packets leave by output 1 if it is connected, else they are dropped. Give the probability of passing, as P or
//! SAMPLE, or that of being dropped.
//!
//! ```click
//! FromDump(in.pcap) -> s :: RandomSample(0.01) -> Print(sampled) -> Discard;
//! s[1] -> Discard;
//! ```

use args::FixedPoint;
use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal,
};

/// The class.
pub const CLASS: Class = Class::new::<RandomSample>("RandomSample", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::CHANGES)
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("P", "probability", "The probability of passing, 0 to 1."),
    Arg::keyword("SAMPLE", "probability", "The same as P."),
    Arg::keyword("DROP", "probability", "The probability of not passing, 0 to 1."),
    Arg::keyword("ACTIVE", "bool", "If false, all packets pass. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("sampling_prob", "The probability of passing."),
    Handler::read_write("active", "If false, all packets pass.").flags("checkbox"),
    Handler::read("drops", "Packets that did not pass."),
    Handler::read_write("drop_prob", "The probability of not passing."),
    Handler::read("config", "The probability of passing, and whether the element is active.").flags("alike"),
];

const DROPS: &[DropReason] = &[DropReason::new("not-sampled", "Chance did not let the packet pass.")];
const NOT_SAMPLED: usize = 0;

/// Bits of fraction of a probability.
const BITS: u32 = 28;
/// Probability 1.
const ONE: u32 = 1 << BITS;

/// See the page above.
pub struct RandomSample {
    /// In units of 2^-28.
    probability: u32,
    is_active: bool,
    drops: u32,
}

impl Element for RandomSample {
    fn configure(conf: &mut Configure<'_>) -> Result<RandomSample, Failed> {
        let first: Option<FixedPoint<BITS>> = conf.args.get("P");
        let sample: Option<FixedPoint<BITS>> = conf.args.get("SAMPLE");
        let drop: Option<FixedPoint<BITS>> = conf.args.get("DROP");
        let is_active = conf.args.get_or("ACTIVE", true);
        let probability = match drop {
            Some(drop) => ONE.wrapping_sub(drop.0),
            None => sample.or(first).map_or(u32::MAX, |probability| probability.0),
        };
        if sample.is_some() && drop.is_some() {
            conf.args.fail("give at most one of SAMPLE and DROP");
        } else if probability > ONE {
            conf.args.fail("sampling probability must be between 0 and 1");
        }
        conf.finish()?;
        Ok(RandomSample { probability, is_active, drops: 0 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let others = self.take_others(ctx, &mut batch);
        ctx.emit(0, batch);
        ctx.emit_or_drop(1, NOT_SAMPLED, others);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        let others = self.take_others(ctx, &mut batch);
        ctx.emit_or_drop(1, NOT_SAMPLED, others);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let probability = args::unparse_binary(self.probability, BITS);
        Ok(match name {
            "sampling_prob" => probability,
            "drop_prob" => args::unparse_binary(ONE.saturating_sub(self.probability), BITS),
            "active" => self.is_active.to_string(),
            "drops" => self.drops.to_string(),
            "config" => format!("SAMPLE {probability}, ACTIVE {}", self.is_active),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "sampling_prob" => self.probability = parse_probability(value)?,
            "drop_prob" => self.probability = ONE.saturating_sub(parse_probability(value)?),
            "active" => self.is_active = args::boolean(value).map_err(|_| "expected boolean")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<RandomSample>(ctx, old) {
            self.drops = old.drops;
        }
    }
}

impl RandomSample {
    /// Takes the packets that do not pass out of a batch.
    fn take_others(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) -> Batch {
        let mut others = Batch::new();
        if self.is_active {
            let (mask, probability) = (ONE - 1, self.probability);
            batch.split(|_| u32::from(ctx.random() & mask >= probability), |_, packet| others.push(packet));
            self.drops = self.drops.wrapping_add(others.len() as u32);
        }
        others
    }
}

fn parse_probability(value: &str) -> Result<u32, String> {
    let value = args::uncomment(value);
    let probability = args::fixed_point(&value, BITS).ok().filter(|probability| *probability <= ONE);
    probability.ok_or_else(|| "Must be given a number between 0.0 and 1.0".to_string())
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn probability_1_and_0_are_certain() {
        testing::check_reading(
            r"
            i :: InfiniteSource(x, LIMIT 300, BURST 10, STOP true) -> a :: RandomSample(1)
                -> b :: RandomSample(DROP 0)
                -> c :: RandomSample(SAMPLE 0, ACTIVE false) -> d :: RandomSample(0.0) -> Discard;
            a[1] -> Discard; d[1] -> e :: Discard;
            ",
            &[
                "a.drops",
                "b.drops",
                "c.drops",
                "d.drops",
                "e.count",
                "a.sampling_prob",
                "a.drop_prob",
                "c.active",
            ],
            expect![[r#"
                a.drops: 0
                b.drops: 0
                c.drops: 0
                d.drops: 300
                e.count: 300
                a.sampling_prob: 1
                a.drop_prob: 0
                c.active: false
            "#]],
        );
    }

    #[test]
    fn probabilities_can_be_changed() {
        testing::check(
            r"
            Idle -> s :: RandomSample(0.25) -> Discard;
            DriverManager(read s.drop_prob, write s.drop_prob 0.1, read s.sampling_prob,
                write s.sampling_prob 2, write s.active no, read s.active);
            ",
            expect![[r#"
                s.drop_prob:
                0.75
                s.sampling_prob:
                0.9
                While calling 's.sampling_prob 2':
                  Must be given a number between 0.0 and 1.0
                s.active:
                false
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> RandomSample -> RandomSample(2) -> RandomSample(SAMPLE 0.1, DROP 0.1)
                -> RandomSample(DROP 3) -> RandomSample(x) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'RandomSample@4 :: RandomSample':
                  give at most one of SAMPLE and DROP
                config:2: While configuring 'RandomSample@2 :: RandomSample':
                  sampling probability must be between 0 and 1
                config:2: While configuring 'RandomSample@3 :: RandomSample':
                  sampling probability must be between 0 and 1
                config:3: While configuring 'RandomSample@5 :: RandomSample':
                  sampling probability must be between 0 and 1
                config:3: While configuring 'RandomSample@6 :: RandomSample':
                  P: parse error
                Router could not be initialized!
            "#]],
        );
    }
}
