//! Clients that come back to the backend that they had.

use table::flow::FlowTable;
use table::timeout::TimeWheel;

const TICK_NS: u64 = 100_000_000;
const N_VISITS: usize = 4096;

/// A client of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    /// Source address.
    pub address: u32,
    /// Number of the service.
    pub service: u16,
}

/// The backends of clients that were seen lately.
pub struct Affinity {
    table: FlowTable<Client, u16>,
    wheel: TimeWheel,
    expired: Vec<u32>,
    /// How long after its last new flow a client comes back; 0 for not at all.
    pub timeout_ms: u32,
}

impl Affinity {
    /// For so many clients.
    pub fn new(capacity: u32, timeout_ms: u32) -> Affinity {
        let wheel = TimeWheel::new(TICK_NS, u32::MAX);
        Affinity { table: FlowTable::new(capacity), wheel, expired: Vec::with_capacity(N_VISITS), timeout_ms }
    }

    /// Takes the clients of another table.
    pub fn take_over(&mut self, old: Affinity) {
        let (limit, timeout_ms) = (self.table.limit(), self.timeout_ms);
        *self = Affinity { timeout_ms, ..old };
        self.table.set_limit(limit);
    }

    /// The backend that a client had.
    pub fn find(&self, client: &Client) -> Option<u16> {
        let idx = self.table.find(client)?;
        self.table.get(idx).map(|(_, backend)| *backend)
    }

    /// Remembers the backend of a client, as far as there is room.
    pub fn note(&mut self, client: Client, backend: u16, now_ns: u64) {
        self.go_on(client, backend, self.timeout_ms, now_ns);
    }

    /// All numbers of clients are below this one.
    pub fn n_numbers(&self) -> u32 {
        self.table.end()
    }

    /// The client of a number, its backend, and until when it comes back.
    pub fn numbered(&self, idx: u32) -> Option<(Client, u16, u64)> {
        let (client, backend) = self.table.get(idx)?;
        Some((*client, *backend, self.wheel.deadline_ns(idx)?))
    }

    /// Remembers the backend of a client that comes back for so long yet, as far as there is room.
    pub fn go_on(&mut self, client: Client, backend: u16, left_ms: u32, now_ns: u64) {
        let left_ms = left_ms.min(self.timeout_ms);
        if left_ms > 0 {
            if let Ok(idx) = self.table.insert(client, backend) {
                self.wheel.schedule(idx, now_ns.saturating_add(u64::from(left_ms) * 1_000_000));
            }
        }
    }

    /// Forgets clients whose time is over. Returns when to come again, if there is a reason.
    pub fn expire(&mut self, now_ns: u64) -> Option<u64> {
        self.expired.clear();
        let is_done = self.wheel.advance(now_ns, N_VISITS, &mut self.expired);
        for idx in self.expired.drain(..) {
            self.table.remove(idx);
        }
        if is_done {
            self.wheel.next_ns()
        } else {
            Some(now_ns)
        }
    }

    /// When to call [`Affinity::expire`] next.
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }

    /// Number of clients.
    pub fn len(&self) -> usize {
        self.table.len()
    }
}
