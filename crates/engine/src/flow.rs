//! The way of batches from element to element.
//!
//! Where an element splits a batch, its parts go on one after the other. At an input where such branches meet again each waits
//! for the next, so that what follows is done once for all of them. Where there is nothing or a fast path between the outputs and that
//! input, the batch is not split at all (see `lanes`). What comes of a single packet never waits: it goes Click's way. Packets that go
//! together where Click's go one by one are put in order again where they meet, or go in single file (see `single_file`).

use element::{Batch, Ctx, ElementIdx, Outbox, Runtime};

use crate::wiring::Target;
use crate::world::World;

/// A batch on its way to an input.
pub(crate) struct Step {
    to: Target,
    /// Whether it waits there for others.
    waits: bool,
    /// `None` where branches will meet and no batch has come yet.
    batch: Option<Batch>,
}

impl Step {
    pub fn new(to: Target, batch: Batch) -> Step {
        Step { to, waits: false, batch: Some(batch) }
    }
}

impl World {
    /// Delivers what an element has emitted, and all that follows from it: depth first, outputs in order, so that a batch
    /// of one goes the way Click's packet goes. Loops in the graph only lengthen the stack of batches.
    #[inline]
    pub(crate) fn flow(&mut self, element: ElementIdx, mut outbox: Outbox) {
        let below = self.stack.len();
        let mut base = below;
        let mut from = element;
        self.n_flows += 1;
        if self.together.is_on() && self.n_flows == 1 {
            self.together.set_out(&mut outbox, self.turn.places_are_given());
        }
        loop {
            let (to, mut batch) = match outbox.take_only() {
                Some((port, batch)) => match self.address(from, port, batch) {
                    Some(next) => next,
                    None => continue,
                },
                None => {
                    if !outbox.is_empty() {
                        self.put_on_stack(from, &mut outbox);
                    }
                    match self.take_from_stack(base) {
                        Some(next) => next,
                        None => break,
                    }
                }
            };
            self.n_steps += batch.len();
            if to.is_meeting() && self.stack.len() > base {
                match self.meet(base, to, batch) {
                    Some(due) => batch = due,
                    None => continue,
                }
            }
            if to.may_begin_lane() && self.watchers.is_empty() {
                if let Some(last) = self.take_lane(to, &mut batch) {
                    from = last;
                    outbox.put(0, batch);
                    continue;
                }
            }
            if self.together.single_file().is_some() {
                from = to.element();
                if let Some(batch) = self.come_in_single_file(to, batch, &mut outbox) {
                    base += self.postpone(below, to, batch);
                }
                continue;
            }
            // An element that is busy further up the call path gets the batch when it is free again.
            let Some(mut taken) = self.slots.get_mut(to.element()).and_then(Option::take) else {
                base += self.postpone(below, to, batch);
                continue;
            };
            from = to.element();
            taken.push(&mut Ctx::new(from, self, &mut outbox), to.port(), batch);
            self.put_back(from, taken);
        }
        self.n_flows -= 1;
        if self.together.is_on() && self.n_flows == 0 && !self.turn.is_on() {
            self.say_held();
        }
        self.spare_outboxes.push(outbox);
    }

    /// Takes the next batch that waits above `base`.
    #[inline]
    fn take_from_stack(&mut self, base: usize) -> Option<(Target, Batch)> {
        while self.stack.len() > base {
            // Where branches meet, maybe no batch has come.
            if let Some(Step { to, batch: Some(mut batch), waits }) = self.stack.pop() {
                if waits && self.together.is_on() {
                    batch.sort_by_place();
                }
                return Some((to, batch));
            }
        }
        None
    }

    /// Finds where a batch goes; one that goes nowhere is dropped.
    #[inline(always)]
    pub(crate) fn address(&mut self, from: ElementIdx, port: u32, batch: Batch) -> Option<(Target, Batch)> {
        if !self.watchers.is_empty() {
            self.show(from, port as usize, &batch);
        }
        let target = self.wiring.target(from, port as usize).or_else(|| self.wiring.end_of_fan(port));
        match target {
            Some(to) => Some((to, batch)),
            None => {
                self.count_drops(from, None, batch.len() as u64);
                None
            }
        }
    }

    /// Puts emitted batches on the stack, the first on top, and below them the places where they will meet.
    fn put_on_stack(&mut self, from: ElementIdx, outbox: &mut Outbox) {
        if self.together.single_file().is_some() {
            return self.line_up(from, outbox);
        }
        if self.together.is_on() || outbox.batches().any(|batch| batch.len() > 1) {
            let place = |input: &_| Step { to: Target::meeting(*input), waits: true, batch: None };
            self.stack.extend(self.wiring.meetings(from).iter().map(place));
        }
        while let Some((port, batch)) = outbox.pop() {
            if let Some((to, batch)) = self.address(from, port, batch) {
                self.stack.push(Step::new(to, batch));
            }
        }
    }

    /// Lets a batch wait at an input for those that may still come there from other branches. Returns what is due: the batch if
    /// none may come, or those that have waited if there is no room for more.
    #[inline(never)]
    fn meet(&mut self, base: usize, to: Target, mut batch: Batch) -> Option<Batch> {
        let place =
            self.stack[base..].iter_mut().rev().find(|step| step.waits && step.to.input() == to.input());
        let Some(Step { to: place, batch: waiting, .. }) = place else { return Some(batch) };
        // This one tells also whether a lane may begin there.
        *place = to;
        match waiting {
            Some(waiting) if waiting.room() >= batch.len() => {
                waiting.append(&mut batch);
                None
            }
            _ => waiting.replace(batch),
        }
    }

    /// Puts a batch below the part of the stack that is being worked on and what was put there before: whoever works on that part
    /// delivers it, first of all. How many batches there are more.
    #[cold]
    fn postpone(&mut self, below: usize, to: Target, batch: Batch) -> usize {
        if self.n_flows == 1 {
            // Nobody is left to deliver it: the element is busy with a call that does not come from a packet.
            self.count_drops(to.element(), None, batch.len() as u64);
            return 0;
        }
        self.stack.insert(below, Step::new(to, batch));
        1
    }
}
