//! Running a script, step by step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use args::{next_word, timestamp, unquote, unquote_text};
use element::{Ctx, HandlerUse};

use super::expand::{expand, expand_quoted, Reference};
use super::print::{print_to, split_redirection};
use super::program::{Op, Step, Target};
use super::report::Report;
use super::state::State;

/// Jumps without a pause after which a script is taken to be in an endless loop.
const MAX_JUMPS: usize = 1000;
/// What a failed write handler returns.
const WRITE_FAILED: i32 = -22;

/// Why a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Its `step` handler was called.
    Step,
    /// The driver is about to stop.
    Driver,
    /// Its timer expired.
    Timer,
    /// It was started at some instruction.
    Jump,
}

/// How a run of a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended, returned or waits.
    Fine,
    /// It asked the driver to stop.
    Stopped,
    /// It ended with an error.
    Failed,
}

/// What to do after an instruction.
enum Next {
    /// The next instruction.
    Go,
    /// Nothing: the script waits, or returns.
    Wait,
    /// Nothing: the script is over.
    Over,
}

/// Runs a script. The state is shared, as a script may call its own handlers while it runs.
#[derive(Clone)]
pub struct Runner(Arc<Mutex<State>>);

impl Runner {
    /// A runner of a script.
    pub fn new(state: State) -> Runner {
        Runner(Arc::new(Mutex::new(state)))
    }

    /// The state, not to be held while another element or handler is called.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs until the script waits for more than `n_steps` steps or ends; gives the number of jumps, counting on from
    /// `n_jumps`.
    pub fn run(
        &self,
        ctx: &mut Ctx<'_>,
        n_steps: i64,
        how: How,
        mut n_jumps: usize,
        report: &mut Report,
    ) -> usize {
        let limit = self.state().n_steps.saturating_add(n_steps);
        while n_jumps < MAX_JUMPS {
            let (position, step) = {
                let mut state = self.state();
                let Some(step) = state.current().filter(|_| limit >= state.n_steps).cloned() else { break };
                // Instructions may call `goto` of this script, so what follows is settled before they run.
                state.position += 1;
                (state.position - 1, step)
            };
            match self.run_step(ctx, position, &step, limit, how, report) {
                Next::Go => {}
                Next::Wait => break,
                Next::Over => return n_jumps + 1,
            }
            if self.state().position != position + 1 {
                n_jumps += 1;
            }
        }
        if n_jumps >= MAX_JUMPS {
            self.give_up(ctx);
        }
        if how == How::Driver {
            ctx.runtime().adjust_runcount(1);
        }
        n_jumps + 1
    }

    /// What has become of the script after a run, and what it returns.
    pub fn outcome(&self) -> (Outcome, Option<Op>, String) {
        let state = self.state();
        let last = state.current().map(|step| match (step.op, step.target) {
            (Op::Goto, Target::Finish(op)) => op,
            (op, _) => op,
        });
        let returned = match last {
            Some(Op::Return | Op::ReturnUnquoted) => state.returned(),
            Some(Op::End) if state.kind == super::program::Kind::Packet => "0".to_string(),
            _ => String::new(),
        };
        let outcome = match last {
            Some(Op::Error | Op::ErrorUnquoted) => Outcome::Failed,
            Some(Op::Stop) => Outcome::Stopped,
            _ => Outcome::Fine,
        };
        (outcome, last, returned)
    }

    /// Sets the variables that are set once, before the script starts.
    pub fn initialize(&self, ctx: &mut Ctx<'_>, report: &mut Report) {
        let steps = self.state().program.steps.clone();
        for step in steps {
            let is_unquoted = match step.op {
                Op::Init | Op::Export => false,
                Op::InitUnquoted | Op::ExportUnquoted => true,
                _ => continue,
            };
            self.assign(ctx, &step, is_unquoted, report);
        }
    }

    /// Replaces the references in a text.
    pub fn expand(&self, ctx: &mut Ctx<'_>, text: &str, report: &mut Report) -> String {
        expand(text, &mut |name, kind| self.look_up(ctx, name, kind, report))
    }

    /// Schedules the timer as a `wait` says.
    pub fn schedule_wait(&self, ctx: &mut Ctx<'_>, text: &str, report: &mut Report) -> bool {
        let text = self.expand(ctx, text, report);
        let (Ok(delay), Some(timer)) = (timestamp(&text), self.state().timer) else {
            report.error(ctx, "syntax error at 'wait'");
            return false;
        };
        ctx.schedule_after(timer, delay.as_nanos());
        true
    }

    fn give_up(&self, ctx: &mut Ctx<'_>) {
        let declaration = format!("{} :: {}", ctx.own_name(), ctx.class(ctx.element));
        ctx.chatter(&format!("{declaration}: too many jumps, giving up"));
        let timer = {
            let mut state = self.state();
            state.position = state.program.steps.len();
            state.timer
        };
        if let Some(timer) = timer {
            ctx.unschedule_timer(timer);
        }
    }

