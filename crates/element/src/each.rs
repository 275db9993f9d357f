//! The loops around elements that look at packets one by one.

use packet::{Batch, Packet};
use smallvec::SmallVec;

use crate::{Ctx, Verdict};

/// The packets that do not leave by output 0, a batch for each verdict, in the order of their first packets.
#[derive(Default)]
struct Elsewhere(SmallVec<[(u32, Batch); 4]>);

impl Elsewhere {
    fn add(&mut self, verdict: u32, packet: Packet) {
        for (known, batch) in &mut self.0 {
            if *known == verdict {
                return batch.push(packet);
            }
        }
        self.0.push((verdict, Batch::of(packet)));
    }
}

impl Ctx<'_> {
    /// Passes each packet of `batch` to `process` and sends it where the verdict says.
    #[inline(always)]
    pub fn push_each(&mut self, mut batch: Batch, mut process: impl FnMut(&mut Packet) -> Verdict) {
        let mut elsewhere = Elsewhere::default();
        batch.split(|packet| process(packet).0, |verdict, packet| elsewhere.add(verdict, packet));
        if elsewhere.0.is_empty() {
            return self.emit(0, batch);
        }
        self.emit_split(batch, elsewhere);
    }

    #[inline(never)]
    fn emit_split(&mut self, batch: Batch, mut elsewhere: Elsewhere) {
        self.emit(0, batch);
        // Outputs in order, as an element that pushes to each in turn.
        elsewhere.0.sort_by_key(|(verdict, _)| *verdict);
        self.settle(elsewhere);
    }

    /// Sends what does not leave by output 0 to its output, or drops it.
    fn settle(&mut self, elsewhere: Elsewhere) {
        let n_outputs = self.n_outputs();
        for (verdict, batch) in elsewhere.0 {
            let verdict = Verdict(verdict);
            match verdict.output() {
                Some(port) if port < n_outputs => self.emit(port, batch),
                _ => self.drop_batch(verdict.reason(), batch),
            }
        }
    }

    /// Pulls up to `max` packets from input 0, passes each to `process`, and returns those that pass; the others go where
    /// their verdicts say. No packet left means none now, even if there are more upstream, as for a single pull in Click.
    #[inline(always)]
    pub fn pull_each(&mut self, max: usize, mut process: impl FnMut(&mut Packet) -> Verdict) -> Batch {
        let mut batch = self.pull(0, max);
        let mut elsewhere = Elsewhere::default();
        batch.split(|packet| process(packet).0, |verdict, packet| elsewhere.add(verdict, packet));
        if !elsewhere.0.is_empty() {
            self.settle(elsewhere);
        }
        batch
    }
}
