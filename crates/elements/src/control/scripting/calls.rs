//! What scripts call and print: handlers, variables, files.

use args::{next_word, unquote, unquote_text};
use element::{Ctx, HandlerUse};

use super::entry::{NO_LABEL, NO_STEPS};
use super::expand::{expand, expand_quoted, Reference};
use super::print::{print_to, split_redirection};
use super::program::{Op, Step};
use super::report::Report;
use super::steps::Runner;

impl Runner {
    /// Replaces the references in a text.
    pub fn expand(&self, ctx: &mut Ctx<'_>, text: &str, report: &mut Report) -> String {
        expand(text, &mut |name, kind| self.look_up(ctx, name, kind, report))
    }

    pub(super) fn assign(&self, ctx: &mut Ctx<'_>, step: &Step, is_unquoted: bool, report: &mut Report) {
        let value = self.expand(ctx, &step.text, report);
        let value = if is_unquoted { unquote_text(&value) } else { value };
        self.state().set(step.variable, value);
    }

    /// `save` and `append` are `print` with the file behind the handler. As in Click, each run turns the step's text
    /// round: the second run takes the first one's file, arrow included, for the handler, and the handler's name for
    /// the file.
    pub(super) fn save(&self, ctx: &mut Ctx<'_>, position: usize, step: &Step, report: &mut Report) {
        let (word, file) = next_word(&step.text);
        let file = if file.is_empty() { "-" } else { file };
        let arrow = if step.op == Op::Save { ">" } else { ">>" };
        let text = format!("{arrow}{file} {word}");
        if let Some(step) = self.state().program.steps.get_mut(position) {
            step.text = text.as_str().into();
        }
        self.print(ctx, Op::Print, &text, report);
    }

    pub(super) fn print(&self, ctx: &mut Ctx<'_>, op: Op, text: &str, report: &mut Report) {
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

    pub(super) fn read(&self, ctx: &mut Ctx<'_>, step: &Step, report: &mut Report) {
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

    pub(super) fn write(&self, ctx: &mut Ctx<'_>, step: &Step, report: &mut Report) {
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
                        failure(ctx, &handler, &name, &message)
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

/// What a write handler returns that failed with this message: a script that ended with an error has its own number, not one
/// that did not begin.
fn failure(ctx: &Ctx<'_>, handler: &str, name: &str, message: &str) -> i32 {
    let (element, own) = name.rsplit_once('.').unwrap_or_default();
    let runs = match own {
        "set" => false,
        "goto" => message != NO_LABEL,
        "step" => message != NO_STEPS,
        _ => true,
    };
    match ctx.find(element).map(|idx| ctx.class(idx)) {
        Some("Script" | "DriverManager") if runs => -1,
        _ => ctx.refusal(handler, message),
    }
}
