//! Exchanges packets with another program through a socket.
//!
//! TYPE is `TCP` or `UDP`, followed by an address and a port, or `UNIX` or `UNIX_DGRAM`, followed by a file name. A client
//! connects there, or sends its datagrams there, from LOCAL_ADDR and LOCAL_PORT or LOCAL_FILENAME if these are given. A server
//! listens there; it has one connection at a time, or answers whom the last datagram came from. CLIENT says which it is;
//! without it, a socket without output is a client. A UDP client whose ADDR is 0.0.0.0 sends each packet to its destination
//! annotation.
//!
//! What comes in is emitted: a packet for each datagram, or for as many bytes of a stream as there are at a time. What arrives at
//! the input is sent; if it is pushed, the graph waits until it is sent. An error ends the connection, but where each datagram
//! goes to its destination annotation only that datagram is lost. Datagrams without a byte are neither sent nor received.
//!
//! ```click
//! // Whoever is allowed to may have its datagrams returned.
//! allow :: RadixIPLookup(127.0.0.0/8 0);
//! deny :: RadixIPLookup(0.0.0.0/0 0);
//! Idle -> allow -> deny -> Discard;
//! echo :: Socket(UDP, 0.0.0.0, 7000, ALLOW allow, DENY deny) -> Queue -> echo;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Transport, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<SocketElement>("Socket", "0-1/0-1", "a/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

/// See the page above.
pub struct SocketElement(Transport);

impl Element for SocketElement {
    fn configure(conf: &mut Configure<'_>) -> Result<SocketElement, Failed> {
        Transport::configure(conf).map(SocketElement)
    }

