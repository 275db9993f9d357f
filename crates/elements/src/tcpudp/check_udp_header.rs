//! Checks UDP headers.
//!
//! Passes IPv4 packets whose UDP length and checksum are right, or that have no checksum; the IPv4 header must be marked.
//! Others leave by output 1 if there is one, else they are dropped; the first is told on standard error. A checksum that is left
//! to hardware to complete counts as right.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow udp) -> CheckUDPHeader(DETAILS true) -> Discard;
//! ```

use element::{offload, Causes, Class, Ctx, DropReason, Packet};
use wire::protocol;

use super::segment::Outer;
use crate::ip::payload_check::{Checker, Payload, ARGS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Checker<Udp>>("CheckUDPHeader", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const NOT_UDP: usize = 0;
const BAD_LENGTH: usize = 1;
const BAD_CHECKSUM: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("not-udp", "No IPv4 header is marked, or its protocol is not UDP."),
    DropReason::new("bad-length", "The UDP length is below 8 or above the packet's."),
    DropReason::new("bad-checksum", "The UDP checksum is wrong."),
];

/// A UDP header.
pub struct Udp;

impl Payload for Udp {
    const FAULTS: &'static [&'static str] = &["not UDP", "bad packet length", "bad UDP checksum"];

    #[inline(always)]
    fn check(packet: &Packet) -> Result<(), usize> {
        let outer = Outer::of(packet).filter(|ip| ip.protocol() == protocol::UDP).ok_or(NOT_UDP)?;
        let datagram = packet.transport();
        let header = datagram.first_chunk::<8>().ok_or(BAD_LENGTH)?;
        let len = u32::from(u16::from_be_bytes([header[4], header[5]]));
        if len < 8 || (packet.network().len() as u32) < len + outer.header_len() {
            return Err(BAD_LENGTH);
        }
        let has_checksum = header[6] != 0 || header[7] != 0;
        if has_checksum && !offload::is_trusted(packet) && !outer.is_valid(datagram, len) {
            return Err(BAD_CHECKSUM);
        }
        Ok(())
    }

    fn sentence(_ctx: &Ctx<'_>, fault: &str) -> String {
        format!("UDP header check failed: {fault}")
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn each_fault_is_counted_by_its_reason() {
        let udp = |protocol: &str, len: &str, sum: &str| {
            format!(
                "InfiniteSource(DATA \\<4500001e 00000000 40{protocol} 0000 01000001 02000002 \
                 00010002 00{len} {sum} 0304>, LIMIT 1, STOP true) -> m;"
            )
        };
        let packets = [
            udp("11", "0a", "f9cf"),
            udp("11", "0a", "0000"),
            udp("06", "0a", "f9cf"),
            udp("11", "07", "f9cf"),
            udp("11", "0b", "f9cf"),
            udp("11", "0a", "f9d0"),
        ];
        let graph = "m :: MarkIPHeader -> c :: CheckUDPHeader(DETAILS true) -> Print(ok) -> Discard; \
                     DriverManager(wait_stop, wait_stop, wait_stop, wait_stop, wait_stop, wait_stop)";
        check_reading(
            &format!("{graph}; {}", packets.concat()),
            &["c.drops", "c.drop_details"],
            expect![[r#"
            UDP header check failed: bad UDP checksum
            ok:   30 | 4500001e 00000000 40110000 01000001 02000002 00010002
            ok:   30 | 4500001e 00000000 40110000 01000001 02000002 00010002
            c.drops: 4
            c.drop_details: 1	not UDP
            2	bad packet length
            1	bad UDP checksum

        "#]],
        );
    }
}
