//! Flows: who began, what was set, and both streams. There are never more than a limit.

use std::hash::{Hash, Hasher};

use table::flow::FlowTable;

use crate::memory::Memory;
use crate::packet::View;
use crate::stream::{Stream, StreamCounts};

const SECOND_NS: i64 = 1_000_000_000;
/// Flows that are looked at for having ended when one begins.
const N_SWEPT: u32 = 4;
/// Flows that are looked at to find one that was not used lately.
const N_LOOKS: u32 = 32;
/// Most bits that are set in a flow.
const MAX_BITS: usize = 14;

/// Both ends of a flow, in one order for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    low: (u128, u16),
    high: (u128, u16),
    protocol: u8,
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(self.low.0);
        state.write_u128(self.high.0);
        let ports = u64::from(self.low.1) << 16 | u64::from(self.high.1);
        state.write_u64(ports << 8 | u64::from(self.protocol));
    }
}

impl Key {
    /// A packet's flow, and whether its source is the higher end.
    #[inline]
    pub fn of(view: &View<'_>) -> (Key, bool) {
        let (from, to) = ((view.source, view.source_port), (view.destination, view.destination_port));
        match from <= to {
            true => (Key { low: from, high: to, protocol: view.transport }, false),
            false => (Key { low: to, high: from, protocol: view.transport }, true),
        }
    }
}

/// The named bits that are set in a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bits {
    set: [u16; MAX_BITS],
    n_set: u8,
}

impl Bits {
    /// Whether a bit is set.
    pub fn has(&self, bit: u16) -> bool {
        self.set.iter().take(usize::from(self.n_set)).any(|set| *set == bit)
    }

    /// Sets a bit; one too many is not set.
    pub fn set(&mut self, bit: u16) {
        if self.has(bit) {
            return;
        }
        if let Some(place) = self.set.get_mut(usize::from(self.n_set)) {
            *place = bit;
            self.n_set += 1;
        }
    }

    /// Unsets a bit.
    pub fn unset(&mut self, bit: u16) {
        let found = self.set.iter().take(usize::from(self.n_set)).position(|set| *set == bit);
        if let Some(idx) = found {
            self.n_set -= 1;
            self.set.swap(idx, usize::from(self.n_set));
        }
    }
}

/// How far a flow has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Only one side has sent.
    #[default]
    New,
    /// Both sides have.
    Established,
    /// TCP: it ended, or was reset.
    Closed,
}

/// A flow.
#[derive(Debug, Default)]
pub struct Flow {
    /// Its number, from 1.
    pub number: u64,
    /// Whether the client is the higher end.
    pub client_is_high: bool,
    /// How far it has come.
    pub phase: Phase,
    /// Which ends have sent, and which have sent FIN.
    pub has_sent: [bool; 2],
    /// See `has_sent`.
    pub has_finished: [bool; 2],
    /// Which end has sent data last, 2 for none.
    pub spoke_last: u8,
    /// Whether a rule drops all that is still to come.
    pub is_dropped: bool,
    /// Bits that rules have set.
    pub bits: Bits,
    /// What each end has sent.
    pub streams: [Stream; 2],
    last_ns: i64,
    was_used: bool,
}

impl Flow {
    fn timeout_ns(&self, protocol: u8) -> i64 {
        let seconds = match (protocol, self.phase) {
            (wire::protocol::TCP, Phase::Established) => 600,
            (wire::protocol::TCP, _) => 60,
            (_, Phase::Established) => 300,
            _ => 30,
        };
        seconds * SECOND_NS
    }
}

/// The flows.
pub struct Flows {
    table: FlowTable<Key, Flow>,
    /// The memory of their streams.
    pub memory: Memory,
    /// What happened to their streams.
    pub counts: StreamCounts,
    /// Flows that ended early because there were too many, or too little memory.
    pub n_evicted: u64,
    n_begun: u64,
    hand: u32,
    /// One more than the highest index in use so far.
    n_slots: u32,
}

