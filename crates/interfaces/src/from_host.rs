//! Takes what the host's kernel sends through a device that is made for it.
//!
//! Makes a tap device called DEVNAME and gives it the address DST; without DST, somebody else must set it up. Ethernet frames that
//! the kernel sends through it are emitted; bytes 30 to 33, where an IPv4 packet has its destination, become the destination
//! annotation. Nothing is taken while all that is downstream is full. A `ToHost` with the same DEVNAME sends frames to the kernel.
//! `KernelTap` does both.
//!
//! ```click
//! FromHost(fake, 10.0.0.1/8) -> c :: Classifier(12/0806, 12/0800);
//! c[0] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:2) -> ToHost(fake);
//! c[1] -> Discard;
//! ```

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use args::{EtherAddr, Prefix};
use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Ready, Role, Signal,
    TaskId, Wake, BATCH_MAX,
};
use sys::link;
use sys::tap::{Options, Tap};

use crate::device::words;

/// The class.
pub const CLASS: Class =
    Class::new::<FromHost>("FromHost", "0/1", "h/h", "x/x").args(ARGS).handlers(HANDLERS).role(Role::Input);

const ARGS: &[Arg] = &[
    Arg::required("DEVNAME", "string", "The device's name."),
    Arg::optional("DST", "IP address/prefix", "The kernel's address on the device, and its network."),
    Arg::keyword("GATEWAY", "IP address", "An address of the network to be the kernel's default route."),
    Arg::keyword(
        "ETHER",
        "Ethernet address",
        "The device's own Ethernet address. Default: the kernel's choice.",
    ),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room before a packet's data, at most 8192. Default 130."),
    Arg::keyword("MTU", "int", "Most bytes of a frame; the rest is cut off. Default 2048."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("dev_name", "The device's name."),
    Handler::read("signal", "Whether there is room downstream."),
];

const ETHERNET_HEADER: usize = 14;
/// Where a frame has the destination of its IPv4 packet.
const DESTINATION_AT: usize = ETHERNET_HEADER + 16;
const DEFAULT_MTU: i32 = 2048;
const MAX_MTU: i32 = 1 << 16;
/// Frames that are read before others have their turn.
const READS: usize = 32;

/// See the page above.
pub struct FromHost {
    name: String,
    near: Option<Prefix>,
    gateway: Option<Ipv4Addr>,
    hardware_address: Option<EtherAddr>,
    headroom: usize,
    buffer: Vec<u8>,
    tap: Option<Arc<Tap>>,
    has_room: Signal,
    /// What another element has given the device, if it was that one's before.
    given: Option<Addresses>,
}

/// The kernel's address, its gateway and its hardware address.
type Addresses = (Option<Prefix>, Option<Ipv4Addr>, Option<EtherAddr>);

impl Element for FromHost {
    fn configure(conf: &mut Configure<'_>) -> Result<FromHost, Failed> {
        let name: String = conf.args.need("DEVNAME");
        let near = conf.args.get::<Prefix>("DST").filter(|near| !near.addr.is_unspecified());
        let gateway = conf.args.get::<Ipv4Addr>("GATEWAY").filter(|gateway| !gateway.is_unspecified());
        let hardware_address = conf.args.get::<EtherAddr>("ETHER").filter(|address| address.0 != [0; 6]);
        // So that the IP header behind the Ethernet header is aligned.
        let aligned = packet::DEFAULT_HEADROOM.next_multiple_of(4) + 2;
        let headroom = conf.args.get_or("HEADROOM", aligned as u32) as usize;
        let mtu = conf.args.get_or("MTU", DEFAULT_MTU).clamp(0, MAX_MTU);
        conf.finish()?;
        if near.zip(gateway).is_some_and(|(near, gateway)| !near.contains(gateway)) {
            conf.args.fail("bad GATEWAY");
        } else if name.is_empty() {
            conf.args.fail("must specify device name");
        } else if headroom > 8192 {
            conf.args.fail("HEADROOM too large");
        }
        conf.finish()?;
        Ok(FromHost {
            name,
            near,
            gateway,
            hardware_address,
            headroom,
            buffer: vec![0; mtu.unsigned_abs() as usize],
            tap: None,
            has_room: Signal::Busy,
            given: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let tap = match self.tap.take() {
            Some(tap) => tap,
            None => Arc::new(self.open(ctx)?),
        };
        self.name = tap.name().to_string();
        self.set_up(ctx)?;
        let task = ctx.new_task();
        self.has_room = ctx.downstream_full_signal(0, Wake::Task(task));
        ctx.add_select(tap.as_fd(), Ready::READ)?;
        self.tap = Some(tap);
        Ok(())
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, _ready: Ready) {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let mut n_left = READS;
        while n_left > 0 {
            let mut batch = Batch::new();
            while batch.len() < burst.min(n_left) {
                let Some(packet) = self.receive(ctx) else { break };
                batch.push(packet);
            }
            if batch.is_empty() {
                return;
            }
            n_left -= batch.len();
            ctx.emit_now(0, batch);
            if !ctx.is_active(&self.has_room) {
                return ctx.remove_select(fd, Ready::READ);
            }
            if ctx.runtime().runcount() <= 0 {
                return;
            }
        }
    }

    /// There is room downstream again.
    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        let Some(tap) = self.tap.as_ref().filter(|_| ctx.is_active(&self.has_room)) else { return false };
        if let Err(message) = ctx.add_select(tap.as_fd(), Ready::READ) {
            ctx.chatter(&message);
        }
        true
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "dev_name" => self.name.clone(),
            "signal" => ctx.is_active(&self.has_room).to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn reads_once(&self) -> bool {
        true
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(tap) = self.tap.take() {
            ctx.remove_select(tap.as_fd().as_raw_fd(), Ready::READ);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FromHost>(ctx, old) else { return };
        if self.given.is_some() {
            // It is watched for this element now.
            old.tap = None;
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        let can_go_on = |old: &&FromHost| old.name == self.name && old.tap.is_some();
        if let Some(old) = same_ref::<FromHost>(old).filter(can_go_on) {
            self.tap.clone_from(&old.tap);
            self.given = Some((old.near, old.gateway, old.hardware_address));
        }
    }
}

impl FromHost {
    /// The device, once it is made.
    pub fn tap(&self) -> Option<&Arc<Tap>> {
        self.tap.as_ref()
    }

    fn open(&self, ctx: &mut Ctx<'_>) -> Result<Tap, String> {
        Tap::open(&Options::tap(&self.name)).map_err(|error| match error {
            sys::SysError::Call { call: "open", .. } => format!("open /dev/net/tun: {}", words(&error)),
            _ => {
                ctx.warn(&format!("Linux universal tun failed for {}: {}", self.name, words(&error)));
                "unspecified error".to_string()
            }
        })
    }

    /// The address, gateway and hardware address that the device has not got yet.
    fn changes(&self) -> Addresses {
        let (near, gateway, hardware_address) = self.given.unwrap_or_default();
        (
            self.near.filter(|_| self.near != near),
            self.gateway.filter(|_| self.gateway != gateway),
            self.hardware_address.filter(|_| self.hardware_address != hardware_address),
        )
    }

    /// Sets addresses and routes, and brings the device up if it has an address.
    fn set_up(&self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let name = &self.name;
        let (near, gateway, hardware_address) = self.changes();
        if let Some(address) = hardware_address {
            if let Err(error) = link::set_hardware_address(name, address.0) {
                ctx.tell(&format!("/sbin/ifconfig {name} hw ether {address}: {}", words(&error)));
            }
        }
        if let Some(near) = near {
            let prefix_len = near.len().unwrap_or(32) as u8;
            let result = link::add_address(name, IpAddr::V4(near.addr), prefix_len);
            result.and_then(|()| link::set_up(name, true)).map_err(|_| {
                let command = format!("/sbin/ifconfig {name} {} netmask {} up 2>/dev/null", near.addr, near.mask);
                format!(
                    "{name}: '{command}' failed\n(Perhaps Ethertap is in a kernel module that you haven't loaded yet?)"
                )
            })?;
        }
        if let Some(gateway) = gateway {
            link::add_route(name, IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, IpAddr::V4(gateway))
                .map_err(|_| format!("{name}: '/sbin/route -n add default gw {gateway}' failed"))?;
        }
        Ok(())
    }

    fn receive(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let received = match self.tap.as_ref()?.recv(&mut self.buffer) {
            Ok(received) => received?,
            Err(error) if error.is_device_gone() => {
                // Somebody has deleted it: its descriptor would be ready for ever.
                self.cleanup(ctx);
                ctx.complain(&format!("FromHost({}): the device is gone", self.name));
                return None;
            }
            Err(error) => {
                ctx.chatter(&format!("FromHost read: {}", words(&error)));
                return None;
            }
        };
        let data = self.buffer.get(..received.len)?;
        let mut packet = Packet::with_headroom(self.headroom, data);
        packet.set_mac_offset(0);
        if let Some(destination) = data.get(DESTINATION_AT..).and_then(|rest| rest.first_chunk::<4>()) {
            packet.set_dst_ip(Ipv4Addr::from(*destination));
        }
        if let Some(first) = data.get(ETHERNET_HEADER) {
            packet.set_network_header(ETHERNET_HEADER, usize::from(first & 15) * 4);
        }
        packet.set_timestamp_ns(ctx.now_ns());
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, has_taps, in_namespace, run_until};
    use expect_test::expect;
    use std::net::UdpSocket;
    use std::time::Duration;

    #[test]
    fn the_kernel_reaches_a_host_of_the_graph() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let config = "from :: FromHost(fake%d, 10.9.0.1/24, ETHER 2:0:0:0:0:1) -> cl :: Classifier(12/0806, 12/0800);
                cl[0] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:2) -> to :: ToHost(fake0);
                cl[1] -> StoreIPAddress(30) -> c :: Counter -> Strip(14) -> CheckIPHeader -> IPMirror -> Unstrip(14)
                -> EtherMirror -> to;";
            let mut socket = None;
            let mut buf = [0; 100];
            let mut n_answered = 0;
            let mut is_mirrored = has_reached("c.count", 1);
            let told =
                run_until(config, &["from.dev_name", "from.signal", "to.dev_name", "to.drops"], |world| {
                    let socket = socket.get_or_insert_with(|| {
                        let socket = UdpSocket::bind("10.9.0.1:5000").unwrap();
                        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                        socket.send_to(b"hello", "10.9.0.2:5000").unwrap();
                        socket
                    });
                    if is_mirrored(world) {
                        n_answered = socket.recv(&mut buf).unwrap_or(0);
                    }
                    n_answered > 0
                });
            assert_eq!(&buf[..n_answered], b"hello");
            expect![[r#"
                from.dev_name: fake0
                from.signal: true
                to.dev_name: fake0
                to.drops: 0
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn nothing_is_taken_while_there_is_no_room() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let config = "f :: FromHost(fake0, 10.9.0.1/24) -> q :: Queue(4) -> u :: Unqueue(ACTIVE false) -> c :: Counter -> Discard;
                Script(label again, wait 1ms, goto again $(f.signal), print $(q.length), write u.active true);";
            let mut socket = None;
            let mut has_all = has_reached("c.count", 20);
            let told = run_until(config, &["q.drops", "c.count", "f.signal"], |world| {
                socket.get_or_insert_with(|| {
                    let socket = UdpSocket::bind("10.9.0.1:5000").unwrap();
                    socket.set_broadcast(true).unwrap();
                    for _ in 0..20 {
                        socket.send_to(b"hello", "10.9.0.255:5000").unwrap();
                    }
                    socket
                });
                has_all(world)
            });
            expect![[r#"
                q.drops: 0
                c.count: 20
                f.signal: true
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn a_device_that_is_deleted_is_told_of_once() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let config = "from :: FromHost(gone1, 10.9.0.1/24) -> Discard;
                RatedSource(LENGTH 60, RATE 100) -> c :: Counter -> to :: ToHost(gone1);";
            let mut is_deleted = false;
            let mut has_sent_more = has_reached("c.count", 9);
            let told = run_until(config, &["from.signal"], |world| {
                if !std::mem::replace(&mut is_deleted, true) {
                    sys::link::delete("gone1").unwrap();
                }
                has_sent_more(world)
            });
            let mut lines: Vec<&str> = told.lines().collect();
            lines.sort_unstable();
            let due = [
                "FromHost(gone1): the device is gone",
                "ToHost(gone1): the device is gone; packets for it are dropped",
                "from.signal: true",
            ];
            assert_eq!(lines, due);
        });
    }

    #[test]
    fn mistakes_are_told() {
        check("FromHost() -> Discard; FromHost(\"\") -> Discard; FromHost(a, 1.0.0.1/8, GATEWAY 2.0.0.1) -> Discard;
            FromHost(a, 1.0.0.1) -> Discard; FromHost(a, HEADROOM 9000) -> Discard", expect![[r#"
                config:1: While configuring 'FromHost@1 :: FromHost':
                  DEVNAME: required argument missing
                config:1: While configuring 'FromHost@3 :: FromHost':
                  must specify device name
                config:1: While configuring 'FromHost@5 :: FromHost':
                  bad GATEWAY
                config:2: While configuring 'FromHost@7 :: FromHost':
                  DST: parse error
                config:2: While configuring 'FromHost@9 :: FromHost':
                  HEADROOM too large
                Router could not be initialized!
            "#]]);
        in_namespace(|| {
            if has_taps() {
                check(
                    "FromHost(lo) -> Discard",
                    expect![[r#"
                    config:1: While initializing 'FromHost@1 :: FromHost':
                      warning: Linux universal tun failed for lo: Invalid argument
                      unspecified error
                    Router could not be initialized!
                "#]],
                );
                check(
                    "FromHost(fake0, GATEWAY 10.9.0.2) -> Discard",
                    expect![[r#"
                    config:1: While initializing 'FromHost@1 :: FromHost':
                      fake0: '/sbin/route -n add default gw 10.9.0.2' failed
                    Router could not be initialized!
                "#]],
                );
            }
        });
    }
}
