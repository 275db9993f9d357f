//! Lets the packets pass whose timestamps are in a range.
//!
//! Packets from START until just before END leave by output 0; others leave by output 1 or are dropped. Both ends are times, or
//! count from the first packet (`_AFTER`) or from the start of the graph (`_DELAY`). Without START, the range begins with the
//! first packet's timestamp.
//!
//! When the first packet comes that is past the end, END_CALL is written, in whose value `$t` stands for the packet's timestamp.
//! It may move the end, and the packet passes if it is before that then.
//!
//! Writing `end` sets the end to that time after the start, as Click does, and `interval` can only be read.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> t :: TimeFilter(START_AFTER 1s, INTERVAL 10s, STOP true) -> ToDump(out.pcap);
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use args::Timestamp;
use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, HandlerCall, Packet,
    Verdict,
};

use super::time_window::{Begin, End, Window};
use crate::control::scripting::{expand, Reference};

/// The class.
pub const CLASS: Class =
    Class::new::<TimeFilter>("TimeFilter", "1/1-2", "a/ah", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("START", "time", "The earliest timestamp that passes."),
    Arg::optional("END", "time", "The first timestamp that does not pass."),
    Arg::keyword("START_DELAY", "time", "START, counted from the start of the graph."),
    Arg::keyword("END_DELAY", "time", "END, counted from the start of the graph."),
    Arg::keyword("START_AFTER", "time", "START, counted from the first packet's timestamp."),
    Arg::keyword("END_AFTER", "time", "END, counted from the first packet's timestamp."),
    Arg::keyword("INTERVAL", "time", "END, counted from START."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver past the end. Default false."),
    Arg::keyword("END_CALL", "handler call", "A handler to write past the end."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("start", "The earliest timestamp that passes, once the first packet has come."),
    Handler::read_write(
        "end",
        "The first timestamp that does not pass; written, the time from `start` to it.",
    ),
    Handler::read("interval", "Seconds from `start` to `end`.").flags("alike"),
    Handler::write("extend_interval", "Moves `end` back by a time."),
];

const DROPS: &[DropReason] = &[DropReason::new("outside", "The timestamp is not in the range.")];
const OUTSIDE: usize = 0;

/// How often END_CALL is made for a packet.
const MOST_CALLS: usize = 1 << 20;

/// See the page above.
pub struct TimeFilter {
    /// What to do past the end.
    end_call: Option<HandlerCall>,
    /// What `end_call` may change, too.
    window: Arc<Mutex<Window>>,
}

impl Element for TimeFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<TimeFilter, Failed> {
        // Mistakes are told in this order.
        for name in ["START", "END", "START_DELAY", "END_DELAY", "START_AFTER", "END_AFTER", "INTERVAL"] {
            conf.args.get::<Timestamp>(name);
        }
        let begins = given(conf, BEGINS);
        let ends = given(conf, ENDS);
        let stops = conf.args.get_or("STOP", false);
        let end_call = conf.handler_call("END_CALL");
        if begins.len() > 1 {
            conf.args.fail("START, START_AFTER, and START_AFTER_INIT are mutually exclusive");
        } else if ends.len() > 1 {
            conf.args.fail("END, END_AFTER, END_AFTER_INIT, and INTERVAL are mutually exclusive");
        } else if end_call.is_some() && stops {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        conf.finish()?;
        let stop = || stops.then(|| HandlerCall { name: "stop".to_string(), value: "true".to_string() });
        let end_call = end_call.or_else(stop);
        let window = Window::new(begins.first().copied(), ends.first().copied(), end_call.is_some());
        Ok(TimeFilter { end_call, window: Arc::new(Mutex::new(window)) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(call) = &self.end_call {
            call.check_writable(ctx)?;
        }
        let mut window = self.window();
        if window.needs_now() {
            window.start_at(Timestamp::from_nanos(ctx.now_ns()));
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        while let Some((n_before, time)) = self.n_before_call(&batch) {
            self.push_first(ctx, &mut batch, n_before);
            ctx.emit_now(0, Batch::new());
            self.call(ctx, time);
            self.push_first(ctx, &mut batch, 1);
        }
        let mut window = self.window();
        ctx.push_each(batch, |packet| verdict(&mut window, packet));
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        let mut passed = Batch::new();
        while let Some((n_before, time)) = self.n_before_call(&batch) {
            self.keep_first(ctx, &mut batch, n_before, &mut passed);
            self.call(ctx, time);
            self.keep_first(ctx, &mut batch, 1, &mut passed);
        }
        let n_left = batch.len();
        self.keep_first(ctx, &mut batch, n_left, &mut passed);
        passed
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let window = self.window();
        Ok(match name {
            "start" => window.first.to_string(),
            "end" => window.last.to_string(),
            "interval" => (window.last - window.first).to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let time = args::timestamp(value).map_err(|_| "expected time")?;
        let mut window = self.window();
        match name {
            "start" => window.set_first(time),
            "end" => {
                let end = window.first + time;
                window.move_end(end);
            }
            "extend_interval" => {
                let end = window.last + time;
                window.move_end(end);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(TimeFilter { end_call: self.end_call.clone(), window: self.window.clone() }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TimeFilter>(ctx, old) else { return };
        self.window().take_over(&old.window());
    }
}

/// An argument and what it says of its time.
type Choice<T> = (&'static str, fn(Timestamp) -> T);

const BEGINS: &[Choice<Begin>] =
    &[("START", Begin::At), ("START_DELAY", Begin::Delay), ("START_AFTER", Begin::After)];

const ENDS: &[Choice<End>] =
    &[("END", End::At), ("END_DELAY", End::Delay), ("END_AFTER", End::After), ("INTERVAL", End::Interval)];

/// What the arguments that are given say; a time of 0 counts as not given.
fn given<T>(conf: &mut Configure<'_>, choices: &[Choice<T>]) -> Vec<T> {
    let mut list = Vec::new();
    for (name, choice) in choices {
        let time: Option<Timestamp> = conf.args.get(name);
        list.extend(time.filter(|time| !time.is_zero()).map(choice));
    }
    list
}

#[inline(always)]
fn verdict(window: &mut Window, packet: &Packet) -> Verdict {
    let time = Timestamp::from_nanos(packet.timestamp_ns());
    window.begin_with(time);
    if window.first <= time && time < window.last {
        Verdict::PASS
    } else {
        Verdict::port_or_drop(1, OUTSIDE)
    }
}

impl TimeFilter {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many packets of a batch come before the one past the end for which the handler is to be written, and the timestamp of
    /// that.
    fn n_before_call(&self, batch: &Batch) -> Option<(usize, Timestamp)> {
        let mut window = self.window();
        if !window.is_armed || self.end_call.is_none() {
            return None;
        }
        let times = || batch.iter().map(|packet| Timestamp::from_nanos(packet.timestamp_ns()));
        window.begin_with(times().next()?);
        times().enumerate().find(|(_, time)| *time >= window.first && *time >= window.last)
    }

    /// Writes the handler until that moves the end beyond `time`, or does not move it, or was done too often: a packet from the
    /// far future is no reason to hang.
    fn call(&mut self, ctx: &mut Ctx<'_>, time: Timestamp) {
        let Some(call) = &self.end_call else { return };
        let text = time.to_string();
        let value = expand(&call.value, &mut |name, kind| {
            (kind == Reference::Variable && name == "t").then(|| text.clone())
        });
        for _ in 0..MOST_CALLS {
            let last = {
                let mut window = self.window();
                window.is_armed = false;
                window.last
            };
            // Neither what it answers nor what it tells has a reader.
            let _ = ctx.hear(|ctx| ctx.write_handler(&call.name, &value));
            let window = self.window();
            if time < window.last || !window.is_armed || window.last <= last {
                return;
            }
        }
    }

    /// Sends the first packets of a batch on.
    fn push_first(&self, ctx: &mut Ctx<'_>, batch: &mut Batch, n: usize) {
        let mut window = self.window();
        ctx.push_each(batch.split_first(n), |packet| verdict(&mut window, packet));
    }

    /// Adds those of the first packets of a batch that pass to `passed`.
    fn keep_first(&self, ctx: &mut Ctx<'_>, batch: &mut Batch, n: usize, passed: &mut Batch) {
        let mut first = batch.split_first(n);
        let mut window = self.window();
        ctx.keep_each(&mut first, |packet| verdict(&mut window, packet));
        passed.append(&mut first);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    /// A packet for each of these times, marked with it, to element `t`.
    fn stamps(times: &[&str]) -> String {
        let source = |time: &&str| format!("InfiniteSource({time}, LIMIT 1) -> SetTimestamp({time}) -> t; ");
        times.iter().map(source).collect()
    }

    const TIMES: &[&str] = &["2", "1", "3.5", "5", "4.999999999", "9"];

    fn check_passing(config: &str, expect: expect_test::Expect) {
        let sources = stamps(TIMES);
        check_reading(
            &format!(
                "t :: TimeFilter({config}); {sources} t -> Print(in, CONTENTS ASCII) -> Discard;
                t[1] -> Print(out, CONTENTS ASCII) -> Discard; DriverManager(read t.end, wait 1s)"
            ),
            &["t.start", "t.end", "t.interval"],
            expect,
        );
    }

    #[test]
    fn packets_in_the_range_pass() {
        check_passing(
            "2, 5",
            expect![[r#"
            t.end:
            5.000000
            in:    1 |  2
            out:    1 |  1
            in:    3 |  3.5
            out:    1 |  5
            in:   11 |  4.999999 999
            out:    1 |  9
            t.start: 2.000000
            t.end: 5.000000
            t.interval: 3.000000
        "#]],
        );
        check_passing(
            "INTERVAL 2",
            expect![[r#"
            t.end:
            2.000000
            in:    1 |  2
            out:    1 |  1
            in:    3 |  3.5
            out:    1 |  5
            out:   11 |  4.999999 999
            out:    1 |  9
            t.start: 2.000000
            t.end: 4.000000
            t.interval: 2.000000
        "#]],
        );
        check_passing(
            "START_AFTER 1s, INTERVAL 2",
            expect![[r#"
            t.end:
            2.000000
            out:    1 |  2
            out:    1 |  1
            in:    3 |  3.5
            out:    1 |  5
            in:   11 |  4.999999 999
            out:    1 |  9
            t.start: 3.000000
            t.end: 5.000000
            t.interval: 2.000000
        "#]],
        );
        check_passing(
            "START_AFTER 1500ms, END_AFTER 3",
            expect![[r#"
            t.end:
            3.000000
            out:    1 |  2
            out:    1 |  1
            in:    3 |  3.5
            out:    1 |  5
            in:   11 |  4.999999 999
            out:    1 |  9
            t.start: 3.500000
            t.end: 5.000000
            t.interval: 1.500000
        "#]],
        );
        check_passing(
            "START_DELAY 1, END_DELAY 2",
            expect![[r#"
            t.end:
            1000000002.000000
            out:    1 |  2
            out:    1 |  1
            out:    3 |  3.5
            out:    1 |  5
            out:   11 |  4.999999 999
            out:    1 |  9
            t.start: 1000000001.000000
            t.end: 1000000002.000000
            t.interval: 1.000000
        "#]],
        );
    }

    #[test]
    fn the_driver_stops_past_the_end() {
        let sources = stamps(TIMES);
        check(
            &format!(
                "t :: TimeFilter(END 5, STOP true); {sources} t -> Print(in, CONTENTS ASCII) -> Discard"
            ),
            expect![[r#"
                in:    1 |  2
                in:    3 |  3.5
            "#]],
        );
    }

    #[test]
    fn the_end_can_be_moved_when_it_is_reached() {
        check_reading(
            "t :: TimeFilter(0, 1, END_CALL s.run $t b) -> c :: Counter -> Discard;
            InfiniteSource(LIMIT 8) -> SetTimestamp(0.5) -> q :: Queue -> u :: Unqueue(BURST 3) -> t;
            InfiniteSource(LIMIT 4) -> SetTimestamp(1) -> q; InfiniteSource(LIMIT 2) -> SetTimestamp(3) -> q;
            s :: Script(TYPE PASSIVE, init x 0, goto exit $(gt $x 1), set x $(add $x 1),
                print \"$args\", read c.count, write t.extend_interval x, write t.extend_interval 1);
            DriverManager(wait 1s)",
            &["c.count", "t.end", "t.handlers"],
            expect![[r#"
                c.count:
                1
                c.count:
                2
                c.count: 12
                t.end: 3.000000
                t.handlers: extend_interval	w
                interval	r
                end	rw
                start	rw
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn ends_can_be_written() {
        check_reading(
            "t :: TimeFilter(END_CALL stop) -> Discard; Idle -> t;
            DriverManager(write t.start 5, read t.start, write t.end 7, read t.end, write t.extend_interval 1, read t.interval,
                write t.start x)",
            &["t.end"],
            expect![[r#"
                t.start:
                5.000000
                t.end:
                12.000000
                t.interval:
                8.000000
                While calling 't.start x':
                  expected time
                t.end: 13.000000
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> TimeFilter(1, START_AFTER 2, END 3, INTERVAL 4) -> TimeFilter(END 2, END_DELAY 3) -> TimeFilter(START 0, START_DELAY 2)
                -> TimeFilter(STOP true, END_CALL stop) -> TimeFilter(END_CALL a.b) -> TimeFilter(x, END_CALL , STOP y)
                -> TimeFilter(START x, END_DELAY x, START_AFTER x) -> Discard",
            expect![[r#"
                config:1: While configuring 'TimeFilter@2 :: TimeFilter':
                  START, START_AFTER, and START_AFTER_INIT are mutually exclusive
                config:1: While configuring 'TimeFilter@3 :: TimeFilter':
                  END, END_AFTER, END_AFTER_INIT, and INTERVAL are mutually exclusive
                config:2: While configuring 'TimeFilter@5 :: TimeFilter':
                  END_CALL and STOP are mutually exclusive
                config:2: While configuring 'TimeFilter@6 :: TimeFilter':
                  END_CALL: no element named 'a'
                  END_CALL: parse error
                config:2: While configuring 'TimeFilter@7 :: TimeFilter':
                  START: parse error
                  END: parse error
                config:3: While configuring 'TimeFilter@8 :: TimeFilter':
                  START: parse error
                  END_DELAY: parse error
                  START_AFTER: parse error
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> t :: TimeFilter(END_CALL t.nothing) -> Discard",
            expect![[r#"
            config:1: While initializing 't :: TimeFilter':
              no 't.nothing' write handler
            Router could not be initialized!
        "#]],
        );
    }
}
