//! Exchanges packets with all who listen to a multicast address, over UDP.
//!
//! What arrives at the input is sent to MCASTIP and MCASTPORT; if it is pushed, the graph waits until it is sent. What others send
//! there is emitted, a packet for each datagram. With SOURCEIP, packets are sent from that address and all happens on the device
//! that has it; what is sent here is then not received here. Otherwise the system's routes say which device, and only LOOP
//! says whether what is sent here is received on this host, here included.
//!
//! ```click
//! link :: McastSocket(239.0.0.1, 1234) -> Print -> Discard;
//! RatedSource -> Queue -> link;
//! ```

use std::io::Error;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use args::Port;
use element::{
    handlers, same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Ready, Role,
    TaskId, TimerId,
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use crate::intake::Intake;
use crate::send_queue::{Progress, SendQueue, Way};
use crate::transport::{during, Receiving, HEADROOM, RCVBUF, SNAPLEN, SNDBUF, TIMESTAMP};
use element::output::reason;

/// The class.
pub const CLASS: Class = Class::new::<McastSocket>("McastSocket", "0-1/0-1", "a/h", "x/y")
    .args(ARGS)
    .handlers(&[handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD])
    .drops(DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    Arg::required("MCASTIP", "IP address", "The multicast address."),
    Arg::required("MCASTPORT", "UDP port", "The port there."),
    Arg::optional("SOURCEIP", "IP address", "The address to send from. Default: as the system chooses."),
    Arg::optional("SOURCEPORT", "UDP port", "The port to send from. Default: any."),
    SNAPLEN,
    HEADROOM,
    TIMESTAMP,
    RCVBUF,
    SNDBUF,
    Arg::keyword("LOOP", "bool", "Whether this host receives what is sent here. Default true."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("closed", "An error had closed the sockets."),
    DropReason::new("not-sent", "The packet could not be sent, which closed the sockets."),
];
const CLOSED: usize = 0;
const NOT_SENT: usize = 1;

const UDP: u8 = 17;

/// See the page above.
pub struct McastSocket {
    group: SocketAddrV4,
    source: SocketAddrV4,
    receiving: Receiving,
    receive_buffer: i32,
    send_buffer: i32,
    has_loop: bool,
    declaration: String,
    receiver: Option<Socket>,
    sender: Option<Socket>,
    to: SockAddr,
    intake: Option<Intake>,
    queue: SendQueue,
}

impl Element for McastSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<McastSocket, Failed> {
        let ip: Ipv4Addr = conf.args.need("MCASTIP");
        let Port::<UDP>(port) = conf.args.need("MCASTPORT");
        let source_ip = conf.args.get_or("SOURCEIP", Ipv4Addr::UNSPECIFIED);
        let Port::<UDP>(source_port) = conf.args.get_or("SOURCEPORT", Port(0));
        let receiving = Receiving::read(&mut conf.args);
        let receive_buffer = conf.args.get_or("RCVBUF", -1);
        let send_buffer = conf.args.get_or("SNDBUF", -1);
        let has_loop = conf.args.get_or("LOOP", true);
        conf.finish()?;
        let group = SocketAddrV4::new(ip, port);
        Ok(McastSocket {
            group,
            source: SocketAddrV4::new(source_ip, source_port),
            receiving,
            receive_buffer,
            send_buffer,
            has_loop,
            declaration: String::new(),
            receiver: None,
            sender: None,
            to: SockAddr::from(group),
            intake: None,
            queue: SendQueue::with_empty_packets(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.declaration = ctx.own_declaration();
        let (receiver, sender) = match (self.receiver.take(), self.sender.take()) {
            (Some(receiver), Some(sender)) => (receiver, sender),
            _ => self.open()?,
        };
        if ctx.n_outputs() > 0 {
            ctx.add_select(receiver.as_fd(), Ready::READ)?;
            self.intake = Some(Intake::of_datagrams(ctx, self.receiving));
        }
        self.queue.look_upstream(ctx);
        (self.receiver, self.sender) = (Some(receiver), Some(sender));
        Ok(())
    }

    crate::idle_task::handlers!(.queue);

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let Some(sender) = &self.sender else { return ctx.drop_batch(CLOSED, batch) };
        self.queue.add(&mut batch);
        if let Progress::Failed(error, packet) = self.queue.flush_waiting(&Way::To(sender, &self.to)) {
            ctx.drop_packet(NOT_SENT, packet);
            self.fail(ctx, &error);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        !self.queue.is_blocked() && self.pull(ctx)
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.receive(ctx);
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, ready: Ready) {
        if ready.read && self.receiver.as_ref().is_some_and(|receiver| receiver.as_raw_fd() == fd) {
            self.receive(ctx);
        }
        self.pull(ctx);
    }

    fn reads_once(&self) -> bool {
        true
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        for socket in [self.receiver.take(), self.sender.take()].into_iter().flatten() {
            ctx.remove_select(socket.as_raw_fd(), Ready { read: true, write: true });
        }
        self.intake = None;
        self.queue.forget_socket();
        self.queue.clear().for_each(drop);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<McastSocket>(ctx, old) else { return };
        if self.is_of_same(&old) {
            self.queue.take_over(&mut old.queue);
            if let (Some(own), Some(old)) = (&mut self.intake, &mut old.intake) {
                own.take_over(ctx, old);
            }
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        if let Some(old) = same_ref::<McastSocket>(old).filter(|old| self.is_of_same(old)) {
            let shared = |socket: &Option<Socket>| socket.as_ref().and_then(|socket| socket.try_clone().ok());
            (self.receiver, self.sender) = (shared(&old.receiver), shared(&old.sender));
            self.source = old.source;
        }
    }
}

impl McastSocket {
    /// Whether another one's sockets are as its own would be; a port that the system chose is as good as any.
    fn is_of_same(&self, old: &McastSocket) -> bool {
        let options = |of: &McastSocket| (of.group, of.receive_buffer, of.send_buffer, of.has_loop);
        let is_any = self.source.port() == 0 && self.source.ip() == old.source.ip();
        options(self) == options(old) && (self.source == old.source || is_any)
    }

    /// Opens a socket that receives and one that sends.
    fn open(&mut self) -> Result<(Socket, Socket), String> {
        let open = || Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).map_err(during("socket"));
        let (receiver, sender) = (open()?, open()?);
        if let Ok(len) = usize::try_from(self.send_buffer) {
            sender.set_send_buffer_size(len).map_err(during("setsockopt(SO_SNDBUF)"))?;
        }
        if let Ok(len) = usize::try_from(self.receive_buffer) {
            receiver.set_recv_buffer_size(len).map_err(during("setsockopt(SO_RCVBUF)"))?;
        }
        // Others on this host may listen to the same address.
        receiver.set_reuse_address(true).map_err(during("setsockopt(SO_REUSEADDR)"))?;
        receiver.bind(&self.to).map_err(during("bind"))?;
        if !self.source.ip().is_unspecified() {
            self.bind_source(&sender)?;
        }
        receiver
            .join_multicast_v4(self.group.ip(), self.source.ip())
            .map_err(during("setsockopt(IP_ADD_MEMBERSHIP)"))?;
        sender.set_multicast_loop_v4(self.has_loop).map_err(during("setsockopt(IP_MULTICAST_LOOP)"))?;
        for socket in [&receiver, &sender] {
            socket.set_nonblocking(true).map_err(during("fcntl"))?;
        }
        Ok((receiver, sender))
    }

    fn bind_source(&mut self, sender: &Socket) -> Result<(), String> {
        sender.bind(&SockAddr::from(self.source)).map_err(during("bind"))?;
        let name = sender.local_addr().map_err(during("getsockname"))?;
        if let Some(name) = name.as_socket_ipv4() {
            self.source.set_port(name.port());
        }
        sender.set_multicast_if_v4(self.source.ip()).map_err(during("setsockopt(IP_MULTICAST_IF)"))
    }

    fn receive(&mut self, ctx: &mut Ctx<'_>) {
        let Some(mut intake) = self.intake.take() else { return };
        let own = Some(self.source).filter(|source| !source.ip().is_unspecified());
        let is_others = |_: &mut Ctx<'_>, sender: &SockAddr| own.is_none() || sender.as_socket_ipv4() != own;
        let mut result = Ok(());
        if let (Some(receiver), false) = (&self.receiver, intake.is_pending()) {
            result = intake.receive(ctx, receiver, is_others);
        }
        intake.emit(ctx);
        self.intake = Some(intake);
        if let Err(error) = result {
            self.fail(ctx, &error);
        }
    }

    /// Pulls packets and sends them; whether there were any.
    fn pull(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(sender) = &self.sender else { return false };
        match self.queue.pull(ctx, &Way::To(sender, &self.to)) {
            Ok(has_worked) => has_worked,
            Err((error, packet)) => {
                ctx.drop_packet(NOT_SENT, packet);
                self.fail(ctx, &error);
                true
            }
        }
    }

    /// Tells of an error and closes the sockets.
    fn fail(&mut self, ctx: &mut Ctx<'_>, error: &Error) {
        ctx.chatter(&format!("{}: {}", self.declaration, reason(error)));
        self.cleanup(ctx);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, in_namespace, make_veth, run_until};
    use expect_test::expect;

    /// A device for multicast with an address; false if that may be left out.
    fn make_network() -> bool {
        let is_made = make_veth("left", "right");
        if is_made {
            sys::link::add_address("left", "10.9.0.1".parse().unwrap(), 24).unwrap();
        }
        is_made
    }

    #[test]
    fn all_who_listen_receive_what_is_sent_but_the_sender() {
        in_namespace(|| {
            if !make_network() {
                return;
            }
            let config = "InfiniteSource(DATA abc, LIMIT 2) -> Queue
                -> McastSocket(239.0.0.1, 1234, 10.9.0.1) -> Print(own) -> Discard;
                McastSocket(239.0.0.1, 1234, 10.9.0.1) -> Print(other) -> c :: Counter -> Discard;";
            let told = run_until(config, &["c.count"], has_reached("c.count", 2));
            assert_eq!(told, "other:    3 | 616263\nother:    3 | 616263\nc.count: 2\n");
        });
    }

    #[test]
    fn without_a_source_the_sender_receives_it_too() {
        in_namespace(|| {
            if !make_network() {
                return;
            }
            sys::link::add_route("left", "0.0.0.0".parse().unwrap(), 0, "10.9.0.2".parse().unwrap()).unwrap();
            let config = "InfiniteSource(DATA abc, LIMIT 2) -> McastSocket(239.0.0.1, 1234, SNAPLEN 2) -> c :: Counter -> Discard;";
            let told = run_until(config, &["c.byte_count"], has_reached("c.count", 2));
            assert_eq!(told, "c.byte_count: 4\n");
        });
    }

    #[test]
    fn mistakes_and_refusals_are_told() {
        check(
            "McastSocket(foo) -> Discard; McastSocket(239.0.0.1, 1, LOOP x, SOURCEPORT y) -> Discard",
            expect![[r#"
            config:1: While configuring 'McastSocket@1 :: McastSocket':
              MCASTIP: parse error
              MCASTPORT: required argument missing
            config:1: While configuring 'McastSocket@3 :: McastSocket':
              SOURCEPORT: parse error
              LOOP: parse error
            Router could not be initialized!
        "#]],
        );
        check(
            "McastSocket(9.9.9.9, 4321) -> Discard",
            expect![[r#"
            config:1: While initializing 'McastSocket@1 :: McastSocket':
              bind: Cannot assign requested address
            Router could not be initialized!
        "#]],
        );
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            check(
                "McastSocket(127.0.0.1, 4321) -> Discard",
                expect![[r#"
                config:1: While initializing 'McastSocket@1 :: McastSocket':
                  setsockopt(IP_ADD_MEMBERSHIP): Invalid argument
                Router could not be initialized!
            "#]],
            );
            check(
                "McastSocket(239.0.0.1, 4321, 9.9.9.9) -> Discard",
                expect![[r#"
                config:1: While initializing 'McastSocket@1 :: McastSocket':
                  bind: Cannot assign requested address
                Router could not be initialized!
            "#]],
            );
        });
    }
}
