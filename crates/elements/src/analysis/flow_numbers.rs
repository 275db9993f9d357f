//! The flows of AggregateIPFlows: their numbers, when they end, and the fragments that wait for theirs.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::net::Ipv4Addr;

use element::{annotation, Packet};
use table::flow::FlowTable;

use super::aggregate_ip_flows::set_number;

const TCP: u8 = 6;
const UDP: u8 = 17;
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

/// Two hosts and a protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hosts {
    a: [u8; 4],
    b: [u8; 4],
    protocol: u8,
}

/// A flow in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    hosts: Hosts,
    ports: [u8; 4],
}

impl Hash for Hosts {
    /// In few words: the derived hash would take each field as a string of bytes.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(u32::from_ne_bytes(self.a)) << 32 | u64::from(u32::from_ne_bytes(self.b)));
        state.write_u8(self.protocol);
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Hosts { a, b, protocol } = self.hosts;
        state.write_u64(u64::from(u32::from_ne_bytes(a)) << 32 | u64::from(u32::from_ne_bytes(b)));
        state.write_u64(u64::from(u32::from_ne_bytes(self.ports)) << 8 | u64::from(protocol));
    }
}

/// What a packet's headers say, found before its turn comes so that its flow can be brought near.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    key: Key,
    hash: u64,
    is_flipped: bool,
    /// It is not a fragment, or the first one.
    is_first: bool,
    is_fragment: bool,
    is_error: bool,
    /// It belongs to no flow.
    is_rejected: bool,
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
    /// Packets that have waited and go on.
    pub released: Vec<Packet>,
    /// Fragments given up.
    pub n_lost: u64,
}

/// The IP header that tells the flow, in a packet or in the ICMP error that it carries.
struct Header<'p> {
    bytes: &'p [u8],
    is_first: bool,
    is_fragment: bool,
    is_error: bool,
}

impl Key {
    /// Address and port of the sender of the first packet, and of its receiver.
    pub fn ends(&self, is_reversed: bool) -> ((Ipv4Addr, u16), (Ipv4Addr, u16)) {
        let [p, q, r, s] = self.ports;
        let ends = (
            (self.hosts.a.into(), u16::from_be_bytes([p, q])),
            (self.hosts.b.into(), u16::from_be_bytes([r, s])),
        );
        if is_reversed {
            (ends.1, ends.0)
        } else {
            ends
        }
    }
}

