//! Evaluates rules for a payload: patterns first, then the rules that may match.

use super::verify::Verifier;
use super::{Compiled, Program};
use crate::detector::Fired;
use crate::flows::Bits;
use crate::marks::Marks;
use crate::packet::View;
use crate::rules::{Action, BitAction, Endpoint, Rule, ThresholdKind};
use crate::threshold::Thresholds;

/// Bytes to be searched.
pub struct Unit<'a> {
    /// The bytes, with those before that are still known.
    pub buf: &'a [u8],
    /// Where the new ones begin.
    pub fresh: usize,
    /// Where the packet's payload begins, if that is kept.
    pub packet_at: Option<usize>,
    /// Where the message begins that the packet belongs to.
    pub message_at: Option<usize>,
    /// Whether these are the first bytes of the packet, or all.
    pub is_first: bool,
    /// The rules that are meant.
    pub of: Of,
}

/// Rules by what they are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// All.
    All,
    /// Those of single packets.
    Packets,
    /// Those of streams.
    Streams,
}

/// What rules ask of a flow.
pub struct Context<'a> {
    /// Its bits.
    pub bits: &'a mut Bits,
    /// Whether both sides have sent.
    pub is_established: bool,
    /// Whether the bytes go to the server.
    pub to_server: bool,
}

/// How things stood before a segment, to which they go back if that passes.
#[derive(Clone, Copy, Default)]
struct Before {
    n_fired: usize,
    is_dropped: bool,
    bits: Bits,
}

/// Storage for evaluation, and what came of the packet at hand.
pub struct Evaluator {
    /// The rules that matched and are to be told.
    pub fired: Vec<Fired>,
    /// Whether one of them drops.
    pub is_dropped: bool,
    /// Whether what is searched comes from the side that the packet goes to.
    pub is_reversed: bool,
    /// Whether a rule lets the segment at hand pass.
    is_passed: bool,
    /// How things stood when that was begun.
    before: Before,
    /// The rules to look at, and whether their pattern was just found.
    candidates: Vec<(u32, bool)>,
    /// For each rule the number of the search in which it became a candidate.
    stamps: Vec<u64>,
    n_searches: u64,
    verifier: Verifier,
    thresholds: Thresholds,
    now_ns: i64,
}

impl Evaluator {
    /// For so many rules.
    pub fn new(n_rules: usize) -> Evaluator {
        Evaluator {
            fired: Vec::new(),
            is_dropped: false,
            is_reversed: false,
            is_passed: false,
            before: Before::default(),
            candidates: Vec::new(),
            stamps: vec![0; n_rules],
            n_searches: 0,
            verifier: Verifier::default(),
            thresholds: Thresholds::default(),
            now_ns: 0,
        }
    }

    /// Another packet comes.
    #[inline]
    pub fn begin(&mut self, now_ns: i64) {
        self.fired.clear();
        (self.is_dropped, self.is_reversed) = (false, false);
        self.now_ns = now_ns;
    }

    /// Another segment is searched because of the packet: its own, or one that has waited. What passes in one says nothing of
    /// the others.
    #[inline]
    pub fn begin_segment(&mut self, bits: &Bits) {
        self.is_passed = false;
        self.before = Before { n_fired: self.fired.len(), is_dropped: self.is_dropped, bits: *bits };
    }

    /// Nothing more is searched because of the packet: what is to be told of it is counted.
    pub fn finish(&mut self, program: &Program, view: &View<'_>) {
        let Evaluator { fired, thresholds, now_ns, .. } = self;
        fired.retain(|fired| {
            let threshold = program.rule(fired.rule).and_then(|rule| rule.threshold.as_ref());
            threshold.filter(|threshold| threshold.kind != ThresholdKind::After).is_none_or(|threshold| {
                let view = if fired.is_reversed { view.reversed() } else { *view };
                thresholds.passes(fired.rule, threshold, &view, *now_ns)
            })
        });
    }

    /// Searches bytes.
    #[inline]
    pub fn search(
        &mut self,
        program: &Program,
        view: &View<'_>,
        context: &mut Context<'_>,
        unit: &Unit<'_>,
        mut marks: Option<&mut Marks>,
    ) {
        self.n_searches += 1;
        let Evaluator { candidates, stamps, n_searches, .. } = self;
        candidates.clear();
        let mut add = |rule: u32, is_new| {
            if let Some(stamp) = stamps.get_mut(rule as usize).filter(|stamp| **stamp != *n_searches) {
                *stamp = *n_searches;
                candidates.push((rule, is_new));
            }
        };
        let (group, second) = program.groups.of(view);
        for group in [Some(group), second].into_iter().flatten() {
            group.scanner.scan(unit.buf, unit.fresh, |rule| add(rule, true));
            if unit.is_first {
                group.always.iter().for_each(|rule| add(*rule, true));
            }
        }
        if let Some(marks) = marks.as_deref_mut().filter(|marks| !marks.is_empty()) {
            marks.expire();
            marks.waiting().for_each(|rule| add(rule, false));
        }
        if !self.candidates.is_empty() && !self.is_passed {
            self.evaluate_all(program, view, context, unit, marks);
        }
    }

