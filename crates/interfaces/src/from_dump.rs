//! Reads packets from a capture file.
//!
//! Reads pcap and pcapng files, also compressed with gzip or bzip2, and emits their packets with their timestamps; bytes that
//! the capture left out are put into the extra-length annotation. The file may be `-`, standard input. What stands before a
//! fault in the file is emitted, then the fault and its place are told.
//!
//! With a pull output, it tells pullers downstream whether there is more.
//!
//! On several cores each core reads the file and keeps the flows that are its own; the first one alone reads standard input.
//!
//! ```click
//! FromDump(trace.pcap, STOP true) -> Print -> Discard;
//! ```

mod reading;

use args::{Filename, FixedPoint};
use element::{
    handlers, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed,
    Handler, Notifies, Role, TaskId, TimerId, BATCH_MAX,
};

use self::reading::{Next, Step};
use crate::capture::link;
use crate::dump_bounds::{bounds, check_bounds, warn_of_sample};
use crate::dump_end::EndCall;
use crate::dump_source::{DumpSource, ALWAYS, SAMPLE_BITS};
use crate::dump_window::Window;
use crate::stage::table;
use crate::trace;
use crate::traffic::Traffic;

/// The class.
pub const CLASS: Class = Class::new::<FromDump>("FromDump", "0/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    trace::MMAP,
    Arg::required("FILENAME", "filename", "The capture; `-` is standard input."),
    Arg::optional("TIMING", "bool", "Whether to keep the time between packets. Default false."),
    trace::STOP,
    trace::ACTIVE,
    trace::SAMPLE,
    trace::FORCE_IP,
    trace::START,
    trace::START_AFTER,
    trace::END,
    trace::END_AFTER,
    trace::INTERVAL,
    trace::END_CALL,
    trace::FILEPOS,
    Arg::keyword(
        "BURST",
        "unsigned",
        "Most packets to emit each time scheduled. Default what `--burst` says, 1 with `weir click`.",
    ),
];

