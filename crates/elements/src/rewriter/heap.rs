//! Flows ordered by when they end.
//!
//! A binary heap whose keys may lag behind: nearly all packets of a flow only move its end later, and of large heaps the
//! keys are then left alone until they come to the top. Small heaps keep exact keys, so that flows that end at the same
//! millisecond leave in the order of Click's heap.

use super::slab::Slab;

/// Heaps up to this size keep exact keys.
const EXACT: usize = 256;

/// A heap of flow numbers with keys that are at most the flows' expiries.
#[derive(Default)]
pub struct Heap {
    entries: Vec<(i64, u32)>,
}

impl Heap {
    /// Number of flows.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether keys may lag behind.
    #[inline(always)]
    pub fn is_lazy(&self) -> bool {
        self.entries.len() > EXACT
    }

    /// The flow that ends first, and when.
    pub fn first(&mut self, flows: &mut Slab) -> Option<(i64, u32)> {
        loop {
            let (key, idx) = *self.entries.first()?;
            let expiry_ms = flows.get(idx)?.expiry_ms;
            if expiry_ms <= key {
                return Some((key, idx));
            }
            self.set_key(0, expiry_ms);
            self.settle(0, flows);
        }
    }

    /// All flows, in heap order.
    pub fn numbers(&self) -> Vec<u32> {
        self.entries.iter().map(|(_, idx)| *idx).collect()
    }

    /// Adds a flow.
    pub fn push(&mut self, idx: u32, flows: &mut Slab) {
        let Some(flow) = flows.get_mut(idx) else { return };
        flow.place = self.entries.len() as u32;
        self.entries.push((flow.expiry_ms, idx));
        self.rise(self.entries.len() - 1, flows);
    }

    /// Removes the flow at a place.
    pub fn remove(&mut self, place: u32, flows: &mut Slab) {
        let place = place as usize;
        if place >= self.entries.len() {
            return;
        }
        self.entries.swap_remove(place);
        if place < self.entries.len() {
            self.note_place(place, flows);
            self.settle(place, flows);
        }
    }

    /// Notes that the flow at `place` ends at `expiry_ms` instead of `before_ms`.
    pub fn change(&mut self, place: u32, before_ms: i64, expiry_ms: i64, flows: &mut Slab) {
        if expiry_ms < before_ms || !self.is_lazy() {
            self.set_key(place as usize, expiry_ms);
            self.settle(place as usize, flows);
        }
    }

    fn set_key(&mut self, place: usize, key: i64) {
        if let Some(entry) = self.entries.get_mut(place) {
            entry.0 = key;
        }
    }

    fn key(&self, place: usize) -> Option<i64> {
        self.entries.get(place).map(|entry| entry.0)
    }

    fn note_place(&self, place: usize, flows: &mut Slab) {
        if let Some(flow) = self.entries.get(place).and_then(|(_, idx)| flows.get_mut(*idx)) {
            flow.place = place as u32;
        }
    }

    fn swap(&mut self, a: usize, b: usize, flows: &mut Slab) {
        self.entries.swap(a, b);
        self.note_place(a, flows);
        self.note_place(b, flows);
    }

    fn rise(&mut self, mut at: usize, flows: &mut Slab) -> usize {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.key(at) >= self.key(parent) {
                break;
            }
            self.swap(at, parent, flows);
            at = parent;
        }
        at
    }

    /// Moves an entry up or down to where it belongs.
    fn settle(&mut self, at: usize, flows: &mut Slab) {
        let mut at = self.rise(at, flows);
        loop {
            let mut least = at;
            for child in [at * 2 + 1, at * 2 + 2] {
                if self.key(child).is_some_and(|key| Some(key) < self.key(least)) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.swap(at, least, flows);
            at = least;
        }
    }
}
