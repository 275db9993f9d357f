//! Overwrites the payloads of IPv4 packets with zeros.
//!
//! What is behind the TCP or UDP header becomes zeros, and so does the checksum; lengths stay. ICMP packets pass as they are.
//! Packets of other protocols, and those without a marked IPv4 header, are dropped: what in them is payload is not known.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> EraseIPPayload -> ToDump(out.pcap);
//! ```

use element::{offload, per_packet, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict};
use wire::protocol;

/// The class.
pub const CLASS: Class =
    Class::new::<EraseIPPayload>("EraseIPPayload", "1/1", "a/a", "x/x").causes(Causes::NOTHING).drops(DROPS);

const UNKNOWN: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("unknown-protocol", "The packet is none of TCP, UDP and ICMP.")];

/// See the page above.
pub struct EraseIPPayload;

impl Element for EraseIPPayload {
    fn configure(conf: &mut Configure<'_>) -> Result<EraseIPPayload, Failed> {
        conf.finish()?;
        Ok(EraseIPPayload)
    }

    per_packet!();
}

impl EraseIPPayload {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let (header_len, checksum_at) = match packet.network().get(9).copied() {
            Some(protocol::TCP) => {
                (packet.transport().get(12).map_or(0, |byte| usize::from(byte >> 4) * 4), 16)
            }
            Some(protocol::UDP) => (8, 6),
            Some(protocol::ICMP) => return Verdict::PASS,
            _ => return Verdict::drop(UNKNOWN),
        };
        offload::settle(packet);
        let transport = packet.transport_mut();
        if let Some(payload) = transport.get_mut(header_len..) {
            payload.fill(0);
        }
        if let Some(field) = transport.get_mut(checksum_at..checksum_at + 2) {
            field.fill(0);
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn only_headers_are_left() {
        check(
            r#"FromIPSummaryDump(DATA "!data ip_src ip_proto payload
1.0.0.1 T \"secret\"
1.0.0.2 U \"secret\"
1.0.0.3 I \"secret\"
1.0.0.4 47 \"secret\"
", STOP true, CHECKSUM true) -> EraseIPPayload -> StripIPHeader -> Print(p, -1) -> Discard"#,
            expect![[r#"
                p:   26 | 00000000 00000000 00000000 50000000 00000000 00000000 0000
                p:   14 | 00000000 000e0000 00000000 0000
                p:    8 | 73652726 65740000
            "#]],
        );
    }
}
