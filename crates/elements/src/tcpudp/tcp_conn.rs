//! Opens a TCP connection and gives the packets that leave on it addresses, ports and sequence numbers.
//!
//! What comes in goes from input 0, behind a `TCPDemux`, to output 0; what leaves is pulled through input 1 and output 1, and only while
//! the connection stands; a SYN leaves by output 2. Acknowledgement numbers are `TCPAck`'s concern. A connection that listens
//! takes no packets, as those for new connections are not kept. Packets without marked headers are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> TCPDemux -> [0]c :: TCPConn;
//! c[0] -> Discard; Idle -> [1]c[1] -> Unqueue -> Discard; c[2] -> SetIPChecksum -> SetTCPChecksum -> Discard;
//! Script(write c.ctrl connect 1.0.0.1 2000 1.0.0.2 80);
//! ```

use std::net::Ipv4Addr;

use args::{Args, Port, Scope};
use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Handler, Packet,
};
use wire::{protocol, tcp_flag};

use super::copy_flow_id::set_flow;
use super::sequence::Sequence;
use super::tcp_demux::TCPDemux;
use super::tcp_packet;
use crate::rewriter::flow_id::FlowId;
use crate::standard::neighbours::{nearest, Towards};

/// The class.
pub const CLASS: Class = Class::new::<TCPConn>("TCPConn", "2/3", "hl/hlh", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .looks_around();

const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored, as in Click.")];

const HANDLERS: &[Handler] = &[
    Handler::write(
        "ctrl",
        "Opens a connection, `connect SRC SPORT DST DPORT`, or listens, `listen SRC SPORT`.",
    ),
    Handler::write("reset", "Forgets the connection.").flags("button"),
];

const CTRL: &[Arg] = &[
    Arg::required("ACTION", "string", "`connect` or `listen`."),
    Arg::required("SRC", "string", "Address on this side."),
    Arg::required("SPORT", "port", "Port on this side."),
    Arg::optional("DST", "string", "Address of the other side."),
    Arg::optional("DPORT", "port", "Port of the other side."),
];

const LISTENING: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("listening", "The connection only listens."),
    DropReason::new("no-header", "No IPv4 and TCP headers are marked."),
];

const SYN_ACK: u8 = tcp_flag::SYN | tcp_flag::ACK;
const TYPE_OF_SERVICE: u8 = 0x10;

/// What a connection does.
#[derive(Clone, Copy, PartialEq)]
enum State {
    Idle,
    Listening,
    /// A SYN was sent.
    Opening,
    Established,
}

/// See the page above.
pub struct TCPConn {
    demux: ElementIdx,
    state: State,
    flow: FlowId,
    next: u32,
}

