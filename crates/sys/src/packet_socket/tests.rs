use super::*;
use crate::link;
use crate::poll::{Interest, Poller};
use crate::testing::in_namespace;
use crate::vnet::{VnetHeader, GSO_TCPV4, NEEDS_CSUM};

const LOCAL: u16 = 0x88b5;

/// A packet as the tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    data: Vec<u8>,
    wire_len: u32,
    timestamp_ns: u64,
    vnet: Option<VnetHeader>,
    outgoing: bool,
    vlan: Option<(u16, u16)>,
}

/// A cable whose ends are up, without the kernel's own IPv6 packets.
fn cable(mtu: u32) {
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    link::create_veth("left", "right").unwrap();
    for name in ["left", "right"] {
        link::set_mtu(name, mtu).unwrap();
        link::set_up(name, true).unwrap();
    }
    for name in ["left", "right"] {
        link::await_running(name).unwrap();
    }
}

/// A broadcast frame of an experimental EtherType.
fn frame(number: u32, len: usize) -> Vec<u8> {
    let mut frame = vec![0xff; 6];
    frame.extend([2, 0, 0, 0, 0, 1]);
    frame.extend(LOCAL.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(len, number as u8);
    frame
}

fn plain(data: &[u8]) -> TxFrame<'_> {
    TxFrame { vnet: VnetHeader::default(), data }
}

fn send_all(tx: &mut Tx, packets: &[Vec<u8>]) {
    let frames: Vec<TxFrame> = packets.iter().map(|p| plain(p)).collect();
    let mut poller = Poller::new().unwrap();
    poller.add(tx.as_fd(), 0, Interest::WRITE).unwrap();
    let mut n_sent = 0;
    while n_sent < frames.len() {
        poller.wait(None).unwrap();
        n_sent += tx.send_batch(&frames[n_sent..]).unwrap();
    }
}

/// Waits until `n_packets` came, and returns all of the blocks that held them.
fn receive(rx: &mut RxRing, n_packets: usize) -> Vec<Seen> {
    let mut poller = Poller::new().unwrap();
    poller.add(rx.as_fd(), 0, Interest::READ).unwrap();
    let mut seen = Vec::new();
    loop {
        while let Some(block) = rx.poll_block() {
            seen.extend(block.frames().map(|f| Seen {
                data: f.data.to_vec(),
                wire_len: f.wire_len,
                timestamp_ns: f.timestamp_ns,
                vnet: f.vnet,
                outgoing: f.outgoing,
                vlan: f.vlan,
            }));
        }
        if seen.len() >= n_packets {
            return seen;
        }
        poller.wait(None).unwrap();
    }
}

#[test]
fn packets_cross_in_order_and_whole() {
    in_namespace(|| {
        cable(1500);
        let mut rx = RxRing::open("right", &RxOptions::default()).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let sent: Vec<Vec<u8>> = (0..1000).map(|n| frame(n, 60 + n as usize)).collect();
        let before = crate::clock::realtime_ns();
        send_all(&mut tx, &sent);
        let seen = receive(&mut rx, sent.len());
        assert!(seen.iter().map(|s| &s.data).eq(&sent));
        assert!(seen.iter().all(|s| s.wire_len as usize == s.data.len() && !s.outgoing && s.vlan.is_none()));
        assert!(seen.iter().all(|s| (before..=crate::clock::realtime_ns()).contains(&s.timestamp_ns)));
        assert!(seen.iter().all(|s| s.vnet.is_some_and(|vnet| !vnet.is_gso())));
        let statistics = rx.statistics().unwrap();
        assert_eq!((statistics.n_packets, statistics.n_dropped), (1000, 0));
        assert_eq!(rx.statistics().unwrap(), statistics);
    });
}

#[test]
fn the_ring_goes_round_many_times() {
    in_namespace(|| {
        cable(1500);
        let options = RxOptions { block_len: 4096, n_blocks: 2, vnet: false, ..Default::default() };
        let mut rx = RxRing::open("right", &options).unwrap();
        let mut tx = Tx::open("left", &TxOptions { vnet: false, ..Default::default() }).unwrap();
        for n in 0..50 {
            let sent = [frame(n, 200), frame(n, 300)];
            send_all(&mut tx, &sent);
            assert!(receive(&mut rx, 2).iter().map(|s| &s.data).eq(&sent));
        }
    });
}

