//! What all rewriters share: the way of a batch, mappings for new flows, the life of an element.

use std::sync::Arc;

use args::ElementName;
use element::{Batch, Configure, Ctx, ElementIdx, Failed, Packet, TimerId, Verdict};

use super::flow_id::FlowId;
use super::flow_set::{FlowSet, NewFlow, Shared};
use super::index::NO_LINK;
use super::input::{Action, Input};
use super::ip_rewriter_patterns::IPRewriterPatterns;
use super::round_robin_ip_mapper::RoundRobinIPMapper;
use super::settings::{Annotations, Settings};
use super::style::{self, Look, Style, Target};
use super::timeouts::Timeouts;
use super::{flow, rewriters};

/// Packets that are looked up together: enough to overlap cache misses, few enough to stay in the first-level cache.
const CHUNK: usize = 64;

/// Index of the reason "no-header" in [`super::handlers::DROPS`].
pub const NO_HEADER: usize = 0;
/// Index of "input-drops".
pub const INPUT_DROPS: usize = 1;
/// Index of "no-mapping".
pub const NO_MAPPING: usize = 2;

/// Which rewriter it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `IPRewriter`
    Ip,
    /// `TCPRewriter`
    Tcp,
    /// `UDPRewriter`
    Udp,
    /// `IPAddrPairRewriter`
    Pair,
    /// `IPAddrRewriter`
    Address,
    /// `ICMPPingRewriter`
    Ping,
}

/// A rewriter.
pub struct Base {
    /// Which one it is.
    pub kind: Kind,
    /// Its flows.
    pub set: Shared,
    /// Its inputs.
    pub inputs: Vec<Input>,
    /// The spaces of its maps in the set.
    pub spaces: [u16; 2],
    /// Number of its first input among the owners of flows in the set.
    pub first_owner: u32,
    /// Number of outputs.
    pub n_outputs: usize,
    annotations: Annotations,
    timeouts: [Timeouts; 2],
    shares_with: Option<ElementIdx>,
    reap_ns: i64,
    timer: Option<TimerId>,
    seen: Vec<Seen>,
    verdicts: Vec<Verdict>,
}

/// What the first pass over a batch learns of a packet.
struct Seen {
    look: Look,
    dst: u32,
    hash: u32,
    link: u32,
    transport_at: u32,
    has_header: bool,
    is_rewritable: bool,
}

/// A mapping as other elements see it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// What packets become.
    pub rewritten: FlowId,
    /// 0 for the forward direction, 1 for the reply direction.
    pub direction: usize,
    /// The output that packets leave by.
    pub output: usize,
    /// Value of the reply annotation.
    pub reply_anno: u8,
}

impl Base {
    /// Reads the arguments in Click's order.
    pub fn configure(kind: Kind, mut conf: &mut Configure<'_>) -> Result<Base, Failed> {
        let settings = Settings::read(kind, conf)?;
        let set = Shared::new();
        let mut shares_with = None;
        if let Some(ElementName(word)) = &settings.capacity {
            let other = conf.environment.find(word, conf.element);
            if let Ok(capacity) = args::integer(word) {
                set.lock().capacity = capacity;
            } else if let Some(idx) = other.filter(|idx| rewriters::is_one(conf.environment.class(*idx))) {
                shares_with = Some(idx).filter(|idx| *idx != conf.element);
            } else {
                return Err("bad MAPPING_CAPACITY".into());
            }
        }
        let specifications = conf.args.rest();
        if specifications.len() != conf.n_inputs {
            return Err(format!("need {} arguments, one per input port", conf.n_inputs).into());
        }
        let n_outputs = conf.n_outputs;
        let mut inputs = Vec::new();
        for (number, text) in specifications.iter().enumerate() {
            match Input::parse(text, n_outputs, &mut conf) {
                Ok(input) => inputs.push(input),
                Err(message) => conf.error(format!("input spec {number}: {message}")),
            }
        }
        conf.finish()?;
        Ok(Base {
            kind,
            set,
            inputs,
            spaces: [0; 2],
            first_owner: 0,
            n_outputs,
            annotations: settings.annotations,
            timeouts: settings.timeouts,
            shares_with,
            reap_ns: i64::from(settings.reap_s) * 1_000_000_000,
            timer: None,
            seen: Vec::new(),
            verdicts: Vec::new(),
        })
    }

