//! The flows of AggregateIPFlows: their numbers, when they end, and the fragments that wait for theirs.

mod ending;
mod fragments;

use std::collections::{HashMap, VecDeque};

use element::Packet;
use table::flow::{FlowTable, Line, NO_ENTRY};

use super::aggregate_ip_flows::set_number;
use super::flow_hosts::HostList;
use super::flow_key::{Header, Hosts, Key, TCP};

const NS_PER_S: i64 = 1_000_000_000;
/// Both sides of a TCP flow have finished.
const OVER: u8 = 3;

/// Times in seconds.
pub struct Timeouts {
    /// Until a silent TCP flow ends.
    pub tcp: u32,
    /// The same for a finished one.
    pub tcp_done: u32,
    /// Until a silent UDP flow ends.
    pub udp: u32,
    /// Until a fragment is given up.
    pub fragment: u32,
    /// Between searches for ended flows.
    pub reap: u32,
}

/// What a packet's headers say, found before its turn comes so that its flow can be brought near.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    key: Key,
    hash: u64,
    /// Where the flow most likely is in the table.
    near: u32,
    is_flipped: bool,
    /// It is not a fragment, or the first one.
    is_first: bool,
    is_fragment: bool,
    is_error: bool,
    /// It belongs to no flow.
    is_rejected: bool,
}

/// What is known of a flow. With its key it fills a cache line.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Its number.
    pub number: u32,
    /// Whether its first packet went from the key's second host to the first.
    pub is_reversed: bool,
    over: u8,
    /// Time of its first packet.
    pub first_ns: i64,
    /// Time of its last packet.
    pub last_ns: i64,
    /// Packets each way.
    pub n_packets: [u32; 2],
    /// Number of the last lookup that found it.
    looked_up: u64,
}

const _: () = assert!(size_of::<Key>() + size_of::<Flow>() <= 56);

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It has a number.
    Pass,
    /// It belongs to no flow.
    Reject,
    /// It waits with the fragments between its hosts; the flow, if it is known.
    Wait(Option<u32>),
}

struct Fragment {
    packet: Packet,
    flow: Option<u32>,
}

/// All flows.
pub struct FlowNumbers {
    flows: FlowTable<Key, Flow, Line>,
    fragments: HashMap<Hosts, VecDeque<Fragment>>,
    hosts: HostList,
    n_lookups: u64,
    next: u32,
    now_s: u32,
    /// When this second began, if it is that of a packet.
    second_ns: i64,
    reap_s: u32,
    timeouts: Timeouts,
    takes_icmp: bool,
    /// Whether later fragments wait for the first one.
    pub keeps_fragments: bool,
    /// Whether ended flows are kept to be described.
    pub keeps_ended: bool,
    /// Those, in order.
    pub ended: Vec<(Key, Flow)>,
    /// The number of the flow that the last packet began.
    pub begun: Option<u32>,
    /// Packets that have waited and go on.
    pub released: Vec<Packet>,
    /// Fragments given up.
    pub n_lost: u64,
}

fn seconds(ns: i64) -> u32 {
    ns.div_euclid(NS_PER_S) as u32
}

/// Whether a time is before another, on a clock of 32 bits.
fn is_before(time: u32, other: u32) -> bool {
    (time.wrapping_sub(other) as i32) < 0
}

impl Timeouts {
    /// The least of those of flows.
    fn least(&self) -> u32 {
        self.tcp.min(self.tcp_done).min(self.udp)
    }

    /// The time-out of a flow.
    fn of(&self, key: &Key, flow: &Flow) -> u32 {
        match (key.hosts.protocol, flow.over) {
            (TCP, OVER) => self.tcp_done,
            (TCP, _) => self.tcp,
            _ => self.udp,
        }
    }

    /// Whether a flow ended before this packet.
    #[inline]
    fn have_ended(&self, key: &Key, flow: &Flow, packet: &Packet) -> bool {
        let is_syn = || {
            packet.network().get(9) == Some(&TCP)
                && packet.transport().get(13).is_some_and(|flags| flags & 2 != 0)
        };
        self.are_over(key, flow, packet.timestamp_ns()) || (flow.over == OVER && is_syn())
    }

