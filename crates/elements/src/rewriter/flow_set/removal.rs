//! How flows leave a flow set: by time, for want of room, with their owner.

use super::super::flow::SHIFTED;
use super::super::heap::Heap;
use super::{FlowSet, BEST_EFFORT, GUARANTEED};

impl FlowSet {
    /// Removes a flow.
    pub(super) fn destroy(&mut self, idx: u32) {
        let Some(flow) = self.flows.get(idx).filter(|flow| flow.is_used).copied() else { return };
        self.heaps[usize::from(flow.is_guaranteed)].remove(flow.place, &mut self.flows);
        if let Some(count) = self.owners.get_mut(flow.owner as usize) {
            *count = count.saturating_sub(1);
        }
        for direction in 0..2u32 {
            let hash = self.hash(&flow.ids[direction as usize], flow.space);
            self.leave(hash, idx << 1 | direction, flow.space);
        }
        if flow.flags & SHIFTED != 0 {
            self.shifts.remove(&idx);
        }
        self.flows.remove(idx);
    }

    /// Lets flows whose guarantee is over be removed.
    fn end_guarantees(&mut self, now_ms: i64) {
        while let Some((expiry_ms, idx)) = self.heaps[GUARANTEED].first(&mut self.flows) {
            if now_ms < expiry_ms {
                break;
            }
            let Some(flow) = self.flows.get(idx) else { break };
            let expiry_ms = self.timeouts(flow.space).best_effort_expiry(flow);
            self.set_expiry(idx, false, expiry_ms);
        }
    }

    /// Removes the flow that ends first for the sake of a new one; if all others are guaranteed, the new one itself.
    /// True if it is that.
    pub(super) fn make_room(&mut self, new: u32, now_ms: i64) -> bool {
        self.end_guarantees(now_ms);
        let dead = self.heaps[BEST_EFFORT].first(&mut self.flows).map_or(new, |(_, idx)| idx);
        self.destroy(dead);
        dead == new
    }

    /// Removes what has expired, and what is beyond the capacity.
    pub fn shrink(&mut self, now_ms: i64) {
        self.shrink_to(now_ms, self.capacity);
    }

    /// Removes all flows, those of other rewriters too.
    pub fn clear(&mut self, now_ms: i64) {
        self.shrink_to(now_ms, 0);
    }

    fn shrink_to(&mut self, now_ms: i64, capacity: i32) {
        self.end_guarantees(now_ms);
        while let Some((expiry_ms, idx)) = self.heaps[BEST_EFFORT].first(&mut self.flows) {
            if now_ms < expiry_ms {
                break;
            }
            self.destroy(idx);
        }
        while self.len() as u64 > capacity.max(0) as u64 {
            let which = usize::from(self.heaps[BEST_EFFORT].len() == 0);
            let Some((_, idx)) = self.heaps[which].first(&mut self.flows) else { break };
            self.destroy(idx);
        }
    }

    /// Removes all flows of an owner.
    pub fn destroy_owned(&mut self, owner: u32) {
        let numbers = self.heaps.iter().flat_map(Heap::numbers);
        let owned: Vec<u32> =
            numbers.filter(|idx| self.flows.get(*idx).is_some_and(|flow| flow.owner == owner)).collect();
        for idx in owned {
            self.destroy(idx);
        }
    }
}
