//! How a script is entered: by its handlers, its timer, a signal or the driver.

use element::Ctx;

use super::program::{Kind, Op, Target};
use super::report::Report;
use super::state::Outcome;
use super::steps::{How, Runner};
use crate::control::socket::printable;

/// Why `goto` does not begin.
pub(super) const NO_LABEL: &str = "jump to nonexistent label";
/// Why `step` does not begin.
pub(super) const NO_STEPS: &str = "syntax error";

impl Runner {
    /// After a run: what became of it and what it returned. A signal script that came to its end waits for the next signal.
    pub fn complete(&self, ctx: &mut Ctx<'_>) -> (Outcome, String) {
        let state = self.state();
        let (outcome, last, returned) = state.outcome();
        let awaited = match (&state.kind, last) {
            (Kind::Signal(numbers), Some(Op::End)) => numbers.clone(),
            _ => Vec::new(),
        };
        let returned = returned.to_string();
        drop(state);
        catch(ctx, &awaited);
        (outcome, returned)
    }

    /// Calls `run`, `step`, `goto` or a handler of a proxy.
    pub fn call(
        &self,
        ctx: &mut Ctx<'_>,
        name: &str,
        value: &str,
        is_write: bool,
        report: &mut Report,
    ) -> (Outcome, String) {
        {
            let mut state = self.state();
            state.handler = name.to_string();
            state.is_write = is_write;
        }
        let result = match self.prepare(name, value) {
            Ok((n_steps, how)) => {
                self.run_or_ask(ctx, name, n_steps, how, report);
                self.complete(ctx)
            }
            Err(message) => {
                report.error(ctx, message);
                if name == "goto" {
                    // The script goes on under the name of the handler that failed.
                    return (Outcome::Failed, String::new());
                }
                (Outcome::Failed, String::new())
            }
        };
        let mut state = self.state();
        state.handler.clear();
        state.is_write = false;
        if result.0 != Outcome::Fine {
            state.args.clear();
        }
        result
    }

    /// Moves to where a handler starts the script; gives the number of steps to take.
    fn prepare(&self, name: &str, value: &str) -> Result<(i64, How), &'static str> {
        let mut state = self.state();
        let text = args::uncomment(value);
        match name {
            "goto" => {
                let target = state.program.label(&text);
                let Some(Target::Step(target)) = target else {
                    return Err(NO_LABEL);
                };
                let end = state.program.steps.len();
                state.rewind(target, end);
                state.position = target;
                Ok((0, How::Jump))
            }
            "step" => match text.as_str() {
                "router" => Ok((1, How::Driver)),
                "" => Ok((1, How::Step)),
                text => match args::integer::<i32>(text) {
                    Ok(n_steps) => Ok((n_steps.into(), How::Step)),
                    Err(_) => Err(NO_STEPS),
                },
            },
            _ => {
                state.position = 0;
                state.args = value.to_string();
                Ok((0, How::Jump))
            }
        }
    }

    /// Runs the script, or lets the run that is under way take more steps.
    fn run_or_ask(&self, ctx: &mut Ctx<'_>, name: &str, n_steps: i64, mut how: How, report: &mut Report) {
        {
            let mut state = self.state();
            if let Some(asked) = &mut state.asked {
                if name == "step" {
                    *asked = asked.saturating_add(n_steps);
                }
                return;
            }
            state.asked = Some(n_steps);
        }
        let mut n_jumps = 0;
        loop {
            let asked = self.state().asked.replace(-1);
            let Some(n_steps) = asked.filter(|n| *n >= 0) else { break };
            n_jumps = self.run(ctx, n_steps, how, n_jumps, report);
            how = How::Step;
        }
        self.state().asked = None;
    }

    /// Calls the script for somebody who gets its errors.
    pub fn call_kept(
        &self,
        ctx: &mut Ctx<'_>,
        name: &str,
        value: &str,
        is_write: bool,
    ) -> Result<String, String> {
        let mut report = Report::kept();
        let (outcome, returned) = self.call(ctx, name, value, is_write, &mut report);
        let errors = report.into_kept();
        if outcome == Outcome::Failed {
            return Err(errors.join("\n"));
        }
        if !errors.is_empty() {
            ctx.tell(&errors.join("\n"));
        }
        Ok(returned)
    }

    /// The handlers `get`, `set` and `shift`.
    pub fn variable(&self, handler: &str, text: &str) -> Result<String, String> {
        let (name, value) = args::next_word(text);
        let name = if name.is_empty() && handler == "shift" { "args" } else { name };
        if name.is_empty() {
            return Err("no variable".to_string());
        }
        if !value.is_empty() && handler != "set" {
            return Err("too many arguments".to_string());
        }
        let mut state = self.state();
        let Some(variable) = state.variable_mut(name, handler == "set") else {
            return Err(format!("undefined variable '{}'", printable(name)));
        };
        match handler {
            "get" => Ok(variable.clone()),
            "set" => {
                *variable = value.to_string();
                Ok(String::new())
            }
            _ => {
                let (first, rest) = args::next_word(variable);
                let (first, rest) = (first.to_string(), rest.to_string());
                *variable = rest;
                Ok(first)
            }
        }
    }
}

/// Asks for the next of each signal.
pub fn catch(ctx: &mut Ctx<'_>, numbers: &[i32]) {
    for &signo in numbers {
        // A signal that cannot be caught never comes.
        let _ = ctx.catch_signal(signo);
    }
}
