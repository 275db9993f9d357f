//! The concentrator with clients: whole exchanges, and random ones.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use args::Scope;
use element::Packet;
use expect_test::expect;
use proptest::prelude::*;

use super::client::Client;
use super::discovery::Concentrator;
use super::frame::{ppp, Frame};
use super::lcp::Method;
use super::link::LinkSettings;
use super::negotiation::code;
use super::path::Outcome;
use super::provisioning::{Pool, Provision, User, Users};
use super::server::{Server, Settings};
use crate::accounting::{Now, Rate};

const SECOND: i64 = 1_000_000_000;
const LOCAL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn at(steady_ns: i64) -> Now {
    Now { wall_ns: steady_ns, steady_ns }
}

fn server(methods: &[Method]) -> Server {
    let link = LinkSettings {
        name: "ac".into(),
        methods: methods.to_vec(),
        local: LOCAL,
        dns: [None, None],
        echo_ns: 10 * SECOND,
        max_echoes: 3,
    };
    let settings = Settings {
        own: [2, 0, 0, 0, 0, 1],
        concentrator: Concentrator { name: "ac".into(), services: Vec::new(), secret: b"key".to_vec() },
        link,
        max_sessions: 5,
        max_per_station: 2,
        rates: (Rate(0), Rate(0)),
        interim_ns: 0,
    };
    let mut server = Server::new(settings, Pool::new(&[(0x0a00_0001, 0x0a00_0004)]));
    let users = "ann secret\nbob word 10.0.0.2\n";
    server.users = Users::new(User::parse_lines(users, &Scope::builtin()).unwrap());
    server
}

/// Gives the server what the client sent, and the client what the server answered, until nobody has anything to say, or for
/// some rounds: after noise, both may go on about the same forever.
fn talk(server: &mut Server, client: &mut Client, now: Now) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for _ in 0..40 {
        for mut packet in std::mem::take(&mut client.out) {
            outcomes.push(server.take_out(&mut packet, || now));
        }
        std::mem::take(&mut server.out).iter().for_each(|packet| client.receive(packet));
    }
    outcomes
}

fn connect(server: &mut Server, client: &mut Client) {
    client.begin();
    talk(server, client, at(0));
}

fn ip_packet(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut bytes = vec![0; 30];
    let mut ip = wire::Ipv4::init(&mut bytes[..]).unwrap();
    ip.set_total_len(30);
    ip.set_source(source);
    ip.set_destination(destination);
    ip.update_checksum();
    bytes
}

#[test]
fn a_subscriber_gets_its_address_by_chap_and_by_pap() {
    for methods in [&[Method::Chap][..], &[Method::Pap], &[]] {
        let mut server = server(methods);
        let mut client = Client::new(1, "ann", "secret");
        connect(&mut server, &mut client);
        // The first is the server's own, the second somebody's.
        assert_eq!((client.is_up, client.address), (true, Ipv4Addr::new(10, 0, 0, 3)));
        assert_eq!(server.n_up(), 1);
    }
}

#[test]
fn who_has_the_wrong_secret_is_sent_away() {
    for (name, secret) in [("ann", "secre"), ("eve", "secret"), ("", "")] {
        for methods in [Method::Chap, Method::Pap] {
            let mut server = server(&[methods]);
            let mut client = Client::new(1, name, secret);
            connect(&mut server, &mut client);
            assert_eq!((client.is_up, client.session, server.n_up()), (false, 0, 0));
            assert_eq!((server.statistics.bad_logins, server.statistics.ended), (1, 1));
        }
    }
}

