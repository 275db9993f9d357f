//! Makes the same UDP packet again and again, for measurements.
//!
//! Gives up to LIMIT packets of LENGTH bytes with Ethernet, IPv4 and UDP headers, RATE per second, or with a RATE of 0 as many as are
//! pulled. With an INTERVAL other than 0 both ports grow by one after every INTERVAL packets.
//!
//! When LIMIT packets are made, the `rate` handler gives the packets per second between the first and the last.
//!
//! ```click
//! FastUDPSource(100000, 500000, 60, 0:0:0:0:0:0, 1.0.0.1, 1234, 1:1:1:1:1:1, 2.0.0.2, 1234)
//!     -> Unqueue -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::{Arg, Class, Handler, Packet};

use super::fast_source::{fast_handlers, udp_template, write_udp, Ends};
use super::fast_udp::{args, FastUdp, Version};

/// The class.
pub const CLASS: Class =
    Class::new::<FastUdp<Ip4>>("FastUDPSource", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &args(Ip4::SOURCE, Ip4::DESTINATION, "IP address");

const HANDLERS: &[Handler] = fast_handlers![];

/// IPv4.
pub struct Ip4;

impl Version for Ip4 {
    type Address = Ipv4Addr;
    const SOURCE: &'static str = "SRCIP";
    const DESTINATION: &'static str = "DSTIP";

    fn template(ends: &Ends, len: u32, has_checksum: bool) -> (Packet, Option<u64>) {
        udp_template(ends, len, has_checksum)
    }

    fn write_ports(packet: &mut Packet, source: [u8; 2], destination: [u8; 2], sum: Option<u64>) {
        write_udp(packet, source, destination, sum);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_ports_of_ready_made_packets_grow() {
        check_reading(
            "s :: FastUDPSource(0, 5, 59, 0:0:0:0:0:1, 1.0.0.1, 65534, 1:1:1:1:1:2, 2.0.0.2, domain, true, 2)
                 -> Unqueue -> Print(p, 44) -> CheckIPHeader(14) -> CheckUDPHeader -> Print(ok, 1) -> Discard",
            &["s.count", "s.rate"],
            expect![[r#"
                warning: packet length < 60, defaulting to 60
                p:   60 | 01010101 01020000 00000001 08004500 002e0000 0000fa11 bdbc0100 00010200 0002fffe 0035001a fc830000
                ok:   60 | 01
                p:   60 | 01010101 01020000 00000001 08004500 002e0000 0000fa11 bdbc0100 00010200 0002fffe 0035001a fc830000
                ok:   60 | 01
                p:   60 | 01010101 01020000 00000001 08004500 002e0000 0000fa11 bdbc0100 00010200 0002ffff 0036001a fc810000
                ok:   60 | 01
                p:   60 | 01010101 01020000 00000001 08004500 002e0000 0000fa11 bdbc0100 00010200 0002ffff 0036001a fc810000
                ok:   60 | 01
                p:   60 | 01010101 01020000 00000001 08004500 002e0000 0000fa11 bdbc0100 00010200 00020000 0037001a fc800000
                ok:   60 | 01
                s.count: 5
                s.rate: 5000
            "#]],
        );
    }

    #[test]
    fn packets_come_at_the_rate() {
        check_reading(
            "s :: FastUDPSource(100, 50, 60, 0:0:0:0:0:1, 1.0.0.1, 1, 1:1:1:1:1:2, 2.0.0.2, 2, false)
                 -> TimedSink(1ms);
             Script(wait 0.3s, read s.count, read s.rate, wait 0.3s, read s.count, read s.rate, write s.reset, wait 1s,
                 write s.rate x, write s.rate 4096000001, write s.limit x, write s.active 7, stop)",
            &["s.count", "s.rate"],
            expect![[r#"
                s.count:
                31
                s.rate:
                0
                s.count:
                50
                s.rate:
                102
                While executing 'Script@3 :: Script':
                  While calling 's.rate x':
                    rate parameter must be integer >= 0
                  While calling 's.rate 4096000001':
                    rate too large; max is 4096000000
                  While calling 's.limit x':
                    limit parameter must be integer >= 0
                  While calling 's.active 7':
                    active parameter must be boolean
                s.count: 50
                s.rate: 102
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let told = crate::testing::run(
            "FastUDPSource(x, y, 60, 0:0:0:0:0:1, 1.0.0.1, 1, 1:1:1:1:1:2, 2.0.0.2, 2) -> Discard;
             FastUDPSource(4096000001, 1, 10000000, 0:0:0:0:0:1, 1.0.0.1, 1, 1:1:1:1:1:2, 2.0.0.2, 2) -> Discard;
             FastUDPSource(4096000001, 1, 60, 0:0:0:0:0:1, 1.0.0.1, 1, 1:1:1:1:1:2, 2.0.0.2, 2) -> Discard",
            &[],
        );
        expect![[r#"
            config:1: While configuring 'FastUDPSource@1 :: FastUDPSource':
              RATE: invalid number
              LIMIT: invalid number
            config:2: While configuring 'FastUDPSource@3 :: FastUDPSource':
              packet length too large; max is 1048576
            config:3: While configuring 'FastUDPSource@5 :: FastUDPSource':
              rate too large; lowered to 4096000000
            Router could not be initialized!
        "#]]
        .assert_eq(&told);
    }
}
