//! Puts packets' annotations in front of their data.
//!
//! The 48 bytes of annotations, as they lie in memory. `ReadAnno` reads them back.
//!
//! ```click
//! FromDump(in.pcap) -> Paint(5) -> PushAnno -> ToDump(annotated.pcap);
//! ```

use element::{annotation, per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<PushAnno>("PushAnno", "1/1", "a/a", "x/x").causes(Causes::NOTHING);

/// See the page above.
pub struct PushAnno;

impl Element for PushAnno {
    fn configure(conf: &mut Configure<'_>) -> Result<PushAnno, Failed> {
        conf.finish()?;
        Ok(PushAnno)
    }

    per_packet!();
}

impl PushAnno {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let annotations = *packet.annotations();
        packet.prepend(annotation::SIZE)[..annotation::SIZE].copy_from_slice(&annotations);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn annotations_are_in_front_of_the_data() {
        check(
            r"InfiniteSource(abc, LIMIT 1) -> Paint(7) -> Paint(9, 47) -> PushAnno -> Print(p, MAXLENGTH 100) -> Discard",
            expect![[r#"
                p:   51 | 00000000 00000000 00000000 00000000 07000000 00000000 00000000 00000000 00000000 00000000 00000000 00000009 616263
            "#]],
        );
    }
}
