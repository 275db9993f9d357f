//! The detector: packets in, the rules that they match out.

use std::collections::BTreeMap;

use wire::tcp_flag;

use crate::flows::{Flow, Flows, Key, Phase};
use crate::packet::{TcpFields, View};
use crate::rules::RuleSet;
use crate::search::evaluate::{Context, Evaluator, Unit};
use crate::search::Program;
use crate::stream::{Memory, Offer, StreamCounts, LOOK_BACK};

/// What a detector may use, and what it may do.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most flows.
    pub n_flows: u32,
    /// Most bytes for streams.
    pub stream_memory: usize,
    /// Bytes of a stream that are searched, 0 for all.
    pub depth: u64,
    /// Whether `drop` drops.
    pub is_inline: bool,
}

/// A rule that a packet matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fired {
    /// The rule's index in the program.
    pub rule: u32,
    /// Whether it matched what the other side had sent, which this packet acknowledges.
    pub is_reversed: bool,
}

/// What is found out about a packet.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'p> {
    /// Its headers.
    pub view: View<'p>,
    /// Number of its flow.
    pub flow: u64,
    /// Whether it goes from client to server.
    pub to_server: bool,
    /// Whether it is to be dropped.
    pub is_dropped: bool,
}

/// How often rules matched.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Packets looked at.
    pub n_packets: u64,
    /// Matches told.
    pub n_alerts: u64,
    /// By generator and number of the rule.
    pub by_rule: BTreeMap<(u32, u32), u64>,
}

/// Looks for what rules describe in packets.
pub struct Detector {
    program: Program,
    flows: Flows,
    evaluator: Evaluator,
    limits: Limits,
    counts: Counts,
}

impl Detector {
    /// A detector with these rules.
    pub fn new(rules: RuleSet, limits: Limits) -> Detector {
        let program = Program::new(rules);
        Detector {
            evaluator: Evaluator::new(program.rules.len()),
            program,
            flows: Flows::new(limits.n_flows, limits.stream_memory),
            limits,
            counts: Counts::default(),
        }
    }

    /// Takes other rules; flows and counts stay, bits are known by their names.
    pub fn replace_rules(&mut self, mut rules: RuleSet) {
        // Numbers of bits are kept: the new names come behind the old ones.
        let mut bits = self.program.bits.clone();
        let numbers: Vec<u16> = rules.bits.iter().map(|name| number_of(&mut bits, name)).collect();
        for (_, bit) in rules.rules.iter_mut().flat_map(|rule| &mut rule.bits) {
            *bit = numbers.get(usize::from(*bit)).copied().unwrap_or(*bit);
        }
        rules.bits = bits;
        self.program = Program::new(rules);
        self.evaluator = Evaluator::new(self.program.rules.len());
        self.flows.forget_marks();
    }

    /// The rules in force.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The flows.
    pub fn flows(&self) -> &Flows {
        &self.flows
    }

    /// How often rules matched.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Sets the counts to 0.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// Whether `drop` drops.
    pub fn is_inline(&self) -> bool {
        self.limits.is_inline
    }

    /// The rules that the last packet matched and that are to be told, in their order.
    pub fn fired(&self) -> &[Fired] {
        &self.evaluator.fired
    }

