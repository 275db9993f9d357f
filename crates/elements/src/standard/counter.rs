//! Counts packets and bytes, and measures their rates.
//!
//! The rates are moving averages over some milliseconds. When a count reaches a number that was given, a handler is written.
//!
//! ```click
//! InfiniteSource -> c :: Counter(COUNT_CALL 1000 stop) -> Discard;
//! ```

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use element::{
    llrpc, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall,
    LlrpcError, Refusal,
};

use super::ewma::RateEwma;
use super::jiffies;
use super::tally::{Tally, TallyRate};

/// The class.
pub const CLASS: Class = Class::new::<Counter>("Counter", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .blind()
    .looks_at_clock(RATES as u8)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[
        ("count_call", Refusal::FailedUnless("'count_call' first word")),
        ("byte_count_call", Refusal::FailedUnless("'byte_count_call' first word")),
    ]);

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
    Handler::read_write(
        "count_call",
        "Number of packets at which a handler is written; write number and call.",
    ),
    Handler::write("byte_count_call", "Number of bytes at which a handler is written, and the call."),
];

/// See the page above.
pub struct Counter {
    /// Shared with the second hand: handlers that are called when a number is reached may ask for the counts.
    state: Arc<State>,
}

struct State {
    count: Tally,
    byte_count: Tally,
    rate: TallyRate,
    byte_rate: TallyRate,
    calls: Mutex<Calls>,
    /// Whether one of them may still be due.
    is_armed: AtomicBool,
}

#[derive(Default)]
struct Calls {
    count: Option<Trigger>,
    byte_count: Option<Trigger>,
}

/// A handler to write when a count reaches a number.
struct Trigger {
    at: u64,
    /// Whether it was reached.
    is_done: bool,
    call: HandlerCall,
}

/// Rates that are kept. In Click each reads the time when it is made and for each packet.
const RATES: i64 = 2;

impl Element for Counter {
    fn configure(conf: &mut Configure<'_>) -> Result<Counter, Failed> {
        let count_call: Option<args::Raw> = conf.args.get("COUNT_CALL");
        let byte_count_call: Option<args::Raw> = conf.args.get("BYTE_COUNT_CALL");
        conf.finish()?;
        let count_call = Trigger::configure(conf, "COUNT_CALL", count_call, u64::MAX)?;
        // As in Click: where both are given, the second one's largest number is told to be the first one's.
        let told_max = count_call.as_ref().map_or(u64::MAX, |trigger| trigger.at);
        let byte_count_call = Trigger::configure(conf, "BYTE_COUNT_CALL", byte_count_call, told_max)?;
        // Fewer bits of fraction leave room for higher rates of bytes.
        let (rate, byte_rate) = (RateEwma::new(4, 10), RateEwma::new(4, 4));
        let state = State {
            count: Tally::default(),
            byte_count: Tally::default(),
            rate: TallyRate::new(rate),
            byte_rate: TallyRate::new(byte_rate),
            calls: Mutex::default(),
            is_armed: AtomicBool::new(false),
        };
        state.with_calls(|calls| *calls = Calls { count: count_call, byte_count: byte_count_call });
        Ok(Counter { state: Arc::new(state) })
    }

