//! The flows of AggregateIPFlows: their numbers, when they end, and the fragments that wait for theirs.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use element::{annotation, Packet};
use table::flow::FlowTable;

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

/// What is known of a flow.
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
    /// Where the first packet stands in the capture; 0 if unknown.
    pub filepos: u32,
    /// Number of the last lookup that found it.
    looked_up: u64,
}

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
    flows: FlowTable<Key, Flow>,
    fragments: HashMap<Hosts, VecDeque<Fragment>>,
    hosts: HostList,
    n_lookups: u64,
    next: u32,
    now_s: u32,
    reap_s: u32,
    timeouts: Timeouts,
    takes_icmp: bool,
    /// Whether later fragments wait for the first one.
    pub keeps_fragments: bool,
    /// Whether ended flows are kept to be described.
    pub keeps_ended: bool,
    /// Those, in order.
    pub ended: Vec<(Key, Flow)>,
    /// The flow that the last packet began.
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

    /// Gives a packet its flow's number and its direction.
    #[inline]
    pub fn number(&mut self, packet: &mut Packet) -> Fate {
        let Some(header) = Header::of(packet, self.takes_icmp) else { return Fate::Reject };
        let Some((hosts, mut is_flipped)) = header.hosts() else { return Fate::Reject };
        let (is_fragment, error_paint) = (header.is_fragment, u8::from(header.is_error) * 2);
        let mut flow_idx = None;
        if header.is_first {
            let Some(mut ports) = header.ports() else {
                self.note_hosts(&hosts);
                return Fate::Reject;
            };
            if hosts.is_one() {
                let ports = u32::from_ne_bytes(ports);
                is_flipped ^= ((ports << 16).wrapping_sub(ports) as i32) < 0;
            }
            if is_flipped {
                ports = [ports[2], ports[3], ports[0], ports[1]];
            }
            let Some((idx, flow)) = self.find(Key { hosts, ports }, is_flipped, packet) else {
                return Fate::Reject;
            };
            flow_idx = Some(idx);
            set_number(packet, flow.number, error_paint | u8::from(is_flipped != flow.is_reversed));
        } else {
            set_number(packet, 0, error_paint | u8::from(is_flipped));
            self.note_hosts(&hosts);
        }
        if (self.keeps_fragments && is_fragment)
            || (!self.fragments.is_empty() && self.fragments.contains_key(&hosts))
        {
            return Fate::Wait(flow_idx);
        }
        let Some(idx) = flow_idx else { return Fate::Reject };
        self.now_s = seconds(packet.timestamp_ns());
        self.note(idx, packet);
        Fate::Pass
    }

    /// The flow with a key; a new one if there is none or the old one has ended.
    #[inline]
    fn find(&mut self, key: Key, is_flipped: bool, packet: &Packet) -> Option<(u32, Flow)> {
        let now_ns = packet.timestamp_ns();
        let hash = self.flows.hash_of(&key);
        self.n_lookups += 1;
        let found =
            self.flows.find_hashed(hash, &key).and_then(|idx| Some((idx, self.flows.get_mut(idx)?.1)));
        let mut old = None;
        if let Some((idx, flow)) = found {
            flow.looked_up = self.n_lookups;
            let flow = *flow;
            if !self.has_ended(&key, &flow, packet) {
                return Some((idx, flow));
            }
            self.end(key, flow);
            old = Some(flow);
        }
        let flow = Flow {
            number: self.next,
            is_reversed: is_flipped,
            over: 0,
            first_ns: now_ns,
            // Only a packet that passes counts as the last one: fragments of a new flow wait at time 0.
            last_ns: old.map_or(0, |old| old.last_ns),
            n_packets: old.map_or([0; 2], |old| old.n_packets),
            filepos: 0,
            looked_up: self.n_lookups,
        };
        self.note_hosts(&key.hosts);
        let idx = self.flows.insert_hashed(hash, key, flow).ok()?;
        self.next = self.next.wrapping_add(1);
        self.begun = Some(idx);
        Some((idx, flow))
    }

    /// Remembers where a flow begins in the capture.
    pub fn set_filepos(&mut self, idx: u32, filepos: u32) {
        if let Some((_, flow)) = self.flows.get_mut(idx) {
            flow.filepos = filepos;
        }
    }

    /// The order of hosts matters to what is described and to fragments.
    fn note_hosts(&mut self, hosts: &Hosts) {
        if self.keeps_fragments || self.keeps_ended {
            self.hosts.add(hosts);
        }
    }

    fn has_ended(&self, key: &Key, flow: &Flow, packet: &Packet) -> bool {
        let age = seconds(packet.timestamp_ns()).wrapping_sub(seconds(flow.last_ns)) as i32;
        let is_syn = || {
            packet.network().get(9) == Some(&TCP)
                && packet.transport().get(13).is_some_and(|flags| flags & 2 != 0)
        };
        // Click compares with the least of all first, and takes all for signed numbers.
        let is_old = age > self.timeouts.least() as i32 && age > self.timeout(key, flow) as i32;
        is_old || (flow.over == OVER && is_syn())
    }

    fn timeout(&self, key: &Key, flow: &Flow) -> u32 {
        match (key.hosts.protocol, flow.over) {
            (TCP, OVER) => self.timeouts.tcp_done,
            (TCP, _) => self.timeouts.tcp,
            _ => self.timeouts.udp,
        }
    }

    fn end(&mut self, key: Key, flow: Flow) {
        if self.keeps_ended {
            self.ended.push((key, flow));
        }
    }

    /// Notes a packet that passes: its time, and whether it ends its flow.
    #[inline]
    fn note(&mut self, idx: u32, packet: &Packet) {
        let Some((key, flow)) = self.flows.get_mut(idx) else { return };
        flow.last_ns = packet.timestamp_ns();
        let paint = packet.paint();
        let Some(n_packets) = flow.n_packets.get_mut(usize::from(paint)) else { return };
        *n_packets = n_packets.wrapping_add(1);
        let transport = packet.transport();
        let is_first = Header::at(packet.network(), false).is_some_and(|header| header.is_first);
        if key.hosts.protocol != TCP || !is_first {
            return;
        }
        match transport.get(13) {
            Some(flags) if flags & 4 != 0 => flow.over = OVER,
            Some(flags) if flags & 1 != 0 => flow.over |= 1 << paint,
            Some(flags) if flags & 2 != 0 => flow.over = 0,
            _ => {}
        }
    }

    /// Keeps a packet that waits, and lets those go that need not wait any longer.
    pub fn add_fragment(&mut self, packet: Packet, flow: Option<u32>) {
        let Some((hosts, _)) = Header::of(&packet, self.takes_icmp).and_then(|header| header.hosts()) else {
            return;
        };
        self.now_s = seconds(packet.timestamp_ns());
        let mut queue = self.fragments.remove(&hosts).unwrap_or_default();
        queue.push_back(Fragment { packet, flow });
        self.release(&mut queue);
        if !queue.is_empty() {
            self.fragments.insert(hosts, queue);
        }
    }

    /// Lets the head of a queue go while it is too old or no fragment.
    fn release(&mut self, queue: &mut VecDeque<Fragment>) {
        let oldest = self.now_s.wrapping_sub(self.timeouts.fragment) as i32;
        while let Some(head) = queue.front() {
            let is_old = (seconds(head.packet.timestamp_ns()) as i32) < oldest;
            let header = Header::of(&head.packet, self.takes_icmp);
            if !is_old && header.is_some_and(|header| header.is_fragment) {
                return;
            }
            self.release_head(queue);
        }
    }

    fn release_head(&mut self, queue: &mut VecDeque<Fragment>) {
        let Some(mut head) = queue.pop_front() else { return };
        let takes_icmp = self.takes_icmp;
        let id = Header::of(&head.packet, takes_icmp).and_then(|header| header.id().map(<[u8]>::to_vec));
        let is_same = |other: &Fragment| {
            Header::of(&other.packet, takes_icmp).and_then(|header| header.id().map(<[u8]>::to_vec)) == id
        };
        if head.flow.is_none() {
            if let Some(other) = queue.iter().find(|other| other.flow.is_some() && is_same(other)) {
                head.flow = other.flow;
                set_number(
                    &mut head.packet,
                    other.packet.anno_u32(annotation::AGGREGATE),
                    other.packet.paint(),
                );
            }
        } else {
            let (number, paint) = (head.packet.anno_u32(annotation::AGGREGATE), head.packet.paint());
            for other in queue.iter_mut().filter(|other| is_same(other)) {
                other.flow = head.flow;
                set_number(&mut other.packet, number, paint);
            }
        }
        match head.flow {
            Some(idx) => {
                self.n_lookups += 1;
                if let Some((_, flow)) = self.flows.get_mut(idx) {
                    flow.looked_up = self.n_lookups;
                }
                self.note(idx, &head.packet);
                self.released.push(head.packet);
            }
            None => self.n_lost += 1,
        }
    }

    /// Looks for ended flows if it is time.
    #[inline]
    pub fn reap_if_due(&mut self) {
        if self.now_s >= self.reap_s {
            self.reap();
        }
    }

    #[cold]
    fn reap(&mut self) {
        if self.reap_s != 0 {
            let mut waiting = std::mem::take(&mut self.fragments);
            let mut queues: Vec<_> = waiting.drain().collect();
            queues.sort_by_cached_key(|(hosts, _)| self.hosts.place(hosts));
            for (hosts, mut queue) in queues {
                self.release(&mut queue);
                if !queue.is_empty() {
                    self.fragments.insert(hosts, queue);
                }
            }
            self.end_where(FlowNumbers::is_silent);
        }
        self.reap_s = self.now_s.wrapping_add(self.timeouts.reap);
    }

    fn is_silent(&self, key: &Key, flow: &Flow) -> bool {
        is_before(seconds(flow.last_ns), self.now_s.wrapping_sub(self.timeout(key, flow)))
            && !self.fragments.contains_key(&key.hosts)
    }

    /// Ends flows: those of the same hosts together, the last found first.
    fn end_where(&mut self, is_over: impl Fn(&FlowNumbers, &Key, &Flow) -> bool) {
        let over = self.flows.iter().filter(|(_, key, flow)| is_over(self, key, flow));
        let mut over: Vec<_> = over.map(|(idx, key, flow)| (key.hosts, flow.looked_up, idx)).collect();
        if self.keeps_ended {
            over.sort_by_cached_key(|(hosts, looked_up, _)| (self.hosts.place(hosts), Reverse(*looked_up)));
        }
        for (_, _, idx) in over {
            if let Some((key, flow)) = self.flows.remove(idx) {
                self.end(key, flow);
            }
        }
    }

    /// Ends all flows, as if much time had passed, and lets fragments go.
    pub fn clear(&mut self) {
        let times = (self.now_s, self.reap_s);
        (self.now_s, self.reap_s) = (i32::MAX as u32, i32::MAX as u32);
        self.reap();
        (self.now_s, self.reap_s) = times;
    }

    /// Ends all flows and drops what waits.
    pub fn end_all(&mut self) {
        self.fragments.clear();
        self.end_where(|_, _, _| true);
    }
}
