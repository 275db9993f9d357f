//! Makes packets longer or shorter at both ends.
//!
//! A positive number adds so many bytes, whose values mean nothing, a negative one removes them; a packet that is shorter
//! becomes empty.
//!
//! ```click
//! FromDump(in.pcap) -> Resize(-14, 4) -> Discard;
//! ```

use element::{
    offload, per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<Resize>("Resize", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .silent()
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("HEAD", "int", "Bytes to add in front, or to remove there. Default 0."),
    Arg::optional("TAIL", "int", "Bytes to add behind, or to remove there. Default 0."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("head", "Bytes to add in front, or to remove there."),
    Handler::read_write("tail", "Bytes to add behind, or to remove there."),
];

const TOO_LONG: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("too-long", "The packet would have become too long.")];
/// More than any packet is given.
const MOST: usize = 1 << 26;

/// See the page above.
pub struct Resize {
    head: i32,
    tail: i32,
}

impl Element for Resize {
    fn configure(conf: &mut Configure<'_>) -> Result<Resize, Failed> {
        let (head, tail) = (conf.args.get_or("HEAD", 0), conf.args.get_or("TAIL", 0));
        conf.finish()?;
        Ok(Resize { head, tail })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "head" => Ok(self.head.to_string()),
            "tail" => Ok(self.tail.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let n = args::integer(value).map_err(|_| "expected integer")?;
        match name {
            "head" => self.head = n,
            "tail" => self.tail = n,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl Resize {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let n = |n: i32| n.unsigned_abs() as usize;
        let n_added =
            if self.head > 0 { n(self.head) } else { 0 } + if self.tail > 0 { n(self.tail) } else { 0 };
        if n_added > MOST {
            return Verdict::drop(TOO_LONG);
        }
        if self.tail != 0 {
            offload::settle(packet);
        }
        match self.head {
            0 => {}
            1.. => drop(packet.prepend(n(self.head))),
            _ => {
                let n_bytes = n(self.head).min(packet.len());
                offload::settle_before(packet, n_bytes);
                packet.strip(n_bytes);
            }
        }
        match self.tail {
            0 => {}
            1.. => drop(packet.append(n(self.tail))),
            _ => packet.take(n(self.tail).min(packet.len())),
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn both_ends_move() {
        check(
            "InfiniteSource(abcdef, LIMIT 1, STOP true) -> Resize(-2, -1) -> Print(a) -> Unstrip(1)
                 -> Resize(0, 0) -> Print(b) -> Resize(HEAD -9) -> Print(c) -> Discard",
            expect![[r#"
                a:    3 | 636465
                b:    4 | 62636465
                c:    0
            "#]],
        );
    }

    #[test]
    fn both_ends_can_be_changed() {
        check_reading(
            "TimedSource(0.1, abcdef, LIMIT 3, STOP true) -> r :: Resize(2, 3) -> c :: Counter -> Discard;
             Script(write r.head 2000000000, write r.tail -5, write r.tail x)",
            &["r.head", "r.tail", "c.count"],
            expect![[r#"
                While executing 'Script@5 :: Script':
                  While calling 'r.tail x':
                    expected integer
                r.head: 2000000000
                r.tail: -5
                c.count: 0
            "#]],
        );
    }
}
