//! Lets the packets of known TCP flows through.
//!
//! The flows are those that the `TCPConn` elements downstream open or listen for; what belongs to none of them is dropped, and said so.
//! Packets without marked headers, and later fragments, are dropped as well.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> TCPDemux -> [0]c :: TCPConn;
//! c[0] -> Discard; Idle -> [1]c[1] -> Unqueue -> Discard; c[2] -> Discard;
//! ```

use std::collections::HashSet;

use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};

use super::copy_flow_id::flow_of;
use crate::rewriter::flow_id::FlowId;

/// The class.
pub const CLASS: Class = Class::new::<TCPDemux>("TCPDemux", "1/1", "h/h", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored, as in Click.")];

const UNKNOWN: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("unknown", "The packet belongs to no known flow."),
    DropReason::new("no-header", "No IPv4 and TCP headers are marked, or it is a later fragment."),
];

/// See the page above.
#[derive(Default)]
pub struct TCPDemux {
    /// The flows, as those on this side see them; what is 0 in those that are listened for is anything.
    flows: HashSet<FlowId>,
}

impl Element for TCPDemux {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPDemux, Failed> {
        conf.finish()?;
        Ok(TCPDemux::default())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            // Who gets a packet may change the flows.
            match self.is_known(&packet) {
                Some(true) => ctx.emit_now(0, Batch::of(packet)),
                Some(false) => {
                    ctx.chatter("reject packet from unknown flow");
                    ctx.drop_packet(UNKNOWN, packet);
                }
                None => ctx.drop_packet(NO_HEADER, packet),
            }
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TCPDemux>(ctx, old) else { return };
        self.flows.extend(old.flows);
    }
}

impl TCPDemux {
    /// Adds a flow; whether it is new.
    pub fn add(&mut self, flow: FlowId) -> bool {
        self.flows.insert(flow)
    }

    /// Removes a flow.
    pub fn remove(&mut self, flow: &FlowId) {
        self.flows.remove(flow);
    }

    fn is_known(&self, packet: &Packet) -> Option<bool> {
        let flow = flow_of(packet)?.reverse();
        let listening = |src, sport| FlowId { src, sport, ..FlowId::default() };
        let names = [
            flow,
            listening(flow.src, flow.sport),
            listening(0, flow.sport),
            listening(flow.src, 0),
            FlowId::default(),
        ];
        Some(names.iter().any(|name| self.flows.contains(name)))
    }
}