    fn causes(&self, usual: Causes) -> Causes {
        let calls = self.state.with_calls(|calls| calls.all().next().is_some());
        if calls {
            Causes::ANYTHING
        } else {
            usual
        }
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.state.with_calls(|calls| {
            calls.all().try_for_each(|trigger| {
                if trigger.call.name.is_empty() {
                    return Err("syntax error".to_string());
                }
                trigger.call.check_writable(ctx)
            })
        })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let jiffy = jiffies::at(ctx.now_ns());
        ctx.let_pass(RATES * batch.len() as i64 - 1);
        while let Some(n_before) = self.state.count_unless_call(jiffy, &batch) {
            let before = batch.split_first(n_before);
            self.state.count_batch(jiffy, &before);
            ctx.emit_now(0, before);
            let first = batch.split_first(1);
            self.state.count_batch(jiffy, &first);
            self.call(ctx, 1);
            ctx.emit(0, first);
        }
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        if batch.is_empty() {
            return batch;
        }
        let jiffy = jiffies::at(ctx.now_ns());
        ctx.let_pass(RATES * batch.len() as i64 - 1);
        if self.state.count_unless_call(jiffy, &batch).is_some() {
            self.state.count_batch(jiffy, &batch);
            self.call(ctx, batch.len() as u64);
        }
        batch
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        // Rates fall when no packets come. As in Click one that is read often ends a little above 0, and leaves the other alone.
        let jiffy = matches!(name, "rate" | "bit_rate" | "byte_rate").then(|| jiffies::at(ctx.now_ns()));
        let state = &self.state;
        match jiffy {
            Some(jiffy) if name == "rate" => state.rate.update(0, jiffy),
            Some(jiffy) => state.byte_rate.update(0, jiffy),
            None => {}
        }
        Ok(match name {
            "count" => state.count.get().to_string(),
            "byte_count" => state.byte_count.get().to_string(),
            "rate" => state.rate.average().unparse(),
            "bit_rate" => state.byte_rate.average().unparse_shifted(3),
            "byte_rate" => state.byte_rate.average().unparse(),
            "count_call" => {
                let at = state.with_calls(|calls| calls.count.as_ref().map(|trigger| trigger.at));
                at.map_or_else(String::new, |at| at.to_string())
            }
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let state = &self.state;
        match name {
            "count_call" => state.with_calls(|calls| Trigger::write(&mut calls.count, ctx, name, value))?,
            "byte_count_call" => {
                state.with_calls(|calls| Trigger::write(&mut calls.byte_count, ctx, name, value))?;
            }
            "reset" | "reset_counts" => state.reset(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        let value = data.first_chunk_mut::<4>().ok_or(LlrpcError::Invalid)?;
        let state = &self.state;
        let answer = match (number, u32::from_le_bytes(*value)) {
            (llrpc::GET_RATE, 0) => {
                state.rate.update(0, jiffies::at(ctx.now_ns()));
                state.rate.average().per_second()
            }
            (llrpc::GET_COUNT, 0) => state.count.get(),
            (llrpc::GET_COUNT, 1) => state.byte_count.get(),
            _ => return Err(LlrpcError::Invalid),
        };
        *value = (answer as u32).to_le_bytes();
        Ok(())
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(Counter { state: self.state.clone() }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Counter>(ctx, old) else { return };
        self.state.take_over(&old.state);
    }
}

impl Counter {
    /// Writes the handlers that are due, the last `n` packets having been counted just now; what they answer has no reader.
    fn call(&mut self, ctx: &mut Ctx<'_>, n: u64) {
        let state = &self.state;
        if let Some(call) = state.with_calls(|calls| calls.due_at_count(state.count.get(), n)) {
            call.write_silently(ctx);
        }
        if let Some(call) = state.with_calls(|calls| calls.due_at_byte_count(state.byte_count.get())) {
            call.write_silently(ctx);
        }
    }
}

impl State {
    /// Looks at the calls, or changes them.
    fn with_calls<R>(&self, act: impl FnOnce(&mut Calls) -> R) -> R {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let result = act(&mut calls);
        self.is_armed.store(calls.all().any(|trigger| !trigger.is_done), Relaxed);
        result
    }

    /// Counts a batch; or, if a handler is to be written at one of its packets, says how many come before that.
    #[inline]
    fn count_unless_call(&self, jiffy: u32, batch: &Batch) -> Option<usize> {
        let n_before = if self.is_armed.load(Relaxed) { self.n_before_call(batch) } else { None };
        if n_before.is_none() {
            self.count_batch(jiffy, batch);
        }
        n_before
    }

    #[inline]
    fn count_batch(&self, jiffy: u32, batch: &Batch) {
        let n_packets = batch.len() as u64;
        if n_packets == 0 {
            return;
        }
        let n_bytes = batch.iter().map(|packet| packet.len() as u64).sum();
        self.count.add(n_packets);
        self.byte_count.add(n_bytes);
        self.rate.update(n_packets, jiffy);
        self.byte_rate.update(n_bytes, jiffy);
    }

    /// How many packets of a batch come before the one at which a handler is to be written; `None` if there is none.
    fn n_before_call(&self, batch: &Batch) -> Option<usize> {
        let armed =
            |trigger: &Option<Trigger>| trigger.as_ref().filter(|trigger| !trigger.is_done).map(|t| t.at);
        let (count_at, byte_count_at) =
            self.with_calls(|calls| (armed(&calls.count), armed(&calls.byte_count)));
        let (mut count, mut byte_count) = (self.count.get(), self.byte_count.get());
        batch.iter().position(|packet| {
            count = count.wrapping_add(1);
            byte_count = byte_count.wrapping_add(packet.len() as u64);
            count_at == Some(count) || byte_count_at.is_some_and(|at| byte_count >= at)
        })
    }

    /// Goes on from other counts. A number that was reached is not reached again.
    fn take_over(&self, old: &State) {
        self.count.set(old.count.get());
        self.byte_count.set(old.byte_count.get());
        self.rate.take_over(&old.rate);
        self.byte_rate.take_over(&old.byte_rate);
        let done = old.with_calls(|calls| {
            [&calls.count, &calls.byte_count]
                .map(|trigger| trigger.as_ref().filter(|trigger| trigger.is_done).map(|trigger| trigger.at))
        });
        self.with_calls(|calls| {
            for (trigger, done) in [&mut calls.count, &mut calls.byte_count].into_iter().zip(done) {
                if let Some(trigger) = trigger {
                    trigger.is_done = done == Some(trigger.at);
                }
            }
        });
    }

    fn reset(&self) {
        self.count.set(0);
        self.byte_count.set(0);
        self.with_calls(|calls| {
            for trigger in [&mut calls.count, &mut calls.byte_count].into_iter().flatten() {
                trigger.is_done = false;
            }
        });
    }
}

impl Calls {
    fn all(&self) -> impl Iterator<Item = &Trigger> {
        [&self.count, &self.byte_count].into_iter().flatten()
    }

    /// The call that is due when the last `n` of `count` packets reached its number; being past it already does not count.
    fn due_at_count(&mut self, count: u64, n: u64) -> Option<HandlerCall> {
        let passed = count.saturating_sub(n)..count;
        let reaches =
            |trigger: &&mut Trigger| trigger.at.checked_sub(1).is_some_and(|before| passed.contains(&before));
        self.count.as_mut().filter(reaches)?.fire()
    }

    fn due_at_byte_count(&mut self, byte_count: u64) -> Option<HandlerCall> {
        self.byte_count.as_mut().filter(|trigger| byte_count >= trigger.at)?.fire()
    }
}

impl Trigger {
    /// Reads the argument `name`; the call is checked later.
    fn configure(
        conf: &mut Configure<'_>,
        name: &str,
        text: Option<args::Raw>,
        told_max: u64,
    ) -> Result<Option<Trigger>, Failed> {
        let Some(args::Raw(text)) = text else { return Ok(None) };
        let (number, call) = args::next_word(&text);
        let at = args::saturating_integer(number).map_err(|_| format!("{name} type mismatch"))?;
        if args::integer::<u64>(number).is_err() {
            conf.note(format!("{name} overflow, max {told_max}"));
        }
        let call =
            HandlerCall::parse(call).unwrap_or(HandlerCall { name: String::new(), value: String::new() });
        Ok(Some(Trigger { at, is_done: false, call }))
    }

    /// Takes what was written to handler `name`: a number and a call. A wrong call leaves the old one in force.
    fn write(slot: &mut Option<Trigger>, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let (number, call) = args::next_word(value);
        let at =
            args::integer(number).map_err(|_| format!("'{name}' first word should be unsigned (count)"))?;
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

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn time_passes_where_the_rates_are_made() {
        // Before the script is initialised.
        check_reading(
            "Script(wait 0.0005, write i.data $(now), stop); i :: InfiniteSource(ACTIVE false) -> Counter -> Discard",
            &["i.data"],
            expect![[r#"
                i.data: 1000000000.000500003
            "#]],
        );
    }

    #[test]
    fn packets_bytes_and_rates_are_counted() {
        check_reading(
            "RatedSource(LENGTH 100, RATE 500, LIMIT 500, STOP true) -> c :: Counter -> Discard",
            &["c.count", "c.byte_count", "c.rate", "c.byte_rate", "c.bit_rate", "c.count_call"],
            expect![[r#"
                c.count: 500
                c.byte_count: 50000
                c.rate: 477.539
                c.byte_rate: 48312.5
                c.bit_rate: 386500
                c.count_call: 
            "#]],
        );
    }

    #[test]
    fn reading_one_rate_leaves_the_other_alone() {
        check_reading(
            "InfiniteSource(LENGTH 2, LIMIT 2000) -> c :: Counter -> Discard; Script(set x $(c.rate), wait 0.1, loop);
             DriverManager(wait 2, stop)",
            &["c.byte_rate"],
            expect![[r#"
                c.byte_rate: 0
            "#]],
        );
    }

    #[test]
    fn what_a_called_script_complains_of_has_no_reader() {
        check_reading(
            "InfiniteSource(LIMIT 5) -> c :: Counter(COUNT_CALL 3 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, set x $(nope.z), return 1)",
            &["c.count"],
            expect![[r#"
                c.count: 5
            "#]],
        );
    }

    #[test]
    fn a_handler_is_called_when_a_count_is_reached() {
        check_reading(
            "InfiniteSource(LIMIT 50, BURST 20) -> c :: Counter(COUNT_CALL 7 s.run) -> d :: Counter -> Discard;
             s :: Script(TYPE PASSIVE, read c.count, read d.count, write c.reset)",
            &["c.count", "d.count", "c.count_call"],
            expect![[r#"
                c.count:
                7
                d.count:
                6
                c.count:
                7
                d.count:
                13
                c.count:
                7
                d.count:
                20
                c.count:
                7
                d.count:
                27
                c.count:
                7
                d.count:
                34
                c.count:
                7
                d.count:
                41
                c.count:
                7
                d.count:
                48
                c.count: 1
                d.count: 50
                c.count_call: 7
            "#]],
        );
        check_reading(
            "InfiniteSource(LENGTH 10, LIMIT 50) -> Queue -> c :: Counter(BYTE_COUNT_CALL 95 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read c.byte_count)",
            &["c.count"],
            expect![[r#"
                c.byte_count:
                100
                c.count: 50
            "#]],
        );
    }

    #[test]
    fn calls_are_checked() {
        let counter =
            |config: &str| format!("Idle -> c :: Counter({config}) -> Discard; DriverManager(stop)");
        check_reading(
            &counter("COUNT_CALL x stop"),
            &[],
            expect![[r#"
                config:1: While configuring 'c :: Counter':
                  COUNT_CALL type mismatch
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &counter("COUNT_CALL x stop, BYTE_COUNT_CALL 99999999999999999999 stop"),
            &[],
            expect![[r#"
                config:1: While configuring 'c :: Counter':
                  COUNT_CALL type mismatch
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &counter("COUNT_CALL 7 stop, BYTE_COUNT_CALL 99999999999999999999 stop"),
            &[],
            expect![[r#"
                config:1: While configuring 'c :: Counter':
                  BYTE_COUNT_CALL overflow, max 7
            "#]],
        );
        check_reading(
            &counter("COUNT_CALL 3"),
            &[],
            expect![[r#"
                config:1: While initializing 'c :: Counter':
                  syntax error
                Router could not be initialized!
            "#]],
        );
        check_reading(
            &counter("COUNT_CALL 3 c.nothing"),
            &[],
            expect![[r#"
                config:1: While initializing 'c :: Counter':
                  no 'c.nothing' write handler
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "elementclass C { input -> c :: Counter(COUNT_CALL 3 d.nothing) -> d :: Counter -> output }
             Idle -> x :: C -> Discard; DriverManager(stop)",
            &[],
            expect![[r#"
                config:1: While initializing 'x/c :: Counter':
                  no 'x/d.nothing' write handler
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "Idle -> c :: Counter -> Discard;
             DriverManager(write c.count_call x stop, write c.count_call 3, write c.count_call 4 stop,
                 write c.byte_count_call 5 nobody.stop, stop)",
            &["c.count_call"],
            expect![[r#"
                While calling 'c.count_call x stop':
                  'count_call' first word should be unsigned (count)
                While calling 'c.count_call 3':
                  syntax error
                While calling 'c.byte_count_call 5 nobody.stop':
                  no element named 'nobody'
                c.count_call: 4
            "#]],
        );
    }
}
