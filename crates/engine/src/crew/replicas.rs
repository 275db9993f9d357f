//! Changing the replicas of a graph on several cores: all at once, or none.

use std::sync::Arc;

use element::{Class, ElementIdx};
use graph::Diagnostics;

use super::cores::{are_fit, places, tell_sharers};
use super::handover::Handover;
use super::mate::Held;
use super::Place;
use crate::change::{How, New};
use crate::wiring::Wiring;
use crate::world::World;

/// How often the replicas look for what others of them have sent before they stand still. It arrives sooner, unless what arrives
/// sends something again for ever.
const MOST_LOOKS: usize = 1000;

impl World {
    /// Does something with all replicas, whose threads stand still meanwhile.
    pub(super) fn with_replicas<R>(&mut self, act: impl FnOnce(&mut [&mut World]) -> R) -> R {
        // While this thread has the others' worlds, nobody can reach them by handlers.
        let mates = match &mut self.crew {
            Some(crew) => std::mem::replace(&mut crew.mates, Arc::from([])),
            None => Arc::from([]),
        };
        let mut held: Vec<Held<'_>> = mates.iter().map(|mate| mate.hold()).collect();
        let others = held.iter_mut().map(|held| &mut held.engine().world);
        let mut worlds: Vec<&mut World> = std::iter::once(&mut *self).chain(others).collect();
        deliver_all(&mut worlds);
        let result = act(&mut worlds);
        drop(held);
        if let Some(crew) = &mut self.crew {
            crew.mates = mates;
        }
        result
    }

    /// Whose each element is, in a crew.
    pub(crate) fn places(&self) -> Option<Arc<[Place]>> {
        self.crew.as_ref().map(|crew| crew.places.clone())
    }

    /// Whether a replica has an element, or a stand-in: what acts on the whole graph and has no ports only the first one has.
    pub(crate) fn is_here(&self, idx: ElementIdx) -> bool {
        let Some(crew) = self.crew.as_ref().filter(|crew| crew.is_replicated && crew.index > 0) else {
            return true;
        };
        crew.places.get(idx) != Some(&Place::World(0)) || self.wiring.n_ports(idx) != (0, 0)
    }

    /// Learns whose each element is, which the first replica finds out itself, after `others` have come.
    pub(crate) fn take_places(&mut self, known: Option<Arc<[Place]>>, others: &[ElementIdx]) {
        let Some(crew) = &mut self.crew else { return };
        crew.places = known.unwrap_or_else(|| {
            crew.board.forget_agreed(others);
            places(&self.classes, &self.slots).into()
        });
        tell_sharers(crew.index, &self.classes, &self.wiring, &mut self.slots);
    }

    /// Whether what only the first replica has can be reached from the others; errors are told by the first.
    pub(crate) fn fits(&self, diagnostics: &mut Diagnostics) -> bool {
        let Some(crew) = self.crew.as_ref().filter(|crew| crew.index == 0) else { return true };
        are_fit(&self.graph, &self.classes, &self.wiring, &crew.places, diagnostics)
    }

    /// Whether something sent is not where it belongs yet.
    fn has_mail(&self) -> bool {
        self.crew.as_ref().is_some_and(|crew| crew.post.is_waiting() || crew.post.spills())
    }
}

/// Delivers what is on its way between replicas.
fn deliver_all(worlds: &mut [&mut World]) {
    for _ in 0..MOST_LOOKS {
        worlds.iter_mut().for_each(|world| world.take_parcels());
        if !worlds.iter().any(|world| world.has_mail()) {
            break;
        }
    }
}

/// What is put into a replica besides the first: stand-ins for what only that one has. Those that are there stay where the element
/// takes over another's tasks.
pub(crate) fn for_other_replica(
    new: Vec<New>,
    places: &[Place],
    classes: &[&'static Class],
    wiring: &Wiring,
) -> Vec<New> {
    let is_first_ones = |idx: ElementIdx| places.get(idx) == Some(&Place::World(0));
    let mut fitting = Vec::new();
    for mut new in new {
        if is_first_ones(new.idx) {
            if new.how == How::Reconfigured {
                continue;
            }
            if wiring.n_ports(new.idx) != (0, 0) {
                new.element = Box::new(Handover::new(classes[new.idx]));
            }
        }
        fitting.push(new);
    }
    fitting
}
