//! The detector: packets in, the rules that they match out.

use std::collections::BTreeMap;

use wire::tcp_flag;

use crate::connection::{track, Work};
use crate::flows::{Flows, Key, Phase};
use crate::packet::{TcpFields, View};
use crate::rules::RuleSet;
use crate::search::evaluate::{Evaluator, Of};
use crate::search::Program;

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

    /// Takes other rules; flows and counts stay.
    pub fn replace_rules(&mut self, rules: RuleSet) {
        let mut program = Program::new(rules);
        program.keep_bits(&self.program.bits);
        self.program = program;
        self.evaluator = Evaluator::new(self.program.rules.len());
        self.flows.forget_marks();
    }

    /// Goes on with the flows and counts of another, by its own rules and limits: flows that are too many end.
    pub fn take_over(&mut self, old: Detector) {
        (self.flows, self.counts) = (old.flows, old.counts);
        self.flows.set_limits(self.limits.n_flows, self.limits.stream_memory);
        self.program.keep_bits(&old.program.bits);
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

    /// Looks at a packet that starts with its IP header; `None` if it has none. The time is one that nobody sets.
    #[inline]
    pub fn inspect<'p>(&mut self, packet: &'p [u8], now_ns: i64) -> Option<Outcome<'p>> {
        self.evaluator.begin(now_ns);
        let view = View::of(packet)?;
        self.counts.n_packets += 1;
        let (key, is_high) = Key::of(&view);
        let idx = self.flows.of(&key, now_ns)?;
        let (flow, ..) = self.flows.parts(idx)?;
        if flow.is_dropped {
            // The other end gets none of it: it ends and begins nothing.
            let to_server = is_high == flow.client_is_high;
            return Some(Outcome { view, flow: flow.number, to_server, is_dropped: true });
        }
        if let Some(tcp) = &view.tcp {
            self.meet(idx, tcp, now_ns);
            if !view.payload.is_empty() {
                self.flows.make_room(idx);
            }
        }
        let Detector { program, flows, evaluator, limits, .. } = self;
        let (flow, memory, counts) = flows.parts(idx)?;
        let to_server = track(flow, &view, is_high);
        evaluator.begin_segment(&flow.bits);
        let mut work = Work { program, evaluator, flow, memory, counts, to_server, depth: limits.depth };
        match &view.tcp {
            Some(tcp) => work.segment(&view, tcp, usize::from(is_high)),
            None => work.alone(&view, view.payload, true, true, Of::All),
        }
        let is_dropped = limits.is_inline && evaluator.is_dropped;
        flow.is_dropped = is_dropped && view.tcp.is_some();
        let outcome = Outcome { view, flow: flow.number, to_server, is_dropped };
        if !evaluator.fired.is_empty() {
            evaluator.finish(program, &view);
            self.count();
        }
        Some(outcome)
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
