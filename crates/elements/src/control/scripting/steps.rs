//! Running a script, step by step.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use args::{timestamp, unquote_text};
use element::Ctx;

use super::program::{Op, Step, Target};
use super::report::Report;
use super::state::State;

/// Jumps without a pause after which a script is taken to be in an endless loop.
const MAX_JUMPS: usize = 1000;
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
        let mut state = self.state();
        let limit = state.n_steps.saturating_add(n_steps);
        while n_jumps < MAX_JUMPS {
            let Some(step) = state.current().filter(|_| limit >= state.n_steps).cloned() else { break };
            // Instructions may call `goto` of this script, so what follows is settled before they run.
            let position = state.position;
            state.position += 1;
            drop(state);
            let next = self.run_step(ctx, position, &step, limit, how, report);
            state = self.state();
            match next {
                Next::Go => {}
                Next::Wait => break,
                Next::Over => return n_jumps + 1,
            }
            if state.position != position + 1 {
                n_jumps += 1;
            }
        }
        drop(state);
        if n_jumps >= MAX_JUMPS {
            self.give_up(ctx);
        }
        if how == How::Driver {
            ctx.runtime().adjust_runcount(1);
        }
        n_jumps + 1
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
        ctx.chatter(&format!("{}: too many jumps, giving up", ctx.own_declaration()));
        element::failure::note();
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
}
