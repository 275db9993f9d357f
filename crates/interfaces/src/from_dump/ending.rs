//! What FromDump tells at the end of the capture.

use element::{Ctx, Element, HandlerCall};

use super::FromDump;

/// What is told at the end.
#[derive(Clone)]
pub(super) enum EndCall {
    Stop,
    Deactivate,
    Handler(HandlerCall),
}

impl FromDump {
    /// Writes the handler of the end.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, is_quiet: bool) {
        let result = match self.end_call.clone() {
            None => return,
            Some(EndCall::Stop) => self.write(ctx, "stop", ""),
            Some(EndCall::Deactivate) => self.write(ctx, "active", "false"),
            Some(EndCall::Handler(call)) => match call.name.rsplit_once('.') {
                Some((element, handler)) if ctx.find(element) == Some(ctx.element) => {
                    self.write(ctx, handler, &call.value)
                }
                _ if is_quiet => return ctx.call_later(call),
                _ => return ctx.call_later_and_tell(call),
            },
        };
        if let Err(message) = result.as_ref().map_err(String::as_str) {
            if !is_quiet {
                ctx.chatter(message);
            }
        }
    }
}
