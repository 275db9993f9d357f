//! Numbers TCP and UDP flows in the aggregate annotation.
//!
//! The packets of a flow get its number, counted from 1, and their direction as paint: 0 like the flow's first packet, 1
//! for replies; with ICMP true, errors about a flow get its number and paint 2 or 3. A flow ends when it was silent for
//! too long, and a finished TCP flow when a SYN follows. Other packets, and short ones, leave by output 1 if there is one.
//!
//! In a push context later fragments wait until the first one has told the ports, up to FRAGMENT_TIMEOUT seconds of packet
//! time; packets between the same two hosts wait behind them. Writing `clear` ends all flows and lets fragments go.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> af :: AggregateIPFlows -> AggregateCounter -> Discard;
//! DriverManager(wait, write af.clear);
//! ```

use std::collections::HashMap;

use args::{Filename, Seconds};
use element::{
    annotation, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, ElementIdx,
    Failed, Handler, Packet, RecordFile, TimerId,
};

use super::aggregate_events::Listeners;
use super::flow_key::Key;
use super::flow_numbers::{Fate, Flow, FlowNumbers, Seen, Timeouts};

/// The class.
pub const CLASS: Class = Class::new::<AggregateIPFlows>("AggregateIPFlows", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .causes(Causes::LINES.and(Causes::MORE))
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("TCP_TIMEOUT", "unsigned", "Seconds until a silent TCP flow ends. Default 86400."),
    Arg::keyword("TCP_DONE_TIMEOUT", "unsigned", "The same for a finished TCP flow. Default 30."),
    Arg::keyword("UDP_TIMEOUT", "seconds", "Time until a silent UDP flow ends. Default 60."),
    Arg::keyword("FRAGMENT_TIMEOUT", "seconds", "How long fragments wait for the first one. Default 30."),
    Arg::keyword("REAP", "seconds", "Packet time between searches for ended flows. Default 20 minutes."),
    Arg::keyword("ICMP", "boolean", "Whether ICMP errors belong to flows. Default false."),
    Arg::keyword("TRACEINFO", "filename", "Where to describe the flows in XML, `-` for standard output."),
    Arg::keyword("SOURCE", "element", "Whose `filename` is part of that description."),
    Arg::keyword("FRAGMENTS", "boolean", "Whether later fragments belong to flows. Default true if push."),
];

const HANDLERS: &[Handler] = &[Handler::write("clear", "Ends all flows; fragments that wait go on.")];

const DROPS: &[DropReason] = &[
    DropReason::new("no-flow", "Neither TCP nor UDP, or too short, or a later fragment."),
    DropReason::new("lost-fragment", "The first fragment did not come in time."),
];
const NO_FLOW: usize = 0;
const LOST_FRAGMENT: usize = 1;

/// See the page above.
pub struct AggregateIPFlows {
    flows: FlowNumbers,
    /// Storage for what a batch's headers say.
    seen: Vec<Seen>,
    fragments: Option<bool>,
    has_warned: bool,
    trace: Option<RecordFile>,
    trace_name: String,
    /// Whether the description is one that another element has begun.
    goes_on: bool,
    source: Option<ElementIdx>,
    /// The handler that tells where in the capture a packet stands.
    filepos: Option<String>,
    /// Where the first packets of flows stood, by the flows' numbers.
    positions: HashMap<u32, u32>,
    /// Who is told that flows have ended.
    listeners: Listeners,
}

impl Element for AggregateIPFlows {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateIPFlows, Failed> {
        let timeouts = Timeouts {
            tcp: conf.args.get_or("TCP_TIMEOUT", 24 * 60 * 60),
            tcp_done: conf.args.get_or("TCP_DONE_TIMEOUT", 30),
            udp: conf.args.get_or::<Seconds<0>>("UDP_TIMEOUT", Seconds(60)).0,
            fragment: conf.args.get_or::<Seconds<0>>("FRAGMENT_TIMEOUT", Seconds(30)).0,
            reap: conf.args.get_or::<Seconds<0>>("REAP", Seconds(20 * 60)).0,
        };
        let takes_icmp = conf.args.get_or("ICMP", false);
        let Filename(trace_name) = conf.args.get_or("TRACEINFO", Filename::default());
        let trace_name = conf.file_of_replica(trace_name);
        let source = conf.element("SOURCE", &[]);
        let fragments = conf.args.get("FRAGMENTS");
        conf.finish()?;
        let flows = FlowNumbers::new(timeouts, takes_icmp);
        Ok(AggregateIPFlows {
            flows,
            seen: Vec::new(),
            fragments,
            has_warned: false,
            trace: None,
            trace_name,
            goes_on: false,
            source,
            filepos: None,
            positions: HashMap::new(),
            listeners: Listeners::default(),
        })
    }

