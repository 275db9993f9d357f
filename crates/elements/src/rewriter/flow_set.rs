//! A flow set: the mappings of one rewriter, or of several that share a capacity.
//!
//! Every map of every rewriter is a *space* of flow identifiers, so that rewriters that share a set need no more than the
//! set to remove each other's flows.

use std::collections::hash_map::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use table::chained::Growth;

use super::flow::{Flow, SHIFTED};
use super::flow_id::FlowId;
use super::heap::Heap;
use super::index::{Index, NO_LINK};
use super::sequence::Shifts;
use super::slab::Slab;
use super::timeouts::Timeouts;

mod listing;
mod removal;

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
    /// How often Click would have looked at the clock to make room, since somebody took that.
    pub n_looks: u32,
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
    growth: Growth,
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
            n_looks: 0,
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
        self.spaces.push(Space { timeouts, n_entries: 0, growth: Growth::new(1) });
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
        if self.len() as u64 > self.capacity.max(0) as u64 {
            self.n_looks += 1;
            if self.make_room(idx, now_ms) {
                return None;
            }
        }
        if let Some(space) = self.spaces.get_mut(usize::from(new.space)) {
            space.growth.grow(space.n_entries, self.next_sequence);
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
}

#[cfg(test)]
#[path = "flow_set_tests.rs"]
mod tests;
