//! Shortens packets.
//!
//! Removes what is beyond byte LENGTH. The extra length annotation grows by the bytes that were removed, so that `Pad` and
//! those who count bytes know how long the packet was.
//!
//! ```click
//! FromDump(in.pcap) -> Truncate(68) -> ToDump(out.pcap);
//! ```

use element::{
    annotation, offload, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet,
    Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<Truncate>("Truncate", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .live();

const ARGS: &[Arg] = &[
    Arg::required("LENGTH", "unsigned", "Most bytes that are left."),
    Arg::keyword("EXTRA_LENGTH", "bool", "Whether to add to the extra length annotation. Default true."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("nbytes", "Most bytes that are left.")];

/// See the page above.
pub struct Truncate {
    max_len: u32,
    adds_extra_length: bool,
}

impl Element for Truncate {
    fn configure(conf: &mut Configure<'_>) -> Result<Truncate, Failed> {
        let max_len = conf.args.need("LENGTH");
        let adds_extra_length = conf.args.get_or("EXTRA_LENGTH", true);
        conf.finish()?;
        Ok(Truncate { max_len, adds_extra_length })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "nbytes" => Ok(self.max_len.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "nbytes" => self.max_len = args::integer(value).map_err(|_| "expected integer")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl Truncate {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let n_removed = packet.len().saturating_sub(self.max_len as usize);
        if n_removed > 0 {
            offload::settle(packet);
            if self.adds_extra_length {
                let extra = packet.anno_u32(annotation::EXTRA_LENGTH);
                packet.set_anno_u32(annotation::EXTRA_LENGTH, extra.wrapping_add(n_removed as u32));
            }
            packet.take(n_removed);
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(max_len: u32, adds_extra_length: bool, expect: Expect) {
        let mut packet = Packet::from_bytes(b"12345678");
        packet.set_anno_u32(annotation::EXTRA_LENGTH, 10);
        let verdict = Truncate { max_len, adds_extra_length }.process(&mut packet);
        assert_eq!(verdict, Verdict::PASS);
        let extra = packet.anno_u32(annotation::EXTRA_LENGTH);
        expect.assert_eq(&format!("{} {extra}", String::from_utf8_lossy(packet.data())));
    }

    #[test]
    fn the_extra_length_grows_by_what_is_removed() {
        check(5, true, expect!["12345 13"]);
        check(5, false, expect!["12345 10"]);
        check(8, true, expect!["12345678 10"]);
        check(0, true, expect![" 18"]);
    }
}
