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
}

impl Element for RoundRobinUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<RoundRobinUnqueue, Failed> {
        let burst = match conf.args.get_or("BURST", 1) {
            0 => i32::MAX,
            burst => burst.max(1),
        };
        conf.finish()?;
        Ok(RoundRobinUnqueue { burst: burst as usize, n_packets: 0, next: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.n_outputs() != ctx.n_inputs() {
            return Err("number of outputs must equal to number of inputs".to_string());
        }
        let task = ctx.new_task();
        ctx.schedule(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        // Click has no input to look at then, and ends by a fault.
        if ctx.n_inputs() == 0 {
            return false;
        }
        let port = self.next;
        let (mut left, at_once) = (self.burst, ctx.at_once(self.burst, Causes::NOTHING));
        while left > 0 {
            let wanted = left.min(at_once);
            let batch = ctx.pull(port, wanted);
            let n = batch.len();
            self.n_packets = self.n_packets.wrapping_add(n as u32);
            left = if n < wanted { 0 } else { left - n };
            if left == 0 {
                ctx.emit(port, batch);
            } else {
                ctx.emit_now(port, batch);
            }
        }
        self.next = if port + 1 < ctx.n_inputs() { port + 1 } else { 0 };
        ctx.schedule(task);
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
}
