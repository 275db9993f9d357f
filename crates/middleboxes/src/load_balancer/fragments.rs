//! Which connection the fragments of a packet belong to: only the first one has ports.

use std::collections::VecDeque;

use table::flow::FlowTable;

use super::rewrite::Change;
use super::seen::{FlowKey, Seen};

/// What tells the fragments of one packet from others (RFC 791, section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Whole {
    src: u32,
    dst: u32,
    id: u16,
    protocol: u8,
}

/// What becomes of the fragments of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Owner {
    /// Number of the backend.
    pub backend: u16,
    /// What is rewritten.
    pub change: Change,
}

/// The packets of which the first fragment was seen lately.
pub struct Fragments {
    table: FlowTable<Whole, Owner>,
    /// In the order in which they end, which is that in which they came.
    ends_ns: VecDeque<(u64, Whole)>,
    timeout_ns: u64,
}

impl Whole {
    fn of(key: &FlowKey, id: u16) -> Whole {
        Whole { src: key.src, dst: key.dst, id, protocol: key.protocol }
    }
}

impl Fragments {
    /// For so many packets, each kept for so long.
    pub fn new(capacity: u32, timeout_ms: u32) -> Fragments {
        Fragments {
            table: FlowTable::new(capacity),
            ends_ns: VecDeque::with_capacity(capacity as usize),
            timeout_ns: u64::from(timeout_ms) * 1_000_000,
        }
    }

    /// Remembers what becomes of a packet whose first fragment was seen; the oldest other one makes room.
    pub fn begin(&mut self, seen: &Seen, owner: Owner, now_ns: u64) {
        self.expire(now_ns);
        let whole = Whole::of(&seen.key, seen.id);
        if let Some((_, known)) = self.table.find(&whole).and_then(|idx| self.table.get_mut(idx)) {
            *known = owner;
            return;
        }
        if self.table.is_full() {
            if let Some((_, oldest)) = self.ends_ns.pop_front() {
                self.table.remove_key(&oldest);
            }
        }
        if self.table.insert(whole, owner).is_ok() {
            self.ends_ns.push_back((now_ns.saturating_add(self.timeout_ns), whole));
        }
    }

    /// What becomes of a fragment beyond the first.
    pub fn find(&mut self, seen: &Seen, now_ns: u64) -> Option<Owner> {
        self.expire(now_ns);
        let idx = self.table.find(&Whole::of(&seen.key, seen.id))?;
        self.table.get(idx).map(|(_, owner)| *owner)
    }

    fn expire(&mut self, now_ns: u64) {
        while let Some((_, whole)) = self.ends_ns.front().filter(|(end_ns, _)| *end_ns <= now_ns) {
            self.table.remove_key(whole);
            self.ends_ns.pop_front();
        }
    }
}
