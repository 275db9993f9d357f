//! Makes the same UDP packet in IPv6 again and again, for measurements.
//!
//! Gives up to LIMIT packets of LENGTH bytes with Ethernet, IPv6 and UDP headers, RATE per second, or with a RATE of 0 as many as are
//! pulled. With an INTERVAL other than 0 both ports grow by one after every INTERVAL packets. Packets of fewer than 62 bytes end
//! within the UDP header.
//!
//! When LIMIT packets are made, the `rate` handler gives the packets per second between the first and the last.
//!
//! ```click
//! FastUDPSourceIP6(100000, 500000, 64, 0:0:0:0:0:0, 3ffe::1, 1234, 1:1:1:1:1:1, 3ffe::2, 1234)
//!     -> Unqueue -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::{EtherAddr, Port};
use element::{annotation, same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet};
use wire::{checksum, protocol};

use super::fast_source::{checked_len, fast_handlers, Pace};

/// The class.
pub const CLASS: Class =
    Class::new::<FastUDPSourceIP6>("FastUDPSourceIP6", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("RATE", "unsigned", "Packets per second; 0 is no limit."),
    Arg::required("LIMIT", "int", "Most packets to make; negative is no limit."),
    Arg::required("LENGTH", "unsigned", "Bytes of a packet, at least 60."),
    Arg::required("SRCETH", "Ethernet address", "Link-layer source."),
    Arg::required("SRCIP6", "IPv6 address", "Source address."),
    Arg::required("SPORT", "UDP port", "Source port."),
    Arg::required("DSTETH", "Ethernet address", "Link-layer destination."),
    Arg::required("DSTIP6", "IPv6 address", "Destination address."),
    Arg::required("DPORT", "UDP port", "Destination port."),
    Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
    Arg::optional("INTERVAL", "unsigned", "Packets with the same ports; 0 is no limit. Default 0."),
    Arg::optional("ACTIVE", "bool", "Whether packets are made. Default true."),
];

const HANDLERS: &[Handler] = fast_handlers![];

/// Where the IPv6 header begins, and where the UDP header does.
const IP_AT: usize = 14;
const UDP_AT: usize = IP_AT + IP_HEADER;
const IP_HEADER: usize = 40;
const HOP_LIMIT: u8 = 250;

/// See the page above.
pub struct FastUDPSourceIP6 {
    pace: Pace,
    datagram: Datagram,
    warning: Option<&'static str>,
}

/// The packet, and how it changes.
struct Datagram {
    packet: Packet,
    /// Sum of the pseudo-header; `None` for no checksum.
    pseudo_sum: Option<u16>,
    ports: [u16; 2],
    interval: u32,
    /// How far the ports have grown.
    growth: u16,
}

impl Element for FastUDPSourceIP6 {
    fn configure(conf: &mut Configure<'_>) -> Result<FastUDPSourceIP6, Failed> {
        let mut pace = Pace::configure(conf);
        let len = conf.args.need("LENGTH");
        let ether_source: EtherAddr = conf.args.need("SRCETH");
        let source = conf.args.need("SRCIP6");
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let ether_destination: EtherAddr = conf.args.need("DSTETH");
        let destination = conf.args.need("DSTIP6");
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        let interval = conf.args.get_or("INTERVAL", 0);
        pace.configure_end(conf);
        conf.finish()?;
        let (len, warning) = checked_len(len)?;
        pace.tell(conf);
        let packet = template([ether_source, ether_destination], [source, destination], len as usize);
        let pseudo = checksum::pseudo_ipv6(source, destination, protocol::UDP, u32::from(udp_len(&packet)));
        let pseudo_sum = has_checksum.then_some(pseudo);
        let ports = [source_port, destination_port];
        let mut datagram = Datagram { packet, pseudo_sum, ports, interval, growth: 0 };
        datagram.write_ports();
        Ok(FastUDPSourceIP6 { pace, datagram, warning })
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
        let Some(old) = same::<FastUDPSourceIP6>(ctx, old) else { return };
        self.pace.take_over(ctx, &old.pace);
        self.datagram.growth = old.datagram.growth;
        self.datagram.write_ports();
    }
}

/// Bytes of the UDP datagram as 16 bits tell them.
fn udp_len(packet: &Packet) -> u16 {
    packet.len().saturating_sub(UDP_AT) as u16
}

