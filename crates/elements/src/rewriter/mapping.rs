//! Mappings: how new flows get theirs, and how other elements see them.

use std::sync::Arc;

use element::{Ctx, Packet, Verdict};

use super::base::{Base, Kind, INPUT_DROPS, NO_MAPPING};
use super::flow;
use super::flow_id::FlowId;
use super::flow_set::{FlowSet, NewFlow};
use super::input::Action;
use super::round_robin_ip_mapper::RoundRobinIPMapper;
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
}
