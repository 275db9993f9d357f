//! How methods of elements are called: with the element out of its place, and what it emits gathered.

use element::{Batch, Ctx, Element, ElementIdx, HandlerCall, Outbox, PortIdx, Runtime};

use crate::handlers;
use crate::world::World;

/// A handler to be written when the method that asked for it has returned.
pub(crate) struct LaterCall {
    pub from: ElementIdx,
    pub call: HandlerCall,
    pub tell: bool,
}

impl World {
    /// Calls a method of an element and runs all that it causes. `None` if the element is busy further up.
    pub(crate) fn call<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let (result, outbox) = self.step(element, method)?;
        if outbox.is_empty() {
            self.spare_outboxes.push(outbox);
        } else {
            self.flow(element, outbox);
        }
        Some(result)
    }

    /// Calls a method of an element, without what it causes.
    #[inline(always)]
    fn step<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<(R, Outbox)> {
        let mut taken = self.slots.get_mut(element)?.take()?;
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let result = method(taken.as_mut(), &mut Ctx::new(element, self, &mut outbox));
        self.put_back(element, taken);
        Some((result, outbox))
    }

    /// Puts an element back into its place after a method of it has returned.
    #[inline(always)]
    pub(crate) fn put_back(&mut self, element: ElementIdx, taken: Box<dyn Element>) {
        // The place is empty: there is nothing to drop in it.
        if let Some(slot) = self.slots.get_mut(element) {
            debug_assert!(slot.is_none(), "two elements in one place");
            std::mem::forget(slot.replace(taken));
        }
        if !self.later.is_empty() {
            self.call_now();
        }
    }

    /// Makes the handler calls that waited for elements that are free now.
    #[cold]
    fn call_now(&mut self) {
        let is_free =
            |later: &LaterCall, slots: &[Option<_>]| slots.get(later.from).is_some_and(Option::is_some);
        while let Some(at) = self.later.iter().position(|later| is_free(later, &self.slots)) {
            let LaterCall { from, call, tell } = self.later.remove(at);
            if let (Err(message), true) = (handlers::write(self, from, &call.name, &call.value), tell) {
                self.chatter.say(&message);
            }
        }
    }

    /// Calls a method of an element without what it causes: what it emits is thrown away.
    pub(crate) fn call_apart<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let (result, mut outbox) = self.step(element, method)?;
        outbox.drain().for_each(drop);
        self.spare_outboxes.push(outbox);
        Some(result)
    }

    /// Calls a handler's method of an element, by its second hand if it is busy.
    pub(crate) fn call_handler<R>(
        &mut self,
        idx: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        if self.slots.get(idx)?.is_some() {
            return self.call(idx, method);
        }
        let mut hand = self.second_hands.get(&idx)?.second_hand()?;
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let result = method(hand.as_mut(), &mut Ctx::new(idx, self, &mut outbox));
        self.flow(idx, outbox);
        Some(result)
    }

    /// An element to ask about its handlers, be it busy or not.
    pub(crate) fn describer(&self, idx: ElementIdx) -> Option<&dyn Element> {
        let present = self.slots.get(idx)?.as_deref();
        present.or_else(|| self.second_hands.get(&idx).map(|hand| hand.as_ref()))
    }

    /// Pulls from an element's input on behalf of whoever pulls from its output. Where pulling runs in a circle there is nothing.
    #[inline(never)]
    pub(crate) fn pull_first(
        &mut self,
        of: ElementIdx,
        output: PortIdx,
        input: PortIdx,
        max: usize,
    ) -> Batch {
        if self.pulling_first.contains(&(of, output)) {
            return Batch::new();
        }
        self.pulling_first.push((of, output));
        let batch = self.pull(of, input, max);
        self.pulling_first.pop();
        batch
    }

    pub(crate) fn notified(&mut self, element: ElementIdx) {
        self.call(element, |element, ctx| element.notified(ctx));
    }
}
