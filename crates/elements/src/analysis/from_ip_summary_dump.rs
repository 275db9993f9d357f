//! Makes packets from an IP summary dump.
//!
//! A dump is a text with a line for each packet, as `ToIPSummaryDump` writes it. A line that starts with `!data` names the
//! fields in the lines that follow; a field of `-` is not known. Headers that no field describes are made up: IPv4, a time to
//! live of 100, TCP. Packets are usually shorter than their IP length says, and have an extra length annotation that makes up for
//! it. The file may be compressed, and `-` is standard input.
//!
//! Lines that start with `!proto` set the protocol of packets whose fields do not tell it, `!flowid` gives every packet an IP
//! header and ports, and `!binary` says that binary records follow. Lines that start with `#` are comments.
//!
//! Packets are pushed, one each time the element is scheduled, or pulled.
//!
//! ```click
//! FromIPSummaryDump(DATA "!data ip_src ip_dst ip_proto sport dport
//! 10.0.0.1 10.0.0.2 U 53 53", STOP true) -> ToIPSummaryDump(-, FIELDS ip_src sport ip_len);
//! ```

use args::{Filename, Raw};
use element::{
    annotation, handlers, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed,
    Handler, Notifies, Packet, Role, TaskId, TimerId, BATCH_MAX,
};

use super::summary::compose::Defaults;
use super::summary::dump::{Dump, Next, Remark};
use super::summary::input::Input;
use super::summary::multipacket::Series;
use super::summary::VERSION;
use super::text_source::{
    self, checked_sampling, read_sampling, Step, ALWAYS, DROPS, NOT_SAMPLED, SAMPLE_BITS,
};
use super::turn::Turn;

/// The class.
pub const CLASS: Class = Class::new::<FromIpSummaryDump>("FromIPSummaryDump", "0/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    Arg::optional("FILENAME", "file name", "The dump; `-` is standard input. Required unless DATA is given."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver at the end of the dump. Default false."),
    text_source::ACTIVE,
    Arg::keyword("ZERO", "bool", "Whether bytes that no field sets are zero. Default true."),
    Arg::keyword("TIMING", "bool", "Whether to keep the time between packets. Default false."),
    Arg::keyword(
        "CHECKSUM",
        "bool",
        "Whether to set checksums, and make packets as long as they say. Default false.",
    ),
    text_source::SAMPLE,
    Arg::keyword("PROTO", "unsigned", "IP protocol of packets whose fields do not tell it. Default 6."),
    Arg::keyword("MULTIPACKET", "bool", "Whether a packet's count makes as many packets. Default false."),
    Arg::keyword("DEFAULT_CONTENTS", "words", "An old name of FIELDS."),
    Arg::keyword("DEFAULT_FIELDS", "words", "An old name of FIELDS."),
    Arg::keyword("DEFAULT_FLOWID", "words", "An old name of FLOWID."),
    Arg::keyword("CONTENTS", "words", "An old name of FIELDS."),
    Arg::keyword("FIELDS", "words", "The fields of lines before the first `!data`. Default none."),
    Arg::keyword("FLOWID", "words", "What a first line of `!flowid` would say: SRC SPORT DST DPORT [PROTO]."),
    Arg::keyword("ALLOW_NONEXISTENT", "bool", "Whether the file may be missing or empty. Default false."),
    Arg::keyword("DATA", "string", "The dump itself, instead of FILENAME."),
];

