//! Counts packets and bytes, and measures their rates.
//!
//! The rates are moving averages over some milliseconds. When a count reaches a number that was given, a handler is written.
//!
//! ```click
//! InfiniteSource -> c :: Counter(COUNT_CALL 1000 stop) -> Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall};

use super::ewma::RateEwma;
use super::jiffies;

/// The class.
pub const CLASS: Class = Class::new::<Counter>("Counter", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::keyword("COUNT_CALL", "number and handler call", "A handler to write when so many packets came."),
    Arg::keyword("BYTE_COUNT_CALL", "number and handler call", "A handler to write when so many bytes came."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets since the last reset."),
    Handler::read("byte_count", "Bytes since the last reset."),
    Handler::read("rate", "Recent packets per second."),
    Handler::read("bit_rate", "Recent bits per second."),
    Handler::read("byte_rate", "Recent bytes per second."),
    Handler::write("reset", "Sets the counts to 0.").flags("button"),
    Handler::write("reset_counts", "Sets the counts to 0.").flags("button uncommon"),
    Handler::read_write("count_call", "Number of packets at which a handler is written; write number and call."),
    Handler::write("byte_count_call", "Number of bytes at which a handler is written, and the call."),
];

/// See the page above.
pub struct Counter {
    count: u64,
    byte_count: u64,
    rate: RateEwma,
    byte_rate: RateEwma,
    count_call: Option<Trigger>,
    byte_count_call: Option<Trigger>,
}

/// A handler to write when a count reaches a number.
struct Trigger {
    at: u64,
    /// Whether it was reached.
    is_done: bool,
    call: HandlerCall,
}

impl Element for Counter {
    fn configure(conf: &mut Configure<'_>) -> Result<Counter, Failed> {
        let count_call: Option<args::Raw> = conf.args.get("COUNT_CALL");
        let byte_count_call: Option<args::Raw> = conf.args.get("BYTE_COUNT_CALL");
        let count_call = Trigger::configure(conf, "COUNT_CALL", count_call);
        let byte_count_call = Trigger::configure(conf, "BYTE_COUNT_CALL", byte_count_call);
        conf.finish()?;
        // Fewer bits of fraction leave room for higher rates of bytes.
        let (rate, byte_rate) = (RateEwma::new(4, 10), RateEwma::new(4, 4));
        Ok(Counter { count: 0, byte_count: 0, rate, byte_rate, count_call, byte_count_call })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        [&self.count_call, &self.byte_count_call].into_iter().flatten().try_for_each(|trigger| {
            if trigger.call.name.is_empty() {
                return Err("syntax error".to_string());
            }
            trigger.call.check_writable(ctx)
        })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        while let Some(n_before) = self.n_before_call(&batch) {
            let mut first = Batch::new();
            first.extend(batch.drain_first(n_before));
            self.count_batch(ctx, &first);
            ctx.emit_now(0, first);
            first = Batch::new();
            first.extend(batch.drain_first(1));
            self.count_batch(ctx, &first);
            self.call(ctx, 1);
            ctx.emit(0, first);
        }
        self.count_batch(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        let calls = self.n_before_call(&batch).is_some();
        self.count_batch(ctx, &batch);
        if calls {
            self.call(ctx, batch.len() as u64);
        }
        batch
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        // Rates fall when no packets come.
        let jiffy = jiffies::at(ctx.now_ns());
        self.rate.update(0, jiffy);
        self.byte_rate.update(0, jiffy);
        Ok(match name {
            "count" => self.count.to_string(),
            "byte_count" => self.byte_count.to_string(),
            "rate" => self.rate.unparse(),
            "bit_rate" => self.byte_rate.unparse_shifted(3),
            "byte_rate" => self.byte_rate.unparse(),
            "count_call" => self.count_call.as_ref().map_or_else(String::new, |trigger| trigger.at.to_string()),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "count_call" => Trigger::write(&mut self.count_call, ctx, name, value)?,
            "byte_count_call" => Trigger::write(&mut self.byte_count_call, ctx, name, value)?,
            _ => self.write_own(name)?,
        }
        Ok(())
    }
}

impl Counter {
    #[inline]
    fn count_batch(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        let n_packets = batch.len() as u64;
        if n_packets == 0 {
            return;
        }
        let n_bytes = batch.iter().map(|packet| packet.len() as u64).sum();
        let jiffy = jiffies::at(ctx.now_ns());
        self.count = self.count.wrapping_add(n_packets);
        self.byte_count = self.byte_count.wrapping_add(n_bytes);
        self.rate.update(n_packets, jiffy);
        self.byte_rate.update(n_bytes, jiffy);
    }

    /// How many packets of a batch come before the one at which a handler is to be written; `None` if there is none.
    #[inline]
    fn n_before_call(&self, batch: &Batch) -> Option<usize> {
        let armed = |trigger: &Option<Trigger>| trigger.as_ref().filter(|trigger| !trigger.is_done).map(|t| t.at);
        let (count_at, byte_count_at) = (armed(&self.count_call), armed(&self.byte_count_call));
        if count_at.is_none() && byte_count_at.is_none() {
            return None;
        }
        let (mut count, mut byte_count) = (self.count, self.byte_count);
        batch.iter().position(|packet| {
            count = count.wrapping_add(1);
            byte_count = byte_count.wrapping_add(packet.len() as u64);
            count_at == Some(count) || byte_count_at.is_some_and(|at| byte_count >= at)
        })
    }

    /// Writes the handlers that are due, the last `n` packets having been counted just now.
    fn call(&mut self, ctx: &mut Ctx<'_>, n: u64) {
        let passed = self.count.saturating_sub(n)..self.count;
        let due = self.count_call.as_mut().filter(|trigger| {
            // The count reaches the number; being past it already does not count.
            trigger.at.checked_sub(1).is_some_and(|before| passed.contains(&before))
        });
        let call = due.and_then(Trigger::fire);
        self.write_call(ctx, call);
        let byte_count = self.byte_count;
        let due = self.byte_count_call.as_mut().filter(|trigger| byte_count >= trigger.at);
        let call = due.and_then(Trigger::fire);
        self.write_call(ctx, call);
    }

    /// Writes a handler; what it answers has no reader.
    fn write_call(&mut self, ctx: &mut Ctx<'_>, call: Option<HandlerCall>) {
        let Some(call) = call else { return };
        let own = call.name.rsplit_once('.').filter(|(name, _)| ctx.find(name) == Some(ctx.element));
        let _ = match own {
            Some((_, handler)) => self.write(ctx, handler, &call.value),
            None => call.write(ctx),
        };
    }

    fn write_own(&mut self, name: &str) -> Result<(), String> {
        if name != "reset" && name != "reset_counts" {
            return Err(format!("no {name} write handler"));
        }
        self.count = 0;
        self.byte_count = 0;
        for trigger in [&mut self.count_call, &mut self.byte_count_call].into_iter().flatten() {
            trigger.is_done = false;
        }
        Ok(())
    }
}

impl Trigger {
    /// Reads the argument `name`; the call is checked later.
    fn configure(conf: &mut Configure<'_>, name: &str, text: Option<args::Raw>) -> Option<Trigger> {
        let args::Raw(text) = text?;
        let (number, call) = args::next_word(&text);
        let Ok(at) = args::saturating_integer(number) else {
            if conf.args.is_ok() {
                conf.args.fail(format!("{name} type mismatch"));
            }
            return None;
        };
        if args::integer::<u64>(number).is_err() {
            conf.warning(format!("{name} overflow, max {at}"));
        }
        let call = HandlerCall::parse(call).unwrap_or(HandlerCall { name: String::new(), value: String::new() });
        Some(Trigger { at, is_done: false, call })
    }

    /// Takes what was written to handler `name`: a number and a call. A wrong call leaves the old one in force.
    fn write(slot: &mut Option<Trigger>, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let (number, call) = args::next_word(value);
        let at = args::integer(number)
            .map_err(|_| format!("'{name}' first word should be unsigned (count)"))?;
        if let Some(trigger) = slot {
            trigger.at = at;
        }
        let call = HandlerCall::parse(call).map_err(|_| "syntax error")?;
        call.check_writable(ctx)?;
        *slot = Some(Trigger { at, is_done: false, call });
        Ok(())
    }

    /// The call, if it was not made yet.
    fn fire(&mut self) -> Option<HandlerCall> {
        (!std::mem::replace(&mut self.is_done, true)).then(|| self.call.clone())
    }
}
