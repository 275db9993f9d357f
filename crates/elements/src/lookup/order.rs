//! The order of a route table's rows: each class keeps its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use args::Prefix;

/// Gives each route a key; rows are shown by ascending key.
pub enum Order {
    /// A row takes the first free place.
    FirstFree {
        /// Places that have become free.
        free: BinaryHeap<Reverse<u64>>,
        /// Places used so far.
        n_places: u64,
    },
    /// A row takes the place that became free last.
    LastFreed {
        /// Places that have become free.
        free: Vec<u64>,
        /// Places used so far.
        n_places: u64,
    },
    /// Rows are sorted after each change; a new one begins at the end.
    Sorted {
        /// Places used so far.
        n_places: u64,
    },
    /// Rows are in the buckets of a hash table, the newest of a bucket first.
    Hashed {
        /// Rows made so far.
        n_rows: u64,
    },
}

/// The bits of a key in which the age of a row is counted.
const AGE: u64 = (1 << 40) - 1;

impl Order {
    /// Rows take the first free place.
    pub fn first_free() -> Order {
        Order::FirstFree { free: BinaryHeap::new(), n_places: 0 }
    }

    /// Rows take the place that became free last.
    pub fn last_freed() -> Order {
        Order::LastFreed { free: Vec::new(), n_places: 0 }
    }

    /// Rows are sorted.
    pub fn sorted() -> Order {
        Order::Sorted { n_places: 0 }
    }

    /// Rows are hashed.
    pub fn hashed() -> Order {
        Order::Hashed { n_rows: 0 }
    }

    /// A key for a new row.
    pub fn take(&mut self, prefix: Prefix) -> u64 {
        let (found, n_places) = match self {
            Order::FirstFree { free, n_places } => (free.pop().map(|Reverse(place)| place), n_places),
            Order::LastFreed { free, n_places } => (free.pop(), n_places),
            Order::Sorted { n_places } => (None, n_places),
            Order::Hashed { n_rows } => {
                *n_rows += 1;
                // The default route has been there before all others.
                let age = if prefix.is_empty() { 0 } else { *n_rows };
                return bucket(prefix) << 40 | (AGE - (age & AGE));
            }
        };
        found.unwrap_or_else(|| {
            *n_places += 1;
            *n_places - 1
        })
    }

    /// Says that a key is no longer used.
    pub fn give(&mut self, key: u64) {
        match self {
            Order::FirstFree { free, .. } => free.push(Reverse(key)),
            Order::LastFreed { free, .. } => free.push(key),
            Order::Sorted { .. } | Order::Hashed { .. } => {}
        }
    }

    /// Whether a route that replaces another gets a new key.
    pub fn moves_replaced(&self) -> bool {
        matches!(self, Order::LastFreed { .. })
    }

    /// Starts anew.
    pub fn clear(&mut self) {
        *self = match self {
            Order::FirstFree { .. } => Order::first_free(),
            Order::LastFreed { .. } => Order::last_freed(),
            Order::Sorted { .. } => Order::sorted(),
            Order::Hashed { .. } => Order::hashed(),
        };
    }
}

/// The bucket of a prefix among 65536: what decides the order of rows that Click shows.
fn bucket(prefix: Prefix) -> u64 {
    let addr = prefix.network().to_bits();
    let len = prefix.mask.to_bits().leading_ones();
    let mixed = addr ^ len << 5 ^ (addr >> (len >> 2)).wrapping_sub(len);
    let mixed = mixed ^ mixed >> 23 ^ (mixed >> 15).wrapping_mul(len) ^ (addr >> 17).wrapping_mul(53);
    let subtracted = addr >> 3 ^ mixed.wrapping_shr(len).wrapping_mul(7) ^ (mixed >> 11).wrapping_mul(103);
    let mixed = mixed.wrapping_sub(subtracted);
    u64::from((mixed ^ mixed >> 17) & 0xFFFF)
}

/// The order in which each prefix comes before those that contain it: places of `prefixes`, all different.
///
/// The first that contains no other comes first. Behind each come those that contain no more that is not placed yet, in
/// their order so far, then the next.
pub fn narrow_first(prefixes: &[Prefix]) -> Vec<usize> {
    let masks: Vec<(u32, u32)> =
        prefixes.iter().map(|prefix| (prefix.network().to_bits(), prefix.mask.to_bits())).collect();
    let contains =
        |outer: &(u32, u32), inner: &(u32, u32)| inner.0 & outer.1 == outer.0 && inner.1 & outer.1 == outer.1;
    // How many unplaced prefixes each one contains, itself included.
    let mut n_inside: Vec<usize> =
        masks.iter().map(|outer| masks.iter().filter(|inner| contains(outer, inner)).count()).collect();
    let mut placed = Vec::with_capacity(masks.len());
    let (mut first, mut n_done) = (0, 0);
    while placed.len() < masks.len() {
        while n_inside.get(first).is_some_and(|n| *n != 1) {
            first += 1;
        }
        placed.push(first.min(masks.len() - 1));
        while let Some(place) = placed.get(n_done).copied() {
            n_done += 1;
            n_inside[place] = 0;
            for (outer, mask) in masks.iter().enumerate() {
                if n_inside[outer] > 1 && contains(mask, &masks[place]) {
                    n_inside[outer] -= 1;
                    if n_inside[outer] == 1 {
                        placed.push(outer);
                    }
                }
            }
        }
    }
    placed
}