const HANDLERS: &[Handler] = &[
    text_source::SAMPLING_PROB,
    text_source::IS_ACTIVE,
    text_source::ENCAP,
    Handler::write("stop", "Stops making packets, and the driver.").flags("button"),
    Handler::read("filename", "Name of the dump.").flags("alike"),
    Handler::read("filesize", "Size of the dump in bytes, or `-`.").flags("alike"),
    Handler::read("filepos", "Bytes of the dump that were read."),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct FromIpSummaryDump {
    dump: Dump,
    stops: bool,
    is_active: bool,
    keeps_time: bool,
    splits: bool,
    may_be_missing: bool,
    /// Whether the dump is one that another element has begun to read.
    goes_on: bool,
    sampling: u32,
    /// The packet that comes next: it is not yet due, or is to be split further.
    next: Option<Packet>,
    series: Series,
    turn: Turn,
}

impl Element for FromIpSummaryDump {
    fn configure(conf: &mut Configure<'_>) -> Result<FromIpSummaryDump, Failed> {
        let filename: Option<Filename> = conf.args.get("FILENAME");
        let stops = conf.args.get_or("STOP", false);
        let is_active = conf.args.get_or("ACTIVE", true);
        let zeroes = conf.args.get_or("ZERO", true);
        let keeps_time = conf.args.get_or("TIMING", false);
        let sets_checksums = conf.args.get_or("CHECKSUM", false);
        let sampling = read_sampling(conf);
        let protocol = conf.args.get_or("PROTO", wire::protocol::TCP);
        let splits = conf.args.get_or("MULTIPACKET", false);
        let contents: Option<Raw> = conf.args.get("DEFAULT_CONTENTS");
        let contents = contents.or(conf.args.get("DEFAULT_FIELDS"));
        let flow: Option<Raw> = conf.args.get("DEFAULT_FLOWID");
        let contents = contents.or(conf.args.get("CONTENTS"));
        let contents = contents.or(conf.args.get("FIELDS"));
        let flow = flow.or(conf.args.get("FLOWID"));
        let may_be_missing = conf.args.get_or("ALLOW_NONEXISTENT", false);
        let data = conf.args.get::<Vec<u8>>("DATA").unwrap_or_default();
        conf.finish()?;
        let sampling = checked_sampling(conf, sampling);
        let filename = filename.map(|Filename(name)| name);
        let is_conflict = filename.is_some() && !data.is_empty();
        let is_named = filename.is_some();
        let is_missing = !is_named && data.is_empty();
        let input = match filename {
            Some(name) => Input::new(name),
            None => Input::from_data(data),
        };
        let defaults = Defaults { protocol, has_flow: false, minor_version: VERSION.1, zeroes };
        let mut dump = Dump::new(input, defaults, sets_checksums);
        let remarks = begin_with(&mut dump, contents, flow);
        let name = if is_named { dump.input.name() } else { "<stdin>" };
        for remark in remarks {
            match remark {
                Remark::Warning(message) => conf.warning(before_lines(name, &message)),
                Remark::Error(message) => conf.note(before_lines(name, &message)),
            }
        }
        if is_missing {
            return Err("FILENAME: required argument missing".into());
        }
        if is_conflict {
            return Err("FILENAME and DATA conflict".into());
        }
        Ok(FromIpSummaryDump {
            dump,
            stops,
            is_active,
            keeps_time,
            splits,
            may_be_missing,
            goes_on: false,
            sampling,
            next: None,
            series: Series::default(),
            turn: Turn::new(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.turn.initialize(ctx, self.is_active);
        if self.goes_on || !self.dump.input.open(self.may_be_missing)? {
            return Ok(());
        }
        let remark = self.dump.begin()?;
        let name = self.dump.input.name();
        match remark {
            Some(Remark::Warning(message)) => {
                ctx.tell(&before_lines(name, &format!("warning: {message}")));
            }
            Some(Remark::Error(message)) => ctx.tell(&before_lines(name, &message)),
            None => {}
        }
        Ok(())
    }

    fn reads_once(&self) -> bool {
        self.dump.input.is_stdin()
    }

    fn notifies(&self) -> Notifies {
        Notifies::LATE
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active {
            return false;
        }
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let burst = ctx.fitting(burst, Causes::NOTHING);
        if burst == 0 {
            ctx.schedule(task);
            return false;
        }
        let mut batch = Batch::new();
        let is_over = loop {
            match self.step(ctx) {
                Step::Packet(packet) => batch.push(packet),
                Step::Nothing => break false,
                Step::End | Step::Wait => break true,
            }
            if batch.len() >= burst {
                break false;
            }
        };
        let worked = !is_over || !batch.is_empty();
        ctx.emit(0, batch);
        if !is_over && !ctx.go_on_noticed(Causes::NOTHING) {
            ctx.schedule(task);
        }
        worked
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.turn.wake(ctx);
        true
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while self.is_active && batch.len() < max.min(BATCH_MAX) {
            let is_awake = match self.step(ctx) {
                Step::Packet(packet) => {
                    batch.push(packet);
                    true
                }
                Step::Nothing => {
                    self.turn.set_awake(ctx, true);
                    break;
                }
                Step::End | Step::Wait => false,
            };
            self.turn.set_awake(ctx, is_awake);
            if !is_awake {
                break;
            }
        }
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if self.is_active {
            self.turn.wake(ctx);
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let input = &self.dump.input;
        Ok(match name {
            "sampling_prob" => args::unparse_binary(self.sampling, SAMPLE_BITS),
            "active" => self.is_active.to_string(),
            "encap" => "IP".to_string(),
            "filename" => input.name().to_string(),
            "filesize" => input.size().map_or("-".to_string(), |size| size.to_string()),
            "filepos" => input.position().to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.is_active = args::boolean(&args::uncomment(value)).map_err(|_| "type mismatch")?;
                if self.is_active {
                    self.turn.wake(ctx);
                } else if !self.turn.has_task() {
                    self.turn.set_awake(ctx, false);
                }
            }
            "stop" => {
                self.is_active = false;
                ctx.stop();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        self.dump.input.close();
        self.next = None;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FromIpSummaryDump>(ctx, old) else { return };
        if old.dump.input.is_of_same(&self.dump.input) {
            self.dump.go_on_from(&mut old.dump);
            self.next = old.next.take();
            self.turn.go_on_from(&old.turn);
            std::mem::swap(&mut self.series, &mut old.series);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on =
            same_ref::<FromIpSummaryDump>(old).is_some_and(|old| old.dump.input.is_of_same(&self.dump.input));
    }
}

/// Lets a dump begin with the fields and the flow that arguments say; what is to be told of them.
fn begin_with(dump: &mut Dump, fields: Option<Raw>, flow: Option<Raw>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    if let Some(Raw(fields)) = fields.filter(|Raw(fields)| !fields.is_empty()) {
        dump.set_fields(&fields, &mut remarks);
    }
    if let Some(Raw(flow)) = flow.filter(|Raw(flow)| !flow.is_empty()) {
        dump.set_flow(&flow, &mut remarks);
    }
    remarks
}

impl FromIpSummaryDump {
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Step {
        loop {
            // A packet that waited for its time begins a new series, as in Click.
            let is_new = self.next.is_none() || self.keeps_time;
            let packet = match self.next.take() {
                Some(packet) => packet,
                None => match self.dump.next(&mut |message| ctx.chatter(message)) {
                    Next::Packet(packet) => packet,
                    Next::Nothing => return Step::Nothing,
                    Next::End => {
                        if self.stops {
                            ctx.stop();
                        }
                        return Step::End;
                    }
                },
            };
            if self.keeps_time && !self.turn.is_due(ctx, &packet) {
                self.next = Some(packet);
                return Step::Wait;
            }
            let packet = match self.splits && packet.anno_u32(annotation::EXTRA_PACKETS) > 0 {
                true => {
                    let (first, rest) = self.series.split(packet, is_new);
                    self.next = Some(rest);
                    first
                }
                false => packet,
            };
            if self.sampling >= ALWAYS || ctx.random() & (ALWAYS - 1) < self.sampling {
                return Step::Packet(packet);
            }
            ctx.drop_packet(NOT_SAMPLED, packet);
        }
    }
}

/// A message about a file of which no line is read yet.
fn before_lines(name: &str, message: &str) -> String {
    element::at_place(&format!("{name}:0"), message)
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn who_is_called_because_of_a_packet_finds_no_task_scheduled() {
        check(
            "s :: FromIPSummaryDump(DATA \"!data src\\n1.0.0.1\\n1.0.0.2\\n\", STOP true) -> Counter(COUNT_CALL 1 r.run) -> Discard;
            r :: Script(TYPE PASSIVE, read s.scheduled)",
            expect![[r#"
                s.scheduled:
                false
            "#]],
        );
    }

    #[test]
    fn lines_become_packets_and_bad_lines_are_told_once() {
        check(
            "FromIPSummaryDump(DATA \"!data ip_src ip_dst ip_proto sport dport payload\n\
             10.0.0.1 10.0.0.2 U 53 1024 \\\"ab\\\"\n- ? ?\nx\n10.0.0.3 10.0.0.4 I\n\", STOP true)\n\
             -> Print(x) -> Discard",
            expect![[r#"
                x:   30 | 4500001e 00000000 64110000 0a000001 0a000002 00350400
                <data>:3: packet parse error
                x:   28 | 4500001c 00000000 64010000 0a000003 0a000004 00000000
            "#]],
        );
    }

    #[test]
    fn a_first_line_without_an_end_is_passed_over() {
        check(
            "FromIPSummaryDump(DATA \"1.0.0.1\", CONTENTS ip_src) -> Print(a, 16) -> Discard;
             FromIPSummaryDump(DATA \"1.0.0.2\r\", CONTENTS ip_src) -> Print(b, 16) -> Discard;
             FromIPSummaryDump(DATA \"1.0.0.3\n\", CONTENTS ip_src) -> Print(c, 16) -> Discard;
             FromIPSummaryDump(DATA \"1.0.0.4\r1.0.0.5\", CONTENTS ip_src) -> Print(d, 16) -> Discard;
             Script(wait 1s, stop)",
            expect![[r#"
                c:   40 | 45000028 00000000 64060000 01000003
                d:   40 | 45000028 00000000 64060000 01000004
                d:   40 | 45000028 00000000 64060000 01000005
            "#]],
        );
    }

    #[test]
    fn fields_that_contradict_each_other_make_what_they_make_in_click() {
        check(
            "FromIPSummaryDump(DATA \"!data ip_proto tcp_ntopt tcp_opt\nT 99=1:2:3 sackok\n\") -> Print(options, 48) -> Discard;
             FromIPSummaryDump(DATA \"!data ip_proto ip_len payload\nU 5 abcdef\n\") -> Print(length, 48) -> Discard;
             Script(wait 1s, stop)",
            expect![[r#"
                length:   20 | 45000005 00000000 64110000 00000000 00000000
                options:   48 | 45000030 00000000 64060000 00000000 00000000 00000000 00000000 00000000 70000000 00000000 04020000 00000000
            "#]],
        );
    }

    #[test]
    fn microseconds_of_more_than_a_second_are_counted_with_32_bits() {
        check(
            "FromIPSummaryDump(DATA \"!data ts_sec ts_usec ip_src\n5 4294967 1.0.0.1\n5 4294968 1.0.0.1\n5 9589094 1.0.0.1\n\",
             STOP true) -> Print(x, 0, TIMESTAMP true) -> Discard",
            expect![[r#"
                x: 9.294967:   40
                x: 5.000000704:   40
                x: 5.999159408:   40
            "#]],
        );
    }
}