#[test]
fn a_full_ring_counts_what_it_drops() {
    in_namespace(|| {
        cable(1500);
        let options = RxOptions { block_len: 4096, n_blocks: 2, ..Default::default() };
        let mut rx = RxRing::open("right", &options).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        send_all(&mut tx, &(0..100).map(|n| frame(n, 1000)).collect::<Vec<_>>());
        // Delivery may lag behind sending.
        let (mut n_packets, mut n_dropped) = (0, 0);
        while n_packets < 100 {
            let statistics = rx.statistics().unwrap();
            (n_packets, n_dropped) = (statistics.n_packets, statistics.n_dropped);
            std::thread::yield_now();
        }
        assert!(n_dropped > 0 && n_packets == 100, "{n_packets} {n_dropped}");
        let n_left = 100 - n_dropped as usize;
        assert_eq!(receive(&mut rx, n_left).len(), n_left);
    });
}

#[test]
fn a_block_that_is_still_read_is_not_overwritten() {
    in_namespace(|| {
        cable(1500);
        let mut rx =
            RxRing::open("right", &RxOptions { block_len: 4096, n_blocks: 2, ..Default::default() }).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let first = frame(1, 1000);
        send_all(&mut tx, std::slice::from_ref(&first));
        let mut poller = Poller::new().unwrap();
        poller.add(rx.as_fd(), 0, Interest::READ).unwrap();
        poller.wait(None).unwrap();
        let block = rx.poll_block().unwrap();
        let held = block.frames().next().unwrap();
        send_all(&mut tx, &(2..40).map(|n| frame(n, 1000)).collect::<Vec<_>>());
        assert_eq!(held.data, first);
    });
}

/// A packet of TCP to be segmented, as long as veth passes on whole: its limit of 65536 counts the Ethernet header.
fn long_segment() -> (VnetHeader, Vec<u8>) {
    let len = 65_521u16;
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    packet.extend([0x45, 0]);
    packet.extend(len.to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0, 80, 4, 210, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 16, 0, 0, 0, 0, 0, 0]);
    packet.resize(14 + usize::from(len), 7);
    let vnet = VnetHeader {
        flags: NEEDS_CSUM,
        gso_type: GSO_TCPV4,
        hdr_len: 54,
        gso_size: 1448,
        csum_start: 34,
        csum_offset: 16,
        num_buffers: 0,
    };
    (vnet, packet)
}

#[test]
fn segmentation_stays_with_the_packet() {
    in_namespace(|| {
        cable(1500);
        let mut rx = RxRing::open("right", &RxOptions::default()).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let (vnet, packet) = long_segment();
        assert_eq!(tx.send_batch(&[TxFrame { vnet, data: &packet }]).unwrap(), 1);
        // Other stations' packets pass a packet socket on a veth even without promiscuous mode.
        let seen = receive(&mut rx, 1);
        assert_eq!((seen[0].data.len(), seen[0].wire_len), (packet.len(), packet.len() as u32));
        assert_eq!(seen[0].data, packet);
        assert_eq!(seen[0].vnet, Some(vnet));
    });
}

#[test]
fn a_packet_longer_than_the_mtu_is_an_error_about_the_first() {
    in_namespace(|| {
        cable(1500);
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let (good, long) = (frame(1, 100), frame(2, 1600));
        assert_eq!(tx.send_batch(&[plain(&good), plain(&long), plain(&good)]).unwrap(), 1);
        let error = tx.send_batch(&[plain(&long), plain(&good)]).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EMSGSIZE));
        assert!(error.remedy().unwrap().contains("MTU"));
        assert_eq!(tx.send_batch(&[]).unwrap(), 0);
    });
}

#[test]
fn packets_past_the_queue_arrive_too() {
    in_namespace(|| {
        cable(1500);
        let mut rx = RxRing::open("right", &RxOptions::default()).unwrap();
        let mut tx = Tx::open("left", &TxOptions { bypass_queue: true, ..Default::default() }).unwrap();
        let sent: Vec<Vec<u8>> = (0..200).map(|n| frame(n, 64)).collect();
        send_all(&mut tx, &sent);
        assert!(receive(&mut rx, 200).iter().map(|s| &s.data).eq(&sent));
    });
}

