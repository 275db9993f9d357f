//! Answering commands.

use element::{split_notes, ChangeOutcome, Ctx, ElementIdx, LlrpcError, TOP};

use super::command::Command;
use super::connection::Connection;
use super::reply::{Code, Reply};
use crate::control::control_socket::ControlSocket;

const HELP: &[&str] = &[
    "Commands supported:",
    "READ handler [arg...]   call read handler, return DATA",
    "READDATA handler len    call read handler with len data bytes, return DATA",
    "READUNTIL handler term  call read handler, take data until term, return DATA",
    "WRITE handler [arg...]  call write handler",
    "WRITEDATA handler len   call write handler, pass len data bytes",
    "WRITEUNTIL handler term call write handler, take data until term",
    "CHECKREAD handler       check if read handler is valid",
    "CHECKWRITE handler      check if write handler is valid",
    "LLRPC elt#number [len]  call LLRPC, pass len data bytes, return DATA",
    "QUIT                    close connection",
];

/// A write handler was called that changes the graph, and its client waits for the outcome.
pub(super) struct Waiting {
    handler: String,
    told: Vec<String>,
    outcome: ChangeOutcome,
}

impl Waiting {
    /// The reply, if the change has been tried.
    pub fn reply(&self) -> Option<Reply> {
        let result = self.outcome.get()?.clone();
        Some(self.reply_with(result))
    }

    /// The reply if this element goes because of the change, which can only be one that was made.
    pub fn last_reply(&self) -> Reply {
        self.reply().unwrap_or_else(|| self.reply_with(Ok(Vec::new())))
    }

    fn reply_with(&self, result: Result<Vec<String>, Vec<String>>) -> Reply {
        let (code, more) = match result {
            // What is told of a change that was made are warnings, with the headings above them.
            Ok(more) => (None, more),
            Err(errors) => (Some(Code::HandlerError), errors),
        };
        let told = [self.told.clone(), more].concat();
        let code = code.unwrap_or(if told.is_empty() { Code::Ok } else { Code::OkWithWarnings });
        written(&self.handler, code, &told)
    }
}

/// The reply to a call of a write handler that told something.
fn written(handler: &str, code: Code, told: &[String]) -> Reply {
    let outcome = match code {
        Code::Ok => "OK",
        Code::OkWithWarnings => "OK with warnings",
        _ => "error",
    };
    Reply::with_messages(code, &format!("Write handler '{handler}' {outcome}"), told)
}

/// A handler that was found: its name for the engine, and how it may be used.
struct Found {
    name: String,
    is_visible: bool,
    is_readable: bool,
    is_writable: bool,
}

impl ControlSocket {
    /// Answers a command.
    pub(crate) fn answer(&self, ctx: &mut Ctx<'_>, connection: &mut Connection, command: Command) {
        let reply = match command {
            Command::Nothing => return,
            Command::Read { handler, param } => (self.read_kernel(ctx, &handler, &param))
                .unwrap_or_else(|| self.read_handler(ctx, &handler, &param)),
            Command::Write { handler, value } => {
                let reply = self.write_kernel(ctx, &handler, &value);
                match reply.or_else(|| self.write_handler(ctx, connection, &handler, &value)) {
                    Some(reply) => reply,
                    None => return,
                }
            }
            Command::Check { handler, write } => (self.check_kernel(ctx, &handler, write))
                .unwrap_or_else(|| self.check_handler(ctx, &handler, write)),
            Command::Llrpc { name, data } => self.llrpc(ctx, &name, &data),
            Command::Help => Reply::lines(Code::Ok, HELP),
            Command::Wrong(reply) => reply,
            Command::TooMuch(reply) => {
                connection.end_input();
                reply
            }
            Command::Quit { is_plain } => {
                connection.end_input();
                let goodbye = Reply::line(Code::Ok, "Goodbye!");
                match is_plain {
                    true => goodbye,
                    false => Reply::line(Code::Syntax, "Bad command syntax").then(goodbye),
                }
            }
        };
        connection.reply(&reply);
    }

    fn find(&self, ctx: &mut Ctx<'_>, text: &str) -> Result<Found, Reply> {
        let canonical = canonical(text);
        let name = match (self.proxy, canonical.split_once('.')) {
            (Some(proxy), _) => format!("{}.{canonical}", ctx.name(proxy)),
            (None, None) => format!(".{canonical}"),
            (None, Some((element, handler))) => {
                let Some(idx) = element_called(ctx, element) else {
                    let message = format!("No element named '{element}'");
                    return Err(Reply::line(Code::NoSuchElement, &message));
                };
                format!("{}.{handler}", ctx.name(idx))
            }
        };
        let runtime = ctx.runtime();
        let (is_readable, writable) = runtime.handler_visible(TOP, &name);
        let (exists_readable, is_writable) = runtime.handler_exists(TOP, &name);
        let is_visible = is_readable || writable;
        let exists = exists_readable || is_writable;
        if exists && (is_visible || self.proxy.is_some()) {
            return Ok(Found { name, is_visible, is_readable, is_writable });
        }
        let what = if self.proxy.is_some() { "proxied handler" } else { "handler" };
        Err(Reply::line(Code::NoSuchHandler, &format!("No {what} named '{text}'")))
    }

