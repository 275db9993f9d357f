//! Checks TCP headers.
//!
//! Passes IPv4 packets whose TCP header length and checksum are right; the IPv4 header must be marked. Others leave by
//! output 1 if there is one, else they are dropped; the first is told on standard error. A checksum that is left to hardware
//! to complete counts as right.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> CheckTCPHeader(DETAILS true) -> Discard;
//! ```

use element::{offload, Causes, Class, Ctx, DropReason, Packet};
use wire::protocol;

use super::segment::Outer;
use crate::ip::payload_check::{Checker, Payload, ARGS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Checker<Tcp>>("CheckTCPHeader", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const NOT_TCP: usize = 0;
const BAD_LENGTH: usize = 1;
const BAD_CHECKSUM: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("not-tcp", "No IPv4 header is marked, or its protocol is not TCP."),
    DropReason::new("bad-length", "The TCP header or the packet is too short."),
    DropReason::new("bad-checksum", "The TCP checksum is wrong."),
];

/// A TCP header.
pub struct Tcp;

impl Payload for Tcp {
    const FAULTS: &'static [&'static str] = &["not TCP", "bad packet length", "bad TCP checksum"];

    #[inline(always)]
    fn check(packet: &Packet) -> Result<(), usize> {
        let outer = Outer::of(packet).filter(|ip| ip.protocol() == protocol::TCP).ok_or(NOT_TCP)?;
        let segment = packet.transport();
        let header_len = segment.get(12).map_or(0, |byte| u32::from(byte >> 4) * 4);
        // A total length below the header's is found by the checksum, as in Click.
        let len = outer.total_len().wrapping_sub(outer.header_len());
        if header_len < 20 || len < header_len || (packet.network().len() as u32) < outer.total_len() {
            return Err(BAD_LENGTH);
        }
        if !offload::is_trusted(packet) && !outer.is_valid(segment, len) {
            return Err(BAD_CHECKSUM);
        }
        Ok(())
    }

    fn sentence(ctx: &Ctx<'_>, fault: &str) -> String {
        format!("{}: TCP header check failed: {fault}", ctx.own_declaration())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn each_fault_is_counted_by_its_reason() {
        let tcp = |protocol: &str, len: &str, offset: &str, sum: &str| {
            format!(
                "InfiniteSource(DATA \\<450000{len} 00000000 40{protocol} 0000 01000001 02000002 \
                 00010002 00000000 00000000 {offset}00 0000 {sum} 0000>, LIMIT 1, STOP true) -> m;"
            )
        };
        let packets = [
            tcp("06", "28", "50", "acdf"),
            tcp("11", "28", "50", "acdf"),
            tcp("06", "29", "50", "acdf"),
            tcp("06", "28", "40", "acdf"),
            tcp("06", "28", "60", "acdf"),
            tcp("06", "28", "50", "ace0"),
        ];
        let graph = "m :: MarkIPHeader -> c :: CheckTCPHeader(DETAILS true) -> Print(ok) -> Discard; \
                     DriverManager(wait_stop, wait_stop, wait_stop, wait_stop, wait_stop, wait_stop)";
        check_reading(
            &format!("{graph}; {}", packets.concat()),
            &["c.drops", "c.drop_details"],
            expect![[r#"
            ok:   40 | 45000028 00000000 40060000 01000001 02000002 00010002
            c :: CheckTCPHeader: TCP header check failed: not TCP
            c.drops: 5
            c.drop_details: 1	not TCP
            3	bad packet length
            1	bad TCP checksum

        "#]],
        );
    }
}