#[test]
fn outgoing_packets_come_only_when_asked() {
    in_namespace(|| {
        cable(1500);
        let mut quiet = RxRing::open("left", &RxOptions::default()).unwrap();
        let mut both = RxRing::open("left", &RxOptions { outgoing: true, ..Default::default() }).unwrap();
        let mut left = Tx::open("left", &TxOptions::default()).unwrap();
        let mut right = Tx::open("right", &TxOptions::default()).unwrap();
        send_all(&mut left, &[frame(1, 64)]);
        send_all(&mut right, &[frame(2, 64)]);
        let directions = |seen: Vec<Seen>| seen.iter().map(|s| (s.data[17], s.outgoing)).collect::<Vec<_>>();
        assert_eq!(directions(receive(&mut both, 2)), [(1, true), (2, false)]);
        assert_eq!(directions(receive(&mut quiet, 1)), [(2, false)]);
    });
}

#[test]
fn filter_and_snaplen_are_the_kernels_work() {
    in_namespace(|| {
        cable(1500);
        let filter = match crate::bpf::compile("ether[17] = 3", 1, 0) {
            Ok(program) => program,
            Err(error) => return crate::testing::cannot_run(error),
        };
        let options = RxOptions { filter: Some(filter), snaplen: 40, ..Default::default() };
        let mut rx = RxRing::open("right", &options).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let sent: Vec<Vec<u8>> = (0..6).map(|n| frame(n, 100)).collect();
        send_all(&mut tx, &sent);
        let seen = receive(&mut rx, 1);
        assert_eq!((seen.len(), &seen[0].data[..], seen[0].wire_len), (1, &sent[3][..40], 100));
        assert_eq!(rx.statistics().unwrap().n_packets, 1);
    });
}

#[test]
fn a_vlan_tag_that_was_taken_off_is_told() {
    in_namespace(|| {
        cable(1500);
        let mut rx = RxRing::open("right", &RxOptions::default()).unwrap();
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let untagged = frame(1, 100);
        let tagged = [&untagged[..12], &[0x81, 0, 0x60, 42], &untagged[12..]].concat();
        send_all(&mut tx, &[tagged]);
        let seen = receive(&mut rx, 1);
        assert_eq!((seen[0].vlan, &seen[0].data), (Some((0x602a, 0x8100)), &untagged));
    });
}

/// A queue on `right`, and what sends to it.
fn queue() -> (RxQueue, Tx) {
    cable(1500);
    let socket = open_socket("right").unwrap();
    let queue = RxQueue::on_socket(socket, link::index("right").unwrap(), "right", 1 << 20).unwrap();
    (queue, Tx::open("left", &TxOptions::default()).unwrap())
}

/// Waits for the next packet of a queue, for which there are `len` bytes.
fn next_of(queue: &RxQueue, len: usize) -> (crate::tap::Received, Vec<u8>) {
    let mut buf = vec![0; len];
    let mut poller = Poller::new().unwrap();
    poller.add(queue.as_fd(), 0, Interest::READ).unwrap();
    poller.wait(None).unwrap();
    let received = queue.recv(&mut buf).unwrap().unwrap();
    buf.truncate(received.len);
    (received, buf)
}

#[test]
fn a_queue_has_each_packet_at_once_and_whole() {
    in_namespace(|| {
        let (queue, tx) = queue();
        assert_eq!(queue.recv(&mut [0; 100]).unwrap(), None);
        for n in 1..20 {
            assert!(tx.send(VnetHeader::default(), &frame(n, 60 + n as usize)).unwrap());
            let (received, data) = next_of(&queue, 100);
            assert_eq!((data, received.vnet.is_gso()), (frame(n, 60 + n as usize), false));
        }
        let (vnet, packet) = long_segment();
        assert!(tx.send(vnet, &packet).unwrap());
        let (received, data) = next_of(&queue, 70_000);
        assert_eq!((received.vnet, received.truncated), (vnet, false));
        assert_eq!(data, packet);
        assert!(tx.send(VnetHeader::default(), &frame(1, 100)).unwrap());
        let (received, data) = next_of(&queue, 99);
        assert_eq!((received.truncated, &data[..]), (true, &frame(1, 100)[..99]));
        assert_eq!(queue.recv(&mut [0; 100]).unwrap(), None);
    });
}

