//! Counts packets or bytes for each value of the aggregate annotation.
//!
//! A frozen counter counts only aggregates that it has counted already; the second input, if there is one, is always
//! frozen. With two outputs, packets that are pushed and not counted leave by output 1. The counts are written to a file
//! by handlers, in order of the aggregates: `write_text_file`, `write_ip_file` (aggregates as addresses), `write_pdf_file`
//! (shares of the total) and `write_file`, whose records are two 32-bit words in the host's byte order.
//!
//! ```click
//! FromIPSummaryDump(-, STOP true) -> AggregateIP(ip dst) -> ac :: AggregateCounter -> Discard;
//! DriverManager(wait, write ac.write_text_file -);
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::{
    annotation, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall,
    Packet, Refusal,
};

use super::aggregate_counts::{Counts, Format};
use super::aggregate_trigger::Trigger;

/// The class.
pub const CLASS: Class = Class::new::<AggregateCounter>("AggregateCounter", "1-2/1-2", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .pulls_first()
    .handlers(HANDLERS)
    .refuses(&[
        ("count_call", Refusal::FailedUnless("argument to")),
        ("aggregate_call", Refusal::FailedUnless("argument to")),
    ]);

const ARGS: &[Arg] = &[
    Arg::keyword("BYTES", "boolean", "Count bytes rather than packets. Default false."),
    Arg::keyword("IP_BYTES", "boolean", "Leave bytes in front of the network header out. Default false."),
    Arg::keyword("MULTIPACKET", "boolean", "Count the extra packets of the annotation. Default true."),
    Arg::keyword("EXTRA_LENGTH", "boolean", "Count the extra bytes of the annotation. Default true."),
    Arg::keyword("AGGREGATE_FREEZE", "unsigned", "Freeze when so many aggregates were seen. Default never."),
    Arg::keyword("COUNT_FREEZE", "unsigned", "Freeze when the total reaches this. Default never."),
    Arg::keyword("AGGREGATE_STOP", "unsigned", "Stop when so many aggregates were seen. Default never."),
    Arg::keyword("COUNT_STOP", "unsigned", "Stop when the total reaches this. Default never."),
    Arg::keyword("AGGREGATE_CALL", "number and handler call", "A handler to write after so many aggregates."),
    Arg::keyword("COUNT_CALL", "number and handler call", "A handler to write when the total reaches this."),
    Arg::keyword("BANNER", "string", "Text at the head of files. Default none."),
];

const HANDLERS: &[Handler] = &[
    Handler::write("write_text_file", "Writes the counts to a file, or `-`, as decimal numbers."),
    Handler::write("write_ascii_file", "The same as `write_text_file`."),
    Handler::write("write_file", "Writes the counts to a file, or `-`, as packed records."),
    Handler::write("write_ip_file", "Writes the counts to a file, or `-`, aggregates as IP addresses."),
    Handler::write("write_pdf_file", "Writes each aggregate's share of the total to a file, or `-`."),
    Handler::read_write("freeze", "Whether only known aggregates are counted.").flags("checkbox"),
    Handler::read_write("active", "Whether packets are counted at all.").flags("checkbox"),
    Handler::write("stop", "Counts no more and stops the driver.").flags("button"),
    Handler::write("reaggregate_counts", "Makes the counts the aggregates: how often did each count occur?."),
    Handler::write("counts_pdf", "The same as `reaggregate_counts`."),
    Handler::read_write("banner", "Text at the head of files.").flags("raw"),
    Handler::write("clear", "Forgets all counts."),
    Handler::read_write(
        "aggregate_call",
        "Number of aggregates at which a handler is written, and the call.",
    ),
    Handler::read_write("count_call", "Total at which a handler is written, and the call."),
    Handler::read("count", "Total of all counts."),
    Handler::read("nagg", "Number of aggregates that have been counted."),
];

/// See the page above.
pub struct AggregateCounter {
    counts: Counts,
    measure: Measure,
    is_frozen: bool,
    is_active: bool,
    aggregate_call: Option<Trigger>,
    count_call: Option<Trigger>,
    banner: String,
    n_inputs: usize,
    /// Where the counter is while a handler is called, which may ask it: within reach of its second hand.
    away: Away,
}

type Away = Arc<Mutex<Option<Box<AggregateCounter>>>>;

/// What is counted of a packet.
struct Measure {
    bytes: bool,
    ip_bytes: bool,
    extra_packets: bool,
    extra_length: bool,
}

impl Element for AggregateCounter {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateCounter, Failed> {
        let measure = Measure {
            bytes: conf.args.get_or("BYTES", false),
            ip_bytes: conf.args.get_or("IP_BYTES", false),
            extra_packets: conf.args.get_or("MULTIPACKET", true),
            extra_length: conf.args.get_or("EXTRA_LENGTH", true),
        };
        let aggregate_freeze: Option<u32> = conf.args.get("AGGREGATE_FREEZE");
        let count_freeze: Option<u64> = conf.args.get("COUNT_FREEZE");
        let aggregate_stop: Option<u32> = conf.args.get("AGGREGATE_STOP");
        let count_stop: Option<u64> = conf.args.get("COUNT_STOP");
        let args::Raw(aggregate_call) = conf.args.get("AGGREGATE_CALL").unwrap_or_default();
        let args::Raw(count_call) = conf.args.get("COUNT_CALL").unwrap_or_default();
        let banner = conf.args.get_or("BANNER", String::new());
        conf.finish()?;
        let own = conf.environment.name(conf.element);
        let number = |value: Option<u32>| value.filter(|&value| value != u32::MAX).map(u64::from);
        let (freeze, stop) = (number(aggregate_freeze), number(aggregate_stop));
        let aggregate_call = Trigger::configure(own, "AGGREGATE", freeze, stop, &aggregate_call)?;
        let [freeze, stop] = [count_freeze, count_stop].map(|value| value.filter(|&value| value != u64::MAX));
        let count_call = Trigger::configure(own, "COUNT", freeze, stop, &count_call)?;
        let counts = Counts::default();
        Ok(AggregateCounter {
            counts,
            measure,
            is_frozen: false,
            is_active: true,
            aggregate_call,
            count_call,
            banner,
            n_inputs: conf.n_inputs,
            away: Away::default(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let triggers = [&mut self.aggregate_call, &mut self.count_call];
        triggers.into_iter().flatten().try_for_each(|trigger| trigger.check(ctx))
    }

    fn causes(&self, usual: Causes) -> Causes {
        if self.aggregate_call.is_some() || self.count_call.is_some() {
            Causes::ANYTHING
        } else {
            usual
        }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let has_calls = self.aggregate_call.is_some() || self.count_call.is_some();
        let mut outputs = [Batch::new(), Batch::new()];
        let n_outputs = ctx.n_outputs();
        if n_outputs == 1 && !has_calls {
            self.count_batch(port == 1, &batch);
            return ctx.emit(0, batch);
        }
        for packet in batch.drain() {
            let is_counted = if has_calls && self.is_due_after(&packet) {
                // A handler must find the packets before this one where they would be without batches.
                for (port, output) in outputs.iter_mut().enumerate() {
                    ctx.emit_now(port, std::mem::take(output));
                }
                self.count_calling(ctx, port == 1, &packet)
            } else {
                self.count(port == 1, &packet)
            };
            let output = usize::from(!is_counted && n_outputs > 1);
            if let Some(output) = outputs.get_mut(output) {
                output.push(packet);
            }
        }
        for (port, output) in outputs.into_iter().enumerate() {
            ctx.emit(port, output);
        }
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((if self.n_inputs == 1 { 0 } else { port }, if self.has_calls() { 1 } else { max }))
    }

    fn pulled(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) -> Batch {
        if !self.has_calls() {
            self.count_batch(port == 1, &batch);
            return batch;
        }
        for packet in batch.iter() {
            self.count_calling(ctx, port == 1, packet);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match locked(&self.away).as_deref() {
            Some(counter) => counter.read_value(name),
            None => self.read_value(name),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match locked(&self.away.clone()).as_deref_mut() {
            Some(counter) => counter.write_value(ctx, name, value),
            None => self.write_value(ctx, name, value),
        }
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(self.stand_in()))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AggregateCounter>(ctx, old) else { return };
        (self.counts, self.is_frozen, self.is_active) = (old.counts, old.is_frozen, old.is_active);
        // What was passed already is not reached again.
        let (n_aggregates, total) = (u64::from(self.counts.n_nonzero()), self.counts.total());
        let is_waiting =
            |trigger: &Option<Trigger>, at| trigger.as_ref().is_some_and(|trigger| trigger.at == at);
        self.aggregate_call.take_if(|own| n_aggregates >= own.at && !is_waiting(&old.aggregate_call, own.at));
        self.count_call.take_if(|own| total >= own.at && !is_waiting(&old.count_call, own.at));
    }
}

impl AggregateCounter {
    fn read_value(&self, name: &str) -> Result<String, String> {
        Ok(match name {
            "freeze" => self.is_frozen.to_string(),
            "active" => self.is_active.to_string(),
            "banner" => self.banner.clone(),
            "aggregate_call" => self.aggregate_call.as_ref().map_or_else(String::new, Trigger::unparse),
            "count_call" => self.count_call.as_ref().map_or_else(String::new, Trigger::unparse),
            "count" => self.counts.total().to_string(),
            "nagg" => self.counts.n_nonzero().to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write_value(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let text = args::uncomment(value);
        match name {
            "write_text_file" | "write_ascii_file" => self.write_file(ctx, Format::Text, &text)?,
            "write_file" => self.write_file(ctx, Format::Packed, &text)?,
            "write_ip_file" => self.write_file(ctx, Format::Ip, &text)?,
            "write_pdf_file" => self.write_file(ctx, Format::Share, &text)?,
            "freeze" => self.is_frozen = args::boolean(&text).map_err(|_| "type mismatch")?,
            "active" => self.is_active = args::boolean(&text).map_err(|_| "type mismatch")?,
            "stop" => {
                self.is_active = false;
                ctx.stop();
            }
            "reaggregate_counts" | "counts_pdf" => self.counts.reaggregate(),
            "banner" => {
                self.banner = match value {
                    "" | "\n" => String::new(),
                    _ if value.ends_with('\n') => value.to_string(),
                    _ => format!("{value}\n"),
                }
            }
            "clear" => self.counts.clear(),
            "aggregate_call" => {
                let max = u64::from(u32::MAX);
                self.aggregate_call = Trigger::write(ctx, name, &text, max)?;
            }
            "count_call" => self.count_call = Trigger::write(ctx, name, &text, u64::MAX)?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    /// Whether packets may cause calls, so that they are counted one by one.
    fn has_calls(&self) -> bool {
        self.aggregate_call.is_some() || self.count_call.is_some()
    }

    /// Counts a batch while no handler waits to be written.
    #[inline]
    fn count_batch(&mut self, is_frozen: bool, batch: &Batch) {
        let is_frozen = is_frozen || self.is_frozen;
        if self.is_active {
            for packet in batch.iter() {
                self.counts.add(packet.anno_u32(annotation::AGGREGATE), self.measure.of(packet), is_frozen);
            }
        }
    }

    #[inline]
    fn count(&mut self, is_frozen: bool, packet: &Packet) -> bool {
        let aggregate = packet.anno_u32(annotation::AGGREGATE);
        self.is_active && self.counts.add(aggregate, self.measure.of(packet), is_frozen || self.is_frozen)
    }

    /// Whether counting this packet may write a handler.
    fn is_due_after(&self, packet: &Packet) -> bool {
        let total = self.counts.total().wrapping_add(u64::from(self.measure.of(packet)));
        let reaches =
            |trigger: &Option<Trigger>, n: u64| trigger.as_ref().is_some_and(|trigger| n >= trigger.at);
        reaches(&self.aggregate_call, u64::from(self.counts.n_nonzero())) || reaches(&self.count_call, total)
    }

    /// Counts a packet and writes the handlers that are due.
    fn count_calling(&mut self, ctx: &mut Ctx<'_>, is_frozen: bool, packet: &Packet) -> bool {
        let aggregate = packet.anno_u32(annotation::AGGREGATE);
        let amount = self.measure.of(packet);
        let may_add = self.is_active && !is_frozen && !self.is_frozen;
        if may_add && amount != 0 && !self.counts.is_counted(aggregate) {
            let n_aggregates = u64::from(self.counts.n_nonzero());
            // The handler comes before the aggregate that would be one too many, and may keep it from being counted.
            if let Some(trigger) = self.aggregate_call.take_if(|trigger| n_aggregates >= trigger.at) {
                self.counts.add(aggregate, 0, false);
                self.call(ctx, &trigger.call);
            }
        }
        if !self.count(is_frozen, packet) {
            return false;
        }
        let total = self.counts.total();
        if let Some(trigger) = self.count_call.take_if(|trigger| total >= trigger.at) {
            self.call(ctx, &trigger.call);
        }
        true
    }

    /// Writes a handler; what it answers has no reader.
    fn call(&mut self, ctx: &mut Ctx<'_>, call: &HandlerCall) {
        let own = match call.name.split_once('.') {
            Some((name, handler)) => (ctx.find(name) == Some(ctx.element)).then_some(handler),
            // Its own handlers come before global ones.
            None => HANDLERS.iter().map(|handler| handler.name).find(|name| *name == call.name),
        };
        match own {
            Some(handler) => drop(self.write_value(ctx, handler, &call.value)),
            None => {
                let stand_in = self.stand_in();
                let counter = std::mem::replace(self, stand_in);
                *locked(&self.away) = Some(Box::new(counter));
                call.write_silently(ctx);
                let counter = locked(&self.away).take();
                if let Some(counter) = counter {
                    *self = *counter;
                }
            }
        }
    }

    /// A counter that has counted nothing and answers for this one while it is away.
    fn stand_in(&self) -> AggregateCounter {
        let measure = Measure { bytes: false, ip_bytes: false, extra_packets: false, extra_length: false };
        AggregateCounter {
            counts: Counts::default(),
            measure,
            is_frozen: false,
            is_active: false,
            aggregate_call: None,
            count_call: None,
            banner: String::new(),
            n_inputs: self.n_inputs,
            away: self.away.clone(),
        }
    }

    /// Writes the counts to a file, which is each replica's own.
    fn write_file(&self, ctx: &mut Ctx<'_>, format: Format, name: &str) -> Result<(), String> {
        let name = args::filename(name, &ctx.scope()).map_err(|_| "argument should be filename")?;
        let replica = ctx.runtime().replica().0;
        let name = if replica > 0 && name != "-" { format!("{name}.{replica}") } else { name };
        self.counts.write_file(&name, format, &self.banner)
    }
}

impl Measure {
    #[inline(always)]
    fn of(&self, packet: &Packet) -> u32 {
        if !self.bytes {
            let extra = if self.extra_packets { packet.anno_u32(annotation::EXTRA_PACKETS) } else { 0 };
            return extra.wrapping_add(1);
        }
        let extra = if self.extra_length { packet.anno_u32(annotation::EXTRA_LENGTH) } else { 0 };
        let link = if self.ip_bytes { packet.network_offset().unwrap_or(0) } else { 0 };
        (packet.len() as u32).wrapping_add(extra).wrapping_sub(link as u32)
    }
}

fn locked(away: &Away) -> MutexGuard<'_, Option<Box<AggregateCounter>>> {
    away.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    /// A counter that sees three aggregates, and what is done with it afterwards.
    fn counter(args: &str, writes: &str) -> String {
        format!(
            "FromIPSummaryDump(DATA \"!data ip_src\n1.1.1.1\n2.2.2.2\n3.3.3.3\n\", STOP true) -> AggregateIP(ip src)
             -> c :: AggregateCounter({args}) -> Discard; DriverManager(wait, {writes});"
        )
    }

    #[test]
    fn a_handler_that_is_called_may_ask_the_counter() {
        check(
            "InfiniteSource(LIMIT 5) -> AggregateLength -> c :: AggregateCounter(COUNT_CALL 3 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, print \"$(c.count) $(c.nagg) $(c.count_call)\", write c.count_call 4 t.run);
             t :: Script(TYPE PASSIVE, write c.clear, print $(c.count)); Script(wait 1, print $(c.count), stop)",
            expect![""],
        );
    }

    #[test]
    fn a_call_without_element_finds_its_own_handlers_first() {
        check_reading(
            &counter("AGGREGATE_CALL 2 stop", "stop"),
            &["c.active", "c.nagg", "c.aggregate_call"],
            expect![[r#"
            c.active: false
            c.nagg: 2
            c.aggregate_call: 
        "#]],
        );
    }

    #[test]
    fn calls_are_told_by_the_full_names_of_their_handlers() {
        check_reading(
            "elementclass C { input -> a :: AggregateCounter(COUNT_CALL 5 b.reset, AGGREGATE_CALL 3 .stop)
                -> b :: Counter -> output }
             Idle -> c :: C -> d :: AggregateCounter(COUNT_CALL 3 stop, AGGREGATE_CALL 7 freeze true) -> Discard;
             Script(read c/a.count_call, write c/a.count_call 7 b.reset 1, read c/a.count_call,
                write c/a.count_call 7 .stop, read c/a.count_call, write c/a.count_call 7 clear, stop)",
            &["c/a.count_call", "c/a.aggregate_call", "d.count_call", "d.aggregate_call"],
            expect![[r#"
                c/a.count_call:
                5 c/b.reset
                c/a.count_call:
                7 c/b.reset 1
                c/a.count_call:
                7 stop
                c/a.count_call: 7 c/a.clear
                c/a.aggregate_call: 3 stop
                d.count_call: 3 d.stop
                d.aggregate_call: 7 d.freeze true
            "#]],
        );
    }

    #[test]
    fn a_call_that_cannot_be_made_leaves_the_old_one() {
        check_reading(
            &counter("", "write c.count_call 9 c.stop, write c.count_call 1 c.nothing, write c.count_call x"),
            &["c.count_call"],
            expect![[r#"
                While calling 'c.count_call 1 c.nothing':
                  no 'c.nothing' write handler
                While calling 'c.count_call x':
                  argument to 'count_call' should be 'N HANDLER [VALUE]'
                c.count_call: 9 c.stop
            "#]],
        );
    }
}