const HANDLERS: &[Handler] = &[
    trace::FILE[0],
    trace::FILE[1],
    Handler::read_write("filepos", "Position in the uncompressed file, in bytes."),
    trace::SAMPLING_PROB,
    trace::IS_ACTIVE,
    Handler::read("encap", "The capture's link type.").flags("alike"),
    Handler::write("stop", "Becomes inactive and stops the driver.").flags("button"),
    Handler::read("packet_filepos", "Where in the uncompressed file the last packet's record starts.")
        .flags("alike"),
    trace::EXTEND_INTERVAL,
    Handler::read("count", "Packets emitted."),
    Handler::write("reset_counts", "Sets the count to 0.").flags("button"),
    Handler::write("reset_timing", "Takes the next packet as the first for TIMING.").flags("button"),
    Handler::read("interface_name", "What packets come from: the file.").flags("unlisted"),
    Handler::read("rx_packets", "Packets read and emitted since the start.").flags("unlisted"),
    Handler::read("rx_bytes", "Bytes of these packets.").flags("unlisted"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

const DROPS: &[DropReason] =
    &[DropReason::new("not-ip", "With FORCE_IP, a packet was not IP and output 1 is not connected.")];
const NOT_IP: usize = 0;

/// Records to look at for each packet that a task may emit, so that a task ends although nothing is to be emitted.
const TRIES_PER_PACKET: usize = 16;

/// See the page above.
pub struct FromDump {
    source: DumpSource,
    filepos: u64,
    /// Whether the file is one that another element has begun to read.
    goes_on: bool,
    keeps_timing: bool,
    forces_ip: bool,
    is_active: bool,
    end_call: Option<EndCall>,
    burst: usize,
    /// Whether the burst is not the user's: it is smaller where queues have no room.
    fits: bool,
    /// Steady time of a packet with timestamp 0.
    timing_offset_ns: i64,
    next: Next,
    count: u64,
    /// Packets on their way, which `count` is behind.
    n_on_way: u64,
    traffic: Traffic,
    output: Output,
}

enum Output {
    Unknown,
    Push(TaskId, TimerId),
    Pull(TimerId),
}

impl Element for FromDump {
    fn configure(conf: &mut Configure<'_>) -> Result<FromDump, Failed> {
        let maps = conf.read_first::<bool>("MMAP")?.unwrap_or(true);
        let filename = conf.args.need::<Filename>("FILENAME").0;
        let keeps_timing = conf.args.get_or("TIMING", false);
        let stops = conf.args.get_or("STOP", false);
        let is_active = conf.args.get_or("ACTIVE", true);
        let sample = conf.args.get_or("SAMPLE", FixedPoint::<SAMPLE_BITS>(ALWAYS)).0;
        let forces_ip = conf.args.get_or("FORCE_IP", false);
        let bounds = bounds(conf);
        let end_call = conf.handler_call("END_CALL");
        let filepos: i64 = conf.args.get_or("FILEPOS", 0);
        if filepos < 0 {
            conf.args.fail("FILEPOS: invalid number");
        }
        let burst: Option<u32> = conf.args.get("BURST");
        conf.finish()?;
        warn_of_sample(conf, sample);
        check_bounds(conf, &bounds);
        if conf.args.is_ok() && stops && end_call.is_some() {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        conf.finish()?;
        table::mark_file_read(&filename);
        let window = Window::new(bounds[0].0, bounds[1].0);
        let end_call = match end_call {
            Some(call) => Some(EndCall::Handler(call)),
            None if stops => Some(EndCall::Stop),
            None => window.ends().then_some(EndCall::Deactivate),
        };
        Ok(FromDump {
            source: DumpSource::new(filename, window, sample.min(ALWAYS)).mapped(maps),
            filepos: filepos.unsigned_abs(),
            goes_on: false,
            keeps_timing,
            forces_ip,
            is_active,
            end_call,
            burst: burst.map_or(conf.environment.default_burst(), |burst| burst as usize).max(1),
            fits: burst.is_none(),
            timing_offset_ns: 0,
            next: Next::Nothing,
            count: 0,
            n_on_way: 0,
            traffic: Traffic::default(),
            output: Output::Unknown,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(EndCall::Handler(call)) = &self.end_call {
            call.check_writable(ctx)?;
        }
        let timer = ctx.new_timer();
        self.output = if ctx.output_is_push(0) {
            let task = ctx.new_task();
            if self.is_active {
                ctx.schedule(task);
            }
            Output::Push(task, timer)
        } else {
            ctx.set_empty_signal(true);
            Output::Pull(timer)
        };
        if self.goes_on {
            return Ok(());
        }
        self.open()
    }

    fn reads_once(&self) -> bool {
        self.source.is_stdin()
    }

    fn notifies(&self) -> Notifies {
        Notifies::LATE
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active && !self.has_told() {
            return false;
        }
        let own = self.own_causes(ctx);
        let of_run = if self.fits { ctx.fitting(self.burst, own) } else { self.burst };
        let burst = if own == Causes::ANYTHING { of_run } else { ctx.joint_burst(of_run, u64::MAX, own) };
        let mut left = burst;
        while left > 0 {
            let wanted = left.min(BATCH_MAX);
            let (batch, step) = self.gather(ctx, wanted, wanted * TRIES_PER_PACKET);
            let n = batch.len();
            left -= n;
            match step {
                Step::End => {
                    self.end(ctx, false);
                    return false;
                }
                Step::Wait => {
                    self.send(ctx, batch);
                    return n > 0;
                }
                Step::Told => return false,
                _ if n < wanted || left == 0 => {
                    self.send(ctx, batch);
                    break;
                }
                _ => ctx.emit_now(0, batch),
            }
            if !self.is_active {
                return true;
            }
        }
        if of_run == 1 {
            ctx.took_runs(burst - left);
        }
        ctx.schedule(task);
        left < burst
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.n_on_way = 0;
        match self.output {
            Output::Push(task, _) if self.has_told() => self.run_task(ctx, task),
            _ => true,
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        if !self.is_active {
            ctx.set_empty_signal(false);
            return Batch::new();
        }
        let (batch, step) = self.gather(ctx, max.min(BATCH_MAX), max);
        match step {
            Step::Wait => {}
            Step::End => {
                ctx.set_empty_signal(false);
                self.end(ctx, false);
            }
            _ => ctx.set_empty_signal(true),
        }
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if self.is_active {
            self.wake(ctx);
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let source = &self.source;
        Ok(match name {
            "filename" | "interface_name" => source.print_filename().to_string(),
            "filesize" => source.file_len().map_or("-".to_string(), |len| len.to_string()),
            "filepos" => source.position().to_string(),
            "sampling_prob" => args::unparse_binary(source.sample, SAMPLE_BITS),
            "active" => self.is_active.to_string(),
            "encap" => link::unparse(source.link_type()),
            "packet_filepos" => source.packet_filepos.to_string(),
            "count" => (self.count - self.n_on_way).to_string(),
            "rx_packets" => self.traffic.packets.to_string(),
            "rx_bytes" => self.traffic.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.is_active = args::boolean(&args::uncomment(value)).map_err(|_| "type mismatch")?;
                if self.is_active {
                    self.wake(ctx);
                }
            }
            "stop" => {
                self.is_active = false;
                ctx.stop();
            }
            "extend_interval" => {
                let interval = args::timestamp(&args::uncomment(value))
                    .map_err(|_| "'extend_interval' takes a time interval")?;
                self.source.window.extend(interval, self.end_call.is_some());
                if self.end_call.is_some() {
                    self.is_active = true;
                    self.wake(ctx);
                }
            }
            "filepos" => {
                let offset = args::integer::<i64>(&args::uncomment(value)).ok();
                let offset = offset.and_then(|offset| u64::try_from(offset).ok());
                self.source.seek(offset.ok_or("argument must be file offset")?)?;
            }
            "reset_counts" => self.count = self.n_on_way,
            "reset_timing" => self.source.window.reset(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        self.next = Next::Nothing;
        self.source.close();
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FromDump>(ctx, old) else { return };
        if self.is_of_same(&old) {
            // The file stays open where it stands; what is read of it, and how often, is as told now.
            self.source.go_on_from(&mut old.source);
            self.next = std::mem::replace(&mut old.next, Next::Nothing);
            self.forces_ip |= self.source.link_type() == link::RAW;
            self.timing_offset_ns = old.timing_offset_ns;
            (self.count, self.traffic) = (old.count, old.traffic);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on =
            same_ref::<FromDump>(old).is_some_and(|old| self.is_of_same(old) && old.source.is_open());
    }
}

impl FromDump {
    /// What moving packets causes.
    fn own_causes(&self, ctx: &mut Ctx<'_>) -> Causes {
        // Those that are no IP packets go before the others; who passes over some draws random numbers for it.
        let splits = self.forces_ip && ctx.n_outputs() > 1;
        if splits || self.source.draws() {
            Causes::ANYTHING
        } else {
            Causes::NOTHING
        }
    }

    /// Sends packets. Where somebody may ask, they are counted when all that comes of them is over.
    fn send(&mut self, ctx: &mut Ctx<'_>, batch: Batch) {
        let n = batch.len() as u64;
        ctx.emit(0, batch);
        if n > 0 && ctx.go_on_noticed(Causes::NOTHING) {
            self.n_on_way = n;
        }
    }

    /// Whether another one reads the same file from the same place on.
    fn is_of_same(&self, old: &FromDump) -> bool {
        (&old.source.filename, old.filepos) == (&self.source.filename, self.filepos)
    }

    /// Whether another element has been told of the end, and it is to be seen what that did.
    fn has_told(&self) -> bool {
        matches!(self.next, Next::Told(..))
    }

    fn open(&mut self) -> Result<(), String> {
        self.source.open(self.filepos)?;
        let link_type = self.source.link_type();
        if self.forces_ip && !link::can_find_ip(link_type) {
            let message = format!("unknown linktype {link_type}; can't force IP packets");
            return Err(self.source.at(&message));
        }
        self.forces_ip |= link_type == link::RAW;
        Ok(())
    }

    /// Writes the handler of the end.
    fn end(&mut self, ctx: &mut Ctx<'_>, is_quiet: bool) {
        if let Some(call) = self.end_call.clone() {
            call.write(ctx, self, is_quiet);
        }
    }

    fn wake(&self, ctx: &mut Ctx<'_>) {
        match self.output {
            Output::Push(task, _) => ctx.schedule(task),
            Output::Pull(_) => ctx.set_empty_signal(true),
            Output::Unknown => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{self, check_reading, Scratch, LAN};
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    const READS: &[&str] =
        &["f.count", "f.packet_filepos", "f.filepos", "f.active", "f.rx_packets", "f.rx_bytes"];

    fn check(args: &str, expect: Expect) {
        check_reading(&format!("f :: FromDump({LAN}, {args}) -> Discard;"), READS, expect);
    }

    #[test]
    fn all_packets_are_read() {
        check(
            "STOP true",
            expect![[r#"
            f.count: 799
            f.packet_filepos: 634593
            f.filepos: 634593
            f.active: false
            f.rx_packets: 799
            f.rx_bytes: 621785
        "#]],
        );
    }

    #[test]
    fn a_part_of_a_capture_is_read() {
        check(
            "START_AFTER 1, INTERVAL 2s",
            expect![[r#"
            f.count: 612
            f.packet_filepos: 633787
            f.filepos: 633877
            f.active: false
            f.rx_packets: 612
            f.rx_bytes: 527203
        "#]],
        );
        check(
            "END_AFTER 1, STOP true",
            expect![[r#"
            f.count: 180
            f.packet_filepos: 96792
            f.filepos: 96906
            f.active: false
            f.rx_packets: 180
            f.rx_bytes: 93888
        "#]],
        );
        check(
            "FILEPOS 24, SAMPLE 0",
            expect![[r#"
                config:1: While configuring 'f :: FromDump':
                  warning: SAMPLE probability is 0; emitting no packets
                f.count: 0
                f.packet_filepos: 634593
                f.filepos: 634593
                f.active: true
                f.rx_packets: 0
                f.rx_bytes: 0
            "#]],
        );
    }

    #[test]
    fn a_place_that_no_file_has_is_refused() {
        crate::testing::check(
            "FromDump(x, FILEPOS -1) -> Discard; FromDump(x, FILEPOS 9223372036854775808) -> Discard",
            expect![[r#"
                config:1: While configuring 'FromDump@1 :: FromDump':
                  FILEPOS: invalid number
                config:1: While configuring 'FromDump@3 :: FromDump':
                  FILEPOS: out of range, bound 9223372036854775807
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn packets_that_wait_in_queues_go_together_where_nobody_notices() {
        let scratch = Scratch::new();
        let written = |name, is_simulated| {
            let path = scratch.path(name);
            let config = format!(
                "f :: FromDump({LAN}, STOP true) -> Print(f, 4) -> CheckIPHeader(14) -> c :: IPClassifier(tcp, -) -> q :: Queue(40) -> u :: Unqueue
                    -> CheckTCPHeader(VERBOSE true) -> Strip(14) -> q2 :: Queue -> Counter -> t :: ToDump({path});
                 c [1] -> q3 :: Queue -> d :: Discard;"
            );
            let reads = [
                "f.count",
                "q.highwater_length",
                "q2.highwater_length",
                "q3.highwater_length",
                "q.length",
                "q2.length",
                "q3.length",
                "u.count",
                "u.scheduled",
                "t.count",
                "t.scheduled",
                "d.count",
                "d.scheduled",
            ];
            let printed = testing::run_as_click(is_simulated, &config, &reads);
            assert!(
                printed.contains("q.highwater_length: 1\n") && printed.contains("t.count: "),
                "{printed}"
            );
            (printed, std::fs::read(&path).unwrap())
        };
        assert_eq!(written("together.pcap", false), written("one-by-one.pcap", true));
    }

    #[test]
    fn bursts_do_not_change_what_is_told() {
        check(
            "BURST 7, END_AFTER 1, END_CALL f.stop",
            expect![[r#"
            f.count: 180
            f.packet_filepos: 96792
            f.filepos: 96906
            f.active: false
            f.rx_packets: 180
            f.rx_bytes: 93888
        "#]],
        );
        check(
            "BURST 1000",
            expect![[r#"
            f.count: 799
            f.packet_filepos: 634593
            f.filepos: 634593
            f.active: true
            f.rx_packets: 799
            f.rx_bytes: 621785
        "#]],
        );
    }

    #[test]
    fn timing_is_kept() {
        let config = format!("f :: FromDump({LAN}, TIMING true, END_AFTER 2) -> Discard;");
        check_reading(
            &config,
            READS,
            expect![[r#"
            f.count: 628
            f.packet_filepos: 518318
            f.filepos: 519848
            f.active: true
            f.rx_packets: 628
            f.rx_bytes: 508246
        "#]],
        );
    }

    #[test]
    fn packets_are_pulled() {
        let config = format!(
            "f :: FromDump({LAN}, FORCE_IP true) -> u :: Unqueue -> q :: Discard; f[1] -> n :: Discard;"
        );
        check_reading(
            &config,
            &["f.count", "q.count", "n.count", "f.filesize", "f.encap", "u.scheduled"],
            expect![[r#"
                f.count: 795
                q.count: 795
                n.count: 4
                f.filesize: 634593
                f.encap: ETHER
                u.scheduled: false
            "#]],
        );
    }

    #[test]
    fn comments_and_spaces_around_values_do_not_count() {
        let config = format!(
            "f :: FromDump({LAN}, ACTIVE false) -> Discard;
             DriverManager(writeq f.active \" true \", writeq f.filepos \"24 // the first\", writeq f.extend_interval \"/**/ 1s\",
                 writeq f.active \"false /* no more */\", writeq f.filepos -1, writeq f.filepos 9223372036854775808, stop)"
        );
        check_reading(
            &config,
            &["f.active"],
            expect![[r#"
                While calling 'f.filepos -1':
                  argument must be file offset
                While calling 'f.filepos 9223372036854775808':
                  argument must be file offset
                f.active: false
            "#]],
        );
    }

    #[test]
    fn a_handler_that_is_named_alone_is_the_own_one() {
        for call in ["stop", "active false"] {
            let config = format!("f :: FromDump({LAN}, END_AFTER 1, END_CALL {call}) -> Discard;");
            check_reading(
                &config,
                READS,
                expect![[r#"
                    f.count: 180
                    f.packet_filepos: 96792
                    f.filepos: 96906
                    f.active: false
                    f.rx_packets: 180
                    f.rx_bytes: 93888
                "#]],
            );
        }
    }

    #[test]
    fn who_is_told_of_the_end_decides_about_the_packet_behind_it() {
        let told = |script: &str| {
            format!(
                "f :: FromDump({LAN}, END_AFTER 1, END_CALL s.run) -> c :: Counter -> Discard;
                s :: Script(TYPE PASSIVE, read f.count, read c.count, {script});"
            )
        };
        let reads = ["f.count", "c.count"];
        check_reading(
            &told("write f.active false"),
            &reads,
            expect![[r#"
                f.count:
                180
                c.count:
                180
                f.count:
                180
                c.count:
                180
                f.count: 180
                c.count: 180
            "#]],
        );
        check_reading(
            &told(
                "goto enough $(ge $(f.count) 750), write f.extend_interval 1, exit,
                label enough, write f.active false",
            ),
            &reads,
            expect![[r#"
                f.count:
                180
                c.count:
                180
                f.count:
                704
                c.count:
                704
                f.count:
                792
                c.count:
                792
                f.count:
                792
                c.count:
                792
                f.count: 792
                c.count: 792
            "#]],
        );
    }

    #[test]
    fn the_packet_behind_the_end_is_sampled_like_the_others() {
        for call in ["s.run", "f.reset_counts"] {
            check_reading(
                &format!(
                    "f :: FromDump({LAN}, END_AFTER 1, SAMPLE 0, END_CALL {call}) -> Discard; s :: Script(TYPE PASSIVE, return);"
                ),
                &["f.count"],
                expect![[r#"
                    config:1: While configuring 'f :: FromDump':
                      warning: SAMPLE probability is 0; emitting no packets
                    f.count: 0
                "#]],
            );
        }
    }

    #[test]
    fn the_end_can_be_put_off() {
        check_reading(
            &format!("f :: FromDump({LAN}, END_AFTER 1, END_CALL f.extend_interval 1) -> Discard;"),
            READS,
            expect![[r#"
                f.count: 799
                f.packet_filepos: 634593
                f.filepos: 634593
                f.active: true
                f.rx_packets: 799
                f.rx_bytes: 621785
            "#]],
        );
    }

    #[test]
    fn a_keyword_may_stand_in_front_of_the_file() {
        check_reading(
            &format!("f :: FromDump(MMAP false, {LAN}, false, MMAP true, STOP true) -> Discard;"),
            &["f.count"],
            expect!["f.count: 799\n"],
        );
    }

    #[test]
    fn notifiers_of_sources_that_are_pulled_from_count_last() {
        check_reading(
            &format!(
                "FromDump({LAN}, ACTIVE false) -> Queue -> pushed :: NotifierDebug -> Unqueue -> Discard;
                FromDump({LAN}, ACTIVE false) -> pulled :: NotifierDebug -> Unqueue -> Discard;
                Idle -> QuickNoteQueue -> PullSwitch -> switched :: NotifierDebug -> Unqueue -> Discard"
            ),
            &["pushed.signal", "pulled.signal", "switched.signal"],
            expect![[r#"
                pushed.signal: empty.0/1:0
                pulled.signal: empty.0/4:0
                switched.signal: empty.0/8:0
            "#]],
        );
    }

    #[test]
    fn arguments_are_checked() {
        check(
            "START 1, START_AFTER 2",
            expect![[r#"
                config:1: While configuring 'f :: FromDump':
                  START and START_AFTER are mutually exclusive
                Router could not be initialized!
            "#]],
        );
        check(
            "END 1, INTERVAL 2",
            expect![[r#"
                config:1: While configuring 'f :: FromDump':
                  END, END_AFTER, and INTERVAL are mutually exclusive
                Router could not be initialized!
            "#]],
        );
        check(
            "STOP true, END_CALL f.stop",
            expect![[r#"
                config:1: While configuring 'f :: FromDump':
                  END_CALL and STOP are mutually exclusive
                Router could not be initialized!
            "#]],
        );
        check(
            "MMAP true, SAMPLE 2, MMAP maybe",
            expect![[r#"
                config:1: While configuring 'f :: FromDump':
                  MMAP: parse error
                Router could not be initialized!
            "#]],
        );
    }

    /// What is told of a file with these bytes.
    fn check_bytes(bytes: &[u8], expect: Expect) {
        let scratch = Scratch::new();
        let path = scratch.file("in.pcap", bytes);
        let told = testing::run(&format!("f :: FromDump({path}, STOP true) -> Discard;"), &["f.count"]);
        expect.assert_eq(&told.replace(&path, "in.pcap"));
    }

    #[test]
    fn what_stands_before_a_fault_is_read() {
        let lan = testing::lan();
        check_bytes(
            b"",
            expect![[r#"
                config:1: While initializing 'f :: FromDump(in.pcap)':
                in.pcap:   empty file
                Router could not be initialized!
            "#]],
        );
        check_bytes(
            &lan[..10],
            expect![[r#"
                config:1: While initializing 'f :: FromDump(in.pcap)':
                in.pcap:   not a tcpdump file (too short)
                Router could not be initialized!
            "#]],
        );
        check_bytes(
            b"this is no capture file at all",
            expect![[r#"
                config:1: While initializing 'f :: FromDump(in.pcap)':
                in.pcap:   not a tcpdump file (bad magic number)
                Router could not be initialized!
            "#]],
        );
        check_bytes(
            &lan[..1000],
            expect![[r#"
            in.pcap: byte 954: truncated record, 46 of at least 115 bytes
            f.count: 10
        "#]],
        );
        let mut bad = lan[..954].to_vec();
        bad.extend([0xff; 16]);
        check_bytes(
            &bad,
            expect![[r#"
            in.pcap: bad packet header; giving up
            in.pcap: byte 954: captured length is 4294967295, must be at most 262144
            f.count: 10
        "#]],
        );
    }

    #[test]
    fn pcapng_is_read_as_pcap_is() {
        use crate::capture::{Precision, Reader, Writer};
        let mut reader = Reader::open(LAN).unwrap();
        let mut writer = Writer::pcapng(Vec::new(), reader.link_type(), u32::MAX, Precision::Nano);
        while let Some(record) = reader.next_record().unwrap() {
            writer.write(record.timestamp, record.wire_len + 3, record.data).unwrap();
        }
        let scratch = Scratch::new();
        let path = scratch.file("in.pcapng", &writer.finish().unwrap());
        let copy = scratch.path("out.pcap");
        let args = "SNAPLEN 262144, NANO false, EXTRA_LENGTH false, USE_ENCAP_FROM f";
        let config = format!(
            "f :: FromDump({path}, STOP true, FORCE_IP true) -> ToDump({copy}, {args}); f[1] -> Discard;"
        );
        let told = testing::run(&config, &["f.count", "f.encap", "f.packet_filepos"]);
        expect![[r#"
            f.count: 795
            f.encap: ETHER
            f.packet_filepos: 648960
        "#]]
        .assert_eq(&told);
        let config = format!("f :: FromDump({path}, STOP true) -> ToDump({copy}, {args});");
        testing::run(&config, &[]);
        assert!(std::fs::read(&copy).unwrap() == testing::lan(), "the copy differs");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_file_is_read_to_an_end(
            len in 0usize..4000,
            changes in proptest::collection::vec((0usize..4000, any::<u8>()), 0..8),
            args in proptest::sample::select(vec!["STOP true", "BURST 9, FORCE_IP true", "END_AFTER 1, INTERVAL 1", "FILEPOS 100"]),
        ) {
            let mut bytes = testing::lan()[..len].to_vec();
            for (at, value) in changes {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            let scratch = Scratch::new();
            let path = scratch.file("in.pcap", &bytes);
            let text = testing::run(&format!("f :: FromDump({path}, {args}) -> Discard;"), &["f.scheduled"]);
            prop_assert!(text.ends_with("f.scheduled: false\n") || text.contains("could not be initialized"), "{}", text);
        }
    }

    #[test]
    fn packets_are_counted_behind_what_comes_of_them() {
        check_reading(
            &format!(
                "f :: FromDump({LAN}) -> Counter(COUNT_CALL 3 s.run) -> Discard;
                 s :: Script(TYPE PASSIVE, read f.count, read f.scheduled, write f.reset_counts, write f.active false);
                 DriverManager(wait 1ms, stop)"
            ),
            &["f.count"],
            expect![[r#"
                f.count:
                2
                f.scheduled:
                true
                f.count: 1
            "#]],
        );
    }
}