#[test]
fn a_queue_has_vlan_tags_where_they_were() {
    in_namespace(|| {
        let (queue, tx) = queue();
        let (vnet, untagged) = long_segment();
        let untagged = &untagged[..1000];
        let tagged = [&untagged[..12], &[0x81, 0, 0x60, 42], &untagged[12..]].concat();
        let vnet = VnetHeader { gso_size: 500, csum_start: 38, hdr_len: 58, ..vnet };
        for (room, is_cut) in [(1004, false), (1003, true)] {
            assert!(tx.send(vnet, &tagged).unwrap());
            let (received, data) = next_of(&queue, room);
            assert_eq!(received.truncated, is_cut);
            if !is_cut {
                // The kernel tells how much of the packet lies in one piece, which is all of a short one.
                assert!(received.vnet.hdr_len >= vnet.hdr_len);
                assert_eq!(VnetHeader { hdr_len: vnet.hdr_len, ..received.vnet }, vnet);
                assert_eq!(data, tagged);
            }
        }
    });
}

#[test]
fn a_queue_passes_over_what_its_header_cannot_express() {
    use crate::tap::{Options, Tap, VnetMode};
    /// UDP that is to be cut into IP fragments: the kernel takes it from taps and tells it to nobody.
    const GSO_UDP: u8 = 3;
    in_namespace(|| {
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let tap = match Tap::open(&Options { vnet: VnetMode::Basic, ..Options::tap("t0") }) {
            Ok(tap) => tap,
            Err(error) => return crate::testing::cannot_run(error),
        };
        link::set_up("t0", true).unwrap();
        let socket = open_socket("t0").unwrap();
        let queue = RxQueue::on_socket(socket, link::index("t0").unwrap(), "t0", 1 << 20).unwrap();
        let mut long = udp_flow(1000);
        long.resize(3000, 0);
        let vnet = VnetHeader {
            gso_type: GSO_UDP,
            hdr_len: 42,
            gso_size: 1480,
            flags: NEEDS_CSUM,
            csum_start: 34,
            csum_offset: 6,
            num_buffers: 0,
        };
        assert!(tap.send(vnet, &long).unwrap() && tap.send(VnetHeader::default(), &frame(1, 60)).unwrap());
        assert_eq!(next_of(&queue, 100).1, frame(1, 60));
        assert_eq!((queue.recv(&mut [0; 100]).unwrap(), queue.n_dropped().unwrap()), (None, 1));
    });
}

/// IPv4 and UDP from one of many ports, so that the flows differ.
fn udp_flow(port: u16) -> Vec<u8> {
    let mut packet = vec![0xff; 6];
    packet.extend([2, 0, 0, 0, 0, 1, 8, 0]);
    packet.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(port.to_be_bytes());
    packet.extend([0, 9, 0, 26, 0, 0]);
    packet.resize(60, 0);
    packet
}

#[test]
fn a_group_shares_flows_out() {
    in_namespace(|| {
        cable(1500);
        let options = RxOptions { fan_out: FanOut::New, ..Default::default() };
        let mut first = RxRing::open("right", &options).unwrap();
        let group = first.fan_out_group().unwrap();
        let joining = RxOptions { fan_out: FanOut::Join(group), ..Default::default() };
        let mut second = RxRing::open("right", &joining).unwrap();
        assert_eq!(second.fan_out_group(), Some(group));
        let mut tx = Tx::open("left", &TxOptions::default()).unwrap();
        let flows: Vec<Vec<u8>> = (1000..1100).map(udp_flow).collect();
        send_all(&mut tx, &[&flows[..], &flows[..]].concat());
        let counts = [first.statistics().unwrap().n_packets, second.statistics().unwrap().n_packets];
        assert!(counts.iter().sum::<u64>() == 200 && counts.iter().all(|&n| n > 0), "{counts:?}");
        let ports = |seen: Vec<Seen>| seen.iter().map(|s| s.data[34..36].to_vec()).collect::<Vec<_>>();
        let (a, b) =
            (ports(receive(&mut first, counts[0] as usize)), ports(receive(&mut second, counts[1] as usize)));
        assert!(a.iter().all(|port| !b.contains(port)), "a flow was split");
    });
}

