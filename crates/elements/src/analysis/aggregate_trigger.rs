//! When AggregateCounter writes a handler.

use element::{Ctx, HandlerCall, HandlerUse};

/// A handler to write when a number is reached, once.
pub struct Trigger {
    /// The number.
    pub at: u64,
    /// The handler.
    pub call: HandlerCall,
    /// Its full name, known once it was looked for.
    full_name: String,
}

impl Trigger {
    /// The handler that one of the three arguments asks for; `own` is the element's name.
    pub fn configure(
        own: &str,
        kind: &str,
        freeze: Option<u64>,
        stop: Option<u64>,
        call: &str,
    ) -> Result<Option<Trigger>, String> {
        let own_call = |at, handler: &str, value: &str| {
            let call = HandlerCall { name: format!("{own}.{handler}"), value: value.to_string() };
            Ok(Some(Trigger::new(at, call)))
        };
        match (freeze, stop, call) {
            (None, None, "") => Ok(None),
            (Some(at), None, "") => own_call(at, "freeze", "true"),
            (None, Some(at), "") => own_call(at, "stop", ""),
            (None, None, call) => {
                let (number, call) = args::next_word(call);
                let max = if kind == "COUNT" { u64::MAX } else { u64::from(u32::MAX) };
                let of = if kind == "COUNT" { "count" } else { "number of aggregates" };
                let at = args::bounded_integer(number, 0, max)
                    .map_err(|_| format!("{kind}_CALL first word should be unsigned ({of})"))?;
                let call = HandlerCall::parse(call)
                    .unwrap_or(HandlerCall { name: String::new(), value: String::new() });
                Ok(Some(Trigger::new(at, call)))
            }
            _ => Err(format!("'{kind}_FREEZE', '{kind}_STOP', and '{kind}_CALL' are mutually exclusive")),
        }
    }

    /// What a write to `aggregate_call` or `count_call` asks for.
    pub fn write(ctx: &mut Ctx<'_>, name: &str, text: &str, max: u64) -> Result<Option<Trigger>, String> {
        if text.is_empty() {
            return Ok(None);
        }
        let (number, call) = args::next_word(text);
        let at = args::bounded_integer(number, 0, max)
            .map_err(|_| format!("argument to '{name}' should be 'N HANDLER [VALUE]'"))?;
        let mut trigger = Trigger::new(at, HandlerCall::parse(call)?);
        trigger.check(ctx)?;
        Ok(Some(trigger))
    }

    fn new(at: u64, call: HandlerCall) -> Trigger {
        Trigger { at, call, full_name: String::new() }
    }

    /// Looks for the handler.
    pub fn check(&mut self, ctx: &Ctx<'_>) -> Result<(), String> {
        self.full_name = ctx.check_handler(&self.call.name, HandlerUse::Write)?;
        Ok(())
    }

    /// The number and the call.
    pub fn unparse(&self) -> String {
        format!("{} {} {}", self.at, self.full_name, self.call.value).trim_end().to_string()
    }
}
