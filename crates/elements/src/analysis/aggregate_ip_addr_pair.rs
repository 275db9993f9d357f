//! Numbers pairs of IP addresses in the aggregate annotation.
//!
//! Packets between two hosts get the pair's number, counted from 1, and their direction as paint: 0 like the pair's first packet,
//! 1 for replies. With TIMEOUT a pair that was silent for so long gets a new number. Packets without an IP header leave by
//! output 1 if there is one, else they are dropped.
//!
//! As in Click, there is no limit to the pairs that are known: with forged addresses they are as many as packets. TIMEOUT lets
//! silent ones be forgotten.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> AggregateIPAddrPair(TIMEOUT 60) -> AggregateCounter -> Discard;
//! ```

use args::Seconds;
use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, TimerId, Verdict,
};

use super::aggregate_events::Listeners;
use super::aggregate_ip_flows::set_number;
use super::pair_numbers::PairNumbers;

/// The class.
pub const CLASS: Class = Class::new::<AggregateIpAddrPair>("AggregateIPAddrPair", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("TIMEOUT", "seconds", "Packet time until a silent pair is forgotten. Default 0: never."),
    Arg::keyword("REAP", "seconds", "Packet time between searches for silent pairs. Default 20 minutes."),
];

const HANDLERS: &[Handler] = &[Handler::write("clear", "Forgets all pairs.")];

const NO_HEADER: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-header", "No whole IP header is marked.")];

/// See the page above.
pub struct AggregateIpAddrPair {
    pairs: PairNumbers,
    has_warned: bool,
    /// Who is told that pairs were forgotten.
    listeners: Listeners,
}

impl Element for AggregateIpAddrPair {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateIpAddrPair, Failed> {
        let Seconds::<0>(timeout_s) = conf.args.get_or("TIMEOUT", Seconds(0));
        let Seconds::<0>(reap_s) = conf.args.get_or("REAP", Seconds(20 * 60));
        conf.finish()?;
        let pairs = PairNumbers::new(timeout_s, reap_s);
        Ok(AggregateIpAddrPair { pairs, has_warned: false, listeners: Listeners::default() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.listeners.initialize(ctx);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.listeners.tell_rest(ctx);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        if self.listeners.is_empty() && !self.pairs.needs_time() {
            return ctx.push_each(batch, |packet| self.number(packet));
        }
        let (mut passed, mut rejected) = (Batch::new(), Batch::new());
        for mut packet in batch.drain() {
            self.stamp(ctx, &mut packet);
            let is_numbered = self.number(&mut packet) == Verdict::PASS;
            if !self.pairs.ended.is_empty() {
                // Who listens must have got the packets before this one.
                ctx.emit_now(0, std::mem::take(&mut passed));
                self.tell_ended(ctx);
            }
            let output = if is_numbered { &mut passed } else { &mut rejected };
            output.push(packet);
        }
        ctx.emit(0, passed);
        ctx.emit_or_drop(1, NO_HEADER, rejected);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, if self.listeners.is_empty() { max } else { 1 });
        for packet in batch.iter_mut() {
            self.stamp(ctx, packet);
        }
        ctx.keep_each(&mut batch, |packet| self.number(packet));
        self.tell_ended(ctx);
        batch
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "clear" {
            return Err(format!("no {name} write handler"));
        }
        self.pairs.clear();
        self.tell_ended(ctx);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AggregateIpAddrPair>(ctx, old) else { return };
        self.has_warned = old.has_warned;
        self.pairs.take_over(old.pairs);
    }
}

impl AggregateIpAddrPair {
    /// Who is told that pairs were forgotten.
    pub(super) fn listeners(&mut self) -> &mut Listeners {
        self.pairs.keeps_ended = true;
        &mut self.listeners
    }

    fn tell_ended(&mut self, ctx: &mut Ctx<'_>) {
        for number in self.pairs.ended.drain(..) {
            self.listeners.tell(ctx, number);
        }
    }

    /// Gives a packet that needs a time and has none that of now.
    fn stamp(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        if !self.pairs.needs_time() || packet.timestamp_ns() != 0 || packet.network().len() < 20 {
            return;
        }
        if !std::mem::replace(&mut self.has_warned, true) {
            ctx.chatter(&format!("{}: warning: packet received without timestamp", ctx.own_declaration()));
        }
        let now_ns = ctx.now_ns();
        packet.set_timestamp_ns(now_ns);
    }