#[test]
fn packets_flow_with_the_right_source_only() {
    let mut server = server(&[Method::Chap]);
    let mut client = Client::new(1, "ann", "secret");
    connect(&mut server, &mut client);
    let address = client.address;
    let mut pass = |source, session_off: u16| {
        client.session += session_off;
        client.sender().ppp(ppp::IPV4, &ip_packet(source, LOCAL));
        client.session -= session_off;
        let mut packet = client.out.pop().unwrap();
        packet.append(9);
        (
            server.take_out(&mut packet, || at(1)),
            packet.len(),
            packet.anno_u32(element::annotation::AGGREGATE),
        )
    };
    assert_eq!(pass(address, 0), (Outcome::Pass, 30, 1));
    assert_eq!(pass(LOCAL, 0).0, Outcome::Spoofed);
    assert_eq!(pass(address, 1).0, Outcome::NoSession);
    let mut packet = Packet::from_bytes(&ip_packet(LOCAL, address));
    let hash = server.hash_of(&packet);
    assert_eq!(server.put_in(&mut packet, hash, 1), Outcome::Pass);
    let frame = Frame::parse(packet.data(), client.own).unwrap();
    assert_eq!(frame.payload, [&[0, 0x21], &ip_packet(LOCAL, address)[..]].concat());
    client.hang_up(true);
    talk(&mut server, &mut client, at(2));
    let mut packet = Packet::from_bytes(&ip_packet(LOCAL, address));
    assert_eq!(server.put_in(&mut packet, hash, 1), Outcome::NoSession);
}

#[test]
fn a_clock_that_is_set_back_stops_no_packets() {
    let mut server = server(&[Method::Chap]);
    server.settings.rates = (Rate(1_000_000), Rate(1_000_000));
    let mut client = Client::new(1, "ann", "secret");
    connect(&mut server, &mut client);
    let packet = ip_packet(client.address, LOCAL);
    let mut pass = |now: Now| {
        client.sender().ppp(ppp::IPV4, &packet);
        server.take_out(&mut client.out.pop().unwrap(), || now)
    };
    assert_eq!(pass(at(7200 * SECOND)), Outcome::Pass);
    assert_eq!(pass(Now { wall_ns: 3600 * SECOND, steady_ns: 7201 * SECOND }), Outcome::Pass);
}

#[test]
fn a_subscriber_that_no_longer_answers_is_dropped_after_its_echoes() {
    let mut server = server(&[Method::Chap]);
    let (mut ann, mut bob) = (Client::new(1, "ann", "secret"), Client::new(2, "bob", "word"));
    connect(&mut server, &mut ann);
    connect(&mut server, &mut bob);
    assert_eq!((server.n_up(), bob.address), (2, Ipv4Addr::new(10, 0, 0, 2)));
    for second in 1..=60 {
        server.expire(at(second * SECOND));
        std::mem::take(&mut server.out).iter().for_each(|packet| ann.receive(packet));
        talk(&mut server, &mut ann, at(second * SECOND));
    }
    assert_eq!((server.n_up(), ann.is_up, server.statistics.lost), (1, true, 1));
    // The address is free again, and the station has room.
    connect(&mut server, &mut bob);
    assert_eq!(bob.address, Ipv4Addr::new(10, 0, 0, 2));
}

#[test]
fn floods_take_no_sessions_without_cookies_and_few_with_them() {
    let mut server = server(&[Method::Chap]);
    let mut client = Client::new(1, "ann", "secret");
    for _ in 0..100 {
        client.begin();
        for mut packet in std::mem::take(&mut client.out) {
            server.take_out(&mut packet, || at(0));
        }
    }
    assert_eq!((server.statistics.pado, server.statistics.pads, server.sessions.len()), (100, 0, 0));
    // One request, sent again and again, is one session; so are others beyond the limit of a station.
    client.receive(&server.out.pop().unwrap());
    server.out.clear();
    let request = client.out.pop().unwrap();
    for n in 0..100u8 {
        let mut packet = request.copy();
        if n >= 50 {
            // Another Host-Uniq.
            packet.data_mut()[28] = n;
        }
        server.take_out(&mut packet, || at(0));
    }
    assert_eq!((server.statistics.pads, server.statistics.no_room), (2, 49 - 1 + 1));
    let mut forged = request.copy();
    forged.data_mut()[11] = 77;
    server.take_out(&mut forged, || at(0));
    assert_eq!(server.statistics.bad_cookie, 1);
    // Nobody answers: both sessions end by themselves.
    for second in 1..100 {
        server.expire(at(second * SECOND));
    }
    assert_eq!(server.statistics.ended, 2);
}