    fn step_back(&self) {
        let mut state = self.state();
        state.position = state.position.saturating_sub(1);
    }

    fn run_step(
        &self,
        ctx: &mut Ctx<'_>,
        position: usize,
        step: &Step,
        limit: i64,
        how: How,
        report: &mut Report,
    ) -> Next {
        match step.op {
            Op::Stop => {
                self.state().n_steps += 1;
                self.step_back();
                if how != How::Driver {
                    ctx.stop();
                }
                return Next::Over;
            }
            Op::Pause => return self.pause(position, limit),
            Op::Wait => return self.wait(ctx, step, limit, report),
            Op::Initial => self.begin(position),
            Op::Save | Op::Append => self.save(ctx, position, step, report),
            Op::Print | Op::PrintUnquoted | Op::PrintBare | Op::PrintBareUnquoted => {
                self.print(ctx, step.op, &step.text, report);
            }
            Op::Read | Op::ReadUnquoted => self.read(ctx, step, report),
            Op::Write | Op::WriteUnquoted => self.write(ctx, step, report),
            Op::Set => self.assign(ctx, step, false, report),
            Op::SetUnquoted => self.assign(ctx, step, true, report),
            Op::Return | Op::ReturnUnquoted => {
                self.assign(ctx, step, step.op == Op::ReturnUnquoted, report);
                if self.state().position == position + 1 {
                    self.step_back();
                    return Next::Wait;
                }
            }
            Op::Goto => return self.goto(ctx, position, step, report),
            Op::Error | Op::ErrorUnquoted => {
                let message = self.expand(ctx, &step.text, report);
                let is_unquoted = step.op == Op::ErrorUnquoted;
                let message = if is_unquoted { unquote_text(&message) } else { message };
                if !message.is_empty() {
                    report.error(ctx, &message);
                }
                self.step_back();
                return Next::Over;
            }
            Op::End | Op::Exit => {
                self.step_back();
                return Next::Over;
            }
            Op::Label | Op::Init | Op::InitUnquoted | Op::Export | Op::ExportUnquoted => {}
        }
        Next::Go
    }

    fn begin(&self, position: usize) {
        let mut state = self.state();
        if let Some(step) = state.program.steps.get_mut(position) {
            let is_first = std::mem::replace(&mut step.n_steps, 0) > 0;
            state.n_steps += i64::from(is_first);
        }
    }

    fn pause(&self, position: usize, limit: i64) -> Next {
        let mut state = self.state();
        let available = limit.saturating_sub(state.n_steps).max(0);
        let Some(step) = state.program.steps.get_mut(position) else { return Next::Go };
        let missing = step.n_steps.saturating_sub(step.n_taken);
        let taken = u32::try_from(available).unwrap_or(u32::MAX).min(missing);
        step.n_taken += taken;
        state.n_steps += i64::from(taken);
        if taken < missing {
            state.position = state.position.saturating_sub(1);
            return Next::Wait;
        }
        Next::Go
    }

    fn wait(&self, ctx: &mut Ctx<'_>, step: &Step, limit: i64, report: &mut Report) -> Next {
        if self.state().n_steps == limit {
            if self.schedule_wait(ctx, &step.text, report) {
                self.step_back();
            }
            return Next::Wait;
        }
        let timer = {
            let mut state = self.state();
            state.n_steps += 1;
            state.timer
        };
        if let Some(timer) = timer {
            ctx.unschedule_timer(timer);
        }
        Next::Go
    }

    fn goto(&self, ctx: &mut Ctx<'_>, position: usize, step: &Step, report: &mut Report) -> Next {
        let condition = self.expand(ctx, &step.text, report);
        let holds = match condition.as_str() {
            "" => true,
            text => match args::boolean(text) {
                Ok(holds) => holds,
                Err(_) => {
                    report.error(ctx, &format!("bad condition '{text}'"));
                    false
                }
            },
        };
        match step.target {
            _ if !holds => Next::Go,
            Target::Finish(_) => {
                self.step_back();
                Next::Over
            }
            Target::Step(target) => {
                let mut state = self.state();
                state.rewind(target, position);
                state.position = target;
                Next::Go
            }
        }
    }

    fn assign(&self, ctx: &mut Ctx<'_>, step: &Step, is_unquoted: bool, report: &mut Report) {
        let value = self.expand(ctx, &step.text, report);
        let value = if is_unquoted { unquote_text(&value) } else { value };
        self.state().set(step.variable, value);
    }

    /// `save` and `append` are `print` with the file behind the handler; the first run turns them into that.
    fn save(&self, ctx: &mut Ctx<'_>, position: usize, step: &Step, report: &mut Report) {
        let mut text = step.text.clone();
        if !text.starts_with('>') {
            let (word, file) = next_word(&step.text);
            let file = if file.is_empty() { "-" } else { file };
            let arrow = if step.op == Op::Save { ">" } else { ">>" };
            text = format!("{arrow}{file} {word}");
            if let Some(step) = self.state().program.steps.get_mut(position) {
                step.text = text.clone();
            }
        }
        self.print(ctx, Op::Print, &text, report);
    }

