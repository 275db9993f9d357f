//! A flow set: the mappings of one rewriter, or of several that share a capacity.
//!
//! Every map of every rewriter is a *space* of flow identifiers, so that rewriters that share a set need no more than the
//! set to remove each other's flows.

use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::flow::{Flow, SHIFTED};
use super::flow_id::FlowId;
use super::heap::Heap;
use super::index::{Index, NO_LINK};
use super::listing::Buckets;
use super::sequence::Shifts;
use super::slab::Slab;
use super::timeouts::Timeouts;

/// Heap of the flows that may be removed at any time.
const BEST_EFFORT: usize = 0;
/// Heap of the flows that may not.
const GUARANTEED: usize = 1;

/// A flow set that rewriters share. It is locked once a batch.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<FlowSet>>);

/// Flows, their index and the order in which they end.
pub struct FlowSet {
    /// Most flows in the set.
    pub capacity: i32,
    /// Changes whenever an identifier gains or loses its flow.
    pub generation: u64,
    flows: Slab,
    index: Index,
    keys: [u64; 4],
    heaps: [Heap; 2],
    spaces: Vec<Space>,
    owners: Vec<u32>,
    next_sequence: u64,
    shifts: HashMap<u32, Shifts>,
    /// Places in listings of links that took that of another one: the other's sequence number and direction.
    inherited: HashMap<u32, (u64, u32)>,
}

/// A map of a rewriter.
struct Space {
    timeouts: Timeouts,
    n_entries: u64,
    buckets: Buckets,
}

/// What the rewriter decides of a new flow.
#[derive(Clone, Copy, Debug)]
pub struct NewFlow {
    /// The flow as it arrives, and as it leaves.
    pub ids: [FlowId; 2],
    /// Outputs of the two directions.
    pub outputs: [u16; 2],
    /// The deltas of IP and transport checksum.
    pub deltas: [u16; 2],
    /// The space of identifiers.
    pub space: u16,
    /// IP protocol; 0 for any.
    pub protocol: u8,
    /// Number of the owner in this set.
    pub owner: u32,
}

impl Shared {
    /// An empty set.
    pub fn new() -> Shared {
        Shared(Arc::new(Mutex::new(FlowSet::new())))
    }

    /// The set, for as long as the guard lives.
    #[inline]
    pub fn lock(&self) -> MutexGuard<'_, FlowSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether both are the same set.
    pub fn is(&self, other: &Shared) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl FlowSet {
    fn new() -> FlowSet {
        // Who chooses the flows must not be able to choose which of them collide.
        let state = RandomState::new();
        FlowSet {
            capacity: i32::MAX,
            generation: 0,
            flows: Slab::default(),
            index: Index::new(),
            keys: [1u8, 2, 3, 4].map(|n| state.hash_one(n)),
            heaps: Default::default(),
            spaces: Vec::new(),
            owners: Vec::new(),
            next_sequence: 0,
            shifts: HashMap::new(),
            inherited: HashMap::new(),
        }
    }

    /// Adds a space; `None` if there are too many.
    pub fn add_space(&mut self, timeouts: Timeouts) -> Option<u16> {
        let number = u16::try_from(self.spaces.len()).ok()?;
        self.spaces.push(Space { timeouts, n_entries: 0, buckets: Buckets::default() });
        Some(number)
    }

    /// Adds owners of flows and returns the first one's number.
    pub fn add_owners(&mut self, n: usize) -> u32 {
        let first = self.owners.len() as u32;
        self.owners.resize(self.owners.len() + n, 0);
        first
    }

    /// Number of flows of an owner.
    pub fn count(&self, owner: u32) -> u32 {
        self.owners.get(owner as usize).copied().unwrap_or(0)
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.heaps.iter().map(Heap::len).sum()
    }

    /// The timeouts of a space.
    pub fn timeouts(&self, space: u16) -> Timeouts {
        self.spaces.get(usize::from(space)).map_or(Timeouts::plain(0, 0), |space| space.timeouts)
    }

    /// Keyed hash of an identifier: two rounds of folded multiplication by secret numbers.
    #[inline(always)]
    pub fn hash(&self, id: &FlowId, space: u16) -> u32 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let addresses = u64::from(id.src) << 32 | u64::from(id.dst);
        let ports = u64::from(id.sport) << 48 | u64::from(id.dport) << 32 | u64::from(space);
        let mixed = fold(addresses ^ self.keys[0], ports ^ self.keys[1]);
        let mixed = fold(mixed ^ self.keys[2], self.keys[3] | 1);
        (mixed ^ mixed >> 32) as u32
    }

