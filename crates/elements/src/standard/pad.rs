//! Lengthens packets.
//!
//! Adds bytes behind each packet that is shorter than LENGTH. Without LENGTH, adds as many bytes as the packet's extra length
//! annotation says, which undoes `Truncate` in length. The annotation is 0 afterwards.
//!
//! ```click
//! FromDump(in.pcap) -> Pad(60) -> ToDump(out.pcap);
//! ```

use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict,
};

/// The class.
pub const CLASS: Class =
    Class::new::<Pad>("Pad", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS).drops(DROPS).live();

const ARGS: &[Arg] = &[
    Arg::optional(
        "LENGTH",
        "unsigned",
        "Least bytes of a packet; 0 is what the extra length annotation says. Default 0.",
    ),
    Arg::keyword(
        "ZERO",
        "bool",
        "Whether the bytes added are 0, as opposed to what the buffer held. Default true.",
    ),
];

const DROPS: &[DropReason] =
    &[DropReason::new("too-long", "The packet would have become longer than any buffer.")];
const TOO_LONG: usize = 0;

/// Longest packet that is made.
const MAX_LEN: usize = 1 << 26;

/// See the page above.
pub struct Pad {
    min_len: u32,
    clears: bool,
}

impl Element for Pad {
    fn configure(conf: &mut Configure<'_>) -> Result<Pad, Failed> {
        let min_len = conf.args.get_or("LENGTH", 0);
        let clears = conf.args.get_or("ZERO", true);
        conf.finish()?;
        Ok(Pad { min_len, clears })
    }

    per_packet!();
}

impl Pad {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let len = packet.len();
        let n_added = match self.min_len {
            0 => packet.anno_u32(annotation::EXTRA_LENGTH) as usize,
            min_len => (min_len as usize).saturating_sub(len),
        };
        if n_added > 0 {
            if n_added.saturating_add(packet.buffer_len()) > MAX_LEN {
                return Verdict::drop(TOO_LONG);
            }
            let data = packet.append(n_added);
            if let Some(tail) = data.get_mut(len..).filter(|_| self.clears) {
                tail.fill(0);
            }
        }
        packet.set_anno_u32(annotation::EXTRA_LENGTH, 0);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    fn padded(min_len: u32, extra: u32, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut packet = Packet::from_bytes(bytes);
        packet.append(9).fill(0xff);
        packet.take(9 + bytes.len());
        packet.append(bytes.len()).copy_from_slice(bytes);
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
        let verdict = Pad { min_len, clears: true }.process(&mut packet);
        assert!(verdict != Verdict::PASS || packet.anno_u32(annotation::EXTRA_LENGTH) == 0);
        (verdict == Verdict::PASS).then(|| packet.data().to_vec())
    }

    #[test]
    fn packets_get_at_least_the_length() {
        assert_eq!(padded(6, 0, b"abcd").as_deref(), Some(&b"abcd\0\0"[..]));
        assert_eq!(padded(6, 3, b"abcdefgh").as_deref(), Some(&b"abcdefgh"[..]));
    }

    #[test]
    fn without_a_length_the_annotation_says_it() {
        assert_eq!(padded(0, 3, b"abcd").as_deref(), Some(&b"abcd\0\0\0"[..]));
        assert_eq!(padded(0, 0, b"abcd").as_deref(), Some(&b"abcd"[..]));
        assert_eq!(padded(0, u32::MAX, b"abcd"), None);
    }

    #[test]
    fn what_was_truncated_is_padded() {
        testing::check_reading(
            r"
            i :: InfiniteSource(abcdefgh, LIMIT 1, STOP true) -> t :: Truncate(4)
                -> Print(PRINTANNO true) -> Pad -> Print(PRINTANNO true)
                -> Truncate(2, EXTRA_LENGTH false) -> Pad -> Print -> Pad(3) -> Print -> Discard;
            ",
            &["t.nbytes"],
            expect![[r#"
                   4 | 000000000000000000000000000000000000000000000000000000000400000000000000000000000000000000000000 | 61626364
                   8 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 61626364 00000000
                   2 | 6162
                   3 | 616200
                t.nbytes: 4
            "#]],
        );
    }
}
