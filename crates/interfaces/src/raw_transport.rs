//! What `RawSocket`, `FromRawSocket` and `ToRawSocket` share: a socket for whole IPv4 packets of one protocol.

use std::io::Error;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use args::{NameKind, Port};
use element::{
    handlers, Arg, Batch, Configure, Ctx, DropReason, Failed, Handler, Packet, Ready, TaskId, TimerId,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::capture::link;
use crate::intake::Intake;
use crate::mark_ip::mark_ip;
use crate::send_queue::{Progress, SendQueue, Way, IP_HEADER};
use crate::transport::{during, Receiving, HEADROOM, SNAPLEN};
use element::output::reason;

/// The classes' arguments.
pub const ARGS: &[Arg] = &[
    Arg::required("TYPE", "IP protocol", "The protocol of the packets, by name or number."),
    Arg::optional(
        "PORT",
        "port",
        "For TCP and UDP, a port to keep from others, and the system's errors away from.",
    ),
    SNAPLEN,
    HEADROOM,
];

/// The classes' handlers.
pub const HANDLERS: &[Handler] = &[handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];

/// The classes' reasons for drops.
pub const DROPS: &[DropReason] = &[
    DropReason::new("not-ip", "What was received is no whole IP packet."),
    DropReason::new("bad-packet", "A packet was shorter than an IP header."),
    DropReason::new("not-sent", "The system refused a packet."),
];
const NOT_IP: usize = 0;
const BAD_PACKET: usize = 1;
const NOT_SENT: usize = 2;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A socket and what is on its way through it.
pub struct RawTransport {
    protocol: i32,
    port: u16,
    receiving: Receiving,
    socket: Option<Socket>,
    /// Holds the port.
    port_holder: Option<Socket>,
    intake: Option<Intake>,
    pub queue: SendQueue,
    /// Whether the socket is that of another element.
    goes_on: bool,
}

impl RawTransport {
    /// Reads the arguments.
    pub fn configure(conf: &mut Configure<'_>) -> Result<RawTransport, Failed> {
        let protocol =
            conf.args.need_with("TYPE", |text, scope| args::named_integer(text, scope, NameKind::Protocol));
        conf.proceed()?;
        let protocol = protocol.unwrap_or_default();
        let port = match u8::try_from(protocol) {
            Ok(TCP) => conf.args.get_or("PORT", Port::<TCP>(0)).0,
            Ok(UDP) => conf.args.get_or("PORT", Port::<UDP>(0)).0,
            _ => conf.args.get_or("PORT", 0),
        };
        let receiving = Receiving::read_sizes(&mut conf.args);
        conf.finish()?;
        Ok(RawTransport {
            protocol,
            port,
            receiving,
            socket: None,
            port_holder: None,
            intake: None,
            queue: SendQueue::with_empty_packets(),
            goes_on: false,
        })
    }

    /// Opens the socket.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.goes_on = self.socket.is_some();
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => self.open()?,
        };
        if ctx.n_outputs() > 0 && ctx.output_is_push(0) {
            ctx.add_select(socket.as_fd(), Ready::READ)?;
            self.intake = Some(Intake::of_datagrams(ctx, self.receiving));
        }
        if ctx.n_inputs() > 0 && ctx.input_is_push(0) {
            // There is a task as in Click, also where it has nothing to pull.
            let task = ctx.new_task();
            ctx.schedule(task);
        } else {
            self.queue.look_upstream(ctx);
        }
        self.socket = Some(socket);
        Ok(())
    }

    fn open(&mut self) -> Result<Socket, String> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(self.protocol)));
        let socket = socket.map_err(during("socket"))?;
        self.port_holder = self.hold_port()?;
        socket.set_nonblocking(true).map_err(during("fcntl"))?;
        socket.set_header_included_v4(true).map_err(during("IP_HDRINCL"))?;
        socket.set_broadcast(true).map_err(during("SO_BROADCAST"))?;
        Ok(socket)
    }

    /// Goes on with the socket of another one for the same packets.
    pub fn foresee(&mut self, old: &RawTransport) {
        if (old.protocol, old.port) == (self.protocol, self.port) {
            let shared = |socket: &Option<Socket>| socket.as_ref().and_then(|socket| socket.try_clone().ok());
            (self.socket, self.port_holder) = (shared(&old.socket), shared(&old.port_holder));
        }
    }

    /// Takes what is on its way through another one, and ends that.
    pub fn take_state(&mut self, ctx: &mut Ctx<'_>, old: &mut RawTransport) {
        if self.goes_on {
            self.queue.take_over(&mut old.queue);
            if let (Some(own), Some(old)) = (&mut self.intake, &mut old.intake) {
                own.take_over(ctx, old);
            }
        }
        old.cleanup(ctx);
    }

    /// A socket that does nothing but have the port.
    fn hold_port(&self) -> Result<Option<Socket>, String> {
        let ty = match u8::try_from(self.protocol) {
            Ok(TCP) if self.port != 0 => Type::STREAM,
            Ok(UDP) if self.port != 0 => Type::DGRAM,
            _ => return Ok(None),
        };
        let holder = Socket::new(Domain::IPV4, ty, Some(Protocol::from(self.protocol)));
        let holder = holder.map_err(during("socket"))?;
        let address = SockAddr::from(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.port));
        holder.bind(&address).map_err(during("Bind for planetlab port registration failed"))?;
        Ok(Some(holder))
    }

    /// Sends packets, and waits until they are sent.
    pub fn push(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) {
        let Some(socket) = &self.socket else { return };
        self.queue.add(&mut batch);
        while let Progress::Failed(error, packet) = self.queue.flush_waiting(&Way::ToDestination(socket)) {
            refuse(ctx, &error, packet);
        }
    }

    /// Pulls packets and sends them.
    pub fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        !self.queue.is_blocked() && self.pull(ctx)
    }

    /// The descriptor is ready.
    pub fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, ready: Ready) {
        if ready.read {
            self.receive(ctx);
        }
        if ready.write {
            self.pull(ctx);
        }
    }

    /// Goes on with packets that were received before.
    pub fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.receive(ctx);
    }

    /// Receives packets, or goes on with those received before.
    pub fn receive(&mut self, ctx: &mut Ctx<'_>) {
        let Some(mut intake) = self.intake.take() else { return };
        if let (Some(socket), false) = (&self.socket, intake.is_pending()) {
            if let Err(error) = intake.receive(ctx, socket, |_, _| true) {
                ctx.chatter(&format!("recv: {}", reason(&error)));
            }
            let mut n_others = 0;
            intake.retain(|packet| {
                let is_ip = mark_ip(packet, link::RAW);
                n_others += u64::from(!is_ip);
                is_ip
            });
            ctx.count_drops(NOT_IP, n_others);
        }
        intake.emit(ctx);
        self.intake = Some(intake);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(socket) = &self.socket else { return false };
        match self.queue.pull(ctx, &Way::ToDestination(socket)) {
            Ok(has_worked) => has_worked,
            Err((error, packet)) => {
                refuse(ctx, &error, packet);
                self.queue.go_on(ctx);
                true
            }
        }
    }

    /// Closes the socket.
    pub fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(socket) = self.socket.take() {
            ctx.remove_select(socket.as_raw_fd(), Ready { read: true, write: true });
        }
        self.port_holder = None;
        self.intake = None;
        self.queue.clear().for_each(drop);
    }
}

/// Tells why a packet was not sent.
fn refuse(ctx: &mut Ctx<'_>, error: &Error, packet: Packet) {
    if packet.len() < IP_HEADER {
        ctx.chatter(&format!("runt IP packet ({} bytes)", packet.len()));
        return ctx.drop_packet(BAD_PACKET, packet);
    }
    ctx.chatter(&format!("sendto: {}", reason(error)));
    ctx.drop_packet(NOT_SENT, packet);
}
