//! The loops around elements that look at packets one by one.

use packet::{Batch, Packet};

use crate::{Ctx, Verdict};

impl Ctx<'_> {
    /// Passes each packet of `batch` to `process` and sends it where the verdict says.
    #[inline(always)]
    pub fn push_each(&mut self, mut batch: Batch, process: impl FnMut(&mut Packet) -> Verdict) {
        self.split(&mut batch, process);
        self.emit(0, batch);
        if self.outbox.has_split() {
            self.settle();
        }
    }

    /// Pulls up to `max` packets from input 0, passes each to `process`, and returns those that pass; the others go where
    /// their verdicts say. No packet left means none now, even if there are more upstream, as for a single pull in Click.
    #[inline(always)]
    pub fn pull_each(&mut self, max: usize, process: impl FnMut(&mut Packet) -> Verdict) -> Batch {
        let mut batch = self.pull(0, max);
        self.keep_each(&mut batch, process);
        batch
    }

    /// Passes each packet of `batch`, which was pulled, to `process`; those that do not pass go where their verdicts say.
    #[inline(always)]
    pub fn keep_each(&mut self, batch: &mut Batch, process: impl FnMut(&mut Packet) -> Verdict) {
        self.split(batch, process);
        if self.outbox.has_split() {
            self.settle();
        }
    }

    /// Sends each packet where the verdict of `process` says: for elements that send packets to many outputs, and so pay for
    /// no guess which output it will be. [`Ctx::push_each`] is for those that send most packets to output 0.
    #[inline(always)]
    pub fn spread(&mut self, mut batch: Batch, mut process: impl FnMut(&mut Self, &mut Packet) -> Verdict) {
        let mut verdicts = self.outbox.take_verdicts();
        let (mut least, mut most) = (u32::MAX, 0);
        for (place, packet) in verdicts.iter_mut().zip(batch.iter_mut()) {
            let verdict = process(self, packet);
            (least, most) = (least.min(verdict.0), most.max(verdict.0));
            *place = verdict;
        }
        if least == most {
            self.send(Verdict(most), batch);
        } else {
            self.distribute(batch, verdicts.as_slice(), Verdict(most));
        }
        self.outbox.give_verdicts(verdicts);
    }

    /// Sends a batch where a verdict says.
    #[inline]
    pub fn send(&mut self, verdict: Verdict, batch: Batch) {
        match verdict.output() {
            Some(port) => self.emit_or_drop(port, verdict.reason(), batch),
            None => self.drop_batch(verdict.reason(), batch),
        }
    }

    /// Sends packets where their verdicts say, of which `most` is the highest.
    #[inline(never)]
    fn distribute(&mut self, mut batch: Batch, verdicts: &[Verdict], most: Verdict) {
        let fan = self.runtime.fan(self.element);
        let (n, output) = fan.map_or((0, 0), |(fan, exit)| (fan.take(&mut batch, verdicts, most), exit));
        if n == batch.len() {
            return self.emit(output, batch);
        }
        if n > 0 {
            self.emit(output, batch.split_first(n));
        }
        let Ctx { outbox, runtime, element } = self;
        let split = outbox.split();
        batch.take_all(|i, packet| {
            let verdict = verdicts.get(n + i).copied().unwrap_or(Verdict::PASS);
            split.add(verdict, packet, || runtime.n_ports(*element).1);
        });
        self.settle();
    }

    /// Keeps the packets that pass in `batch`, in order, and sorts the others.
    #[inline(always)]
    fn split(&mut self, batch: &mut Batch, mut process: impl FnMut(&mut Packet) -> Verdict) {
        let Ctx { outbox, runtime, element } = self;
        let split = outbox.split();
        batch.split(
            |packet| process(packet).0,
            |verdict, packet| split.add(Verdict(verdict), packet, || runtime.n_ports(*element).1),
        );
    }

    /// Sends what does not leave by output 0 to its output, or drops it.
    #[inline(never)]
    fn settle(&mut self) {
        let Ctx { outbox, runtime, element } = self;
        for (reason, mut batch) in outbox.put_split() {
            runtime.count_drops(*element, Some(reason), batch.len() as u64);
            runtime.show_drops(*element, reason, &batch);
            batch.clear();
        }
    }
}
