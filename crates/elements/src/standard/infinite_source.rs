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
    handlers, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall, Notifies, Packet,
    SearchOp, Signal, TaskId, Wake, BATCH_MAX,
};

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
    template: Template,
    limit: i64,
    burst: i32,
    is_active: bool,
    stamps: bool,
    end_call: Option<HandlerCall>,
    count: u64,
    /// Only with a push output.
    task: Option<TaskId>,
    nonfull: Signal,
}

impl Element for InfiniteSource {
    fn configure(conf: &mut Configure<'_>) -> Result<InfiniteSource, Failed> {
        let data = conf.args.get("DATA").unwrap_or_else(|| DEFAULT_DATA.to_vec());
        let limit = conf.args.get_or("LIMIT", -1);
        let burst = conf.args.get_or("BURST", conf.environment.default_burst() as i32);
        let is_active = conf.args.get_or("ACTIVE", true);
        let stamps = conf.args.get_or("TIMESTAMP", true);
        let length = conf.args.get_or("LENGTH", -1);
        let length = conf.args.get_or("DATASIZE", length);
        let stops = conf.args.get_or("STOP", false);
        let end_call = conf.handler_call("END_CALL");
        if burst < 1 {
            conf.args.fail("burst size must be >= 1");
        } else if stops && end_call.is_some() {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        let template = Template::new(data, length);
        if let Err(message) = &template {
            conf.args.fail(message);
        }
        conf.finish()?;
        let stop = || HandlerCall { name: "stop".to_string(), value: String::new() };
        let end_call = end_call.or_else(|| stops.then(stop));
        let (task, nonfull) = (None, Signal::Busy);
        Ok(InfiniteSource {
            template: template?,
            limit,
            burst,
            is_active,
            stamps,
            end_call,
            count: 0,
            task,
            nonfull,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.output_is_push(0) {
            let task = ctx.new_task();
            ctx.schedule(task);
            self.nonfull = ctx.downstream_full_signal(0, Wake::Task(task));
            self.task = Some(task);
        }
        self.end_call.as_ref().map_or(Ok(()), |call| call.check_writable(ctx))
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::Stop), full: None }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active || !ctx.is_active(&self.nonfull) {
            return false;
        }
        let mut left = self.left().min(self.burst as u64);
        if left == 0 {
            if self.limit >= 0 {
                self.end(ctx);
            }
            return false;
        }
        while left > 0 {
            let n = left.min(BATCH_MAX as u64);
            let batch = self.make(ctx, n as usize);
            left -= n;
            if left == 0 {
                ctx.emit(0, batch);
            } else {
                ctx.emit_now(0, batch);
            }
        }
        ctx.schedule(task);
        true
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        if !self.is_active {
            ctx.set_empty_signal(false);
            return Batch::new();
        }
        let n = self.left().min(max as u64) as usize;
        let batch = self.make(ctx, n);
        if n < max {
            self.end(ctx);
            ctx.set_empty_signal(false);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "data" => String::from_utf8_lossy(&self.template.data).into_owned(),
            "limit" => self.limit.to_string(),
            "burst" | "burstsize" => self.burst.to_string(),
            "active" => self.is_active.to_string(),
            "count" => self.count.to_string(),
            "length" | "datasize" => self.template.length.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = || args::integer::<i32>(value.trim());
        match name {
            "data" => self.template = Template::new(value.as_bytes().to_vec(), self.template.length)?,
            "limit" => {
                self.limit = number().map_err(|_| "limit parameter must be integer")?.into();
            }
            "burst" | "burstsize" => {
                let burst = number().ok().filter(|burst| *burst >= 1);
                self.burst = burst.ok_or("burstsize parameter must be integer >= 1")?;
            }
            "active" => {
                self.is_active =
                    args::boolean(value.trim()).map_err(|_| "active parameter must be boolean")?;
            }
            "reset" => self.count = 0,
            "length" | "datasize" => {
                let length = number().map_err(|_| "length must be integer")?;
                self.template = Template::new(self.template.data.clone(), length)?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        if self.is_active && self.left() > 0 {
            match self.task {
                Some(task) => ctx.schedule(task),
                None => ctx.set_empty_signal(true),
            }
        }
        Ok(())
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let (None, Ok(old)) = (self.task, old.downcast::<InfiniteSource>()) {
            self.task = old.task;
            self.nonfull = old.nonfull;
        }
    }
}

impl InfiniteSource {
    /// Packets that may still be sent.
    fn left(&self) -> u64 {
        u64::try_from(self.limit).map_or(u64::MAX, |limit| limit.saturating_sub(self.count))
    }

    /// Makes `n` packets and counts them; they carry the same time.
    fn make(&mut self, ctx: &mut Ctx<'_>, n: usize) -> Batch {
        if self.stamps {
            self.template.packet.set_timestamp_ns(ctx.now_ns());
        }
        let mut batch = Batch::new();
        self.template.packet.clone_into(n, &mut batch);
        self.count += n as u64;
        batch
    }

    /// All packets are sent. What the handler answers has no reader.
    fn end(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(call) = &self.end_call {
            let _ = call.write(ctx);
        }
    }
}

/// What a source's packets hold unless it is told otherwise.
pub const DEFAULT_DATA: &[u8] = b"Random bullshit in a packet, at least 64 bytes long. Well, now it is.";

/// Longest packet that a source makes.
const MAX_LENGTH: usize = 1 << 26;

/// A packet to be cloned: data, cut or repeated to a length.
pub struct Template {
    /// The bytes as given.
    pub data: Vec<u8>,
    /// The packet's length; negative is that of the data.
    pub length: i32,
    /// The packet.
    pub packet: Packet,
}

impl Template {
    /// A packet of `length` bytes; the error is a sentence.
    pub fn new(data: Vec<u8>, length: i32) -> Result<Template, String> {
        let len = usize::try_from(length).unwrap_or(data.len());
        if len > MAX_LENGTH {
            return Err(format!("length must be at most {MAX_LENGTH}"));
        }
        let mut packet = Packet::zeroed(len);
        if !data.is_empty() {
            for part in packet.data_mut().chunks_mut(data.len()) {
                part.iter_mut().zip(&data).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(Template { data, length, packet })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(data: &[u8], length: i32) -> Vec<u8> {
        Template::new(data.to_vec(), length).map(|template| template.packet.data().to_vec()).unwrap()
    }

    #[test]
    fn data_is_cut_or_repeated_to_the_length() {
        assert_eq!(bytes(b"abc", -1), b"abc");
        assert_eq!(bytes(b"abc", 2), b"ab");
        assert_eq!(bytes(b"abc", 7), b"abcabca");
        assert_eq!(bytes(b"abc", 0), b"");
        assert_eq!(bytes(b"", 2), [0, 0]);
        assert!(Template::new(Vec::new(), i32::MAX).is_err());
    }
}
