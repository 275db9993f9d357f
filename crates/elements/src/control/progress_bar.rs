//! Draws a progress bar on standard error.
//!
//! The sum of what the POSHANDLERs read says how far it is, and the sum of what the SIZEHANDLERs read at the start, or
//! FIXED_SIZE, how far it is to the end. Without these the bar shows only that something moves. It is drawn only on a terminal,
//! while the process is in the foreground.
//!
//! ```click
//! f :: FromDump(in.pcap, STOP true) -> Discard;
//! ProgressBar(f.filepos, f.filesize, BANNER in.pcap);
//! ```

use std::io::{IsTerminal, Write};

use args::{Args, Raw, Seconds, Timestamp};
use element::{same, Arg, Class, Configure, Ctx, Element, Failed, Handler, Refusal, Role, TimerId};

use super::progress_line::{Measured, Progress};
use super::quit_watcher::{readable, tell_all};
use super::terminal;

/// The class.
pub const CLASS: Class = Class::new::<ProgressBar>("ProgressBar", "0/0", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("poshandler", Refusal::Failed), ("sizehandler", Refusal::Failed)])
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::required("POSHANDLER", "read handlers", "Handlers whose values add up to how far it is."),
    Arg::optional("SIZEHANDLER", "read handlers", "Handlers whose values add up to how far the end is."),
    Arg::keyword("UPDATE", "time in ms", "Time from drawing to drawing. Default 250 ms."),
    Arg::keyword("BANNER", "string", "What stands in front of the bar."),
    Arg::keyword("ACTIVE", "bool", "Whether to draw from the start. Default true."),
    Arg::keyword("DELAY", "time in ms", "Time before the first drawing. Default 0."),
    Arg::keyword("CHECK_STDOUT", "bool", "Not to draw if standard output is a terminal. Default false."),
    Arg::keyword("FIXED_SIZE", "real", "How far the end is."),
];

const HANDLERS: &[Handler] = &[
    Handler::write("mark_stopped", "Draws the bar a last time, as it is."),
    Handler::write("mark_done", "Draws the bar a last time, at its end."),
    Handler::read_write("active", "Whether the bar is drawn.").flags("checkbox"),
    Handler::read_write("banner", "What stands in front of the bar.").flags("raw"),
    Handler::read_write("poshandler", "Handlers whose values add up to how far it is."),
    Handler::read_write("sizehandler", "Handlers whose values add up to how far the end is."),
    Handler::read("pos", "The furthest that was drawn.").flags("alike"),
    Handler::read_write("size", "How far the end is."),
    Handler::write("reset", "Starts from the beginning.").flags("button"),
];

/// Nothing has moved for a while.
const STALL_S: i64 = 5;

