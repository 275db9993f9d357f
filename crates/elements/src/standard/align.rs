//! Moves packets so that their first byte is aligned.
//!
//! The address of a packet's first byte becomes OFFSET modulo MODULUS. A packet that is aligned already is not touched; any
//! other is copied.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> Align(4, 0) -> CheckIPHeader -> Discard;
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Align>("Align", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("MODULUS", "2, 4 or 8", "The alignment in bytes."),
    Arg::required("OFFSET", "int", "How many bytes beyond an aligned address packets begin."),
];

/// See the page above.
pub struct Align {
    modulus: usize,
    offset: usize,
}

impl Element for Align {
    fn configure(conf: &mut Configure<'_>) -> Result<Align, Failed> {
        let modulus: u32 = conf.args.need("MODULUS");
        let offset: i32 = conf.args.need("OFFSET");
        if ![2, 4, 8].contains(&modulus) {
            conf.args.fail("MODULUS must be 2, 4, or 8");
        } else if i64::from(offset) >= i64::from(modulus) {
            conf.args.fail("OFFSET must be smaller than MODULUS");
        }
        conf.finish()?;
        let offset = i64::from(offset).rem_euclid(i64::from(modulus)) as usize;
        Ok(Align { modulus: modulus as usize, offset })
    }

    per_packet!();
}

impl Align {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if packet.alignment(self.modulus) != self.offset {
            self.align(packet);
        }
        Verdict::PASS
    }

    /// A new buffer begins where the old one does modulo 8, so the headroom says where the data begins.
    fn align(&self, packet: &mut Packet) {
        let shift = (self.offset + self.modulus - packet.alignment(self.modulus)) % self.modulus;
        let (headroom, tailroom) = (packet.headroom() + shift, packet.tailroom().saturating_sub(shift));
        packet.move_to(headroom, tailroom);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn any_packet_is_aligned_and_keeps_its_bytes_and_headers() {
        for modulus in [2, 4, 8] {
            for offset in 0..modulus {
                for stripped in 0..9 {
                    let mut packet = Packet::from_bytes(b"0123456789abcdef");
                    packet.set_network_header(10, 2);
                    packet.strip(stripped);
                    let shared = packet.clone();
                    let verdict = Align { modulus, offset }.process(&mut packet);
                    assert_eq!(verdict, Verdict::PASS);
                    assert_eq!(packet.alignment(modulus), offset);
                    assert_eq!(packet.data(), shared.data());
                    assert_eq!(packet.network(), b"abcdef");
                }
            }
        }
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> Align(3, 0) -> Align(4, 4) -> Align(4) -> Align(4, -1) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'Align@2 :: Align':
                  MODULUS must be 2, 4, or 8
                config:2: While configuring 'Align@3 :: Align':
                  OFFSET must be smaller than MODULUS
                config:2: While configuring 'Align@4 :: Align':
                  OFFSET: required argument missing
                Router could not be initialized!
            "#]],
        );
    }
}
