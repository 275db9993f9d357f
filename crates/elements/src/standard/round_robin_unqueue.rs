//! Pulls packets from its inputs in turn and pushes each to the output of the same number.
//!
//! Takes up to BURST packets from one input each time it is scheduled, and goes on to the next input. It keeps running also
//! while its inputs are empty.
//!
//! ```click
//! u :: RoundRobinUnqueue(8);
//! InfiniteSource -> Queue -> [0] u [0] -> Discard;
//! InfiniteSource -> Queue -> [1] u [1] -> Discard;
//! ```

use element::{handlers, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, TaskId};

/// The class.
pub const CLASS: Class = Class::new::<RoundRobinUnqueue>("RoundRobinUnqueue", "-/-", "l/h", "x/x")
    .blind()
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::optional(
    "BURST",
    "int",
    "Most packets to move each time scheduled; 0 is no limit, negative is 1. Default 1.",
)];

const HANDLERS: &[Handler] = &[
    Handler::read("packets", "Packets moved."),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct RoundRobinUnqueue {
    burst: usize,
    n_packets: u32,
    next: usize,
    run: Run,
    task: Option<TaskId>,
}

/// A run of the task.
#[derive(Clone, Copy, Default)]
struct Run {
    /// Packets that may still be moved.
    left: usize,
    at_once: usize,
    /// Packets on their way, which are counted behind it.
    n_sent: usize,
}

impl Element for RoundRobinUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<RoundRobinUnqueue, Failed> {
        let burst = match conf.args.get_or("BURST", 1) {
            0 => i32::MAX,
            burst => burst.max(1),
        };
        conf.finish()?;
        Ok(RoundRobinUnqueue {
            burst: burst as usize,
            n_packets: 0,
            next: 0,
            run: Run::default(),
            task: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.n_outputs() != ctx.n_inputs() {
            return Err("number of outputs must equal to number of inputs".to_string());
        }
        let task = ctx.new_task();
        ctx.schedule(task);
        self.task = Some(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        // Click has no input to look at then, and ends by a fault.
        if ctx.n_inputs() == 0 {
            return false;
        }
        let at_once = ctx.at_once(self.burst, Causes::NOTHING);
        self.run = Run { left: self.burst, at_once, n_sent: 0 };
        self.go_on(ctx)
    }

    /// Moves as many packets as may move at a time, and goes on behind them.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let port = self.next;
        self.n_packets = self.n_packets.wrapping_add(std::mem::take(&mut self.run.n_sent) as u32);
        let wanted = self.run.left.min(self.run.at_once);
        if wanted > 0 {
            let batch = ctx.pull(port, wanted);
            let n = batch.len();
            self.run.left = if n < wanted { 0 } else { self.run.left - n };
            self.run.n_sent = n;
            if n > 0 {
                ctx.emit(port, batch);
                ctx.go_on_later();
                return true;
            }
        }
        self.next = if port + 1 < ctx.n_inputs() { port + 1 } else { 0 };
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "packets" => Ok(format!("{} packets\n", self.n_packets)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<RoundRobinUnqueue>(ctx, old) else { return };
        self.n_packets = old.n_packets;
        self.next = if old.next < ctx.n_inputs() { old.next } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_reading, run, run_until};
    use expect_test::expect;

    #[test]
    fn inputs_have_their_turns() {
        check_reading(
            "u :: RoundRobinUnqueue(2); InfiniteSource(DATA x, LIMIT 5) -> Queue -> [0] u [0] -> Print(0) -> Discard;
             InfiniteSource(DATA y, LIMIT 2) -> Queue -> [1] u [1] -> Print(1) -> Discard",
            &["u.packets", "u.scheduled"],
            expect![[r#"
                1:    1 | 79
                0:    1 | 78
                0:    1 | 78
                1:    1 | 79
                0:    1 | 78
                0:    1 | 78
                0:    1 | 78
                u.packets: 7 packets

                u.scheduled: true
            "#]],
        );
    }

    #[test]
    fn without_a_limit_everything_is_taken() {
        check_reading(
            "InfiniteSource(LIMIT 700) -> Queue -> u :: RoundRobinUnqueue(BURST 0) -> Discard;
             InfiniteSource(LIMIT 700, BURST 700) -> Queue -> v :: RoundRobinUnqueue(-3) -> Discard; r :: RoundRobinUnqueue",
            &["u.packets", "v.packets"],
            expect![[r#"
                u.packets: 700 packets

                v.packets: 700 packets

            "#]],
        );
    }

    #[test]
    fn one_without_ports_is_scheduled_until_it_runs() {
        let (graph, reads) = ("r :: RoundRobinUnqueue", ["r.scheduled"]);
        assert_eq!(run_until(graph, &reads, || true), "r.scheduled: true\n");
        assert_eq!(run(graph, &reads), "r.scheduled: false\n");
    }

    #[test]
    fn there_must_be_as_many_outputs_as_inputs() {
        check_reading(
            "Idle -> u :: RoundRobinUnqueue -> Discard; Idle -> [1] u",
            &[],
            expect![[r#"
            config:1: While initializing 'u :: RoundRobinUnqueue':
              number of outputs must equal to number of inputs
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn packets_are_counted_behind_what_comes_of_them() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> Queue -> u :: RoundRobinUnqueue -> Counter(COUNT_CALL 2 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read u.packets, read u.scheduled, stop)",
            &[],
            expect![[r#"
                u.packets:
                1 packets

                u.scheduled:
                false
            "#]],
        );
    }
}
