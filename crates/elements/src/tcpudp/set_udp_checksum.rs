//! Computes the UDP checksum.
//!
//! The IPv4 header must be marked; the protocol is not looked at. Fragments, and packets shorter than their UDP length, leave by
//! output 1 if there is one; else they are dropped, and the first in the graph is told on standard error. In a packet whose checksum hardware
//! will complete, the field gets what hardware expects: the sum of the pseudo-header.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow udp) -> SetUDPChecksum -> Discard;
//! ```

use element::{
    offload, same, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Limit, Packet, Verdict,
};
use wire::checksum;

use super::segment::Outer;
use crate::ip::failures::Failures;

/// The class.
pub const CLASS: Class = Class::new::<SetUDPChecksum>("SetUDPChecksum", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .drops(DROPS);

const FRAGMENT: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new(
    "fragment-or-short",
    "A fragment, shorter than its UDP length, or no IPv4 header is marked.",
)];

/// See the page above.
pub struct SetUDPChecksum {
    failures: Failures,
}

impl Element for SetUDPChecksum {
    fn configure(conf: &mut Configure<'_>) -> Result<SetUDPChecksum, Failed> {
        conf.finish()?;
        Ok(SetUDPChecksum { failures: Failures::new(1, false, false) })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.tell(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.tell(ctx);
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SetUDPChecksum>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl SetUDPChecksum {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if set(packet).is_some() {
            return Verdict::PASS;
        }
        self.failures.add(FRAGMENT, packet);
        Verdict::port_or_drop(1, FRAGMENT)
    }

    #[inline(always)]
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(packet) = self.failures.first_untold().filter(|_| ctx.n_outputs() == 1) {
            self.tell_once(ctx, packet);
        }
    }

    /// Tells of the first failure in the graph.
    #[cold]
    fn tell_once(&mut self, ctx: &mut Ctx<'_>, place: u32) {
        self.failures.settle();
        let text = format!("{}: fragment or short packet", ctx.own_declaration());
        ctx.chatter_of_at_most(place, Limit { what: CLASS.facts.name, most: 1 }, &text);
    }
}

#[inline(always)]
fn set(packet: &mut Packet) -> Option<()> {
    let is_partial = offload::keep_partial(packet, 6);
    let outer = Outer::of(packet).filter(|outer| !outer.is_fragment())?;
    let len =
        packet.transport().first_chunk::<8>().map(|header| u16::from_be_bytes([header[4], header[5]]))?;
    let pseudo = outer.pseudo_header_sum(len);
    let datagram = packet.transport_mut();
    if usize::from(len) > datagram.len() {
        return None;
    }
    let covered = datagram.get(..usize::from(len)).unwrap_or_default();
    // Like Click, 0 stays 0, which says that there is no checksum.
    let sum = if is_partial { pseudo } else { checksum::transport_without(pseudo, covered, 6) };
    datagram.get_mut(6..8)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn only_whole_datagrams_get_a_checksum() {
        let udp = |flags: &str, len: &str| {
            format!(
                "InfiniteSource(DATA \\<4500001e 0000{flags} 4011 0000 01000001 02000002 \
                 00010002 00{len} 0000 0304>, LIMIT 1, STOP true) -> MarkIPHeader -> s :: SetUDPChecksum -> CheckUDPHeader"
            )
        };
        check(
            &format!("{} -> Print(ok) -> Discard", udp("0000", "0a")),
            expect![[r#"
            ok:   30 | 4500001e 00000000 40110000 01000001 02000002 00010002
        "#]],
        );
        check(
            &format!("{} -> Print(ok) -> Discard", udp("2000", "0a")),
            expect![[r#"
            s :: SetUDPChecksum: fragment or short packet
        "#]],
        );
        check(
            &format!("{} -> Discard; s[1] -> Print(short) -> Discard", udp("0000", "0b")),
            expect![[r#"
            short:   30 | 4500001e 00000000 40110000 01000001 02000002 00010002
        "#]],
        );
    }
}
