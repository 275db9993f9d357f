//! Puts a removed IPv4 header back.
//!
//! The packet begins again where the network header is marked, if that is in front of it: the reverse of `StripIPHeader`.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> StripIPHeader -> UnstripIPHeader -> Discard;
//! ```

use element::{per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class =
    Class::new::<UnstripIPHeader>("UnstripIPHeader", "1/1", "a/a", "x/x").causes(Causes::NOTHING);

/// See the page above.
pub struct UnstripIPHeader;

impl Element for UnstripIPHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<UnstripIPHeader, Failed> {
        conf.finish()?;
        Ok(UnstripIPHeader)
    }

    per_packet!();
}

impl UnstripIPHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if let Some(offset) = packet.network_offset().filter(|offset| *offset < 0) {
            packet.unstrip(offset.unsigned_abs());
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_header_comes_back() {
        check(
            "InfiniteSource(x, LIMIT 1, STOP true) -> UDPIPEncap(1.0.0.1, 2, 3.0.0.4, 5) -> StripIPHeader
                 -> Print(a) -> UnstripIPHeader -> Print(b) -> UnstripIPHeader -> CheckIPHeader -> Discard",
            expect![[r#"
                a:    9 | 00020005 000983d0 78
                b:   29 | 4500001d 00000000 fa11bccb 01000001 03000004 00020005
            "#]],
        );
    }
}
