//! Stops the driver when one of some elements has nothing to do any more.
//!
//! Looks every 10 ms whether the tasks of all the ELEMENTs are scheduled.
//!
//! ```click
//! InfiniteSource(LIMIT 1000) -> q :: Queue -> u :: Unqueue -> Discard;
//! QuitWatcher(u);
//! ```

use element::{Arg, Class, Configure, Ctx, Element, Failed, HandlerCall, HandlerUse, TimerId};

/// The class.
pub const CLASS: Class = Class::new::<QuitWatcher>("QuitWatcher", "0/0", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[Arg::rest("ELEMENT", "element", "An element with a task.")];

const INTERVAL_NS: i64 = 10_000_000;

/// See the page above.
pub struct QuitWatcher {
    /// Handlers that tell whether tasks are scheduled.
    handlers: Vec<String>,
}

impl Element for QuitWatcher {
    fn configure(conf: &mut Configure<'_>) -> Result<QuitWatcher, Failed> {
        let handlers = conf.args.rest().iter().map(|element| format!("{element}.scheduled")).collect();
        conf.finish()?;
        Ok(QuitWatcher { handlers })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let mut errors = Vec::new();
        for handler in &mut self.handlers {
            match readable(ctx, handler) {
                Ok(full_name) => *handler = full_name,
                Err(message) => errors.push(message),
            }
        }
        tell_all(ctx, errors)?;
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, INTERVAL_NS);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        for handler in &self.handlers {
            let text = ctx.read_handler(handler, "").unwrap_or_default();
            if text.is_empty() || text.starts_with('f') {
                ctx.stop();
                return;
            }
        }
        ctx.schedule_after(timer, INTERVAL_NS);
    }
}

/// The full name of the handler that a text names, which must be readable. The element is called by its name, not by its number.
pub(super) fn readable(ctx: &Ctx<'_>, text: &str) -> Result<String, String> {
    let call = HandlerCall::parse(text)?;
    call.check_element(|element| ctx.find(element).is_some())?;
    ctx.check_handler(&call.name, HandlerUse::Read(&call.value))
}

/// Fails with these errors, if there are any.
pub(super) fn tell_all(ctx: &mut Ctx<'_>, mut errors: Vec<String>) -> Result<(), String> {
    let Some(last) = errors.pop() else { return Ok(()) };
    errors.iter().for_each(|message| ctx.tell(message));
    Err(last)
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_driver_stops_when_a_task_rests() {
        check_reading(
            "i :: InfiniteSource(LIMIT 5) -> Discard; TimedSource(0.003) -> t :: Counter -> Discard; QuitWatcher(i)",
            &["i.count", "t.count"],
            expect![[r#"
                i.count: 5
                t.count: 3
            "#]],
        );
    }

    #[test]
    fn elements_without_tasks_are_told_of() {
        check(
            "QuitWatcher(nobody, c, 'a b', d, , 1); Idle -> c :: Counter -> d :: Discard",
            expect![[r#"
                config:1: While initializing 'QuitWatcher@1 :: QuitWatcher':
                  no element named 'nobody'
                  no 'c.scheduled' read handler
                  no element named 'a b'
                  no 'd.scheduled' read handler
                  no 'scheduled' read handler
                  no element named '1'
                Router could not be initialized!
            "#]],
        );
    }
}
