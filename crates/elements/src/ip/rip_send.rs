//! Sends a route by RIP, version 2, every 30 seconds (RFC 2453).
//!
//! The packets have IPv4 and UDP headers from SRC to DST. The route says that the PREFIX can be reached by SRC at a cost of METRIC.
//!
//! ```click
//! RIPSend(18.26.4.24, 18.26.4.255, 10.0.0.0/8, 10) -> EtherEncap(0x0800, 1:1:1:1:1:1, ff:ff:ff:ff:ff:ff) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::Prefix;
use element::{Arg, Class, Configure, Ctx, Element, Failed, Packet, TimerId};
use wire::{checksum, protocol};

/// The class.
pub const CLASS: Class = Class::new::<RIPSend>("RIPSend", "0/1", "h/h", "x/x").args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "address", "Source address, and that of the gateway."),
    Arg::required("DST", "address", "Destination address."),
    Arg::required("PREFIX", "prefix", "What can be reached."),
    Arg::required("METRIC", "int", "The cost."),
];

const NS_PER_S: i64 = 1_000_000_000;
const FIRST_AFTER_NS: i64 = 3 * NS_PER_S;
const INTERVAL_NS: i64 = 30 * NS_PER_S;
const LEN: usize = 20 + 8 + 24;
const UDP_LEN: u8 = 8 + 24;
const TTL: u8 = 200;
const PORT: u16 = 520;

/// See the page above.
pub struct RIPSend {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    prefix: Prefix,
    metric: i32,
}

impl Element for RIPSend {
    fn configure(conf: &mut Configure<'_>) -> Result<RIPSend, Failed> {
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        let prefix = conf.args.need("PREFIX");
        let metric = conf.args.need("METRIC");
        conf.finish()?;
        Ok(RIPSend { source, destination, prefix, metric })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, FIRST_AFTER_NS);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        ctx.emit_now(0, element::Batch::of(self.packet()));
        ctx.schedule_after(timer, INTERVAL_NS);
    }
}

impl RIPSend {
    fn packet(&self) -> Packet {
        let mut packet = Packet::zeroed(LEN);
        if let Some((ip, udp)) = packet.data_mut().split_first_chunk_mut::<20>() {
            [ip[0], ip[3], ip[8], ip[9]] = [0x45, LEN as u8, TTL, protocol::UDP];
            ip[12..16].copy_from_slice(&self.source.octets());
            ip[16..20].copy_from_slice(&self.destination.octets());
            let sum = !checksum::sum_20(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            self.fill_datagram(udp);
        }
        packet.set_network_header(0, 20);
        packet
    }

    fn fill_datagram(&self, udp: &mut [u8]) {
        let words = [
            u32::from(PORT) << 16 | u32::from(PORT),
            u32::from(UDP_LEN) << 16,
            // A response in version 2, and a route of the Internet's addresses.
            0x0202_0000,
            0x0002_0000,
            self.prefix.addr.to_bits(),
            self.prefix.mask.to_bits(),
            self.source.to_bits(),
            self.metric as u32,
        ];
        udp.copy_from_slice(words.map(u32::to_be_bytes).as_flattened());
        let pseudo = checksum::pseudo_ipv4(self.source, self.destination, protocol::UDP, u16::from(UDP_LEN));
        let sum = checksum::transport(pseudo, udp);
        udp[6..8].copy_from_slice(&sum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn a_route_is_sent_again_and_again() {
        check(
            "RIPSend(18.26.4.24, 18.26.4.255, 10.1.2.3/8, 10) -> Print(x, -1, TIMESTAMP true) -> CheckIPHeader
                -> CheckUDPHeader -> IPPrint -> Discard;
            Script(wait 40s, stop)",
            expect![[r#"
                x: 0.000000:   52 | 45000034 00000000 c811c56e 121a0418 121a04ff 02080208 0020ab0e 02020000 00020000 0a010203 ff000000 121a0418 0000000a
                0.000000: 18.26.4.24.520 > 18.26.4.255.520: udp 32
                x: 0.000000:   52 | 45000034 00000000 c811c56e 121a0418 121a04ff 02080208 0020ab0e 02020000 00020000 0a010203 ff000000 121a0418 0000000a
                0.000000: 18.26.4.24.520 > 18.26.4.255.520: udp 32
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "RIPSend(x, 1.0.0.1, 1.0.0.1, y) -> Discard; RIPSend -> Discard",
            expect![[r#"
            config:1: While configuring 'RIPSend@1 :: RIPSend':
              SRC: parse error
              PREFIX: parse error
              METRIC: invalid number
            config:1: While configuring 'RIPSend@3 :: RIPSend':
              SRC: required argument missing
              DST: required argument missing
              PREFIX: required argument missing
              METRIC: required argument missing
            Router could not be initialized!
        "#]],
        );
    }
}