    methods!();
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, in_namespace, run_until, Scratch};
    use expect_test::expect;
    use std::cell::RefCell;
    use std::io::{ErrorKind, Read, Write};
    use std::net::UdpSocket;
    use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

    #[test]
    fn a_client_sends_bytes_to_a_server() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        for input in ["", "Queue -> "] {
            let config = format!(
                "Socket(UNIX, {path}, SNAPLEN 10) -> c :: Counter -> Print -> Discard;
                 InfiniteSource(DATA 0123456789abcde, LIMIT 2) -> {input} Socket(UNIX, {path});"
            );
            let told = run_until(&config, &["c.byte_count"], has_reached("c.byte_count", 30));
            assert!(told.ends_with("c.byte_count: 30\n"), "{told}");
            assert!(!std::path::Path::new(&path).exists(), "the file is removed in the end");
        }
    }

    #[test]
    fn a_server_answers_whom_the_last_datagram_came_from() {
        let scratch = Scratch::new();
        let (path, own) = (scratch.path("server"), scratch.path("client"));
        let config = format!(
            "server :: Socket(UNIX_DGRAM, {path}, SNAPLEN 4) -> Print(server) -> Queue -> server;
             InfiniteSource(DATA abcdef, LIMIT 2) -> Queue -> client :: Socket(UNIX_DGRAM, {path}, {own}, CLIENT true)
             -> Print(client) -> c :: Counter -> Discard;"
        );
        let told = run_until(&config, &["c.count"], has_reached("c.count", 2));
        expect![[r#"
            server:    4 | 61626364
            server:    4 | 61626364
            client:    4 | 61626364
            client:    4 | 61626364
            c.count: 2
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn one_connection_follows_the_other() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        let config = format!("s :: Socket(UNIX, {path}) -> Print -> c :: Counter -> Queue -> s;");
        let clients = RefCell::new(Vec::new());
        let (mut has_one, mut has_both) = (has_reached("c.count", 1), has_reached("c.count", 2));
        run_until(&config, &["c.count"], |world| {
            let mut clients = clients.borrow_mut();
            if clients.is_empty() {
                for text in ["one", "two"] {
                    let mut client = UnixStream::connect(&path).unwrap();
                    client.write_all(text.as_bytes()).unwrap();
                    client.set_nonblocking(true).unwrap();
                    clients.push(client);
                }
            }
            let mut answer = [0; 10];
            if clients.len() == 2 && has_one(world) {
                if let Ok(n) = clients[0].read(&mut answer) {
                    assert_eq!(&answer[..n], b"one");
                    clients.remove(0);
                }
            }
            match clients[0].read(&mut answer) {
                Ok(n) if clients.len() == 1 => {
                    assert_eq!(&answer[..n], b"two");
                    has_both(world)
                }
                Ok(_) => false,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    false
                }
            }
        });
        assert_eq!(clients.borrow().len(), 1, "the second was served too");
    }

    #[test]
    fn packets_wait_for_a_slow_reader_and_arrive_whole() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let config = format!(
            "InfiniteSource(LENGTH 10007, LIMIT 300) -> q :: Queue -> c :: Counter -> Socket(UNIX, {path}, VERBOSE true);"
        );
        let received = RefCell::new(Vec::new());
        let mut client = None;
        let mut n_rounds_behind = 0;
        run_until(&config, &[], |_| {
            let Some(client) = &mut client else {
                client = listener.accept().ok().map(|(client, _)| client);
                return false;
            };
            // The socket is full by then.
            n_rounds_behind += 1;
            if n_rounds_behind > 50 {
                let mut buf = vec![0; 100_000];
                client.set_nonblocking(true).unwrap();
                if let Ok(n) = client.read(&mut buf) {
                    received.borrow_mut().extend_from_slice(&buf[..n]);
                }
            }
            received.borrow().len() == 300 * 10007
        });
        let received = received.into_inner();
        assert_eq!(received.len(), 300 * 10007);
        let first = &received[..10007];
        assert!(received.chunks(10007).all(|chunk| chunk == first));
    }

    #[test]
    fn a_closed_connection_is_told_and_later_packets_are_dropped() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let config = format!(
            "RatedSource(LENGTH 10, RATE 1000, LIMIT 20, STOP true) -> c :: Counter -> s :: Socket(UNIX, {path}, VERBOSE true);"
        );
        let mut is_closed = false;
        let mut has_some = has_reached("c.count", 5);
        let mut has_all = has_reached("c.count", 20);
        let told = run_until(&config, &["c.count"], |world| {
            if !is_closed && has_some(world) {
                drop(listener.accept().unwrap());
                is_closed = true;
            }
            has_all(world)
        });
        assert!(told.contains("s :: Socket: Broken pipe\ns :: Socket: closed connection "), "{told}");
    }

    #[test]
    fn empty_datagrams_are_nothing() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        let config = format!("Socket(UNIX_DGRAM, {path}, VERBOSE true) -> Print -> c :: Counter -> Discard;");
        let mut client = None;
        let told = {
            let mut has_one = has_reached("c.count", 1);
            run_until(&config, &["c.count"], |world| {
                client.get_or_insert_with(|| {
                    let client = UnixDatagram::unbound().unwrap();
                    client.send_to(b"", &path).unwrap();
                    client.send_to(b"x", &path).unwrap();
                    client
                });
                has_one(world)
            })
        };
        assert_eq!(told, "   1 | 78\nc.count: 1\n");
    }

    #[test]
    fn servers_hear_whom_the_tables_let_in() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            let config = "al :: RadixIPLookup(127.0.0.2 0); de :: StaticIPLookup(127.0.0.0/8 0);
                Idle -> al -> de -> Discard;
                s :: Socket(UDP, 0.0.0.0, 7000, ALLOW al, DENY de, VERBOSE true) -> Print -> c :: Counter -> Discard;";
            let mut sockets = Vec::new();
            let mut has_one = has_reached("c.count", 1);
            let told = run_until(config, &["c.count"], |world| {
                if sockets.is_empty() {
                    for host in ["127.0.0.1", "127.0.0.2"] {
                        let socket = UdpSocket::bind((host, 5000)).unwrap();
                        socket.send_to(host.as_bytes(), "127.0.0.1:7000").unwrap();
                        sockets.push(socket);
                    }
                }
                has_one(world)
            });
            expect![[r#"
                s :: Socket: dropped datagram from 127.0.0.1:5000
                   9 | 3132372e 302e302e 32
                c.count: 1
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn a_client_of_no_address_sends_to_the_destination_annotation() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            // Nobody may send to all hosts without saying so; the others are sent all the same.
            let config = "InfiniteSource(DATA x, LIMIT 1) -> SetIPAddress(255.255.255.255) -> q :: Queue -> Socket(UDP, 0.0.0.0, 7000);
                InfiniteSource(DATA abc, LIMIT 2) -> SetIPAddress(127.0.0.3) -> q;
                Socket(UDP, 127.0.0.3, 7000) -> Print -> c :: Counter -> Discard;";
            let told = run_until(config, &["c.count"], has_reached("c.count", 2));
            assert_eq!(told, "   3 | 616263\n   3 | 616263\nc.count: 2\n");
        });
    }

    #[test]
    fn bytes_pass_over_tcp_both_ways() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            let config = "server :: Socket(TCP, 127.0.0.1, 7000) -> Queue -> server;
                InfiniteSource(LENGTH 100, LIMIT 500) -> Queue
                -> client :: Socket(TCP, 127.0.0.1, 7000, 127.0.0.1, 7001, CLIENT true, NODELAY 0, SNDBUF 5000, RCVBUF 5000)
                -> c :: Counter -> Discard;";
            let told = run_until(config, &["c.byte_count"], has_reached("c.byte_count", 50_000));
            assert_eq!(told, "c.byte_count: 50000\n");
        });
    }

    #[test]
    fn refusals_are_told() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            check(
                "Idle -> Socket(TCP, 127.0.0.1, 9)",
                expect![[r#"
                config:1: While initializing 'Socket@2 :: Socket':
                  connect: Connection refused
                Router could not be initialized!
            "#]],
            );
            check(
                "Socket(UDP, 127.0.0.1, 7, SNAPLEN 9) -> Discard; Socket(UDP, 127.0.0.1, 7) -> Discard",
                expect![[r#"
                config:1: While initializing 'Socket@3 :: Socket':
                  bind: Address already in use
                Router could not be initialized!
            "#]],
            );
            check(
                "Socket(TCP, 9.9.9.9, 7) -> Discard",
                expect![[r#"
                config:1: While initializing 'Socket@1 :: Socket':
                  bind: Cannot assign requested address
                Router could not be initialized!
            "#]],
            );
        });
        check(
            "Socket(UNIX, /nonexistent/socket) -> Discard",
            expect![[r#"
            config:1: While initializing 'Socket@1 :: Socket':
              bind: No such file or directory
            Router could not be initialized!
        "#]],
        );
        check(
            "Idle -> Socket(UNIX, /nonexistent/socket)",
            expect![[r#"
            config:1: While initializing 'Socket@2 :: Socket':
              connect: No such file or directory
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let long = "x".repeat(120);
        check(
            &format!(
                "d :: Discard; Socket(FOO, 1) -> d; Socket(TCP, 1.2.3.4, SNAPLEN x, VERBOSE y) -> d; Socket(TCP, x, y) -> d;
                 Socket(UDP, 1.2.3.4, 5, DENY d) -> d; Socket(UDP, 1.2.3.4, 5, ALLOW e) -> d; Socket(UNIX, {long}) -> d;
                 Socket(TYPE UDP, 1.2.3.4) -> d; Socket(TYPE UDP, SNAPLEN 9, 1.2.3.4, 5, 0.0.0.0, 6, 7) -> d"
            ),
            expect![[r#"
                config:1: While configuring 'Socket@2 :: Socket':
                  unknown socket type `FOO'
                config:1: While configuring 'Socket@3 :: Socket':
                  SNAPLEN: invalid number
                config:1: While configuring 'Socket@4 :: Socket':
                  ADDR: parse error
                  PORT: parse error
                config:2: While configuring 'Socket@5 :: Socket':
                  d is not an IPRouteTable
                config:2: While configuring 'Socket@6 :: Socket':
                  ALLOW: does not name an element
                config:2: While configuring 'Socket@7 :: Socket':
                  remote filename 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' too long
                config:3: While configuring 'Socket@8 :: Socket':
                  PORT: required argument missing
                config:3: While configuring 'Socket@9 :: Socket':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
        check(
            "FromSocket(TCP) -> Discard; Idle -> ToSocket(TCP, 1.2.3.4, 5, 6.7.8.9, 10, 11)",
            expect![[r#"
            config:1: While configuring 'FromSocket@1 :: FromSocket':
              ADDR: required argument missing
              PORT: required argument missing
            config:1: While configuring 'ToSocket@4 :: ToSocket':
              too many arguments
            Router could not be initialized!
        "#]],
        );
    }
}