/// See the page above.
#[derive(Default)]
pub struct ProgressBar {
    /// The configuration: handlers can be looked up only when the graph is complete.
    config: String,
    positions: Vec<String>,
    sizes: Vec<String>,
    banner: String,
    interval: Timestamp,
    delay: Timestamp,
    is_active: bool,
    stage: Stage,
    size: f64,
    has_size: bool,
    last_pos: f64,
    times: Times,
    timer: Option<TimerId>,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Stage {
    /// Nothing was drawn.
    #[default]
    First,
    Middle,
    /// The next drawing is the last one.
    Done,
    /// The next drawing is the first and the last one.
    FirstAndDone,
    /// Nothing is ever drawn.
    Dead,
}

#[derive(Default)]
struct Times {
    begin: Timestamp,
    /// When something moved last.
    moved: Timestamp,
    /// How long nothing moved, in all.
    stalled: Timestamp,
    /// Nothing is drawn before this.
    draws_from: Timestamp,
}

impl Element for ProgressBar {
    fn configure(conf: &mut Configure<'_>) -> Result<ProgressBar, Failed> {
        let config = conf.config.to_string();
        Ok(ProgressBar { config, is_active: true, size: -1.0, ..ProgressBar::default() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let given = match self.read_arguments(&ctx.scope()) {
            Ok(given) => given,
            Err(errors) => return tell_all(ctx, errors),
        };
        self.sizes = all_readable(ctx, &given.sizes)?;
        self.positions = all_readable(ctx, &given.positions)?;
        let is_hidden = given.checks_stdout && std::io::stdout().is_terminal();
        if is_hidden || !std::io::stderr().is_terminal() {
            self.stage = Stage::Dead;
        }
        let timer = ctx.new_timer();
        self.timer = Some(timer);
        if self.is_active && self.stage != Stage::Dead {
            ctx.schedule_now(timer);
        }
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if !self.is_active || self.stage == Stage::Dead {
            return;
        }
        if matches!(self.stage, Stage::First | Stage::FirstAndDone) {
            self.begin(ctx);
        }
        if !terminal::is_in_foreground() {
            return ctx.reschedule_after(timer, self.interval.as_nanos());
        }
        let now = Timestamp::from_nanos(ctx.now_ns());
        if now < self.times.draws_from {
            return ctx.schedule_after(timer, (self.times.draws_from - now).as_nanos());
        }
        let pos = Measured::read(ctx, &self.positions);
        let line = self.progress(pos, now).line(terminal::width());
        // Nobody can be told that there is nobody to be told.
        let _ = std::io::stderr().write_all(line.as_bytes());
        if self.is_last() {
            self.is_active = false;
        } else {
            ctx.reschedule_after(timer, self.interval.as_nanos());
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "active" => self.is_active.to_string(),
            "banner" => self.banner.clone(),
            "poshandler" => self.positions.join(" "),
            "sizehandler" => self.sizes.join(" "),
            "pos" => args::unparse_double(self.last_pos),
            "size" => args::unparse_double(self.size),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let text = args::uncomment(value);
        match name {
            "mark_stopped" => self.complete(ctx),
            "mark_done" if self.is_running() => {
                self.has_size = true;
                self.size = Measured::read(ctx, &self.positions).value;
                self.complete(ctx);
            }
            "mark_done" => {}
            "active" => {
                self.is_active = args::boolean(&text).map_err(|_| "type mismatch")?;
                self.start(ctx);
            }
            "banner" => self.banner = value.to_string(),
            "poshandler" => self.positions = all_readable(ctx, &text)?,
            "sizehandler" => {
                self.sizes = all_readable(ctx, &text)?;
                self.has_size = false;
            }
            "size" => self.size = args::double(&text).map_err(|_| "expected real number")?,
            "reset" => {
                (self.has_size, self.stage, self.is_active) = (false, Stage::First, true);
                if let Some(timer) = self.timer {
                    ctx.schedule_now(timer);
                }
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer.filter(|_| self.stage == Stage::Middle) {
            self.stage = Stage::Done;
            self.run_timer(ctx, timer);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ProgressBar>(ctx, old) else { return };
        if self.stage != Stage::Dead && old.stage != Stage::First {
            (self.stage, self.is_active) = (old.stage, old.is_active);
            (self.times, self.last_pos) = (old.times, old.last_pos);
        }
    }
}

/// What the arguments say beside what the element keeps.
struct Given {
    positions: String,
    sizes: String,
    checks_stdout: bool,
}

impl ProgressBar {
    fn read_arguments(&mut self, scope: &args::Scope<'_>) -> Result<Given, Vec<String>> {
        let mut args = Args::new(&self.config, ARGS, scope);
        let Raw(positions) = args.need("POSHANDLER");
        let Raw(sizes) = args.get_or("SIZEHANDLER", Raw::default());
        let millis = |Seconds(ms): Seconds<3>| Timestamp::from_millis(i64::from(ms));
        self.interval = millis(args.get_or("UPDATE", Seconds(250)));
        self.banner = args.get_or("BANNER", String::new());
        self.is_active = args.get_or("ACTIVE", true);
        self.delay = millis(args.get_or("DELAY", Seconds(0)));
        let checks_stdout = args.get_or("CHECK_STDOUT", false);
        let size = args.get("FIXED_SIZE");
        self.has_size = size.is_some();
        self.size = size.unwrap_or(-1.0);
        args.finish().map(|()| Given { positions, sizes, checks_stdout })
    }

    /// Whether the bar is yet to be drawn a last time.
    fn is_running(&self) -> bool {
        self.is_active && matches!(self.stage, Stage::First | Stage::Middle)
    }

    fn is_last(&self) -> bool {
        matches!(self.stage, Stage::Done | Stage::FirstAndDone)
    }

    fn start(&self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer.filter(|timer| self.is_active && !ctx.timer_is_scheduled(*timer)) {
            ctx.schedule_now(timer);
        }
    }

    /// Reads the size and the time, before the first drawing.
    fn begin(&mut self, ctx: &mut Ctx<'_>) {
        if !self.has_size {
            let size = Measured::read(ctx, &self.sizes);
            (self.size, self.has_size) = (size.value, size.is_known);
        }
        self.last_pos = 0.0;
        let now = Timestamp::from_nanos(ctx.now_ns());
        self.times =
            Times { begin: now, moved: now, stalled: Timestamp::default(), draws_from: now + self.delay };
        if self.stage == Stage::First {
            self.stage = Stage::Middle;
        }
    }

    /// Notes how far it is now, for the line that tells of it.
    fn progress(&mut self, pos: Measured, now: Timestamp) -> Progress<'_> {
        let mut wait = now - self.times.moved;
        if pos.value > self.last_pos {
            self.times.moved = now;
            self.last_pos = pos.value;
            if wait.sec() >= STALL_S {
                self.times.stalled += wait;
            }
            wait = Timestamp::default();
        }
        Progress {
            banner: &self.banner,
            pos,
            size: self.has_size.then_some(self.size),
            shows_pos: !(self.has_size && self.sizes.is_empty()),
            is_done: self.is_last(),
            is_stalled: wait.sec() >= STALL_S,
            elapsed_s: (now - self.times.begin - self.times.stalled).as_secs_f64(),
        }
    }

    /// Draws the bar a last time.
    fn complete(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_running() {
            return;
        }
        self.stage = if self.stage == Stage::First { Stage::FirstAndDone } else { Stage::Done };
        if let Some(timer) = self.timer {
            ctx.unschedule_timer(timer);
            self.run_timer(ctx, timer);
        }
    }
}

/// The full names of the handlers in a text, which must be readable.
fn all_readable(ctx: &Ctx<'_>, text: &str) -> Result<Vec<String>, String> {
    args::split_words(text).iter().map(|word| readable(ctx, word)).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn handlers_tell_and_set_what_is_drawn() {
        check_reading(
            "c :: Counter; Idle -> c -> Discard;
            x :: { p :: ProgressBar(c.count c.byte_count, BANNER \"a  b\", FIXED_SIZE 2.5, ACTIVE false); c :: Counter; Idle -> c -> Discard };
            Script(read x/p.poshandler, read x/p.sizehandler, read x/p.size, read x/p.banner, read x/p.active,
                write x/p.poshandler c.nothing, write x/p.poshandler 'c.count', write x/p.sizehandler c.byte_count /c.count,
                write x/p.size 7, write x/p.size x, write x/p.active x, write x/p.banner  b , write x/p.mark_done, write x/p.mark_stopped)",
            &["x/p.poshandler", "x/p.sizehandler", "x/p.size", "x/p.banner", "x/p.handlers"],
            expect![[r#"
                x/p.poshandler:
                x/c.count x/c.byte_count
                x/p.sizehandler:

                x/p.size:
                2.5
                x/p.banner:
                a  b
                x/p.active:
                false
                While executing 'Script@5 :: Script':
                  While calling 'x/p.poshandler c.nothing':
                    no 'x/c.nothing' read handler
                  While calling 'x/p.sizehandler c.byte_count /c.count':
                    no element named '/c'
                  While calling 'x/p.size x':
                    expected real number
                  While calling 'x/p.active x':
                    type mismatch
                x/p.poshandler: x/c.count
                x/p.sizehandler: 
                x/p.size: 7
                x/p.banner: b
                x/p.handlers: reset	wb
                size	rw
                pos	r
                sizehandler	rw
                poshandler	rw
                banner	rw%
                active	rwc
                mark_done	w
                mark_stopped	w
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_when_the_graph_starts() {
        let check = |config: &str, expect: expect_test::Expect| check_reading(config, &[], expect);
        check(
            "ProgressBar",
            expect![[r#"
            config:1: While initializing 'ProgressBar@1 :: ProgressBar':
              POSHANDLER: required argument missing
            Router could not be initialized!
        "#]],
        );
        check(
            "ProgressBar(c.count, c.nothing, UPDATE x, ACTIVE y); c :: Counter; Idle -> c -> Discard",
            expect![[r#"
            config:1: While initializing 'ProgressBar@1 :: ProgressBar':
              UPDATE: parse error
            Router could not be initialized!
        "#]],
        );
        check(
            "ProgressBar(c.count, c.nothing nobody.x); c :: Counter; Idle -> c -> Discard",
            expect![[r#"
            config:1: While initializing 'ProgressBar@1 :: ProgressBar':
              c.nothing: unknown argument
            Router could not be initialized!
        "#]],
        );
        check(
            "ProgressBar(x, a, b)",
            expect![[r#"
            config:1: While initializing 'ProgressBar@1 :: ProgressBar':
              too many arguments
            Router could not be initialized!
        "#]],
        );
    }
}
