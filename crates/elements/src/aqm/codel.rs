//! Drops packets that waited too long in a queue, the more often the longer that lasts: controlled delay.
//!
//! Pulls packets and looks how long each has waited since its first timestamp, which `SetTimestamp(FIRST true)` in front of
//! the queue sets; packets without one pass. When all packets of an INTERVAL have waited for TARGET or longer, one is dropped,
//! and further ones at intervals that shrink with the square root of the number of drops, until a packet has waited for less
//! than TARGET (Nichols and Jacobson, "Controlling Queue Delay", 2012; RFC 8289).
//!
//! ```click
//! InfiniteSource -> SetTimestamp(FIRST true) -> Queue(200) -> CoDel(5ms, 100ms) -> TimedSink(1ms);
//! ```

use args::Timestamp;
use element::{
    annotation, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Refusal,
};

use super::codel_decision::{Decision, Parameters};
use super::watched_queues::WatchedQueues;

/// The class.
pub const CLASS: Class = Class::new::<CoDel>("CoDel", "1/1", "l/l", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("codel_target", Refusal::Misread),
        ("codel_interval", Refusal::Misread),
    ])
    .live()
    .looks_around();

const ARGS: &[Arg] = &[
    Arg::optional("TARGET", "time", "How long packets may wait. Default 5 ms."),
    Arg::optional(
        "INTERVAL",
        "time",
        "How long they may wait for longer before one is dropped. Default 100 ms.",
    ),
    Arg::keyword(
        "QUEUES",
        "element names",
        "The queues whose lengths `stats` tells. Default: the nearest upstream.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Packets dropped."),
    Handler::read_write("codel_interval", "How long packets may wait for longer before one is dropped.")
        .flags("setting=INTERVAL"),
    Handler::read_write("codel_target", "How long packets may wait.").flags("setting=TARGET"),
    Handler::read("stats", "Length of the queues and drops."),
    Handler::read("queues", "Names of the queues, one per line.").flags("alike"),
    Handler::read("config", "The parameters.").flags("calm"),
];

const DROPS: &[DropReason] = &[DropReason::new("delay", "Packets have waited for too long.")];
const DELAY: usize = 0;

const NS_PER_S: i64 = 1_000_000_000;

/// See the page above.
pub struct CoDel {
    parameters: Parameters,
    decision: Decision,
    queues: WatchedQueues,
    n_drops: u64,
    /// Whether it was there when the graph began, rather than made for a new configuration.
    is_original: bool,
}

