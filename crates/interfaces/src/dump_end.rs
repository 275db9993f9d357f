//! What sources of captures tell at the end.

use element::{Ctx, Element, HandlerCall, HandlerUse};

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
    /// Whether it is a handler of another element, or a global one.
    pub fn is_of_another(&self, ctx: &Ctx<'_>) -> bool {
        match self {
            EndCall::Handler(call) => own_handler(ctx, call).is_none(),
            EndCall::Stop | EndCall::Deactivate => false,
        }
    }

    /// Writes the handler of the end for `source`, which calls this; that of another element when the source is free again.
    pub fn write(self, ctx: &mut Ctx<'_>, source: &mut dyn Element, is_quiet: bool) {
        let result = match self {
            EndCall::Stop => source.write(ctx, "stop", ""),
            EndCall::Deactivate => source.write(ctx, "active", "false"),
            EndCall::Handler(call) => match own_handler(ctx, &call) {
                Some(handler) => source.write(ctx, &handler, &call.value),
                None if is_quiet => return ctx.call_later(call),
                None => return ctx.call_later_and_tell(call),
            },
        };
        if let Err(message) = result.as_ref().map_err(String::as_str) {
            if !is_quiet {
                ctx.chatter(message);
            }
        }
    }
}

/// The handler that a call names, if it is one of the element that calls; a name without a dot may be.
fn own_handler(ctx: &Ctx<'_>, call: &HandlerCall) -> Option<String> {
    let name = ctx.check_handler(&call.name, HandlerUse::Write).ok()?;
    let (element, handler) = name.rsplit_once('.')?;
    (ctx.find(element) == Some(ctx.element)).then(|| handler.to_string())
}
