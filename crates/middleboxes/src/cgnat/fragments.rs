//! What first fragments told of the later ones, which have no ports: a bounded table, in which what is oldest ends first.

use std::collections::VecDeque;

use table::flow::FlowTable;

use super::look::Seen;
use super::Rewrite;

/// What all fragments of a packet have in common (RFC 791), and the side that they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FragmentKey {
    source: u32,
    destination: u32,
    id: u16,
    protocol: u8,
    port: u8,
}

impl FragmentKey {
    /// The key of a fragment that came in by a port.
    pub fn of(seen: &Seen, port: usize) -> FragmentKey {
        FragmentKey {
            source: seen.source.address,
            destination: seen.destination.address,
            id: seen.id,
            protocol: seen.ip_protocol,
            port: port as u8,
        }
    }
}

/// How packets of which the first fragment was seen are rewritten.
pub struct Fragments {
    table: FlowTable<FragmentKey, (Rewrite, u64)>,
    /// Entries in the order in which they end.
    ends: VecDeque<(u64, FragmentKey)>,
    timeout_ns: u64,
}

impl Fragments {
    /// Nothing is known; at most `limit` packets will be.
    pub fn new(limit: u32, timeout_ns: u64) -> Fragments {
        Fragments { table: FlowTable::new(limit), ends: VecDeque::new(), timeout_ns }
    }

    /// Notes how a packet is rewritten whose first fragment came. Where there is no room the oldest packet is forgotten.
    pub fn note(&mut self, key: FragmentKey, rewrite: Rewrite, now_ns: u64) {
        self.expire(now_ns);
        while self.ends.len() >= self.table.limit() as usize {
            self.forget_oldest();
        }
        let until_ns = now_ns.saturating_add(self.timeout_ns);
        if self.table.insert(key, (rewrite, until_ns)).is_ok() {
            self.ends.push_back((until_ns, key));
        }
    }

    /// How a later fragment is rewritten.
    pub fn find(&mut self, key: &FragmentKey, now_ns: u64) -> Option<Rewrite> {
        self.expire(now_ns);
        let (_, (rewrite, _)) = self.table.get(self.table.find(key)?)?;
        Some(*rewrite)
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.table.clear();
        self.ends.clear();
    }

    /// Number of packets known.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    fn expire(&mut self, now_ns: u64) {
        while self.ends.front().is_some_and(|(until_ns, _)| *until_ns <= now_ns) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((until_ns, key)) = self.ends.pop_front() else { return };
        let Some(idx) = self.table.find(&key) else { return };
        // An entry that was noted again since has a later end of its own.
        if self.table.get(idx).is_some_and(|(_, (_, ends_ns))| *ends_ns == until_ns) {
            self.table.remove(idx);
        }
    }
}
