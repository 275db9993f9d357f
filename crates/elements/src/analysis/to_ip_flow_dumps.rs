//! Writes an IP summary dump for each TCP or UDP flow, a file each.
//!
//! The aggregate annotation tells the flow, and the paint the direction, as `AggregateIPFlows` sets them; packets whose annotation
//! is 0 are not told of. FILEPATTERN gives the files' names. In it `%n` stands for the aggregate annotation, `%x` and `%X` for
//! the same in hexadecimal, `%s` and `%d` for the addresses of the flow's first packet, `%S` and `%D` for its ports, `%p` for `T`
//! or `U`, and `%%` for `%`. A precision from 0 to 3 picks a byte of a number or an address, such as `%.3n`; 4 and 5 pick the
//! halves of a number. A width, such as `%6n`, fills up with `_`, or with zeroes: `%06n`. Directories are made.
//!
//! A file begins with the ends of the flow, the first sequence numbers and the first time; times and sequence numbers in it
//! count from those. An ICMP error about the flow is a comment. A file is complete when NOTIFIER tells that the flow has ended, at
//! the latest when the graph stops. Packets are pushed in, or pulled, and leave by the output if there is one.
//!
//! As in Click, lines have the two bytes of an IP identification in the order of a little-endian machine's memory, windows have no
//! name in the header, and the length of a UDP packet includes its IP header.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> af :: AggregateIPFlows -> ToIPFlowDumps(flow%03n, NOTIFIER af, GZIP true);
//! ```

use args::Filename;
use element::{
    annotation, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Handler,
    Packet, Puller, TaskId, TimerId, BATCH_MAX,
};
use table::flow::FlowTable;

use super::aggregate_events::{self, Ended, Listener};
use super::aggregates_seen::AggregatesSeen;
use super::compressor::Compressor;
use super::flow_dump::{FlowDump, Form};
use super::flow_file_name::NamePattern;
use super::flow_options::Options;

/// The class.
pub const CLASS: Class = Class::new::<ToIpFlowDumps>("ToIPFlowDumps", "1/0-1", "a/a", "x/x")
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("FILEPATTERN", "file name", "The files' names; `-`, the default, is standard output."),
    Arg::keyword("OUTPUT_PATTERN", "file name", "Another name of FILEPATTERN."),
    aggregate_events::NOTIFIER,
    Arg::keyword("ABSOLUTE_TIME", "bool", "Whether times are the packets' own. Default false."),
    Arg::keyword("ABSOLUTE_SEQ", "bool", "Whether sequence numbers are the packets' own. Default false."),
    Arg::keyword("BINARY", "bool", "Whether to write binary records instead of lines. Default false."),
    Arg::keyword(
        "ALL_TCP_OPT",
        "bool",
        "Whether to tell what TCP_OPT does and timestamp options. Default false.",
    ),
    Arg::keyword(
        "TCP_OPT",
        "bool",
        "Whether to tell the TCP options for segment size, window scale and selective acknowledgements. Default false.",
    ),
    Arg::keyword("TCP_WINDOW", "bool", "Whether to tell TCP windows. Default false."),
    Arg::keyword("GZIP", "bool", "Whether to compress complete files; `.gz` ends their names. Default false."),
    Arg::keyword("IP_ID", "bool", "Whether to tell IP identifications. Default false."),
    Arg::keyword("MINCOUNT", "unsigned", "Flows of fewer packets get no file. Default 0."),
];

const HANDLERS: &[Handler] = &[Handler::write("clear", "Completes the files of all flows.")];

const DROPS: &[DropReason] = &[DropReason::new("dumped", "The packet was written, and there is no output.")];
const DUMPED: usize = 0;

/// Flows are completed in the order of Click's table: by these bits of their numbers, and in each of its chains the latest used
/// first.
const BUCKET: u32 = 1023;