impl Flows {
    /// No flow, at most `limit`, with so many bytes for their streams.
    pub fn new(limit: u32, stream_memory: usize) -> Flows {
        Flows {
            table: FlowTable::new(limit.max(1)),
            memory: Memory::new(stream_memory),
            counts: StreamCounts::default(),
            n_evicted: 0,
            n_begun: 0,
            hand: 0,
            n_slots: 0,
        }
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The flow at an index.
    #[inline]
    pub fn parts(&mut self, idx: u32) -> Option<(&mut Flow, &mut Memory, &mut StreamCounts)> {
        let (_, flow) = self.table.get_mut(idx)?;
        Some((flow, &mut self.memory, &mut self.counts))
    }

    /// The flow of a packet, which may begin with it. A flow that was silent for too long is another one.
    #[inline]
    pub fn of(&mut self, key: &Key, now_ns: i64) -> Option<u32> {
        let hash = self.table.hash_of(key);
        if let Some(idx) = self.table.find_hashed(hash, key) {
            let (_, flow) = self.table.get_mut(idx)?;
            if now_ns.saturating_sub(flow.last_ns) <= flow.timeout_ns(key.protocol) {
                (flow.last_ns, flow.was_used) = (now_ns, true);
                return Some(idx);
            }
            self.end(idx);
        }
        self.begin(hash, *key, now_ns)
    }

    #[inline(never)]
    fn begin(&mut self, hash: u64, key: Key, now_ns: i64) -> Option<u32> {
        for _ in 0..N_SWEPT.min(self.n_slots) {
            let idx = self.turn();
            let ended = self.table.get_mut(idx).is_some_and(|(key, flow)| {
                // Where the clock was set back, no flow waits for it.
                flow.last_ns = flow.last_ns.min(now_ns);
                now_ns.saturating_sub(flow.last_ns) > flow.timeout_ns(key.protocol)
            });
            if ended {
                self.end(idx);
            }
        }
        if self.table.is_full() {
            self.evict(|_, _| true);
        }
        self.n_begun += 1;
        let flow = Flow { number: self.n_begun, last_ns: now_ns, spoke_last: 2, ..Flow::default() };
        let idx = self.table.insert_hashed(hash, key, flow).ok()?;
        self.n_slots = self.n_slots.max(idx + 1);
        Some(idx)
    }

    /// Sees to it that a stream can get a block, at the expense of flows that were not used lately; not of this one.
    pub fn make_room(&mut self, own: u32) {
        for _ in 0..2 {
            if self.memory.is_full() {
                self.evict(|idx, flow| idx != own && flow.streams.iter().any(Stream::has_memory));
            }
        }
    }

    /// The next index of the round that looks for flows to end.
    fn turn(&mut self) -> u32 {
        self.hand = if self.hand + 1 < self.n_slots { self.hand + 1 } else { 0 };
        self.hand
    }

    /// Ends a flow that was not used since the last round, or else the last one looked at.
    fn evict(&mut self, may_end: impl Fn(u32, &Flow) -> bool) {
        let mut chosen = None;
        for _ in 0..N_LOOKS {
            let idx = self.turn();
            let Some((_, flow)) = self.table.get_mut(idx) else { continue };
            if !may_end(idx, flow) {
                continue;
            }
            chosen = Some(idx);
            if !std::mem::take(&mut flow.was_used) {
                break;
            }
        }
        if let Some(idx) = chosen {
            self.n_evicted += 1;
            self.end(idx);
        }
    }

    fn end(&mut self, idx: u32) {
        if let Some((_, mut flow)) = self.table.remove(idx) {
            for stream in &mut flow.streams {
                stream.clear(&mut self.memory, &mut self.counts);
            }
        }
    }

    /// A new connection between the same ends takes the place of one that has ended.
    pub fn renew(&mut self, idx: u32, now_ns: i64) {
        self.n_begun += 1;
        let number = self.n_begun;
        let Some((flow, memory, counts)) = self.parts(idx) else { return };
        flow.streams.iter_mut().for_each(|stream| stream.clear(memory, counts));
        *flow = Flow { number, last_ns: now_ns, spoke_last: 2, ..Flow::default() };
    }

    /// Forgets what rules have left behind in streams, for new rules.
    pub fn forget_marks(&mut self) {
        for (_, _, flow) in self.table.iter_mut() {
            flow.streams.iter_mut().for_each(Stream::forget_marks);
        }
    }

    /// Sets how many flows there may be, and how many bytes for their streams; those that are too many end.
    pub fn set_limits(&mut self, limit: u32, stream_memory: usize) {
        let limit = limit.max(1);
        self.table.set_limit(limit);
        self.memory.set_limit(stream_memory);
        let indexes: Vec<u32> = self.table.iter().map(|(idx, ..)| idx).collect();
        let n_too_many = indexes.len().saturating_sub(limit as usize);
        for idx in indexes.into_iter().take(n_too_many) {
            self.n_evicted += 1;
            self.end(idx);
        }
    }
}
