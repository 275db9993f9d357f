//! Counts packets and bytes and reports them and their rates on standard error.
//!
//! Packets pass from each input to the output of the same number. A line tells the number of packets and bytes of every input
//! since the start, and the rates since the last line: every INTERVAL, and in the end. A packet that is still to be cut into
//! segments counts as its segments, each with its own headers. NAMES are what the lines call the inputs.
//!
//! ```click
//! r :: TrafficReport(INTERVAL 1s, NAMES "in out");
//! FromDump(in.pcap) -> [0] r [0] -> Discard;
//! FromDump(out.pcap) -> [1] r [1] -> Discard;
//! ```

use std::fmt::Write;

use args::Timestamp;
use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Role, TimerId};
use packet::Gso;

use crate::traffic::Traffic;

/// The class.
pub const CLASS: Class = Class::new::<TrafficReport>("TrafficReport", "1-/=", "h/h", "#/#")
    .args(ARGS)
    .handlers(HANDLERS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::keyword("INTERVAL", "time", "Time between reports; 0: only one in the end. Default 1 s."),
    Arg::keyword("NAMES", "words", "The inputs' names. Default their numbers."),
    Arg::keyword("JSON", "bool", "Whether lines are JSON objects. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("report", "The line that would be printed now."),
    Handler::read("packets", "Packets, a line each input: its name and the number."),
    Handler::read("bytes", "Bytes, a line each input."),
    Handler::write("reset", "Sets the counts to 0.").flags("button"),
];

/// See the page above.
pub struct TrafficReport {
    interval_ns: i64,
    names: Vec<String>,
    is_json: bool,
    /// By input: all, and how much of it the last report told.
    counts: Vec<(Traffic, Traffic)>,
    /// Whether the graph got as far as to begin with it.
    has_begun: bool,
    begin_ns: i64,
    last_ns: i64,
    timer: Option<TimerId>,
}

impl Element for TrafficReport {
    fn configure(conf: &mut Configure<'_>) -> Result<TrafficReport, Failed> {
        let interval = conf.args.get_or("INTERVAL", Timestamp::from_nanos(1_000_000_000));
        let names: String = conf.args.get_or("NAMES", String::new());
        let is_json = conf.args.get_or("JSON", false);
        let names = args::split_words(&names);
        let n_inputs = conf.n_inputs;
        if !names.is_empty() && names.len() != n_inputs {
            conf.args.fail(format!("{} names for {n_inputs} inputs", names.len()));
        }
        conf.finish()?;
        let names = if names.is_empty() { (0..n_inputs).map(|i| i.to_string()).collect() } else { names };
        let counts = vec![<(Traffic, Traffic)>::default(); n_inputs];
        let interval_ns = interval.as_nanos();
        Ok(TrafficReport {
            interval_ns,
            names,
            is_json,
            counts,
            has_begun: false,
            begin_ns: 0,
            last_ns: 0,
            timer: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.has_begun = true;
        self.begin_ns = ctx.steady_ns();
        self.last_ns = self.begin_ns;
        if self.interval_ns > 0 {
            let timer = ctx.new_timer();
            ctx.schedule_after(timer, self.interval_ns);
            self.timer = Some(timer);
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        if let Some((traffic, _)) = self.counts.get_mut(port) {
            batch.iter().for_each(|packet| add(traffic, packet));
        }
        ctx.emit(port, batch);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.tell(ctx);
        ctx.reschedule_after(timer, self.interval_ns);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let list = |value: fn(&Traffic) -> u64| {
            let lines = self.names.iter().zip(&self.counts);
            lines.map(|(name, (traffic, _))| format!("{name} {}\n", value(traffic))).collect()
        };
        match name {
            "report" => {
                let now = ctx.steady_ns();
                Ok(self.line(now))
            }
            "packets" => Ok(list(|traffic| traffic.packets)),
            "bytes" => Ok(list(|traffic| traffic.bytes)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset" => self.counts.fill(Default::default()),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        // Of a graph that could not start there is nothing to report.
        if self.has_begun && ctx.runtime().is_running() {
            self.tell(ctx);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<TrafficReport>(ctx, old) else { return };
        if old.names == self.names {
            (self.counts, self.begin_ns, self.last_ns) = (old.counts, old.begin_ns, old.last_ns);
        } else {
            old.cleanup(ctx);
        }
    }
}

impl TrafficReport {
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        let now = ctx.steady_ns();
        let line = self.line(now);
        ctx.chatter(&line);
        self.last_ns = now;
        for (traffic, told) in &mut self.counts {
            *told = *traffic;
        }
    }

    /// The report, without a line feed.
    fn line(&self, now_ns: i64) -> String {
        let total_s = seconds(now_ns - self.begin_ns);
        let last_s = seconds(now_ns - self.last_ns);
        let mut line = match self.is_json {
            true => format!("{{\"seconds\":{total_s:.3}"),
            false => format!("{total_s:.3} s"),
        };
        for (name, (traffic, told)) in self.names.iter().zip(&self.counts) {
            let rate = |n: u64| if last_s > 0.0 { n as f64 / last_s } else { 0.0 };
            let packet_rate = rate(traffic.packets.saturating_sub(told.packets));
            let bit_rate = rate(traffic.bytes.saturating_sub(told.bytes)) * 8.0;
            let Traffic { packets, bytes } = traffic;
            let _ = match self.is_json {
                true => write!(
                    line,
                    ",\"{name}\":{{\"packets\":{packets},\"bytes\":{bytes},\"packets_per_s\":{packet_rate:.0},\"bits_per_s\":{bit_rate:.0}}}"
                ),
                false => {
                    let (packet_rate, bit_rate) = (scaled(packet_rate), scaled(bit_rate));
                    write!(line, "  {name}: {packets} packets {bytes} bytes {packet_rate}pps {bit_rate}bps")
                }
            };
        }
        if self.is_json {
            line.push('}');
        }
        line
    }
}

/// Counts a packet as what it is on a wire.
fn add(traffic: &mut Traffic, packet: &Packet) {
    if !packet.has_offload() {
        return traffic.add(packet);
    }
    let offload = packet.offload();
    let headers = usize::from(offload.header_len).min(packet.len());
    let payload = packet.len() - headers;
    let n_segments = match offload.gso {
        Gso::None | Gso::UdpFragment => 1,
        _ => payload.div_ceil(usize::from(offload.gso_size).max(1)).max(1),
    };
    traffic.packets += n_segments as u64;
    traffic.bytes = traffic.bytes.wrapping_add((payload + headers * n_segments) as u64);
}

fn seconds(ns: i64) -> f64 {
    ns.max(0) as f64 / 1e9
}

/// A rate with the prefix of its unit.
fn scaled(rate: f64) -> String {
    let (rate, prefix) = match rate {
        r if r >= 1e9 => (r / 1e9, "G"),
        r if r >= 1e6 => (r / 1e6, "M"),
        r if r >= 1e3 => (r / 1e3, "k"),
        r => return format!("{r:.0} "),
    };
    format!("{rate:.2} {prefix}")
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    const TWO_SOURCES: &str = "TimedSource(0.01, \\<00 00 00 00 00>) -> [0] r [0] -> Discard;
         TimedSource(0.5, a) -> [1] r [1] -> Discard;
         DriverManager(wait 2.26s, stop);";

    #[test]
    fn a_line_an_interval_and_one_in_the_end_are_told() {
        check_reading(
            &format!("r :: TrafficReport(NAMES \"right left\"); {TWO_SOURCES}"),
            &["r.packets", "r.bytes", "r.report"],
            expect![[r#"
                1.000 s  right: 99 packets 495 bytes 99 pps 3.96 kbps  left: 1 packets 1 bytes 1 pps 8 bps
                2.000 s  right: 199 packets 995 bytes 100 pps 4.00 kbps  left: 3 packets 3 bytes 2 pps 16 bps
                r.packets: right 226
                left 4

                r.bytes: right 1130
                left 4

                r.report: 2.260 s  right: 226 packets 1130 bytes 104 pps 4.15 kbps  left: 4 packets 4 bytes 4 pps 31 bps
            "#]],
        );
    }

    #[test]
    fn lines_can_be_json_and_one_in_the_end_is_all() {
        let config = format!("r :: TrafficReport(INTERVAL 0, JSON true); {TWO_SOURCES}");
        check_reading(
            &config,
            &["r.report"],
            expect![[r#"
            r.report: {"seconds":2.260,"0":{"packets":226,"bytes":1130,"packets_per_s":100,"bits_per_s":4000},"1":{"packets":4,"bytes":4,"packets_per_s":2,"bits_per_s":14}}
        "#]],
        );
    }

    #[test]
    fn a_packet_to_be_segmented_counts_as_its_segments() {
        check_reading(
            "r :: TrafficReport(INTERVAL 0); OffloadSource -> r -> Discard; DriverManager(wait 0.1s, stop)",
            &["r.packets", "r.bytes"],
            expect![[r#"
                r.packets: 0 3

                r.bytes: 0 4162

            "#]],
        );
    }

    #[test]
    fn a_graph_that_does_not_start_has_no_report() {
        check(
            "Idle -> TrafficReport -> ToDump(/nowhere/x);",
            expect![[r#"
            config:1: While initializing 'ToDump@3 :: ToDump':
              /nowhere/x: No such file or directory
            Router could not be initialized!
        "#]],
        );
        check(
            "Idle -> ToDump(/nowhere/x); Idle -> TrafficReport -> Discard;",
            expect![[r#"
            config:1: While initializing 'ToDump@2 :: ToDump':
              /nowhere/x: No such file or directory
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn names_must_be_as_many_as_inputs() {
        check(
            "Idle -> TrafficReport(NAMES \"a b\") -> Discard",
            expect![[r#"
            config:1: While configuring 'TrafficReport@2 :: TrafficReport':
              2 names for 1 inputs
            Router could not be initialized!
        "#]],
        );
    }
}
