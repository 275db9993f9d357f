//! Drops packets at random so that a queue keeps about a length: adaptive random early detection.
//!
//! As `RED` with a MIN_THRESH of half of TARGET and a MAX_THRESH of one and a half times TARGET, which is at least 10. Twice a
//! second MAX_P grows if the average length is in the upper half of that range or above, and shrinks if it is in the lower
//! half or below (Floyd, Gummadi and Shenker, "Adaptive RED", 2001). Dropped packets go to output 1 if it is connected.
//!
//! ```click
//! InfiniteSource -> AdaptiveRED(20, 0.02) -> Queue(200) -> TimedSink(1ms);
//! ```

use args::FixedPoint;
use element::{same, same_ref, Arg, Batch, Class, Configure, Ctx, Element, Failed, TimerId};

use super::red::{Red, DROPS, HANDLERS, REFUSALS};
use super::red_decision::{Parameters, CERTAIN};

/// The class.
pub const CLASS: Class = Class::new::<AdaptiveRed>("AdaptiveRED", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(REFUSALS)
    .live()
    .looks_around();

const ARGS: &[Arg] = &[
    Arg::required("TARGET", "unsigned", "Average length that is aimed at."),
    Arg::required("MAX_P", "fraction", "Part of the packets that is dropped at MAX_THRESH at first, 0 to 1."),
    Arg::keyword("QUEUES", "element names", "The queues whose lengths are added up. Default: the nearest."),
    Arg::keyword(
        "STABILITY",
        "unsigned",
        "How slowly the average follows: by 1/2^STABILITY per packet; 0 is at once, at most 16. Default 4.",
    ),
];

/// Time between two looks at the average.
const INTERVAL_NS: i64 = 500_000_000;
const LEAST_TARGET: u32 = 10;
/// In 65536ths, like probabilities.
const ONE_HUNDREDTH: u32 = 655;
const NINE_TENTHS: u32 = 58982;

/// See the page above.
pub struct AdaptiveRed {
    pub(super) red: Red,
    timer: Option<TimerId>,
}

impl Element for AdaptiveRed {
    fn configure(conf: &mut Configure<'_>) -> Result<AdaptiveRed, Failed> {
        let target: u32 = conf.args.need("TARGET");
        let FixedPoint::<16>(max_p) = conf.args.need("MAX_P");
        let names = conf.args.get("QUEUES");
        let stability = conf.args.get_or("STABILITY", 4);
        let min_thresh = target.max(LEAST_TARGET) / 2;
        let max_thresh = target.max(LEAST_TARGET).wrapping_add(min_thresh);
        let parameters = Parameters { min_thresh, max_thresh, max_p, stability, is_gentle: true };
        Ok(AdaptiveRed { red: Red::new(conf, parameters, names)?, timer: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.red.initialize(ctx)?;
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, INTERVAL_NS);
        self.timer = Some(timer);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        self.red.push(ctx, port, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        self.red.pull(ctx, port, max)
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let average = match self.red.parameters.stability {
            0 => self.red.queues.len(ctx) as u64,
            _ => self.red.decision.average().rounded(),
        };
        adapt(&mut self.red.parameters, average);
        ctx.reschedule_after(timer, INTERVAL_NS);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        self.red.read(ctx, name, param)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.red.write(ctx, name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if same_ref::<Red>(&*old).is_some() {
            return self.red.take_state(ctx, old);
        }
        let Some(old) = same::<AdaptiveRed>(ctx, old) else { return };
        self.timer = self.timer.or(old.timer);
        self.red.take_over(ctx, old.red);
    }
}

/// Sets the probability of drops to what an average length asks for.
fn adapt(parameters: &mut Parameters, average: u64) {
    let Parameters { min_thresh, max_thresh, max_p, .. } = *parameters;
    let part = max_thresh.saturating_sub(min_thresh) / 2;
    if average < u64::from(min_thresh + part) && max_p > ONE_HUNDREDTH {
        parameters.max_p = (u64::from(max_p) * u64::from(NINE_TENTHS) / u64::from(CERTAIN)) as u32;
    } else if average > u64::from(max_thresh - part) && max_p < CERTAIN / 2 {
        parameters.max_p += ONE_HUNDREDTH.min(max_p / 4);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_probability_grows_while_the_queue_is_long() {
        check_reading(
            "RandomSeed(1); TimedSource(0.5ms) -> r :: AdaptiveRED(20, 0.02) -> q :: Queue -> c :: Counter -> TimedSink(1ms);
             DriverManager(read r.config, wait 0.6s, read r.max_p, write r.max_p 0.5,
                 read r.config, wait 0.1s, stop)",
            &["r.max_p", "r.drops", "r.queues", "r.min_thresh", "r.max_thresh"],
            expect![[r#"
                r.config:
                10, 30, 0.02, QUEUES q, STABILITY 4
                r.max_p:
                0.025
                r.config:
                10, 30, 0.5, QUEUES q, STABILITY 4
                r.max_p: 0.5
                r.drops: 678
                r.queues: q

                r.min_thresh: 10
                r.max_thresh: 30
            "#]],
        );
    }

    #[test]
    fn the_probability_shrinks_while_the_queue_is_short() {
        check_reading(
            "TimedSource(10ms) -> r :: AdaptiveRED(20, 1, STABILITY 0) -> q :: Queue -> TimedSink(1ms);
             DriverManager(wait 0.6s, read r.max_p, wait 1s, stop)",
            &["r.max_p", "r.drops", "r.stats"],
            expect![[r#"
                r.max_p:
                0.9
                r.max_p: 0.72897
                r.drops: 0
                r.stats: 0 current queue
                0 avg queue
                0 drops

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> AdaptiveRED(20) -> AdaptiveRED(50000, 0.5) -> AdaptiveRED(20, 2) -> AdaptiveRED(20, 1, STABILITY 17)
                -> AdaptiveRED(4, 0.1, QUEUES a b) -> Queue -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'AdaptiveRED@2 :: AdaptiveRED':
                  MAX_P: required argument missing
                config:1: While configuring 'AdaptiveRED@3 :: AdaptiveRED':
                  MAX_THRESH must be <= 65535
                config:1: While configuring 'AdaptiveRED@4 :: AdaptiveRED':
                  MAX_P must be between 0 and 1
                config:1: While configuring 'AdaptiveRED@5 :: AdaptiveRED':
                  STABILITY must be between 0 and 16
                config:2: While configuring 'AdaptiveRED@6 :: AdaptiveRED':
                  no element named 'a'
                  no element named 'b'
                Router could not be initialized!
            "#]],
        );
    }
}