impl<'p> Header<'p> {
    #[inline]
    fn of(packet: &'p Packet, takes_icmp: bool) -> Option<Header<'p>> {
        let outer = Header::at(packet.network(), false)?;
        if outer.bytes.get(9) != Some(&1) || !outer.is_first || !takes_icmp {
            return Some(outer);
        }
        let icmp = packet.transport();
        // RFC 792: unreachable, source quench, redirect, time exceeded, parameter problem.
        if !matches!(icmp.first(), Some(3 | 4 | 5 | 11 | 12)) {
            return None;
        }
        let inner = icmp.get(8..)?;
        let len = usize::from(inner.first()? & 0xF) * 4;
        (len >= 20 && inner.len() >= len).then(|| Header::at(inner, true)).flatten()
    }

    #[inline]
    fn at(bytes: &'p [u8], is_error: bool) -> Option<Header<'p>> {
        let head: &[u8; 20] = bytes.first_chunk()?;
        let offset = u16::from_be_bytes([head[6], head[7]]);
        Some(Header { bytes, is_first: offset & 0x1FFF == 0, is_fragment: offset & 0x3FFF != 0, is_error })
    }

    fn id(&self) -> Option<&[u8]> {
        self.bytes.get(4..6)
    }

    fn ports(&self) -> Option<[u8; 4]> {
        let len = usize::from(self.bytes.first()? & 0xF) * 4;
        self.bytes.get(len..)?.first_chunk().copied()
    }

    /// The hosts, in one order for both directions, and whether that is not the packet's; `None` if there is no flow.
    #[inline]
    fn hosts(&self) -> Option<(Hosts, bool)> {
        let head: &[u8; 20] = self.bytes.first_chunk()?;
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *head;
        let (src, dst, protocol) = ([s0, s1, s2, s3], [d0, d1, d2, d3], head[9]);
        if !matches!(protocol, TCP | UDP) || (src == [0; 4] && dst == [0; 4]) {
            return None;
        }
        let is_flipped = u32::from_ne_bytes(src) > u32::from_ne_bytes(dst);
        let (a, b) = if is_flipped { (dst, src) } else { (src, dst) };
        Some((Hosts { a, b, protocol }, is_flipped))
    }
}

fn seconds(ns: i64) -> u32 {
    ns.div_euclid(NS_PER_S) as u32
}

/// Whether a time is before another, on a clock of 32 bits.
fn is_before(time: u32, other: u32) -> bool {
    (time.wrapping_sub(other) as i32) < 0
}

impl FlowNumbers {
    /// No flows.
    pub fn new(timeouts: Timeouts, takes_icmp: bool) -> FlowNumbers {
        FlowNumbers {
            flows: FlowTable::new(u32::MAX),
            fragments: HashMap::new(),
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

    /// Looks at a packet's headers, and begins to load where its flow is found.
    #[inline]
    pub fn look(&self, packet: &Packet) -> Seen {
        packet.prefetch_annotations();
        let rejected = Seen { is_rejected: true, ..Seen::default() };
        let Some(header) = Header::of(packet, self.takes_icmp) else { return rejected };
        let Some((hosts, mut is_flipped)) = header.hosts() else { return rejected };
        let Header { is_first, is_fragment, is_error, .. } = header;
        let mut key = Key { hosts, ports: [0; 4] };
        let mut hash = 0;
        if is_first {
            let Some(ports) = header.ports() else { return rejected };
            if hosts.a == hosts.b {
                let ports = u32::from_ne_bytes(ports);
                is_flipped ^= ((ports << 16).wrapping_sub(ports) as i32) < 0;
            }
            key.ports = if is_flipped { [ports[2], ports[3], ports[0], ports[1]] } else { ports };
            hash = self.flows.hash_of(&key);
            self.flows.prefetch(hash);
        }
        Seen { key, hash, is_flipped, is_first, is_fragment, is_error, is_rejected: false }
    }

    /// Begins to load the flow of a packet that was looked at.
    #[inline]
    pub fn prefetch(&self, seen: &Seen) {
        self.flows.prefetch_entry(seen.hash);
    }

    /// Gives a packet its flow's number and its direction.
    #[inline]
    pub fn number(&mut self, packet: &mut Packet, seen: &Seen) -> Fate {
        let Seen { key, is_flipped, is_first, is_fragment, .. } = *seen;
        if seen.is_rejected {
            return Fate::Reject;
        }
        let error_paint = u8::from(seen.is_error) * 2;
        let mut flow_idx = None;
        if is_first {
            let Some((idx, flow)) = self.find(seen.hash, key, is_flipped, packet) else {
                return Fate::Reject;
            };
            flow_idx = Some(idx);
            set_number(packet, flow.number, error_paint | u8::from(is_flipped != flow.is_reversed));
        } else {
            set_number(packet, 0, error_paint | u8::from(is_flipped));
        }
        if (self.keeps_fragments && is_fragment)
            || (!self.fragments.is_empty() && self.fragments.contains_key(&key.hosts))
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
    fn find(&mut self, hash: u64, key: Key, is_flipped: bool, packet: &Packet) -> Option<(u32, Flow)> {
        let now_ns = packet.timestamp_ns();
        let found = self.flows.find_hashed(hash, &key);
        let old = found.and_then(|idx| self.flows.get(idx)).map(|(_, flow)| *flow);
        if let (Some(idx), Some(flow)) = (found, old) {
            if !self.has_ended(&key, &flow, packet) {
                return Some((idx, flow));
            }
            self.end(key, flow);
        }
        let number = self.next;
        let n_packets = old.map_or([0; 2], |old| old.n_packets);
        let flow =
            Flow { number, is_reversed: is_flipped, over: 0, first_ns: now_ns, last_ns: now_ns, n_packets };
        let idx = self.flows.insert_hashed(hash, key, flow).ok()?;
        self.next = self.next.wrapping_add(1);
        Some((idx, flow))
    }

    fn has_ended(&self, key: &Key, flow: &Flow, packet: &Packet) -> bool {
        let timeout = match (key.hosts.protocol, flow.over) {
            (TCP, OVER) => self.timeouts.tcp_done,
            (TCP, _) => self.timeouts.tcp,
            _ => self.timeouts.udp,
        };
        let age = seconds(packet.timestamp_ns()).wrapping_sub(seconds(flow.last_ns)) as i32;
        let is_syn = || {
            packet.network().get(9) == Some(&TCP)
                && packet.transport().get(13).is_some_and(|flags| flags & 2 != 0)
        };
        age > timeout as i32 || (flow.over == OVER && is_syn())
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
            waiting.retain(|_, queue| {
                self.release(queue);
                !queue.is_empty()
            });
            self.fragments = waiting;
            self.end_silent();
        }
        self.reap_s = self.now_s.wrapping_add(self.timeouts.reap);
    }

    fn end_silent(&mut self) {
        let is_silent = |key: &Key, flow: &Flow| {
            let timeout = match (key.hosts.protocol, flow.over) {
                (TCP, OVER) => self.timeouts.tcp_done,
                (TCP, _) => self.timeouts.tcp,
                _ => self.timeouts.udp,
            };
            is_before(seconds(flow.last_ns), self.now_s.wrapping_sub(timeout))
                && !self.fragments.contains_key(&key.hosts)
        };
        let silent = self.flows.iter().filter(|(_, key, flow)| is_silent(key, flow));
        for idx in silent.map(|(idx, _, _)| idx).collect::<Vec<u32>>() {
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
        let flows: Vec<(Key, Flow)> = self.flows.iter().map(|(_, key, flow)| (*key, *flow)).collect();
        self.flows.clear();
        for (key, flow) in flows {
            self.end(key, flow);
        }
    }
}
