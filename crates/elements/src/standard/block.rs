//! Sends packets of fast senders to output 1.
//!
//! A packet whose forward rate annotation, set by `IPRateMonitor`, is above THRESH leaves by output 1, others leave by output 0.
//! THRESH 0 lets all packets pass. Where packets are pulled, all of them pass.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> IPRateMonitor(PACKETS, 0.5, 256) -> b :: Block(500) -> Discard;
//! b[1] -> Print(fast) -> Discard;
//! ```

use element::{annotation, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Refusal, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Block>("Block", "1/2", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("thresh", Refusal::Failed)]);

const ARGS: &[Arg] = &[Arg::required("THRESH", "int", "The highest rate that passes; 0 is no limit.")];

const HANDLERS: &[Handler] = &[Handler::read_write("thresh", "The highest rate that passes; 0 is no limit.")];

/// See the page above.
pub struct Block {
    thresh: i32,
}

impl Element for Block {
    fn configure(conf: &mut Configure<'_>) -> Result<Block, Failed> {
        let thresh = conf.args.need("THRESH");
        conf.finish()?;
        Ok(Block { thresh })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| {
            let rate = packet.anno_u32(annotation::FWD_RATE) as i32;
            Verdict::port(usize::from(self.thresh != 0 && rate > self.thresh))
        });
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "thresh" => Ok(self.thresh.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "thresh" => self.thresh = only_integer(value, "expecting 1 integer")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

/// The integer that a value consists of; `wanted` is what is told if there are more or fewer values.
pub(super) fn only_integer(value: &str, wanted: &str) -> Result<i32, String> {
    match args::split_args(value).as_slice() {
        [only] => args::integer(only).map_err(|_| "not an integer".to_string()),
        _ => Err(wanted.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    /// Annotations are in host order, here with the low byte first.
    #[test]
    fn rates_above_the_threshold_are_sorted_out() {
        check(
            r"i :: InfiniteSource(DATA x, LIMIT 1) -> t :: Tee(3);
            t[0] -> Paint(5, 20) -> b :: Block(5) -> Print(ok) -> Discard; b[1] -> Print(fast) -> Discard;
            t[1] -> Paint(6, 20) -> b;
            t[2] -> Paint(128, 23) -> b;
            DriverManager(wait 1s, write b.thresh 0, write i.reset, wait 1s, write b.thresh -5, read b.thresh,
                write i.reset, wait 1s, write b.thresh 1 2, write b.thresh '1, 2', write b.thresh);",
            expect![[r#"
                ok:    1 | 78
                fast:    1 | 78
                ok:    1 | 78
                ok:    1 | 78
                ok:    1 | 78
                ok:    1 | 78
                b.thresh:
                -5
                fast:    1 | 78
                fast:    1 | 78
                ok:    1 | 78
                While executing 'DriverManager@11 :: DriverManager':
                  While calling 'b.thresh 1 2':
                    not an integer
                  While calling 'b.thresh '1, 2'':
                    not an integer
                  While calling 'b.thresh':
                    expecting 1 integer
            "#]],
        );
    }

    #[test]
    fn pulled_packets_all_pass() {
        check(
            "InfiniteSource(DATA x, LIMIT 4, STOP true) -> Paint(9, 20) -> Queue -> b :: Block(5) -> Print(a) -> Discard;
            b[1] -> Print(b) -> Discard;",
            expect![[r#"
                a:    1 | 78
                a:    1 | 78
                a:    1 | 78
                a:    1 | 78
            "#]],
        );
    }
}
