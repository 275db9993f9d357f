//! Pulls packets and pushes them on while there is room downstream.
//!
//! As `Unqueue`, which should be preferred. Each time it is scheduled it moves no more packets than have room in each of the
//! queues in QUEUES, by default the nearest downstream.
//!
//! ```click
//! InfiniteSource -> Queue -> Unqueue2(4, QUIET true) -> Queue(8) -> Idle;
//! ```

use element::{
    handlers, same, Arg, Causes, Class, Configure, Ctx, Element, ElementIdx, Failed, Handler, Signal, TaskId,
};

use super::neighbours::{nearest, Towards};
use super::queue::Queue;

/// The class.
pub const CLASS: Class = Class::new::<Unqueue2>("Unqueue2", "1/1", "l/h", "x/x")
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .looks_around();

const ARGS: &[Arg] = &[
    Arg::optional(
        "BURST",
        "int",
        "Most packets to move each time scheduled; 0 is no limit. Default what `--burst` says, 1 with `weir click`.",
    ),
    Arg::keyword("QUEUES", "names", "The queues whose room matters. Default the nearest downstream."),
    Arg::keyword("QUIET", "bool", "Whether not to say that the class is old. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("packets", "Packets moved."),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// The classes of queues.
const QUEUES: &[&str] = &[
    "Queue",
    "SimpleQueue",
    "NotifierQueue",
    "FullNoteQueue",
    "QuickNoteQueue",
    "MixedQueue",
    "FrontDropQueue",
    "ThreadSafeQueue",
];

/// See the page above.
pub struct Unqueue2 {
    burst: i32,
    /// Names that were given.
    queues: Option<Vec<ElementIdx>>,
    count: u32,
    run: Run,
    task: Option<TaskId>,
    signal: Signal,
}

/// A run of the task.
#[derive(Clone, Copy, Default)]
struct Run {
    /// Packets that may still be moved.
    left: usize,
    at_once: usize,
    n_moved: usize,
    /// Whether there were no more packets.
    is_empty: bool,
}

impl Element for Unqueue2 {
    fn configure(conf: &mut Configure<'_>) -> Result<Unqueue2, Failed> {
        let burst = conf.args.get_or("BURST", conf.environment.default_burst() as i32);
        let names: Option<args::Raw> = conf.args.get("QUEUES");
        let is_quiet = conf.args.get_or("QUIET", false);
        conf.finish()?;
        let mut queues = names.is_some().then(Vec::new);
        for name in args::split_words(&names.unwrap_or_default().0) {
            let queue = conf.element_called(&name, QUEUES).map_err(|_| "bad QUEUES")?;
            queues.get_or_insert_default().push(queue);
        }
        if !is_quiet {
            conf.note("Unqueue2 is deprecated, you should probably use Unqueue");
        }
        conf.finish()?;
        let burst = if burst == 0 { i32::MAX } else { burst };
        Ok(Unqueue2 { burst, queues, count: 0, run: Run::default(), task: None, signal: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.queues.is_none() {
            let is_queue = |ctx: &mut Ctx<'_>, idx| ctx.with(idx, |_: &mut Queue, _| ()).is_some();
            self.queues = Some(nearest(ctx, Towards::Outputs, 0, is_queue));
        }
        let puller = ctx.new_puller(0);
        (self.task, self.signal) = (Some(puller.task), puller.signal);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        let left = self.limit(ctx);
        self.run = Run { left, at_once: ctx.at_once(left, Causes::NOTHING), ..Run::default() };
        self.go_on(ctx)
    }

    /// Moves as many packets as may move at a time, and goes on behind them.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let wanted = self.run.left.min(self.run.at_once);
        if wanted > 0 && !self.run.is_empty {
            let batch = ctx.pull(0, wanted);
            let n = batch.len();
            self.count = self.count.wrapping_add(n as u32);
            self.run.left -= n;
            self.run.n_moved += n;
            self.run.is_empty = n < wanted;
            if n > 0 {
                ctx.emit(0, batch);
                ctx.go_on_later();
                return true;
            }
        }
        if let Some(task) = self.task.filter(|_| !self.run.is_empty || ctx.is_active(&self.signal)) {
            ctx.schedule(task);
        }
        self.run.n_moved > 0
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "packets" => Ok(format!("{} packets\n", self.count)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Unqueue2>(ctx, old) else { return };
        self.count = old.count;
    }
}

impl Unqueue2 {
    /// How many packets may be moved now.
    fn limit(&self, ctx: &mut Ctx<'_>) -> usize {
        // A negative burst is none, unless there is a queue.
        let mut limit = usize::try_from(self.burst).ok();
        for queue in self.queues.iter().flatten() {
            let room = ctx.with(*queue, |queue: &mut Queue, _| queue.space()).unwrap_or(0);
            limit = Some(limit.map_or(room, |limit| limit.min(room)));
        }
        limit.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_move_while_there_is_room() {
        check_reading(
            "RatedSource(RATE 100, LIMIT 20) -> Queue -> u :: Unqueue2(4) -> Null -> q :: Queue(6) -> Idle;
            InfiniteSource(LIMIT 20) -> Queue -> v :: Unqueue2(0, QUEUES p, QUIET true) -> r :: Queue(6) -> Idle;
            Idle -> p :: Queue(3) -> Idle;",
            &["u.packets", "q.drops", "v.packets", "r.drops"],
            expect![[r#"
                config:1: While configuring 'u :: Unqueue2':
                  Unqueue2 is deprecated, you should probably use Unqueue
                r :: Queue: overflow
                u.packets: 6 packets

                q.drops: 0
                v.packets: 20 packets

                r.drops: 14
            "#]],
        );
    }

    #[test]
    fn what_is_no_queue_is_told() {
        check_reading(
            "d :: Discard; Idle -> d; Idle -> Unqueue2(QUEUES d) -> Idle; Idle -> Unqueue2(QUEUES x) -> Idle",
            &[],
            expect![[r#"
                config:1: While configuring 'Unqueue2@4 :: Unqueue2':
                  bad QUEUES
                config:1: While configuring 'Unqueue2@7 :: Unqueue2':
                  bad QUEUES
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn superfluous_arguments_are_all_that_is_told() {
        check_reading(
            "Idle -> Unqueue2(4, true) -> Idle",
            &[],
            expect![[r#"
                config:1: While configuring 'Unqueue2@2 :: Unqueue2':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn what_its_packets_cause_to_be_called_may_ask_it() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> q :: Queue -> u :: Unqueue2(3, QUIET true) -> Counter(COUNT_CALL 2 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read u.packets, read u.scheduled, read q.length);
             DriverManager(wait 1, stop)",
            &["u.packets"],
            expect![[r#"
                u.packets:
                2 packets

                u.scheduled:
                false
                q.length:
                0
                u.packets: 6 packets

            "#]],
        );
    }
}
