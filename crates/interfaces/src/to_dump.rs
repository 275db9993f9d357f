//! Writes packets to a capture file.
//!
//! Writes a pcap file, compressed if its name ends with `.gz` or `.bz2`; `-` is standard output. With an output, it passes
//! all packets on; with a pull input and no output, it pulls packets whenever there are some. The file is complete when the
//! graph ends.
//!
//! What reads the file knows nothing of offload: packets whose segmentation or checksum is still to be done are written as
//! segments with their checksums, unless SEGMENT is false.
//!
//! A file that would have more than MAX_PACKETS or MAX_BYTES is full, and another one begins. FILENAME is always the newest,
//! FILENAME.1 the one before it, and so on up to FILES of them.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> ToDump(out.pcap, SNAPLEN 0);
//! ```

mod encap;
mod rotation;
mod writing;

use args::{Filename, Word};
use element::{
    handlers, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Phase,
    Puller, Role, TaskId, BATCH_MAX,
};

use crate::capture::{is_named_pcapng, link, Format, Output, Precision, Writer};
use crate::traffic::Traffic;
use encap::encap_of;
use rotation::Rotation;

/// The class. It is configured after those whose `encap` it may ask.
pub const CLASS: Class = Class::new::<ToDump>("ToDump", "1/0-1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .phase(Phase(Phase::DEFAULT.0 + 100))
    .role(Role::Output);

const ARGS: &[Arg] = &[
    Arg::required("FILENAME", "filename", "The file; `-` is standard output."),
    Arg::optional("SNAPLEN", "unsigned", "Most bytes to write of a packet; 0 is no limit. Default 2000."),
    Arg::optional(
        "ENCAP",
        "word",
        "Link type, such as `ETHER`, `IP`, `SLL` or `#` and its number. Default ETHER.",
    ),
    Arg::keyword(
        "USE_ENCAP_FROM",
        "elements",
        "Elements whose `encap` handlers, which must agree, tell the link type.",
    ),
    Arg::keyword(
        "EXTRA_LENGTH",
        "bool",
        "Whether packets' extra-length annotations count as their length. Default true.",
    ),
    Arg::keyword(
        "UNBUFFERED",
        "bool",
        "Whether to write packets at once, those that come together by one call. Default false.",
    ),
    Arg::keyword("NANO", "bool", "Whether timestamps have nanoseconds. Default true."),
    Arg::keyword("PER_NODE", "bool", "Accepted for compatibility; there are no simulated nodes."),
    Arg::keyword(
        "SEGMENT",
        "bool",
        "Whether to do what offload left to be done before writing. Default true.",
    ),
    Arg::keyword(
        "FORMAT",
        "word",
        "`pcap`, `pcapng`, or `auto`, which is pcapng if FILENAME ends with `.pcapng`, compressed or not. Default pcap.",
    ),
    Arg::keyword("MAX_PACKETS", "unsigned", "Most packets of a file; 0 is no limit. Default 0."),
    Arg::keyword(
        "MAX_BYTES",
        "unsigned",
        "Most bytes of a file before compression; 0 is no limit. Default 0.",
    ),
    Arg::keyword("FILES", "unsigned", "How many files are kept, 1 to 10000. Default 1."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("filename", "The file's name.").flags("alike"),
    Handler::read("count", "Packets written."),
    Handler::read("full_files", "Files that became full.").flags("unlisted"),
    Handler::read("failures", "Errors of writing, at each of which it stops to write.").flags("unlisted"),
    Handler::read("lost", "Packets that were not written after such an error.").flags("unlisted"),
    Handler::write("resume", "Writes again after an error, from where it stopped.").flags("unlisted"),
    Handler::write("reset_counts", "Sets the count to 0.").flags("button"),
    Handler::read("interface_name", "Where packets go: the file.").flags("unlisted"),
    Handler::read("tx_packets", "Packets written since the start.").flags("unlisted"),
    Handler::read("tx_bytes", "Bytes of these packets, whether cut by SNAPLEN or not.").flags("unlisted"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// The name of standard output.
const STDOUT: &str = "<stdout>";

/// See the page above.
pub struct ToDump {
    filename: String,
    snaplen: u32,
    link_type: u32,
    encap_from: Vec<String>,
    counts_extra: bool,
    is_unbuffered: bool,
    precision: Precision,
    format: Format,
    segments: bool,
    writer: Option<Writer<Output>>,
    /// What the file holds if it is one that another element has begun.
    goes_on: Option<(u32, Precision, Format)>,
    rotation: Rotation,
    is_active: bool,
    /// Packets to pull each time scheduled.
    burst: usize,
    n_failures: u64,
    n_lost: u64,
    count: u64,
    traffic: Traffic,
    /// What of it is no longer in this process.
    written: Traffic,
    puller: Option<Puller>,
}

impl Element for ToDump {
    fn configure(conf: &mut Configure<'_>) -> Result<ToDump, Failed> {
        let filename = conf.args.need::<Filename>("FILENAME").0;
        let snaplen = conf.args.get_or("SNAPLEN", 2000);
        let encap = conf.args.get::<Word>("ENCAP").map(|word| word.0);
        let encap_from = conf.args.text("USE_ENCAP_FROM").map(args::split_words);
        let counts_extra = conf.args.get_or("EXTRA_LENGTH", true);
        let is_unbuffered = conf.args.get_or("UNBUFFERED", false);
        let is_nano = conf.args.get_or("NANO", true);
        conf.args.get::<bool>("PER_NODE");
        let segments = conf.args.get_or("SEGMENT", true);
        let format = format(conf, &filename);
        let rotation = Rotation::new(
            conf.args.get_or("MAX_PACKETS", 0),
            conf.args.get_or("MAX_BYTES", 0),
            conf.args.get_with("FILES", args::bounded(1u32, 10_000)).unwrap_or(1),
            format,
        );
        let link_type = encap.as_deref().map_or(Some(link::ETHERNET), link::parse);
        let encap_from = encap_from.unwrap_or_default();
        if encap.is_some() && conf.args.is_given("USE_ENCAP_FROM") {
            conf.args.fail("specify at most one of 'ENCAP' and 'USE_ENCAP_FROM'");
        } else if link_type.is_none() {
            conf.args.fail("bad encapsulation type");
        } else if let Some(message) = encap_from.iter().find_map(|name| conf.element_called(name, &[]).err())
        {
            conf.args.fail(message);
        }
        conf.finish()?;
        Ok(ToDump {
            filename,
            snaplen: if snaplen == 0 { u32::MAX } else { snaplen },
            link_type: link_type.unwrap_or(link::ETHERNET),
            encap_from,
            counts_extra,
            is_unbuffered,
            precision: if is_nano { Precision::Nano } else { Precision::Micro },
            format,
            segments,
            writer: None,
            goes_on: None,
            rotation,
            is_active: true,
            burst: conf.environment.default_burst().clamp(1, BATCH_MAX),
            n_failures: 0,
            n_lost: 0,
            count: 0,
            traffic: Traffic::default(),
            written: Traffic::default(),
            puller: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.encap_from.is_empty() {
            self.link_type = encap_of(ctx, &self.encap_from)?;
        }
        if self.goes_on != Some((self.link_type, self.precision, self.format)) {
            self.create()?;
        }
        if self.filename == "-" {
            self.filename = STDOUT.to_string();
        }
        if !ctx.input_is_push(0) && ctx.n_outputs() == 0 {
            self.puller = Some(ctx.new_puller(0));
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.write_batch(ctx, &batch);
        if ctx.n_outputs() > 0 {
            ctx.emit(0, batch);
        } else {
            batch.clear();
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.write_batch(ctx, &batch);
        batch
    }

    fn joint_runs(&self) -> (usize, Causes) {
        (if self.is_active { usize::MAX } else { 1 }, Causes::NOTHING)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active {
            return false;
        }
        let of_run = ctx.fitting(self.burst, Causes::NOTHING);
        let burst = ctx.joint_burst(of_run, u64::MAX, Causes::NOTHING);
        let (mut batch, n_idle) = ctx.pull_joint(0, of_run, burst);
        let worked = !batch.is_empty() && (of_run > 1 || n_idle == 0);
        self.write_batch(ctx, &batch);
        batch.clear();
        if !worked && !self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal)) {
            return false;
        }
        ctx.schedule(task);
        worked
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "filename" | "interface_name" => self.filename.clone(),
            "count" => self.count.to_string(),
            "failures" => self.n_failures.to_string(),
            "lost" => self.n_lost.to_string(),
            "full_files" => self.rotation.n_full.to_string(),
            "tx_packets" => self.traffic.packets.to_string(),
            "tx_bytes" => self.traffic.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => self.count = 0,
            "resume" if !self.is_active => self.resume(ctx)?,
            "resume" => {}
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        let finished = self.writer.take().map_or(Ok(()), |writer| writer.finish()?.finish());
        // What could not be written before was told then.
        if let Some(error) = finished.err().filter(|_| self.is_active) {
            self.complain(ctx, &error);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ToDump>(ctx, old) else { return };
        if self.writer.is_none() && old.filename == self.filename {
            self.writer = old.writer.take();
            self.rotation.take_over(&old.rotation);
            if let Some(writer) = &mut self.writer {
                writer.set_snaplen(self.snaplen);
            }
        }
        (self.count, self.traffic, self.written) = (old.count, old.traffic, old.written);
        (self.n_failures, self.n_lost) = (old.n_failures, old.n_lost);
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        let Some(old) = same_ref::<ToDump>(old).filter(|old| old.writer.is_some()) else { return };
        if old.filename == self.filename || old.filename == STDOUT && self.filename == "-" {
            self.goes_on = Some((old.link_type, old.precision, old.format));
        }
    }
}

/// Reads FORMAT.
fn format(conf: &mut Configure<'_>, filename: &str) -> Format {
    match conf.args.get::<Word>("FORMAT").as_ref().map(|word| word.0.as_str()) {
        None | Some("pcap") => Format::Pcap,
        Some("pcapng") => Format::Pcapng,
        Some("auto") if is_named_pcapng(filename) => Format::Pcapng,
        Some("auto") => Format::Pcap,
        Some(other) => {
            conf.args.fail(format!("FORMAT: `{other}` is no format; choose pcap, pcapng or auto"));
            Format::Pcap
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::capture::Reader;
    use crate::testing::{self, check, Scratch, LAN};
    use expect_test::expect;

    /// The file that a `ToDump` with these arguments makes of the capture.
    fn written(name: &str, args: &str, path_between: &str) -> (String, Vec<u8>) {
        let scratch = Scratch::new();
        let path = scratch.path(name);
        let config = format!("f :: FromDump({LAN}, STOP true) {path_between} t :: ToDump({path}, {args});");
        let told = testing::run(&config, &["t.count", "t.tx_packets", "t.tx_bytes"]);
        (told.replace(&path, name), std::fs::read(&path).unwrap())
    }

    #[test]
    fn a_capture_is_written_as_it_was() {
        for path_between in ["->", "-> Queue(1000) ->", "-> Queue(1000) -> Unqueue ->"] {
            let (told, bytes) =
                written("out.pcap", "SNAPLEN 262144, NANO false, USE_ENCAP_FROM f", path_between);
            if path_between == "->" {
                expect![[r#"
                    t.count: 799
                    t.tx_packets: 799
                    t.tx_bytes: 621785
                "#]]
                .assert_eq(&told);
                assert!(bytes == testing::lan(), "the file differs");
            }
            assert!(testing::lan().starts_with(&bytes[..24]));
        }
    }

    #[test]
    fn packets_are_cut_and_times_are_fine() {
        let (told, bytes) = written("out.pcap", "30, IP, EXTRA_LENGTH false, UNBUFFERED true", "->");
        expect![[r#"
            t.count: 799
            t.tx_packets: 799
            t.tx_bytes: 621785
        "#]]
        .assert_eq(&told);
        let mut reader = Reader::new(std::io::Cursor::new(bytes)).unwrap();
        assert_eq!((reader.link_type(), reader.snaplen()), (crate::capture::link::RAW, 30));
        let mut n = 0;
        while let Some(record) = reader.next_record().unwrap() {
            assert_eq!(record.data.len(), 30);
            n += 1;
        }
        assert_eq!(n, 799);
    }

    #[test]
    fn a_compressed_capture_is_read_back() {
        for name in ["out.pcap.gz", "out.pcap.bz2"] {
            let scratch = Scratch::new();
            let path = scratch.path(name);
            testing::run(&format!("FromDump({LAN}, STOP true) -> ToDump({path});"), &[]);
            let told = testing::run(
                &format!("f :: FromDump({path}, STOP true) -> Discard;"),
                &["f.count", "f.filesize", "f.filepos"],
            );
            assert_eq!(told, "f.count: 799\nf.filesize: -\nf.filepos: 634593\n");
        }
    }

    #[test]
    fn arguments_are_checked() {
        check(
            "Idle -> ToDump(/tmp/x, ENCAP FOO);",
            expect![[r#"
                config:1: While configuring 'ToDump@2 :: ToDump':
                  bad encapsulation type
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> ToDump(/tmp/x, ENCAP IP, USE_ENCAP_FROM j);",
            expect![[r#"
                config:1: While configuring 'ToDump@2 :: ToDump':
                  specify at most one of 'ENCAP' and 'USE_ENCAP_FROM'
                Router could not be initialized!
            "#]],
        );
        check(
            "i :: Idle -> ToDump(/tmp/x, USE_ENCAP_FROM j);",
            expect![[r#"
                config:1: While configuring 'ToDump@2 :: ToDump':
                  no element named 'j'
                Router could not be initialized!
            "#]],
        );
        check(
            "i :: Idle -> ToDump(/tmp/x, USE_ENCAP_FROM i);",
            expect![[r#"
                config:1: While initializing 'ToDump@2 :: ToDump':
                  'i :: Idle' has no 'encap' read handler
                Router could not be initialized!
            "#]],
        );
        check(
            "Idle -> ToDump(/nowhere/x);",
            expect![[r#"
                config:1: While initializing 'ToDump@2 :: ToDump':
                  /nowhere/x: No such file or directory
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn a_full_disk_is_told_once() {
        check(
            &format!("FromDump({LAN}, STOP true) -> ToDump(/dev/full);"),
            expect![[r#"
            ToDump(/dev/full): No space left on device
        "#]],
        );
    }

    #[test]
    fn packets_that_are_not_written_are_lost_also_those_that_came_with_the_last_one_that_was() {
        let told = testing::run(
            &format!("FromDump({LAN}, STOP true) -> t :: ToDump(/dev/full, SNAPLEN 0)"),
            &["t.count", "t.lost", "t.failures"],
        );
        let numbers: Vec<u32> =
            told.lines().filter_map(|line| line.rsplit(' ').next()?.parse().ok()).collect();
        let [count, lost, failures] = numbers[..] else { panic!("{told}") };
        assert_eq!((count + lost, failures), (799, 1), "{told}");
    }
}