    /// Looks at a packet that starts with its IP header; `None` if it has none.
    #[inline]
    pub fn inspect<'p>(&mut self, packet: &'p [u8], now_ns: i64) -> Option<Outcome<'p>> {
        self.evaluator.begin(now_ns);
        let view = View::of(packet)?;
        self.counts.n_packets += 1;
        let (key, is_high) = Key::of(&view);
        let idx = self.flows.of(&key, now_ns)?;
        if let Some(tcp) = &view.tcp {
            self.meet(idx, tcp, now_ns);
            if !view.payload.is_empty() {
                self.flows.make_room(idx);
            }
        }
        let Detector { program, flows, evaluator, limits, .. } = self;
        let (flow, memory, counts) = flows.parts(idx)?;
        let to_server = track(flow, &view, is_high);
        let outcome = Outcome { view, flow: flow.number, to_server, is_dropped: true };
        if flow.is_dropped {
            return Some(outcome);
        }
        let mut work = Work { program, evaluator, flow, memory, counts, to_server, depth: limits.depth };
        match &view.tcp {
            Some(tcp) => work.segment(&view, tcp, usize::from(is_high)),
            None => work.alone(&view, view.payload, true),
        }
        let is_dropped = limits.is_inline && evaluator.is_dropped;
        flow.is_dropped = is_dropped && view.tcp.is_some();
        if !evaluator.fired.is_empty() {
            self.count();
        }
        Some(Outcome { is_dropped, ..outcome })
    }

    /// Makes a new flow of one that has ended, if the packet begins a connection.
    fn meet(&mut self, idx: u32, tcp: &TcpFields, now_ns: i64) {
        let begins = tcp.has(tcp_flag::SYN) && !tcp.has(tcp_flag::ACK);
        if begins && self.flows.parts(idx).is_some_and(|(flow, ..)| flow.phase == Phase::Closed) {
            self.flows.renew(idx, now_ns);
        }
    }

    #[cold]
    fn count(&mut self) {
        for fired in &self.evaluator.fired {
            self.counts.n_alerts += 1;
            if let Some(rule) = self.program.rule(fired.rule) {
                *self.counts.by_rule.entry((rule.gid, rule.sid)).or_default() += 1;
            }
        }
    }
}

fn number_of(bits: &mut Vec<String>, name: &str) -> u16 {
    let idx = bits.iter().position(|known| known == name).unwrap_or_else(|| {
        bits.push(name.to_string());
        bits.len() - 1
    });
    u16::try_from(idx).unwrap_or(u16::MAX)
}

/// Notes what a packet says of its flow; whether it goes to the server.
fn track(flow: &mut Flow, view: &View<'_>, is_high: bool) -> bool {
    let is_first = flow.has_sent == [false; 2];
    let has = |flag| view.tcp.is_some_and(|tcp| tcp.has(flag));
    if is_first {
        let from_server = match view.tcp {
            Some(_) if has(tcp_flag::SYN) => has(tcp_flag::ACK),
            // The beginning was missed: the lower port is taken for the server's.
            Some(_) => view.source_port < view.destination_port,
            None => false,
        };
        flow.client_is_high = is_high != from_server;
        if view.tcp.is_some() && !has(tcp_flag::SYN) {
            flow.phase = Phase::Established;
        }
    }
    if let Some(sent) = flow.has_sent.get_mut(usize::from(is_high)) {
        *sent = true;
    }
    if flow.phase == Phase::New && flow.has_sent == [true; 2] {
        flow.phase = Phase::Established;
    }
    if let Some(finished) = flow.has_finished.get_mut(usize::from(is_high)) {
        *finished |= has(tcp_flag::FIN);
    }
    if has(tcp_flag::RST) || flow.has_finished == [true; 2] {
        flow.phase = Phase::Closed;
    }
    is_high == flow.client_is_high
}

/// What one packet is worked at with.
struct Work<'a> {
    program: &'a Program,
    evaluator: &'a mut Evaluator,
    flow: &'a mut Flow,
    memory: &'a mut Memory,
    counts: &'a mut StreamCounts,
    to_server: bool,
    depth: u64,
}

