//! What is in a flow set: the mappings in Click's order, and all flows for a set that takes them over.

use std::ops::Range;

use super::super::flow::{Flow, SHIFTED};
use super::super::flow_id::FlowId;
use super::super::sequence::Shifts;
use super::{FlowSet, NewFlow};

impl FlowSet {
    /// By what a link is ordered when Click's order is worked out.
    pub(super) fn listing_place(&self, link: u32) -> Option<(u64, u32)> {
        let own = || self.flow(link).map(|flow| (flow.sequence, link & 1));
        self.inherited.get(&link).copied().or_else(own)
    }

    /// The links of a space in the order in which Click lists them.
    pub fn list(&self, space: u16) -> Vec<u32> {
        let Some(growth) = self.spaces.get(usize::from(space)).map(|space| &space.growth) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (idx, flow) in self.flows.iter().filter(|(_, flow)| flow.space == space) {
            for direction in 0..2u32 {
                let id = flow.ids[direction as usize];
                let link = idx << 1 | direction;
                let place = self.listing_place(link).filter(|_| self.find(&id, space) == Some(link));
                entries.extend(place.map(|place| (place, link, id)));
            }
        }
        entries.sort_unstable_by_key(|(place, ..)| *place);
        growth.order(entries.into_iter().map(|((sequence, _), link, id)| (sequence, click_hash(&id), link)))
    }

    /// The flows whose numbers are in a range, and their forward links.
    pub fn numbered(&self, range: Range<usize>) -> impl Iterator<Item = (u32, &Flow)> {
        let numbers = range.start..range.end.min(self.n_numbers());
        let flows = numbers.filter_map(|idx| Some((idx as u32 * 2, self.flows.get(idx as u32)?)));
        flows.filter(|(_, flow)| flow.is_used)
    }

    /// How many numbers flows have had at most; some may be free.
    pub fn n_numbers(&self) -> usize {
        self.flows.n_numbers()
    }

    /// Lets a flow have shifts that it had before.
    pub fn set_shifts(&mut self, link: u32, shifts: Shifts) {
        let idx = link >> 1;
        if let Some(flow) = self.flows.get_mut(idx).filter(|flow| flow.is_used) {
            flow.flags |= SHIFTED;
            self.shifts.insert(idx, shifts);
        }
    }

    /// Takes the flows of some owners out, the oldest first, with the shifts of their sequence numbers.
    pub fn take_out(&mut self, owners: Range<u32>) -> Vec<(Flow, Option<Shifts>)> {
        let owned = self.flows.iter().filter(|(_, flow)| flow.is_used && owners.contains(&flow.owner));
        let mut owned: Vec<(u32, Flow)> = owned.map(|(idx, flow)| (idx, *flow)).collect();
        owned.sort_unstable_by_key(|(_, flow)| flow.sequence);
        let with_shifts = owned.into_iter().map(|(idx, flow)| {
            let shifts = self.shifts.get(&idx).cloned();
            self.destroy(idx);
            (flow, shifts)
        });
        with_shifts.collect()
    }

    /// Puts flows in that were taken out, as far as `place` finds a new owner and space for them.
    pub fn take_over(
        &mut self,
        flows: Vec<(Flow, Option<Shifts>)>,
        place: impl Fn(&Flow) -> Option<(u32, u16)>,
        now_ms: i64,
    ) {
        for (flow, shifts) in flows {
            let Some((owner, space)) = place(&flow) else { continue };
            let new = NewFlow {
                ids: [flow.ids[0], flow.ids[1].reverse()],
                outputs: flow.outputs,
                deltas: [flow.ip_delta, flow.transport_delta],
                space,
                protocol: flow.protocol,
                owner,
            };
            let Some(link) = self.store(&new, now_ms) else { continue };
            if let Some(kept) = self.flow_mut(link) {
                kept.state = flow.state;
                kept.reply_anno = flow.reply_anno;
                kept.flags = flow.flags;
            }
            if let Some(shifts) = shifts {
                self.set_shifts(link, shifts);
            }
            self.set_expiry(link >> 1, flow.is_guaranteed, flow.expiry_ms);
        }
    }
}

/// Click's hash of a flow identifier.
fn click_hash(id: &FlowId) -> u32 {
    let (src, dst) = (id.src.swap_bytes(), id.dst.swap_bytes());
    let src = src.rotate_left(u32::from(id.sport % 16) + 1);
    let dst = dst.rotate_left(31 - u32::from(id.dport % 16));
    src ^ dst ^ (u32::from(id.dport) << 16 | u32::from(id.sport))
}
