//! The table of connections: which backend has a flow, and what its packets become.

use table::flow::FlowTable;
use table::timeout::TimeWheel;
use wire::protocol;

use super::entry::{state_of, Entry, Phase, Refusal, Timeouts, BEYOND_SYN, FIN, NO_ENTRY, RST};
use super::rewrite::Change;
use super::seen::{FlowKey, Seen};

/// Granularity of time-outs.
const TICK_NS: u64 = 100_000_000;
/// Entries looked at in one go when time-outs pass.
const N_VISITS: usize = 4096;

/// The connections.
pub struct Connections {
    table: FlowTable<FlowKey, Entry>,
    /// Deadlines, of client directions.
    wheel: TimeWheel,
    expired: Vec<u32>,
    /// How long they last.
    pub timeouts: Timeouts,
    n_connections: u32,
    capacity: u32,
}

impl Connections {
    /// An empty table for so many connections.
    pub fn new(capacity: u32, timeouts: Timeouts) -> Connections {
        let capacity = capacity.min(1 << 29);
        Connections {
            table: FlowTable::new(capacity * 2),
            wheel: TimeWheel::new(TICK_NS, u32::MAX),
            expired: Vec::with_capacity(N_VISITS),
            timeouts,
            n_connections: 0,
            capacity,
        }
    }

    /// Number of connections.
    pub fn len(&self) -> u32 {
        self.n_connections
    }

    /// How many it takes.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Takes the connections of another table, with its own capacity and time-outs. Those beyond the capacity stay.
    pub fn take_over(&mut self, old: Connections) {
        let (timeouts, capacity) = (self.timeouts, self.capacity);
        *self = Connections { timeouts, capacity, ..old };
        self.table.set_limit(capacity * 2);
    }

    /// Starts loading what a look-up of a key reads; returns the key's hash.
    #[inline(always)]
    pub fn prefetch(&self, key: &FlowKey) -> u64 {
        let hash = self.table.hash_of(key);
        self.table.prefetch(hash);
        hash
    }

    /// Starts loading the entry of a hash; returns where it most likely is.
    #[inline(always)]
    pub fn prefetch_entry(&self, hash: u64) -> u32 {
        self.table.prefetch_entry(hash)
    }

    /// The entry of a key with its hash, which most likely is near.
    #[inline(always)]
    pub fn find_near(&self, near: u32, hash: u64, key: &FlowKey) -> Option<u32> {
        self.table.find_near(near, hash, key)
    }

    /// The entry of a key.
    pub fn find(&self, key: &FlowKey) -> Option<u32> {
        self.table.find(key)
    }

    /// An entry.
    #[inline(always)]
    pub fn get(&self, idx: u32) -> Option<&Entry> {
        self.table.get(idx).map(|(_, entry)| entry)
    }

