//! Compares packets with a specification and tells what does not match.
//!
//! Each argument is a test; those that are not given are not made. What a packet fails is told on standard error. As in Click,
//! no packet leaves: the output is there to be connected.
//!
//! ALIGNMENT compares the last bits of the address of a packet's first byte, as many as MODULUS - 1 has, which is a remainder
//! where MODULUS is a power of two. LENGTH_GE 0 is failed by all packets.
//!
//! ```click
//! FromDump(in.pcap) -> CheckPacket(LENGTH_LE 1514, ALIGNMENT 4 2) -> Discard;
//! ```

use std::fmt::Display;

use args::{Args, Raw};
use element::{Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};

/// The class.
pub const CLASS: Class =
    Class::new::<CheckPacket>("CheckPacket", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("DATA", "string", "The packet's bytes from DATA_OFFSET to its end."),
    Arg::keyword("DATA_OFFSET", "unsigned", "Where DATA begins. Default 0."),
    Arg::keyword("LENGTH", "int", "The packet's length."),
    Arg::keyword("LENGTH_EQ", "int", "Another name of LENGTH."),
    Arg::keyword("LENGTH_GE", "int", "Fewest bytes of the packet."),
    Arg::keyword("LENGTH_LE", "int", "Most bytes of the packet."),
    Arg::keyword("ALIGNMENT", "two integers", "MODULUS and OFFSET of the address of the first byte."),
];
const ALIGNMENT: &[Arg] =
    &[Arg::required("MODULUS", "int", "At least 2."), Arg::required("OFFSET", "int", "Below MODULUS.")];

const DROPS: &[DropReason] = &[DropReason::new("checked", "The packet was compared.")];
const CHECKED: usize = 0;

/// What a packet's length shall be, by Click's numbers of 32 bits.
#[derive(Clone, Copy)]
enum Length {
    Equal(u32),
    Above(u32),
    Below(u32),
}

/// See the page above.
pub struct CheckPacket {
    data: Option<Vec<u8>>,
    data_offset: u32,
    length: Option<Length>,
    /// Modulus and offset.
    alignment: Option<(i32, i32)>,
}

impl Element for CheckPacket {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckPacket, Failed> {
        let data = conf.args.get::<Vec<u8>>("DATA");
        let data_offset = conf.args.get_or("DATA_OFFSET", 0);
        let equal = conf.args.get::<i32>("LENGTH");
        let equal = conf.args.get("LENGTH_EQ").or(equal);
        let (at_least, at_most) = (conf.args.get("LENGTH_GE"), conf.args.get("LENGTH_LE"));
        let alignment = conf.args.get::<Raw>("ALIGNMENT").filter(|Raw(text)| !text.is_empty());
        conf.finish()?;
        let length = length(equal, at_least, at_most)?;
        let alignment = alignment.map(|Raw(text)| read_alignment(conf, &text)).transpose()?;
        Ok(CheckPacket { data, data_offset, length, alignment })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.check_all(ctx, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.check_all(ctx, batch);
        Batch::new()
    }
}

/// The length that was asked for; negative numbers ask for nothing.
fn length(equal: Option<i32>, at_least: Option<i32>, at_most: Option<i32>) -> Result<Option<Length>, Failed> {
    let asked = |wanted: Option<i32>| wanted.and_then(|wanted| u32::try_from(wanted).ok());
    let wanted = [
        asked(equal).map(Length::Equal),
        asked(at_least).map(|len| Length::Above(len.wrapping_sub(1))),
        asked(at_most).map(|len| Length::Below(len.wrapping_add(1))),
    ];
    if wanted.iter().flatten().count() > 1 {
        return Err("specify at most one of LENGTH_EQ, LENGTH_GE, and LENGTH_LE".into());
    }
    Ok(wanted.into_iter().flatten().next())
}

fn read_alignment(conf: &mut Configure<'_>, text: &str) -> Result<(i32, i32), Failed> {
    let mut words = Args::from_words(text, ALIGNMENT, conf.scope);
    let (modulus, offset) = (words.need::<i32>("MODULUS"), words.need::<i32>("OFFSET"));
    words.finish().map_err(|errors| Failed { errors })?;
    if modulus <= 1 || !(0..modulus).contains(&offset) {
        return Err("bad alignment modulus and/or offset".into());
    }
    Ok((modulus, offset))
}

impl CheckPacket {
    fn check_all(&self, ctx: &mut Ctx<'_>, mut batch: Batch) {
        for packet in batch.drain() {
            self.check(&packet, &mut |what: &dyn Display| {
                ctx.chatter(&format!("{}: {what}", ctx.own_declaration()));
            });
            ctx.drop_packet(CHECKED, packet);
        }
    }

