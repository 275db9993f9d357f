//! What an IPv4 router does first with every packet, in one element.
//!
//! Does what `Paint(COLOR) -> Strip(14) -> CheckIPHeader -> GetIPAddress(16)` would, faster. Wrong packets are dropped; the
//! first of them is told on standard error.
//!
//! ```click
//! FromDump(in.pcap) -> IPInputCombo(1, INTERFACES 18.26.4.24/24) -> Discard;
//! ```

use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::check_ip_header::DROPS;
use super::failures::Failures;
use super::header_check::{Addresses, HeaderCheck, BADSRC, GOODDST, INTERFACES, NO_SOURCES};
use crate::standard::strip::ShortPackets;

/// The class.
pub const CLASS: Class = Class::new::<IPInputCombo>("IPInputCombo", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("COLOR", "int", "The paint annotation to set."),
    Arg::optional(
        "BADSRC*",
        "list of IP addresses",
        "Sources that are refused besides 0.0.0.0 and 255.255.255.255. Default: none is, those two included.",
    ),
    INTERFACES,
    BADSRC,
    GOODDST,
];

const HANDLERS: &[Handler] = &[Handler::read("drops", "Wrong packets.")];

const ETHERNET: usize = 14;

/// See the page above.
pub struct IPInputCombo {
    colour: u8,
    check: HeaderCheck,
    failures: Failures,
    short: ShortPackets,
}

impl Element for IPInputCombo {
    fn configure(conf: &mut Configure<'_>) -> Result<IPInputCombo, Failed> {
        let colour: i32 = conf.args.need("COLOR");
        let mut check = HeaderCheck { has_checksum: true, ..HeaderCheck::default() };
        let first: Option<Vec<_>> = conf.args.get("BADSRC*");
        check.addresses = Addresses::read(conf);
        if let Some(list) = first {
            check.addresses.bad_sources = list;
            check.addresses.bad_sources.extend(NO_SOURCES);
        }
        conf.finish()?;
        // The annotation holds one byte.
        let failures = Failures::new(DROPS.len(), false, false);
        Ok(IPInputCombo { colour: colour as u8, check, failures, short: ShortPackets::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.short.tell(ctx, ETHERNET);
        self.failures.tell(ctx, sentence);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.short.tell(ctx, ETHERNET);
        self.failures.tell(ctx, sentence);
        batch
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, &[])
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPInputCombo>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl IPInputCombo {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_paint(self.colour);
        self.short.strip(packet, ETHERNET);
        match self.check.check(packet) {
            Ok(()) => Verdict::PASS,
            Err(fault) => {
                self.failures.add(fault as usize, packet);
                Verdict::drop(fault as usize)
            }
        }
    }
}

fn sentence(_ctx: &Ctx<'_>, _reason: usize) -> String {
    "IP checksum failed".to_string()
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_are_painted_stripped_and_checked() {
        check_reading(
            "InfiniteSource(DATA \\<0000 00000000 00000000 0000 0800 45000014 00010000 4011 63d3 0a010101 0a020202 ffff>, \
                LIMIT 1) -> c :: IPInputCombo(7, INTERFACES 10.0.0.1/24) -> Print(p, PRINTANNO true) -> Discard;
             InfiniteSource(DATA \\<0000 00000000 00000000 0000 0800 45000014 00010000 4011 63d4 0a010101 0a020202>, \
                LIMIT 2, STOP true) -> c",
            &["c.drops"],
            expect![[r#"
                p:   20 | 0a0202020000000000000000000000000700000000000000000000000000000000000000000000000000000000000000 | 45000014 00010000 401163d3 0a010101 0a020202
                IP checksum failed
                c.drops: 2
            "#]],
        );
    }

    #[test]
    fn interfaces_decide_over_other_lists() {
        let source = "InfiniteSource(DATA \\<0000 00000000 00000000 0000 0800 45000014 00010000 4011 63d3 0a010101 0a020202>, LIMIT 1)";
        let drops = |args: &str| {
            let printed = crate::testing::run(
                &format!("{source} -> c :: IPInputCombo(1, {args}) -> Discard"),
                &["c.drops"],
            );
            printed.lines().last().unwrap_or_default().to_string()
        };
        assert_eq!(drops("BADSRC 10.1.1.1"), "c.drops: 1");
        assert_eq!(drops("INTERFACES 1.0.0.1/8, BADSRC 10.1.1.1"), "c.drops: 0");
        assert_eq!(drops("10.1.1.1, INTERFACES 1.0.0.1/8"), "c.drops: 1");
        assert_eq!(drops("INTERFACES 10.1.1.1, GOODDST 10.2.2.2"), "c.drops: 1");
    }
}
