//! Sets where random numbers begin, so that a graph does the same each time.
//!
//! Without SEED, as without this element, nobody can foretell them. Elements that draw numbers share one sequence, Click's for
//! that seed. With several threads or cores, the first has that sequence and the others each one that follows from SEED.
//!
//! ```click
//! RandomSeed(7);
//! InfiniteSource(LIMIT 10) -> s :: RandomSwitch -> Discard;
//! s [1] -> Discard;
//! ```

use element::{Arg, Class, Configure, Ctx, Element, Failed, Handler, Phase, Refusal};

/// The class.
pub const CLASS: Class = Class::new::<RandomSeed>("RandomSeed", "0/0", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .phase(Phase::FIRST)
    .refuses(&[("seed", Refusal::Failed), ("config", Refusal::Failed)])
    .live();

const ARGS: &[Arg] = &[Arg::optional("SEED", "unsigned", "The seed. Default: none.")];

const HANDLERS: &[Handler] = &[Handler::read_write(
    "seed",
    "The seed; writing it begins its sequence, and writing nothing one that nobody can foretell.",
)
.flags("calm setting")];

/// See the page above.
pub struct RandomSeed {
    seed: Option<u32>,
    /// As it was given.
    text: String,
}

impl Element for RandomSeed {
    fn configure(conf: &mut Configure<'_>) -> Result<RandomSeed, Failed> {
        let seed = conf.args.get("SEED");
        let text = conf.args.text("SEED").unwrap_or_default().to_string();
        conf.finish()?;
        Ok(RandomSeed { seed, text })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        ctx.runtime().seed_random(self.seed);
        Ok(())
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "seed" => Ok(self.text.clone()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "seed" {
            return Err(format!("no {name} write handler"));
        }
        self.seed = match value {
            "" => None,
            _ => Some(args::integer(value).map_err(|error| format!("SEED: {error}"))?),
        };
        self.text = value.to_string();
        ctx.runtime().seed_random(self.seed);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, _old: Box<dyn Element>) {
        // A new seed counts at once.
        ctx.runtime().seed_random(self.seed);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_seed_begins_its_sequence() {
        check_reading(
            "r :: RandomSeed(1); any :: Script(TYPE PASSIVE, return $(random)); two :: Script(TYPE PASSIVE, return $(random 0 1));
             ten :: Script(TYPE PASSIVE, return $(random 5 14)); all :: Script(TYPE PASSIVE, return $(random 0 4294967295));
             DriverManager(read any.run, read any.run, read two.run, read ten.run, read all.run, write r.seed 42, read any.run,
                 write r.seed x, read r.seed, write r.config 1, read any.run, write r.seed, read r.seed,
                 write r.seed 0x2A, read any.run, stop)",
            &["r.seed", "r.config", "r.handlers"],
            expect![[r#"
                any.run:
                1804289383
                any.run:
                846930886
                two.run:
                0
                ten.run:
                12
                all.run:
                3097650469
                any.run:
                71876166
                While calling 'r.seed x':
                  SEED: invalid number
                r.seed:
                42
                any.run:
                1804289383
                r.seed:

                any.run:
                71876166
                r.seed: 0x2A
                r.config: SEED 0x2A
                r.handlers: seed	rw.
                handlers	r.
                ports	r.
                config	rw.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn what_draws_numbers_is_the_same_each_time() {
        check_reading(
            "RandomSeed(1); InfiniteSource(LIMIT 100) -> s :: RandomSwitch -> a :: Counter -> r :: RandomSample(0.25) -> b :: Counter -> Discard;
             s [1] -> Discard; s [2] -> e :: RandomBitErrors(0.1) -> c :: Counter -> Discard;
             RandomSource(5, LIMIT 2) -> Print -> Discard;
             DriverManager(wait 0.1s, stop)",
            &["a.count", "b.count", "c.count", "r.drops"],
            expect![[r#"
                   5 | 61a85b23 89
                   5 | 5cafb515 bb
                a.count: 29
                b.count: 5
                c.count: 30
                r.drops: 24
            "#]],
        );
    }
}
