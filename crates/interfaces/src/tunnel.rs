//! What `KernelTun` and `KernelTap` share: a device of the kernel whose other end is the graph.

mod opening;
mod reading;
mod writing;

use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use args::{EtherAddr, Prefix};
use element::{handlers, Arg, Configure, Ctx, DropReason, Failed, Handler, Puller, Ready};
use sys::buffer::Buffer;
use sys::tap::{Kind, Tap};

use crate::traffic::Traffic;

/// Both classes' arguments.
pub const ARGS: &[Arg] = &[
    Arg::required(
        "ADDR",
        "IP address/prefix",
        "The kernel's address on the device, and its network; 0.0.0.0/0: none.",
    ),
    Arg::optional("GATEWAY", "IP address", "An address of the network to be the kernel's default route."),
    Arg::keyword("TAP", "bool", "Whether the device carries Ethernet frames. Default: as the class says."),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room before a packet's data, at most 8192. Default 128."),
    Arg::keyword(
        "BURST",
        "unsigned",
        "Most packets to read each time the device has some, at least 1. Default what `--burst` says, 1 with `weir click`.",
    ),
    Arg::keyword(
        "ETHER",
        "Ethernet address",
        "The device's own Ethernet address. Default: the kernel's choice.",
    ),
    Arg::keyword(
        "IGNORE_QUEUE_OVERFLOWS",
        "bool",
        "Whether to tell of full queues only once. Default false.",
    ),
    Arg::keyword("MTU", "int", "Longest packet without link-layer header, at least 20. Default 1500."),
    Arg::keyword("DEV_NAME", "string", "An old name of DEVNAME."),
    Arg::keyword("DEVNAME", "string", "The device's name. Default: the first free one."),
    Arg::keyword(
        "OFFLOAD",
        "bool",
        "Whether the kernel may leave segmentation and checksums undone. Default true, but false in `weir click`, where packets \
         are as in Click.",
    ),
];

/// Both classes' handlers.
pub const HANDLERS: &[Handler] = &[
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
    Handler::read("dev_name", "The device's name."),
    Handler::read("selected_calls", "How often the device had packets to read."),
    Handler::read("packets", "Packets read."),
    Handler::read("interface_name", "What packets come from and go to: the device.").flags("unlisted"),
    Handler::read("is_gone", "Whether somebody else has deleted the device.").flags("unlisted"),
    Handler::read("rx_packets", "Packets read from the device.").flags("unlisted"),
    Handler::read("rx_bytes", "Bytes of these packets.").flags("unlisted"),
    Handler::read("tx_packets", "Packets written to the device.").flags("unlisted"),
    Handler::read("tx_bytes", "Bytes of these packets.").flags("unlisted"),
];

/// Both classes' reasons for drops.
pub const DROPS: &[DropReason] = &[
    DropReason::new("not-ip", "The kernel sent what is not IP, and output 1 is not connected."),
    DropReason::new("bad-packet", "A packet was too short, or its network header was not marked or not IP."),
    DropReason::new("too-long", "A packet was longer than the device's MTU."),
    DropReason::new("not-written", "The kernel refused a packet."),
];
const NOT_IP: usize = 0;
const BAD_PACKET: usize = 1;
const TOO_LONG: usize = 2;
const NOT_WRITTEN: usize = 3;

const DEFAULT_MTU: i32 = 1500;
const IP_HEADER: usize = 20;

const ENOBUFS: i32 = 105;

/// A device and what is known of it.
pub struct Tunnel {
    class: &'static str,
    kind: Kind,
    near: Prefix,
    gateway: Option<Ipv4Addr>,
    headroom: usize,
    burst: usize,
    hardware_address: Option<EtherAddr>,
    ignores_overflows: bool,
    mtu: i32,
    name: String,
    offloads: bool,
    tap: Option<Arc<Tap>>,
    /// Packets lie here on their way.
    buffer: Option<Buffer>,
    has_told_read: bool,
    has_told_write: bool,
    n_selected: u64,
    received: Traffic,
    sent: Traffic,
    puller: Option<Puller>,
    /// Whether the arguments name the device.
    is_named: bool,
    /// What another element has given the device, if it was that one's before.
    given: Option<Given>,
}

/// What is set up of a device.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Given {
    near: Prefix,
    gateway: Option<Ipv4Addr>,
    hardware_address: Option<EtherAddr>,
    mtu: i32,
}