    #[inline(always)]
    fn number(&mut self, packet: &mut Packet) -> Verdict {
        let Some(header) = packet.network().first_chunk::<20>() else {
            return Verdict::port_or_drop(1, NO_HEADER);
        };
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
        let hosts = [[s0, s1, s2, s3], [d0, d1, d2, d3]].map(u32::from_ne_bytes);
        let (number, is_reply) = self.pairs.number(hosts, packet.timestamp_ns());
        set_number(packet, number, u8::from(is_reply));
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn both_directions_of_a_pair_have_one_number() {
        check_reading(
            "FromIPSummaryDump(DATA \"!data ip_src ip_dst\n9.0.0.1 1.0.0.2\n1.0.0.2 9.0.0.1\n1.0.0.2 9.0.0.2\n1.0.0.2 1.0.0.2\n9.0.0.1 1.0.0.2\n\", STOP true)
             -> p :: AggregateIPAddrPair -> IPPrint(AGGREGATE true, PAINT true) -> Discard;
             InfiniteSource(DATA x, LIMIT 1) -> p; p[1] -> c :: Counter -> Discard;",
            &["c.count"],
            expect![[r#"
                0.000000: #1.0: 9.0.0.1.0 > 1.0.0.2.0: . 0:0(0,40,40) win 0
                0.000000: #1.1: 1.0.0.2.0 > 9.0.0.1.0: . 0:0(0,40,40) win 0
                0.000000: #2.0: 1.0.0.2.0 > 9.0.0.2.0: . 0:0(0,40,40) win 0
                0.000000: #3.0: 1.0.0.2.0 > 1.0.0.2.0: . 0:0(0,40,40) win 0
                0.000000: #1.0: 9.0.0.1.0 > 1.0.0.2.0: . 0:0(0,40,40) win 0
                c.count: 1
            "#]],
        );
    }

    #[test]
    fn silent_pairs_get_new_numbers() {
        check(
            "FromIPSummaryDump(DATA \"!data timestamp ip_src ip_dst\n10 1.0.0.1 1.0.0.2\n20 1.0.0.1 1.0.0.3\n30 1.0.0.2 1.0.0.1\n40 1.0.0.1 1.0.0.3\n41 1.0.0.1 1.0.0.9\n0 1.0.0.1 1.0.0.9\n0 1.0.0.1 1.0.0.9\n\", STOP true)
             -> p :: AggregateIPAddrPair(TIMEOUT 19, REAP 25) -> IPPrint(AGGREGATE true, PAINT true)
             -> AggregateLast(NOTIFIER p) -> IPPrint(ended) -> Discard; DriverManager(wait_stop, print clear, write p.clear)",
            expect![[r#"
                10.000000: #1.0: 1.0.0.1.0 > 1.0.0.2.0: . 0:0(0,40,40) win 0
                20.000000: #2.0: 1.0.0.1.0 > 1.0.0.3.0: . 0:0(0,40,40) win 0
                ended: 10.000000: 1.0.0.1.0 > 1.0.0.2.0: . 0:0(0,40,40) win 0
                30.000000: #3.0: 1.0.0.2.0 > 1.0.0.1.0: . 0:0(0,40,40) win 0
                ended: 20.000000: 1.0.0.1.0 > 1.0.0.3.0: . 0:0(0,40,40) win 0
                40.000000: #4.0: 1.0.0.1.0 > 1.0.0.3.0: . 0:0(0,40,40) win 0
                41.000000: #5.0: 1.0.0.1.0 > 1.0.0.9.0: . 0:0(0,40,40) win 0
                p :: AggregateIPAddrPair: warning: packet received without timestamp
                ended: 41.000000: 1.0.0.1.0 > 1.0.0.9.0: . 0:0(0,40,40) win 0
                ended: 30.000000: 1.0.0.2.0 > 1.0.0.1.0: . 0:0(0,40,40) win 0
                ended: 40.000000: 1.0.0.1.0 > 1.0.0.3.0: . 0:0(0,40,40) win 0
                1000000000.000000: #6.0: 1.0.0.1.0 > 1.0.0.9.0: . 0:0(0,40,40) win 0
                1000000000.000000001: #6.0: 1.0.0.1.0 > 1.0.0.9.0: . 0:0(0,40,40) win 0
                no 'clear' read handler
                ended: 1000000000.000000001: 1.0.0.1.0 > 1.0.0.9.0: . 0:0(0,40,40) win 0
            "#]],
        );
    }
}