#[test]
fn unknown_protocols_and_codes_are_rejected() {
    let mut server = server(&[Method::Chap]);
    let mut client = Client::new(1, "ann", "secret");
    connect(&mut server, &mut client);
    client.sender().control(0x8057, code::REQUEST, 1, &[1, 2]);
    client.sender().control(ppp::LCP, 77, 5, b"?");
    client.sender().control(ppp::LCP, code::ECHO, 6, b"\x01\x02\x03\x04data");
    for mut packet in std::mem::take(&mut client.out) {
        server.take_out(&mut packet, || at(0));
    }
    let answers: Vec<String> = server.out.iter().map(|p| format!("{:02x?}", &p.data()[20..])).collect();
    expect![[r#"
        [c0, 21, 08, 01, 00, 0c, 80, 57, 01, 01, 00, 06, 01, 02]
        [c0, 21, 07, 02, 00, 09, 4d, 05, 00, 05, 3f]
        [c0, 21, 0a, 06, 00, 0c, 91, f6, 65, bb, 64, 61, 74, 61]"#]]
    .assert_eq(&answers.join("\n"));
}

#[test]
fn the_operator_ends_a_session_politely() {
    let mut server = server(&[Method::Chap]);
    let mut client = Client::new(1, "ann", "secret");
    connect(&mut server, &mut client);
    let ids = server.find("ann");
    assert_eq!(
        (ids.clone(), server.find(&client.address.to_string()), server.find("1")),
        (vec![1], vec![1], vec![1])
    );
    server.disconnect(1, at(5));
    assert_eq!(server.n_up(), 0);
    std::mem::take(&mut server.out).iter().for_each(|packet| client.receive(packet));
    talk(&mut server, &mut client, at(6));
    assert_eq!((client.session, server.find("ann")), (0, vec![]));
}

#[derive(Clone, Debug)]
enum Step {
    Begin(usize),
    Talk(usize),
    Deliver(usize, usize),
    HangUp(usize, bool),
    Wait(i64),
    Noise(usize, u16, Vec<u8>),
    Disconnect(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let client = 0usize..4;
    let protocol =
        prop_oneof![Just(ppp::LCP), Just(ppp::IPCP), Just(ppp::CHAP), Just(ppp::PAP), any::<u16>()];
    let control = (0u8..14, 0u8..4, prop::collection::vec(any::<u8>(), 0..20))
        .prop_map(|(code, id, data)| [&[code, id, 0, data.len() as u8 + 4][..], &data].concat());
    prop_oneof![
        3 => client.clone().prop_map(Step::Begin),
        6 => client.clone().prop_map(Step::Talk),
        4 => (client.clone(), 0usize..4).prop_map(|(client, n)| Step::Deliver(client, n)),
        1 => (client.clone(), any::<bool>()).prop_map(|(client, polite)| Step::HangUp(client, polite)),
        2 => (0i64..40).prop_map(Step::Wait),
        3 => (client, protocol, control).prop_map(|(client, protocol, data)| Step::Noise(client, protocol, data)),
        1 => (0u16..9).prop_map(Step::Disconnect),
    ]
}

proptest! {
    #[test]
    fn random_clients_never_share_an_address(
        steps in prop::collection::vec(step(), 0..120),
        methods in prop::sample::select(vec![vec![Method::Chap, Method::Pap], vec![Method::Pap], vec![]]),
    ) {
        let mut server = server(&methods);
        let users = [("ann", "secret"), ("bob", "word"), ("bob", "word"), ("ann", "wrong")];
        let mut clients: Vec<Client> =
            (0..).zip(users).map(|(n, (name, secret))| Client::new(n, name, secret)).collect();
        let mut now = at(0);
        for step in steps {
            match step {
                Step::Begin(n) => clients[n].begin(),
                Step::Talk(n) => _ = talk(&mut server, &mut clients[n], now),
                Step::Deliver(n, take) => {
                    let waiting = clients[n].out.len().min(take);
                    for mut packet in clients[n].out.drain(..waiting) {
                        server.take_out(&mut packet, || now);
                    }
                }
                Step::HangUp(n, is_polite) => clients[n].hang_up(is_polite),
                Step::Wait(seconds) => {
                    now = at(now.steady_ns + seconds * SECOND);
                    server.expire(now);
                }
                Step::Noise(n, protocol, data) => clients[n].sender().ppp(protocol, &data),
                Step::Disconnect(id) => server.disconnect(id, now),
            }
            for packet in std::mem::take(&mut server.out) {
                let station = packet.data().first_chunk::<6>().copied().unwrap_or_default();
                if let Some(client) = clients.iter_mut().find(|client| client.own == station) {
                    client.receive(&packet);
                }
            }
            let mut holders = HashMap::new();
            for id in 0..server.sessions.len() as u16 {
                let (Some(session), Some(subscriber)) = (server.session(id), server.subscriber(id)) else { continue };
                let Some(address) = subscriber.address else {
                    prop_assert_eq!(session.address, 0);
                    continue;
                };
                prop_assert!(address != LOCAL && holders.insert(address, id).is_none(), "{} twice", address);
                prop_assert!(session.address == 0 || session.address == address.to_bits());
                let idx = server.by_address.find(&address.to_bits()).expect("it is known");
                prop_assert_eq!(server.by_address.get(idx).map(|(_, id)| *id), Some(id));
            }
            prop_assert_eq!(server.by_address.len(), holders.len());
        }
        // In the end everything is given back.
        for second in 0..300 {
            server.expire(at(now.steady_ns + second * SECOND));
        }
        prop_assert_eq!(server.by_address.len(), 0);
        prop_assert!((0..server.sessions.len() as u16).all(|id| server.session(id).is_none()));
    }

    #[test]
    fn random_frames_never_panic(
        frames in prop::collection::vec((any::<bool>(), any::<u8>(), 0u16..3, any::<Vec<u8>>()), 0..50),
    ) {
        let mut server = server(&[Method::Chap]);
        let mut client = Client::new(1, "ann", "secret");
        connect(&mut server, &mut client);
        for (is_discovery, kind, session, payload) in frames {
            client.session = session;
            match is_discovery {
                true => client.sender().discovery(kind, &payload),
                false => client.sender().ppp(u16::from(kind), &payload),
            }
            for mut packet in std::mem::take(&mut client.out) {
                server.take_out(&mut packet, || at(0));
            }
        }
    }
}

#[test]
fn sessions_go_on_in_a_server_that_was_changed() {
    let mut old = server(&[Method::Chap]);
    let (mut ann, mut bob) = (Client::new(1, "ann", "secret"), Client::new(2, "bob", "word"));
    connect(&mut old, &mut ann);
    connect(&mut old, &mut bob);
    let provision = |id: u16, address: [u8; 4]| Provision {
        station: [2, 0, 0, 0, 1, id as u8],
        id,
        address: address.into(),
        rates: None,
    };
    let (kept, moved, gone) =
        (provision(7, [10, 9, 0, 7]), provision(8, [10, 9, 0, 8]), provision(9, [10, 9, 0, 9]));
    for provision in [&kept, &moved, &gone] {
        old.provision(provision, at(0)).unwrap();
    }
    let mut new = server(&[Method::Pap]);
    new.settings.max_sessions = 6;
    new.pool = Pool::new(&[(0x0a00_0003, 0x0a00_0005)]);
    assert!(new.can_go_on_from(&old));
    let elsewhere = provision(8, [10, 9, 0, 88]);
    let taken = provision(10, [10, 0, 0, 3]);
    let told = new.take_over(&mut old, &[kept, elsewhere, taken], false, at(SECOND));
    assert_eq!(told, ["address 10.0.0.3 is taken already"]);
    let addresses = |server: &Server| -> Vec<String> {
        let ids = (1..=10).filter_map(|id| {
            Some((id, server.subscriber(id).filter(|_| server.session(id).is_some())?.address?))
        });
        ids.map(|(id, address)| format!("{id} {address}")).collect()
    };
    assert_eq!(addresses(&new), ["1 10.0.0.3", "2 10.0.0.2", "7 10.9.0.7", "8 10.9.0.88"]);
    let packet = ip_packet(ann.address, LOCAL);
    ann.sender().ppp(ppp::IPV4, &packet);
    assert_eq!(talk(&mut new, &mut ann, at(2 * SECOND)), [Outcome::Pass]);
    let mut eve = Client::new(3, "ann", "secret");
    connect(&mut new, &mut eve);
    assert_eq!(eve.address, Ipv4Addr::new(10, 0, 0, 4), "the next one that is free");
}
