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

use element::{annotation, Arg, Class, Handler, Packet};
use wire::{checksum, protocol};

use super::fast_source::{fast_handlers, Ends};
use super::fast_udp::{args, FastUdp, Version};

/// The class.
pub const CLASS: Class =
    Class::new::<FastUdp<Ip6>>("FastUDPSourceIP6", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &args(Ip6::SOURCE, Ip6::DESTINATION, "IPv6 address");

const HANDLERS: &[Handler] = fast_handlers![];

/// Where the IPv6 header begins, and where the UDP header does.
const IP_AT: usize = 14;
const UDP_AT: usize = IP_AT + IP_HEADER;
const IP_HEADER: usize = 40;
const HOP_LIMIT: u8 = 250;

/// IPv6.
pub struct Ip6;

impl Version for Ip6 {
    type Address = Ipv6Addr;
    const SOURCE: &'static str = "SRCIP6";
    const DESTINATION: &'static str = "DSTIP6";

    fn template(ends: &Ends<Ipv6Addr>, len: u32, has_checksum: bool) -> (Packet, Option<u64>) {
        let mut packet = Packet::zeroed(len as usize);
        let udp_len = packet.len().saturating_sub(UDP_AT) as u16;
        let mut headers = [0; UDP_AT + 8];
        headers[..6].copy_from_slice(&ends.ether_destination.0);
        headers[6..12].copy_from_slice(&ends.ether_source.0);
        headers[12..14].copy_from_slice(&[0x86, 0xdd]);
        headers[IP_AT] = 0x60;
        headers[IP_AT + 4..IP_AT + 6].copy_from_slice(&udp_len.to_be_bytes());
        [headers[IP_AT + 6], headers[IP_AT + 7]] = [protocol::UDP, HOP_LIMIT];
        headers[IP_AT + 8..IP_AT + 24].copy_from_slice(&ends.source.octets());
        headers[IP_AT + 24..UDP_AT].copy_from_slice(&ends.destination.octets());
        headers[UDP_AT + 4..UDP_AT + 6].copy_from_slice(&udp_len.to_be_bytes());
        packet.data_mut().iter_mut().zip(headers).for_each(|(place, byte)| *place = byte);
        packet.set_network_header(IP_AT, IP_HEADER);
        packet.set_anno(annotation::DST_IP6, ends.destination.octets());
        let pseudo = checksum::pseudo_ipv6(ends.source, ends.destination, protocol::UDP, u32::from(udp_len));
        let sum = u64::from(pseudo) + u64::from(udp_len);
        (packet, has_checksum.then_some(sum))
    }

    fn write_ports(packet: &mut Packet, source: [u8; 2], destination: [u8; 2], sum: Option<u64>) {
        let udp = packet.data_mut().get_mut(UDP_AT..).unwrap_or_default();
        let ports = source.into_iter().chain(destination);
        udp.iter_mut().zip(ports).for_each(|(place, byte)| *place = byte);
        let Some(sum) = sum else { return };
        let ports = u64::from(u16::from_be_bytes(source)) + u64::from(u16::from_be_bytes(destination));
        let checksum = (!checksum::fold(sum + ports)).to_be_bytes();
        udp.iter_mut().skip(6).zip(checksum).for_each(|(place, byte)| *place = byte);
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
