//! Makes packets whenever it is scheduled.
//!
//! Sends BURST packets that hold DATA each time it is scheduled, as long as it is active, LIMIT is not reached and the queue
//! downstream is not full. With a pull output it makes a packet for every pull. When all LIMIT packets are sent it can stop the
//! driver or write a handler.
//!
//! ```click
//! InfiniteSource(LENGTH 64, LIMIT 1000, BURST 32, STOP true) -> Counter -> Discard;
//! ```

use element::{
    handlers, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Notifies, SearchOp, TaskId,
};

use super::source::{Pace, Template, DEFAULT_DATA};

/// The class.
pub const CLASS: Class =
    Class::new::<InfiniteSource>("InfiniteSource", "0/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS).live();

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
    pace: Pace,
    template: Template,
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
        Ok(InfiniteSource { pace, template: template? })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.pace.initialize(ctx)
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::Stop), full: None }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let (template, stamps) = (&mut self.template, self.pace.stamps);
        self.pace.run(ctx, task, |ctx, n| make(template, stamps, ctx, n))
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let (template, stamps) = (&mut self.template, self.pace.stamps);
        self.pace.pull(ctx, max, |ctx, n| make(template, stamps, ctx, n))
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "data" => Ok(self.template.text()),
            "length" | "datasize" => Ok(self.template.length.to_string()),
            _ => self.pace.read(name).ok_or_else(|| format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "data" => self.template = Template::new(value.as_bytes().to_vec(), self.template.length)?,
            "length" | "datasize" => {
                let length = args::integer(value.trim()).map_err(|_| "length must be integer")?;
                self.template = Template::new(self.template.data.clone(), length)?;
            }
            _ if !self.pace.write(name, value)? => return Err(format!("no {name} write handler")),
            _ => {}
        }
        self.pace.wake(ctx);
        Ok(())
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let Ok(old) = old.downcast::<InfiniteSource>() {
            self.pace.take_over(old.pace);
        }
    }
}

fn make(template: &mut Template, stamps: bool, ctx: &mut Ctx<'_>, n: usize) -> Batch {
    if stamps {
        template.stamped(ctx, n)
    } else {
        template.clones(n)
    }
}
