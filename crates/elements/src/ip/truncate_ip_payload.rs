//! Shortens the payloads of IPv4 packets.
//!
//! Leaves LENGTH bytes behind the TCP, UDP or ICMP header, or behind the IPv4 header if TRANSPORT is false or the protocol is another
//! one. Lengths in headers stay as they are. Of a packet without a marked IPv4 header LENGTH bytes are left.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> TruncateIPPayload -> ToDump(headers.pcap);
//! ```

use element::{
    annotation, offload, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict,
};
use wire::{protocol, Icmp};

/// The class.
pub const CLASS: Class = Class::new::<TruncateIPPayload>("TruncateIPPayload", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS);

const ARGS: &[Arg] = &[
    Arg::optional("LENGTH", "0 to 65535", "Most bytes of payload that are left. Default 0."),
    Arg::optional(
        "TRANSPORT",
        "bool",
        "Whether the payload begins behind the transport header. Default true.",
    ),
    Arg::keyword("EXTRA_LENGTH", "bool", "Whether to add to the extra length annotation. Default true."),
];

/// See the page above.
pub struct TruncateIPPayload {
    payload_len: usize,
    keeps_transport: bool,
    adds_extra_length: bool,
}

impl Element for TruncateIPPayload {
    fn configure(conf: &mut Configure<'_>) -> Result<TruncateIPPayload, Failed> {
        let payload_len: u16 = conf.args.get_or("LENGTH", 0);
        let keeps_transport = conf.args.get_or("TRANSPORT", true);
        let adds_extra_length = conf.args.get_or("EXTRA_LENGTH", true);
        conf.finish()?;
        Ok(TruncateIPPayload { payload_len: payload_len.into(), keeps_transport, adds_extra_length })
    }

    per_packet!();
}

impl TruncateIPPayload {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let (present, headers) = match packet.network_offset() {
            Some(_) => (packet.network().len(), self.headers_len(packet)),
            None => (packet.len(), 0),
        };
        let n_removed = present.saturating_sub(headers + self.payload_len);
        if n_removed > 0 {
            offload::settle(packet);
            if self.adds_extra_length {
                let extra = packet.anno_u32(annotation::EXTRA_LENGTH);
                packet.set_anno_u32(annotation::EXTRA_LENGTH, extra.wrapping_add(n_removed as u32));
            }
            packet.take(n_removed);
        }
        Verdict::PASS
    }

    /// Bytes from the network header to the payload.
    #[inline(always)]
    fn headers_len(&self, packet: &Packet) -> usize {
        let network = packet.network();
        let header_len = network.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
        match network.get(9) {
            _ if header_len < 20 => 20,
            Some(protocol) if self.keeps_transport => {
                header_len + transport_header_len(*protocol, packet.transport())
            }
            _ => header_len,
        }
    }
}

#[inline(always)]
fn transport_header_len(protocol: u8, transport: &[u8]) -> usize {
    match protocol {
        protocol::TCP => transport.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4).max(20),
        protocol::UDP => 8,
        // As Click: no header is left of an ICMP message that is too short for one.
        protocol::ICMP if transport.len() < 8 => 0,
        protocol::ICMP => Icmp::header_len(transport.first().copied().unwrap_or(0)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::{expect, Expect};

    fn truncated(arguments: &str, expect: Expect) {
        let after = format!("TruncateIPPayload({arguments}) -> Print(p, 1, PRINTANNO true) -> Discard;");
        let source = r#"FromIPSummaryDump(DATA "!data ip_src ip_proto ip_len tcp_opt
1.0.0.1 T 100 mss1400
1.0.0.2 U 100 .
1.0.0.3 I 100 .
1.0.0.4 47 100 .
", STOP true, ZERO true)"#;
        check(&format!("{source} -> {after} InfiniteSource(DATA 12345, LIMIT 1) -> {after}"), expect);
    }

    #[test]
    fn payloads_end_where_they_shall() {
        truncated(
            "",
            expect![[r#"
            p:   44 | 000000000000000000000000000000000000000000000000000000003800000000000000000000000000000000000000 | 45
            p:    0 | 000000000000000000000000000000000000000000000000000000000500000000000000000000000000000000000000
            p:   28 | 000000000000000000000000000000000000000000000000000000004800000000000000000000000000000000000000 | 45
            p:   28 | 000000000000000000000000000000000000000000000000000000004800000000000000000000000000000000000000 | 45
            p:   20 | 000000000000000000000000000000000000000000000000000000005000000000000000000000000000000000000000 | 45
        "#]],
        );
        truncated(
            "3, false",
            expect![[r#"
            p:   23 | 000000000000000000000000000000000000000000000000000000004d00000000000000000000000000000000000000 | 45
            p:    3 | 000000000000000000000000000000000000000000000000000000000200000000000000000000000000000000000000 | 31
            p:   23 | 000000000000000000000000000000000000000000000000000000004d00000000000000000000000000000000000000 | 45
            p:   23 | 000000000000000000000000000000000000000000000000000000004d00000000000000000000000000000000000000 | 45
            p:   20 | 000000000000000000000000000000000000000000000000000000005000000000000000000000000000000000000000 | 45
        "#]],
        );
        truncated(
            "4, EXTRA_LENGTH false",
            expect![[r#"
            p:   44 | 000000000000000000000000000000000000000000000000000000003800000000000000000000000000000000000000 | 45
            p:    4 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 31
            p:   28 | 000000000000000000000000000000000000000000000000000000004800000000000000000000000000000000000000 | 45
            p:   28 | 000000000000000000000000000000000000000000000000000000004800000000000000000000000000000000000000 | 45
            p:   20 | 000000000000000000000000000000000000000000000000000000005000000000000000000000000000000000000000 | 45
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake(
            "TruncateIPPayload(65536, x)",
            expect!["LENGTH: out of range, bound 65535; TRANSPORT: parse error"],
        );
    }
}
