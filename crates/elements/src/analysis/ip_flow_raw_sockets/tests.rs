use std::net::{SocketAddrV4, UdpSocket};

use element::{annotation, Packet};
use expect_test::expect;
use sys::datagrams::Datagram;
use testing::in_namespace;

use super::flow::Ends;
use crate::testing::{check, check_reading, run_until};

/// A program's socket.
fn peer() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_nonblocking(true).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// A source of one UDP packet from a port of 127.0.0.2 to one of 127.0.0.1, with the paint and the number of its flow.
fn packet(from: u16, to: u16, flow: u32) -> String {
    format!(
        "FromIPSummaryDump(DATA '!data ip_src sport ip_dst dport ip_proto aggregate payload\n\
         127.0.0.2 {from} 127.0.0.1 {to} U {flow} \"hello\"', CHECKSUM true)"
    )
}

/// How many raw sockets and packet sockets the calling thread's namespace has.
fn n_sockets() -> (usize, usize) {
    let count = |kind: &str| {
        let list = std::fs::read_to_string(format!("/proc/thread-self/net/{kind}")).unwrap();
        list.lines().count() - 1
    };
    (count("raw"), count("packet"))
}

/// What a graph prints of `n` packets that come back when the flow's peer answers, others send to the same port, and the peer
/// sends to another port.
fn answers(arguments: &str, n: u32) -> String {
    let ((peer, port), (stranger, _)) = (peer(), peer());
    let config = format!(
        "{} -> IPFlowRawSockets({arguments}) -> StripIPHeader -> Strip(8) -> Print(in, CONTENTS ASCII)
            -> Counter(COUNT_CALL {n} stop) -> Discard",
        packet(5000, port, 7)
    );
    run_until(&config, &[], || {
        let mut bytes = [0; 99];
        if let Ok((len, from)) = peer.recv_from(&mut bytes) {
            assert_eq!((&bytes[..len], from), (&b"hello"[..], "127.0.0.2:5000".parse().unwrap()));
            peer.send_to(b"yes", from).unwrap();
            stranger.send_to(b"stranger", from).unwrap();
            peer.send_to(b"other port", "127.0.0.2:5001").unwrap();
            peer.send_to(b"end", from).unwrap();
        }
        false
    })
}

#[test]
fn the_filter_lets_a_flows_answers_pass() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        expect![[r#"
            in:    3 |  yes
            in:    3 |  end
        "#]]
        .assert_eq(&answers("", 2));
    });
}

#[test]
fn without_a_filter_all_comes_in_that_is_for_the_port() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        expect![[r#"
            in:    3 |  yes
            in:    8 |  stranger
            in:    3 |  end
        "#]]
        .assert_eq(&answers("PCAP false", 3));
    });
}

#[test]
fn what_is_cut_off_is_counted_and_a_packet_without_its_header_is_none() {
    let header = *b"\x45\0\0\x1c\0\0\0\0\x40\x11\0\0\x0a\0\0\x01\x0a\0\0\x02rest";
    let sender = socket2::SockAddr::from(SocketAddrV4::new([10, 0, 0, 1].into(), 0));
    let received = |snaplen| {
        let datagram = Datagram { data: &header[..snaplen], len: 28, sender: &sender };
        super::received(&datagram, 60, 5)
    };
    let packet = received(22).unwrap();
    assert_eq!((packet.len(), packet.anno_u32(annotation::EXTRA_LENGTH)), (22, 6));
    assert_eq!(
        (packet.network_offset(), packet.dst_ip(), packet.timestamp_ns()),
        (Some(0), [10, 0, 0, 2].into(), 5)
    );
    assert!(packet.headroom() >= 60);
    assert!(received(19).is_none() && received(0).is_none());
}

/// How many sockets a graph has at its end.
fn sockets_left(config: &str) -> (usize, usize) {
    let mut left = n_sockets();
    assert_eq!(left, (0, 0));
    let told = run_until(config, &[], || {
        left = n_sockets();
        false
    });
    assert_eq!(told, "");
    left
}

#[test]
fn sockets_close_a_while_after_their_flow_has_ended() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        let (_peer, port) = peer();
        for (wait_ms, left) in [(200, (2, 2)), (300, (0, 0))] {
            let config = format!(
                "{} -> t :: SetTimestamp -> af :: AggregateIPFlows -> IPFlowRawSockets(NOTIFIER af) -> Discard; {} -> t;
                 DriverManager(wait 10ms, write af.clear, wait {wait_ms}ms, stop)",
                packet(5000, port, 0),
                packet(6000, port, 0)
            );
            assert_eq!(sockets_left(&config), left);
        }
    });
}

