//! Swaps source and destination.
//!
//! Swaps the IPv4 addresses, and in first fragments of TCP and UDP the ports, and in TCP the sequence and acknowledgment
//! numbers. Checksums stay right, since sums do not depend on the order. The destination annotation becomes the new destination
//! unless DST_ANNO is false. A packet without a marked IPv4 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPMirror -> Discard;
//! ```

use element::{offload, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};
use wire::protocol;

/// The class.
pub const CLASS: Class = Class::new::<IPMirror>("IPMirror", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS);

const ARGS: &[Arg] =
    &[Arg::optional("DST_ANNO", "bool", "Whether to set the destination annotation. Default true.")];

/// See the page above.
pub struct IPMirror {
    sets_annotation: bool,
}

impl Element for IPMirror {
    fn configure(conf: &mut Configure<'_>) -> Result<IPMirror, Failed> {
        let sets_annotation = conf.args.get_or("DST_ANNO", true);
        conf.finish()?;
        Ok(IPMirror { sets_annotation })
    }

    per_packet!();
}

impl IPMirror {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if packet.has_offload() && packet.network().get(9) == Some(&protocol::TCP) {
            // Segments would be numbered by what was the acknowledgement.
            offload::settle(packet);
        }
        let Some(header) = packet.network_mut().first_chunk_mut::<20>() else { return Verdict::PASS };
        let [.., a, b, c, d, _, _, _, _] = *header;
        // Eight bytes at once: the addresses lie beside each other.
        if let Some(addresses) = header.last_chunk_mut::<8>() {
            *addresses = u64::from_ne_bytes(*addresses).rotate_left(32).to_ne_bytes();
        }
        let protocol = header[9];
        let is_first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
        if is_first && matches!(protocol, protocol::TCP | protocol::UDP) {
            swap_transport(packet.transport_mut(), protocol);
        }
        if self.sets_annotation {
            packet.set_dst_ip([a, b, c, d].into());
        }
        Verdict::PASS
    }
}

#[inline(always)]
fn swap_transport(segment: &mut [u8], protocol: u8) {
    if segment.len() < 8 {
        return;
    }
    if let Some(ports) = segment.first_chunk_mut::<4>() {
        *ports = u32::from_ne_bytes(*ports).rotate_left(16).to_ne_bytes();
    }
    if protocol == protocol::TCP {
        if let Some([_, _, _, _, numbers @ ..]) = segment.first_chunk_mut::<12>() {
            *numbers = u64::from_ne_bytes(*numbers).rotate_left(32).to_ne_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(bytes: &[u8], expect: Expect) {
        let mut packet = Packet::from_bytes(bytes);
        packet.set_network_header(0, usize::from(bytes[0] & 15) * 4);
        IPMirror { sets_annotation: true }.process(&mut packet);
        let words: Vec<String> =
            packet.data()[12..].chunks(4).map(|w| w.iter().map(|b| format!("{b:02x}")).collect()).collect();
        expect.assert_eq(&format!("{} anno {}", words.join(" "), packet.dst_ip()));
    }

    fn packet(protocol: u8, offset: u8, rest: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, offset, 9, protocol, 0, 0, 1, 0, 0, 1, 2, 0, 0, 2];
        bytes.extend(rest);
        bytes
    }

    #[test]
    fn ports_and_numbers_are_swapped_where_they_are() {
        let rest = [0, 10, 0, 20, 1, 1, 1, 1, 2, 2, 2, 2];
        check(&packet(6, 0, &rest), expect!["02000002 01000001 0014000a 02020202 01010101 anno 1.0.0.1"]);
        check(&packet(17, 0, &rest), expect!["02000002 01000001 0014000a 01010101 02020202 anno 1.0.0.1"]);
        check(&packet(17, 1, &rest), expect!["02000002 01000001 000a0014 01010101 02020202 anno 1.0.0.1"]);
        check(&packet(1, 0, &rest), expect!["02000002 01000001 000a0014 01010101 02020202 anno 1.0.0.1"]);
        check(&packet(6, 0, &rest[..7]), expect!["02000002 01000001 000a0014 010101 anno 1.0.0.1"]);
    }
}
