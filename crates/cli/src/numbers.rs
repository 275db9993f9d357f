//! Numbers that handlers read.

use element::{Runtime, TOP};
use engine::world::World;

/// The number that a handler reads, if it reads one.
pub fn read(world: &mut World, handler: &str) -> Option<u64> {
    world.read_handler(TOP, handler, "").ok()?.trim().parse().ok()
}
