//! Pulls from the first input that has a packet.
//!
//! Input 0 goes before input 1, and so on: strict priority. Inputs that tell that they are empty are not pulled from.
//!
//! ```click
//! s :: PrioSched -> Unqueue -> Discard;
//! FromDump(urgent.pcap) -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed, Signal, Wake};

/// The class.
pub const CLASS: Class = Class::new::<PrioSched>("PrioSched", "-/1", "l/l", "x/x").silent();

/// See the page above.
pub struct PrioSched {
    signals: Vec<Signal>,
}

impl Element for PrioSched {
    fn configure(conf: &mut Configure<'_>) -> Result<PrioSched, Failed> {
        conf.finish()?;
        Ok(PrioSched { signals: Vec::new() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.signals =
            (0..ctx.n_inputs()).map(|port| ctx.upstream_empty_signal(port, Wake::Nobody)).collect();
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