    /// Joins the flow set, finds named patterns and mappers, and begins to reap.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(idx) = self.shares_with {
            if let Some(set) = rewriters::with(ctx, idx, |base, _| base.set.clone()) {
                self.set = set;
            }
        }
        self.join()?;
        let mut errors = Vec::new();
        for number in 0..self.inputs.len() {
            self.connect(ctx, number, &mut errors);
        }
        let timer = ctx.new_timer();
        if self.reap_ns > 0 {
            ctx.schedule_after(timer, self.reap_ns);
        }
        self.timer = Some(timer);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("\n"))
        }
    }

    fn join(&mut self) -> Result<(), String> {
        let mut set = self.set.lock();
        let spaces = [set.add_space(self.timeouts[0]), set.add_space(self.timeouts[1])];
        let [Some(first), Some(second)] = spaces else {
            return Err("too many rewriters share a flow set".to_string());
        };
        self.spaces = [first, second];
        self.first_owner = set.add_owners(self.inputs.len());
        Ok(())
    }

    /// Shares the pattern of an input with its other users, or introduces the rewriter to its mapper.
    fn connect(&mut self, ctx: &mut Ctx<'_>, number: usize, errors: &mut Vec<String>) {
        let n_outputs = self.n_outputs;
        let Some(input) = self.inputs.get_mut(number) else { return };
        if let Some((element, argument)) = input.named.take() {
            let shared = ctx.with(element, |patterns: &mut IPRewriterPatterns, _| patterns.at(argument));
            if let Some(pattern) = shared.flatten() {
                input.action = Action::Pattern(pattern);
            }
        }
        if let Action::Mapper(idx) = input.action {
            let declaration = format!("{} :: {}", ctx.name(idx), ctx.class(idx));
            let found = ctx.with(idx, |mapper: &mut RoundRobinIPMapper, _| mapper.out_of_range(n_outputs));
            for pattern in found.unwrap_or_default() {
                errors.push(format!(
                    "input spec {number}: output port out of range in {declaration} pattern {pattern}"
                ));
            }
        }
    }

    /// Removes what has expired.
    pub fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.set.lock().shrink(now_ms(ctx));
        if self.reap_ns > 0 {
            ctx.reschedule_after(timer, self.reap_ns);
        }
    }

    /// Rewrites a batch. The effect is that of rewriting its packets one by one.
    #[inline]
    pub fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let now_ms = now_ms(ctx);
        match self.kind {
            Kind::Ip => self.rewrite::<style::TcpAndUdp>(ctx, port, &mut batch, now_ms),
            Kind::Tcp => self.rewrite::<style::TcpOnly>(ctx, port, &mut batch, now_ms),
            Kind::Udp => self.rewrite::<style::Ports>(ctx, port, &mut batch, now_ms),
            Kind::Pair => self.rewrite::<style::AddressPairs>(ctx, port, &mut batch, now_ms),
            Kind::Address => self.rewrite::<style::Addresses>(ctx, port, &mut batch, now_ms),
            Kind::Ping => self.rewrite::<style::Echo>(ctx, port, &mut batch, now_ms),
        }
        // Most batches go one way as a whole.
        let output = self.verdicts.first().copied().unwrap_or(Verdict::PASS);
        let port = (0..self.n_outputs.min(2)).find(|port| output == Verdict::port(*port));
        if let Some(port) = port.filter(|_| self.verdicts.iter().all(|verdict| *verdict == output)) {
            return ctx.emit(port, batch);
        }
        let mut verdicts = self.verdicts.iter();
        ctx.push_each(batch, |_| verdicts.next().copied().unwrap_or(Verdict::drop(NO_MAPPING)));
    }

    fn rewrite<S: Style>(&mut self, ctx: &mut Ctx<'_>, port: usize, packets: &mut [Packet], now_ms: i64) {
        let (mut seen, mut verdicts) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.verdicts));
        let shared = self.set.clone();
        let mut set = shared.lock();
        verdicts.clear();
        for chunk in packets.chunks_mut(CHUNK) {
            let generation = self.look::<S>(&set, chunk, &mut seen);
            for (packet, seen) in chunk.iter_mut().zip(&seen) {
                verdicts.push(self.rewrite_one::<S>(ctx, &mut set, port, packet, seen, generation, now_ms));
            }
        }
        (self.seen, self.verdicts) = (seen, verdicts);
    }

    /// Looks packets up, in steps that let cache misses overlap. What was found holds as long as the set's generation does.
    #[inline(always)]
    fn look<S: Style>(&self, set: &FlowSet, packets: &[Packet], seen: &mut Vec<Seen>) -> u64 {
        seen.clear();
        seen.extend(packets.iter().map(|packet| self.look_at::<S>(set, packet)));
        for seen in seen.iter_mut().filter(|seen| seen.is_rewritable) {
            seen.link = set.candidate(seen.hash);
            if S::BY_DESTINATION && seen.link == NO_LINK {
                seen.link = set.candidate(set.hash(&FlowId::addresses(0, seen.dst), self.space(0)));
            }
        }
        set.generation
    }

    #[inline(always)]
    fn look_at<S: Style>(&self, set: &FlowSet, packet: &Packet) -> Seen {
        let (network, transport) = (packet.network(), packet.transport());
        let header = network.first_chunk::<20>();
        let look = header.and_then(|header| S::look(header, transport));
        let dst = header.map_or(0, |h| u32::from_be_bytes([h[16], h[17], h[18], h[19]]));
        let mut seen = Seen {
            look: Look { id: FlowId::default(), map: 0, protocol: 0, may_begin: false },
            dst,
            hash: 0,
            link: NO_LINK,
            transport_at: network.len().saturating_sub(transport.len()) as u32,
            has_header: header.is_some(),
            is_rewritable: look.is_some() && transport.len() <= network.len(),
        };
        if let Some(look) = look {
            seen.look = look;
            seen.hash = set.hash(&look.id, self.space(look.map));
            set.prefetch(seen.hash);
            if S::BY_DESTINATION {
                set.prefetch(set.hash(&FlowId::addresses(0, dst), self.space(0)));
            }
        }
        seen
    }

    #[inline(always)]
    fn space(&self, map: u8) -> u16 {
        self.spaces[usize::from(map & 1)]
    }

    #[inline(always)]
    #[allow(clippy::too_many_arguments)] // One call site, in the loop above.
    fn rewrite_one<S: Style>(
        &mut self,
        ctx: &mut Ctx<'_>,
        set: &mut FlowSet,
        port: usize,
        packet: &mut Packet,
        seen: &Seen,
        generation: u64,
        now_ms: i64,
    ) -> Verdict {
        if !seen.is_rewritable {
            return self.unmapped(port, seen.has_header);
        }
        let mut link = seen.link;
        if generation != set.generation || !self.holds::<S>(set, seen) {
            link = self.find::<S>(set, seen);
        }
        if link == NO_LINK {
            if !seen.look.may_begin {
                return self.unmapped(port, true);
            }
            match self.begin(ctx, set, port, packet, &seen.look, now_ms) {
                Ok(new) => link = new,
                Err(verdict) => return verdict,
            }
        }
        self.apply::<S>(set, packet, link, seen, now_ms)
    }

    /// Whether what the first passes found is what a lookup would find.
    #[inline(always)]
    fn holds<S: Style>(&self, set: &FlowSet, seen: &Seen) -> bool {
        let space = self.space(seen.look.map);
        seen.link == NO_LINK
            || set.is(seen.link, &seen.look.id, space)
            || S::BY_DESTINATION
                && set.is(seen.link, &FlowId::addresses(0, seen.dst), space)
                && set.find_hashed(seen.hash, &seen.look.id, space) == NO_LINK
    }

    #[inline(never)]
    fn find<S: Style>(&self, set: &FlowSet, seen: &Seen) -> u32 {
        let space = self.space(seen.look.map);
        let link = set.find_hashed(seen.hash, &seen.look.id, space);
        if S::BY_DESTINATION && link == NO_LINK {
            return set.find(&FlowId::addresses(0, seen.dst), space).unwrap_or(NO_LINK);
        }
        link
    }

    /// What becomes of a packet that cannot have a mapping.
    fn unmapped(&self, port: usize, has_header: bool) -> Verdict {
        match self.inputs.get(port) {
            Some(Input { action: Action::Pass, outputs, .. }) => Verdict::port(outputs[0].into()),
            _ if !has_header => Verdict::drop(NO_HEADER),
            _ => Verdict::drop(INPUT_DROPS),
        }
    }

    #[inline(always)]
    fn apply<S: Style>(
        &self,
        set: &mut FlowSet,
        packet: &mut Packet,
        link: u32,
        seen: &Seen,
        now_ms: i64,
    ) -> Verdict {
        let direction = link as usize & 1;
        let partial_at = if packet.has_offload() { partial_checksum_at(packet) } else { None };
        let timeouts = &self.timeouts[usize::from(seen.look.map & 1)];
        let is_lazy = set.is_lazy();
        let Some(flow) = set.flow_mut(link) else { return Verdict::drop(NO_MAPPING) };
        let output = flow.outputs[direction];
        if self.annotations.sets_dst && !(S::BY_DESTINATION && direction == 0) {
            packet.set_dst_ip(flow.rewritten(direction).dst.into());
        }
        if let Some(offset) = self.annotations.reply.filter(|_| direction == 1) {
            packet.set_anno_u8(offset, flow.reply_anno);
        }
        let network = packet.network_mut();
        let mut target = Target { network, transport_at: seen.transport_at as usize, partial_at };
        if flow.flags & flow::SHIFTED != 0 {
            apply_shifted::<S>(set, link, &mut target);
            set.renew(link, now_ms);
            return Verdict::port(output.into());
        }
        S::apply(flow, direction, &mut target, None);
        let (is_guaranteed, expiry_ms) = timeouts.renewed(flow.state, now_ms);
        let moves = flow.is_guaranteed != is_guaranteed
            || expiry_ms < flow.expiry_ms
            || expiry_ms > flow.expiry_ms && !is_lazy[usize::from(is_guaranteed)];
        if moves {
            set.set_expiry(link >> 1, is_guaranteed, expiry_ms);
        } else {
            flow.expiry_ms = expiry_ms;
        }
        Verdict::port(output.into())
    }

    /// Makes a mapping for a new flow.
    #[inline(never)]
    fn begin(
        &mut self,
        ctx: &mut Ctx<'_>,
        set: &mut FlowSet,
        port: usize,
        packet: &Packet,
        look: &Look,
        now_ms: i64,
    ) -> Result<u32, Verdict> {
        let space = self.space(look.map);
        let Some(input) = self.inputs.get_mut(port) else { return Err(Verdict::drop(INPUT_DROPS)) };
        let id = look.id;
        let is_taken = |id: &FlowId| set.find(id, space).is_some();
        let rewritten = match &input.action {
            Action::Drop => return Err(Verdict::drop(INPUT_DROPS)),
            Action::Pass => return Err(Verdict::port(input.outputs[0].into())),
            Action::Keep => Some(id),
            Action::Pattern(pattern) => Arc::clone(pattern).rewrite(&id, ctx, &is_taken),
            Action::Mapper(idx) => {
                let chosen =
                    ctx.with(*idx, |mapper: &mut RoundRobinIPMapper, ctx| mapper.choose(&id, ctx, &is_taken));
                chosen.flatten().map(|(rewritten, outputs)| {
                    input.outputs = outputs;
                    rewritten
                })
            }
        };
        let Some(rewritten) = rewritten else {
            input.failures = input.failures.wrapping_add(1);
            return Err(Verdict::drop(NO_MAPPING));
        };
        let outputs = input.outputs;
        let new = self.new_flow(look, rewritten, outputs, port).ok_or(Verdict::drop(NO_MAPPING))?;
        let Some(link) = set.store(&new, now_ms) else {
            if let Some(input) = self.inputs.get_mut(port) {
                input.failures = input.failures.wrapping_add(1);
            }
            return Err(Verdict::drop(NO_MAPPING));
        };
        if let (Some(offset), Some(flow)) = (self.annotations.reply, set.flow_mut(link)) {
            flow.reply_anno = packet.anno_u8(offset);
        }
        Ok(link)
    }

    /// The flow to be stored; `None` if this rewriter cannot do what the pattern wants.
    fn new_flow(
        &self,
        look: &Look,
        mut rewritten: FlowId,
        outputs: [u16; 2],
        port: usize,
    ) -> Option<NewFlow> {
        if outputs.iter().any(|output| usize::from(*output) >= self.n_outputs) {
            return None;
        }
        let has_ports = rewritten.sport != 0 || rewritten.dport != 0;
        match self.kind {
            Kind::Pair if has_ports => return None,
            Kind::Address if has_ports || rewritten.dst != 0 => return None,
            Kind::Ping => rewritten.dport = FlowId::successor(rewritten.sport),
            _ => {}
        }
        let (old, new) = (look.id.halfwords(), rewritten.halfwords());
        let transport_delta = if self.kind == Kind::Ping {
            flow::delta(&[look.id.sport], &[rewritten.sport])
        } else {
            flow::delta(&old, &new)
        };
        let owner = self.first_owner.checked_add(u32::try_from(port).ok()?)?;
        Some(NewFlow {
            ids: [look.id, rewritten],
            outputs,
            deltas: [flow::delta(&old[..4], &new[..4]), transport_delta],
            space: self.space(look.map),
            protocol: look.protocol,
            owner,
        })
    }

    /// The mapping of packets with this identifier and protocol, for elements that look at others' headers. Identifiers
    /// of ICMP echo messages are in the source port, and belong to replies.
    pub fn mapping(&self, protocol: u8, id: &FlowId) -> Option<Mapping> {
        use wire::protocol::{ICMP, TCP, UDP};
        let set = self.set.lock();
        let first = self.space(0);
        let link = match (self.kind, protocol) {
            (Kind::Ip, UDP) => set.find(id, self.space(1))?,
            (Kind::Ip, TCP) | (Kind::Tcp | Kind::Udp, _) => set.find(id, first)?,
            (Kind::Pair, _) => set.find(&FlowId::addresses(id.src, id.dst), first)?,
            (Kind::Address, _) => set
                .find(&FlowId::addresses(id.src, 0), first)
                .or_else(|| set.find(&FlowId::addresses(0, id.dst), first))?,
            (Kind::Ping, ICMP) => set.find(&style::echo_id(id.src, id.dst, id.sport, false), first)?,
            _ => return None,
        };
        let flow = set.flow(link)?;
        let is_other = protocol != 0 && flow.protocol != 0 && flow.protocol != protocol;
        if is_other {
            return None;
        }
        let direction = link as usize & 1;
        let output = usize::from(flow.outputs[direction]);
        Some(Mapping { rewritten: flow.rewritten(direction), direction, output, reply_anno: flow.reply_anno })
    }

    /// Takes over the flows of a predecessor whose inputs and outputs this one has too.
    pub fn take_state(&mut self, ctx: &mut Ctx<'_>, old: &Base) {
        if old.kind != self.kind || old.set.is(&self.set) {
            return;
        }
        let (n_inputs, n_outputs) = (self.inputs.len() as u32, self.n_outputs);
        let (owner, spaces) = (self.first_owner, self.spaces);
        let old_set = old.set.lock();
        self.set.lock().take_over(
            &old_set,
            |flow| {
                let input = flow.owner.checked_sub(old.first_owner)?;
                let map = old.spaces.iter().position(|space| *space == flow.space)?;
                let has_outputs = flow.outputs.iter().all(|output| usize::from(*output) < n_outputs);
                (input < n_inputs && has_outputs).then_some((owner + input, spaces[map]))
            },
            now_ms(ctx),
        );
    }
}

/// The time of timeouts.
pub fn now_ms(ctx: &mut Ctx<'_>) -> i64 {
    ctx.steady_ns() / 1_000_000
}

/// Rewrites a packet of a flow whose sequence numbers are shifted.
#[cold]
fn apply_shifted<S: Style>(set: &mut FlowSet, link: u32, target: &mut Target<'_>) {
    let Some(mut flow) = set.flow(link).copied() else { return };
    S::apply(&mut flow, link as usize & 1, target, set.shifts_mut(link));
    if let Some(place) = set.flow_mut(link) {
        place.state = flow.state;
    }
}

/// Where the field of a partial checksum lies, counted from the network header.
#[cold]
fn partial_checksum_at(packet: &Packet) -> Option<usize> {
    let offload = packet.offload();
    let start = isize::try_from(offload.checksum_start).ok()?.checked_sub(packet.network_offset()?)?;
    let at = usize::try_from(start).ok()? + usize::from(offload.checksum_offset);
    offload.needs_checksum.then_some(at)
}
