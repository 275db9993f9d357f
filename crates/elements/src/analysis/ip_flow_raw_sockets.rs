//! Exchanges the packets of TCP and UDP flows with the network, through sockets of its own for each flow.
//!
//! The aggregate annotation tells the flow, and the paint the direction, as `AggregateIPFlows` sets them. What arrives at the
//! input, packets that begin with their marked IPv4 header, is sent as it is to the destination of the flow. The flow's
//! answers, IPv4 packets that reach this host from there, are emitted with their headers marked; the system has them as well.
//! Of packets longer than SNAPLEN the rest is cut off, and counted in the extra length annotation; no packet is longer than
//! 65535 bytes.
//!
//! With PCAP, the default, libpcap makes a filter for what comes in on any device: addresses, ports and protocol must be the
//! flow's. Without PCAP, and where libpcap is not installed, which is told, a flow's socket receives what is for the flow's
//! own port, from any host; two flows with the same port of their own then both receive it.
//!
//! A flow's sockets are closed a quarter of a second after NOTIFIER has told that the flow has ended; without NOTIFIER they
//! stay open until `clear` is written, and then there are soon too many. Only privileged users may open such sockets.
//!
//! The system does not know of the connections: it would answer their packets with resets and errors, and might give their ports
//! to programs. So a firewall is to drop what comes in for the ports (`iptables -A INPUT -p tcp --dport 50000:65535 -j DROP`, the
//! same for `udp`), and `/proc/sys/net/ipv4/ip_local_port_range` is to end before them.
//!
//! ```click
//! // Translates the addresses of the packets that tun0 gets to 10.0.0.1.
//! af :: AggregateIPFlows; inside :: KernelTun(192.168.7.1/24, DEVNAME tun0); way :: CheckPaint(0);
//! rw :: IPRewriter(pattern 10.0.0.1 50000-65535 - - 0 1, drop);
//! inside -> af -> way -> rw -> GetIPAddress(16) -> CheckIPHeader -> outside :: IPFlowRawSockets(NOTIFIER af);
//! outside -> CheckIPHeader -> [1]rw; rw[1] -> af; way[1] -> inside;
//! ```

mod flow;

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd};

use element::output::reason;
use element::{
    annotation, handlers, offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx,
    Failed, Handler, Packet, Puller, Ready, TaskId, TimerId, BATCH_MAX,
};
use packet::DEFAULT_HEADROOM;
use sys::datagrams::{Datagram, Inbox};
use wire::Ipv4;

use super::aggregate_events::{self, Ended, Listener};
use super::aggregates_seen::AggregatesSeen;
use flow::{Ends, Flow};

/// The class.
pub const CLASS: Class = Class::new::<IpFlowRawSockets>("IPFlowRawSockets", "1/1", "a/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    aggregate_events::NOTIFIER,
    Arg::keyword("SNAPLEN", "unsigned", "Most bytes of a received packet. Default 2046."),
    Arg::keyword("PCAP", "bool", "Whether to receive through a filter that libpcap makes. Default true."),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room before a packet's data. Default 128."),
];

const TASK: [Handler; 3] = [handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];
const HANDLERS: &[Handler] =
    &[Handler::write("clear", "Closes the sockets of all flows."), TASK[0], TASK[1], TASK[2]];

const DROPS: &[DropReason] = &[
    DropReason::new("no-flow", "A packet to be sent had no aggregate annotation."),
    DropReason::new("no-socket", "There could be no socket for the packet, or it began with no ports."),
    DropReason::new("not-sent", "The system refused a packet."),
    DropReason::new("not-ip", "What was received is no IPv4 packet."),
    DropReason::new("not-own", "What was received without a filter belongs to no port of the flow."),
];
const NO_FLOW: usize = 0;
const NO_SOCKET: usize = 1;
const NOT_SENT: usize = 2;
const NOT_IP: usize = 3;
const NOT_OWN: usize = 4;

/// The longest packet there is.
const MAX_SNAPLEN: u32 = 65535;
/// The most room before a packet, whatever HEADROOM says.
const MAX_HEADROOM: u32 = 1 << 16;

/// See the page above.
pub struct IpFlowRawSockets {
    notifier: Option<ElementIdx>,
    headroom: usize,
    captures: bool,
    flows: HashMap<u32, Flow>,
    /// The flow whose socket has a descriptor.
    by_descriptor: HashMap<i32, u32>,
    inbox: Inbox,
    ended: Ended,
    seen: AggregatesSeen,
    puller: Option<Puller>,
}