/// See the page above.
pub struct ToIpFlowDumps {
    pattern: NamePattern,
    form: Form,
    min_count: u32,
    notifier: Option<ElementIdx>,
    /// `None`: files are not compressed.
    compressor: Option<Compressor>,
    flows: FlowTable<u32, Box<FlowDump>>,
    n_uses: u64,
    seen: AggregatesSeen,
    ended: Ended,
    puller: Option<Puller>,
}

impl Element for ToIpFlowDumps {
    fn configure(conf: &mut Configure<'_>) -> Result<ToIpFlowDumps, Failed> {
        let given = ["FILEPATTERN", "OUTPUT_PATTERN"].map(|name| conf.args.get::<Filename>(name));
        let named = given.into_iter().flatten().map(|Filename(name)| name).next();
        let pattern = named.filter(|name| !name.is_empty()).unwrap_or("-".to_string());
        let notifier = conf.element("NOTIFIER", &[]);
        let mut wishes = |name| conf.args.get_or(name, false);
        let mut form = Form {
            is_time_absolute: wishes("ABSOLUTE_TIME"),
            is_sequence_absolute: wishes("ABSOLUTE_SEQ"),
            is_binary: wishes("BINARY"),
            options: match [wishes("ALL_TCP_OPT"), wishes("TCP_OPT")] {
                [true, _] => Options::All,
                [_, true] => Options::Some,
                _ => Options::Nothing,
            },
            has_window: wishes("TCP_WINDOW"),
            has_id: false,
        };
        let compressor = wishes("GZIP").then(Compressor::default);
        form.has_id = wishes("IP_ID");
        let min_count = conf.args.get_or("MINCOUNT", 0);
        conf.finish()?;
        if !pattern.contains('%') {
            conf.warning("OUTPUT_PATTERN has no % escapes, so output files will get overwritten");
        }
        aggregate_events::check(conf, notifier)?;
        Ok(ToIpFlowDumps {
            pattern: NamePattern::parse(&conf.file_of_replica(pattern)),
            form,
            min_count,
            notifier,
            compressor,
            flows: FlowTable::new(u32::MAX),
            n_uses: 0,
            seen: AggregatesSeen::default(),
            ended: Ended::default(),
            puller: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !ctx.input_is_push(0) && ctx.n_outputs() == 0 {
            self.puller = Some(ctx.new_puller(0));
        }
        aggregate_events::listen::<ToIpFlowDumps>(ctx, self.notifier);
        self.ended.initialize(ctx);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.dump(ctx, &mut batch);
        ctx.emit_or_drop(0, DUMPED, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        self.dump(ctx, &mut batch);
        batch
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let batch = ctx.pull(0, burst);
        let worked = !batch.is_empty();
        if worked {
            self.push(ctx, 0, batch);
        }
        if worked || self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal)) {
            ctx.schedule(task);
        }
        worked
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        for aggregate in self.ended.take_due(ctx) {
            self.complete(ctx, aggregate);
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "clear" => self.complete_all(ctx),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.complete_all(ctx);
        self.seen.warn(ctx);
        if let Some(Err(error)) = self.compressor.as_mut().map(Compressor::finish) {
            let text = format!("{}: {error}; cancelling compression", ctx.own_declaration());
            ctx.chatter(&text);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ToIpFlowDumps>(ctx, old) else { return };
        std::mem::swap(&mut self.flows, &mut old.flows);
        self.ended.take_over(ctx, &mut old.ended);
        self.n_uses = old.n_uses;
        self.seen.take_over(&mut old.seen);
        if self.compressor.is_some() {
            self.compressor = old.compressor.take().or(self.compressor.take());
        }
        old.cleanup(ctx);
    }
}

impl Listener for ToIpFlowDumps {
    fn ended(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        if self.touch(aggregate) {
            self.ended.add(ctx, aggregate);
        }
    }
}

fn tell(ctx: &mut Ctx<'_>, result: Result<(), String>) {
    if let Err(error) = result {
        ctx.chatter(&error);
    }
}

impl ToIpFlowDumps {
    fn dump(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        for packet in batch.iter_mut() {
            let aggregate = packet.anno_u32(annotation::AGGREGATE);
            self.seen.note(aggregate);
            if aggregate == 0 {
                continue;
            }
            if self.touch(aggregate) || self.begin(ctx, aggregate, packet) {
                let idx = self.flows.find(&aggregate);
                if let Some((_, flow)) = idx.and_then(|idx| self.flows.get_mut(idx)) {
                    tell(ctx, flow.add(packet));
                }
            }
        }
    }

    /// Makes a flow the latest used; whether there is one.
    fn touch(&mut self, aggregate: u32) -> bool {
        self.n_uses += 1;
        let idx = self.flows.find(&aggregate);
        idx.and_then(|idx| self.flows.get_mut(idx)).map(|(_, flow)| flow.last_use = self.n_uses).is_some()
    }

    /// Begins the dump of a flow; whether there is one.
    fn begin(&mut self, ctx: &mut Ctx<'_>, aggregate: u32, packet: &Packet) -> bool {
        let Some(mut flow) = FlowDump::new(packet, self.form) else { return false };
        flow.name = self.pattern.name(packet, &mut |text| ctx.chatter(text));
        flow.last_use = self.n_uses;
        self.flows.insert(aggregate, Box::new(flow)).is_ok()
    }

    fn complete_all(&mut self, ctx: &mut Ctx<'_>) {
        let flows = self.flows.iter();
        let mut flows: Vec<_> = flows
            .map(|(_, aggregate, flow)| (aggregate & BUCKET, u64::MAX - flow.last_use, *aggregate))
            .collect();
        flows.sort_unstable();
        for (_, _, aggregate) in flows {
            self.complete(ctx, aggregate);
        }
    }

    /// Completes the file of a flow, and forgets the flow.
    fn complete(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        let Some((_, mut flow)) = self.flows.remove_key(&aggregate) else { return };
        if flow.n_packets < self.min_count {
            return tell(ctx, flow.discard());
        }
        let written = flow.write();
        let compressor = self.compressor.as_mut().filter(|_| written.is_ok() && flow.name != "-");
        tell(ctx, written);
        if let Some(Err(error)) = compressor.map(|compressor| compressor.add(flow.name)) {
            self.compressor = None;
            let text = format!("{}: {error}; cancelling compression", ctx.own_declaration());
            ctx.chatter(&text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run};
    use expect_test::{expect, Expect};

    const FLOWS: &str = "FromIPSummaryDump(DATA \"!data timestamp ip_src sport ip_dst dport ip_proto tcp_flags tcp_seq tcp_ack \
        payload_len ip_id tcp_window tcp_opt\n\
        1.5 1.0.0.1 80 2.0.0.2 90 T S 1000 0 0 7 512 mss1460;sackok;wscale3\n\
        1.6 2.0.0.2 90 1.0.0.1 80 T SA 5000 1001 0 8 512 mss1460;sackok\n\
        1.7 1.0.0.1 80 2.0.0.2 90 T PA 1001 5001 10 9 512 ts1:2\n\
        1.8 2.0.0.2 90 1.0.0.1 80 T A 5001 1001 0 10 600 sack1005-1009\n\
        2 3.0.0.1 53 2.0.0.2 90 U . 0 0 20 11 0 .\n\
        2.5 2.0.0.2 90 3.0.0.1 53 U . 0 0 30 12 0 .\n\", STOP true)";

    /// What the graph prints for a directory that is made for it, and the files that are then in there.
    fn check_files(name: &str, config: impl Fn(&str) -> String, expect: Expect) {
        let path = std::env::temp_dir().join(format!("weir-flows-{name}-{}", std::process::id()));
        let mut output = run(&config(&path.display().to_string()), &[]);
        let entries = std::fs::read_dir(&path).expect("there is a directory");
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        names.sort();
        for name in names {
            let mut bytes = std::fs::read(&name).expect("the file can be read");
            if name.extension().is_some_and(|end| end == "gz") {
                let mut text = Vec::new();
                let mut decoder = flate2::read::GzDecoder::new(&bytes[..]);
                std::io::copy(&mut decoder, &mut text).expect("it is compressed");
                bytes = text;
            }
            output += &format!("== {}\n", name.file_name().unwrap_or_default().display());
            output += &bytes.escape_ascii().to_string().replace("\\n", "\n");
        }
        let _ = std::fs::remove_dir_all(&path);
        expect.assert_eq(&output);
    }

    fn check_flows(name: &str, arguments: &str, expect: Expect) {
        let config = |path: &str| {
            format!("{FLOWS} -> AggregateIPFlows -> ToIPFlowDumps(OUTPUT_PATTERN {path}/%.3n%p, {arguments})")
        };
        check_files(name, config, expect);
    }

    #[test]
    fn each_flow_has_a_dump() {
        check_flows(
            "plain",
            "MINCOUNT 0",
            expect![[r#"
            == 1T
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp direction tcp_flags tcp_seq payload_len tcp_ack tcp_ntopt
            !firstseq > 1000
            !firstseq < 5000
            !firsttime 1.499999999
            0.000000001 > S 0 0 0
            0.100000001 < SA 0 0 1
            0.200000001 > PA 1 10 1
            0.300000001 < A 1 0 1
            == 2U
            !IPSummaryDump 1.3
            !flowid 3.0.0.1 53 2.0.0.2 90 U
            !aggregate 2
            !data ntimestamp direction payload_len
            !firsttime 1.999999999
            0.000000001 > 40
            0.500000001 < 50
        "#]],
        );
    }

    #[test]
    fn options_windows_and_identifications_are_told_if_wanted() {
        check_flows(
            "some",
            "TCP_OPT true, TCP_WINDOW true, IP_ID true, ABSOLUTE_SEQ true",
            expect![[r#"
            == 1T
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp direction ip_id tcp_flags tcp_seq payload_len tcp_ack tcp_ntopt
            !firsttime 1.499999999
            0.000000001 > 1792 S 1000 0 0 512 mss1460;sackok;wscale3
            0.100000001 < 2048 SA 5000 0 1001 512 mss1460;sackok
            0.200000001 > 2304 PA 1001 10 5001 512
            0.300000001 < 2560 A 5001 0 1001 600 sack1005-1009
            == 2U
            !IPSummaryDump 1.3
            !flowid 3.0.0.1 53 2.0.0.2 90 U
            !aggregate 2
            !data ntimestamp direction ip_id payload_len
            !firsttime 1.999999999
            0.000000001 > 2816 40
            0.500000001 < 3072 50
        "#]],
        );
        check_flows(
            "all",
            "ALL_TCP_OPT true, ABSOLUTE_TIME true, MINCOUNT 3",
            expect![[r#"
            == 1T
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp direction tcp_flags tcp_seq payload_len tcp_ack tcp_opt
            !firstseq > 1000
            !firstseq < 5000
            1.500000 > S 0 0 0 mss1460;sackok;wscale3
            1.600000 < SA 0 0 1 mss1460;sackok
            1.700000 > PA 1 10 1 ts1:2
            1.800000 < A 1 0 1 sack5-9
        "#]],
        );
    }

    #[test]
    fn an_unknown_option_may_have_one_byte() {
        let packet =
            "45000034 00000000 40060000 01000001 02000002 0050005a 00000001 00000002 80100200 00000000 \
            4101080a 00000001 00000002";
        let config = |path: &str| {
            format!(
                "InfiniteSource(DATA \\<{packet}>, LIMIT 1, STOP true) -> SetTimestamp(5) -> MarkIPHeader -> AggregateIPFlows
                -> ToIPFlowDumps({path}/%n, ALL_TCP_OPT true, ABSOLUTE_TIME true)"
            )
        };
        check_files(
            "one-byte",
            config,
            expect![[r#"
            == 1
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp direction tcp_flags tcp_seq payload_len tcp_ack tcp_opt
            !firstseq > 1
            !firstseq < 2
            5.000000 > A 0 0 0 ts1:2
        "#]],
        );
    }

    #[test]
    fn records_are_binary() {
        check_flows(
            "binary",
            "BINARY true, TCP_OPT true, IP_ID true, TCP_WINDOW true",
            expect![[r#"
            == 1T
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp tcp_seq payload_len tcp_ack ip_id tcp_window tcp_flags direction tcp_ntopt
            !firstseq > 1000
            !firstseq < 5000
            !firsttime 1.499999999
            !binary
            \x00\x00\x00(\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07\x02\x00\x02\x00\t\x02\x04\x05\xb4\x04\x02\x03\x03\x03\x00\x00\x00%\x00\x00\x00\x00\x05\xf5\xe1\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x08\x02\x00\x12\x01\x06\x02\x04\x05\xb4\x04\x02\x00\x00\x00\x1e\x00\x00\x00\x00\x0b\xeb\xc2\x01\x00\x00\x00\x01\x00\x00\x00
            \x00\x00\x00\x01\x00\t\x02\x00\x18\x00\x00\x00\x00)\x00\x00\x00\x00\x11\xe1\xa3\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00
            \x02X\x10\x01
            \x05
            \x00\x00\x00\x05\x00\x00\x00\t== 2U
            !IPSummaryDump 1.3
            !flowid 3.0.0.1 53 2.0.0.2 90 U
            !aggregate 2
            !data ntimestamp payload_len ip_id direction
            !firsttime 1.999999999
            !binary
            \x00\x00\x00\x13\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00(\x00\x0b\x00\x00\x00\x00\x13\x00\x00\x00\x00\x1d\xcde\x01\x00\x00\x002\x00\x0c\x01"#]],
        );
    }

    #[test]
    fn files_of_flows_that_ended_are_compressed() {
        let config = |path: &str| {
            format!(
                "{FLOWS} -> af :: AggregateIPFlows -> Queue
                     -> ToIPFlowDumps({path}/%02n, NOTIFIER af, GZIP true, MINCOUNT 3);
                 DriverManager(wait_stop, write af.clear, wait 1s)"
            )
        };
        check_files(
            "gzip",
            config,
            expect![[r#"
            == 01.gz
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 80 2.0.0.2 90 T
            !aggregate 1
            !data ntimestamp direction tcp_flags tcp_seq payload_len tcp_ack tcp_ntopt
            !firstseq > 1000
            !firstseq < 5000
            !firsttime 1.499999999
            0.000000001 > S 0 0 0
            0.100000001 < SA 0 0 1
            0.200000001 > PA 1 10 1
            0.300000001 < A 1 0 1
        "#]],
        );
    }

    #[test]
    fn icmp_errors_are_comments() {
        let config = |path: &str| {
            format!(
                "InfiniteSource(DATA \\<45000038 00000000 40010000 02000002 01000001 0303 0000 00000000
                     45000020 00000000 40110000 01000001 02000002 00010002 000c0000>, LIMIT 1, STOP true)
                 -> MarkIPHeader -> SetTimestamp(5) -> AggregateIPFlows(ICMP true) -> ToIPFlowDumps({path}/%s-%D)"
            )
        };
        check_files(
            "icmp",
            config,
            expect![[r#"
            == 2.0.0.2-0
            !IPSummaryDump 1.3
            !flowid 1.0.0.1 1 2.0.0.2 2 U
            !aggregate 1
            !data ntimestamp direction payload_len
            !firsttime 4.999999999
            #5.000000 < ICMP_error
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> ToIPFlowDumps(NOTIFIER d) -> ToIPFlowDumps(%n, MINCOUNT -1, IP_ID x, GZIP x) -> d :: Discard",
            expect![[r#"
                config:1: While configuring 'ToIPFlowDumps@2 :: ToIPFlowDumps':
                  warning: OUTPUT_PATTERN has no % escapes, so output files will get overwritten
                  d is not an AggregateNotifier
                config:1: While configuring 'ToIPFlowDumps@3 :: ToIPFlowDumps':
                  GZIP: parse error
                  IP_ID: parse error
                  MINCOUNT: invalid number
                Router could not be initialized!
            "#]],
        );
    }
}
