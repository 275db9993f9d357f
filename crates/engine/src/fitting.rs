//! How many packets may set out at a time, so that the queues that they come to have room for them.

use element::{Causes, Element, ElementIdx};

use crate::world::World;

/// Where the packets come to that an element sends.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The elements that store them.
    stores: Box<[ElementIdx]>,
    /// Whether an element looks at how many are stored, and may drop the more.
    is_looked_at: bool,
}

impl World {
    /// Of a burst that the user did not ask for, how many packets an element may send so that none are lost for want of room where none would
    /// be lost if they came one by one. Half of the room is left
    /// to copies and to others that send there; one may always go.
    pub(crate) fn fitting(&mut self, element: ElementIdx, burst: usize) -> usize {
        if !matches!(self.wiring.ahead.get(element), Some(Some(_))) {
            self.look_ahead(element);
        }
        let Some(Some(ahead)) = self.wiring.ahead.get(element) else { return burst };
        if ahead.is_looked_at {
            return 1;
        }
        let room = |store: &ElementIdx| self.slots.get(*store)?.as_ref()?.room();
        let Some(room) = ahead.stores.iter().filter_map(room).min() else { return burst };
        burst.min((room / 2).max(1))
    }

    #[cold]
    fn look_ahead(&mut self, begin: ElementIdx) {
        let (mut stores, mut is_looked_at) = (Vec::new(), false);
        let mut is_met = vec![false; self.slots.len()];
        let mut next = vec![begin];
        while let Some(element) = next.pop() {
            let outputs = 0..self.wiring.n_ports(element).1;
            let push = outputs.filter(|port| self.wiring.output_is_push(element, *port));
            for (element, _) in push.flat_map(|port| self.wiring.downstream(element, port)) {
                let Some(was_met) = is_met.get_mut(element).map(|met| std::mem::replace(met, true)) else {
                    continue;
                };
                if was_met {
                    continue;
                }
                if self.wiring.stores(element) {
                    stores.push(element);
                    continue;
                }
                let causes = self.causes(element).filter(|causes| *causes != Causes::ANYTHING);
                is_looked_at |= causes.is_some_and(|causes| causes.include(Causes::LOOKS_AT_STORES));
                next.push(element);
            }
        }
        self.wiring.ahead.resize_with(self.slots.len(), || None);
        if let Some(place) = self.wiring.ahead.get_mut(begin) {
            *place = Some(Ahead { stores: stores.into(), is_looked_at });
        }
    }
}

/// How many packets an element has room for, if it stores packets and tells those upstream when it is full.
pub fn told_room(element: &dyn Element) -> Option<usize> {
    element.notifies().full.and_then(|_| element.room())
}
