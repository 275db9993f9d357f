//! Writes a handler from a task.
//!
//! ```click
//! i :: InfiniteSource(LIMIT 5) -> Discard;
//! HandlerTask(i.reset, RESCHEDULE true);
//! ```

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Arc;

use element::{
    handlers, same, Arg, Class, Configure, Ctx, Element, Failed, Handler, HandlerCall, HandlerKind, TaskId,
};

/// The class.
pub const CLASS: Class =
    Class::new::<HandlerTask>("HandlerTask", "0/0", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("HANDLER", "handler call", "The handler and what is written to it."),
    Arg::keyword("ACTIVE", "bool", "Whether the task is scheduled from the start. Default true."),
    Arg::keyword("RESCHEDULE", "bool", "Whether the task runs again and again. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "How often the task ran."),
    Handler::read_write("reschedule", "Whether the task runs again and again."),
    SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// `scheduled` of a task that is scheduled by writing it; the engine answers.
pub(super) const SCHEDULED: Handler = Handler { kind: HandlerKind::ReadWrite, ..handlers::SCHEDULED };

/// See the page above.
pub struct HandlerTask {
    call: HandlerCall,
    is_active: bool,
    shared: Arc<Shared>,
}

/// What the handler that is written may itself read and write.
struct Shared {
    count: AtomicU32,
    reschedules: AtomicBool,
}

impl Element for HandlerTask {
    fn configure(conf: &mut Configure<'_>) -> Result<HandlerTask, Failed> {
        let call = conf.handler_call("HANDLER");
        let is_active = conf.args.get_or("ACTIVE", true);
        let reschedules = conf.args.get_or("RESCHEDULE", false);
        conf.finish()?;
        let call = call.ok_or("HANDLER: parse error")?;
        let shared = Arc::new(Shared { count: AtomicU32::new(0), reschedules: AtomicBool::new(reschedules) });
        Ok(HandlerTask { call, is_active, shared })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        if self.is_active {
            ctx.schedule(task);
        }
        self.call.check_writable(ctx)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        self.shared.count.fetch_add(1, Ordering::Relaxed);
        if let Err(message) = self.call.write(ctx) {
            ctx.chatter(&message);
        }
        if self.shared.reschedules.load(Ordering::Relaxed) {
            ctx.schedule(task);
        }
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.shared.count.load(Ordering::Relaxed).to_string()),
            "reschedule" => Ok(self.shared.reschedules.load(Ordering::Relaxed).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "reschedule" => {
                let reschedules = args::boolean(value).map_err(|_| "expected boolean")?;
                self.shared.reschedules.store(reschedules, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        let (call, shared) = (self.call.clone(), self.shared.clone());
        Some(Box::new(HandlerTask { call, is_active: self.is_active, shared }))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<HandlerTask>(ctx, old) else { return };
        let count = old.shared.count.load(Ordering::Relaxed);
        self.shared.count.store(count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_handler_is_written_when_the_task_runs() {
        check_reading(
            "h :: HandlerTask(s.run a b); g :: HandlerTask(g.nothing, ACTIVE false);
            f :: HandlerTask(f.reschedule false, RESCHEDULE true);
            e :: HandlerTask(i.limit x); i :: InfiniteSource(ACTIVE false) -> Discard;
            s :: Script(TYPE PASSIVE, print \"$args $(h.count)\");
            DriverManager(wait 1s)",
            &[],
            expect![[r#"
                config:1: While initializing 'g :: HandlerTask':
                  no 'g.nothing' write handler
                Router could not be initialized!
            "#]],
        );
        check_reading(
            "h :: HandlerTask(s.run a b); f :: HandlerTask(f.reschedule false, RESCHEDULE true);
            e :: HandlerTask(i.limit x); i :: InfiniteSource(ACTIVE false) -> Discard;
            s :: Script(TYPE PASSIVE, read h.count);
            DriverManager(wait 1s, write h.scheduled true, wait 1s, write h.reschedule maybe)",
            &["h.count", "f.count", "f.reschedule", "f.handlers"],
            expect![[r#"
                limit parameter must be integer
                h.count:
                1
                h.count:
                2
                While executing 'DriverManager@7 :: DriverManager':
                  While calling 'h.reschedule maybe':
                    expected boolean
                h.count: 2
                f.count: 1
                f.reschedule: false
                f.handlers: tickets	rw
                scheduled	rw
                reschedule	rw
                count	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "HandlerTask; HandlerTask(a.b c); HandlerTask(stop, ACTIVE x, LIMIT 1)",
            &[],
            expect![[r#"
            config:1: While configuring 'HandlerTask@1 :: HandlerTask':
              HANDLER: required argument missing
            config:1: While configuring 'HandlerTask@2 :: HandlerTask':
              HANDLER: no element named 'a'
              HANDLER: parse error
            config:1: While configuring 'HandlerTask@3 :: HandlerTask':
              ACTIVE: parse error
              LIMIT: unknown argument
            Router could not be initialized!
        "#]],
        );
    }
}
