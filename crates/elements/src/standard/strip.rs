//! Removes bytes from the front of packets.
//!
//! Removes the first LENGTH bytes of each packet; all of them if there are fewer, which is told on standard error. The bytes stay in the packet's headroom:
//! `Unstrip` brings them back.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Discard;
//! ```

use element::fast_path::{FastPath, HasFastPath, Ingress};
use element::{offload, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Strip>("Strip", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .stateless()
    .args(ARGS)
    .fast_path::<Strip>();

const ARGS: &[Arg] = &[Arg::required("LENGTH", "unsigned", "Bytes to remove.")];

/// See the page above.
pub struct Strip {
    n_bytes: usize,
    short: ShortPackets,
}

impl Element for Strip {
    fn configure(conf: &mut Configure<'_>) -> Result<Strip, Failed> {
        let n_bytes: u32 = conf.args.need("LENGTH");
        conf.finish()?;
        Ok(Strip { n_bytes: n_bytes as usize, short: ShortPackets::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.short.tell(ctx, self.n_bytes);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.short.tell(ctx, self.n_bytes);
        batch
    }
}

impl HasFastPath for Strip {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Ingress(Ingress::stripped(self.n_bytes)))
    }
}

impl Strip {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        self.short.strip(packet, self.n_bytes);
        Verdict::PASS
    }
}

/// The lengths and places of packets that had fewer bytes than were to be removed, to be told.
#[derive(Default)]
pub struct ShortPackets(Vec<(usize, u32)>);

impl ShortPackets {
    /// Removes bytes from the front of a packet.
    #[inline(always)]
    pub fn strip(&mut self, packet: &mut Packet, n_bytes: usize) {
        offload::settle_before(packet, n_bytes);
        if packet.len() < n_bytes {
            self.note(packet);
        }
        packet.strip(n_bytes);
    }

    #[cold]
    fn note(&mut self, packet: &Packet) {
        self.0.push((packet.len(), packet.place()));
    }

    /// Tells of the short packets.
    #[inline]
    pub fn tell(&mut self, ctx: &mut Ctx<'_>, n_bytes: usize) {
        if !self.0.is_empty() {
            for (len, place) in self.0.drain(..) {
                // A number with a sign, as Click prints it.
                ctx.chatter_of(place, &format!("Packet::pull {} > length {len}", n_bytes as i32));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_that_are_too_short_are_told_of() {
        check(
            "InfiniteSource(DATA abcd, LIMIT 1) -> Strip(3) -> Strip(2) -> Print(p) -> Strip(4294967295) -> Discard",
            expect![[r#"
                Packet::pull 2 > length 1
                p:    0
                Packet::pull -1 > length 0
            "#]],
        );
    }
}
