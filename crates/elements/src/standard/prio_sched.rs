//! Pulls from the first input that has a packet.
//!
//! Input 0 goes before input 1, and so on: strict priority. Inputs that tell that they are empty are not pulled from.
//!
//! ```click
//! s :: PrioSched -> Unqueue -> Discard;
//! FromDump(urgent.pcap) -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, Element, Failed, Signal, Wake};

/// The class.
pub const CLASS: Class = class("PrioSched", configure);

/// A class of these; `configure` calls [`PrioSched::listening`].
pub(super) const fn class(
    name: &'static str,
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<PrioSched>(name, "-/1", "l/l", "x/x");
    Class { configure, ..class.causes(Causes::CHOICE).silent().blind() }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    PrioSched::listening(conf, true)
}

/// See the page above; `SimplePrioSched` is made of this, too.
pub struct PrioSched {
    n_inputs: usize,
    /// Whether it asks which inputs are empty before it pulls.
    listens: bool,
    signals: Vec<Signal>,
}

impl Element for PrioSched {
    fn configure(conf: &mut Configure<'_>) -> Result<PrioSched, Failed> {
        PrioSched::new(conf, true)
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
        for (port, signal) in self.signals.iter().enumerate() {
            if ctx.is_active(signal) {
                let mut pulled = ctx.pull(port, max.saturating_sub(batch.len()));
                if batch.is_empty() {
                    std::mem::swap(&mut batch, &mut pulled);
                } else {
                    batch.append(&mut pulled);
                }
            }
            if batch.len() >= max {
                break;
            }
        }
        batch
    }
}

impl PrioSched {
    /// Makes one that heeds what its inputs say of being empty, or one that does not.
    pub(super) fn listening(conf: &mut Configure<'_>, listens: bool) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(PrioSched::new(conf, listens)?))
    }

    fn new(conf: &mut Configure<'_>, listens: bool) -> Result<PrioSched, Failed> {
        conf.finish()?;
        Ok(PrioSched { n_inputs: conf.n_inputs, listens, signals: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn earlier_inputs_come_first() {
        testing::check(
            r"
            s :: PrioSched -> Print(out) -> Unqueue(BURST 4) -> Discard;
            Idle -> [0]s; InfiniteSource(b, LIMIT 3) -> Queue -> [1]s;
            InfiniteSource(c, LIMIT 5, STOP true) -> [2]s;
            ",
            expect![[r#"
                out:    1 | 63
                out:    1 | 63
                out:    1 | 63
                out:    1 | 63
                out:    1 | 62
                out:    1 | 63
            "#]],
        );
    }
}
