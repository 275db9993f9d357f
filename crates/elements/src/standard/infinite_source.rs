//! Makes packets whenever it is scheduled.
//!
//! Sends BURST packets that hold DATA each time it is scheduled, as long as it is active, LIMIT is not reached and the queue
//! downstream is not full. With a pull output it makes a packet for every pull. When all LIMIT packets are sent it can stop the
//! driver or write a handler.
//!
//! On several cores each core has a source of its own, with its own LIMIT.
//!
//! ```click
//! InfiniteSource(LENGTH 64, LIMIT 1000, BURST 32, STOP true) -> Counter -> Discard;
//! ```

use element::{
    handlers, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Notifies, SearchOp,
    TaskId,
};

use super::source::{Making, Pace, Source, Template, DEFAULT_DATA};

/// The class.
pub const CLASS: Class = Class::new::<InfiniteSource>("InfiniteSource", "0/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", element::Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("DATA", "string", "The packets' bytes. Default: a sentence of 69 bytes."),
    Arg::optional("LIMIT", "int", "Most packets to send; negative is no limit. Default -1."),
    Arg::optional("BURST", "int", "Packets to send each time scheduled, at least 1. Default 1."),
    Arg::optional("ACTIVE", "bool", "Whether to send packets. Default true."),
    Arg::keyword("TIMESTAMP", "bool", "Whether to set the packets' timestamps to the time. Default true."),
    Arg::keyword(
        "LENGTH",
        "int",
        "The packets' length: DATA is cut, or repeated, to it; negative is DATA's own. Default -1.",
    ),
    Arg::keyword("DATASIZE", "int", "An old name of LENGTH."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT packets are sent. Default false."),
    Arg::keyword("END_CALL", "handler call", "A handler to write when LIMIT packets are sent. Default none."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("data", "The packets' bytes, before LENGTH is applied.").flags("raw calm"),
    Handler::read_write("limit", "Most packets to send; negative is no limit.").flags("calm"),
    Handler::read_write("burst", "Packets to send each time scheduled.").flags("calm"),
    Handler::read_write("active", "Whether packets are sent.").flags("checkbox"),
    Handler::read("count", "Packets sent."),
    Handler::write("reset", "Sets the count to 0, so that LIMIT packets more are sent.").flags("button"),
    Handler::read_write("length", "The packets' length; negative is that of the data.").flags("calm"),
    Handler::read_write("burstsize", "An old name of burst.").flags("calm deprecated"),
    Handler::read_write("datasize", "An old name of length.").flags("calm deprecated"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct InfiniteSource {
    source: Source<Template>,
}

impl Element for InfiniteSource {
    fn configure(conf: &mut Configure<'_>) -> Result<InfiniteSource, Failed> {
        let data = conf.args.get("DATA").unwrap_or_else(|| DEFAULT_DATA.to_vec());
        let mut pace = Pace::configure(conf);
        let length = conf.args.get_or("LENGTH", -1);
        let length = conf.args.get_or("DATASIZE", length);
        pace.configure_end(conf);
        let template = Template::new(data, length);
        if let Err(message) = &template {
            conf.args.fail(message);
        }
        conf.finish()?;
        Ok(InfiniteSource { source: Source::new(pace, template?) })
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
            "data" => Ok(self.source.making().text()),
            "length" | "datasize" => Ok(self.source.making().length.to_string()),
            _ => self.source.pace().read(name).ok_or_else(|| format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "data" => self.source.change(ctx, |template| {
                *template = Template::new(value.as_bytes().to_vec(), template.length)?;
                Ok(())
            })?,
            "length" | "datasize" => {
                let length = args::integer(value).map_err(|_| "length must be integer")?;
                self.source.change(ctx, |template| {
                    *template = Template::new(template.data.clone(), length)?;
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
        Some(Box::new(InfiniteSource { source: self.source.second_hand() }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<InfiniteSource>(ctx, old) {
            self.source.take_over(ctx, &old.source);
        }
    }

    fn foresee(&mut self, _old: &dyn Element) {
        self.source.foresee();
    }
}

impl Making for Template {
    const CAUSES: Causes = Causes::NOTHING;

    fn tell_length(&self, ctx: &mut Ctx<'_>) {
        ctx.makes_no_longer(self.packet.len());
    }

    fn make(&mut self, ctx: &mut Ctx<'_>, stamps: bool, n: usize) -> Batch {
        if stamps {
            self.packet.set_timestamp_ns(ctx.now_ns());
        }
        self.clones(n)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_limit_ends_the_source() {
        check_reading(
            "i :: InfiniteSource(LIMIT 10, BURST 4, LENGTH 5, STOP true) -> c :: Counter -> Discard",
            &["i.count", "c.byte_count", "i.limit", "i.burst", "i.length"],
            expect![[r#"
                i.count: 10
                c.byte_count: 50
                i.limit: 10
                i.burst: 4
                i.length: 5
            "#]],
        );
        check_reading(
            "i :: InfiniteSource(LIMIT 3, END_CALL i.reset) -> c :: Counter(COUNT_CALL 11 stop) -> Discard",
            &["i.count"],
            expect![[r#"
                i.count: 2
            "#]],
        );
    }

    #[test]
    fn a_burst_is_counted_behind_its_packets() {
        check_reading(
            "i :: InfiniteSource(LIMIT 9, BURST 3, STOP true) -> Counter(COUNT_CALL 5 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read i.count)",
            &["i.count"],
            expect![[r#"
                i.count:
                3
                i.count: 9
            "#]],
        );
    }

    #[test]
    fn pulled_packets_count_as_well() {
        check_reading(
            "i :: InfiniteSource(LIMIT 3) -> PullNull -> d :: Discard;
             DriverManager(wait 0.1, read d.scheduled, write i.reset, wait 0.1, stop)",
            &["i.count", "d.count"],
            expect![[r#"
                d.scheduled:
                false
                i.count: 3
                d.count: 6
            "#]],
        );
    }

    #[test]
    fn a_new_configuration_does_not_start_a_source_that_rests() {
        check_reading(
            "i :: InfiniteSource(abc, 5) -> Discard; j :: InfiniteSource(LIMIT 2) -> PullNull -> d :: Discard;
             DriverManager(wait 0.1s, write i.config LIMIT 3, write j.config LIMIT 2, read i.scheduled, wait 1ms,
                 read i.count, read d.scheduled, write i.limit 4, wait 1ms, stop)",
            &["i.count", "j.count", "d.count"],
            expect![[r#"
                i.scheduled:
                false
                i.count:
                0
                d.scheduled:
                false
                i.count: 4
                j.count: 0
                d.count: 2
            "#]],
        );
    }

    #[test]
    fn a_new_configuration_calls_only_what_can_be_called() {
        check_reading(
            "i :: InfiniteSource(LIMIT 1) -> c :: Counter -> Discard;
             DriverManager(writeq i.config \"LIMIT 2, END_CALL echo\", writeq i.config \"LIMIT x, END_CALL c.count\",
                 writeq i.config \"LIMIT 3, END_CALL reset\", writeq i.config \"LIMIT 4, END_CALL d.reset\", stop)",
            &["i.config"],
            expect![[r#"
                While calling 'i.config LIMIT 2, END_CALL echo':
                  END_CALL: no 'echo' write handler
                  END_CALL: parse error
                While calling 'i.config LIMIT x, END_CALL c.count':
                  LIMIT: invalid number
                  END_CALL: no 'c.count' write handler
                  END_CALL: parse error
                While calling 'i.config LIMIT 4, END_CALL d.reset':
                  END_CALL: no element named 'd'
                  END_CALL: parse error
                i.config: LIMIT 3, END_CALL reset
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "InfiniteSource(BURST 0) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'InfiniteSource@1 :: InfiniteSource':
                  burst size must be >= 1
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "InfiniteSource(STOP true, END_CALL stop) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'InfiniteSource@1 :: InfiniteSource':
                  END_CALL and STOP are mutually exclusive
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "i :: InfiniteSource(ACTIVE false) -> Discard;
             DriverManager(write i.burst 0, write i.limit x, write i.active x, write i.length x, stop)",
            &[],
            expect![[r#"
                While calling 'i.burst 0':
                  burstsize parameter must be integer >= 1
                While calling 'i.limit x':
                  limit parameter must be integer
                While calling 'i.active x':
                  active parameter must be boolean
                While calling 'i.length x':
                  length must be integer
            "#]],
        );
    }
}
