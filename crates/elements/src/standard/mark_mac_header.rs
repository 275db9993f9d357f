//! Marks where the MAC header is.
//!
//! ```click
//! FromDump(in.pcap) -> MarkMACHeader(0, 14) -> Strip(14) -> CheckIPHeader -> Discard;
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Refusal, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<MarkMACHeader>("MarkMACHeader", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("OFFSET", "unsigned", "Where the header begins. Default 0."),
    Arg::optional(
        "LENGTH",
        "unsigned",
        "Its length: the network header is marked behind it. Default 0: it is not marked.",
    ),
];

/// See the page above.
pub struct MarkMACHeader {
    offset: usize,
    length: usize,
}

impl Element for MarkMACHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<MarkMACHeader, Failed> {
        let offset: u32 = conf.args.get_or("OFFSET", 0);
        let length: u32 = conf.args.get_or("LENGTH", 0);
        conf.finish()?;
        Ok(MarkMACHeader { offset: offset as usize, length: length as usize })
    }

    per_packet!();
}

impl MarkMACHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.length {
            0 => packet.set_mac_offset(self.offset),
            length => packet.set_mac_header(self.offset, length),
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_header_is_marked() {
        check(
            r"InfiniteSource(\<0a0a0a0a0a0a0b0b0b0b0b0b0800>, LIMIT 1, STOP true) -> MarkMACHeader(0, 14) -> EtherMirror
                 -> Print(a) -> MarkMACHeader(2) -> Discard",
            expect![[r#"
                a:   14 | 0b0b0b0b 0b0b0a0a 0a0a0a0a 0800
            "#]],
        );
    }
}