    fn check(&self, packet: &Packet, tell: &mut dyn FnMut(&dyn Display)) {
        let len = packet.len() as u32;
        let wanted = match self.length {
            Some(Length::Equal(wanted)) if len != wanted => Some(("", wanted)),
            Some(Length::Above(wanted)) if len <= wanted => Some(("> ", wanted)),
            Some(Length::Below(wanted)) if len >= wanted => Some(("< ", wanted)),
            _ => None,
        };
        if let Some((relation, wanted)) = wanted {
            tell(&format_args!("bad length {len} (wanted {relation}{})", wanted as i32));
        }
        if let Some(data) = &self.data {
            let wanted = (data.len() as u32).wrapping_add(self.data_offset);
            let at = packet.data().get(self.data_offset as usize..).unwrap_or_default();
            if len < wanted {
                tell(&format_args!("data too short ({len} bytes, wanted {})", wanted as i32));
            } else if len > wanted {
                tell(&format_args!("data too long ({len} bytes, wanted {})", wanted as i32));
            } else if at != data {
                tell(&"bad data (does not match)");
            }
        }
        if let Some((modulus, offset)) = self.alignment {
            let power = (modulus as usize).next_power_of_two();
            let alignment = packet.alignment(power) as i32 & (modulus - 1);
            if alignment != offset {
                tell(&format_args!("bad alignment ({modulus}/{alignment}, expected {modulus}/{offset})"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn what_does_not_match_is_told() {
        check_reading(
            "i :: InfiniteSource(DATA abcdef, LIMIT 1) -> Align(4, 0) -> t :: Tee(6);
             t[0] -> a :: CheckPacket(DATA abc, DATA_OFFSET 3, LENGTH_GE 7, ALIGNMENT 4 1) -> Print(out) -> Discard;
             t[1] -> b :: CheckPacket(DATA abcdefg, LENGTH_LE 5) -> Print(out) -> Discard;
             t[2] -> c :: CheckPacket(DATA abcde, ALIGNMENT 4 0) -> Print(out) -> Discard;
             t[3] -> d :: CheckPacket(DATA \"\", LENGTH_GE 0, LENGTH_LE -1) -> Print(out) -> Discard;
             t[4] -> e :: CheckPacket(LENGTH 5, ALIGNMENT 6 3) -> Print(out) -> Discard;
             t[5] -> f :: CheckPacket(DATA_OFFSET 9) -> Print(out) -> Discard;
             DriverManager(wait 1s)",
            &[],
            expect![[r#"
                a :: CheckPacket: bad length 6 (wanted > 6)
                a :: CheckPacket: bad data (does not match)
                a :: CheckPacket: bad alignment (4/0, expected 4/1)
                b :: CheckPacket: bad length 6 (wanted < 6)
                b :: CheckPacket: data too short (6 bytes, wanted 7)
                c :: CheckPacket: data too long (6 bytes, wanted 5)
                d :: CheckPacket: bad length 6 (wanted > -1)
                d :: CheckPacket: data too long (6 bytes, wanted 0)
                e :: CheckPacket: bad length 6 (wanted 5)
                e :: CheckPacket: bad alignment (6/0, expected 6/3)
            "#]],
        );
    }

    #[test]
    fn what_matches_is_not_told() {
        check(
            "InfiniteSource(DATA abcdef, LIMIT 2) -> Align(8, 3) -> Queue
                 -> CheckPacket(DATA bcdef, DATA_OFFSET 1, LENGTH_EQ 6, ALIGNMENT 8 3) -> Unqueue -> Print(out) -> Discard;
             DriverManager(wait 1s)",
            expect![[r#""#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> CheckPacket(LENGTH 5, LENGTH_EQ 6) -> Discard;
             Idle -> CheckPacket(LENGTH 5, LENGTH_GE 6) -> Discard;
             Idle -> CheckPacket(ALIGNMENT 1 0) -> Discard;
             Idle -> CheckPacket(ALIGNMENT 4 4) -> Discard;
             Idle -> CheckPacket(ALIGNMENT 4 ) -> Discard;
             Idle -> CheckPacket(ALIGNMENT 4 1 2) -> Discard;
             Idle -> CheckPacket(ALIGNMENT x) -> Discard;
             Idle -> CheckPacket(ALIGNMENT \"\") -> Discard;
             Idle -> CheckPacket(x, DATA_OFFSET -1) -> Discard;",
            expect![[r#"
                config:2: While configuring 'CheckPacket@5 :: CheckPacket':
                  specify at most one of LENGTH_EQ, LENGTH_GE, and LENGTH_LE
                config:3: While configuring 'CheckPacket@8 :: CheckPacket':
                  bad alignment modulus and/or offset
                config:4: While configuring 'CheckPacket@11 :: CheckPacket':
                  bad alignment modulus and/or offset
                config:5: While configuring 'CheckPacket@14 :: CheckPacket':
                  OFFSET: required argument missing
                config:6: While configuring 'CheckPacket@17 :: CheckPacket':
                  too many arguments
                config:7: While configuring 'CheckPacket@20 :: CheckPacket':
                  MODULUS: invalid number
                  OFFSET: required argument missing
                config:8: While configuring 'CheckPacket@23 :: CheckPacket':
                  MODULUS: invalid number
                  OFFSET: required argument missing
                config:9: While configuring 'CheckPacket@26 :: CheckPacket':
                  DATA_OFFSET: invalid number
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }
}
