//! Makes packets at a rate.
//!
//! Sends RATE packets per second that hold DATA, as long as it is active and LIMIT is not reached. With a pull output it makes
//! packets for pulls, at most as many as the rate allows. After a pause it makes up for up to a hundredth of a second, or two
//! packets.
//!
//! On several cores each core has a source of its own, with its own LIMIT.
//!
//! ```click
//! RatedSource(RATE 100, LENGTH 64, LIMIT 1000, STOP true) -> Counter -> Discard;
//! ```

use element::{
    handlers, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, TaskId, TimerId,
    BATCH_MAX,
};

use super::jiffies;
use super::source::{Template, DEFAULT_DATA};
use super::token_bucket::TokenBucket;

/// The class.
pub const CLASS: Class =
    Class::new::<RatedSource>("RatedSource", "0/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::optional("DATA", "string", "The packets' bytes. Default: a sentence of 69 bytes."),
    Arg::optional("RATE", "unsigned", "Packets per second. Default 10."),
    Arg::optional("LIMIT", "int", "Most packets to send; negative is no limit. Default -1."),
    Arg::optional("ACTIVE", "bool", "Whether to send packets. Default true."),
    Arg::keyword(
        "LENGTH",
        "int",
        "The packets' length: DATA is cut, or repeated, to it; negative is DATA's own. Default -1.",
    ),
    Arg::keyword("DATASIZE", "int", "An old name of LENGTH."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT packets are sent. Default false."),
    Arg::keyword("BANDWIDTH", "bandwidth", "Sets RATE such that the packets make this bandwidth."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("data", "The packets' bytes.").flags("raw calm"),
    Handler::read_write("rate", "Packets per second."),
    Handler::read_write("limit", "Most packets to send; negative is no limit.").flags("calm"),
    Handler::read_write("active", "Whether packets are sent.").flags("checkbox"),
    Handler::read("count", "Packets sent."),
    Handler::write("reset", "Sets the count to 0, so that LIMIT packets more are sent.").flags("button"),
    Handler::read_write("length", "The packets' length; negative is that of the data."),
    Handler::read_write("datasize", "An old name of length.").flags("deprecated"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct RatedSource {
    template: Template,
    bucket: TokenBucket,
    limit: Option<u32>,
    is_active: bool,
    stops: bool,
    count: u64,
    /// Packets on their way, which are counted behind it.
    n_sent: u64,
    burst: usize,
    timer: Option<TimerId>,
    /// Only with a push output.
    task: Option<TaskId>,
}

impl Element for RatedSource {
    fn configure(conf: &mut Configure<'_>) -> Result<RatedSource, Failed> {
        let data: Vec<u8> = conf.args.get("DATA").unwrap_or_else(|| DEFAULT_DATA.to_vec());
        let rate = conf.args.get_or("RATE", 10u32);
        let limit = conf.args.get_or("LIMIT", -1i32);
        let is_active = conf.args.get_or("ACTIVE", true);
        let length = conf.args.get_or("LENGTH", -1i32);
        let length = conf.args.get_or("DATASIZE", length);
        let stops = conf.args.get_or("STOP", false);
        let bandwidth: args::Bandwidth = conf.args.get_or("BANDWIDTH", args::Bandwidth::default());
        let template = Template::new(data, length);
        if let Err(message) = &template {
            conf.args.fail(message);
        }
        conf.finish()?;
        let template = template?;
        let (rate, burst) = pace(rate, bandwidth.bytes_per_s, &template);
        Ok(RatedSource {
            template,
            bucket: TokenBucket::new(rate, burst),
            limit: u32::try_from(limit).ok(),
            is_active,
            stops,
            count: 0,
            n_sent: 0,
            burst: conf.environment.default_burst(),
            timer: None,
            task: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.output_is_push(0) {
            let task = ctx.new_task();
            ctx.schedule(task);
            self.task = Some(task);
        }
        self.bucket.set(1);
        self.timer = Some(ctx.new_timer());
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        if !self.may_send(ctx) {
            return false;
        }
        let burst = ctx.fitting(self.burst, Causes::NOTHING).max(1);
        let batch = self.make(ctx, burst);
        if batch.is_empty() {
            if let Some(timer) = self.timer {
                ctx.schedule_after(timer, self.bucket.ns_until_contains(1));
            }
            return false;
        }
        self.n_sent = batch.len() as u64;
        ctx.emit(0, batch);
        if !ctx.go_on_noticed(Causes::NOTHING) {
            self.go_on(ctx);
        }
        true
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.count += self.n_sent;
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
        true
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        if !self.may_send(ctx) {
            return Batch::new();
        }
        let batch = self.make(ctx, max);
        self.count += batch.len() as u64;
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "data" => self.template.text(),
            "rate" => self.bucket.rate().to_string(),
            "limit" => self.limit.map_or_else(|| "-1".to_string(), |limit| limit.to_string()),
            "active" => self.is_active.to_string(),
            "count" => self.count.to_string(),
            "length" | "datasize" => self.template.length.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = || args::integer::<i32>(value).map_err(|_| "syntax error");
        match name {
            "data" => {
                // The new bytes are sent as they are, until the length is set again.
                let length = self.template.length;
                self.template = Template::new(value.as_bytes().to_vec(), -1)?;
                self.template.length = length;
            }
            "rate" => {
                let rate = args::integer(value).map_err(|_| "syntax error")?;
                self.bucket.set_rate_and_keep(rate, burst_of(rate));
            }
            "limit" => self.limit = u32::try_from(number()?).ok(),
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "syntax error")?;
                self.start(ctx, false);
            }
            "reset" => {
                self.count = 0;
                self.start(ctx, true);
            }
            "length" | "datasize" => {
                self.template = Template::new(self.template.data.clone(), number()?)?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<RatedSource>(ctx, old) else { return };
        self.bucket.take_fill(&old.bucket);
        self.count = old.count;
    }
}

impl RatedSource {
    /// Whether packets may be sent; stops the driver if all are sent and that is asked for.
    fn may_send(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if !self.is_active {
            return false;
        }
        let is_done = self.left() == 0;
        if is_done && self.stops {
            ctx.stop();
        }
        !is_done
    }

    fn left(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| u64::from(limit).saturating_sub(self.count))
    }

    /// Makes up to `max` packets, as many as rate and limit allow.
    fn make(&mut self, ctx: &mut Ctx<'_>, max: usize) -> Batch {
        self.bucket.refill(jiffies::at(ctx.now_ns()));
        let n = u64::from(self.bucket.size()).min(self.left()).min(max.min(BATCH_MAX) as u64) as usize;
        if n == 0 {
            return Batch::new();
        }
        self.bucket.remove(n as u32);
        self.template.packet.set_timestamp_ns(ctx.now_ns());
        self.template.clones(n)
    }

    /// Sends the first packet at once, with a push output.
    fn start(&mut self, ctx: &mut Ctx<'_>, always_sets: bool) {
        let task = self.task.filter(|task| self.is_active && !ctx.is_scheduled(*task));
        if always_sets || task.is_some() {
            self.bucket.set(1);
        }
        if let Some(task) = task {
            ctx.schedule(task);
        }
    }
}

/// Packets that may be sent in a row to make up for a pause.
fn burst_of(rate: u32) -> u32 {
    (rate / 100).max(2)
}

/// The rate and burst in packets, from a rate in packets and, if it is not 0, a bandwidth.
fn pace(rate: u32, bandwidth: u32, template: &Template) -> (u32, u32) {
    if bandwidth == 0 {
        return (rate, burst_of(rate));
    }
    let len = u32::try_from(template.packet.len()).unwrap_or(u32::MAX).max(1);
    let rate = bandwidth / len;
    let twice = u32::try_from(template.length).map_or(0, |length| length.saturating_mul(2));
    (rate, burst_of(rate).max(twice))
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_come_at_the_rate() {
        check_reading(
            "r :: RatedSource(RATE 100) -> c :: Counter -> Discard;
             b :: RatedSource(LENGTH 50, BANDWIDTH 1kBps) -> d :: Counter -> Discard;
             DriverManager(wait 1s, read c.count, read d.count, write r.rate 1000, write r.limit 250, wait 1s, stop)",
            &["c.count", "r.rate", "b.rate", "r.limit", "b.limit"],
            expect![[r#"
                c.count:
                101
                d.count:
                119
                c.count: 250
                r.rate: 1000
                b.rate: 20
                r.limit: 250
                b.limit: -1
            "#]],
        );
    }

    #[test]
    fn pulls_get_no_more_than_the_rate() {
        check_reading(
            "RatedSource(RATE 100) -> c :: Counter -> TimedSink(1ms); DriverManager(wait 1s, stop)",
            &["c.count"],
            expect![[r#"
                c.count: 101
            "#]],
        );
    }

    #[test]
    fn packets_are_counted_behind_what_comes_of_them() {
        check_reading(
            "r :: RatedSource(RATE 1000, LIMIT 3) -> Counter(COUNT_CALL 2 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read r.count, read r.scheduled, write r.active false);
             DriverManager(wait 10ms, stop)",
            &["r.count", "r.scheduled"],
            expect![[r#"
                r.count:
                1
                r.scheduled:
                false
                r.count: 2
                r.scheduled: false
            "#]],
        );
    }
}