impl Element for CoDel {
    fn configure(conf: &mut Configure<'_>) -> Result<CoDel, Failed> {
        let target: Option<Timestamp> = conf.args.get("TARGET");
        let interval: Option<Timestamp> = conf.args.get("INTERVAL");
        let names = conf.args.get("QUEUES");
        conf.finish()?;
        let queues = WatchedQueues::named(conf, names);
        conf.finish()?;
        let parameters = Parameters {
            target_ns: target.map_or(5_000_000, Timestamp::as_nanos),
            interval_ns: interval.map_or(100_000_000, Timestamp::as_nanos),
        };
        Ok(CoDel { parameters, decision: Decision::default(), queues, n_drops: 0, is_original: false })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.is_original = true;
        self.queues.find(ctx)
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut passed = Batch::new();
        while passed.len() < max {
            let wanted = max - passed.len();
            let mut batch = ctx.pull(0, wanted);
            let n = batch.len();
            let mut dropped = Batch::new();
            for packet in batch.drain() {
                let since = first_timestamp(&packet);
                let is_dropped = self.decision.drops(&self.parameters, since, || ctx.now_ns());
                let side: &mut Batch = if is_dropped { &mut dropped } else { &mut passed };
                side.push(packet);
            }
            self.n_drops += dropped.len() as u64;
            ctx.drop_batch(DELAY, dropped);
            if n < wanted {
                self.decision.finds_nothing(&self.parameters, || ctx.now_ns());
                break;
            }
        }
        passed
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let target = Timestamp::from_nanos(self.parameters.target_ns);
        let interval = Timestamp::from_nanos(self.parameters.interval_ns);
        Ok(match name {
            "drops" => self.n_drops.to_string(),
            "codel_target" => format!("{target}s"),
            "codel_interval" => format!("{interval} s"),
            "stats" => format!("{} current queue\n{} drops\n", self.queues.len(ctx), self.n_drops),
            "queues" => self.queues.names(ctx).iter().map(|name| format!("{name}\n")).collect(),
            "config" => format!("{target}s, {interval} s, "),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let (argument, place) = match name {
            "codel_target" => ("TARGET", &mut self.parameters.target_ns),
            "codel_interval" => ("INTERVAL", &mut self.parameters.interval_ns),
            _ => return Err(format!("no {name} write handler")),
        };
        *place = args::timestamp(value).map_err(|error| format!("{argument}: {error}"))?.as_nanos();
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CoDel>(ctx, old) else { return };
        (self.decision, self.n_drops) = (old.decision, old.n_drops);
        if !self.is_original {
            self.is_original = true;
            if self.queues.find(ctx).is_err() {
                self.queues = old.queues;
            }
        }
    }
}

/// When a packet came to the queue; `None` if nobody has noted it.
fn first_timestamp(packet: &Packet) -> Option<i64> {
    let first_ns = i64::from_ne_bytes(packet.anno(annotation::FIRST_TIMESTAMP));
    (first_ns.div_euclid(NS_PER_S) != 0).then_some(first_ns)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_are_dropped_while_they_wait_for_too_long() {
        check_reading(
            "TimedSource(0.7ms) -> SetTimestamp(FIRST true) -> q :: Queue(200) -> d :: CoDel -> c :: Counter
                 -> TimedSink(1ms);
             DriverManager(wait 0.2s, read d.drops, wait 0.4s, read d.drops, wait 0.4s, stop)",
            &["c.count", "d.drops", "d.stats", "d.queues", "d.config"],
            expect![[r#"
                d.drops:
                0
                q :: Queue: overflow
                d.drops:
                7
                c.count: 1000
                d.drops: 21
                d.stats: 199 current queue
                21 drops

                d.queues: q

                d.config: 0.005000s, 0.100000 s, 
            "#]],
        );
    }

    #[test]
    fn packets_that_nobody_has_stamped_pass() {
        check_reading(
            "TimedSource(0.7ms) -> q :: Queue(20) -> d :: CoDel(1ms, 1ms) -> TimedSink(1ms); DriverManager(wait 1s, stop)",
            &["d.drops"],
            expect![[r#"
                q :: Queue: overflow
                d.drops: 0
            "#]],
        );
    }

    #[test]
    fn parameters_can_be_changed() {
        check_reading(
            "TimedSource(0.7ms) -> SetTimestamp(FIRST true) -> q :: Queue(200) -> d :: CoDel(1s) -> TimedSink(1ms);
             DriverManager(wait 0.2s, read d.drops, write d.codel_target 1ms, write d.codel_interval 2ms, read d.config,
                 wait 0.2s, read d.drops, write d.codel_target x, write d.config 3s, read d.codel_target,
                 read d.codel_interval, read d.queues, wait 0.1s, stop)",
            &["d.drops"],
            expect![[r#"
                d.drops:
                0
                d.config:
                0.001000s, 0.002000 s, 
                d.drops:
                169
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 'd.codel_target x':
                    TARGET: parse error
                d.codel_target:
                3.000000s
                d.codel_interval:
                0.100000 s
                d.queues:
                q

                d.drops: 169
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let codel = |config: &str| format!("Idle -> u :: PullNull -> c :: CoDel({config}) -> d :: Discard");
        for config in ["", "x, y", "1, 2, 3", "-1", "QUEUES a b", "QUEUES d u"] {
            check_reading(
                &codel(config),
                &[],
                match config {
                    "" => expect![[r#"
                    config:1: While initializing 'c :: CoDel':
                      no nearby Queues
                    Router could not be initialized!
                "#]],
                    "x, y" => expect![[r#"
                    config:1: While configuring 'c :: CoDel':
                      TARGET: parse error
                      INTERVAL: parse error
                    Router could not be initialized!
                "#]],
                    "1, 2, 3" => expect![[r#"
                    config:1: While configuring 'c :: CoDel':
                      too many arguments
                    Router could not be initialized!
                "#]],
                    "-1" => expect![[r#"
                    config:1: While configuring 'c :: CoDel':
                      TARGET: parse error
                    Router could not be initialized!
                "#]],
                    "QUEUES a b" => expect![[r#"
                    config:1: While configuring 'c :: CoDel':
                      no element named 'a'
                      no element named 'b'
                    Router could not be initialized!
                "#]],
                    _ => expect![[r#"
                    config:1: While initializing 'c :: CoDel':
                      'd' is not a Storage element
                      'u' is not a Storage element
                    Router could not be initialized!
                "#]],
                },
            );
        }
    }
}
