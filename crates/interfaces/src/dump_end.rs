//! What sources of captures tell at the end.

use element::{Ctx, Element, HandlerCall};

/// What is told at the end of a capture.
#[derive(Clone)]
pub enum EndCall {
    /// The source stops the driver.
    Stop,
    /// The source becomes inactive.
    Deactivate,
    /// A handler is written.
    Handler(HandlerCall),
}

impl EndCall {
    /// Writes the handler of the end for `source`, which calls this.
    pub fn write(self, ctx: &mut Ctx<'_>, source: &mut dyn Element, is_quiet: bool) {
        let result = match self {
            EndCall::Stop => source.write(ctx, "stop", ""),
            EndCall::Deactivate => source.write(ctx, "active", "false"),
            EndCall::Handler(call) => match call.name.rsplit_once('.') {
                Some((element, handler)) if ctx.find(element) == Some(ctx.element) => {
                    source.write(ctx, handler, &call.value)
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
