//! Appends a checksum of 32 bits to packets.
//!
//! `CheckCRC32` checks it and takes it off.
//!
//! ```click
//! FromDump(in.pcap) -> SetCRC32 -> RandomSample(0.9) -> CheckCRC32 -> Discard;
//! ```

use element::{offload, per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

use super::crc32;

/// The class.
pub const CLASS: Class = Class::new::<SetCrc32>("SetCRC32", "1/1", "a/a", "x/x").causes(Causes::NOTHING);

/// See the page above.
pub struct SetCrc32;

impl Element for SetCrc32 {
    fn configure(conf: &mut Configure<'_>) -> Result<SetCrc32, Failed> {
        conf.finish()?;
        Ok(SetCrc32)
    }

    per_packet!();
}

impl SetCrc32 {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle(packet);
        let sum = crc32::of(packet.data());
        let len = packet.len();
        packet.append(crc32::LEN)[len..].copy_from_slice(&sum);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_checksum_is_behind_the_data() {
        check(
            r"InfiniteSource(DATA 123456789, LIMIT 1) -> SetCRC32 -> Print(p) -> Discard;
            InfiniteSource(DATA \<>, LIMIT 1) -> SetCRC32 -> Print(p) -> Discard;",
            expect![[r#"
                p:   13 | 31323334 35363738 39e7e676 03
                p:    4 | ffffffff
            "#]],
        );
    }
}
