//! What elements dropped.

use element::{Class, ElementIdx};

use crate::world::World;

/// Drops counted by an element, by reason, and those of ports that lead nowhere.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    pub(crate) by_reason: Vec<u64>,
    pub(crate) unconnected: u64,
}

impl Drops {
    /// Nothing was dropped yet by an element of this class.
    pub(crate) fn of(class: &Class) -> Drops {
        Drops { by_reason: vec![0; class.facts.drops.len()], unconnected: 0 }
    }

    pub(crate) fn add(&mut self, other: &Drops) {
        for (counter, n) in self.by_reason.iter_mut().zip(&other.by_reason) {
            *counter += n;
        }
        self.unconnected += other.unconnected;
    }
}

impl World {
    /// The drops of an element, in all worlds: reason and number, those that are not zero.
    pub fn drops(&self, element: ElementIdx) -> Vec<(&'static str, u64)> {
        let Some(drops) = self.drops.get(element) else { return Vec::new() };
        let mut total = drops.clone();
        for mate in self.mates().iter() {
            mate.with(|engine| engine.world.drops.get(element).map(|drops| total.add(drops)));
        }
        let names = self.classes[element].facts.drops.iter().map(|reason| reason.name);
        let counted = names.zip(total.by_reason.iter().copied());
        counted.chain([("unconnected", total.unconnected)]).filter(|(_, n)| *n > 0).collect()
    }
}
