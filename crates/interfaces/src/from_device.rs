//! Reads packets from a network device.
//!
//! Receives what the device receives, as a sniffer: the kernel handles the packets as well, unless SNIFFER is false. Sets the
//! timestamp, the packet type and the extra length. Packets whose segmentation or checksum the sender left to the device come
//! whole, with that as their metadata, and pass through the graph so; SNAPLEN's default does not cut them.
//!
//! On several cores the kernel shares the packets out among them, flow by flow.
//!
//! ```click
//! FromDevice(eth0, PROMISC true) -> Print -> Discard;
//! ```

mod receiving;

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd};

use args::Word;
use element::{
    same, same_ref, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Phase, Ready,
    TaskId, TimerId,
};
use sys::packet_socket::{RxRing, Tx, TxOptions};

use crate::capture::link;
use crate::device::{check_up, hide_from_kernel, refusal, show_to_kernel, words};
use crate::trace;
use crate::traffic::Traffic;

/// The class. Devices are opened while the process may.
pub const CLASS: Class = Class::new::<FromDevice>("FromDevice", "0/1-2", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .phase(Phase(Phase::PRIVILEGED.0 - 1));

const ARGS: &[Arg] = &[
    Arg::required("DEVNAME", "string", "The device."),
    Arg::optional(
        "PROMISC",
        "bool",
        "Whether packets to other stations are received as well. Default false.",
    ),
    Arg::optional("SNAPLEN", "int", "Most bytes to keep of a packet, 14 to 65535. Default 2046."),
    Arg::keyword("SNIFFER", "bool", "Whether the kernel handles the packets as well. Default true."),
    trace::FORCE_IP,
    Arg::keyword(
        "METHOD",
        "word",
        "`PCAP` or `LINUX`: which of Click's methods to behave like. Default PCAP.",
    ),
    Arg::keyword("CAPTURE", "word", "An old name of METHOD."),
    Arg::keyword("BPF_FILTER", "string", "A tcpdump filter that packets must match; not with METHOD LINUX."),
    Arg::keyword(
        "PROTOCOL",
        "unsigned",
        "With METHOD LINUX, the only Ethernet type to emit; 0 is all. Default 0.",
    ),
    Arg::keyword(
        "OUTBOUND",
        "bool",
        "Whether packets that the kernel sends are emitted as well. Default false.",
    ),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room before a packet's data, at most 8190. Default 128."),
    Arg::keyword("ENCAP", "word", "Link type of the packets. Default: the device's."),
    Arg::keyword(
        "BURST",
        "int",
        "Most packets to emit each time scheduled, at least 1. Default what `--burst` says, 1 with `weir click`.",
    ),
    Arg::keyword("TIMESTAMP", "bool", "Whether to set the packets' timestamps. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read(
        "kernel_drops",
        "Packets lost because the graph did not take them in time; `??` if not known.",
    ),
    Handler::read("encap", "The device's link type."),
    Handler::read("count", "Packets received."),
    Handler::write("reset_counts", "Sets the count to 0.").flags("button"),
    Handler::write("reopen", "Goes on with the device that has the name now.").flags("unlisted"),
    Handler::read("interface_name", "What packets come from: the device.").flags("unlisted"),
    Handler::read("rx_packets", "Packets received since the start.").flags("unlisted"),
    Handler::read("rx_bytes", "Bytes of these packets.").flags("unlisted"),
];

const DROPS: &[DropReason] =
    &[DropReason::new("not-ip", "With FORCE_IP, a packet was not IP and output 1 is not connected.")];
const NOT_IP: usize = 0;

/// How often to look for packets without being told, in nanoseconds.
const LOOK_NS: i64 = 20_000_000;

/// See the page above.
pub struct FromDevice {
    device: String,
    is_promiscuous: bool,
    snaplen: Option<u32>,
    is_sniffer: bool,
    forces_ip: bool,
    is_linux: bool,
    filter: String,
    protocol: u16,
    is_outbound: bool,
    headroom: usize,
    encap: Option<u32>,
    burst: usize,
    stamps: bool,
    ring: Option<RxRing>,
    /// Whether the ring will be that of the element which this one replaces.
    goes_on: bool,
    /// A sender on that ring.
    foreseen: Option<Tx>,
    /// Whether that one has hidden the device from the kernel.
    is_hidden: bool,
    /// Received and not yet emitted.
    pending: VecDeque<Packet>,
    task: Option<TaskId>,
    count: u64,
    traffic: Traffic,
}

impl Element for FromDevice {
    fn configure(conf: &mut Configure<'_>) -> Result<FromDevice, Failed> {
        let device = conf.args.need::<String>("DEVNAME");
        let is_promiscuous = conf.args.get_or("PROMISC", false);
        let snaplen = conf.args.get::<i32>("SNAPLEN");
        let is_sniffer = conf.args.get_or("SNIFFER", true);
        let forces_ip = conf.args.get_or("FORCE_IP", false);
        let capture = conf.args.get::<Word>("CAPTURE");
        let method = conf.args.get::<Word>("METHOD").or(capture).unwrap_or_default().0;
        let filter = conf.args.get_or("BPF_FILTER", String::new());
        let protocol = conf.args.get_or("PROTOCOL", 0);
        let is_outbound = conf.args.get_or("OUTBOUND", false);
        let headroom: u32 = conf.args.get_or("HEADROOM", packet::DEFAULT_HEADROOM as u32);
        let encap = conf.args.get::<Word>("ENCAP").map(|word| link::parse(&word.0));
        let burst = conf.args.get_or("BURST", conf.environment.default_burst().min(i32::MAX as usize) as i32);
        let stamps = conf.args.get_or("TIMESTAMP", true);
        let is_linux = method == "LINUX";
        if snaplen.is_some_and(|len| !(14..=65535).contains(&len)) {
            conf.args.fail("SNAPLEN out of range");
        } else if headroom > 8190 {
            conf.args.fail("HEADROOM out of range");
        } else if burst <= 0 {
            conf.args.fail("BURST out of range");
        } else if encap == Some(None) {
            conf.args.fail("bad encapsulation type");
        } else if !["", "PCAP", "LINUX"].contains(&method.as_str()) {
            conf.args.fail("bad METHOD");
        } else if is_linux && !filter.is_empty() {
            conf.warning("not using METHOD PCAP, BPF filter ignored");
        }
        conf.finish()?;
        Ok(FromDevice {
            device,
            is_promiscuous,
            snaplen: snaplen.map(|len| len as u32),
            is_sniffer,
            forces_ip,
            is_linux,
            filter: if is_linux { String::new() } else { filter },
            protocol: if is_linux { protocol } else { 0 },
            is_outbound,
            headroom: headroom as usize,
            encap: encap.flatten(),
            burst: burst as usize,
            stamps,
            ring: None,
            goes_on: false,
            foreseen: None,
            is_hidden: false,
            pending: VecDeque::new(),
            task: None,
            count: 0,
            traffic: Traffic::default(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.device.is_empty() {
            return Err("interface not set".to_string());
        }
        if !self.is_linux {
            check_up(&self.device)?;
        }
        self.settle_link_type()?;
        let netmask = if self.is_linux { [0; 4] } else { self.netmask(ctx) };
        if !self.goes_on {
            let ring = self.open(ctx, netmask)?;
            ctx.add_select(ring.as_fd(), Ready::READ)?;
            self.ring = Some(ring);
        }
        self.task = Some(ctx.new_task());
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, LOOK_NS);
        if self.forces_ip && !self.is_linux && !link::can_find_ip(self.link_type()) {
            let (device, number) = (&self.device, self.link_type());
            ctx.warn(&format!("{device}: strange data link type {number}, FORCE_IP will not work"));
        }
        self.is_sniffer |= ctx.runtime().replica().0 > 0;
        if !self.is_sniffer && !self.is_hidden {
            if let Err(message) = hide_from_kernel(&self.device) {
                ctx.chatter(&message);
                self.is_sniffer = true;
            }
        }
        Ok(())
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
        if self.receive_and_go_on(ctx) {
            return;
        }
        // Readable without a packet: the device went down or away.
        let error = self.ring.as_ref().and_then(|ring| ring.take_error().err());
        if let Some(error) = error {
            ctx.complain(&format!("FromDevice({}): recvfrom: {}", self.device, words(&error)));
        }
    }

    /// Looks for packets that nobody told of. The kernel wakes the reader of a ring before it counts the block as finished: a
    /// reader on another processor may look too early, find nothing, and would sleep until the next block.
    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.receive_and_go_on(ctx);
        ctx.schedule_after(timer, LOOK_NS);
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        self.receive_and_go_on(ctx)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "kernel_drops" => {
                let statistics = self.ring.as_mut().and_then(|ring| ring.statistics().ok());
                statistics.map_or("??".to_string(), |statistics| statistics.n_dropped.to_string())
            }
            "encap" => link::unparse(self.link_type()),
            "count" => self.count.to_string(),
            "interface_name" => self.device.clone(),
            "rx_packets" => self.traffic.packets.to_string(),
            "rx_bytes" => self.traffic.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => self.count = 0,
            "reopen" => {
                let reopened = self.ring.as_ref().map_or(Ok(()), RxRing::rebind);
                reopened.map_err(|error| refusal(&self.device, self.is_linux, &error))?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        let Some(ring) = self.ring.take() else { return };
        ctx.remove_select(ring.as_fd().as_raw_fd(), Ready::READ);
        if !self.is_sniffer && !self.is_hidden {
            if let Err(message) = show_to_kernel(&self.device) {
                ctx.chatter(&message);
            }
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FromDevice>(ctx, old) else { return };
        if old.device == self.device {
            self.pending.append(&mut old.pending);
            (self.count, self.traffic) = (old.count, old.traffic);
        }
        if self.goes_on {
            self.foreseen = None;
            self.watch(ctx, old.ring.take());
        }
        if self.is_hidden && !self.is_sniffer {
            old.is_sniffer = true;
        } else if self.goes_on && self.is_hidden {
            if let Err(message) = show_to_kernel(&self.device) {
                ctx.chatter(&message);
            }
        }
        self.is_hidden = false;
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        let Some(old) = same_ref::<FromDevice>(old).filter(|old| old.ring.is_some()) else { return };
        self.goes_on = self.is_of_same(old);
        self.is_hidden = !old.is_sniffer && old.device == self.device;
        if self.goes_on {
            self.encap = self.encap.or(old.encap);
            self.foreseen = old.ring.as_ref().and_then(|ring| ring.sender(&TxOptions::default()).ok());
        }
    }
}

impl FromDevice {
    /// Takes in packets; if there were any, the task will look for more.
    fn receive_and_go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let worked = self.receive(ctx) > 0;
        if let (true, Some(task)) = (worked, self.task) {
            ctx.schedule(task);
        }
        worked
    }

    fn link_type(&self) -> u32 {
        self.encap.unwrap_or(link::ETHERNET)
    }
}

#[cfg(test)]
mod tests {
    use crate::capture::Reader;
    use crate::testing::{
        self, check, has_reached, in_namespace, make_veth, run_on_cores, run_until, Scratch, LAN,
    };
    use element::Runtime;
    use expect_test::expect;

    /// The packets of a capture file.
    fn packets(path: &str) -> Vec<Vec<u8>> {
        let mut reader = Reader::open(path).unwrap();
        let mut packets = Vec::new();
        while let Some(record) = reader.next_record().unwrap() {
            packets.push(record.data.to_vec());
        }
        packets
    }

    #[test]
    fn packets_pass_a_pair_of_devices_unchanged_and_in_order() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            // The capture's own long packets have no metadata, so that the devices must take them as they are.
            for device in ["left", "right"] {
                sys::link::set_mtu(device, 65_000).unwrap();
            }
            let scratch = Scratch::new();
            let path = scratch.path("out.pcap");
            let config = format!(
                "from :: FromDevice(right, PROMISC true, SNAPLEN 65535, BURST 32) -> ToDump({path}, SNAPLEN 0);
                 FromDump({LAN}) -> Queue(1000) -> to :: ToDevice(left, BURST 32);"
            );
            let reads = [
                "from.count",
                "from.rx_bytes",
                "from.kernel_drops",
                "from.encap",
                "to.tx_packets",
                "to.q",
                "to.signal",
            ];
            // The last packet may arrive before its sender has found out that there are no more.
            let mut all_came = has_reached("from.count", 799);
            let told = run_until(&config, &reads, |world| {
                let signal = world.read_handler(usize::MAX, "to.signal", "");
                all_came(world) && signal == Ok("false".to_string())
            });
            expect![[r#"
                from.count: 799
                from.rx_bytes: 621785
                from.kernel_drops: 0
                from.encap: ETHER
                to.tx_packets: 799
                to.q: false
                to.signal: false
            "#]]
            .assert_eq(&told);
            assert!(packets(&path) == packets(LAN), "the packets differ");
        });
    }

    #[test]
    fn cores_share_the_packets_of_a_device_out() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            for device in ["left", "right"] {
                sys::link::set_mtu(device, 65_000).unwrap();
            }
            let scratch = Scratch::new();
            let (path, seen) = (scratch.path("out.pcap"), scratch.path("seen"));
            let config = format!(
                "from :: FromDevice(right, PROMISC true, SNAPLEN 65535, BURST 32) -> MarkIPHeader(14)
                 -> IPPrint(OUTFILE {seen}) -> ToDump({path}, SNAPLEN 0);
                 FromDump({LAN}) -> Queue(1000) -> to :: ToDevice(left, BURST 32);
                 Script(label again, wait 1ms, goto again);"
            );
            let reads = ["from.count", "from.rx_bytes", "from.kernel_drops", "from.encap", "to.tx_packets"];
            let told = run_on_cores(2, &config, &reads, has_reached("from.count", 799));
            expect![[r#"
                from.count: 799
                from.rx_bytes: 621785
                from.kernel_drops: 0
                from.encap: ETHER
                to.tx_packets: 799
            "#]]
            .assert_eq(&told);
            for file in [seen.clone(), format!("{seen}.1")] {
                assert!(std::fs::read(&file).unwrap().len() > 1000, "{file}: a core got hardly anything");
            }
        });
    }

    #[test]
    fn offloaded_segmentation_passes_devices_and_is_done_for_a_file() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            let scratch = Scratch::new();
            let path = scratch.path("out.pcap");
            let config = format!(
                "from :: FromDevice(right, PROMISC true) -> dump :: ToDump({path});
                 OffloadSource -> Queue -> to :: ToDevice(left);"
            );
            let reads = ["from.count", "from.rx_bytes", "dump.count", "to.tx_packets", "to.tx_bytes"];
            let told = run_until(&config, &reads, has_reached("from.count", 1));
            expect![[r#"
                from.count: 1
                from.rx_bytes: 4054
                dump.count: 3
                to.tx_packets: 1
                to.tx_bytes: 4054
            "#]]
            .assert_eq(&told);
            let lens: Vec<usize> = packets(&path).iter().map(Vec::len).collect();
            expect!["[1514, 1514, 1134]"].assert_eq(&format!("{lens:?}"));
        });
    }

    #[test]
    fn what_a_graph_sends_itself_is_not_received_as_outbound() {
        const FRAME: &str = "\\<ffffffffffff 020000000001 88b5 0000>";
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            for method in ["METHOD PCAP", "METHOD LINUX"] {
                let config = format!(
                    "FromDevice(left, PROMISC true, OUTBOUND true, {method}) -> own :: Classifier(12/88b5, -);
                     own[0] -> back :: Counter -> Discard; own[1] -> Discard;
                     FromDevice(right, PROMISC true) -> far :: Classifier(12/88b5, -);
                     far[0] -> there :: Counter -> Discard; far[1] -> Discard;
                     InfiniteSource(DATA {FRAME}, LIMIT 3) -> Queue -> ToDevice(left);"
                );
                let reads = ["back.count", "there.count"];
                expect![[r#"
                    back.count: 0
                    there.count: 3
                "#]]
                .assert_eq(&run_until(&config, &reads, has_reached("there.count", 3)));
                let config = format!("{config} Script(label again, wait 1ms, goto again);");
                let told = run_on_cores(2, &config, &reads, has_reached("there.count", 3));
                assert!(told.starts_with("back.count: 0\n"), "{told}");
            }
        });
    }

    #[test]
    fn filters_and_force_ip_select_packets() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            for device in ["left", "right"] {
                sys::link::set_mtu(device, 65_000).unwrap();
            }
            let run = |args: &str, n: u64| {
                let config = format!(
                    "from :: FromDevice(right, PROMISC true, {args}) -> Discard; from[1] -> others :: Discard;
                     FromDump({LAN}) -> Queue(1000) -> ToDevice(left);"
                );
                run_until(&config, &["from.count", "others.count"], has_reached("from.count", n))
            };
            expect![[r#"
                from.count: 799
                others.count: 4
            "#]]
            .assert_eq(&run("FORCE_IP true", 799));
            expect![[r#"
                from.count: 4
                others.count: 0
            "#]]
            .assert_eq(&run("METHOD LINUX, PROTOCOL 0x0806", 4));
            let told = run("BPF_FILTER arp", 4);
            if told.contains("no filter compiler") {
                crate::testing::cannot_run(told);
                return;
            }
            expect![[r#"
                from.count: 4
                others.count: 0
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn arguments_are_checked() {
        check(
            "FromDevice(nosuchdevice) -> Discard;",
            expect![[r#"
                config:1: While initializing 'FromDevice@1 :: FromDevice':
                  nosuchdevice: No such device exists
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(nosuchdevice, METHOD LINUX) -> Discard;",
            expect![[r#"
                config:1: While initializing 'FromDevice@1 :: FromDevice':
                  nosuchdevice: SIOCGIFINDEX: No such device
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(no:name) -> Discard;",
            expect![[r#"
                config:1: While initializing 'FromDevice@1 :: FromDevice':
                  no:name: No such device exists
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(00:00:5A:98:F9:28) -> Discard;",
            expect![[r#"
                config:1: While initializing 'FromDevice@1 :: FromDevice':
                  00:00:5A:98:F9:28: No such device exists
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, METHOD FOO) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  bad METHOD
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, SNAPLEN 3) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  SNAPLEN out of range
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, SNAPLEN -5) -> Discard; FromDevice(lo, CAPTURE LINUX, METHOD FOO) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  SNAPLEN out of range
                config:1: While configuring 'FromDevice@3 :: FromDevice':
                  bad METHOD
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, BURST 0) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  BURST out of range
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, HEADROOM 9000) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  HEADROOM out of range
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDevice(lo, ENCAP FOO) -> Discard;",
            expect![[r#"
                config:1: While configuring 'FromDevice@1 :: FromDevice':
                  bad encapsulation type
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> ToDevice(lo, METHOD FOO);",
            expect![[r#"
                config:1: While configuring 'ToDevice@2 :: ToDevice':
                  bad METHOD
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> ToDevice(lo, BURST 0);",
            expect![[r#"
                config:1: While configuring 'ToDevice@2 :: ToDevice':
                  bad BURST
                Router could not be initialized!
            "#]],
        );
        in_namespace(|| {
            check(
                "Idle -> ToDevice(lo);",
                expect![[r#"
                    config:1: While initializing 'ToDevice@2 :: ToDevice':
                      lo: That device is not up
                    Router could not be initialized!
                "#]],
            );
            sys::link::set_up("lo", true).unwrap();
            check(
                "Idle -> ToDevice(lo); Idle -> ToDevice(lo);",
                expect![[r#"
                    config:1: While initializing 'ToDevice@4 :: ToDevice':
                      duplicate writer for device 'lo'
                    Router could not be initialized!
                "#]],
            );
        });
    }

    #[test]
    fn a_packet_longer_than_the_mtu_is_refused() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            let config = "InfiniteSource(LENGTH 3000, LIMIT 2) -> Queue -> to :: ToDevice(left); to[1] -> d :: Discard;
                          to[0] -> e :: Discard;";
            let told = testing::run_until(config, &["d.count", "e.count", "to.q"], has_reached("d.count", 2));
            expect![[r#"
                ToDevice(left): Message too long
                d.count: 2
                e.count: 0
                to.q: false
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn packets_that_are_refused_do_not_keep_the_graph_from_ending() {
        in_namespace(|| {
            if !make_veth("left", "right") {
                return;
            }
            let config = "InfiniteSource(LENGTH 3000) -> to :: ToDevice(left); to[1] -> Queue -> Idle; to[0] -> Discard;";
            let mut n_rounds = 0;
            let told = testing::run_until(config, &[], |_| {
                n_rounds += 1;
                n_rounds > 100
            });
            assert_eq!(told, "ToDevice(left): Message too long\n");
        });
    }
}
