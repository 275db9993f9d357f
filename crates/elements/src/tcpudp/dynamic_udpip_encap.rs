//! Puts UDP and IPv4 headers in front of packets, with ports that change every so often.
//!
//! As `UDPIPEncap`, but with an INTERVAL other than 0 both ports grow by one after every INTERVAL packets.
//!
//! ```click
//! InfiniteSource(LIMIT 25) -> DynamicUDPIPEncap(1.0.0.1, 1234, 2.0.0.2, 1234, true, 10) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::Port;
use element::{per_packet, same, Arg, Class, Configure, Ctx, Element, Failed, Packet, Verdict};

use super::udp_ip_encap::UDPIPEncap;

/// The class.
pub const CLASS: Class = Class::new::<DynamicUDPIPEncap>("DynamicUDPIPEncap", "1/1", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "Source address."),
    Arg::required("SPORT", "UDP port", "First source port."),
    Arg::required("DST", "IP address", "Destination address."),
    Arg::required("DPORT", "UDP port", "First destination port."),
    Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
    Arg::optional("INTERVAL", "unsigned", "Packets with the same ports; 0 is no limit. Default 0."),
];

/// See the page above.
pub struct DynamicUDPIPEncap {
    encap: UDPIPEncap,
    interval: u32,
    /// Packets with these ports, if there is a limit to them.
    n_packets: u32,
    /// How far the ports are from those that were given.
    n_advances: u16,
}

impl Element for DynamicUDPIPEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<DynamicUDPIPEncap, Failed> {
        let source: Ipv4Addr = conf.args.need("SRC");
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let destination: Ipv4Addr = conf.args.need("DST");
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        let interval = conf.args.get_or("INTERVAL", 0);
        conf.finish()?;
        let (from, to) = ((source, source_port), (Some(destination), destination_port));
        let encap = UDPIPEncap::new(from, to, has_checksum);
        Ok(DynamicUDPIPEncap { encap, interval, n_packets: 0, n_advances: 0 })
    }

    per_packet!();

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DynamicUDPIPEncap>(ctx, old) else { return };
        self.encap.take_over(&old.encap);
        (self.n_packets, self.n_advances) = (old.n_packets, old.n_advances);
        if self.interval > 0 {
            self.n_packets %= self.interval;
            (0..self.n_advances).for_each(|_| self.encap.advance_ports());
        }
    }
}

impl DynamicUDPIPEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let verdict = self.encap.process(packet);
        if self.interval > 0 {
            self.n_packets += 1;
            if self.n_packets == self.interval {
                self.n_packets = 0;
                self.encap.advance_ports();
                self.n_advances = self.n_advances.wrapping_add(1);
            }
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn ports_grow_after_every_interval() {
        check(
            "InfiniteSource(DATA abc, LIMIT 5, STOP true) -> DynamicUDPIPEncap(1.0.0.1, 65535, 2.0.0.2, domain, true, 2)
                 -> CheckIPHeader -> CheckUDPHeader -> Print(p, -1) -> Discard",
            expect![[r#"
                p:   31 | 4500001f 00000000 fa11bdcb 01000001 02000002 ffff0035 000b383e 616263
                p:   31 | 4500001f 00010000 fa11bdca 01000001 02000002 ffff0035 000b383e 616263
                p:   31 | 4500001f 00020000 fa11bdc9 01000001 02000002 00000036 000b383d 616263
                p:   31 | 4500001f 00030000 fa11bdc8 01000001 02000002 00000036 000b383d 616263
                p:   31 | 4500001f 00040000 fa11bdc7 01000001 02000002 00010037 000b383b 616263
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake("DynamicUDPIPEncap(1.0.0.1, 2, DST_ANNO, 99999, x, y)", expect!["DST: parse error; DPORT: overflow, range 0-65535; CHECKSUM: parse error; INTERVAL: invalid number"]);
    }
}