/// The methods of an element that is a tuple struct around a [`Tunnel`].
macro_rules! methods {
    () => {
        fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
            self.0.initialize(ctx)
        }

        fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
            self.0.write(ctx, batch);
        }

        fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
            self.0.run_task(ctx, task)
        }

        fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
            self.0.selected(ctx);
        }

        fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
            self.0.read(name)
        }

        fn reads_once(&self) -> bool {
            true
        }

        fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
            self.0.cleanup(ctx);
        }

        fn foresee(&mut self, old: &dyn element::Element) {
            if let Some(old) = element::same_ref::<Self>(old) {
                self.0.foresee(&old.0);
            }
        }

        fn take_state(&mut self, ctx: &mut element::Ctx<'_>, old: Box<dyn element::Element>) {
            if let Some(mut old) = element::same::<Self>(ctx, old) {
                self.0.take_state(ctx, &mut old.0);
            }
        }
    };
}
pub(crate) use methods;

impl Tunnel {
    /// Reads the arguments.
    pub fn configure(conf: &mut Configure<'_>, class: &'static str, kind: Kind) -> Result<Tunnel, Failed> {
        let near = conf.args.need::<Prefix>("ADDR");
        let gateway = conf.args.get::<Ipv4Addr>("GATEWAY").filter(|gateway| !gateway.is_unspecified());
        let is_tap = conf.args.get_or("TAP", kind == Kind::Tap);
        let headroom: u32 = conf.args.get_or("HEADROOM", packet::DEFAULT_HEADROOM as u32);
        let burst = conf.args.get_or("BURST", conf.environment.default_burst().min(u32::MAX as usize) as u32);
        let hardware_address = conf.args.get("ETHER");
        let ignores_overflows = conf.args.get_or("IGNORE_QUEUE_OVERFLOWS", false);
        let mtu = conf.args.get_or("MTU", DEFAULT_MTU);
        if conf.args.is_given("DEV_NAME") {
            conf.args.warn("DEV_NAME", "argument deprecated");
        }
        let old_name = conf.args.get::<String>("DEV_NAME");
        let name = conf.args.get::<String>("DEVNAME").or(old_name).unwrap_or_default();
        // Where packets go one by one as in Click, they are also as long.
        let offloads = conf.args.get_or("OFFLOAD", conf.environment.default_burst() > 1);
        conf.finish()?;
        if gateway.is_some_and(|gateway| !near.contains(gateway)) {
            conf.args.fail("bad GATEWAY");
        } else if burst < 1 {
            conf.args.fail("BURST must be >= 1");
        } else if mtu < IP_HEADER as i32 {
            conf.args.fail(format!("MTU must be greater than {IP_HEADER}"));
        } else if headroom > 8192 {
            conf.args.fail("HEADROOM too big");
        }
        conf.finish()?;
        Ok(Tunnel {
            class,
            kind: if is_tap { Kind::Tap } else { Kind::Tun },
            near,
            gateway,
            headroom: headroom as usize,
            burst: burst as usize,
            hardware_address,
            ignores_overflows,
            mtu,
            is_named: !name.is_empty(),
            given: None,
            name,
            offloads,
            tap: None,
            buffer: None,
            has_told_read: false,
            has_told_write: false,
            n_selected: 0,
            received: Traffic::default(),
            sent: Traffic::default(),
            puller: None,
        })
    }

