//! What is known of IPv6 neighbors, and the packets that wait to know (RFC 4861, sections 5.1 and 7.3). Times are in
//! milliseconds.

mod limits;
mod table;

use std::collections::{vec_deque, BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::Ipv6Addr;

use element::Packet;
use wire::MacAddress;

use super::discovery::Advertisement;
pub use limits::Limits;

/// Questions to a link, and to a neighbor (RFC 4861, section 10).
const QUESTIONS_MAX: u8 = 3;
/// How long a neighbor that is spoken to may take to show by itself that it is there.
const DELAY_MS: i64 = 5_000;

/// How sure it is that a neighbor is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Incomplete,
    Reachable,
    Stale,
    Delay,
    Probe,
}

struct Neighbor {
    state: State,
    mac: MacAddress,
    is_router: bool,
    /// When it showed last that it is there.
    confirmed_at: i64,
    /// When something is to be done.
    due_at: Option<i64>,
    n_questions: u8,
    waiting: VecDeque<Packet>,
    /// Its place among the neighbors, the longest known first.
    number: u64,
}

/// What is to be done when time has passed.
pub enum Due {
    /// Ask the link for the address.
    Ask(Ipv6Addr),
    /// Ask the station whether it still has the address.
    Probe(Ipv6Addr, MacAddress),
    /// There is no such neighbor; the packets waited for it.
    GiveUp(VecDeque<Packet>),
}

/// The cache.
pub struct NeighborCache {
    /// Its limits.
    pub limits: Limits,
    neighbors: HashMap<Ipv6Addr, Neighbor>,
    /// Those that have not answered, and the others, by their numbers.
    unanswered: BTreeMap<u64, Ipv6Addr>,
    answered: BTreeMap<u64, Ipv6Addr>,
    due: BTreeSet<(i64, Ipv6Addr)>,
    next_number: u64,
    n_packets: usize,
    /// Packets for which there was no room.
    dropped: VecDeque<Packet>,
}

impl NeighborCache {
    /// An empty cache.
    pub fn new(limits: Limits) -> NeighborCache {
        let (unanswered, answered) = (BTreeMap::new(), BTreeMap::new());
        let (neighbors, due, dropped) = (HashMap::new(), BTreeSet::new(), VecDeque::new());
        NeighborCache { limits, neighbors, unanswered, answered, due, next_number: 0, n_packets: 0, dropped }
    }

    /// Number of neighbors, those that have not answered included.
    pub fn n_neighbors(&self) -> usize {
        self.neighbors.len()
    }

    /// Number of packets that wait.
    pub fn n_packets(&self) -> usize {
        self.n_packets
    }

