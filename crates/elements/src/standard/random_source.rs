//! Makes packets of random bytes whenever it is scheduled.
//!
//! As `InfiniteSource`, but each packet holds LENGTH random bytes.
//!
//! On several cores each core has a source of its own, with its own LIMIT.
//!
//! ```click
//! RandomSource(64, LIMIT 1000, STOP true) -> Queue -> Unqueue -> Discard;
//! ```

use args::Value;
use element::{
    handlers, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Notifies, Packet,
    SearchOp, TaskId,
};

use super::source::{Making, Pace, Source};

/// The class.
pub const CLASS: Class = Class::new::<RandomSource>("RandomSource", "0/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", element::Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("LENGTH", "int", "The packets' length, less than 65536."),
    Arg::optional("LIMIT", "int", "Most packets to send; negative is no limit. Default -1."),
    Arg::optional("BURST", "int", "Packets to send each time scheduled, at least 1. Default 1."),
    Arg::optional("ACTIVE", "bool", "Whether to send packets. Default true."),
    Arg::keyword("TIMESTAMP", "bool", "Whether to set the packets' timestamps to the time. Default true."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT packets are sent. Default false."),
    Arg::keyword("END_CALL", "handler call", "A handler to write when LIMIT packets are sent. Default none."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("limit", "Most packets to send; negative is no limit.").flags("calm"),
    Handler::read_write("burst", "Packets to send each time scheduled.").flags("calm"),
    Handler::read_write("active", "Whether packets are sent.").flags("checkbox"),
    Handler::read("count", "Packets sent."),
    Handler::write("reset", "Sets the count to 0, so that LIMIT packets more are sent.").flags("button"),
    Handler::read_write("length", "The packets' length.").flags("calm"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct RandomSource {
    source: Source<Random>,
}

#[derive(Clone)]
struct Random {
    length: usize,
}

impl Element for RandomSource {
    fn configure(conf: &mut Configure<'_>) -> Result<RandomSource, Failed> {
        let length = conf.args.need_with("LENGTH", i32::parse).unwrap_or(-1);
        let mut pace = Pace::configure(conf);
        let checked = check_length(length);
        if let Err(message) = &checked {
            conf.args.fail(message);
            conf.args.get::<bool>("STOP");
            conf.handler_call("END_CALL");
        } else {
            pace.configure_end(conf);
        }
        conf.finish()?;
        Ok(RandomSource { source: Source::new(pace, Random { length: checked? }) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.source.initialize(ctx)
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::Stop), ..Notifies::default() }
    }

    fn joint_runs(&self) -> (usize, Causes) {
        self.source.joint_runs()
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.source.run(ctx, task)
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        self.source.pull(ctx, max)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "length" => Ok(self.source.making().length.to_string()),
            _ => self.source.pace().read(name).ok_or_else(|| format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "length" => {
                let length = args::integer(value).map_err(|_| "length must be integer")?;
                let length = check_length(length)?;
                self.source.change(ctx, |random| {
                    random.length = length;
                    Ok(())
                })?;
            }
            _ if !self.source.pace().write(name, value)? => return Err(format!("no {name} write handler")),
            _ => {}
        }
        self.source.wake(ctx);
        Ok(())
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(RandomSource { source: self.source.second_hand() }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<RandomSource>(ctx, old) {
            self.source.take_over(ctx, &old.source);
        }
    }

    fn foresee(&mut self, _old: &dyn Element) {
        self.source.foresee();
    }
}

impl Making for Random {
    const CAUSES: Causes = Causes::CHANGES;

    fn tell_length(&self, ctx: &mut Ctx<'_>) {
        ctx.makes_no_longer(self.length);
    }

    fn make(&mut self, ctx: &mut Ctx<'_>, stamps: bool, n: usize) -> Batch {
        let mut batch = Batch::new();
        let now = if stamps { ctx.now_ns() } else { 0 };
        for _ in 0..n {
            let mut packet = Packet::zeroed(self.length);
            for word in packet.data_mut().chunks_mut(4) {
                let random = ctx.random().to_ne_bytes();
                word.iter_mut().zip(random).for_each(|(to, from)| *to = from);
            }
            packet.set_timestamp_ns(now);
            batch.push(packet);
        }
        batch
    }
}

fn check_length(length: i32) -> Result<usize, String> {
    usize::try_from(length)
        .ok()
        .filter(|length| *length < 65536)
        .ok_or_else(|| format!("bad length {length}"))
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_have_the_length() {
        check_reading(
            "i :: RandomSource(9, LIMIT 3, STOP true) -> c :: Counter -> Discard",
            &["i.count", "c.byte_count", "i.length"],
            expect![[r#"
                i.count: 3
                c.byte_count: 27
                i.length: 9
            "#]],
        );
        check_reading(
            "RandomSource(65536, BURST 0) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'RandomSource@1 :: RandomSource':
                  bad length 65536
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "RandomSource(, LIMIT 1) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'RandomSource@1 :: RandomSource':
                  bad length -1
                Router could not be initialized!
            "#]],
        );
    }
}
