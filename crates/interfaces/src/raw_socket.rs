//! Exchanges whole IPv4 packets of one protocol with the network.
//!
//! Copies of all packets of protocol TYPE that reach this host are emitted, their IP headers marked; the system has them as well.
//! What arrives at the input, packets that begin with an IP header, is sent as it is to the destination in that header. With a
//! PORT, no other program can have that TCP or UDP port, and the system does not answer packets for a UDP port with an error.
//! Only privileged users may open such sockets.
//!
//! ```click
//! // Answers pings, as the system does.
//! raw :: RawSocket(ICMP) -> ICMPPingResponder -> Queue -> raw;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::raw_transport::{RawTransport, ARGS, DROPS, HANDLERS};
use crate::transport::methods;

/// The class.
pub const CLASS: Class = Class::new::<RawSocket>("RawSocket", "0-1/0-1", "l/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

/// See the page above.
pub struct RawSocket(RawTransport);

impl Element for RawSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<RawSocket, Failed> {
        RawTransport::configure(conf).map(RawSocket)
    }

    methods!();
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, has_reached, in_namespace, run_until};
    use expect_test::expect;

    #[test]
    fn packets_are_sent_as_they_are_and_received_with_their_headers_marked() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            let config = "ICMPPingSource(127.0.0.1, 127.0.0.2, INTERVAL 0.001, LIMIT 3) -> Queue -> to :: RawSocket(1);
                RawSocket(1, SNAPLEN 60) -> c :: IPClassifier(icmp type echo) -> IPPrint(TIMESTAMP false) -> n :: Counter -> Discard;";
            let told = run_until(config, &["n.count"], has_reached("n.count", 3));
            expect![[r#"
                127.0.0.1 > 127.0.0.2: icmp echo (0, 1)
                127.0.0.1 > 127.0.0.2: icmp echo (0, 2)
                127.0.0.1 > 127.0.0.2: icmp echo (0, 3)
                n.count: 3
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn what_cannot_be_sent_is_told_and_the_rest_goes_on() {
        in_namespace(|| {
            sys::link::set_up("lo", true).unwrap();
            let config = "InfiniteSource(LENGTH 10, LIMIT 1) -> q :: Queue -> RawSocket(254);
                InfiniteSource(DATA \\<45000015 00010000 40FE0000 09090909 09090909 01>, LIMIT 1) -> q;
                InfiniteSource(DATA \\<45000015 00010000 40FE0000 7f000001 7f000001 02>, LIMIT 1) -> q;
                RawSocket(254) -> Print -> c :: Counter -> Discard;";
            let told = run_until(config, &["c.count"], has_reached("c.count", 1));
            expect![[r#"
                runt IP packet (10 bytes)
                sendto: Network is unreachable
                  21 | 45000015 00010000 40fe7be8 7f000001 7f000001 02
                c.count: 1
            "#]]
            .assert_eq(&told);
        });
    }

    #[test]
    fn a_port_is_kept_from_others() {
        in_namespace(|| {
            for protocol in [6, 17] {
                let config =
                    format!("RawSocket({protocol}, 4321) -> Discard; RawSocket({protocol}, 4321) -> Discard");
                assert_eq!(
                    run_until(&config, &[], |_| true),
                    "config:1: While initializing 'RawSocket@3 :: RawSocket':\n  \
                     Bind for planetlab port registration failed: Address already in use\n\
                     Router could not be initialized!\n"
                );
            }
        });
    }

    #[test]
    fn one_that_is_pushed_to_has_a_task_as_well() {
        in_namespace(|| {
            assert_eq!(
                run_until("Idle -> r :: FromRawSocket(254)", &["r.scheduled", "r.tickets"], |_| true),
                "warning: FromRawSocket is deprecated, use RawSocket instead\nr.scheduled: true\nr.tickets: 1024\n"
            );
        });
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "FromRawSocket(FOO) -> Discard; Idle -> ToRawSocket(6, foo); RawSocket(47, 70000, SNAPLEN x) -> Discard",
            expect![[r#"
                config:1: While configuring 'FromRawSocket@1 :: FromRawSocket':
                  TYPE: invalid number
                config:1: While configuring 'ToRawSocket@4 :: ToRawSocket':
                  PORT: parse error
                config:1: While configuring 'RawSocket@5 :: RawSocket':
                  PORT: out of range, bound 65535
                  SNAPLEN: invalid number
                Router could not be initialized!
            "#]],
        );
    }
}