    /// Makes the device and sets it up.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let tap = match self.tap.take() {
            Some(tap) => tap,
            None => Arc::new(self.open()?),
        };
        self.name = tap.name().to_string();
        self.set_up(ctx)?;
        ctx.add_select(tap.as_fd(), Ready::READ)?;
        self.tap = Some(tap);
        self.buffer = Some(Buffer::for_packet().map_err(|error| error.to_string())?);
        if ctx.n_inputs() > 0 && !ctx.input_is_push(0) {
            self.puller = Some(ctx.new_puller(0));
        }
        Ok(())
    }

    /// Goes on without the device, which somebody has deleted: its descriptor would be ready for ever.
    fn lose(&mut self, ctx: &mut Ctx<'_>) {
        self.cleanup(ctx);
        ctx.complain(&format!(
            "{}({}): the device is gone; packets for it are dropped",
            self.class, self.name
        ));
    }

    /// Goes on with the device of another one, if it would make the same.
    pub fn foresee(&mut self, old: &Tunnel) {
        if old.tap.is_none() {
            return;
        }
        let has_name = if self.is_named { old.name == self.name } else { !old.is_named };
        if has_name && (old.kind, old.offloads) == (self.kind, self.offloads) {
            self.tap.clone_from(&old.tap);
            self.given = Some(old.wishes());
        }
    }

    /// Goes on from another one's counts, and ends that.
    pub fn take_state(&mut self, ctx: &mut Ctx<'_>, old: &mut Tunnel) {
        if self.given.is_some() {
            // It is watched for this element now.
            old.tap = None;
            (self.n_selected, self.received, self.sent) = (old.n_selected, old.received, old.sent);
        }
        old.cleanup(ctx);
    }

    fn wishes(&self) -> Given {
        let Tunnel { near, gateway, hardware_address, mtu, .. } = *self;
        Given { near, gateway, hardware_address, mtu }
    }

    /// Reads a handler.
    pub fn read(&self, name: &str) -> Result<String, String> {
        Ok(match name {
            "dev_name" | "interface_name" => self.name.clone(),
            "is_gone" => self.tap.is_none().to_string(),
            "selected_calls" => self.n_selected.to_string(),
            "packets" | "rx_packets" => self.received.packets.to_string(),
            "rx_bytes" => self.received.bytes.to_string(),
            "tx_packets" => self.sent.packets.to_string(),
            "tx_bytes" => self.sent.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    /// Closes the device, which then goes away.
    pub fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(tap) = self.tap.take() {
            ctx.remove_select(tap.as_fd().as_raw_fd(), Ready::READ);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, has_taps, in_namespace, run_on_cores, run_until};
    use expect_test::expect;
    use std::net::UdpSocket;
    use std::time::Duration;

    /// Sends a datagram to 10.9.0.2 while the graph runs; what comes back.
    fn echo(config: &str, reads: &[&str]) -> String {
        let text = std::cell::RefCell::new(String::new());
        let socket = std::cell::RefCell::new(None);
        let mut is_answered = has_reached("t.tx_packets", 1);
        let told = run_until(config, reads, |world| {
            let mut socket = socket.borrow_mut();
            let socket = socket.get_or_insert_with(|| {
                let socket = UdpSocket::bind("10.9.0.1:5000").unwrap();
                socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                socket.send_to(&[7; 600], "10.9.0.2:5000").unwrap();
                socket
            });
            let mut buf = [0; 2000];
            if is_answered(world) {
                if let Ok((n, from)) = socket.recv_from(&mut buf) {
                    *text.borrow_mut() += &format!("{n} bytes of {} from {from}\n", buf[0]);
                    return true;
                }
            }
            false
        });
        told + &text.into_inner()
    }

    #[test]
    fn the_kernel_talks_to_itself_through_a_tun() {
        for offload in ["true", "false"] {
            in_namespace(move || {
                if !has_taps() {
                    return;
                }
                let config = format!(
                    "t :: KernelTun(10.9.0.1/24, DEVNAME echo0, OFFLOAD {offload}, GATEWAY 10.9.0.2) -> IPMirror -> t;"
                );
                let told = echo(&config, &["t.dev_name", "t.packets", "t.tx_bytes", "t.selected_calls"]);
                assert_eq!(
                    told,
                    "t.dev_name: echo0\nt.packets: 1\nt.tx_bytes: 628\nt.selected_calls: 1\n600 bytes of 7 from 10.9.0.2:5000\n"
                );
            });
        }
    }

    #[test]
    fn one_core_reads_a_tun_and_all_answer() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let scratch = crate::testing::Scratch::new();
            let seen = scratch.path("seen");
            let config = format!(
                "t :: KernelTun(10.9.0.1/24, DEVNAME echo1) -> IPMirror -> IPPrint(OUTFILE {seen}) -> c :: Counter -> t;
                 Script(label again, wait 1ms, goto again);"
            );
            let mut sockets = Vec::new();
            let mut are_answered = has_reached("t.tx_packets", 16);
            let told = run_on_cores(2, &config, &["c.count", "t.rx_packets", "t.tx_packets"], |world| {
                if sockets.is_empty() {
                    for port in 5000..5016 {
                        let socket = UdpSocket::bind(("10.9.0.1", port)).unwrap();
                        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
                        socket.send_to(&[port as u8; 100], ("10.9.0.2", port)).unwrap();
                        sockets.push(socket);
                    }
                }
                are_answered(world)
            });
            assert_eq!(told, "c.count: 16\nt.rx_packets: 16\nt.tx_packets: 16\n");
            let mut buf = [0; 200];
            for (socket, port) in sockets.iter().zip(5000u16..) {
                assert_eq!((socket.recv(&mut buf).unwrap(), buf[0]), (100, port as u8));
            }
            for file in [seen.clone(), format!("{seen}.1")] {
                assert!(!std::fs::read(&file).unwrap().is_empty(), "{file}: a core got nothing");
            }
        });
    }

    #[test]
    fn the_kernel_asks_for_a_neighbour_on_a_tap_and_gets_frames() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let config = format!(
                "t :: KernelTap(10.9.0.1/24, ETHER 2:0:0:0:0:1, MTU 60000) -> Print(CONTENTS HEX, MAXLENGTH 22) -> Discard;
                 FromDump({}, BURST 100) -> Queue(1000) -> t;",
                crate::testing::LAN
            );
            let mut is_written = has_reached("t.tx_packets", 799);
            let mut is_asked = has_reached("t.rx_packets", 1);
            let mut socket = None;
            let told = run_until(&config, &["t.tx_packets"], |world| {
                socket.get_or_insert_with(|| {
                    let socket = UdpSocket::bind("10.9.0.1:5000").unwrap();
                    socket.send_to(&[7; 600], "10.9.0.2:5000").unwrap();
                    socket
                });
                is_written(world) && is_asked(world)
            });
            let asked = "42 | ffffffff ffff0200 00000001 08060001 08000604 0001";
            assert!(told.contains(asked) && told.ends_with("t.tx_packets: 799\n"), "{told}");
        });
    }

    #[test]
    fn what_the_kernel_cannot_take_is_told() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            check("InfiniteSource(LENGTH 60, LIMIT 1, STOP true) -> KernelTun(10.9.0.1/24, DEVNAME x0) -> Discard;", expect![[r#"
                KernelTun(x0): no network header
            "#]]);
            check("InfiniteSource(LENGTH 10, LIMIT 1, STOP true) -> KernelTap(10.9.0.1/24, DEVNAME x0) -> Discard;", expect![[r#"
                KernelTap(x0): packet too small
            "#]]);
            check("InfiniteSource(LENGTH 2000, LIMIT 1, STOP true) -> KernelTap(10.9.0.1/24, DEVNAME x0) -> Discard;", expect![[r#"
                KernelTap(x0): packet larger than MTU (1500)
            "#]]);
            check("InfiniteSource(LENGTH 60, LIMIT 1, STOP true) -> MarkIPHeader -> KernelTun(10.9.0.1/24, DEVNAME x0) -> Discard;", expect![[r#"
                KernelTun(x0): unknown IP version 5
            "#]]);
            check("InfiniteSource(LIMIT 0, STOP true) -> KernelTun(10.9.0.1/24, DEVNAME x0, MTU 63) -> Discard;", expect![[r#"
                config:1: While initializing 'KernelTun@2 :: KernelTun':
                  warning: could not set interface MTU: Invalid argument
            "#]]);
        });
    }

    #[test]
    fn a_device_that_is_deleted_is_told_of_once() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let mut rounds = 0;
            let told = run_until(
                "RatedSource(LENGTH 60, RATE 10) -> t :: KernelTap(10.9.0.1/24, DEVNAME gone0) -> Discard;",
                &["t.is_gone"],
                |_| {
                    rounds += 1;
                    if rounds == 1 {
                        sys::link::delete("gone0").unwrap();
                    }
                    rounds > 100
                },
            );
            assert_eq!(
                told,
                "KernelTap(gone0): the device is gone; packets for it are dropped\nt.is_gone: true\n"
            );
        });
    }

    #[test]
    fn arguments_are_checked() {
        check(
            "KernelTap(1.0.0.1/8, GATEWAY 2.0.0.1) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTap@1 :: KernelTap':
                  bad GATEWAY
                Router could not be initialized!
            "#]],
        );
        check(
            "KernelTap(1.0.0.1) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTap@1 :: KernelTap':
                  ADDR: parse error
                Router could not be initialized!
            "#]],
        );
        check(
            "KernelTap(1.0.0.1/8, BURST 0) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTap@1 :: KernelTap':
                  BURST must be >= 1
                Router could not be initialized!
            "#]],
        );
        check(
            "KernelTap(1.0.0.1/8, 2.0.0.1, BURST -1) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTap@1 :: KernelTap':
                  BURST: invalid number
                Router could not be initialized!
            "#]],
        );
        check(
            "KernelTun(1.0.0.1/8, MTU 3) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTun@1 :: KernelTun':
                  MTU must be greater than 20
                Router could not be initialized!
            "#]],
        );
        check(
            "KernelTun(1.0.0.1/8, HEADROOM 10000) -> Discard;",
            expect![[r#"
                config:1: While configuring 'KernelTun@1 :: KernelTun':
                  HEADROOM too big
                Router could not be initialized!
            "#]],
        );
    }
}
