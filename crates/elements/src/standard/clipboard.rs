//! Copies bytes from one packet into others.
//!
//! Each RANGE is an offset and a number of bytes, as `12/2`. The bytes at the RANGEs of a packet that comes by input 0 are kept,
//! and the packet leaves by output 0 as it was. They overwrite those at the RANGEs of each packet that comes by input 1 and
//! leaves by output 1. A packet that does not reach to the end of all RANGEs is not changed; what is missing of one on input 0
//! stays as it was kept before, and is zero at first.
//!
//! ```click
//! c :: Clipboard(0/6, 12/2);
//! FromDump(first.pcap) -> [0]c[0] -> Discard;
//! FromDump(others.pcap) -> [1]c[1] -> Discard;
//! ```

use element::{offload, same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Refusal};

use super::source::MAX_LENGTH;

/// The class.
pub const CLASS: Class = Class::new::<Clipboard>("Clipboard", "2/2", "a/a", "#/#")
    .args(ARGS)
    .shows_order()
    .pulls_first()
    .refuses(&[("config", Refusal::Failed)])
    .live()
    .silent();

const ARGS: &[Arg] = &[Arg::rest("RANGE", "OFFSET/LENGTH", "Bytes to copy.")];

/// An OFFSET/LENGTH.
const RANGE: &[Arg] = &[
    Arg::required("OFFSET", "unsigned", "The first byte, counted from 0."),
    Arg::required("LENGTH", "unsigned", "Number of bytes."),
];

/// Most bytes that are kept.
const MOST_KEPT: usize = 1 << 30;

/// See the page above.
pub struct Clipboard {
    ranges: Vec<Range>,
    /// The bytes of all ranges, one after the other.
    kept: Vec<u8>,
    /// What a packet must have to be changed.
    min_len: usize,
}

struct Range {
    offset: usize,
    len: usize,
}

impl Element for Clipboard {
    fn configure(conf: &mut Configure<'_>) -> Result<Clipboard, Failed> {
        let mut ranges = Vec::new();
        for (number, text) in conf.args.rest().iter().enumerate() {
            ranges.push(range(conf, number, text)?);
        }
        conf.finish()?;
        let min_len = ranges.iter().map(|range| range.offset + range.len).max().unwrap_or(0);
        // No packet is long enough to be changed, so nothing need be kept.
        if min_len > MAX_LENGTH {
            ranges.clear();
        }
        let n_kept = ranges.iter().map(|range| range.len).sum();
        if n_kept > MOST_KEPT {
            return Err("out of memory".into());
        }
        Ok(Clipboard { ranges, kept: vec![0; n_kept], min_len })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        self.process(port, &mut batch);
        ctx.emit(port, batch);
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((port, max))
    }

    fn pulled(&mut self, _ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) -> Batch {
        self.process(port, &mut batch);
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<Clipboard>(ctx, old) {
            self.kept.iter_mut().zip(old.kept).for_each(|(byte, old)| *byte = old);
        }
    }
}

/// Parses RANGE number `number`.
fn range(conf: &mut Configure<'_>, number: usize, text: &str) -> Result<Range, Failed> {
    let Some((offset, len)) =
        text.split_once('/').filter(|(offset, len)| !offset.is_empty() && !len.is_empty())
    else {
        return Err(format!("range {number}: expected '/' between offset and length").into());
    };
    let mut parts = args::Args::from_list(vec![offset.to_string(), len.to_string()], RANGE, conf.scope);
    let (offset, len): (u32, u32) = (parts.need("OFFSET"), parts.need("LENGTH"));
    let mut errors = parts.finish().err().unwrap_or_default();
    if !errors.is_empty() {
        errors.push(format!("range {number}: invalid offset or length"));
        return Err(Failed { errors });
    }
    Ok(Range { offset: offset as usize, len: len as usize })
}

impl Clipboard {
    fn process(&mut self, port: usize, batch: &mut Batch) {
        match port {
            0 => batch.iter().for_each(|packet| self.copy(packet.data())),
            _ => {
                let is_long = |packet: &&mut element::Packet| packet.len() >= self.min_len;
                batch.iter_mut().filter(is_long).for_each(|packet| {
                    offload::settle_before(packet, self.min_len);
                    self.paste(packet.data_mut());
                });
            }
        }
    }

    fn copy(&mut self, data: &[u8]) {
        let mut kept = self.kept.as_mut_slice();
        for range in &self.ranges {
            let (to, rest) = kept.split_at_mut(range.len);
            let from = data.get(range.offset..).unwrap_or_default();
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
            kept = rest;
        }
    }