    /// Whether a flow has been silent for too long. Click compares with the least of all first, and takes all for signed numbers.
    #[inline]
    fn are_over(&self, key: &Key, flow: &Flow, now_ns: i64) -> bool {
        let least = self.least() as i32;
        // Without the seconds where the difference is small.
        if (0..i64::from(least) * NS_PER_S).contains(&now_ns.wrapping_sub(flow.last_ns)) {
            return false;
        }
        let age = seconds(now_ns).wrapping_sub(seconds(flow.last_ns)) as i32;
        age > least && age > self.of(key, flow) as i32
    }
}

impl FlowNumbers {
    /// No flows.
    pub fn new(timeouts: Timeouts, takes_icmp: bool) -> FlowNumbers {
        FlowNumbers {
            flows: FlowTable::new(u32::MAX),
            fragments: HashMap::new(),
            hosts: HostList::new(),
            n_lookups: 0,
            begun: None,
            next: 1,
            now_s: 0,
            second_ns: 0,
            reap_s: 0,
            timeouts,
            takes_icmp,
            keeps_fragments: false,
            keeps_ended: false,
            ended: Vec::new(),
            released: Vec::new(),
            n_lost: 0,
        }
    }

    /// Looks at a packet's headers, and begins to load where its flow is found.
    #[inline]
    pub fn look(&self, packet: &Packet) -> Seen {
        packet.prefetch_timestamp();
        let rejected = Seen { is_rejected: true, ..Seen::default() };
        let Some(header) = Header::of(packet, self.takes_icmp) else { return rejected };
        let Some((hosts, mut is_flipped)) = header.hosts() else { return rejected };
        let Header { is_first, is_fragment, is_error, .. } = header;
        let mut key = Key { hosts, ports: 0 };
        let mut hash = 0;
        if is_first {
            let Some(ports) = header.ports() else { return Seen { key, ..rejected } };
            if hosts.is_one() {
                is_flipped ^= ((ports << 16).wrapping_sub(ports) as i32) < 0;
            }
            key.ports = if is_flipped { ports.rotate_left(16) } else { ports };
            hash = self.flows.hash_of(&key);
            self.flows.prefetch(hash);
        }
        let near = NO_ENTRY;
        Seen { key, hash, near, is_flipped, is_first, is_fragment, is_error, is_rejected: false }
    }

    /// Begins to load the flow of a packet that was looked at.
    #[inline]
    pub fn prefetch(&self, seen: &mut Seen) {
        seen.near = self.flows.prefetch_entry(seen.hash);
    }

    /// Gives a packet its flow's number and its direction if that is all there is to do: the flow is known and goes on, nothing
    /// waits, and no second has passed.
    #[inline(always)]
    pub fn number_known(&mut self, packet: &mut Packet, seen: &Seen) -> bool {
        let now_ns = packet.timestamp_ns();
        let is_usual =
            seen.is_plain() && self.fragments.is_empty() && self.is_now(now_ns) && !self.is_reaping_due();
        let Some((key, flow)) =
            self.flows.get_mut(seen.near).filter(|(key, _)| is_usual && **key == seen.key)
        else {
            return false;
        };
        if now_ns == 0 || self.timeouts.have_ended(key, flow, packet) {
            return false;
        }
        self.n_lookups += 1;
        flow.looked_up = self.n_lookups;
        let is_back = seen.is_flipped != flow.is_reversed;
        set_number(packet, flow.number, u8::from(is_back));
        flow.count(packet, key.hosts.protocol == TCP);
        true
    }

    /// Gives a packet its flow's number and its direction.
    #[inline(never)]
    pub fn number(&mut self, packet: &mut Packet, seen: &Seen) -> Fate {
        let Seen { key, is_flipped, .. } = *seen;
        if seen.is_rejected {
            self.note_hosts(&key.hosts);
            return Fate::Reject;
        }
        let error_paint = u8::from(seen.is_error) * 2;
        let waits = (self.keeps_fragments && seen.is_fragment)
            || (!self.fragments.is_empty() && self.fragments.contains_key(&key.hosts));
        if !seen.is_first {
            set_number(packet, 0, error_paint | u8::from(is_flipped));
            self.note_hosts(&key.hosts);
            return if waits { Fate::Wait(None) } else { Fate::Reject };
        }
        let Some(idx) = self.find(seen, packet) else { return Fate::Reject };
        let Some((_, flow)) = self.flows.get_mut(idx) else { return Fate::Reject };
        set_number(packet, flow.number, error_paint | u8::from(is_flipped != flow.is_reversed));
        if waits {
            return Fate::Wait(Some(idx));
        }
        flow.note(key.hosts.protocol, packet);
        self.note_time(packet.timestamp_ns());
        Fate::Pass
    }

