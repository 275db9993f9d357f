//! The flow cache: flows of one IP version, their counts and their time-outs.

use table::flow::FlowTable;
use table::timeout::TimeWheel;

use super::key::{FlowKey, Key, Reversible};
use super::sight::Sighting;

/// How exactly silent flows are ended.
const TICK_NS: u64 = 1_000_000;
/// Flows of which the one that was silent for the longest time makes room.
const N_CANDIDATES: usize = 8;
const FIN_OR_RST: u8 = 0x01 | 0x04;

/// Why a flow ended (RFC 5102, `flowEndReason`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Idle = 1,
    Active = 2,
    EndSeen = 3,
    Forced = 4,
    NoRoom = 5,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub n_octets: u64,
    /// The least and the greatest time of its packets.
    pub first_ns: i64,
    pub last_ns: i64,
    /// When its first and its latest packet came, by the monitor's time, which never goes backwards.
    begun_ns: i64,
    seen_ns: i64,
    pub n_packets: u32,
    pub egress: u16,
    pub tcp_flags: u8,
}

/// A flow that has ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    pub key: FlowKey,
    pub flow: Flow,
    /// The flow in the other direction, if both make one record.
    pub back: Option<Flow>,
    pub reason: Reason,
}

/// When flows end, and whether both directions end together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub active_ns: i64,
    pub idle_ns: i64,
    /// How long a flow lives on that has had a FIN or RST.
    pub tcp_end_ns: Option<i64>,
    pub is_biflow: bool,
}

/// Flows whose keys have `N` words.
pub struct Cache<const N: usize> {
    table: FlowTable<Key<N>, Flow>,
    /// No flow's deadline is later here than it is; where it is earlier, it is looked at and put on.
    wheel: TimeWheel,
    /// Where the search for a flow to make room goes on.
    hand: u32,
    expired: Vec<u32>,
}

impl Flow {
    fn begin(sighting: &Sighting, now_ns: i64) -> Flow {
        Flow {
            n_octets: sighting.n_octets.into(),
            first_ns: sighting.time_ns,
            last_ns: sighting.time_ns,
            begun_ns: now_ns,
            seen_ns: now_ns,
            n_packets: 1,
            egress: sighting.egress,
            tcp_flags: sighting.tcp_flags,
        }
    }

    #[inline(always)]
    fn add(&mut self, sighting: &Sighting, now_ns: i64) {
        self.n_octets = self.n_octets.wrapping_add(sighting.n_octets.into());
        self.n_packets = self.n_packets.wrapping_add(1);
        self.first_ns = self.first_ns.min(sighting.time_ns);
        self.last_ns = self.last_ns.max(sighting.time_ns);
        self.seen_ns = now_ns;
        self.tcp_flags |= sighting.tcp_flags;
    }

    fn is_closing(&self) -> bool {
        self.tcp_flags & FIN_OR_RST != 0
    }

    /// When the flow ends unless a packet comes, and why; with the flow that answers it, both end together.
    #[inline(always)]
    fn deadline(&self, back: Option<&Flow>, rules: &Rules) -> (i64, Reason) {
        let (mut begun_ns, mut seen_ns, mut is_closing) = (self.begun_ns, self.seen_ns, self.is_closing());
        if let Some(back) = back {
            begun_ns = begun_ns.min(back.begun_ns);
            seen_ns = seen_ns.max(back.seen_ns);
            is_closing |= back.is_closing();
        }
        let silent = match rules.tcp_end_ns {
            Some(tcp_end_ns) if is_closing && tcp_end_ns < rules.idle_ns => (tcp_end_ns, Reason::EndSeen),
            _ => (rules.idle_ns, Reason::Idle),
        };
        let silent_at = seen_ns.saturating_add(silent.0);
        let active_at = begun_ns.saturating_add(rules.active_ns);
        if self.n_packets == u32::MAX {
            (i64::MIN, Reason::NoRoom)
        } else if active_at < silent_at {
            (active_at, Reason::Active)
        } else {
            (silent_at, silent.1)
        }
    }
}

