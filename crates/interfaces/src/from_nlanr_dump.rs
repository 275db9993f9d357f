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
    Arg::keyword("FILEPOS", "offset", "Where in the uncompressed file to begin; a record must start there. Default 0."),
    trace::SAMPLE,
    trace::TIMING,
];

const HANDLERS: &[Handler] = &[
    trace::SAMPLING_PROB,
    trace::IS_ACTIVE,
    Handler::read("encap", "The kind of packets: IP."),
    Handler::write("stop", "Becomes inactive and stops the driver.").flags("button"),
    Handler::read("packet_filepos", "Where in the uncompressed file the last record that was read starts."),
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

    fn configure(conf: &mut Configure<'_>) -> Nlanr {
        let Word(name) = conf.args.get("FORMAT").unwrap_or(Word("guess".to_string()));
        conf.args.get::<bool>("FORCE_IP");
        let begin = conf.args.get_or("FILEPOS", 0);
        Nlanr { name, format: Format::Tsh, begin }
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
    let number = |at: usize| header.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default();
    [u32::from_be_bytes(number(0)), u32::from_be_bytes(number(4))]
}

/// The format that a file's name tells.
fn guess(filename: &str) -> Option<Format> {
    let name = filename.to_ascii_lowercase();
    let name = [".gz", ".z", ".bz2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let formats = [(".fr", Format::Fr), (".fr+", Format::FrPlus), (".tsh", Format::Tsh)];
    formats.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
}
