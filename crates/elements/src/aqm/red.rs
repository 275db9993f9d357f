//! Drops packets at random, the more the longer a queue is: random early detection.
//!
//! Looks at the lengths of queues: those that QUEUES names, else the nearest ones downstream or, with a pull output, upstream.
//! While their average length is at most MIN_THRESH all packets pass. From there the part that is dropped rises to MAX_P at
//! MAX_THRESH and, if GENTLE, to all at twice MAX_THRESH. Dropped packets go to output 1 if it is connected.
//!
//! ```click
//! InfiniteSource -> RED(5, 50, 0.02) -> Queue(200) -> TimedSink(1ms);
//! ```

use args::FixedPoint;
use element::{
    same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal,
};

use super::adaptive_red::AdaptiveRed;
use super::red_decision::{Curve, Decision, Parameters};
use super::watched_queues::WatchedQueues;

/// The class.
pub const CLASS: Class = Class::new::<Red>("RED", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(REFUSALS)
    .live()
    .looks_around();

/// What failed writes to the handlers return.
pub(super) const REFUSALS: &[(&str, Refusal)] = &[
    ("config", Refusal::Failed),
    ("min_thresh", Refusal::Failed),
    ("max_thresh", Refusal::Failed),
    ("max_p", Refusal::Failed),
];

const ARGS: &[Arg] = &[
    Arg::required("MIN_THRESH", "unsigned", "Average length up to which nothing is dropped."),
    Arg::required("MAX_THRESH", "unsigned", "Average length at which MAX_P is dropped, at most 65535."),
    Arg::required("MAX_P", "fraction", "Part of the packets that is dropped at MAX_THRESH, 0 to 1."),
    Arg::keyword("QUEUES", "element names", "The queues whose lengths are added up. Default: the nearest."),
    Arg::keyword(
        "STABILITY",
        "unsigned",
        "How slowly the average follows: by 1/2^STABILITY per packet; 0 is at once, at most 16. Default 4.",
    ),
    Arg::keyword("GENTLE", "bool", "Whether the part rises steadily above MAX_THRESH. Default true."),
];

/// The handlers of every kind of random early detection.
pub(super) const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Packets dropped."),
    Handler::read_write("min_thresh", "Average length up to which nothing is dropped.").flags("setting"),
    Handler::read_write("max_thresh", "Average length at which max_p is dropped.").flags("setting"),
    Handler::read_write("max_p", "Part of the packets that is dropped at max_thresh.").flags("setting"),
    Handler::read("avg_queue_size", "Average length of the queues.").flags("alike"),
    Handler::read("stats", "Length of the queues, average length and drops.").flags("alike"),
    Handler::read("queues", "Names of the queues, one per line.").flags("alike"),
    Handler::read("config", "The parameters.").flags("alike"),
];

/// The reasons for drops of every kind of random early detection.
pub(super) const DROPS: &[DropReason] =
    &[DropReason::new("early-detection", "The queue was getting too long.")];
const EARLY: usize = 0;

/// See the page above.
pub struct Red {
    pub(super) parameters: Parameters,
    pub(super) decision: Decision,
    pub(super) queues: WatchedQueues,
    n_drops: u64,
    /// Whether it knows by itself how the queues grow: all that it lets pass goes straight into the one that it looks at.
    fills_queue: bool,
    /// Whether it was there when the graph began, rather than made for a new configuration.
    is_original: bool,
    /// Whether the queues are those of the one that it replaces.
    keeps_queues: bool,
}

impl Element for Red {
    fn configure(conf: &mut Configure<'_>) -> Result<Red, Failed> {
        let min_thresh = conf.args.need("MIN_THRESH");
        let max_thresh = conf.args.need("MAX_THRESH");
        let FixedPoint::<16>(max_p) = conf.args.need("MAX_P");
        let names = conf.args.get("QUEUES");
        let stability = conf.args.get_or("STABILITY", 4);
        let is_gentle = conf.args.get_or("GENTLE", true);
        Red::new(conf, Parameters { min_thresh, max_thresh, max_p, stability, is_gentle }, names)
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.is_original = true;
        self.queues.find(ctx)?;
        self.fills_queue = self.queues.are_filled_by(ctx);
        Ok(())
    }