    /// Each connection by its client direction: index, key and entry.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &FlowKey, &Entry)> {
        self.table.iter().filter(|(_, _, entry)| !entry.change.is_source)
    }

    /// All indexes are below this one.
    pub fn n_numbers(&self) -> u32 {
        self.table.end()
    }

    /// The connection whose client direction has an index.
    pub fn client_entry(&self, idx: u32) -> Option<(&FlowKey, &Entry)> {
        self.table.get(idx).filter(|(_, entry)| !entry.change.is_source)
    }

    /// Lets a connection that was just added go on where it had been, given its client direction: what was seen of it in both
    /// directions, and since when there was no packet. False if its time is over.
    pub fn go_on(&mut self, idx: u32, states: [u8; 2], idle_ms: u32, now_ns: u64) -> bool {
        let peer = self.get(idx).map_or(NO_ENTRY, |entry| entry.peer);
        let seen_ms = milliseconds(now_ns).wrapping_sub(idle_ms);
        for (idx, state) in [idx, peer].into_iter().zip(states) {
            if let Some((_, entry)) = self.table.get_mut(idx) {
                (entry.state, entry.seen_ms) = (state, seen_ms);
            }
        }
        self.reschedule(idx, now_ns);
        self.deadline_ns(idx, now_ns) > now_ns
    }

    /// Adds a connection: the client's packets are changed by `forward`, those of the key `reply` back.
    pub fn insert(
        &mut self,
        key: FlowKey,
        forward: Change,
        reply: Option<(FlowKey, Change)>,
        backend: u16,
        now_ns: u64,
    ) -> Result<u32, Refusal> {
        if reply.is_some_and(|(key, _)| self.table.find(&key).is_some()) {
            return Err(Refusal::Ambiguous);
        }
        if self.n_connections >= self.capacity {
            return Err(Refusal::Full);
        }
        let mut entry = Entry {
            n_bytes: 0,
            n_packets: 0,
            peer: NO_ENTRY,
            seen_ms: milliseconds(now_ns),
            change: forward,
            backend,
            state: 0,
        };
        let idx = self.table.insert(key, entry).map_err(|_| Refusal::Full)?;
        if let Some((key, change)) = reply {
            (entry.change, entry.peer) = (change, idx);
            let peer = match self.table.insert(key, entry) {
                Ok(peer) => peer,
                Err(_) => {
                    self.table.remove(idx);
                    return Err(Refusal::Full);
                }
            };
            if let Some((_, entry)) = self.table.get_mut(idx) {
                entry.peer = peer;
            }
        }
        self.n_connections += 1;
        self.wheel.schedule(idx, self.deadline_ns(idx, now_ns));
        Ok(idx)
    }

    /// Counts a packet of an entry and learns from it.
    #[inline(always)]
    pub fn note(&mut self, idx: u32, seen: &Seen, now_ns: u64) -> Option<&Entry> {
        let (_, entry) = self.table.get_mut(idx)?;
        entry.seen_ms = milliseconds(now_ns);
        entry.n_packets = entry.n_packets.wrapping_add(1);
        entry.n_bytes += u64::from(seen.len);
        if seen.key.protocol == protocol::TCP {
            let state = entry.state | state_of(seen.tcp_flags);
            if state != entry.state {
                entry.state = state;
                self.reschedule(idx, now_ns);
            }
        }
        self.get(idx)
    }

    /// A change of state may bring the deadline nearer.
    #[cold]
    fn reschedule(&mut self, idx: u32, now_ns: u64) {
        let client = self.client_direction(idx);
        self.wheel.schedule(client, self.deadline_ns(client, now_ns));
    }

    /// The index under which a connection has its deadline.
    fn client_direction(&self, idx: u32) -> u32 {
        match self.get(idx) {
            Some(entry) if entry.change.is_source => entry.peer,
            _ => idx,
        }
    }

    /// What a connection is in, given its client direction.
    pub fn phase(&self, idx: u32) -> Phase {
        let Some((key, entry)) = self.table.get(idx) else { return Phase::Done };
        if key.protocol != protocol::TCP {
            return Phase::Udp;
        }
        let back = self.get(entry.peer).map_or(0, |peer| peer.state);
        match () {
            () if (entry.state | back) & RST != 0 || entry.state & back & FIN != 0 => Phase::Done,
            () if (entry.state | back) & FIN != 0 => Phase::Closing,
            () if entry.state & BEYOND_SYN != 0 => Phase::Established,
            () => Phase::Syn,
        }
    }

    /// Whether a SYN begins the connection of this entry anew.
    pub fn is_over(&self, idx: u32) -> bool {
        let client = self.client_direction(idx);
        let is_one_way = self.get(client).is_some_and(|entry| entry.peer == NO_ENTRY);
        match self.phase(client) {
            Phase::Done => true,
            Phase::Closing => is_one_way,
            _ => false,
        }
    }

    /// When a connection ends, given its client direction.
    pub fn deadline_ns(&self, idx: u32, now_ns: u64) -> u64 {
        let timeouts = &self.timeouts;
        let lasts_ms = match self.phase(idx) {
            Phase::Udp => timeouts.udp_ms,
            Phase::Syn => timeouts.syn_ms,
            Phase::Established => timeouts.tcp_ms,
            Phase::Closing => timeouts.fin_ms,
            Phase::Done => timeouts.done_ms,
        };
        // Deadlines in the past count as now.
        now_ns + u64::from(lasts_ms.saturating_sub(self.idle_ms(idx, now_ns))) * 1_000_000
    }

    /// The milliseconds since a connection's last packet, given its client direction.
    pub fn idle_ms(&self, idx: u32, now_ns: u64) -> u32 {
        let ago_ms = |entry: &Entry| milliseconds(now_ns).wrapping_sub(entry.seen_ms);
        let entry = self.get(idx);
        let peer = entry.and_then(|entry| self.get(entry.peer));
        entry.into_iter().chain(peer).map(ago_ms).min().unwrap_or(u32::MAX)
    }

    /// Removes a connection by either of its entries; returns its backend.
    pub fn remove(&mut self, idx: u32) -> Option<u16> {
        let client = self.client_direction(idx);
        let (_, entry) = self.table.remove(client)?;
        self.wheel.cancel(client);
        self.table.remove(entry.peer);
        self.n_connections = self.n_connections.saturating_sub(1);
        Some(entry.backend)
    }

    /// Ends connections whose time is over and tells the backend of each. Returns when to come again, if there is a reason.
    pub fn expire(&mut self, now_ns: u64, mut ended: impl FnMut(u16)) -> Option<u64> {
        let mut expired = std::mem::take(&mut self.expired);
        expired.clear();
        let is_done = self.wheel.advance(now_ns, N_VISITS, &mut expired);
        for idx in expired.drain(..) {
            let deadline_ns = self.deadline_ns(idx, now_ns);
            if deadline_ns > now_ns {
                self.wheel.schedule(idx, deadline_ns);
            } else if let Some(backend) = self.remove(idx) {
                ended(backend);
            }
        }
        self.expired = expired;
        if is_done {
            self.wheel.next_ns()
        } else {
            Some(now_ns)
        }
    }

    /// When to call [`Connections::expire`] next.
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }
}

fn milliseconds(now_ns: u64) -> u32 {
    (now_ns / 1_000_000) as u32
}