    fn print(&self, ctx: &mut Ctx<'_>, op: Op, text: &str, report: &mut Report) {
        let (file, text) = split_redirection(text);
        let before = report.n_errors();
        let is_unquoted = matches!(op, Op::PrintUnquoted | Op::PrintBareUnquoted);
        let is_handler = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@' || c == '_');
        let mut target = match file.open() {
            Ok(target) => target,
            Err(message) => return report.error(ctx, &message),
        };
        let mut result = if is_handler {
            let call = self.expand(ctx, text, report);
            self.call_read(ctx, &call, is_unquoted, report).map_or(Vec::new(), |(_, text)| text.into_bytes())
        } else {
            unquote(&expand_quoted(text, &mut |name, kind| self.look_up(ctx, name, kind, report)))
        };
        let is_bare = matches!(op, Op::PrintBare | Op::PrintBareUnquoted);
        if report.n_errors() == before && !result.ends_with(b"\n") && !is_bare {
            result.push(b'\n');
        }
        print_to(&mut target, &result);
    }

    fn read(&self, ctx: &mut Ctx<'_>, step: &Step, report: &mut Report) {
        let call = self.expand(ctx, &step.text, report);
        if let Some((name, text)) = self.call_read(ctx, &call, step.op == Op::ReadUnquoted, report) {
            ctx.chatter(&format!("{name}:\n{text}"));
        }
    }

    /// Calls a read handler: its full name and what it says, or `None` if there is no such handler.
    fn call_read(
        &self,
        ctx: &mut Ctx<'_>,
        call: &str,
        is_unquoted: bool,
        report: &mut Report,
    ) -> Option<(String, String)> {
        let (handler, value) = self.call_parts(ctx, call, is_unquoted, report)?;
        match ctx.check_handler(&handler, HandlerUse::Read(&value)) {
            Err(message) => {
                report.error(ctx, &message);
                None
            }
            Ok(name) => {
                report.enter(format!("While calling '{}':", with_value(&name, &value)));
                let text = read_handler(ctx, &handler, &value, report);
                report.leave();
                Some((name, text))
            }
        }
    }

    fn write(&self, ctx: &mut Ctx<'_>, step: &Step, report: &mut Report) {
        let call = self.expand(ctx, &step.text, report);
        let is_unquoted = step.op == Op::WriteUnquoted;
        let Some((handler, value)) = self.call_parts(ctx, &call, is_unquoted, report) else { return };
        match ctx.check_handler(&handler, HandlerUse::Write) {
            Err(message) => report.error(ctx, &message),
            Ok(name) => {
                report.enter(format!("While calling '{}':", with_value(&name, &value)));
                let (result, told) = ctx.hear(|ctx| ctx.write_handler(&handler, &value));
                report.errors(ctx, &told);
                let status = match result {
                    Ok(()) => 0,
                    Err(message) => {
                        report.error(ctx, &message);
                        failure(ctx, &name)
                    }
                };
                report.leave();
                self.state().write_status = status;
            }
        }
    }

    /// Splits a call into the name of the handler and its value.
    fn call_parts(
        &self,
        ctx: &mut Ctx<'_>,
        call: &str,
        is_unquoted: bool,
        report: &mut Report,
    ) -> Option<(String, String)> {
        let (name, value) = next_word(call);
        let Some(name) = args::string(name).ok().filter(|name| !name.is_empty()) else {
            report.error(ctx, "syntax error");
            return None;
        };
        Some((name, if is_unquoted { unquote_text(value) } else { value.to_string() }))
    }

    fn look_up(&self, ctx: &mut Ctx<'_>, name: &str, kind: Reference, report: &mut Report) -> Option<String> {
        if kind == Reference::Variable {
            return self.state().variable(name);
        }
        let (handler, value) = self.call_parts(ctx, name, false, report)?;
        if let Err(message) = ctx.check_handler(&handler, HandlerUse::Read(&value)) {
            report.error(ctx, &message);
            return None;
        }
        Some(read_handler(ctx, &handler, &value, report))
    }
}

/// Reads a handler that is known to exist; what goes wrong in it is reported.
fn read_handler(ctx: &mut Ctx<'_>, handler: &str, value: &str, report: &mut Report) -> String {
    let (result, told) = ctx.hear(|ctx| ctx.read_handler(handler, value));
    report.errors(ctx, &told);
    result.unwrap_or_else(|message| {
        report.error(ctx, &message);
        String::new()
    })
}

fn with_value(name: &str, value: &str) -> String {
    match value {
        "" => name.to_string(),
        _ => format!("{name} {value}"),
    }
}

/// What a failed write handler returns: scripts have their own number.
fn failure(ctx: &Ctx<'_>, name: &str) -> i32 {
    let element = name.split_once('.').and_then(|(element, _)| ctx.find(element));
    match element.map(|idx| ctx.class(idx)) {
        Some("Script" | "DriverManager") => -1,
        _ => WRITE_FAILED,
    }
}
