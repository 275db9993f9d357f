//! Computes the TCP checksum.
//!
//! The IPv4 header must be marked and its total length right; the protocol is not looked at. Packets too short for it are
//! dropped, and told on standard error. With FIXOFF a header length that cannot be is corrected first. In a packet whose
//! checksum hardware will complete, the field gets what hardware expects: the sum of the pseudo-header.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow tcp) -> SetTCPChecksum -> Discard;
//! ```

use element::{
    offload, same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict,
};
use wire::checksum;

use super::segment::Outer;
use crate::ip::failures::{per_told_packet, Failures};

/// The class.
pub const CLASS: Class = Class::new::<SetTCPChecksum>("SetTCPChecksum", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::optional("FIXOFF", "bool", "Whether to correct the header length. Default false.")];

const BAD_LENGTH: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("bad-length", "The packet is too short, or no IPv4 header is marked.")];

/// See the page above.
pub struct SetTCPChecksum {
    fixes_header_len: bool,
    failures: Failures,
}

impl Element for SetTCPChecksum {
    fn configure(conf: &mut Configure<'_>) -> Result<SetTCPChecksum, Failed> {
        let fixes_header_len = conf.args.get_or("FIXOFF", false);
        conf.finish()?;
        Ok(SetTCPChecksum { fixes_header_len, failures: Failures::new(1, true, false) })
    }

    per_told_packet!(sentence);

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SetTCPChecksum>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl SetTCPChecksum {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if self.set(packet).is_some() {
            return Verdict::PASS;
        }
        self.failures.add(BAD_LENGTH, packet);
        Verdict::drop(BAD_LENGTH)
    }

    #[inline(always)]
    fn set(&self, packet: &mut Packet) -> Option<()> {
        let is_partial = offload::keep_partial(packet, 16);
        let outer = Outer::of(packet)?;
        let len = outer.total_len().checked_sub(outer.header_len())?;
        let pseudo = outer.pseudo_header_sum(len as u16);
        let is_fragment = outer.is_fragment();
        let segment = packet.transport_mut().get_mut(..len as usize)?;
        let header = segment.first_chunk_mut::<20>()?;
        if self.fixes_header_len {
            fix_header_len(header, len, is_fragment);
        }
        let sum = if is_partial { pseudo } else { checksum::transport_without(pseudo, segment, 16) };
        segment.get_mut(16..18)?.copy_from_slice(&sum.to_be_bytes());
        Some(())
    }
}

fn fix_header_len(header: &mut [u8; 20], len: u32, is_fragment: bool) {
    let header_len = u32::from(header[12] >> 4) * 4;
    if header_len < 20 {
        header[12] = 0x50 | header[12] & 0x0f;
    } else if header_len > len && !is_fragment {
        header[12] = ((len / 4) as u8 & 0x0f) << 4 | header[12] & 0x0f;
    }
}

fn sentence(_ctx: &Ctx<'_>, _reason: usize) -> String {
    "SetTCPChecksum: bad lengths".to_string()
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn header_lengths_are_fixed_if_asked_for() {
        let source = "InfiniteSource(DATA \\<45000028 00000000 4006 0000 01000001 02000002 \
                      00010002 00000000 00000000 f000 0000 0000 0000>, LIMIT 1, STOP true) -> MarkIPHeader";
        let rest = "CheckTCPHeader -> Print(ok, MAXLENGTH -1) -> Discard";
        check(
            &format!("{source} -> SetTCPChecksum -> {rest}"),
            expect![[r#"
            CheckTCPHeader@4 :: CheckTCPHeader: TCP header check failed: bad packet length
        "#]],
        );
        check(
            &format!("{source} -> SetTCPChecksum(true) -> {rest}"),
            expect![[r#"
            ok:   40 | 45000028 00000000 40060000 01000001 02000002 00010002 00000000 00000000 50000000 acdf0000
        "#]],
        );
        check(
            &format!("{source} -> Truncate(39) -> SetTCPChecksum -> {rest}"),
            expect![[r#"
            SetTCPChecksum: bad lengths
        "#]],
        );
    }
}