    /// Starts loading what [`FlowSet::candidate`] reads.
    #[inline(always)]
    pub fn prefetch(&self, hash: u32) {
        self.index.prefetch(hash);
    }

    /// The link that `hash` most likely stands for, whose flow starts loading; [`NO_LINK`] if there is surely none.
    #[inline(always)]
    pub fn candidate(&self, hash: u32) -> u32 {
        let link = self.index.candidate(hash);
        self.flows.prefetch(link >> 1);
        link
    }

    /// Whether a link is that of an identifier.
    #[inline(always)]
    pub fn is(&self, link: u32, id: &FlowId, space: u16) -> bool {
        self.flows
            .get(link >> 1)
            .is_some_and(|flow| flow.ids[link as usize & 1] == *id && flow.space == space && flow.is_used)
    }

    /// The link of an identifier with a known hash; [`NO_LINK`] if there is none.
    #[inline]
    pub fn find_hashed(&self, hash: u32, id: &FlowId, space: u16) -> u32 {
        self.index.find(hash, |link| self.is(link, id, space))
    }

    /// The link of an identifier.
    pub fn find(&self, id: &FlowId, space: u16) -> Option<u32> {
        let link = self.find_hashed(self.hash(id, space), id, space);
        (link != NO_LINK).then_some(link)
    }

    /// The flow of a link.
    #[inline(always)]
    pub fn flow(&self, link: u32) -> Option<&Flow> {
        self.flows.get(link >> 1)
    }

    /// The flow of a link, to be changed; its identifiers, heap and expiry are the set's business.
    #[inline(always)]
    pub fn flow_mut(&mut self, link: u32) -> Option<&mut Flow> {
        self.flows.get_mut(link >> 1)
    }

    /// The shifts of sequence numbers of a flow.
    pub fn shifts(&self, link: u32) -> Option<&Shifts> {
        self.shifts.get(&(link >> 1))
    }

    /// The shifts of sequence numbers of a flow, to be changed.
    pub fn shifts_mut(&mut self, link: u32) -> Option<&mut Shifts> {
        self.shifts.get_mut(&(link >> 1))
    }

    /// Adds to the sequence numbers of a direction of a TCP flow from `trigger` on, for an element that changes payloads.
    pub fn shift(&mut self, link: u32, trigger: u32, delta: i32) -> bool {
        let idx = link >> 1;
        let Some(flow) = self.flows.get_mut(idx).filter(|flow| flow.is_used) else { return false };
        flow.flags |= SHIFTED;
        self.shifts.entry(idx).or_default().add(link as usize & 1, trigger, delta)
    }

    /// Renews a flow after a packet.
    pub fn renew(&mut self, link: u32, now_ms: i64) {
        let Some(flow) = self.flows.get(link >> 1) else { return };
        let Some(space) = self.spaces.get(usize::from(flow.space)) else { return };
        let (is_guaranteed, expiry_ms) = space.timeouts.renewed(flow.state, now_ms);
        self.set_expiry(link >> 1, is_guaranteed, expiry_ms);
    }

    /// Whether the heaps of best-effort and of guaranteed flows leave a flow where it is when it ends later than before.
    #[inline(always)]
    pub fn is_lazy(&self) -> [bool; 2] {
        [self.heaps[BEST_EFFORT].is_lazy(), self.heaps[GUARANTEED].is_lazy()]
    }

    /// Sets when a flow or its guarantee ends.
    #[inline(never)]
    pub fn set_expiry(&mut self, idx: u32, is_guaranteed: bool, expiry_ms: i64) {
        let Some(flow) = self.flows.get_mut(idx) else { return };
        let before_ms = std::mem::replace(&mut flow.expiry_ms, expiry_ms);
        let place = flow.place;
        if flow.is_guaranteed != is_guaranteed {
            self.change_heap(idx, is_guaranteed);
        } else if before_ms != expiry_ms {
            self.heaps[usize::from(is_guaranteed)].change(place, before_ms, expiry_ms, &mut self.flows);
        }
    }

    fn change_heap(&mut self, idx: u32, is_guaranteed: bool) {
        let Some(flow) = self.flows.get_mut(idx) else { return };
        let place = flow.place;
        flow.is_guaranteed = is_guaranteed;
        self.heaps[usize::from(!is_guaranteed)].remove(place, &mut self.flows);
        self.heaps[usize::from(is_guaranteed)].push(idx, &mut self.flows);
    }