    fn causes(&self, usual: Causes) -> Causes {
        if self.fills_queue {
            Causes::CHANGES.and(Causes::LOOKS_AT_STORES)
        } else {
            usual
        }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        // What passes here fills the queues before the next packet is looked at.
        let mut len = self.queues.len(ctx);
        let grows = !self.queues.are_drained(ctx);
        let curve = self.parameters.curve();
        let mut dropped = Batch::new();
        batch.split(
            |_| {
                let is_dropped = self.drops(ctx, &curve, len);
                len += usize::from(grows && !is_dropped);
                u32::from(is_dropped)
            },
            |_, packet| dropped.push(packet),
        );
        ctx.emit(0, batch);
        self.discard(ctx, dropped);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let curve = self.parameters.curve();
        let mut passed = Batch::new();
        while passed.len() < max {
            let wanted = max - passed.len();
            let mut batch = ctx.pull(0, wanted);
            let n = batch.len();
            // The first of the packets was taken when the others were still in the queues.
            let len = self.queues.len(ctx).saturating_add(n);
            let mut dropped = Batch::new();
            for (i, packet) in batch.drain().enumerate() {
                let is_dropped = self.drops(ctx, &curve, len - i - 1);
                let side: &mut Batch = if is_dropped { &mut dropped } else { &mut passed };
                side.push(packet);
            }
            self.discard(ctx, dropped);
            if n < wanted {
                break;
            }
        }
        passed
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "drops" => self.n_drops.to_string(),
            "min_thresh" => self.parameters.min_thresh.to_string(),
            "max_thresh" => self.parameters.max_thresh.to_string(),
            "max_p" => args::unparse_binary(self.parameters.max_p, 16),
            "avg_queue_size" => self.decision.average().unparse(),
            "stats" => {
                let (len, average) = (self.queues.len(ctx), self.decision.average().unparse());
                format!("{len} current queue\n{average} avg queue\n{} drops\n", self.n_drops)
            }
            "queues" => self.queues.names(ctx).iter().map(|name| format!("{name}\n")).collect(),
            "config" => self.config(ctx),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let mut parameters = self.parameters.clone();
        let named = |error: String| format!("{}: {error}", name.to_uppercase());
        match name {
            "min_thresh" => parameters.min_thresh = args::integer(value).map_err(named)?,
            "max_thresh" => parameters.max_thresh = args::integer(value).map_err(named)?,
            "max_p" => parameters.max_p = args::fixed_point(value, 16).map_err(named)?,
            _ => return Err(format!("no {name} write handler")),
        }
        parameters.check()?;
        self.parameters = parameters;
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if same_ref::<AdaptiveRed>(&*old).is_some() {
            if let Some(old) = same::<AdaptiveRed>(ctx, old) {
                self.take_over(ctx, old.red);
            }
        } else if let Some(old) = same::<Red>(ctx, old) {
            self.take_over(ctx, *old);
        }
    }
}

impl Red {
    /// Ends the reading of arguments.
    pub(super) fn new(
        conf: &mut Configure<'_>,
        parameters: Parameters,
        names: Option<args::Raw>,
    ) -> Result<Red, Failed> {
        if let Err(message) = parameters.check() {
            conf.args.fail(message);
            conf.finish()?;
        }
        // As in Click, `config` does not change the queues, whatever it says of them.
        let keeps_queues = conf.environment.is_alone();
        let names = names.filter(|_| !keeps_queues);
        let queues = WatchedQueues::named(conf, names);
        conf.finish()?;
        let decision = Decision::new(parameters.stability);
        Ok(Red {
            parameters,
            decision,
            queues,
            n_drops: 0,
            fills_queue: false,
            is_original: false,
            keeps_queues,
        })
    }

    /// Goes on from another one's average; one that was made for a new configuration is the other one in all but that.
    pub(super) fn take_over(&mut self, ctx: &mut Ctx<'_>, old: Red) {
        self.decision.take_over(&old.decision, self.parameters.stability);
        self.n_drops = old.n_drops;
        if !self.is_original {
            self.is_original = true;
            if self.keeps_queues || self.queues.find(ctx).is_err() {
                self.queues = old.queues;
            }
            self.fills_queue = self.queues.are_filled_by(ctx);
        }
    }

