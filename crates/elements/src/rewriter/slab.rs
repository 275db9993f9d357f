//! Storage for flows, each under a number that stays the same while it lives.
//!
//! Flows lie in segments, so that growth moves none of them.

use table::prefetch::prefetch;

use super::flow::Flow;

const SEGMENT_SHIFT: u32 = 10;
const SEGMENT: usize = 1 << SEGMENT_SHIFT;

/// The flows.
#[derive(Default)]
pub struct Slab {
    segments: Vec<Vec<Flow>>,
    free: Vec<u32>,
    n_ever: u32,
}

impl Slab {
    /// The flow with this number.
    #[inline(always)]
    pub fn get(&self, idx: u32) -> Option<&Flow> {
        self.segments.get((idx >> SEGMENT_SHIFT) as usize)?.get(idx as usize & (SEGMENT - 1))
    }

    /// The flow with this number, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, idx: u32) -> Option<&mut Flow> {
        self.segments.get_mut((idx >> SEGMENT_SHIFT) as usize)?.get_mut(idx as usize & (SEGMENT - 1))
    }

    /// Starts loading a flow.
    #[inline(always)]
    pub fn prefetch(&self, idx: u32) {
        if let Some(flow) = self.get(idx) {
            prefetch(flow);
        }
    }

    /// Stores a flow; `None` if there are 2^30 of them.
    pub fn insert(&mut self, flow: Flow) -> Option<u32> {
        if let Some(idx) = self.free.pop() {
            *self.get_mut(idx)? = flow;
            return Some(idx);
        }
        let idx = self.n_ever;
        if idx >= 1 << 30 {
            return None;
        }
        if idx as usize & (SEGMENT - 1) == 0 {
            self.segments.push(Vec::with_capacity(SEGMENT));
        }
        self.segments.last_mut()?.push(flow);
        self.n_ever += 1;
        Some(idx)
    }

    /// Forgets a flow; its number is used again.
    pub fn remove(&mut self, idx: u32) {
        if let Some(flow) = self.get_mut(idx).filter(|flow| flow.is_used) {
            flow.is_used = false;
            self.free.push(idx);
        }
    }

    /// How many numbers there are, those of forgotten flows included.
    pub fn n_numbers(&self) -> usize {
        self.n_ever as usize
    }

    /// All flows with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &Flow)> {
        (0..).zip(self.segments.iter().flatten()).filter(|(_, flow)| flow.is_used)
    }
}
