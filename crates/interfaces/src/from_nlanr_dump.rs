//! Reads packets from a trace in one of the formats of NLANR.
//!
//! TSH and FR+ have records of 44 bytes: a time, an IPv4 header and the first 16 bytes behind it. The first byte of TSH's microseconds
//! is the number of an interface, which becomes the paint. FORMAT `guess` goes by the file's name: `.tsh`, `.fr+` or `.fr`, with
//! `.gz`, `.Z` or `.bz2` behind it or not. FR has no headers; as in Click, nothing is emitted then.
//!
//! Packets with IP options, of which nothing is known, and packets that are not IPv4 leave by output 1, or are dropped. The file may be
//! compressed. What stands before a fault in it is emitted, then the fault and its place are told.
//!
//! ```click
//! FromNLANRDump(trace.tsh, STOP true) -> IPPrint -> Discard;
//! ```

use args::Word;
use element::{Arg, Class, Configure, Failed, Handler, Packet, Role};

use crate::capture::link;
use crate::mark_ip::mark_ip;
use crate::trace::{self, Cell, Doubt, Trace, TraceSource};

/// The class.
pub const CLASS: Class = Class::new::<TraceSource<Nlanr>>("FromNLANRDump", "0/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(trace::DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    trace::MMAP,
    trace::FILENAME,
    Arg::keyword("FORMAT", "fr, fr+, tsh or guess", "What the records are. Default guess."),
    trace::STOP,
    trace::ACTIVE,
    Arg::keyword("FORCE_IP", "bool", "Accepted for compatibility; all packets are IP."),
    trace::START,
    trace::START_AFTER,
    trace::END,
    trace::END_AFTER,
    trace::INTERVAL,
    trace::END_CALL,
    trace::FILEPOS,
    trace::SAMPLE,
    trace::TIMING,
];

const HANDLERS: &[Handler] = &[
    trace::SAMPLING_PROB,
    trace::IS_ACTIVE,
    Handler::read("encap", "The kind of packets: IP.").flags("alike"),
    Handler::write("stop", "Becomes inactive and stops the driver.").flags("button"),
    Handler::read("packet_filepos", "Where in the uncompressed file the last record that was read starts.")
        .flags("alike"),
    trace::EXTEND_INTERVAL,
    trace::FILE[0],
    trace::FILE[1],
    trace::FILE[2],
    trace::TASK[0],
    trace::TASK[1],
    trace::TASK[2],
];

/// Bytes of the time in front of each record.
const TIME: usize = 8;
/// Bytes of records of TSH and FR+, and of FR.
const LONG: usize = 44;
const SHORT: usize = 24;
const IP_HEADER: usize = 20;
const NS_PER_S: i64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Fr,
    FrPlus,
    Tsh,
}

/// The formats.
pub struct Nlanr {
    /// FORMAT as it is written.
    name: String,
    format: Format,
    begin: u64,
}

impl Trace for Nlanr {
    const STARTS: &'static str = "START and START_AFTER are mutually exclusive";

    fn new() -> Nlanr {
        Nlanr { name: "guess".to_string(), format: Format::Tsh, begin: 0 }
    }

    fn configure(&mut self, conf: &mut Configure<'_>, after: &str) {
        match after {
            "FILENAME" => {
                if let Some(Word(name)) = conf.args.get("FORMAT") {
                    self.name = name;
                }
            }
            "ACTIVE" => {
                conf.args.get::<bool>("FORCE_IP");
            }
            "END_CALL" => self.begin = conf.args.get_or("FILEPOS", 0_i64) as u64,
            _ => {}
        }
    }

    fn check(&mut self, conf: &mut Configure<'_>, filename: &str) -> Result<(), Failed> {
        self.format = match self.name.to_ascii_lowercase().as_str() {
            "fr" => Format::Fr,
            "fr+" => Format::FrPlus,
            "tsh" => Format::Tsh,
            "guess" => guess(filename).unwrap_or_else(|| {
                conf.warning("cannot guess file format from filename, assuming 'tsh'");
                Format::Tsh
            }),
            _ => return Err("bad FORMAT".into()),
        };
        Ok(())
    }

    fn header_len(&self) -> usize {
        if self.format == Format::Fr {
            SHORT
        } else {
            LONG
        }
    }

    fn time_ns(&self, header: &[u8]) -> i64 {
        let [seconds, microseconds] = times(header);
        let microseconds = if self.format == Format::Tsh { microseconds & 0x00ff_ffff } else { microseconds };
        // Numbers of 32 bits, as Click has them.
        i64::from(seconds as i32) * NS_PER_S + i64::from(microseconds.wrapping_mul(1000))
    }

