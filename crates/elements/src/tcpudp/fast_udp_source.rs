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

use args::Port;
use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet};

use super::fast_source::{checked_len, fast_handlers, udp_template, write_udp, Ends, Pace};

/// The class.
pub const CLASS: Class =
    Class::new::<FastUDPSource>("FastUDPSource", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("RATE", "unsigned", "Packets per second; 0 is no limit."),
    Arg::required("LIMIT", "int", "Most packets to make; negative is no limit."),
    Arg::required("LENGTH", "unsigned", "Bytes of a packet, at least 60."),
    Arg::required("SRCETH", "Ethernet address", "Link-layer source."),
    Arg::required("SRCIP", "IP address", "Source address."),
    Arg::required("SPORT", "UDP port", "Source port."),
    Arg::required("DSTETH", "Ethernet address", "Link-layer destination."),
    Arg::required("DSTIP", "IP address", "Destination address."),
    Arg::required("DPORT", "UDP port", "Destination port."),
    Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
    Arg::optional("INTERVAL", "unsigned", "Packets with the same ports; 0 is no limit. Default 0."),
    Arg::optional("ACTIVE", "bool", "Whether packets are made. Default true."),
];

const HANDLERS: &[Handler] = fast_handlers![];

/// See the page above.
pub struct FastUDPSource {
    pace: Pace,
    datagram: Datagram,
    warning: Option<&'static str>,
}

/// The packet, and how it changes.
struct Datagram {
    packet: Packet,
    /// Sum of the segment but for its ports; `None` for no checksum.
    sum: Option<u64>,
    ports: [u16; 2],
    interval: u32,
    /// How far the ports have grown.
    growth: u16,
}

impl Element for FastUDPSource {
    fn configure(conf: &mut Configure<'_>) -> Result<FastUDPSource, Failed> {
        let mut pace = Pace::configure(conf);
        let len = conf.args.need("LENGTH");
        let ether_source = conf.args.need("SRCETH");
        let source = conf.args.need("SRCIP");
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let ether_destination = conf.args.need("DSTETH");
        let destination = conf.args.need("DSTIP");
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        let interval = conf.args.get_or("INTERVAL", 0);
        pace.configure_end(conf);
        conf.finish()?;
        let (len, warning) = checked_len(len)?;
        pace.tell(conf);
        let ends = Ends { ether_source, source, ether_destination, destination };
        let (packet, sum) = udp_template(&ends, len, has_checksum);
        let ports = [source_port, destination_port];
        let mut datagram = Datagram { packet, sum, ports, interval, growth: 0 };
        datagram.write_ports();
        Ok(FastUDPSource { pace, datagram, warning })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(warning) = self.warning {
            ctx.chatter(warning);
        }
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let datagram = &mut self.datagram;
        self.pace.pull(ctx, max, |_, pace| datagram.next(pace))
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.pace.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if self.pace.write(ctx, name, value)? {
            self.datagram.growth = 0;
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FastUDPSource>(ctx, old) else { return };
        self.pace.take_over(ctx, &old.pace);
        self.datagram.growth = old.datagram.growth;
        self.datagram.write_ports();
    }
}

impl Datagram {
    #[inline]
    fn next(&mut self, pace: &Pace) -> Option<Packet> {
        if pace.is_over() {
            return None;
        }
        let packet = self.packet.clone();
        if self.interval > 0 && pace.count().wrapping_add(1).is_multiple_of(self.interval) {
            self.growth = self.growth.wrapping_add(1);
            self.write_ports();
        }
        Some(packet)
    }

    fn write_ports(&mut self) {
        let [source, destination] = self.ports.map(|port| port.wrapping_add(self.growth).to_be_bytes());
        write_udp(&mut self.packet, source, destination, self.sum);
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