/// Mounts this namespace's sysfs, which shows the devices' real flags; `None` after saying why not.
fn mount_sysfs(at: &std::path::Path) -> Option<()> {
    let path = std::ffi::CString::new(at.to_str().unwrap()).unwrap();
    let null = std::ptr::null();
    // SAFETY: C strings that live through the calls; the mounts go away with this thread's mount namespace.
    let mounted = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(null, c"/".as_ptr(), null, libc::MS_REC | libc::MS_PRIVATE, null.cast()) == 0
            && libc::mount(c"sysfs".as_ptr(), path.as_ptr(), c"sysfs".as_ptr(), 0, null.cast()) == 0
    };
    if !mounted {
        crate::testing::cannot_run(format_args!("cannot mount sysfs: {}", std::io::Error::last_os_error()));
    }
    mounted.then_some(())
}

#[test]
fn promiscuous_mode_lasts_as_long_as_the_ring() {
    in_namespace(|| {
        cable(1500);
        let scratch = crate::testing::Scratch::new();
        let Some(()) = mount_sysfs(scratch.path()) else { return };
        let file = scratch.path().join("class/net/right/flags");
        let is_promiscuous = || {
            let flags = std::fs::read_to_string(&file).unwrap();
            i32::from_str_radix(flags.trim().trim_start_matches("0x"), 16).unwrap() & libc::IFF_PROMISC != 0
        };
        let ordinary = RxRing::open("right", &RxOptions::default()).unwrap();
        assert!(!is_promiscuous());
        let rx = RxRing::open("right", &RxOptions { promiscuous: true, ..Default::default() }).unwrap();
        assert!(is_promiscuous());
        drop(rx);
        assert!(!is_promiscuous());
        drop(ordinary);
        let path = std::ffi::CString::new(scratch.path().to_str().unwrap()).unwrap();
        // SAFETY: a C string; the mount is the one made above.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    });
}

#[test]
fn a_group_ignores_outgoing_packets_too() {
    in_namespace(|| {
        cable(1500);
        for (outgoing, expected) in [(false, 0), (true, 1)] {
            let options = RxOptions { fan_out: FanOut::New, outgoing, ..Default::default() };
            let rx = RxRing::open("left", &options).unwrap();
            send_all(&mut Tx::open("left", &TxOptions::default()).unwrap(), &[frame(1, 64)]);
            assert_eq!(rx.statistics().unwrap().n_packets, expected);
        }
    });
}

#[test]
fn a_device_that_goes_down_is_reported_once() {
    in_namespace(|| {
        cable(1500);
        let rx = RxRing::open("right", &RxOptions::default()).unwrap();
        let mut poller = Poller::new().unwrap();
        poller.add(rx.as_fd(), 0, Interest::READ).unwrap();
        link::set_up("right", false).unwrap();
        assert!(poller.wait(None).unwrap()[0].closed);
        assert_eq!(rx.take_error().unwrap_err().errno(), Some(libc::ENETDOWN));
        rx.take_error().unwrap();
    });
}

#[test]
fn wrong_devices_and_rings_are_errors() {
    in_namespace(|| {
        let error = RxRing::open("nosuchdevice", &RxOptions::default()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV), "{error}");
        assert!(Tx::open("nosuchdevice", &TxOptions::default()).is_err());
        for (block_len, n_blocks) in [(0, 1), (5000, 1), (4096, 0), (1 << 31, u32::MAX)] {
            let options = RxOptions { block_len, n_blocks, ..Default::default() };
            assert!(RxRing::open("lo", &options).unwrap_err().to_string().starts_with("ring `"));
        }
        let options = RxOptions { fan_out: FanOut::Join(77), vnet: false, ..Default::default() };
        link::set_up("lo", true).unwrap();
        assert!(RxRing::open("lo", &options).is_ok());
    });
}

#[test]
fn ip_packets_of_all_devices_come_once_and_without_link_layer_headers() {
    in_namespace(|| {
        link::set_up("lo", true).unwrap();
        let filter = crate::bpf::compile("udp dst port 9", 12, 0).unwrap();
        let socket = open_ip(&filter).unwrap();
        let sender = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        sender.send_to(b"other", "127.0.0.1:10").unwrap();
        sender.send_to(b"abc", "127.0.0.1:9").unwrap();
        let mut inbox = crate::datagrams::Inbox::new(30);
        assert_eq!(inbox.receive(&socket).unwrap(), 1);
        let datagram = inbox.datagrams().next().unwrap();
        assert_eq!((datagram.data[0], &datagram.data[28..], datagram.len), (0x45, &b"ab"[..], 31));
        assert_eq!(inbox.receive(&socket).unwrap(), 0);
    });
}
