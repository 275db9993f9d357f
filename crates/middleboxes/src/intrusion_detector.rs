//! Looks for what rules describe in packets and TCP streams, and tells of it.
//!
//! The rules are in the language of Snort 2 and Suricata, without what needs a parser of an application's protocol;
//! `docs/intrusion-detection.md` lists what there is. TCP is searched as the receiver gets it: in order, across segments.
//! Each match is a line of JSON in EVE, in the form of Suricata's `eve.json`. Packets that matched leave by output 1 if
//! there is one; all others, and those that are not IP, leave by output 0. With INLINE true, packets that match a `drop`
//! rule are dropped, and so is all that follows in their TCP connection.
//!
//! The IP header must be marked, by `CheckIPHeader` or the like, which should also have checked it: what the receiver will
//! not take is better not searched. Fragments are not put together: `IPReassembler` does that. All memory has limits: what
//! is beyond is searched packet by packet, or, where a flow ends early, begins anew.
//!
//! A change of the graph reads and prepares rules beside it, and goes on with flows and counts. Writing `rules_file` takes the
//! rules of other files too, all or, if there is a mistake in them, none, but packets wait while these are read and prepared.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> IntrusionDetector(RULES local.rules, EVE eve.json)
//!     -> Discard;
//! ```

use args::{Filename, Value};
use detect::alert::Style;
use detect::detector::{Detector, Limits};
use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::accounting::Now;
use super::eve::Eve;
use super::rule_files::Sources;