    /// Stores a flow and returns its forward link; `None` if there is no room for it.
    ///
    /// A flow whose replies look like the new one's replies is removed. If the set is full, the flow that ends first is
    /// removed, be it the new one.
    pub fn store(&mut self, new: &NewFlow, now_ms: i64) -> Option<u32> {
        let (is_guaranteed, expiry_ms) = self.timeouts(new.space).first(now_ms);
        let idx = self.flows.insert(Flow {
            ids: [new.ids[0], new.ids[1].reverse()],
            expiry_ms,
            sequence: self.next_sequence,
            place: 0,
            owner: new.owner,
            outputs: new.outputs,
            ip_delta: new.deltas[0],
            transport_delta: new.deltas[1],
            space: new.space,
            state: 0,
            reply_anno: 0,
            protocol: new.protocol,
            flags: 0,
            is_guaranteed,
            is_used: true,
        })?;
        self.next_sequence += 1;
        self.enter(idx, 0);
        self.enter(idx, 1);
        self.heaps[usize::from(is_guaranteed)].push(idx, &mut self.flows);
        if let Some(count) = self.owners.get_mut(new.owner as usize) {
            *count += 1;
        }
        if self.len() as u64 > self.capacity.max(0) as u64 && self.make_room(idx, now_ms) {
            return None;
        }
        if let Some(space) = self.spaces.get_mut(usize::from(new.space)) {
            space.buckets.grow(space.n_entries, self.next_sequence);
        }
        Some(idx << 1)
    }

    /// Enters a direction of a flow in the index in place of another one with the same identifier, whose flow ends.
    fn enter(&mut self, idx: u32, direction: u32) {
        let Some(flow) = self.flows.get(idx) else { return };
        let (id, space) = (flow.ids[direction as usize & 1], flow.space);
        let hash = self.hash(&id, space);
        let old = self.index.find(hash, |link| self.is(link, &id, space));
        if old != NO_LINK {
            let place = self.listing_place(old);
            self.leave(hash, old, space);
            self.inherited.extend(place.map(|place| (idx << 1 | direction, place)));
        }
        self.index.insert(hash, idx << 1 | direction);
        self.generation += 1;
        if let Some(space) = self.spaces.get_mut(usize::from(space)) {
            space.n_entries += 1;
        }
        if old != NO_LINK && old >> 1 != idx {
            self.destroy(old >> 1);
        }
    }

    fn leave(&mut self, hash: u32, link: u32, space: u16) {
        if self.index.remove(hash, link) {
            if !self.inherited.is_empty() {
                self.inherited.remove(&link);
            }
            self.generation += 1;
            if let Some(space) = self.spaces.get_mut(usize::from(space)) {
                space.n_entries = space.n_entries.saturating_sub(1);
            }
        }
    }

    /// Removes a flow.
    fn destroy(&mut self, idx: u32) {
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
    fn make_room(&mut self, new: u32, now_ms: i64) -> bool {
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

    /// By what a link is ordered when Click's order is worked out.
    fn listing_place(&self, link: u32) -> Option<(u64, u32)> {
        let own = || self.flow(link).map(|flow| (flow.sequence, link & 1));
        self.inherited.get(&link).copied().or_else(own)
    }

    /// The links of a space in the order in which Click lists them.
    pub fn list(&self, space: u16) -> Vec<u32> {
        let Some(buckets) = self.spaces.get(usize::from(space)).map(|space| &space.buckets) else {
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
        buckets.order(&entries)
    }

    /// Takes over the flows of another set that `place` finds a new owner and space for.
    pub fn take_over(&mut self, old: &FlowSet, place: impl Fn(&Flow) -> Option<(u32, u16)>, now_ms: i64) {
        let mut flows: Vec<(u32, Flow)> = old.flows.iter().map(|(idx, flow)| (idx, *flow)).collect();
        flows.sort_unstable_by_key(|(_, flow)| flow.sequence);
        for (old_idx, flow) in flows {
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
            if let Some(shifts) = old.shifts.get(&old_idx) {
                self.shifts.insert(link >> 1, shifts.clone());
            }
            self.set_expiry(link >> 1, flow.is_guaranteed, flow.expiry_ms);
        }
    }
}

#[cfg(test)]
#[path = "flow_set_tests.rs"]
mod tests;