    fn causes(&self, usual: Causes) -> Causes {
        if !self.listeners.is_empty() || self.filepos.is_some() || self.trace_name == "-" {
            Causes::ANYTHING
        } else if self.flows.keeps_fragments {
            usual
        } else {
            Causes::LINES
        }
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.trace_name.is_empty() {
            self.open_trace(ctx)?;
        }
        let is_push = ctx.input_is_push(0);
        if self.fragments == Some(true) && !is_push {
            let text = "'FRAGMENTS true' is incompatible with pull; run this element in a push context";
            return Err(text.to_string());
        }
        self.flows.keeps_fragments = self.fragments.unwrap_or(is_push);
        self.listeners.initialize(ctx);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.listeners.tell_rest(ctx);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let passed = self.number(ctx, batch);
        ctx.emit(0, passed);
        self.emit_fragments(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        // What was pulled before a flow's end is told must be with the puller by then.
        let batch = ctx.pull(0, if self.listeners.is_empty() { max } else { 1 });
        self.number(ctx, batch)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "clear" {
            return Err(format!("no {name} write handler"));
        }
        self.flows.clear();
        self.emit_fragments(ctx);
        self.tell_ended(ctx);
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.flows.end_all();
        self.write_trace(ctx);
        if let Some(mut trace) = self.trace.take() {
            let end = if self.trace_name == "-" { "" } else { "</trace>\n" };
            trace.write(end.as_bytes());
            trace.flush();
            trace.tell_fault(ctx);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<AggregateIPFlows>(ctx, old) else { return };
        self.has_warned = old.has_warned;
        if self.goes_on {
            self.trace = old.trace.take();
        }
        self.flows.take_over(&mut old.flows);
        if self.filepos.is_some() {
            self.positions = std::mem::take(&mut old.positions);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<AggregateIPFlows>(old)
            .is_some_and(|old| old.trace.is_some() && old.trace_name == self.trace_name);
    }
}

impl AggregateIPFlows {
    /// Numbers the packets of a batch; those that leave by output 0 at once are returned, or, once fragments were let go,
    /// queued behind them.
    fn number(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) -> Batch {
        let AggregateIPFlows { flows, seen, .. } = self;
        if seen.len() < batch.len() {
            seen.resize(batch.len(), Seen::default());
        }
        batch.iter().zip(&mut *seen).for_each(|(packet, seen)| *seen = flows.look(packet));
        seen.iter_mut().take(batch.len()).for_each(|seen| flows.prefetch(seen));
        let mut both = batch.iter_mut().zip(&*seen);
        match both.position(|(packet, seen)| !flows.number_known(packet, seen)) {
            Some(n_known) => self.number_others(ctx, batch, n_known),
            None => batch,
        }
    }

    /// Numbers the packets of a batch behind the first `n_known`.
    fn number_others(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch, n_known: usize) -> Batch {
        let (mut passed, mut rejected) = (batch.split_first(n_known), Batch::new());
        let seen = std::mem::take(&mut self.seen);
        for (mut packet, seen) in batch.drain().zip(seen.iter().skip(n_known)) {
            if self.flows.number_known(&mut packet, seen) {
                passed.push(packet);
                continue;
            }
            if packet.timestamp_ns() == 0 {
                self.stamp(ctx, &mut packet);
            }
            let fate = self.flows.number(&mut packet, seen);
            if let Some(begun) = self.flows.begun.take() {
                self.note_filepos(ctx, begun);
            }
            let packet = match fate {
                Fate::Wait(flow) => {
                    self.flows.add_fragment(packet, flow);
                    None
                }
                _ => Some(packet),
            };
            self.flows.reap_if_due();
            if !self.flows.ended.is_empty() && !self.listeners.is_empty() {
                // Who hears of a flow's end must have its last packets by then.
                ctx.emit_now(0, std::mem::take(&mut passed));
                self.emit_fragments(ctx);
                self.tell_ended(ctx);
            }
            if !self.flows.released.is_empty() {
                ctx.emit(0, std::mem::take(&mut passed));
                self.emit_fragments(ctx);
            }
            match (packet, fate) {
                (Some(packet), Fate::Pass) => passed.push(packet),
                (Some(packet), _) => rejected.push(packet),
                (None, _) => {}
            }
        }
        self.seen = seen;
        self.tell_ended(ctx);
        ctx.count_drops(LOST_FRAGMENT, std::mem::take(&mut self.flows.n_lost));
        ctx.emit_or_drop(1, NO_FLOW, rejected);
        passed
    }

    #[cold]
    fn stamp(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        if !std::mem::replace(&mut self.has_warned, true) {
            let text = format!("{}: warning: packet received without timestamp", ctx.own_declaration());
            ctx.chatter_of(packet.place(), &text);
        }
        let now = ctx.now_ns();
        packet.set_timestamp_ns(now);
    }

    fn note_filepos(&mut self, ctx: &mut Ctx<'_>, begun: u32) {
        let Some(text) = self.filepos.as_ref().and_then(|name| ctx.read_handler(name, "").ok()) else {
            return;
        };
        if let Ok(filepos) = args::bounded_integer(text.trim(), 0, u64::from(u32::MAX)) {
            self.positions.insert(begun, filepos as u32);
        }
    }

    fn emit_fragments(&mut self, ctx: &mut Ctx<'_>) {
        for packet in self.flows.released.drain(..) {
            ctx.emit_now(0, Batch::of(packet));
        }
        ctx.count_drops(LOST_FRAGMENT, std::mem::take(&mut self.flows.n_lost));
    }

    fn open_trace(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let handler = |name: &str| self.source.map(|source| format!("{}.{name}", ctx.name(source)));
        let (name, filepos) = (handler("filename"), handler("packet_filepos"));
        self.filepos = filepos.filter(|handler| ctx.handler_exists(handler).0);
        self.flows.keeps_ended = true;
        if self.goes_on {
            return Ok(());
        }
        let mut trace = RecordFile::create(&self.trace_name)?;
        let name = name.and_then(|handler| ctx.read_handler(&handler, "").ok()).unwrap_or_default();
        let file = if name.trim().is_empty() { String::new() } else { format!(" file='{}'", name.trim()) };
        let head = format!("<?xml version='1.0' standalone='yes'?>\n<trace{file}>\n");
        trace.write(head.as_bytes());
        self.trace = Some(trace);
        Ok(())
    }

    /// Describes the flows that have ended since the last time.
    fn write_trace(&mut self, ctx: &mut Ctx<'_>) {
        let Some(trace) = &mut self.trace else { return };
        for (key, flow) in self.flows.ended.drain(..) {
            let filepos = self.positions.remove(&flow.number);
            trace.write(describe(&key, &flow, filepos).as_bytes());
        }
        trace.tell_fault(ctx);
    }

    /// Describes the flows that have ended since the last time, and tells who listens.
    fn tell_ended(&mut self, ctx: &mut Ctx<'_>) {
        for (_, flow) in &self.flows.ended {
            self.listeners.tell(ctx, flow.number);
        }
        self.write_trace(ctx);
        self.flows.ended.clear();
    }

    /// Who is told that flows have ended.
    pub(super) fn listeners(&mut self) -> &mut Listeners {
        self.flows.keeps_ended = true;
        &mut self.listeners
    }
}

fn describe(key: &Key, flow: &Flow, filepos: Option<u32>) -> String {
    let ((src, sport), (dst, dport)) = key.ends(flow.is_reversed);
    let [begin, duration] = [flow.first_ns, flow.last_ns.wrapping_sub(flow.first_ns)].map(nine_digits);
    let [forward, back] = flow.n_packets;
    let filepos =
        filepos.filter(|at| *at != 0).map_or(String::new(), |filepos| format!(" filepos='{filepos}'"));
    format!(
        "<flow aggregate='{}' src='{src}' sport='{sport}' dst='{dst}' dport='{dport}' begin='{begin}' \
         duration='{duration}'{filepos}>\n  <stream dir='0' packets='{forward}' /><stream dir='1' packets='{back}' />\n\
         </flow>\n",
        flow.number
    )
}

/// Seconds as Click writes them here, the fraction counted upwards even where they are negative.
fn nine_digits(ns: i64) -> String {
    format!("{}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000))
}

/// The number and the paint that a packet got.
pub(super) fn set_number(packet: &mut Packet, number: u32, paint: u8) {
    packet.set_anno_u32(annotation::AGGREGATE, number);
    packet.set_paint(paint);
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    /// A source of one UDP packet with a time, its flags and fragment offset, and its rest.
    fn source(name: &str, fragment: &str, ends: &str, at: u32) -> String {
        format!(
            "InfiniteSource(DATA \\<4500001c0001{fragment}401100000{ends}>, LIMIT 1) -> SetTimestamp({at}) -> {name};\n"
        )
    }

    #[test]
    fn numbers_both_directions_alike() {
        let there = "a0102030a040506 0035 0036 0008 0000";
        let back = "a0405060a010203 0036 0035 0008 0000";
        let other = "a0405060a010203 0037 0035 0008 0000";
        let config =
            "m :: MarkIPHeader -> af :: AggregateIPFlows -> c :: AggregateCounter -> p :: PaintSwitch;
             p [0] -> there :: Counter -> Discard; p [1] -> back :: Counter -> Discard;\n"
                .to_string()
                + &source("m", "0000", there, 100)
                + &source("m", "0000", back, 101)
                + &source("m", "0000", other, 102)
                + &source("m", "0000", there, 900);
        check_reading(
            &config,
            &["c.nagg", "there.count", "back.count"],
            expect![[r#"
            c.nagg: 3
            there.count: 3
            back.count: 1
        "#]],
        );
    }

    #[test]
    fn fragments_wait_for_the_first() {
        let ends = "a0102030a040506 0035 0036 0008 0000";
        let config = "m :: MarkIPHeader -> af :: AggregateIPFlows -> c :: AggregateCounter -> Discard;
             DriverManager(wait_time 1, print c.count, write af.clear, print c.count, print c.nagg, stop);\n"
            .to_string()
            + &source("m", "0002", ends, 100)
            + &source("m", "2000", ends, 101);
        check_reading(
            &config,
            &["c.nagg", "c.count"],
            expect![[r#"
            c.nagg: 1
            c.count: 2
        "#]],
        );
    }

    #[test]
    fn fragments_come_before_the_end_of_their_flow_is_told() {
        let ends = "a0102030a040506 0035 0036 0008 0000";
        let config = "m :: MarkIPHeader -> af :: AggregateIPFlows -> AggregateLast(NOTIFIER af) -> IPPrint(last) -> Discard;
             Script(wait 1, write af.clear, stop);\n"
            .to_string()
            + &source("m", "0002", ends, 100)
            + &source("m", "2000", ends, 101);
        check_reading(
            &config,
            &[],
            expect![[r#"
            last: 101.000000: 10.1.2.3.53 > 10.4.5.6.54: udp 8 (frag 1:8@0+)
        "#]],
        );
    }

    /// The description of the flows in a summary dump, a line a flow.
    fn described(lines: &str) -> String {
        let path =
            std::env::temp_dir().join(format!("weir-flows-{}-{}.xml", std::process::id(), lines.len()));
        let data =
            format!("!data timestamp ip_src sport ip_dst dport ip_proto tcp_flags ip_fragoff\n{lines}");
        let config = format!(
            "FromIPSummaryDump(DATA \"{data}\", STOP true) -> AggregateIPFlows(TRACEINFO {}) -> Discard;",
            path.display()
        );
        assert_eq!(crate::testing::run(&config, &[]), "");
        let text = std::fs::read_to_string(&path).expect("the description was written");
        std::fs::remove_file(&path).expect("it can be removed");
        text.replace("\n  <stream", " <stream").replace("\n</flow>", "</flow>")
    }

    #[test]
    fn flows_are_described_in_the_order_of_hosts_and_lookups() {
        let lines = "1 10.0.0.1 5 10.0.0.2 80 T S 0\n2 10.0.0.9 5 10.0.0.2 53 U - 0\n3 10.0.0.3 7 10.0.0.2 80 T S 0\n\
            4 10.0.0.1 6 10.0.0.2 80 T S 0\n5 10.0.0.2 80 10.0.0.1 5 T F 0\n6 10.0.0.1 5 10.0.0.2 80 T F 0\n\
            7 10.0.0.1 5 10.0.0.2 80 T S 0\n";
        expect![[r#"
            <?xml version='1.0' standalone='yes'?>
            <trace>
            <flow aggregate='1' src='10.0.0.1' sport='5' dst='10.0.0.2' dport='80' begin='1.000000000' duration='5.000000000'> <stream dir='0' packets='2' /><stream dir='1' packets='1' /></flow>
            <flow aggregate='3' src='10.0.0.3' sport='7' dst='10.0.0.2' dport='80' begin='3.000000000' duration='0.000000000'> <stream dir='0' packets='1' /><stream dir='1' packets='0' /></flow>
            <flow aggregate='5' src='10.0.0.1' sport='5' dst='10.0.0.2' dport='80' begin='7.000000000' duration='0.000000000'> <stream dir='0' packets='3' /><stream dir='1' packets='1' /></flow>
            <flow aggregate='4' src='10.0.0.1' sport='6' dst='10.0.0.2' dport='80' begin='4.000000000' duration='0.000000000'> <stream dir='0' packets='1' /><stream dir='1' packets='0' /></flow>
            <flow aggregate='2' src='10.0.0.9' sport='5' dst='10.0.0.2' dport='53' begin='2.000000000' duration='0.000000000'> <stream dir='0' packets='1' /><stream dir='1' packets='0' /></flow>
            </trace>
        "#]].assert_eq(&described(lines));
    }

    #[test]
    fn a_flow_whose_packets_all_wait_has_no_last_packet() {
        expect![[r#"
            <?xml version='1.0' standalone='yes'?>
            <trace>
            <flow aggregate='1' src='10.0.0.4' sport='5' dst='10.0.0.2' dport='80' begin='8.000000000' duration='-8.000000000'> <stream dir='0' packets='0' /><stream dir='1' packets='0' /></flow>
            </trace>
        "#]].assert_eq(&described("8 10.0.0.4 5 10.0.0.2 80 T R 0+\n"));
    }
}
