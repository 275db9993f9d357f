//! Mappings: how new flows get theirs, and how other elements see them.

use std::sync::Arc;

use element::{Ctx, Packet, Verdict};

use wire::protocol;

use super::base::{now_ms, Base, Kind, INPUT_DROPS, NO_MAPPING};
use super::flow;
use super::flow_id::FlowId;
use super::flow_set::{FlowSet, NewFlow};
use super::input::Action;
use super::mappers;
use super::style::{self, Look};

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
    /// Makes a mapping for a new flow.
    #[inline(never)]
    pub(super) fn begin(
        &mut self,
        ctx: &mut Ctx<'_>,
        set: &mut FlowSet,
        port: usize,
        packet: &Packet,
        look: &Look,
        now_ms: i64,
    ) -> Result<u32, Verdict> {
        let link = self.add_flow(ctx, set, port, look, now_ms)?;
        if let (Some(offset), Some(flow)) = (self.annotations.reply, set.flow_mut(link)) {
            flow.reply_anno = packet.anno_u8(offset);
        }
        Ok(link)
    }

    /// Makes a mapping for a new flow whose first packet is not there.
    fn add_flow(
        &mut self,
        ctx: &mut Ctx<'_>,
        set: &mut FlowSet,
        port: usize,
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
            Action::Mapper(idx) => mappers::choose(ctx, *idx, &id, &is_taken).map(|(rewritten, outputs)| {
                input.outputs = outputs;
                rewritten
            }),
        };
        let Some(rewritten) = rewritten else {
            input.failures = input.failures.wrapping_add(1);
            return Err(Verdict::drop(NO_MAPPING));
        };
        let outputs = input.outputs;
        let new = self.new_flow(look, rewritten, outputs, port).ok_or(Verdict::drop(NO_MAPPING))?;
        let stored = set.store(&new, now_ms);
        self.n_reads += 1 + std::mem::take(&mut set.n_looks);
        let Some(link) = stored else {
            if let Some(input) = self.inputs.get_mut(port) {
                input.failures = input.failures.wrapping_add(1);
            }
            return Err(Verdict::drop(NO_MAPPING));
        };
        Ok(link)
    }

    /// The mapping of a TCP flow, made as for a packet on input `port` if there is none.
    pub fn tcp_mapping_or_new(&mut self, ctx: &mut Ctx<'_>, id: &FlowId, port: usize) -> Option<Mapping> {
        if let Some(link) = self.link(protocol::TCP, id) {
            return self.mapping_of(link, protocol::TCP);
        }
        let id = match self.kind {
            Kind::Ip | Kind::Tcp | Kind::Udp => *id,
            Kind::Pair => FlowId::addresses(id.src, id.dst),
            Kind::Address => FlowId::addresses(id.src, 0),
            Kind::Ping => return None,
        };
        let look = Look { id, map: 0, protocol: protocol::TCP, may_begin: true };
        let shared = self.set.clone();
        let now_ms = now_ms(ctx);
        let link = self.add_flow(ctx, &mut shared.lock(), port, &look, now_ms).ok()?;
        self.mapping_of(link, protocol::TCP)
    }

    /// Says that the payload of a TCP flow is longer by `delta` bytes from sequence number `trigger` on.
    pub fn shift_sequence(&mut self, id: &FlowId, trigger: u32, delta: i32) {
        if let Some(link) = self.link(protocol::TCP, id) {
            self.set.lock().shift(link, trigger, delta);
        }
    }

    /// Sets the reply annotation of a TCP flow.
    pub fn set_reply_anno(&mut self, id: &FlowId, reply_anno: u8) {
        let Some(link) = self.link(protocol::TCP, id) else { return };
        if let Some(flow) = self.set.lock().flow_mut(link) {
            flow.reply_anno = reply_anno;
        }
    }

    /// The flow to be stored; `None` if this rewriter cannot do what the pattern wants.
    pub(super) fn new_flow(
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
        self.mapping_of(self.link(protocol, id)?, protocol)
    }

    fn link(&self, protocol: u8, id: &FlowId) -> Option<u32> {
        use wire::protocol::{ICMP, TCP, UDP};
        let set = self.set.lock();
        let first = self.space(0);
        match (self.kind, protocol) {
            (Kind::Ip, UDP) => set.find(id, self.space(1)),
            (Kind::Ip, TCP) | (Kind::Tcp | Kind::Udp, _) => set.find(id, first),
            (Kind::Pair, _) => set.find(&FlowId::addresses(id.src, id.dst), first),
            (Kind::Address, _) => set
                .find(&FlowId::addresses(id.src, 0), first)
                .or_else(|| set.find(&FlowId::addresses(0, id.dst), first)),
            (Kind::Ping, ICMP) => set.find(&style::echo_id(id.src, id.dst, id.sport, false), first),
            _ => None,
        }
    }

    fn mapping_of(&self, link: u32, protocol: u8) -> Option<Mapping> {
        let set = self.set.lock();
        let flow = set.flow(link)?;
        let is_other = protocol != 0 && flow.protocol != 0 && flow.protocol != protocol;
        if is_other {
            return None;
        }
        let direction = link as usize & 1;
        let output = usize::from(flow.outputs[direction]);
        Some(Mapping { rewritten: flow.rewritten(direction), direction, output, reply_anno: flow.reply_anno })
    }
}