/// The class.
pub const CLASS: Class = Class::new::<IntrusionDetector>("IntrusionDetector", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("RULES", "filename", "A file of rules; may be given several times."),
    Arg::keyword("RULE", "rule", "A rule or a variable, before those of files; may be given several times."),
    Arg::keyword("EVE", "filename", "Where alerts are written, `-` for standard output, on core N > 0 with `.N` behind it. Default nowhere."),
    Arg::keyword("INLINE", "boolean", "Whether `drop` rules drop. Default false."),
    Arg::keyword("FLOWS", "unsigned", "Most flows that are followed. Default 65536."),
    Arg::keyword("STREAM_MEMORY", "unsigned", "Most bytes of TCP streams that are kept. Default 67108864."),
    Arg::keyword("DEPTH", "unsigned", "Bytes of a stream that are searched, 0 for all. Default 1048576."),
    Arg::keyword("PAYLOAD", "boolean", "Whether alerts hold the packet's payload. Default false."),
    Arg::keyword("IN_IFACE", "string", "What alerts say the packet came in by. Default nothing."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("packets", "Packets searched."),
    Handler::read("alerts", "Matches that were told."),
    Handler::read("alerts_by_sid", "For each rule that matched generator, number and matches, a line each."),
    Handler::read("rules", "Number of rules.").flags("alike"),
    Handler::read("flows", "Flows that are followed."),
    Handler::read("flows_evicted", "Flows that ended early for want of memory."),
    Handler::read("stream_memory", "Bytes of streams that are kept."),
    Handler::read("stream_gaps", "Gaps in streams that were never filled."),
    Handler::read("segments_unbuffered", "Segments searched by themselves for want of memory."),
    Handler::read(
        "segments_repeated",
        "Segments that came again, other than before or too late, and so were searched by themselves.",
    ),
    Handler::read("segments_lost", "Segments that waited for others when their flow ended."),
    Handler::read_write("rules_file", "The files of rules; writing takes other files' rules.").flags("calm"),
    Handler::write("reset_counts", "Sets the counts of packets and alerts to 0.").flags("button"),
];

const DROPS: &[DropReason] =
    &[DropReason::new("rule", "A `drop` rule matched it, or one before it in its TCP connection.")];
const RULE: usize = 0;

/// See the page above.
pub struct IntrusionDetector {
    detector: Detector,
    sources: Sources,
    eve: Eve,
    has_alert_output: bool,
}

impl Element for IntrusionDetector {
    fn configure(conf: &mut Configure<'_>) -> Result<IntrusionDetector, Failed> {
        let files = conf.args.multiple::<Filename>("RULES").into_iter().map(|Filename(name)| name).collect();
        // A rule needs quotes only if it has commas.
        let inline = conf
            .args
            .multiple_with("RULE", |text, scope| Ok(String::parse(text, scope).unwrap_or(text.to_string())));
        let sources = Sources { inline, files };
        let Filename(eve) = conf.args.get_or("EVE", Filename::default());
        let style =
            Style { interface: conf.args.get("IN_IFACE"), has_payload: conf.args.get_or("PAYLOAD", false) };
        let limits = Limits {
            n_flows: conf.args.get_or("FLOWS", 65_536),
            stream_memory: conf.args.get_or("STREAM_MEMORY", 64 << 20),
            depth: conf.args.get_or("DEPTH", 1 << 20),
            is_inline: conf.args.get_or("INLINE", false),
        };
        if sources.inline.is_empty() && sources.files.is_empty() {
            conf.args.fail("RULES or RULE is required");
        }
        conf.finish()?;
        let rules = sources.read().map_err(|errors| Failed { errors })?;
        let eve = Eve::new(conf.file_of_replica(eve), style);
        let has_alert_output = conf.n_outputs > 1;
        Ok(IntrusionDetector { detector: Detector::new(rules, limits), sources, eve, has_alert_output })
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.eve.open()
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let now = Now::of(ctx);
        ctx.push_each(batch, |packet| self.process(packet, now));
        self.eve.flush(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        let now = Now::of(ctx);
        ctx.keep_each(&mut batch, |packet| self.process(packet, now));
        self.eve.flush(ctx);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let (counts, flows) = (self.detector.counts(), self.detector.flows());
        Ok(match name {
            "packets" => counts.n_packets.to_string(),
            "alerts" => counts.n_alerts.to_string(),
            "alerts_by_sid" => {
                counts.by_rule.iter().map(|((gid, sid), n)| format!("{gid} {sid} {n}\n")).collect()
            }
            "rules" => self.detector.program().rules.len().to_string(),
            "flows" => flows.len().to_string(),
            "flows_evicted" => flows.n_evicted.to_string(),
            "stream_memory" => flows.memory.n_bytes().to_string(),
            "stream_gaps" => flows.counts.gaps.to_string(),
            "segments_unbuffered" => flows.counts.unbuffered.to_string(),
            "segments_repeated" => flows.counts.retransmissions.to_string(),
            "segments_lost" => flows.counts.lost.to_string(),
            "rules_file" => self.sources.files.join(" "),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rules_file" => {
                let files =
                    args::split_words(value).into_iter().map(|word| args::unquote_text(&word)).collect();
                let sources = Sources { files, ..self.sources.clone() };
                let rules = sources.read().map_err(|errors| errors.join("\n"))?;
                self.detector.replace_rules(rules);
                self.sources = sources;
            }
            "reset_counts" => self.detector.reset_counts(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<IntrusionDetector>(ctx, old) else { return };
        self.eve.go_on_from(ctx, &mut old.eve);
        self.detector.take_over(old.detector);
    }

    fn foresee(&mut self, old: &dyn Element) {
        if let Some(old) = same_ref::<IntrusionDetector>(old) {
            self.eve.foresee(&old.eve);
        }
    }
}

impl IntrusionDetector {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, now: Now) -> Verdict {
        if packet.network_offset().is_none() {
            return Verdict::PASS;
        }
        let wall_ns = match packet.timestamp_ns() {
            0 => now.wall_ns,
            stamped => stamped,
        };
        let outcome = self.detector.inspect(packet.network(), now.steady_at(wall_ns));
        let Some(outcome) = outcome else { return Verdict::PASS };
        let has_matched = !self.detector.fired().is_empty();
        if has_matched {
            self.eve.add(&self.detector, &outcome, wall_ns);
        }
        match (outcome.is_dropped, has_matched && self.has_alert_output) {
            (true, _) => Verdict::drop(RULE),
            (false, true) => Verdict::port(1),
            (false, false) => Verdict::PASS,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::{expect, Expect};

    /// A UDP packet with a payload in hexadecimal digits; the port is 53.
    fn udp(payload: &str) -> String {
        let n_bytes = payload.len() / 2;
        format!(
            "4500{:04x}00000000401100000a0000010a000002 10000035{:04x}0000 {payload}",
            28 + n_bytes,
            8 + n_bytes
        )
    }

    /// Sends payloads one by one through a detector with two outputs.
    fn search(arguments: &str, payloads: &[&str], reads: &[&str], expect: Expect) {
        let mut graph = format!(
            "m :: MarkIPHeader -> ids :: IntrusionDetector({arguments}) -> quiet :: Counter -> Discard;
             ids [1] -> noisy :: Counter -> Discard;\n"
        );
        for payload in payloads {
            graph += &format!("InfiniteSource(DATA \\<{}>, LIMIT 1) -> m;\n", udp(payload));
        }
        check_reading(&graph, reads, expect);
    }

    const RULES: &str = "RULE 'alert udp any any -> any 53 (content:\"ab\"; sid:7;)', \
        RULE 'drop udp any any -> any any (content:\"ef\"; gid:3; sid:8;)'";

    #[test]
    fn packets_that_match_leave_by_output_1_and_are_dropped_inline() {
        let payloads = ["6162", "6364", "6566", "616566"];
        let reads =
            ["quiet.count", "noisy.count", "ids.packets", "ids.alerts", "ids.alerts_by_sid", "ids.rules"];
        search(
            RULES,
            &payloads,
            &reads,
            expect![[r#"
                quiet.count: 1
                noisy.count: 3
                ids.packets: 4
                ids.alerts: 3
                ids.alerts_by_sid: 1 7 1
                3 8 2

                ids.rules: 2
            "#]],
        );
        search(
            &format!("{RULES}, INLINE true"),
            &payloads,
            &reads[..2],
            expect![[r#"
                quiet.count: 1
                noisy.count: 1
            "#]],
        );
    }

    #[test]
    fn other_rules_are_taken_whole_or_not_at_all() {
        let path = std::env::temp_dir().join(format!("weir-rules-{}", std::process::id()));
        let name = path.display().to_string();
        std::fs::write(&path, "alert udp any any -> any any (content:\"cd\"; sid:1;)\nalert udp (sid:2;)\n")
            .expect("it can be written");
        let graph = format!(
            "Idle -> ids :: IntrusionDetector({RULES}) -> Discard;
             DriverManager(write ids.rules_file {name}, write ids.rules_file /nowhere/at/all)"
        );
        let printed = crate::testing::run(&graph, &["ids.rules", "ids.rules_file"]).replace(&name, "FILE");
        std::fs::write(&path, "alert udp any any -> any any (content:\"cd\"; sid:1;)\n")
            .expect("it can be written");
        let graph = format!(
            "Idle -> ids :: IntrusionDetector({RULES}) -> Discard; DriverManager(write ids.rules_file {name})"
        );
        let taken = crate::testing::run(&graph, &["ids.rules", "ids.rules_file"]).replace(&name, "FILE");
        std::fs::remove_file(&path).expect("it can be removed");
        expect![[r#"
            While calling 'ids.rules_file FILE':
              FILE:2:1: a rule begins with seven words, here are 2; write `alert tcp any any -> any 80 (...)`
            While calling 'ids.rules_file /nowhere/at/all':
              /nowhere/at/all: No such file or directory
            ids.rules: 2
            ids.rules_file: 
            ids.rules: 3
            ids.rules_file: FILE
        "#]]
        .assert_eq(&(printed + &taken));
    }

    #[test]
    fn mistakes_in_rules_are_told_with_their_places() {
        check(
            "Idle -> IntrusionDetector(RULE 'alert tcp any any -> any 80 (foo:1; sid:0;)', RULES /nowhere/at/all) -> Discard",
            expect![[r#"
                config:1: While configuring 'IntrusionDetector@2 :: IntrusionDetector':
                  /nowhere/at/all: No such file or directory
                  RULE:1:30: there is no option `foo`; docs/intrusion-detection.md lists the options
                  RULE:1:30: the rule has no number; add `sid:1000001;`
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> IntrusionDetector(EVE eve.json) -> Discard",
            expect![[r#"
            config:1: While configuring 'IntrusionDetector@2 :: IntrusionDetector':
              RULES or RULE is required
            Router could not be initialized!
        "#]],
        );
    }
}