    fn cell(&mut self, _header: &[u8], _tell: &mut dyn FnMut(Doubt)) -> Result<Cell, Option<String>> {
        match self.format {
            Format::Fr => Err(None),
            Format::FrPlus | Format::Tsh => Ok(Cell { n_header: TIME, n_padding: 0, n_data: 0, wire_len: 0 }),
        }
    }

    fn finish(&self, packet: &mut Packet, header: &[u8]) -> bool {
        if !mark_ip(packet, link::RAW) || packet.network_header_len() != IP_HEADER {
            return false;
        }
        if self.format == Format::Tsh {
            packet.set_paint((times(header)[1] >> 24) as u8);
        }
        true
    }

    fn begin(&self) -> u64 {
        self.begin
    }

    fn encap(&self) -> String {
        "IP".to_string()
    }
}

/// Seconds and microseconds in front of a record.
fn times(header: &[u8]) -> [u32; 2] {
    let number =
        |at: usize| header.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    [u32::from_be_bytes(number(0)), u32::from_be_bytes(number(4))]
}

/// The format that a file's name tells.
fn guess(filename: &str) -> Option<Format> {
    let name = filename.to_ascii_lowercase();
    let name = [".gz", ".z", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let formats = [(".fr", Format::Fr), (".fr+", Format::FrPlus), (".tsh", Format::Tsh)];
    formats.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, run, Scratch};
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    /// A record: its time, and the version and header length of its packet from host `host`.
    fn record(seconds: u32, microseconds: u32, version: u8, host: u8) -> Vec<u8> {
        let mut packet =
            *b"\x45\0\x05\xdc\0\x01\0\0\x40\x11\0\0\x01\0\0\x01\x02\0\0\x02\0\x35\0\x36\0\x10\0\0ABCDEFGH";
        (packet[0], packet[15]) = (version, host);
        [&seconds.to_be_bytes()[..], &microseconds.to_be_bytes(), &packet].concat()
    }

    fn trace() -> Vec<u8> {
        [
            record(100, 3 << 24 | 5, 0x45, 1),
            record(101, 4 << 24 | 999_999, 0x46, 2),
            record(102, u32::MAX, 0x45, 3),
            record(103, 0, 0x60, 4),
            record(0xf000_0000, 1, 0x45, 5),
            record(104, 0, 0x45, 6),
        ]
        .concat()
    }

    /// Reads a trace and shows its packets, those of output 1 as `other`.
    fn read(name: &str, bytes: &[u8], arguments: &str, expect: Expect) {
        let scratch = Scratch::new();
        let file = scratch.file(name, bytes);
        let config = format!(
            "f :: FromNLANRDump({file}{arguments}) -> Print(x, 36, TIMESTAMP true, PRINTANNO true) -> Discard;
             f[1] -> Print(other, 4) -> Discard"
        );
        let reads = ["f.filepos", "f.filesize", "f.encap", "f.active", "f.sampling_prob", "f.packet_filepos"];
        expect.assert_eq(&run(&config, &reads).replace(&file, "FILE"));
    }

    #[test]
    fn interfaces_become_paint() {
        read(
            "trace.TSH",
            &trace(),
            "",
            expect![[r#"
            x: 100.000005:   36 | 020000020000000000000000000000000300000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            other:   36 | 460005dc
            x: 105.892313112:   36 | 02000002000000000000000000000000ff00000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000003 02000002 00350036 00100000 41424344 45464748
            other:   36 | 600005dc
            x: -268435455.999999:   36 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000005 02000002 00350036 00100000 41424344 45464748
            x: 104.000000:   36 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000006 02000002 00350036 00100000 41424344 45464748
            f.filepos: 264
            f.filesize: 264
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
            f.packet_filepos: 264
        "#]],
        );
    }

    #[test]
    fn fr_plus_counts_microseconds_in_all_bytes() {
        read(
            "trace.fr+",
            &trace()[..88],
            "",
            expect![[r#"
            x: 103.087012744:   36 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            other:   36 | 460005dc
            f.filepos: 88
            f.filesize: 88
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
            f.packet_filepos: 88
        "#]],
        );
    }

    #[test]
    fn fr_has_no_headers_to_emit() {
        read(
            "trace.gz",
            &trace(),
            ", FORMAT fr, STOP true",
            expect![[r#"
            f.filepos: 48
            f.filesize: 264
            f.encap: IP
            f.active: false
            f.sampling_prob: 1
            f.packet_filepos: 24
        "#]],
        );
    }

    #[test]
    fn a_part_of_a_trace_is_read() {
        read(
            "trace.tsh",
            &trace(),
            ", FILEPOS 220",
            expect![[r#"
            x: 104.000000:   36 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000006 02000002 00350036 00100000 41424344 45464748
            f.filepos: 264
            f.filesize: 264
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
            f.packet_filepos: 264
        "#]],
        );
        read(
            "trace.tsh",
            &trace()[..132],
            ", START_AFTER 1, FORCE_IP false",
            expect![[r#"
            other:   36 | 460005dc
            x: 105.892313112:   36 | 02000002000000000000000000000000ff00000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000003 02000002 00350036 00100000 41424344 45464748
            f.filepos: 132
            f.filesize: 132
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
            f.packet_filepos: 132
        "#]],
        );
        read(
            "trace.tsh",
            &trace(),
            ", FILEPOS 999, STOP true",
            expect![[r#"
            f.filepos: 264
            f.filesize: 264
            f.encap: IP
            f.active: false
            f.sampling_prob: 1
            f.packet_filepos: 264
        "#]],
        );
    }

    #[test]
    fn faults_are_told_behind_what_is_before_them() {
        read(
            "trace",
            &trace()[..130],
            "",
            expect![[r#"
            config:1: While configuring 'f :: FromNLANRDump':
              warning: cannot guess file format from filename, assuming 'tsh'
            x: 100.000005:   36 | 020000020000000000000000000000000300000000000000000000000000000000000000000000000000000000000000 | 450005dc 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            FILE: byte 88: truncated record, 42 of at least 44 bytes
            other:   36 | 460005dc
            f.filepos: 130
            f.filesize: 130
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
            f.packet_filepos: 88
        "#]],
        );
    }

    #[test]
    fn formats_are_guessed_by_name() {
        let cases = ["a.fr", "b.FR+", "c.Tsh", "d.tsh.gz", "e.fr.Z", "f.fr+.bz2", "g.gz", "tsh"];
        let guessed: Vec<_> = cases.iter().map(|name| format!("{name} {:?}", guess(name))).collect();
        expect![[r#"
            a.fr Some(Fr)
            b.FR+ Some(FrPlus)
            c.Tsh Some(Tsh)
            d.tsh.gz Some(Tsh)
            e.fr.Z Some(Fr)
            f.fr+.bz2 Some(FrPlus)
            g.gz None
            tsh None"#]]
        .assert_eq(&guessed.join("\n"));
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "FromNLANRDump(x, START 1, START_AFTER 1, FORMAT x) -> Discard; FromNLANRDump(/x, FORMAT y) -> Discard;
             FromNLANRDump(x, END 1, INTERVAL 2) -> Discard; FromNLANRDump(FORMAT 'a b', FILEPOS x) -> Discard;
             FromNLANRDump(MMAP false, x.tsh, SAMPLE y, FORCE_IP y, FILEPOS y, STOP y) -> Discard",
            expect![[r#"
                config:1: While configuring 'FromNLANRDump@1 :: FromNLANRDump':
                  START and START_AFTER are mutually exclusive
                config:1: While configuring 'FromNLANRDump@3 :: FromNLANRDump':
                  bad FORMAT
                config:2: While configuring 'FromNLANRDump@5 :: FromNLANRDump':
                  END, END_AFTER, and INTERVAL are mutually exclusive
                config:2: While configuring 'FromNLANRDump@7 :: FromNLANRDump':
                  FILENAME: parse error
                  FILEPOS: invalid number
                config:3: While configuring 'FromNLANRDump@9 :: FromNLANRDump':
                  FILEPOS: invalid number
                  SAMPLE: parse error
                Router could not be initialized!
            "#]],
        );
        check(
            "FromNLANRDump(/none/such.tsh) -> Discard; FromNLANRDump(x.tsh, END_CALL f.x) -> Discard",
            expect![[r#"
            config:1: While configuring 'FromNLANRDump@3 :: FromNLANRDump':
              END_CALL: no element named 'f'
              END_CALL: parse error
            Router could not be initialized!
        "#]],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(prop_oneof![Just(0x45u8), any::<u8>()], 1..300)) {
            let scratch = Scratch::new();
            let file = scratch.file("trace.tsh", &bytes);
            let printed = run(&format!("f :: FromNLANRDump({file}, STOP true) -> Discard"), &["f.filepos"]);
            let line = format!("f.filepos: {}\n", bytes.len());
            prop_assert!(printed.ends_with(&line), "{printed}");
        }
    }
}
