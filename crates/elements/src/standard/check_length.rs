//! Lets packets pass that are not too long.
//!
//! Packets longer than LENGTH leave by output 1 if it is connected, else they are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> c :: CheckLength(1514) -> Discard;
//! c[1] -> Print(long) -> Discard;
//! ```

use element::{
    offload, per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<CheckLength>("CheckLength", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("LENGTH", "unsigned", "Most bytes of a packet that passes.")];

const HANDLERS: &[Handler] = &[Handler::read_write("length", "Most bytes of a packet that passes.")];

const DROPS: &[DropReason] = &[DropReason::new("too-long", "The packet was longer than allowed.")];
const TOO_LONG: usize = 0;

/// See the page above.
pub struct CheckLength {
    max_len: u32,
}

impl Element for CheckLength {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckLength, Failed> {
        let max_len = conf.args.need("LENGTH");
        conf.finish()?;
        Ok(CheckLength { max_len })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "length" => Ok(self.max_len.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "length" => self.max_len = args::integer(value).map_err(|_| "expected integer")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl CheckLength {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if offload::frame_len(packet) <= self.max_len as usize {
            Verdict::PASS
        } else {
            Verdict::port_or_drop(1, TOO_LONG)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn a_packet_of_just_the_length_passes() {
        let mut check = CheckLength { max_len: 60 };
        assert_eq!(check.process(&mut Packet::zeroed(60)), Verdict::PASS);
        assert_eq!(check.process(&mut Packet::zeroed(61)), Verdict::port_or_drop(1, TOO_LONG));
    }

    #[test]
    fn longer_packets_leave_by_output_1() {
        testing::check(
            r"
            i :: InfiniteSource(abc, LIMIT 1, STOP true) -> c :: CheckLength(3) -> Print(short)
                -> d :: CheckLength(2) -> Print(no) -> Discard;
            c[1] -> Print(no) -> Discard;
            d[1] -> Print(long) -> e :: CheckLength(0) -> Print(no) -> Discard;
            DriverManager(write c.length -1, read c.length, wait_stop);
            ",
            expect![[r#"
                While calling 'c.length -1':
                  expected integer
                c.length:
                3
                short:    3 | 616263
                long:    3 | 616263
            "#]],
        );
    }
}
