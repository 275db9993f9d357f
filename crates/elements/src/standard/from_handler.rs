//! Makes packets from what a handler reads.
//!
//! Each time, reads HANDLER: hexadecimal digits in small letters, two a byte, perhaps behind a timestamp and ` | `, as
//! `1.5 | 00ff`. Other characters count as the digit 0. Without a timestamp the packet gets the time. A value of less than two
//! characters ends the run. It does nothing until `active` is written.
//!
//! ```click
//! f :: FromHandler(data.run) -> Print -> Discard;
//! data :: Script(TYPE PASSIVE, init n 0, set n $(add $n 1), goto exit $(gt $n 3), return "00112233");
//! Script(write f.active true);
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use args::Timestamp;
use element::{
    same, Arg, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall, HandlerUse, Packet, TaskId,
};

/// The class.
pub const CLASS: Class =
    Class::new::<FromHandler>("FromHandler", "0/1-2", "a/ah", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::required("HANDLER", "handler", "The handler that is read.")];

const HANDLERS: &[Handler] = &[
    Handler::read("time", "How long the last run took, in seconds.").flags("alike"),
    Handler::read_write("active", "Whether packets are made."),
];

/// See the page above.
pub struct FromHandler {
    handler: String,
    run: Arc<Mutex<Run>>,
}

/// What handlers see while HANDLER is read.
#[derive(Default)]
struct Run {
    is_active: bool,
    begin: Timestamp,
    end: Timestamp,
    task: Option<TaskId>,
}

impl Element for FromHandler {
    fn configure(conf: &mut Configure<'_>) -> Result<FromHandler, Failed> {
        let handler = conf.args.need("HANDLER");
        conf.finish()?;
        Ok(FromHandler { handler, run: Arc::default() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        ctx.schedule(task);
        self.run().task = Some(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.run().is_active || !ctx.output_is_push(0) {
            return false;
        }
        if let Some(packet) = self.next_packet(ctx) {
            ctx.emit_packet(0, packet);
            ctx.schedule(task);
            return true;
        }
        if self.run().is_active {
            let end = Timestamp::from_nanos(ctx.now_ns());
            self.run().end = end;
        }
        self.run().is_active = false;
        false
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let run = self.run();
        match name {
            "time" => Ok(format!("{}\n", run.end - run.begin)),
            "active" => Ok(run.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "active" {
            return Err(format!("no {name} write handler"));
        }
        let is_active = args::boolean(&args::uncomment(value)).map_err(|_| "'active' should be Boolean")?;
        let mut run = self.run();
        run.is_active = is_active;
        if is_active {
            run.begin = Timestamp::from_nanos(ctx.now_ns());
            run.end = run.begin;
            if let Some(task) = run.task {
                ctx.schedule(task);
            }
        }
        Ok(())
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(FromHandler { handler: self.handler.clone(), run: self.run.clone() }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FromHandler>(ctx, old) else { return };
        let old = old.run();
        let mut run = self.run();
        (run.is_active, run.begin, run.end) = (old.is_active, old.begin, old.end);
    }
}

impl FromHandler {
    fn run(&self) -> MutexGuard<'_, Run> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_packet(&self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let call = HandlerCall::parse(&self.handler).and_then(|call| {
            ctx.check_handler(&call.name, HandlerUse::Read(&call.value))?;
            Ok(call)
        });
        let text = match call {
            Ok(call) => call.read(ctx).unwrap_or_default(),
            Err(message) => {
                ctx.chatter(&message);
                return None;
            }
        };
        if text.len() <= 1 {
            return None;
        }
        let now_ns = ctx.now_ns();
        let (time, digits) = split(text.as_bytes());
        let time_ns = match time.map(args::timestamp) {
            None => now_ns,
            Some(Ok(time)) => time.as_nanos(),
            Some(Err(_)) => {
                ctx.chatter("parsing time failed");
                now_ns
            }
        };
        let bytes: Vec<u8> =
            digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        let mut packet = Packet::with_headroom(HEADROOM, &bytes);
        packet.set_timestamp_ns(time_ns);
        Some(packet)
    }
}

/// Bytes of room in front of packets.
const HEADROOM: usize = 28;

/// Splits a value at its first bar, which is no part of it with the characters beside it: the time, if there is one, and the
/// digits.
fn split(text: &[u8]) -> (Option<&str>, &[u8]) {
    match text.iter().position(|byte| *byte == b'|') {
        None | Some(0) => (None, text),
        Some(bar) => {
            let time = text.get(..bar - 1).and_then(|time| std::str::from_utf8(time).ok());
            (Some(time.unwrap_or("")), text.get(bar + 2..).unwrap_or_default())
        }
    }
}

fn digit(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'f' => byte - b'a' + 10,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_are_what_the_handler_reads() {
        check_reading(
            r#"f :: FromHandler("data.run a") -> Print(TIMESTAMP true) -> Discard;
            data :: Script(TYPE PASSIVE, init n 0, set n $(add $n 1),
                goto l2 $(eq $n 2), goto l3 $(eq $n 3), goto l4 $(eq $n 4), goto l5 $(eq $n 5), goto l6 $(eq $n 6),
                goto l7 $(eq $n 7), goto l8 $(eq $n 8), return "00ff1",
                label l2, return "1.5 | ABab12",
                label l3, return "x | 99",
                label l4, return "|22",
                label l5, return "1|",
                label l6, return "1.25 | 4",
                label l7, write f.active false, return 77,
                label l8, return 0);
            DriverManager(wait 1s, write f.active true, wait 1s, read f.active, write f.active true, wait 1s, read f.active,
                write f.active x)"#,
            &["f.time", "f.handlers"],
            expect![[r#"
                1000000001.000000003:    3 | 000ff1
                parsing time failed
                1000000001.000000004:    3 | 00ab12
                parsing time failed
                1000000001.000000005:    1 | 99
                parsing time failed
                1000000001.000000006:    1 | 20
                parsing time failed
                1000000001.000000007:    0
                parsing time failed
                1000000001.000000008:    1 | 40
                1000000001.000000009:    1 | 77
                f.active:
                false
                f.active:
                false
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 'f.active x':
                    'active' should be Boolean
                f.time: 0.000000002

                f.handlers: active	rw
                time	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn a_handler_that_is_not_there_is_told_of_each_time() {
        check_reading(
            "f :: FromHandler(nobody.run) -> Discard; g :: FromHandler(f.nothing) -> Discard; h :: FromHandler(\"f.time x\") -> Discard;
            DriverManager(write f.active true, write g.active true, write h.active true, wait 1s)",
            &["f.active"],
            expect![[r#"
                no 'f.nothing' read handler
                no element named 'nobody'
                read handler 'f.time' does not take parameters
                f.active: false
            "#]],
        );
    }
}
