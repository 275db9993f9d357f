//! Pulls from its inputs in turn so that each gets about the same number of bytes.
//!
//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): with its turn an input gets QUANTUM bytes of credit, and its turn
//! lasts as long as its next packet is not longer than its credit. An input that has nothing loses its credit. Inputs that tell
//! that they are empty are not pulled from, and pullers downstream are told whether there is something to pull.
//!
//! ```click
//! s :: DRRSched -> Unqueue -> Discard;
//! InfiniteSource(LENGTH 1000) -> Queue -> [0]s;
//! InfiniteSource(LENGTH 100) -> Queue -> [1]s;
//! ```

use element::{
    same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Notifies, Packet, SearchOp, Signal, Wake,
};

/// The class.
pub const CLASS: Class = Class::new::<DrrSched>("DRRSched", "-/1", "l/l", "x/x").args(ARGS).silent();

const ARGS: &[Arg] =
    &[Arg::optional("QUANTUM", "int", "Bytes that an input gets with its turn, at least 1. Default 500.")];

/// See the page above.
pub struct DrrSched {
    quantum: u32,
    inputs: Vec<Input>,
    /// The input whose turn it is.
    turn: usize,
}

struct Input {
    signal: Signal,
    /// A packet that was pulled and is longer than the credit.
    head: Option<Packet>,
    /// Bytes that may be sent.
    credit: u32,
}

impl Element for DrrSched {
    fn configure(conf: &mut Configure<'_>) -> Result<DrrSched, Failed> {
        let quantum: i32 = conf.args.get_or("QUANTUM", 500);
        if quantum <= 0 {
            conf.args.fail("bad QUANTUM");
        }
        conf.finish()?;
        Ok(DrrSched { quantum: quantum as u32, inputs: Vec::new(), turn: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for port in 0..ctx.n_inputs() {
            let signal = ctx.upstream_empty_signal(port, Wake::Callback);
            self.inputs.push(Input { signal, head: None, credit: 0 });
        }
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::ContinueWake), ..Notifies::default() }
    }

    fn notified(&mut self, ctx: &mut Ctx<'_>) {
        ctx.set_empty_signal(true);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let (packet, is_active) = self.pull_packet(ctx);
            ctx.set_empty_signal(is_active);
            match packet {
                Some(packet) => batch.push(packet),
                None => break,
            }
        }
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DrrSched>(ctx, old) else { return };
        let mut n_lost = 0;
        for (port, Input { head, credit, .. }) in old.inputs.into_iter().enumerate() {
            match self.inputs.get_mut(port) {
                Some(input) => (input.head, input.credit) = (head, credit),
                None => n_lost += u64::from(head.is_some()),
            }
        }
        self.turn = if old.turn < self.inputs.len() { old.turn } else { 0 };
        let idx = ctx.element;
        ctx.runtime().count_drops(idx, None, n_lost);
        ctx.set_empty_signal(true);
    }
}

impl DrrSched {
    /// The next packet, looking at each input once, and whether there may be more.
    fn pull_packet(&mut self, ctx: &mut Ctx<'_>) -> (Option<Packet>, bool) {
        let mut is_active = false;
        for _ in 0..self.inputs.len() {
            let Some(input) = self.inputs.get_mut(self.turn) else { break };
            let has_signal = input.head.is_some() || ctx.is_active(&input.signal);
            is_active |= has_signal;
            let packet =
                input.head.take().or_else(|| if has_signal { ctx.pull_packet(self.turn) } else { None });
            match packet {
                None => input.credit = 0,
                Some(packet) if packet.len() <= input.credit as usize => {
                    input.credit -= packet.len() as u32;
                    return (Some(packet), true);
                }
                Some(packet) => input.head = Some(packet),
            }
            self.next_turn();
        }
        (None, is_active)
    }

    fn next_turn(&mut self) {
        self.turn = if self.turn + 1 < self.inputs.len() { self.turn + 1 } else { 0 };
        if let Some(input) = self.inputs.get_mut(self.turn) {
            input.credit = input.credit.wrapping_add(self.quantum);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn inputs_get_the_same_number_of_bytes() {
        check(
            "s :: DRRSched(5) -> Unqueue -> Print(p, CONTENTS ASCII) -> Discard;
            InfiniteSource(aaaaaaa, LIMIT 3) -> [0]s;
            InfiniteSource(bbb, LIMIT 9) -> Queue -> [1]s;
            Idle -> [2]s;",
            expect![[r#"
                p:    3 |  bbb
                p:    7 |  aaaaaaa
                p:    3 |  bbb
                p:    3 |  bbb
                p:    7 |  aaaaaaa
                p:    3 |  bbb
                p:    3 |  bbb
                p:    3 |  bbb
                p:    7 |  aaaaaaa
                p:    3 |  bbb
                p:    3 |  bbb
                p:    3 |  bbb
            "#]],
        );
    }

    #[test]
    fn pullers_sleep_while_there_is_nothing() {
        check(
            "q, p :: QuickNoteQueue; i :: InfiniteSource(abc, LIMIT 2) -> q -> [0]s :: DRRSched -> u :: Unqueue -> Discard;
            j :: InfiniteSource(abc, LIMIT 1) -> p -> [1]s;
            n :: DRRSched -> v :: Unqueue -> Discard;
            DriverManager(wait 1s, read u.scheduled, read v.scheduled, write j.reset, read u.scheduled, wait 1s, read p.length)",
            expect![[r#"
                u.scheduled:
                false
                v.scheduled:
                false
                u.scheduled:
                false
                p.length:
                0
            "#]],
        );
    }

    #[test]
    fn a_quantum_is_positive() {
        check(
            "Idle -> DRRSched(0) -> DRRSched(QUANTUM -1) -> DRRSched(1, 2) -> Discard",
            expect![[r#"
            config:1: While configuring 'DRRSched@2 :: DRRSched':
              bad QUANTUM
            config:1: While configuring 'DRRSched@3 :: DRRSched':
              bad QUANTUM
            config:1: While configuring 'DRRSched@4 :: DRRSched':
              too many arguments
            Router could not be initialized!
        "#]],
        );
    }
}
