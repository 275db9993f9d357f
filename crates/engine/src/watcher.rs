//! Those who look at packets on their way.

use element::{Batch, ElementIdx, PortIdx};

use crate::world::World;

/// What looks at packets on their way.
pub trait Watcher: Send {
    /// Packets leave an output for what is connected to it.
    fn passes(&mut self, world: &World, element: ElementIdx, port: PortIdx, batch: &Batch);
    /// Packets are dropped for a reason of the element's class.
    fn drops(&mut self, world: &World, element: ElementIdx, reason: usize, batch: &Batch);
    /// Whether the watcher has seen enough and may be taken away.
    fn is_done(&self) -> bool;
}

impl World {
    /// Lets somebody look at packets on their way from now on; with several threads, a watcher for each.
    pub fn add_watchers(&mut self, mut make: impl FnMut() -> Box<dyn Watcher>) {
        self.watchers.push(make());
        for mate in self.mates().iter() {
            let watcher = make();
            mate.with(|engine| engine.world.watchers.push(watcher));
        }
    }

    #[cold]
    pub(crate) fn show(&mut self, element: ElementIdx, port: PortIdx, batch: &Batch) {
        self.watch(|watcher, world| watcher.passes(world, element, port, batch));
    }

    pub(crate) fn watch(&mut self, mut see: impl FnMut(&mut dyn Watcher, &World)) {
        let mut watchers = std::mem::take(&mut self.watchers);
        for watcher in &mut watchers {
            see(watcher.as_mut(), self);
        }
        watchers.retain(|watcher| !watcher.is_done());
        watchers.append(&mut self.watchers);
        self.watchers = watchers;
    }
}