    /// The flow of a packet; a new one if there is none or the old one has ended.
    fn find(&mut self, seen: &Seen, packet: &Packet) -> Option<u32> {
        self.n_lookups += 1;
        let found = self.flows.find_near(seen.near, seen.hash, &seen.key);
        let mut old = None;
        if let Some((idx, (key, flow))) = found.and_then(|idx| Some((idx, self.flows.get_mut(idx)?))) {
            flow.looked_up = self.n_lookups;
            if !self.timeouts.have_ended(key, flow, packet) {
                return Some(idx);
            }
            old = Some(*flow);
        }
        self.begin(seen, packet, old)
    }

    /// Begins a flow, in the place of one that has ended if there is one.
    #[cold]
    fn begin(&mut self, seen: &Seen, packet: &Packet, old: Option<Flow>) -> Option<u32> {
        let Seen { key, hash, is_flipped, .. } = *seen;
        if let Some(old) = old {
            self.end(key, old);
        }
        let flow = Flow {
            number: self.next,
            is_reversed: is_flipped,
            over: 0,
            first_ns: packet.timestamp_ns(),
            // Only a packet that passes counts as the last one: fragments of a new flow wait at time 0.
            last_ns: old.map_or(0, |old| old.last_ns),
            n_packets: old.map_or([0; 2], |old| old.n_packets),
            looked_up: self.n_lookups,
        };
        self.note_hosts(&key.hosts);
        let idx = self.flows.insert_hashed(hash, key, flow).ok()?;
        self.begun = Some(self.next);
        self.next = self.next.wrapping_add(1);
        Some(idx)
    }

    /// The order of hosts matters to what is described and to fragments.
    fn note_hosts(&mut self, hosts: &Hosts) {
        if (self.keeps_fragments || self.keeps_ended) && hosts.protocol != 0 {
            self.hosts.add(hosts);
        }
    }

    fn end(&mut self, key: Key, flow: Flow) {
        if self.keeps_ended {
            self.ended.push((key, flow));
        }
    }

    /// Takes a packet's time for the present.
    fn note_time(&mut self, now_ns: i64) {
        if !self.is_now(now_ns) {
            self.now_s = seconds(now_ns);
            self.second_ns = now_ns.wrapping_sub(now_ns.rem_euclid(NS_PER_S));
        }
    }

    /// Whether a time is in the present second, as most packets' are.
    #[inline]
    fn is_now(&self, now_ns: i64) -> bool {
        (0..NS_PER_S).contains(&now_ns.wrapping_sub(self.second_ns))
    }
}

impl Seen {
    /// Whether it is whole, and no error about another packet.
    #[inline]
    fn is_plain(&self) -> bool {
        !(self.is_rejected || self.is_fragment || self.is_error)
    }
}

impl Flow {
    /// Notes a packet that passes: its time, and whether it ends the flow.
    fn note(&mut self, protocol: u8, packet: &Packet) {
        let is_first = || Header::at(packet.network(), false).is_some_and(|header| header.is_first);
        self.count(packet, protocol == TCP && is_first());
    }

    /// As [`Flow::note`], for a packet of which it is known whether it has flags of TCP.
    #[inline]
    fn count(&mut self, packet: &Packet, has_flags: bool) {
        self.last_ns = packet.timestamp_ns();
        let paint = packet.paint();
        let Some(n_packets) = self.n_packets.get_mut(usize::from(paint)) else { return };
        *n_packets = n_packets.wrapping_add(1);
        if !has_flags {
            return;
        }
        match packet.transport().get(13) {
            Some(flags) if flags & 4 != 0 => self.over = OVER,
            Some(flags) if flags & 1 != 0 => self.over |= 1 << paint,
            Some(flags) if flags & 2 != 0 => self.over = 0,
            _ => {}
        }
    }
}
