//! Packets that go together, but in single file: where they part they go on in order, one output and then another, and all that comes of
//! the first ones is done before the next go on. Elements that make more of a packet, or keep some of it in mind and get it once more, get them
//! one by one.

use element::{Batch, Ctx, ElementIdx, Outbox, Packet};

use crate::flow::Step;
use crate::wiring::Target;
use crate::world::World;

impl World {
    /// Delivers a batch to an element in single file; if packets must come to that one by one, only the first one now. Yields the batch if
    /// the element is busy.
    #[inline(never)]
    pub(crate) fn come_in_single_file(
        &mut self,
        to: Target,
        mut batch: Batch,
        outbox: &mut Outbox,
    ) -> Option<Batch> {
        let element = to.element();
        let Some(mut taken) = self.slots.get_mut(element).and_then(Option::take) else { return Some(batch) };
        if let Some(most) = self.turn.come(element, &batch) {
            taken.would_hold(most);
        }
        let is_alone = self.together.single_file().is_some_and(|singly| singly.contains(&element));
        if is_alone && batch.len() > 1 {
            let first = batch.split_first(1);
            self.stack.push(Step::new(to, std::mem::replace(&mut batch, first)));
        }
        let place = batch.iter().next().filter(|_| is_alone).map(Packet::place);
        taken.push(&mut Ctx::new(element, self, outbox), to.port(), batch);
        self.put_back(element, taken);
        if let Some(place) = place {
            // All that was made of a packet follows at its place.
            outbox
                .batches_mut()
                .flat_map(|batch| batch.iter_mut())
                .for_each(|packet| packet.set_place(place));
            self.line_up(element, outbox);
        }
        None
    }

    /// Puts emitted packets on the stack, the first on top: together as many as follow each other at one output.
    #[inline(never)]
    pub(crate) fn line_up(&mut self, from: ElementIdx, outbox: &mut Outbox) {
        let begin = self.stack.len();
        let mut parts = std::mem::take(&mut self.parts);
        parts.extend(outbox.drain());
        while let Some((port, run)) = take_first(&mut parts) {
            if let Some((to, run)) = self.address(from, port, run) {
                self.stack.push(Step::new(to, run));
            }
        }
        self.stack[begin..].reverse();
        parts.clear();
        self.parts = parts;
    }
}

/// Takes the first packets of all parts, as many as follow each other in one, no two at one place; of those at one place the first
/// part's.
fn take_first(parts: &mut [(u32, Batch)]) -> Option<(u32, Batch)> {
    let first_place = |(_, batch): &(u32, Batch)| batch.iter().next().map(Packet::place);
    let firsts = || parts.iter().enumerate().filter_map(|(at, part)| Some((first_place(part)?, at)));
    let (mut last, at) = firsts().min()?;
    let end = firsts().filter(|first| first.1 != at).map(|(place, _)| place).min().unwrap_or(u32::MAX);
    let (port, batch) = parts.get_mut(at)?;
    let follows = |packet: &&Packet| {
        let place = packet.place();
        std::mem::replace(&mut last, place) < place && place < end
    };
    let n = 1 + batch.iter().skip(1).take_while(follows).count();
    Some((*port, batch.split_first(n)))
}