#[test]
fn sockets_close_when_their_flow_has_ended_while_packets_are_pulled() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        let (_peer, port) = peer();
        let config = format!(
            "{} -> SetTimestamp(1) -> q :: Queue; {} -> SetTimestamp(100) -> DelayShaper(0.01) -> Unqueue -> q;
             q -> af :: AggregateIPFlows(UDP_TIMEOUT 1, REAP 1) -> IPFlowRawSockets(NOTIFIER af) -> Discard;
             DriverManager(wait 1s, stop)",
            packet(5000, port, 0),
            packet(6000, port, 0)
        );
        assert_eq!(sockets_left(&config), (1, 1));
    });
}

#[test]
fn clear_closes_all_sockets() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        let (_peer, port) = peer();
        for (write, left) in [("", (2, 2)), ("write s.clear,", (0, 0))] {
            let config = format!(
                "{} -> q :: Queue -> s :: IPFlowRawSockets -> Discard; {} -> q;
                 DriverManager(wait 10ms, {write} wait 10ms, stop)",
                packet(5000, port, 1),
                packet(6000, port, 2),
            );
            assert_eq!(sockets_left(&config), left);
        }
    });
}

#[test]
fn flows_go_on_when_the_element_is_changed() {
    in_namespace(|| {
        sys::link::set_up("lo", true).unwrap();
        let (peer, port) = peer();
        let graph = |arguments: &str| {
            format!("{} -> IPFlowRawSockets({arguments}) -> c :: Counter -> Discard", packet(5000, port, 7))
        };
        let library = testing::Library::new(crate::FOLDERS.iter().map(|(_, classes)| *classes));
        let mut round = 0;
        let mut left = (0, 0);
        let told = library.run(testing::simulated(), &graph("SNAPLEN 99"), &["c.count"], |world| {
            round += 1;
            left = n_sockets();
            match round {
                50 => world.change_to(&graph("SNAPLEN 100")).unwrap(),
                60 => {
                    assert_eq!(n_sockets(), (1, 1));
                    peer.send_to(b"yes", "127.0.0.2:5000").unwrap();
                }
                90 => world.change_to(&graph("PCAP false")).unwrap(),
                _ => {}
            }
            round > 100
        });
        assert_eq!((told.as_str(), left), ("c.count: 1\n", (0, 0)));
    });
}

#[test]
fn packets_without_a_flow_or_ports_open_no_socket() {
    in_namespace(|| {
        let config = "InfiniteSource(LIMIT 2) -> s :: IPFlowRawSockets -> Discard;
            ICMPPingSource(127.0.0.1, 127.0.0.2, INTERVAL 0.001, LIMIT 3) -> AggregateIP(ip src) -> s;
            DriverManager(wait 10ms, stop)";
        assert_eq!(sockets_left(config), (0, 0));
    });
}

#[test]
fn task_handlers_are_there_if_packets_are_pulled() {
    check_reading(
        "Idle -> Queue -> pulled :: IPFlowRawSockets -> Discard; Idle -> pushed :: IPFlowRawSockets -> Discard;
         DriverManager(stop)",
        &["pulled.tickets", "pushed.tickets"],
        expect![[r#"
            pulled.tickets: 1024
            pushed.tickets: no 'pushed.tickets' read handler
        "#]],
    );
}

#[test]
fn mistakes_are_told() {
    check(
        "Idle -> IPFlowRawSockets(NOTIFIER d, SNAPLEN -1) -> d :: Discard; Idle -> IPFlowRawSockets(NOTIFIER d) -> Discard",
        expect![[r#"
            config:1: While configuring 'IPFlowRawSockets@2 :: IPFlowRawSockets':
              SNAPLEN: invalid number
            config:1: While configuring 'IPFlowRawSockets@5 :: IPFlowRawSockets':
              d is not an AggregateNotifier
            Router could not be initialized!
        "#]],
    );
}

#[test]
fn a_packet_tells_the_ends_of_its_flow() {
    let ends = |header: &[u8], paint| {
        let mut packet = Packet::with_headroom(0, header);
        packet.set_network_header(0, 20);
        packet.set_paint(paint);
        Ends::of(&packet)
    };
    let mut header = *b"\x45\0\0\x18\0\0\0\0\x40\x06\0\0\x0a\0\0\x01\x0a\0\0\x02\0\x50\0\x51";
    let to = |address: &str, source_port| {
        let destination: SocketAddrV4 = address.parse().unwrap();
        Some(Ends { protocol: 6, source_port, destination })
    };
    assert_eq!(ends(&header, 0), to("10.0.0.2:81", 80));
    assert_eq!(ends(&header, 1), to("10.0.0.1:80", 81));
    assert_eq!(ends(&header, 2), to("10.0.0.2:81", 80));
    for len in 0..header.len() {
        assert_eq!(ends(&header[..len], 0), None);
    }
    header[7] = 1;
    assert_eq!(ends(&header, 0), None, "a later fragment");
    (header[7], header[9]) = (0, 1);
    assert_eq!(ends(&header, 0), None, "ICMP");
}
