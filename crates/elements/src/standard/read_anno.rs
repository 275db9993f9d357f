//! Reads packets' annotations from their data.
//!
//! The first 48 bytes become the annotations, as `PushAnno` puts them there, and stay in front of the packet. A packet that has
//! fewer keeps the annotations for which there are no bytes.
//!
//! ```click
//! FromDump(annotated.pcap) -> ReadAnno -> Strip(48) -> PaintSwitch -> Discard;
//! ```

use element::{per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<ReadAnno>("ReadAnno", "1/1", "a/a", "x/x").causes(Causes::NOTHING);

/// See the page above.
pub struct ReadAnno;

impl Element for ReadAnno {
    fn configure(conf: &mut Configure<'_>) -> Result<ReadAnno, Failed> {
        conf.finish()?;
        Ok(ReadAnno)
    }

    per_packet!();
}

impl ReadAnno {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let mut annotations = *packet.annotations();
        annotations.iter_mut().zip(packet.data()).for_each(|(annotation, byte)| *annotation = *byte);
        *packet.annotations_mut() = annotations;
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn annotations_are_read_from_the_data() {
        check(
            r"InfiniteSource(abc, LIMIT 1) -> Paint(7) -> PushAnno -> Paint(8) -> Paint(9, 47) -> ReadAnno
                -> Strip(48) -> Print(p, PRINTANNO true) -> Discard;
            InfiniteSource(abc, LIMIT 1) -> Paint(7) -> ReadAnno -> Print(p, PRINTANNO true) -> Discard",
            expect![[r#"
                p:    3 | 000000000000000000000000000000000700000000000000000000000000000000000000000000000000000000000000 | 616263
                p:    3 | 616263000000000000000000000000000700000000000000000000000000000000000000000000000000000000000000 | 616263
            "#]],
        );
    }
}