impl Work<'_> {
    /// A TCP segment from end `side`.
    fn segment(&mut self, view: &View<'_>, tcp: &TcpFields, side: usize) {
        let sequence = tcp.sequence.wrapping_add(tcp.syn_len());
        if tcp.has(tcp_flag::ACK) {
            self.acknowledge(view, tcp.acknowledgment, 1 - side);
        }
        let Work { flow, memory, counts, .. } = self;
        let Some(stream) = flow.streams.get_mut(side) else { return };
        if tcp.has(tcp_flag::SYN) && !stream.has_begun() {
            stream.begin(sequence, memory, counts);
        }
        if view.payload.is_empty() {
            self.alone(view, view.payload, true);
        } else {
            self.data(view, sequence, side);
        }
        if tcp.has(tcp_flag::FIN) {
            let end = sequence.wrapping_add(view.payload.len() as u32);
            if let Some(stream) = self.flow.streams.get_mut(side) {
                stream.finish(end);
            }
        }
    }

    /// Bytes of a TCP segment.
    fn data(&mut self, view: &View<'_>, sequence: u32, side: usize) {
        let Work { flow, memory, counts, depth, .. } = self;
        let Some(stream) = flow.streams.get_mut(side) else { return };
        if flow.spoke_last != side as u8 {
            flow.spoke_last = side as u8;
            stream.begin_message();
        }
        if *depth != 0 && stream.position() >= *depth {
            return self.alone(view, view.payload, false);
        }
        let new = |skip: usize| view.payload.get(skip..).unwrap_or_default();
        match stream.offer(sequence, view.payload, memory, counts) {
            Offer::Next(skip) => self.deliver(view, new(skip), side, true),
            Offer::Differs(skip) => {
                self.alone(view, view.payload, true);
                self.deliver(view, new(skip), side, false);
            }
            Offer::Alone => self.alone(view, view.payload, true),
            Offer::Seen | Offer::Early => self.alone(view, view.payload, false),
        }
        self.deliver_ready(view, side, None);
    }

    /// The other side has everything up to `acknowledged` of what `side` sent.
    fn acknowledge(&mut self, view: &View<'_>, acknowledged: u32, side: usize) {
        let is_behind = |stream: &crate::stream::Stream| stream.has_begun() && stream.lacks(acknowledged);
        if self.flow.streams.get(side).is_some_and(is_behind) {
            let reversed = view.reversed();
            self.to_server = !self.to_server;
            self.evaluator.is_reversed = true;
            self.deliver_ready(&reversed, side, Some(acknowledged));
            self.evaluator.is_reversed = false;
            self.to_server = !self.to_server;
        }
    }

    /// Delivers what has waited and is next now, behind a gap if that is not going to be filled.
    fn deliver_ready(&mut self, view: &View<'_>, side: usize, acknowledged: Option<u32>) {
        loop {
            let Some(stream) = self.flow.streams.get_mut(side) else { return };
            match stream.take_ready(self.memory) {
                Some((bytes, skip)) => {
                    self.deliver(view, bytes.get(skip..).unwrap_or_default(), side, false);
                    let Some(stream) = self.flow.streams.get_mut(side) else { return };
                    stream.give_back(bytes, self.memory);
                }
                None if stream.close_gap(acknowledged, self.memory, self.counts) => {}
                None => return,
            }
        }
    }

    /// Searches the next bytes of a stream.
    fn deliver(&mut self, view: &View<'_>, bytes: &[u8], side: usize, is_packet: bool) {
        for (i, part) in bytes.chunks(LOOK_BACK).enumerate() {
            let Work { flow, memory, counts, .. } = self;
            let Some(stream) = flow.streams.get_mut(side) else { return };
            let Some(fresh) = stream.append(part, memory) else {
                counts.unbuffered += 1;
                self.alone(view, part, is_packet && i == 0);
                continue;
            };
            let message_at = stream.message_at();
            let (buffer, mut marks) = stream.take_out();
            if flow.phase == Phase::Closed {
                marks.hurry();
            }
            let unit =
                Unit { buf: &buffer, fresh, packet_at: fresh, message_at, is_first: is_packet && i == 0 };
            let is_established = flow.phase != Phase::New;
            let mut context = Context { bits: &mut flow.bits, is_established, to_server: self.to_server };
            self.evaluator.search(self.program, view, &mut context, &unit, Some(&mut marks));
            stream.put_back(buffer, marks);
        }
    }

    /// Searches bytes by themselves, or without `scans` only looks at rules that have no pattern.
    fn alone(&mut self, view: &View<'_>, bytes: &[u8], scans: bool) {
        let fresh = if scans { 0 } else { bytes.len() };
        let unit = Unit { buf: bytes, fresh, packet_at: 0, message_at: Some(0), is_first: true };
        let is_established = self.flow.phase != Phase::New;
        let mut context = Context { bits: &mut self.flow.bits, is_established, to_server: self.to_server };
        self.evaluator.search(self.program, view, &mut context, &unit, None);
    }
}
