//! Measures the rates from and to IP addresses, the closer the higher they are.
//!
//! Packets of input 0 count for their source address, those of input 1 for their destination address, and leave by the output
//! of the same number; their IPv4 headers must be marked. At first there is a pair of rates for each first byte of an address.
//! Where one of them reaches THRESH a second, rates are kept for each second byte, too, and so on down to addresses. Rates
//! that have fallen are folded together again.
//!
//! Every packet is annotated with the rates that are kept closest to its address.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> m :: IPRateMonitor(BYTES, 1, 10000) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{FixedPoint, Word};
use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal};

use super::rate_tree::{epoch, RateTree, PER_SECOND};

/// The class.
pub const CLASS: Class = Class::new::<IPRateMonitor>("IPRateMonitor", "1-2/1-2", "a/a", "x/x")
    .causes(Causes::CHANGES)
    .args(ARGS)
    .pulls_first()
    .handlers(HANDLERS)
    .refuses(&[("anno_level", Refusal::Failed), ("memmax", Refusal::Failed)]);

const ARGS: &[Arg] = &[
    Arg::required("TYPE", "PACKETS or BYTES", "What is counted."),
    Arg::required("RATIO", "fixed point", "Which part of the packets is counted, 0 to 1."),
    Arg::required("THRESH", "int", "Rate a second from which on rates are kept closer."),
    Arg::optional("MEMORY", "unsigned", "Kilobytes to be used, at least 100; 0 is no limit. Default 0."),
    Arg::optional("ANNO", "bool", "Whether packets are annotated. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("thresh", "THRESH, as far as it is for the packets counted.").flags("alike"),
    Handler::read(
        "look",
        "Time since the start or reset in units of 8 ms; then addresses, rates from and to them.",
    ),
    Handler::read("mem", "Bytes used."),
    Handler::read_write("memmax", "Most bytes to be used; written in kilobytes."),
    Handler::write(
        "anno_level",
        "`ADDRESS, LEVEL, SECONDS`: for so long no closer rates for this address than of its byte LEVEL.",
    ),
    Handler::write("reset", "Forgets all rates.").flags("button"),
];

/// Offsets of the annotations.
const FROM_RATE: usize = 20;
const TO_RATE: usize = 24;
const KB_MIN: u64 = 100;
const RATIO_BITS: u32 = 16;
const ALWAYS: u32 = 1 << RATIO_BITS;

/// See the page above.
pub struct IPRateMonitor {
    counts_bytes: bool,
    annotates: bool,
    ratio: u32,
    tree: RateTree,
}

impl Element for IPRateMonitor {
    fn configure(conf: &mut Configure<'_>) -> Result<IPRateMonitor, Failed> {
        let Word(ty) = conf.args.need("TYPE");
        let FixedPoint(ratio) = conf.args.need::<FixedPoint<RATIO_BITS>>("RATIO");
        let threshold: i32 = conf.args.need("THRESH");
        let memory: u64 = conf.args.get_or("MEMORY", 0);
        let annotates = conf.args.get_or("ANNO", true);
        conf.finish()?;
        let counts_bytes = match ty.to_ascii_uppercase().as_str() {
            "PACKETS" => false,
            "BYTES" => true,
            _ => return Err("monitor type should be \"PACKETS\" or \"BYTES\"".into()),
        };
        if ratio > ALWAYS {
            return Err("ratio must be between 0 and 1".into());
        }
        let threshold = ((threshold as u32).wrapping_mul(ratio) >> RATIO_BITS) as i32;
        Ok(IPRateMonitor { counts_bytes, annotates, ratio, tree: RateTree::new(threshold, bytes(memory)) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.tree.since = epoch(ctx.now_ns());
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        batch.iter_mut().for_each(|packet| self.count(ctx, port, packet));
        ctx.emit(port, batch);
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((port, max))
    }

    fn pulled(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) -> Batch {
        batch.iter_mut().for_each(|packet| self.count(ctx, port, packet));
        batch
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "thresh" => self.tree.threshold.to_string(),
            "look" => self.tree.look(epoch(ctx.now_ns())),
            "mem" => self.tree.memory().to_string(),
            "memmax" => self.tree.memory_max.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let now = epoch(ctx.now_ns());
        match name {
            "anno_level" => self.write_level(ctx, value, now)?,
            "reset" => self.tree.reset(now),
            "memmax" => {
                let [kb] = args::split_args(value).try_into().map_err(|_| "expecting 1 integer")?;
                let kb: i32 = args::integer(&kb).map_err(|_| "not an integer")?;
                self.tree.memory_max = bytes(u64::try_from(kb).unwrap_or(KB_MIN));
                self.tree.shrink(now, || ctx.random_between(0, 1) == 1);
                self.look_as_often(ctx);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPRateMonitor>(ctx, old) else { return };
        if old.counts_bytes == self.counts_bytes {
            self.tree.take_over(old.tree);
            self.tree.shrink(epoch(ctx.now_ns()), || ctx.random_between(0, 1) == 1);
        }
    }
}

/// A memory limit in bytes.
fn bytes(kb: u64) -> usize {
    let kb = if kb == 0 { 0 } else { kb.max(KB_MIN) };
    (kb as usize).wrapping_mul(1024)
}

impl IPRateMonitor {
    fn count(&mut self, ctx: &mut Ctx<'_>, port: usize, packet: &mut Packet) {
        let is_counted = ctx.random() >> 5 & 0xFFFF <= self.ratio;
        let Some(ip) = packet.network().first_chunk::<20>() else { return };
        let n = if self.counts_bytes { u16::from_be_bytes([ip[2], ip[3]]) } else { 1 };
        let at = if port == 0 { 12 } else { 16 };
        let address = [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
        let now = epoch(ctx.now_ns());
        let counted = is_counted.then_some(u64::from(n));
        let rates = self.tree.count(address, usize::from(port != 0), counted, now);
        if let Some([from, to]) = rates.filter(|_| self.annotates) {
            packet.set_anno(FROM_RATE, from.to_ne_bytes());
            packet.set_anno(TO_RATE, to.to_ne_bytes());
        }
        if self.tree.is_fold_due(now) {
            self.tree.fold_now(now, ctx.random_between(0, 1) == 1);
        }
        self.look_as_often(ctx);
    }

    /// Looks at the clock as often as Click has by now: simulated time shows it.
    fn look_as_often(&mut self, ctx: &mut Ctx<'_>) {
        ctx.let_pass(self.tree.take_looks().into());
    }

    fn write_level(&mut self, ctx: &Ctx<'_>, value: &str, now: u32) -> Result<(), String> {
        let [address, level, seconds] =
            args::split_args(value).try_into().map_err(|_| "expecting 3 arguments")?;
        let address: Ipv4Addr = args::ip(&address, &ctx.scope()).map_err(|_| "not an IP address")?;
        let level = args::integer::<usize>(&level).ok().filter(|level| *level < 4);
        let level = level.ok_or("2nd argument specifies a level, between 0 and 3, to annotate")?;
        let seconds = args::integer::<i32>(&seconds).ok().and_then(|n| u32::try_from(n).ok());
        let seconds = seconds.filter(|seconds| *seconds > 0);
        let seconds = seconds.ok_or("3rd argument specifies when this rule expires, must be > 0")?;
        let until = seconds.wrapping_mul(PER_SECOND).wrapping_add(now);
        self.tree.set_level(address.octets(), level, until);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run};
    use expect_test::expect;

    #[test]
    fn simulated_time_passes_as_in_click() {
        check(
            "RatedSource(RATE 10, LIMIT 4) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> IPRateMonitor(PACKETS, 0, 1) -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard; Script(wait 0.5, stop)",
            expect![[r#"
                q: 1000000000.000000006:   89
                q: 1000000000.000000010:   89
                q: 1000000000.101000016:   89
                q: 1000000000.201000022:   89
            "#]],
        );
    }

    #[test]
    fn rates_are_kept_closer_where_they_are_high() {
        let graph =
            "s :: RatedSource(RATE 1000, LENGTH 20) -> UDPIPEncap(1.2.3.4, 5, 6.7.8.9, 10) -> t :: Tee
            -> m :: IPRateMonitor(PACKETS, 1, 100) -> Discard; t [1] -> [1] m [1] -> Discard;
            DriverManager(wait 20ms, print m.look, writeq m.anno_level \"1.2.0.0, 1, 10\", wait 2s, stop)";
        expect![[r#"
            m.look: 252
            1	998.169	0
            	1.2	998.169	0
            		1.2.3	998.169	0
            			1.2.3.4	998.169	0
            6	0	998.169
            	6.7	0	998.169
            		6.7.8	0	998.169
            			6.7.8.9	0	998.169

            m.thresh: 100
            m.mem: 14880
            m.memmax: 0
        "#]]
        .assert_eq(&run(graph, &["m.look", "m.thresh", "m.mem", "m.memmax"]));
    }

    #[test]
    fn what_has_fallen_is_folded() {
        let graph = "s :: RatedSource(RATE 1000, LENGTH 20) -> UDPIPEncap(1.2.3.4, 5, 6.7.8.9, 10)
            -> m :: IPRateMonitor(BYTES, 1, 100) -> Discard;
            DriverManager(wait 2s, print m.mem, write s.rate 1, write m.memmax 1, wait 20s, print m.mem, write m.reset, stop)";
        expect![[r#"
            m.look: 0

            m.memmax: 102400
        "#]]
        .assert_eq(&run(graph, &["m.look", "m.memmax"]));
    }

    #[test]
    fn a_seed_decides_where_folding_begins() {
        let source = |limit, rate, address| {
            format!("RatedSource(RATE {rate}, LENGTH 20, LIMIT {limit}) -> UDPIPEncap({address}, 5, 6.7.8.9, 10) -> m;")
        };
        let graph = format!(
            "RandomSeed(7); m :: IPRateMonitor(BYTES, 1, 5, 100) -> Discard; {}{}{}{}
            DriverManager(wait 2.95s, stop)",
            source(100, 1000, "1.2.3.4"),
            source(100, 1000, "2.2.3.4"),
            source(100, 1000, "3.2.3.4"),
            source(-1, 10, "4.2.3.4"),
        );
        expect![[r#"
            m.mem: 14960
        "#]]
        .assert_eq(&run(&graph, &["m.mem"]));
    }

    #[test]
    fn wrong_values_are_told() {
        let graph = "s :: RatedSource(RATE 1000, LENGTH 20) -> UDPIPEncap(1.2.3.4, 5, 6.7.8.9, 10)
            -> m :: IPRateMonitor(PACKETS, 1, 10000) -> Discard;
            DriverManager(wait 3ms, write m.anno_level 1, writeq m.anno_level \"1.2.3.4, 9, 1\", write m.memmax x, stop)";
        expect![[r#"
            While executing 'DriverManager@5 :: DriverManager':
              While calling 'm.anno_level 1':
                expecting 3 arguments
              While calling 'm.anno_level 1.2.3.4, 9, 1':
                2nd argument specifies a level, between 0 and 3, to annotate
              While calling 'm.memmax x':
                not an integer
            m.handlers: reset	wb
            anno_level	w
            memmax	rw
            mem	r
            look	r
            thresh	r
            handlers	r.
            ports	r.
            config	r.
            class	r.
            name	r.

        "#]]
        .assert_eq(&run(graph, &["m.handlers"]));
    }

    #[test]
    fn what_does_not_fit_is_told() {
        crate::ip::tests::check_mistake(
            "IPRateMonitor(BITS, 1, 1)",
            expect![[r#"monitor type should be "PACKETS" or "BYTES""#]],
        );
        crate::ip::tests::check_mistake(
            "IPRateMonitor(BYTES, 1.5, 1)",
            expect!["ratio must be between 0 and 1"],
        );
        crate::ip::tests::check_mistake(
            "IPRateMonitor(BYTES, x)",
            expect!["RATIO: parse error; THRESH: required argument missing"],
        );
        crate::ip::tests::check_mistake(
            "IPRateMonitor(BYTES, 1, 1, 18446744073709551616)",
            expect!["MEMORY: out of range, bound 18446744073709551615"],
        );
    }
}
