//! What all rewriters are: a flow set, inputs, and the way of a batch through them.

use element::{offload, Batch, Ctx, ElementIdx, Packet, TimerId, Verdict};

use super::flow;
use super::flow_id::FlowId;
use super::flow_set::{FlowSet, Shared};
use super::index::NO_LINK;
use super::input::{Action, Input};
use super::settings::Annotations;
use super::style::{self, Look, Style, Target};
use super::timeouts::Timeouts;

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
    pub(super) annotations: Annotations,
    pub(super) timeouts: [Timeouts; 2],
    pub(super) shares_with: Option<ElementIdx>,
    pub(super) reap_ns: i64,
    pub(super) timer: Option<TimerId>,
    pub(super) seen: Vec<Seen>,
    pub(super) verdicts: Vec<Verdict>,
    /// How often Click would have read the time for a batch: for each new flow, to make room for it, and for each packet of a flow.
    pub(super) n_reads: u32,
}

/// What the first pass over a batch learns of a packet.
pub(super) struct Seen {
    look: Look,
    dst: u32,
    hash: u32,
    link: u32,
    transport_at: u32,
    has_header: bool,
    is_rewritable: bool,
}

impl Base {
    /// Rewrites a batch. The effect is that of rewriting its packets one by one.
    #[inline]
    pub fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let now_ms = ctx.recent_steady_ns() / 1_000_000;
        self.n_reads = 0;
        match self.kind {
            Kind::Ip => self.rewrite::<style::TcpAndUdp>(ctx, port, &mut batch, now_ms),
            Kind::Tcp => self.rewrite::<style::TcpOnly>(ctx, port, &mut batch, now_ms),
            Kind::Udp => self.rewrite::<style::Ports>(ctx, port, &mut batch, now_ms),
            Kind::Pair => self.rewrite::<style::AddressPairs>(ctx, port, &mut batch, now_ms),
            Kind::Address => self.rewrite::<style::Addresses>(ctx, port, &mut batch, now_ms),
            Kind::Ping => self.rewrite::<style::Echo>(ctx, port, &mut batch, now_ms),
        }
        ctx.let_pass(self.n_reads.into());
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
    pub(super) fn space(&self, map: u8) -> u16 {
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
        self.n_reads += 1;
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
        let partial_at = offload::partial_checksum_at(packet);
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