impl Element for TCPConn {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPConn, Failed> {
        conf.finish()?;
        Ok(TCPConn { demux: conf.element, state: State::Idle, flow: FlowId::default(), next: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let demuxes = nearest(ctx, Towards::Inputs, 0, |ctx, idx| ctx.class(idx) == "TCPDemux");
        self.demux = *demuxes.first().ok_or("need at least 1 upstream TCPDemux")?;
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            match Sequence::of(&packet) {
                _ if self.state == State::Listening => ctx.drop_packet(LISTENING, packet),
                Some(sequence) => {
                    if sequence.flags & SYN_ACK == SYN_ACK && self.state != State::Idle {
                        self.state = State::Established;
                        self.next = self.next.wrapping_add(1);
                    }
                    // What it causes may ask for packets, which the next one may change.
                    ctx.emit_now(0, Batch::of(packet));
                }
                None => ctx.drop_packet(NO_HEADER, packet),
            }
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        if self.state != State::Established {
            return Batch::new();
        }
        let (mut batch, mut others) = (ctx.pull(port, max), Batch::new());
        batch.split(|packet| u32::from(self.send(packet).is_none()), |_, packet| others.push(packet));
        ctx.drop_batch(NO_HEADER, others);
        batch
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "ctrl" => self.control(ctx, value),
            "reset" => {
                self.forget(ctx);
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.forget(ctx);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<TCPConn>(ctx, old) else { return };
        let (state, flow) = (old.state, old.flow);
        old.forget(ctx);
        if state != State::Idle && self.begin(ctx, flow, state).is_some() {
            self.next = old.next;
        }
    }
}

impl TCPConn {
    fn control(&mut self, ctx: &mut Ctx<'_>, command: &str) -> Result<(), String> {
        if self.state != State::Idle {
            return Err("TCPConn already active".to_string());
        }
        let (action, flow) = parse(command, &ctx.scope())?;
        match action.as_str() {
            "connect" => {
                self.begin(ctx, flow, State::Opening).ok_or("cannot connect")?;
                self.next = ctx.random();
                let tcp = tcp_packet::Segment {
                    flow,
                    sequence: self.next,
                    flags: tcp_flag::SYN,
                    ..Default::default()
                };
                ctx.emit_now(2, Batch::of(tcp.packet(TYPE_OF_SERVICE)));
            }
            "listen" => {
                let flow = FlowId { dst: 0, dport: 0, ..flow };
                self.begin(ctx, flow, State::Listening).ok_or("cannot listen")?;
            }
            _ => return Err("action must be connect or listen".to_string()),
        }
        Ok(())
    }

    fn begin(&mut self, ctx: &mut Ctx<'_>, flow: FlowId, state: State) -> Option<()> {
        let is_new = ctx.with(self.demux, |demux: &mut TCPDemux, _| demux.add(flow));
        is_new.filter(|is_new| *is_new)?;
        (self.flow, self.state) = (flow, state);
        Some(())
    }

    fn forget(&mut self, ctx: &mut Ctx<'_>) {
        if self.state != State::Idle {
            ctx.with(self.demux, |demux: &mut TCPDemux, _| demux.remove(&self.flow));
            self.state = State::Idle;
        }
    }

    /// Makes a packet one of this connection.
    fn send(&mut self, packet: &mut Packet) -> Option<()> {
        let len = Sequence::of(packet)?.len;
        set_flow(packet, &self.flow);
        packet.transport_mut().get_mut(4..8)?.copy_from_slice(&self.next.to_be_bytes());
        self.next = self.next.wrapping_add(len);
        Some(())
    }
}

/// What a command asks for, and on which flow.
fn parse(command: &str, scope: &Scope<'_>) -> Result<(String, FlowId), String> {
    let mut args = Args::from_words(command, CTRL, scope);
    let action: String = args.need("ACTION");
    let source: String = args.need("SRC");
    let Port::<{ protocol::TCP }>(sport) = args.need("SPORT");
    let destination: String = args.get_or("DST", String::new());
    let Port::<{ protocol::TCP }>(dport) = args.get_or("DPORT", Port(0));
    args.finish().map_err(|errors| errors.join("\n"))?;
    // As in Click, what is no address is none.
    let address = |text: &str| text.parse().unwrap_or(Ipv4Addr::UNSPECIFIED).to_bits();
    Ok((action, FlowId { src: address(&source), dst: address(&destination), sport, dport }))
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn a_connection_is_opened_and_used() {
        check(
            r#"RandomSeed(1);
            in :: FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport ip_proto tcp_flags
1.0.0.2 80 1.0.0.1 2000 T SA
1.0.0.2 81 1.0.0.1 2000 T A
1.0.0.2 80 1.0.0.1 2000 T A
", STOP false, ACTIVE false) -> MarkIPHeader -> TCPDemux -> [0]c :: TCPConn;
            FromIPSummaryDump(DATA "!data ip_src sport ip_proto tcp_flags payload
9.0.0.2 80 T A abc
9.0.0.2 80 T FA \"\"
9.0.0.2 80 T A x
", STOP false) -> MarkIPHeader -> Queue -> [1]c;
            c[0] -> IPPrint(in) -> Discard; c[1] -> IPPrint(out) -> Unqueue -> Discard; c[2] -> Print(syn, -1) -> Discard;
            Script(wait 1s, write c.ctrl connect 1.0.0.1 2000 1.0.0.2 80, write in.active true, wait 1s, write c.ctrl listen 1 1,
                write c.reset, write c.ctrl x 1.0.0.1 2, write c.ctrl connect 1, write c.ctrl listen 1.0.0.1 5, stop)"#,
            expect![[""]],
        );
    }

    #[test]
    fn a_demultiplexer_must_be_upstream() {
        check(
            "Idle -> [0]c :: TCPConn; Idle -> [1]c; c[0] -> Discard; c[1] -> Unqueue -> Discard; c[2] -> Discard",
            expect![[r#"
                config:1: While initializing 'c :: TCPConn':
                  need at least 1 upstream TCPDemux
                Router could not be initialized!
            "#]],
        );
    }
}
