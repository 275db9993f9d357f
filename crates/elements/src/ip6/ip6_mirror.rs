//! Swaps source and destination of IPv6 packets.
//!
//! Swaps the addresses, and the ports where TCP or UDP follows the header. Checksums stay right, since sums do not depend on the
//! order. A packet without a marked IPv6 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> IP6Mirror -> Discard;
//! ```

use element::{offload, per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};
use wire::{protocol, Ipv6};

/// The class.
pub const CLASS: Class = Class::new::<IP6Mirror>("IP6Mirror", "1/1", "a/a", "x/x").causes(Causes::NOTHING);

/// See the page above.
pub struct IP6Mirror;

impl Element for IP6Mirror {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6Mirror, Failed> {
        conf.finish()?;
        Ok(IP6Mirror)
    }

    per_packet!();
}

impl IP6Mirror {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle_before(packet, packet.network_offset().unwrap_or(0).max(0) as usize + Ipv6::LEN);
        let Some(header) = packet.network_mut().first_chunk_mut::<{ Ipv6::LEN }>() else {
            return Verdict::PASS;
        };
        let (before, destination) = header.split_at_mut(24);
        before[8..].swap_with_slice(destination);
        if matches!(header[6], protocol::TCP | protocol::UDP) {
            if let Some([a, b, c, d, ..]) = packet.transport_mut().first_chunk_mut::<8>() {
                std::mem::swap(a, c);
                std::mem::swap(b, d);
            }
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn addresses_are_swapped_and_so_are_ports() {
        let source = |next: &str, rest: &str| {
            let (from, to) = ("20010db8000000000000000000000001", "20010db8000000000000000000000002");
            format!("InfiniteSource(DATA \\<60000000 0008{next}40 {from} {to} {rest}>, LIMIT 1, STOP true) -> MarkIP6Header -> t;")
        };
        let sources = [
            source("11", "00010002 00080000"),
            source("06", "00010002 00000000"),
            source("06", "00010002 000000"),
            source("3a", "00010002 00000000"),
        ];
        check(
            &format!(
                "t :: IP6Mirror -> Print(x, 48) -> Discard; {} DriverManager(wait_stop 4)",
                sources.concat()
            ),
            expect![[r#"
                x:   48 | 60000000 00081140 20010db8 00000000 00000000 00000002 20010db8 00000000 00000000 00000001 00020001 00080000
                x:   48 | 60000000 00080640 20010db8 00000000 00000000 00000002 20010db8 00000000 00000000 00000001 00020001 00000000
                x:   47 | 60000000 00080640 20010db8 00000000 00000000 00000002 20010db8 00000000 00000000 00000001 00010002 000000
                x:   48 | 60000000 00083a40 20010db8 00000000 00000000 00000002 20010db8 00000000 00000000 00000001 00010002 00000000
            "#]],
        );
    }
}