    /// The parameters and the queues as a configuration.
    fn config(&self, ctx: &Ctx<'_>) -> String {
        let Parameters { min_thresh, max_thresh, max_p, stability, is_gentle } = &self.parameters;
        let max_p = args::unparse_binary(*max_p, 16);
        let queues: String = self.queues.names(ctx).iter().map(|name| format!(" {name}")).collect();
        let gentle = if *is_gentle { "" } else { ", GENTLE false" };
        format!("{min_thresh}, {max_thresh}, {max_p}, QUEUES{queues}, STABILITY {stability}{gentle}")
    }

    #[inline]
    fn drops(&mut self, ctx: &mut Ctx<'_>, curve: &Curve, len: usize) -> bool {
        // Simulated time passes where it is looked at.
        let now = if self.decision.needs_time(len) { ctx.now_ns() } else { 0 };
        self.decision.drops(curve, len, now, || ctx.random())
    }

    fn discard(&mut self, ctx: &mut Ctx<'_>, batch: Batch) {
        self.n_drops += batch.len() as u64;
        ctx.emit_or_drop(1, EARLY, batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_long_queue_downstream_makes_for_drops() {
        check_reading(
            "RatedSource(RATE 2000) -> r :: RED(5, 20, 0, GENTLE false) -> Null -> q :: Queue -> c :: Counter
                 -> TimedSink(1ms);
             DriverManager(wait 1s, stop)",
            &["c.count", "r.drops", "r.avg_queue_size", "r.stats", "r.queues"],
            expect![[r#"
                c.count: 1000
                r.drops: 996
                r.avg_queue_size: 20.64
                r.stats: 22 current queue
                20.64 avg queue
                996 drops

                r.queues: q

            "#]],
        );
    }

    #[test]
    fn a_long_queue_upstream_makes_for_drops() {
        check_reading(
            "InfiniteSource(LIMIT 100) -> q :: Queue(100) -> r :: RED(5, 50, 0, GENTLE false, STABILITY 0)
                 -> c :: Counter -> TimedSink(1ms);
             r [1] -> d :: Counter -> Discard;
             DriverManager(wait 1s, stop)",
            &["c.count", "d.count", "r.drops"],
            expect![[r#"
                c.count: 51
                d.count: 49
                r.drops: 49
            "#]],
        );
    }

    #[test]
    fn a_new_configuration_does_not_change_the_queues() {
        check_reading(
            "Idle -> r :: RED(5, 50, 0.02, QUEUES b) -> a :: Queue -> Discard; Idle -> b :: Queue -> Discard;
             y :: ClickyInfo(2, 4, 0.2, QUEUES nosuch); z :: ClickyInfo(2, 3, 0.2, QUEUES a);
             DriverManager(write r.config $(y.config), read r.config, write r.config $(z.config))",
            &["r.queues", "r.max_thresh"],
            expect![[r#"
                r.config:
                2, 4, 0.2, QUEUES b, STABILITY 4
                r.queues: b

                r.max_thresh: 3
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let red = |config: &str| format!("Idle -> r :: RED({config}) -> d :: Discard");
        check_reading(
            &red("5, 50, 0.02"),
            &[],
            expect![[r#"
                config:1: While initializing 'r :: RED':
                  no nearby Queues
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &red("55, 50, 0.02"),
            &[],
            expect![[r#"
                config:1: While configuring 'r :: RED':
                  MIN_THRESH must be <= MAX_THRESH
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &red("5, 50, 1.02, STABILITY 17"),
            &[],
            expect![[r#"
                config:1: While configuring 'r :: RED':
                  MAX_P must be between 0 and 1
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &red("5, 50, 0.02, QUEUES a d"),
            &[],
            expect![[r#"
                config:1: While configuring 'r :: RED':
                  no element named 'a'
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &red("5, 50, 0.02, QUEUES d"),
            &[],
            expect![[r#"
                config:1: While initializing 'r :: RED':
                  'd' is not a Storage element
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "Idle -> r :: RED(5, 50, 0.02) -> Queue -> Discard;
             DriverManager(write r.min_thresh 60, write r.max_p x, write r.max_p 0.5, write r.max_thresh 100, stop)",
            &["r.min_thresh", "r.max_thresh", "r.max_p"],
            expect![[r#"
                While calling 'r.min_thresh 60':
                  MIN_THRESH must be <= MAX_THRESH
                While calling 'r.max_p x':
                  MAX_P: parse error
                r.min_thresh: 5
                r.max_thresh: 100
                r.max_p: 0.5
            "#]],
        );
    }
}