impl Element for IpFlowRawSockets {
    fn configure(conf: &mut Configure<'_>) -> Result<IpFlowRawSockets, Failed> {
        let notifier = conf.element("NOTIFIER", &[]);
        let snaplen = conf.args.get_or("SNAPLEN", 2046).min(MAX_SNAPLEN);
        let captures = conf.args.get_or("PCAP", true);
        let headroom = conf.args.get_or("HEADROOM", DEFAULT_HEADROOM as u32).min(MAX_HEADROOM);
        conf.finish()?;
        aggregate_events::check(conf, notifier)?;
        Ok(IpFlowRawSockets {
            notifier,
            headroom: headroom as usize,
            captures,
            flows: HashMap::new(),
            by_descriptor: HashMap::new(),
            inbox: Inbox::new(snaplen as usize),
            ended: Ended::default(),
            seen: AggregatesSeen::default(),
            puller: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !ctx.input_is_push(0) {
            self.puller = Some(ctx.new_puller(0));
        }
        aggregate_events::listen::<IpFlowRawSockets>(ctx, self.notifier);
        self.ended.initialize(ctx);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            self.send(ctx, packet);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let batch = ctx.pull(0, burst);
        let worked = !batch.is_empty();
        self.push(ctx, 0, batch);
        if worked || self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal)) {
            ctx.schedule(task);
        }
        worked
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, _ready: Ready) {
        let aggregate = self.by_descriptor.get(&fd);
        let Some(flow) = aggregate.and_then(|aggregate| self.flows.get(aggregate)) else { return };
        if let Err(error) = self.inbox.receive(flow) {
            let text = format!("{}: read: {}", ctx.own_declaration(), reason(&error));
            return ctx.chatter(&text);
        }
        let (now_ns, burst) = (ctx.now_ns(), ctx.default_burst().clamp(1, BATCH_MAX));
        let mut batch = Batch::new();
        for datagram in self.inbox.datagrams() {
            match received(&datagram, self.headroom, now_ns) {
                None => ctx.count_drops(NOT_IP, 1),
                Some(packet) if !flow.has_answer(&packet) => ctx.drop_packet(NOT_OWN, packet),
                Some(packet) => batch.push(packet),
            }
            if batch.len() >= burst {
                ctx.emit(0, std::mem::take(&mut batch));
            }
        }
        ctx.emit(0, batch);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        for aggregate in self.ended.take_due(ctx) {
            self.end(ctx, aggregate);
        }
    }

    fn has_handler(&self, name: &str) -> bool {
        self.puller.is_some() || !TASK.iter().any(|handler| handler.name == name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "clear" => self.end_all(ctx),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.end_all(ctx);
        self.seen.warn(ctx);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<IpFlowRawSockets>(ctx, old) else { return };
        if old.captures == self.captures {
            for (aggregate, flow) in std::mem::take(&mut old.flows) {
                ctx.remove_select(flow.as_fd().as_raw_fd(), Ready::READ);
                if let Err(error) = self.keep(ctx, aggregate, flow) {
                    ctx.chatter(&error);
                }
            }
            self.ended.take_over(ctx, &mut old.ended);
        }
        self.seen.take_over(&mut old.seen);
        old.cleanup(ctx);
    }
}

impl Listener for IpFlowRawSockets {
    fn ended(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        if self.flows.contains_key(&aggregate) {
            self.ended.add(ctx, aggregate);
        }
    }
}

/// The packet of what was received, with its header marked; `None` if it has none.
fn received(datagram: &Datagram<'_>, headroom: usize, now_ns: i64) -> Option<Packet> {
    let ip = Ipv4::new(datagram.data)?;
    let mut packet = Packet::with_headroom(headroom, datagram.data);
    packet.set_network_header(0, ip.header_len());
    packet.set_dst_ip(ip.destination());
    packet.set_timestamp_ns(now_ns);
    let n_missing = datagram.len - datagram.data.len();
    if n_missing > 0 {
        packet.set_anno_u32(annotation::EXTRA_LENGTH, u32::try_from(n_missing).unwrap_or(u32::MAX));
    }
    Some(packet)
}

impl IpFlowRawSockets {
    fn send(&mut self, ctx: &mut Ctx<'_>, mut packet: Packet) {
        offload::settle(&mut packet);
        let aggregate = packet.anno_u32(annotation::AGGREGATE);
        if aggregate == 0 {
            self.seen.note(0);
            return ctx.drop_packet(NO_FLOW, packet);
        }
        if !self.flows.contains_key(&aggregate) {
            self.begin(ctx, aggregate, &packet);
        }
        let Some(flow) = self.flows.get(&aggregate) else {
            // It counts as one of no aggregate.
            self.seen.note(0);
            return ctx.drop_packet(NO_SOCKET, packet);
        };
        self.seen.note(aggregate);
        if let Err(error) = flow.send(packet.data()) {
            if error.kind() != ErrorKind::WouldBlock {
                ctx.chatter(&format!("sendto: {}", reason(&error)));
            }
            ctx.drop_packet(NOT_SENT, packet);
        }
    }

    /// Opens the sockets of the flow that begins with a packet, if that can be.
    fn begin(&mut self, ctx: &mut Ctx<'_>, aggregate: u32, packet: &Packet) {
        let Some(ends) = Ends::of(packet) else { return };
        let begun = Flow::open(ends).and_then(|mut flow| {
            if let Some(Err(error)) = self.captures.then(|| flow.capture()) {
                ctx.chatter(&format!("warning: {error}"));
            }
            self.keep(ctx, aggregate, flow)
        });
        if let Err(error) = begun {
            ctx.chatter(&error);
        }
    }

    fn keep(&mut self, ctx: &mut Ctx<'_>, aggregate: u32, flow: Flow) -> Result<(), String> {
        ctx.add_select(flow.as_fd(), Ready::READ)?;
        self.by_descriptor.insert(flow.as_fd().as_raw_fd(), aggregate);
        self.flows.insert(aggregate, flow);
        Ok(())
    }

    fn end(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        let Some(flow) = self.flows.remove(&aggregate) else { return };
        let descriptor = flow.as_fd().as_raw_fd();
        ctx.remove_select(descriptor, Ready::READ);
        self.by_descriptor.remove(&descriptor);
    }

    fn end_all(&mut self, ctx: &mut Ctx<'_>) {
        let aggregates: Vec<u32> = self.flows.keys().copied().collect();
        for aggregate in aggregates {
            self.end(ctx, aggregate);
        }
    }
}

#[cfg(test)]
mod tests;