/// A packet of `len` bytes with all but ports and checksum; addresses are source and destination.
fn template(ether: [EtherAddr; 2], addresses: [Ipv6Addr; 2], len: usize) -> Packet {
    let mut packet = Packet::zeroed(len);
    let udp_len = udp_len(&packet).to_be_bytes();
    let [source, destination] = addresses;
    let mut headers = [0; UDP_AT + 8];
    headers[..6].copy_from_slice(&ether[1].0);
    headers[6..12].copy_from_slice(&ether[0].0);
    headers[12..14].copy_from_slice(&[0x86, 0xdd]);
    headers[IP_AT] = 0x60;
    headers[IP_AT + 4..IP_AT + 6].copy_from_slice(&udp_len);
    [headers[IP_AT + 6], headers[IP_AT + 7]] = [protocol::UDP, HOP_LIMIT];
    headers[IP_AT + 8..IP_AT + 24].copy_from_slice(&source.octets());
    headers[IP_AT + 24..UDP_AT].copy_from_slice(&destination.octets());
    headers[UDP_AT + 4..UDP_AT + 6].copy_from_slice(&udp_len);
    packet.data_mut().iter_mut().zip(headers).for_each(|(place, byte)| *place = byte);
    packet.set_network_header(IP_AT, IP_HEADER);
    packet.set_anno(annotation::DST_IP6, destination.octets());
    packet
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
        let covered = usize::from(udp_len(&self.packet));
        let [source, destination] = self.ports.map(|port| port.wrapping_add(self.growth).to_be_bytes());
        let udp = self.packet.data_mut().get_mut(UDP_AT..).unwrap_or_default();
        let header = [source, destination].into_iter().flatten();
        udp.iter_mut().zip(header).for_each(|(place, byte)| *place = byte);
        let Some(pseudo_sum) = self.pseudo_sum else { return };
        udp.iter_mut().skip(6).take(2).for_each(|byte| *byte = 0);
        let sum = checksum::transport(pseudo_sum, udp.get(..covered).unwrap_or_default());
        udp.iter_mut().skip(6).zip(sum.to_be_bytes()).for_each(|(place, byte)| *place = byte);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_ports_of_ready_made_packets_grow() {
        check_reading(
            "s :: FastUDPSourceIP6(0, 5, 80, 0:0:0:0:0:1, 3ffe::1, 65534, 1:1:1:1:1:2, 3ff2::2, domain, true, 2)
                 -> Unqueue -> Print(p, 66, PRINTANNO true) -> CheckIP6Header(OFFSET 14) -> Print(ok, 1) -> Discard;
             s2 :: FastUDPSourceIP6(0, 1, 59, 0:0:0:0:0:1, 3ffe::1, 1, 1:1:1:1:1:2, 3ff2::2, 2) -> Unqueue -> Print(q, 80)
                 -> Discard;
             s3 :: FastUDPSourceIP6(0, 1, 63, 0:0:0:0:0:1, 3ffe::1, 1, 1:1:1:1:1:2, 3ff2::2, 2, false) -> Unqueue
                 -> Print(r, 80) -> Discard",
            &["s.count", "s.rate"],
            expect![[r#"
                warning: packet length < 60, defaulting to 60
                p:   80 | 3ff200000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 01010101 01020000 00000001 86dd6000 0000001a 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 0002fffe 0035001a 7f930000 0000
                ok:   80 | 01
                q:   60 | 01010101 01020000 00000001 86dd6000 00000006 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 00020001 00020006
                r:   63 | 01010101 01020000 00000001 86dd6000 00000009 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 00020001 00020009 000000
                p:   80 | 3ff200000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 01010101 01020000 00000001 86dd6000 0000001a 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 0002fffe 0035001a 7f930000 0000
                ok:   80 | 01
                p:   80 | 3ff200000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 01010101 01020000 00000001 86dd6000 0000001a 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 0002ffff 0036001a 7f910000 0000
                ok:   80 | 01
                p:   80 | 3ff200000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 01010101 01020000 00000001 86dd6000 0000001a 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 0002ffff 0036001a 7f910000 0000
                ok:   80 | 01
                p:   80 | 3ff200000000000000000000000000020000000000000000000000000000000000000000000000000000000000000000 | 01010101 01020000 00000001 86dd6000 0000001a 11fa3ffe 00000000 00000000 00000000 00013ff2 00000000 00000000 00000000 00020000 0037001a 7f900000 0000
                ok:   80 | 01
                s.count: 5
                s.rate: 5000
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let told = crate::testing::run(
            "FastUDPSourceIP6(x, y, 60, 0:0:0:0:0:1, 1.0.0.1, 1, 1:1:1:1:1:2, 3ff2::2, 2) -> Discard;
             FastUDPSourceIP6(4096000001, 1, 60, 0:0:0:0:0:1, 3ffe::1, 1, 1:1:1:1:1:2, 3ff2::2, 2) -> Discard",
            &[],
        );
        expect![[r#"
            config:1: While configuring 'FastUDPSourceIP6@1 :: FastUDPSourceIP6':
              RATE: invalid number
              LIMIT: invalid number
              SRCIP6: parse error
            config:2: While configuring 'FastUDPSourceIP6@3 :: FastUDPSourceIP6':
              rate too large; lowered to 4096000000
            Router could not be initialized!
        "#]]
        .assert_eq(&told);
    }
}