impl<const N: usize> Cache<N>
where
    Key<N>: Reversible,
{
    /// An empty cache that never holds more than `capacity` flows.
    pub fn new(capacity: u32) -> Cache<N> {
        let wheel = TimeWheel::new(TICK_NS, capacity);
        Cache { table: FlowTable::new(capacity), wheel, hand: 0, expired: Vec::new() }
    }

    /// The number of flows.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Starts loading what [`Cache::prefetch_flow`] reads; yields the hash of the key.
    #[inline(always)]
    pub fn prefetch(&self, key: &Key<N>) -> u64 {
        let hash = self.table.hash_of(key);
        self.table.prefetch(hash);
        hash
    }

    /// Starts loading the flow of a key with this hash; yields where it most likely is.
    #[inline(always)]
    pub fn prefetch_flow(&self, hash: u64) -> u32 {
        self.table.prefetch_entry(hash)
    }

    /// Counts a packet in its flow, if that is where it most likely is and nothing else is to be done.
    #[inline(always)]
    pub fn add(&mut self, key: &Key<N>, near: u32, sighting: &Sighting, rules: &Rules, now_ns: i64) -> bool {
        let Some((_, flow)) = self.table.get_mut(near).filter(|(known, _)| *known == key) else {
            return false;
        };
        let closes = sighting.tcp_flags & FIN_OR_RST != 0 && rules.tcp_end_ns.is_some();
        if closes || flow.deadline(None, rules).0 <= now_ns {
            return false;
        }
        flow.add(sighting, now_ns);
        true
    }

    /// Counts a packet in its flow, if there is one, and ends the flow before or after it where it is due.
    #[inline(never)]
    pub fn add_and_end(
        &mut self,
        key: &Key<N>,
        sighting: &Sighting,
        rules: &Rules,
        now_ns: i64,
        ended: &mut dyn FnMut(Ended),
    ) -> bool {
        let Some(idx) = self.table.find(key) else { return false };
        if self.end_if_due(idx, rules, now_ns, ended) {
            return false;
        }
        if let Some((_, flow)) = self.table.get_mut(idx) {
            flow.add(sighting, now_ns);
        }
        self.end_if_due(idx, rules, now_ns, ended);
        true
    }

    /// Begins a flow. The caller has made room.
    pub fn begin(
        &mut self,
        key: Key<N>,
        sighting: &Sighting,
        rules: &Rules,
        now_ns: i64,
        ended: &mut dyn FnMut(Ended),
    ) {
        if self.wheel.is_empty() {
            // Nothing is due, and the wheel need not go the whole way from its beginning with a flow in it.
            self.wheel.advance(wheel_ns(now_ns), 1, &mut self.expired);
        }
        if let Ok(idx) = self.table.insert(key, Flow::begin(sighting, now_ns)) {
            self.end_if_due(idx, rules, now_ns, ended);
        }
    }

    /// Ends flows that are due; `false` if there was more to do than `n_visits` allowed.
    pub fn advance(
        &mut self,
        now_ns: i64,
        n_visits: usize,
        rules: &Rules,
        ended: &mut dyn FnMut(Ended),
    ) -> bool {
        let mut expired = std::mem::take(&mut self.expired);
        let is_done = self.wheel.advance(wheel_ns(now_ns), n_visits, &mut expired);
        for idx in expired.drain(..) {
            self.end_if_due(idx, rules, now_ns, ended);
        }
        self.expired = expired;
        is_done
    }

    /// Ends the flow that was silent for the longest time, of a few that are next in line.
    pub fn make_room(&mut self, rules: &Rules, ended: &mut dyn FnMut(Ended)) {
        let mut oldest: Option<(i64, u32)> = None;
        let mut next = 0;
        let behind = self.table.iter_from(self.hand).chain(self.table.iter());
        for (idx, _, flow) in behind.take(N_CANDIDATES) {
            next = idx.saturating_add(1);
            if oldest.is_none_or(|(seen_ns, _)| flow.seen_ns < seen_ns) {
                oldest = Some((flow.seen_ns, idx));
            }
        }
        self.hand = next;
        if let Some((_, idx)) = oldest {
            self.end(idx, Reason::NoRoom, rules, ended);
        }
    }

    /// Ends some flows, the next ones by their places.
    pub fn end_some(&mut self, rules: &Rules, ended: &mut dyn FnMut(Ended)) {
        const N_AT_ONCE: usize = 256;
        let mut found = std::mem::take(&mut self.expired);
        let places = self.table.iter_from(self.hand).take(N_AT_ONCE);
        found.extend(places.map(|(idx, ..)| idx));
        self.hand = found.last().map_or(0, |idx| idx.saturating_add(1));
        for idx in found.drain(..) {
            self.end(idx, Reason::Forced, rules, ended);
        }
        self.expired = found;
    }

    /// The flows in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (FlowKey, &Flow)> {
        self.table.iter().map(|(_, key, flow)| (key.wrap(), flow))
    }

    /// Ends a flow whose time has come, else makes sure that it is looked at when that is.
    fn end_if_due(&mut self, idx: u32, rules: &Rules, now_ns: i64, ended: &mut dyn FnMut(Ended)) -> bool {
        let Some((key, flow)) = self.table.get(idx) else { return false };
        let back = self.back(key, rules).and_then(|idx| self.table.get(idx)).map(|(_, back)| back);
        let (at_ns, reason) = flow.deadline(back, rules);
        if at_ns <= now_ns {
            self.end(idx, reason, rules, ended);
            return true;
        }
        if self.wheel.deadline_ns(idx).is_none_or(|known| wheel_ns(at_ns) < known) {
            self.wheel.schedule(idx, wheel_ns(at_ns));
        }
        false
    }

    /// Ends a flow, and with it the one that answers it if both make one record.
    fn end(&mut self, idx: u32, reason: Reason, rules: &Rules, ended: &mut dyn FnMut(Ended)) {
        let Some((key, flow)) = self.table.remove(idx) else { return };
        self.wheel.cancel(idx);
        let back = self.back(&key, rules).and_then(|idx| {
            self.wheel.cancel(idx);
            self.table.remove(idx)
        });
        let ended_flow = match back {
            // RFC 5103, section 5: the direction is that of the packet that came first.
            Some((back_key, back)) if (back.begun_ns, back.first_ns) < (flow.begun_ns, flow.first_ns) => {
                Ended { key: back_key.wrap(), flow: back, back: Some(flow), reason }
            }
            back => Ended { key: key.wrap(), flow, back: back.map(|(_, back)| back), reason },
        };
        ended(ended_flow);
    }

    /// The flow that answers the flow with this key, if both make one record.
    fn back(&self, key: &Key<N>, rules: &Rules) -> Option<u32> {
        if !rules.is_biflow {
            return None;
        }
        let reversed = key.reversed();
        if reversed == *key {
            return None;
        }
        self.table.find(&reversed)
    }
}

fn wheel_ns(at_ns: i64) -> u64 {
    at_ns.max(0) as u64
}