    #[inline(never)]
    fn evaluate_all(
        &mut self,
        program: &Program,
        view: &View<'_>,
        context: &mut Context<'_>,
        unit: &Unit<'_>,
        mut marks: Option<&mut Marks>,
    ) {
        self.verifier.begin();
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.sort_unstable();
        for (idx, is_new) in candidates.drain(..) {
            let Some(compiled) = program.rules.get(idx as usize) else { continue };
            let was_told = self.fired.iter().any(|fired| fired.rule == idx);
            // Where packets are searched before it is their turn in the stream, all that passes is looked for.
            let is_meant = unit.of == Of::All
                || (unit.of == Of::Packets) == compiled.is_of_packets
                || unit.of == Of::Packets && compiled.rule.action == Action::Pass;
            if was_told || !is_meant || !applies(&compiled.rule, view, context) {
                continue;
            }
            let marks = marks.as_deref_mut().filter(|_| !compiled.is_of_packets);
            match (self.matches(compiled, unit, marks.as_deref(), idx), marks) {
                (None, _) | (Some(false), None) => {}
                (Some(false), Some(marks)) => marks.missed(idx, is_new),
                (Some(true), marks) => {
                    if let Some(marks) = marks {
                        marks.matched(idx);
                    }
                    self.act(&compiled.rule, idx, view, context);
                }
            }
            if self.is_passed {
                break;
            }
        }
        candidates.clear();
        self.candidates = candidates;
    }

    /// Whether the payload passes a rule's tests; `None` if the rule is to wait.
    fn matches(
        &mut self,
        compiled: &Compiled,
        unit: &Unit<'_>,
        marks: Option<&Marks>,
        idx: u32,
    ) -> Option<bool> {
        let tests = &compiled.rule.payload;
        if tests.is_empty() {
            return Some(true);
        }
        if compiled.has_parts {
            return self.matches_in_parts(compiled, unit, marks, idx);
        }
        let verifier = &mut self.verifier;
        if compiled.is_of_packets {
            return Some(unit.packet_at.is_some_and(|at| verifier.passes(tests, unit.buf, at)));
        }
        let origin = marks.map_or(Some(0), |marks| marks.origin(idx))?;
        if !compiled.is_anchored {
            return Some(verifier.passes(tests, unit.buf, origin.min(unit.buf.len())));
        }
        let message = unit.message_at.filter(|at| Some(*at) != unit.packet_at && *at >= origin);
        Some(
            unit.packet_at.is_some_and(|at| verifier.passes(tests, unit.buf, at))
                || message.is_some_and(|at| verifier.passes(tests, unit.buf, at)),
        )
    }

    /// As [`Evaluator::matches`], for a rule about parts of HTTP.
    fn matches_in_parts(
        &mut self,
        compiled: &Compiled,
        unit: &Unit<'_>,
        marks: Option<&Marks>,
        idx: u32,
    ) -> Option<bool> {
        let origin = marks.map_or(Some(0), |marks| marks.origin(idx))?;
        let (tests, verifier) = (&compiled.rule.payload, &mut self.verifier);
        let packet_at = unit.packet_at;
        let is_in_packet = packet_at.is_some_and(|at| verifier.passes_in_parts(tests, unit.buf, at, false));
        let in_message = match unit.message_at {
            Some(at) if Some(at) == packet_at || at < origin => None,
            Some(at) => Some((at, false)),
            // The message began long ago, or nothing is known of it.
            None => Some((origin.min(packet_at.unwrap_or(0)), true)),
        };
        let mut tries = in_message.into_iter();
        Some(is_in_packet || tries.any(|(at, is_old)| verifier.passes_in_parts(tests, unit.buf, at, is_old)))
    }

    /// Does what a rule says.
    fn act(&mut self, rule: &Rule, idx: u32, view: &View<'_>, context: &mut Context<'_>) {
        let filter = rule.threshold.as_ref().filter(|threshold| threshold.kind == ThresholdKind::After);
        if filter.is_some_and(|filter| !self.thresholds.passes(idx, filter, view, self.now_ns)) {
            return;
        }
        if rule.action == Action::Pass {
            self.is_passed = true;
            // Other parts of the segment may have been searched before.
            self.fired.truncate(self.before.n_fired);
            (self.is_dropped, *context.bits) = (self.before.is_dropped, self.before.bits);
        }
        for (action, bit) in &rule.bits {
            match action {
                BitAction::Set => context.bits.set(*bit),
                BitAction::Unset => context.bits.unset(*bit),
                BitAction::Toggle if context.bits.has(*bit) => context.bits.unset(*bit),
                BitAction::Toggle => context.bits.set(*bit),
                BitAction::IsSet | BitAction::IsNotSet => {}
            }
        }
        self.is_dropped |= rule.action == Action::Drop;
        if !rule.is_silent && rule.action != Action::Pass {
            self.fired.push(Fired { rule: idx, is_reversed: self.is_reversed });
        }
    }
}

/// Whether a rule is for a packet, and its flow as it asks for.
fn applies(rule: &Rule, view: &View<'_>, context: &Context<'_>) -> bool {
    let (from, to) = ((view.source, view.source_port), (view.destination, view.destination_port));
    let is_between = |from, to| rule.source.has(from) && rule.destination.has(to);
    let flow = &rule.flow;
    (is_between(from, to) || rule.is_bidirectional && is_between(to, from))
        && flow.to_server.is_none_or(|to_server| to_server == context.to_server)
        && flow.is_established.is_none_or(|is_established| is_established == context.is_established)
        && rule.header.iter().all(|test| test.passes(view))
        && rule.bits.iter().all(|(action, bit)| match action {
            BitAction::IsSet => context.bits.has(*bit),
            BitAction::IsNotSet => !context.bits.has(*bit),
            _ => true,
        })
}

impl Endpoint {
    fn has(&self, (address, port): (u128, u16)) -> bool {
        self.ports.contains(port) && self.addresses.contains(address)
    }
}