    fn paste(&self, data: &mut [u8]) {
        let mut kept = self.kept.as_slice();
        for range in &self.ranges {
            let (from, rest) = kept.split_at(range.len);
            data[range.offset..][..range.len].copy_from_slice(from);
            kept = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn bytes_are_copied_from_the_last_packet() {
        check(
            r#"c :: Clipboard(0/1, 2/1, 9/1);
            TimedSource(0.0019, "Simplistic", LIMIT 1) -> [0]c[0] -> Discard;
            TimedSource(0.0029, "Dance tour", LIMIT 1) -> [0]c;
            TimedSource(0.0039, "Ionize tub", LIMIT 1) -> [0]c;
            TimedSource(0.0041, "Ab", LIMIT 1) -> [0]c;
            TimedSource(0.001, ".a. is a .at,", LIMIT 5, STOP true) -> [1]c[1] -> Print(p, CONTENTS ASCII) -> Discard;
            TimedSource(0.001, "short....", LIMIT 1) -> [1]c;"#,
            expect![[r#"
                p:   13 |  .a. is a  .at,
                p:    9 |  short... .
                p:   13 |  Sam is a  cat,
                p:   13 |  Dan is a  rat,
                p:   13 |  Ian is a  bat,
                p:   13 |  Aan is a  bat,
            "#]],
        );
    }

    #[test]
    fn one_path_may_lead_through_both_halves() {
        check(
            r"InfiniteSource(abcdef, LIMIT 2) -> Queue -> c :: Clipboard(0/2, 3/2) -> StoreData(0, xy) -> [1]c[1]
                -> Print(p, CONTENTS ASCII) -> Unqueue -> Discard;
            InfiniteSource(abcdef, LIMIT 1) -> Queue -> [1]d :: Clipboard(0/2)[1] -> [0]d[0]
                -> Print(q, CONTENTS ASCII) -> Unqueue -> Discard;
            InfiniteSource(abcdef, LIMIT 1) -> Queue -> [0]s :: Suppressor[0] -> [1]s[1]
                -> Print(s, CONTENTS ASCII) -> Unqueue -> Discard;
            DriverManager(wait 1s)",
            expect![[r#"
                p:    6 |  abcdef
                q:    6 |  ..cdef
                s:    6 |  abcdef
                p:    6 |  abcdef
            "#]],
        );
    }

    #[test]
    fn a_path_that_runs_in_a_circle_gives_nothing() {
        check(
            "c :: Clipboard(0/2)[0] -> [0]c; Idle -> [1]c[1] -> Unqueue -> Discard; DriverManager(wait 1s)",
            expect![[""]],
        );
    }

    #[test]
    fn a_new_configuration_keeps_the_bytes() {
        check(
            r"InfiniteSource(abcdef, LIMIT 1) -> Queue -> c :: Clipboard(0/2, 3/2) -> Unqueue -> Discard;
            i :: InfiniteSource(......, LIMIT 1, ACTIVE false) -> [1]c[1] -> Print(p, CONTENTS ASCII) -> Discard;
            DriverManager(wait 1s, write i.active true, wait 1s, write c.config 1/5, write i.reset, wait 1s,
                write c.config 2, read c.config)",
            expect![[r#"
                p:    6 |  ab.de.
                p:    6 |  .abde.
                While executing 'DriverManager@9 :: DriverManager':
                  While calling 'c.config 2':
                    range 0: expected '/' between offset and length
                c.config:
                1/5
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            r"Idle -> a :: Clipboard(1/2, /3) -> Discard; Idle -> [1]a[1] -> Discard;
            Idle -> b :: Clipboard(1/x) -> Discard; Idle -> [1]b[1] -> Discard;
            Idle -> c :: Clipboard(1/2/3) -> Discard; Idle -> [1]c[1] -> Discard;
            Idle -> d :: Clipboard(-1/y) -> Discard; Idle -> [1]d[1] -> Discard;
            Idle -> e :: Clipboard(4294967295/4294967295, ) -> Discard; Idle -> [1]e[1] -> Discard;",
            expect![[r#"
                config:1: While configuring 'a :: Clipboard':
                  range 1: expected '/' between offset and length
                config:2: While configuring 'b :: Clipboard':
                  LENGTH: invalid number
                  range 0: invalid offset or length
                config:3: While configuring 'c :: Clipboard':
                  LENGTH: invalid number
                  range 0: invalid offset or length
                config:4: While configuring 'd :: Clipboard':
                  OFFSET: invalid number
                  LENGTH: invalid number
                  range 0: invalid offset or length
                Router could not be initialized!
            "#]],
        );
    }
}