    /// Packets for which there was no room since this was asked last.
    pub fn take_dropped(&mut self) -> vec_deque::Drain<'_, Packet> {
        self.dropped.drain(..)
    }

    /// Where packets for a neighbor go, if that is known. One of which it is not sure is asked soon.
    #[inline]
    pub fn lookup(&mut self, ip: Ipv6Addr, now: i64) -> Option<MacAddress> {
        let neighbor = self.neighbors.get_mut(&ip)?;
        match neighbor.state {
            State::Reachable if now - neighbor.confirmed_at <= self.limits.reachable_ms => {}
            State::Reachable | State::Stale => {
                neighbor.state = State::Delay;
                set_due(&mut self.due, ip, neighbor, Some(now + DELAY_MS));
            }
            State::Delay | State::Probe => {}
            State::Incomplete => return None,
        }
        Some(neighbor.mac)
    }

    /// Lets a packet wait for a neighbor whose address is not known, and tells whether the link is to be asked. If there are
    /// too many, the newest wait (RFC 4861, section 7.2.2).
    pub fn wait(&mut self, ip: Ipv6Addr, packet: Packet, now: i64) -> bool {
        let asks = !self.neighbors.contains_key(&ip);
        if asks {
            self.make_room(true);
            self.insert(ip, State::Incomplete, [0; 6], now);
        }
        let is_full = self.n_packets >= self.limits.packets;
        let Some(neighbor) = self.neighbors.get_mut(&ip) else { return false };
        if asks {
            neighbor.n_questions = 1;
            set_due(&mut self.due, ip, neighbor, Some(now + self.limits.retransmit_ms));
        }
        neighbor.waiting.push_back(packet);
        self.n_packets += 1;
        if is_full || neighbor.waiting.len() > self.limits.entry_packets {
            self.dropped.extend(neighbor.waiting.pop_front());
            self.n_packets -= 1;
        }
        asks
    }

    /// Notes what a neighbor says of itself when it asks (RFC 4861, section 7.2.3), and gives the packets that waited for it.
    pub fn asked_by(&mut self, ip: Ipv6Addr, mac: MacAddress, now: i64) -> VecDeque<Packet> {
        match self.neighbors.get(&ip).map(|neighbor| (neighbor.state, neighbor.mac)) {
            Some((state, known)) if state != State::Incomplete && known == mac => VecDeque::new(),
            Some(_) => self.settle(ip, State::Stale, mac, now),
            None => {
                self.make_room(false);
                self.insert(ip, State::Stale, mac, now);
                VecDeque::new()
            }
        }
    }

    /// Notes what a neighbor says of itself (RFC 4861, section 7.2.5), and gives the packets that waited for it.
    pub fn advertised(&mut self, said: &Advertisement, now: i64) -> VecDeque<Packet> {
        let ip = said.target;
        let Some(neighbor) = self.neighbors.get_mut(&ip) else { return VecDeque::new() };
        let is_known = neighbor.state != State::Incomplete;
        let Some(mac) = said.mac.or(is_known.then_some(neighbor.mac)) else { return VecDeque::new() };
        if is_known && neighbor.mac != mac && !said.overrides {
            if neighbor.state == State::Reachable {
                neighbor.state = State::Stale;
            }
            return VecDeque::new();
        }
        neighbor.is_router = said.is_router;
        if said.is_solicited {
            neighbor.confirmed_at = now;
            return self.settle(ip, State::Reachable, mac, now);
        }
        if !is_known || neighbor.mac != mac {
            return self.settle(ip, State::Stale, mac, now);
        }
        VecDeque::new()
    }

    /// When something is to be done next.
    pub fn next_due(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What is to be done now, one thing at a time.
    pub fn take_due(&mut self, now: i64) -> Option<Due> {
        self.next_due().filter(|at| *at <= now)?;
        let (_, ip) = self.due.pop_first()?;
        let retransmit_ms = self.limits.retransmit_ms;
        let neighbor = self.neighbors.get_mut(&ip)?;
        let has_asked = neighbor.state != State::Delay;
        if has_asked && neighbor.n_questions >= QUESTIONS_MAX {
            return Some(Due::GiveUp(self.remove(ip)));
        }
        neighbor.n_questions = if has_asked { neighbor.n_questions + 1 } else { 1 };
        set_due(&mut self.due, ip, neighbor, Some(now + retransmit_ms));
        if neighbor.state == State::Incomplete {
            return Some(Due::Ask(ip));
        }
        neighbor.state = State::Probe;
        Some(Due::Probe(ip, neighbor.mac))
    }

    /// Notes a neighbor's address, and gives the packets that waited for it; [`Due`] says when it is asked for next.
    pub fn note(&mut self, ip: Ipv6Addr, mac: MacAddress, now: i64) -> VecDeque<Packet> {
        if !self.neighbors.contains_key(&ip) {
            self.make_room(false);
            self.insert(ip, State::Stale, mac, now);
        }
        if let Some(neighbor) = self.neighbors.get_mut(&ip) {
            neighbor.confirmed_at = now;
        }
        self.settle(ip, State::Reachable, mac, now)
    }

    /// Forgets a neighbor, and gives the packets that waited for it.
    pub fn remove(&mut self, ip: Ipv6Addr) -> VecDeque<Packet> {
        let Some(mut neighbor) = self.neighbors.remove(&ip) else { return VecDeque::new() };
        set_due(&mut self.due, ip, &mut neighbor, None);
        self.unanswered.remove(&neighbor.number);
        self.answered.remove(&neighbor.number);
        self.n_packets -= neighbor.waiting.len();
        neighbor.waiting
    }

    /// Forgets the neighbors that `keep` says no to; nothing waits for them any more.
    pub fn retain(&mut self, mut keep: impl FnMut(Ipv6Addr) -> bool) {
        let gone: Vec<Ipv6Addr> = self.neighbors.keys().copied().filter(|ip| !keep(*ip)).collect();
        for ip in gone {
            let packets = self.remove(ip);
            self.dropped.extend(packets);
        }
    }

    /// Notes an Ethernet address and gives the packets that waited for it.
    fn settle(&mut self, ip: Ipv6Addr, state: State, mac: MacAddress, now: i64) -> VecDeque<Packet> {
        let Some(neighbor) = self.neighbors.get_mut(&ip) else { return VecDeque::new() };
        self.unanswered.remove(&neighbor.number);
        self.answered.remove(&neighbor.number);
        neighbor.number = self.next_number;
        self.next_number += 1;
        self.answered.insert(neighbor.number, ip);
        let packets = std::mem::take(&mut neighbor.waiting);
        self.n_packets -= packets.len();
        (neighbor.state, neighbor.mac, neighbor.n_questions) = (state, mac, 0);
        set_due(&mut self.due, ip, neighbor, None);
        // What waited is as good as sent now.
        if !packets.is_empty() {
            self.lookup(ip, now);
        }
        packets
    }

    fn insert(&mut self, ip: Ipv6Addr, state: State, mac: MacAddress, now: i64) {
        let number = self.next_number;
        self.next_number += 1;
        let order = if state == State::Incomplete { &mut self.unanswered } else { &mut self.answered };
        order.insert(number, ip);
        let (waiting, due_at) = (VecDeque::new(), None);
        let neighbor = Neighbor {
            state,
            mac,
            is_router: false,
            confirmed_at: now,
            due_at,
            n_questions: 0,
            waiting,
            number,
        };
        self.neighbors.insert(ip, neighbor);
    }

    /// Makes room for one more neighbor. The one that has been asked for longest without an answer goes; if all have
    /// answered, the one that became known first (RFC 6583, section 7.1).
    fn make_room(&mut self, is_unanswered: bool) {
        let Limits { entries, unanswered, .. } = self.limits;
        let has_room = self.neighbors.len() < entries;
        if has_room && !(is_unanswered && self.unanswered.len() >= unanswered) {
            return;
        }
        let oldest = self.unanswered.values().next().or(self.answered.values().next());
        if let Some(ip) = oldest.copied() {
            let packets = self.remove(ip);
            self.dropped.extend(packets);
        }
    }
}

/// Notes when something is to be done for a neighbor.
fn set_due(due: &mut BTreeSet<(i64, Ipv6Addr)>, ip: Ipv6Addr, neighbor: &mut Neighbor, at: Option<i64>) {
    if let Some(before) = std::mem::replace(&mut neighbor.due_at, at) {
        due.remove(&(before, ip));
    }
    if let Some(at) = at {
        due.insert((at, ip));
    }
}

#[cfg(test)]
mod tests;
