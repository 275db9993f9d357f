//! What the elements of a graph dropped.

use element::{DropReason, Runtime};
use engine::world::World;

use crate::numbers;

/// Packets that an element dropped for one reason.
pub struct Dropped {
    /// The element.
    pub element: String,
    /// Its class.
    pub class: &'static str,
    /// The reason's name.
    pub reason: &'static str,
    /// How many packets.
    pub n: u64,
}

/// All drops of a graph.
pub fn of(world: &World) -> Vec<Dropped> {
    let mut list = Vec::new();
    for idx in 0..world.n_elements() {
        for (reason, n) in world.drops(idx) {
            let element = world.name(idx).to_string();
            list.push(Dropped { element, class: world.class(idx), reason, n });
        }
    }
    list
}

/// What came to elements that drop all packets.
pub fn discarded(world: &mut World) -> Vec<Dropped> {
    let discards = (0..world.n_elements()).filter(|idx| world.class(*idx) == "Discard");
    let names: Vec<String> = discards.map(|idx| world.name(idx).to_string()).collect();
    let dropped = names.into_iter().filter_map(|element| {
        let n = numbers::read(world, &format!("{element}.count")).filter(|n| *n > 0)?;
        Some(Dropped { element, class: "Discard", reason: "discarded", n })
    });
    dropped.collect()
}

/// The drops that are losses.
pub fn losses(drops: &[Dropped]) -> impl Iterator<Item = &Dropped> {
    drops.iter().filter(|dropped| !DropReason::is_usual(dropped.reason))
}

/// The losses in one line: `IPFilter@2 denied 799, ...`. Empty if there are none.
pub fn line(drops: &[Dropped]) -> String {
    let words = losses(drops).map(|Dropped { element, reason, n, .. }| format!("{element} {reason} {n}"));
    words.collect::<Vec<_>>().join(", ")
}
