//! The fast path: what a chain of elements does with packets that are nothing special to any of them.
//!
//! Most elements of a router look for the few packets that are wrong, have options, are expired or too long, and let all others
//! pass. Where such elements follow each other, the engine joins what they look for into one [`FastPath`] and looks at each packet
//! once. Packets that are not plain go from element to element.

mod egress;
mod fan;
mod ingress;

use packet::Batch;

pub use egress::{put_frame, Egress};
pub use fan::Fan;
pub use ingress::Ingress;

/// An element that does nothing to most packets, or always the same, and sends them from input 0 to output 0. What it does along
/// its fast path must be what it does when they are pushed to it; it counts none of them.
pub trait HasFastPath {
    /// Which packets those are, and what is done to them, as the element is configured now; `None` if that cannot be said.
    fn fast_path(&self) -> Option<FastPath>;
}

/// Which packets leave one or more elements by output 0, and what is done to them on the way.
#[derive(Clone, Debug)]
pub enum FastPath {
    /// Into a router.
    Ingress(Ingress),
    /// Out of it.
    Egress(Egress),
}

/// That of all packets, to which nothing is done.
impl Default for FastPath {
    fn default() -> FastPath {
        FastPath::Egress(Egress::default())
    }
}

impl FastPath {
    /// This path and then `next`, as one; `None` if that cannot be said in one.
    pub fn then(&self, next: &FastPath) -> Option<FastPath> {
        match (self, next) {
            (FastPath::Ingress(path), FastPath::Ingress(next)) => path.then(next).map(FastPath::Ingress),
            (FastPath::Egress(path), FastPath::Egress(next)) => path.then(next).map(FastPath::Egress),
            _ => None,
        }
    }

    /// Takes packets along the path up to the first that is not plain. How many it took.
    pub fn take(&self, batch: &mut Batch) -> usize {
        match self {
            FastPath::Ingress(path) => path.take(batch),
            FastPath::Egress(path) => path.take(batch),
        }
    }
}