    fn read_handler(&self, ctx: &mut Ctx<'_>, handler: &str, param: &str) -> Reply {
        let found = match self.find(ctx, handler) {
            Ok(found) if found.is_readable => found,
            Ok(_) => return Reply::line(Code::Permission, &format!("Handler '{handler}' write-only")),
            Err(reply) => return reply,
        };
        let (result, told) = ctx.hear(|ctx| ctx.runtime().read_handler(TOP, &found.name, param));
        match result {
            Ok(text) if told.is_empty() => {
                Reply::data(&format!("Read handler '{handler}' OK"), text.as_bytes())
            }
            result => {
                let told: Vec<String> = told.into_iter().chain(result.err()).collect();
                Reply::with_messages(Code::Unspecified, &format!("Read handler '{handler}' error"), &told)
            }
        }
    }

    /// Calls a write handler; there is no reply yet if it changes the graph, which happens when no element is busy.
    fn write_handler(
        &self,
        ctx: &mut Ctx<'_>,
        connection: &mut Connection,
        handler: &str,
        value: &str,
    ) -> Option<Reply> {
        let found = match self.find(ctx, handler) {
            Ok(found) if found.is_writable => found,
            Ok(_) => return Some(Reply::line(Code::Permission, &format!("Handler '{handler}' read-only"))),
            Err(reply) => return Some(reply),
        };
        if self.is_read_only {
            return Some(permission_denied(handler));
        }
        let (result, told) = ctx.hear(|ctx| ctx.runtime().write_handler(TOP, &found.name, value));
        let change = if result.is_ok() { ctx.runtime().claim_change() } else { None };
        if let Some(outcome) = change {
            connection.wait(Waiting { handler: handler.to_string(), told, outcome });
            return None;
        }
        let only_warned = result.is_ok() && told.iter().all(|message| is_warning(split_notes(message).1));
        let code = match only_warned {
            true if told.is_empty() => Code::Ok,
            true => Code::OkWithWarnings,
            false => Code::HandlerError,
        };
        let told: Vec<String> = told.into_iter().chain(result.err()).collect();
        Some(written(handler, code, &told))
    }

    fn check_handler(&self, ctx: &mut Ctx<'_>, handler: &str, write: bool) -> Reply {
        let found = match self.find(ctx, handler) {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let way = if write { "Write" } else { "Read" };
        let is_ok = found.is_visible && if write { found.is_writable } else { found.is_readable };
        if write && self.is_read_only && is_ok {
            permission_denied(handler)
        } else if is_ok {
            Reply::line(Code::Ok, &format!("{way} handler '{handler}' OK"))
        } else if found.is_visible {
            let not = if write { "not writable" } else { "not readable" };
            Reply::line(Code::NoSuchHandler, &format!("Handler '{handler}' {not}"))
        } else {
            let way = way.to_ascii_lowercase();
            Reply::line(Code::NoSuchHandler, &format!("No {way} handler named '{handler}'"))
        }
    }

    fn llrpc(&self, ctx: &mut Ctx<'_>, name: &str, data: &[u8]) -> Reply {
        const OUT: u32 = 0x4000_0000;
        const IN: u32 = 0x8000_0000;
        const FLAT: u32 = 0x4000;
        let (element, number) = name.split_once('#').unwrap_or((name, ""));
        let Ok(number) = args::integer_in_base::<u32>(number, 16) else {
            return Reply::line(Code::Syntax, &format!("Syntax error in LLRPC name '{name}'"));
        };
        if let Err(reply) = self.find(ctx, &format!("{element}.name")) {
            return reply;
        }
        let called = element_called(ctx, element).filter(|_| self.proxy.is_none());
        let size = (number >> 16 & 0xFFF) as usize;
        if size == 0 || number & (IN | OUT) == 0 || number & FLAT == 0 {
            return Reply::line(Code::Unimplemented, &format!("Cannot call LLRPC '{name}' remotely"));
        }
        if self.is_read_only {
            return permission_denied(name);
        }
        if number & IN != 0 && data.len() != size {
            let message = format!("LLRPC '{name}' requires {size} bytes input data");
            return Reply::line(Code::LlrpcError, &message);
        }
        let mut answer = if number & IN != 0 { data.to_vec() } else { vec![0; size] };
        let result = match called {
            Some(idx) => ctx.with_any(idx, |element, ctx| element.llrpc(ctx, number, &mut answer)),
            None => Some(Err(LlrpcError::Invalid)),
        };
        match result.unwrap_or(Err(LlrpcError::Busy)) {
            Ok(()) => {
                let answer = if number & OUT != 0 { answer.as_slice() } else { &[] };
                Reply::data(&format!("LLRPC '{name}' OK"), answer)
            }
            Err(error) => Reply::line(Code::LlrpcError, &format!("LLRPC '{name}' error: {}", error.reason())),
        }
    }
}

/// The element with this name, or this number, from 1.
fn element_called(ctx: &mut Ctx<'_>, element: &str) -> Option<ElementIdx> {
    let runtime = ctx.runtime();
    let number = || args::integer::<usize>(element).ok()?.checked_sub(1);
    runtime.find(element, TOP).or_else(number).filter(|n| *n < runtime.n_elements())
}

/// Whether a message is a warning, be it about one argument (`LENGTH: warning: ...`).
fn is_warning(message: &str) -> bool {
    let is_argument = |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let about = message.split_once(": ").filter(|(name, _)| is_argument(name));
    about.map_or(message, |(_, rest)| rest).starts_with("warning: ")
}

pub(super) fn permission_denied(name: &str) -> Reply {
    Reply::line(Code::Permission, &format!("Permission denied for '{name}'"))
}

/// A handler's name without what stands for the graph itself: `.h` and `0.h` are `h`.
pub(super) fn canonical(name: &str) -> &str {
    name.strip_prefix('.').or_else(|| name.strip_prefix("0.")).unwrap_or(name)
}
