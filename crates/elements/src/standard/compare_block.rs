//! Sends packets of senders that send more than they get to output 1.
//!
//! Looks at the forward and the reverse rate annotations, which `IPRateMonitor` sets; rates below 1 count as 1. A packet
//! leaves by output 1 if one of the two is above THRESH and FWD_WEIGHT times the forward rate is more than REV_WEIGHT times the
//! reverse rate; else by output 0. Where packets are pulled, all of them pass.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> IPRateMonitor(PACKETS, 0.5, 256) -> b :: CompareBlock(5, 2, 100) -> Discard;
//! b[1] -> Print(greedy) -> Discard;
//! ```

use element::{annotation, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::block::only_integer;

/// The class.
pub const CLASS: Class =
    Class::new::<CompareBlock>("CompareBlock", "1/2", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("FWD_WEIGHT", "int", "What the forward rate is multiplied by."),
    Arg::required("REV_WEIGHT", "int", "What the reverse rate is multiplied by."),
    Arg::required("THRESH", "int", "Rates up to this pass."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("fwd_weight", "What the forward rate is multiplied by."),
    Handler::read_write("rev_weight", "What the reverse rate is multiplied by."),
];

/// See the page above.
pub struct CompareBlock {
    fwd_weight: i32,
    rev_weight: i32,
    thresh: i32,
}

impl Element for CompareBlock {
    fn configure(conf: &mut Configure<'_>) -> Result<CompareBlock, Failed> {
        let fwd_weight = conf.args.need("FWD_WEIGHT");
        let rev_weight = conf.args.need("REV_WEIGHT");
        let thresh = conf.args.need("THRESH");
        conf.finish()?;
        Ok(CompareBlock { fwd_weight, rev_weight, thresh })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| Verdict::port(usize::from(self.blocks(packet))));
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "fwd_weight" => Ok(self.fwd_weight.to_string()),
            "rev_weight" => Ok(self.rev_weight.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let weight = match name {
            "fwd_weight" => &mut self.fwd_weight,
            "rev_weight" => &mut self.rev_weight,
            _ => return Err(format!("no {name} write handler")),
        };
        *weight = only_integer(value, "expecting one integer")?;
        Ok(())
    }
}

impl CompareBlock {
    #[inline(always)]
    fn blocks(&self, packet: &Packet) -> bool {
        let rate = |offset: usize| (packet.anno_u32(offset) as i32).max(1);
        let (fwd, rev) = (rate(annotation::FWD_RATE), rate(annotation::REV_RATE));
        // Click's products are of 32 bits.
        (fwd > self.thresh || rev > self.thresh)
            && self.fwd_weight.wrapping_mul(fwd) > self.rev_weight.wrapping_mul(rev)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    fn blocks(weights: (i32, i32), fwd: i32, rev: i32) -> bool {
        let mut packet = Packet::zeroed(1);
        packet.set_anno_u32(annotation::FWD_RATE, fwd as u32);
        packet.set_anno_u32(annotation::REV_RATE, rev as u32);
        CompareBlock { fwd_weight: weights.0, rev_weight: weights.1, thresh: 100 }.blocks(&packet)
    }

    #[test]
    fn rates_are_compared_by_weight() {
        assert!(blocks((5, 2), 101, 252) && !blocks((5, 2), 101, 253));
        assert!(!blocks((5, 2), 100, 100) && blocks((5, 2), 100, 101));
        assert!(!blocks((1, 1), 101, 101) && blocks((0, -1), -7, 101));
    }

    #[test]
    fn weights_can_be_changed() {
        check(
            r"i :: InfiniteSource(DATA x, LIMIT 1) -> Paint(9, 20) -> b :: CompareBlock(1, 9, 3) -> Print(ok) -> Discard;
            b[1] -> Print(greedy) -> Discard;
            DriverManager(wait 1s, write b.fwd_weight 2, write i.reset, wait 1s, write b.rev_weight -3, read b.fwd_weight,
                read b.rev_weight, write b.fwd_weight x, write b.rev_weight '1, 2');",
            expect![[r#"
                ok:    1 | 78
                greedy:    1 | 78
                b.fwd_weight:
                2
                b.rev_weight:
                -3
                While executing 'DriverManager@8 :: DriverManager':
                  While calling 'b.fwd_weight x':
                    not an integer
                  While calling 'b.rev_weight '1, 2'':
                    not an integer
            "#]],
        );
    }
}
