//! Pulls from its inputs in turn.
//!
//! After an input that has yielded a packet, the next one's turn comes; inputs that have none are passed over. Inputs that
//! tell that they are empty are not pulled from.
//!
//! ```click
//! s :: RoundRobinSched -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{same, Batch, Causes, Class, Configure, Ctx, Element, Failed, Packet, Signal, Wake};

/// The class.
pub const CLASS: Class = class("RoundRobinSched", configure);

/// A class of these; `configure` calls [`RoundRobinSched::listening`].
pub(super) const fn class(
    name: &'static str,
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<RoundRobinSched>(name, "-/1", "l/l", "x/x");
    Class { configure, ..class.causes(Causes::CHOICE).silent().blind() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    RoundRobinSched::listening(conf, true)
}

/// See the page above; `SimpleRoundRobinSched` is made of this, too.
pub struct RoundRobinSched {
    next: usize,
    n_inputs: usize,
    /// Whether it asks which inputs are empty before it pulls.
    listens: bool,
    signals: Vec<Signal>,
    /// What the inputs have yielded in the present rounds, last packet first; empty between pulls.
    pulled: Vec<Batch>,
}

impl Element for RoundRobinSched {
    fn configure(conf: &mut Configure<'_>) -> Result<RoundRobinSched, Failed> {
        RoundRobinSched::new(conf, true)
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let signal = |port| match self.listens {
            true => ctx.upstream_empty_signal(port, Wake::Nobody),
            false => Signal::Busy,
        };
        self.signals = (0..self.n_inputs).map(signal).collect();
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            // As long as there is room for whole rounds, an input is pulled from once for all of them.
            let n_rounds = (max - batch.len()).checked_div(self.signals.len()).unwrap_or(0);
            if n_rounds > 1 {
                let before = batch.len();
                self.pull_rounds(ctx, n_rounds, &mut batch);
                if batch.len() == before {
                    break;
                }
            } else {
                match self.pull_packet(ctx) {
                    Some(packet) => batch.push(packet),
                    None => break,
                }
            }
        }
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<RoundRobinSched>(ctx, old) else { return };
        self.next = if old.next < self.n_inputs { old.next } else { 0 };
    }
}

impl RoundRobinSched {
    /// Makes one that heeds what its inputs say of being empty, or one that does not.
    pub(super) fn listening(conf: &mut Configure<'_>, listens: bool) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(RoundRobinSched::new(conf, listens)?))
    }

    fn new(conf: &mut Configure<'_>, listens: bool) -> Result<RoundRobinSched, Failed> {
        conf.finish()?;
        let n_inputs = conf.n_inputs;
        Ok(RoundRobinSched { next: 0, n_inputs, listens, signals: Vec::new(), pulled: Vec::new() })
    }

    /// The packet of the first input, from the one on whose turn it is, that has one.
    fn pull_packet(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let n_inputs = self.signals.len();
        let mut port = self.next;
        for _ in 0..n_inputs {
            let is_active = self.signals.get(port).is_some_and(|signal| ctx.is_active(signal));
            let packet = if is_active { ctx.pull_packet(port) } else { None };
            port = if port + 1 < n_inputs { port + 1 } else { 0 };
            if packet.is_some() {
                self.next = port;
                return packet;
            }
        }
        None
    }

    /// Adds to `batch` what `n_rounds` rounds yield, in their order.
    fn pull_rounds(&mut self, ctx: &mut Ctx<'_>, n_rounds: usize, batch: &mut Batch) {
        let (n_inputs, first) = (self.signals.len(), self.next);
        let port_at = |turn: usize| (first + turn) % n_inputs;
        for turn in 0..n_inputs {
            let is_active = self.signals.get(port_at(turn)).is_some_and(|signal| ctx.is_active(signal));
            let mut pulled = if is_active { ctx.pull(port_at(turn), n_rounds) } else { Batch::new() };
            pulled.reverse();
            self.pulled.push(pulled);
        }
        for _ in 0..n_rounds {
            for (turn, pulled) in self.pulled.iter_mut().enumerate() {
                if let Some(packet) = pulled.pop() {
                    batch.push(packet);
                    self.next = port_at(turn + 1);
                }
            }
        }
        self.pulled.clear();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn inputs_have_their_turns() {
        testing::check(
            r"
            s :: RoundRobinSched -> Print(out) -> Unqueue -> Discard;
            InfiniteSource(a, LIMIT 4) -> [0]s; InfiniteSource(b, LIMIT 1) -> [1]s;
            InfiniteSource(c, LIMIT 4, STOP true) -> [2]s;
            ",
            expect![[r#"
                out:    1 | 61
                out:    1 | 62
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
            "#]],
        );
    }

    #[test]
    fn a_large_pull_yields_what_many_small_ones_would() {
        testing::check(
            r"
            s :: RoundRobinSched -> Print(out) -> Unqueue(BURST 20) -> Discard;
            InfiniteSource(a, LIMIT 8) -> [0]s; InfiniteSource(b, LIMIT 1) -> [1]s;
            InfiniteSource(c, LIMIT 4, STOP true) -> [2]s; Idle -> [3]s;
            ",
            expect![[r#"
                out:    1 | 61
                out:    1 | 62
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
                out:    1 | 61
                out:    1 | 63
                out:    1 | 61
                out:    1 | 61
                out:    1 | 61
                out:    1 | 61
            "#]],
        );
    }

    #[test]
    fn without_inputs_there_is_nothing_to_pull() {
        testing::check(
            r"
            s :: RoundRobinSched -> u :: Unqueue(BURST 20) -> Discard;
            p :: PrioSched -> v :: Unqueue -> Discard;
            DriverManager(wait 1s, read u.scheduled, read v.scheduled);
            ",
            expect![[r#"
                u.scheduled:
                false
                v.scheduled:
                false
            "#]],
        );
    }
}
