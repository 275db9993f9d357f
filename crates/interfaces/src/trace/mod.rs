//! Sources of packets in traces, whose records have headers of one length.

mod cells;
mod reading;
mod source;

use element::{handlers, Arg, Batch, Configure, DropReason, Failed, Handler, Packet, TaskId, TimerId};

use self::cells::Cells;
use crate::dump_end::EndCall;
use crate::dump_window::Window;

/// The arguments of all sources, most of which `FromDump` has as well: MMAP and FILENAME come first.
pub const MMAP: Arg = Arg::keyword(
    "MMAP",
    "bool",
    "Accepted for compatibility; the way the file is read does not depend on it.",
);
pub const FILENAME: Arg = Arg::required("FILENAME", "filename", "The trace; `-` is standard input.");
pub const STOP: Arg = Arg::keyword("STOP", "bool", "Whether to stop the driver at the end. Default false.");
pub const ACTIVE: Arg = Arg::keyword("ACTIVE", "bool", "Whether to emit packets. Default true.");
pub const FORCE_IP: Arg =
    Arg::keyword("FORCE_IP", "bool", "Whether to emit only IP packets, headers marked. Default false.");
pub const FILEPOS: Arg = Arg::keyword(
    "FILEPOS",
    "offset",
    "Where in the uncompressed file to begin; a record must start there. Default 0.",
);
pub const START: Arg =
    Arg::keyword("START", "time", "Time since the epoch before which packets are passed over.");
pub const START_AFTER: Arg = Arg::keyword("START_AFTER", "time", "As START, from the first packet's time.");
pub const END: Arg = Arg::keyword("END", "time", "Time since the epoch at which to end.");
pub const END_AFTER: Arg = Arg::keyword("END_AFTER", "time", "As END, from the first packet's time.");
pub const INTERVAL: Arg = Arg::keyword("INTERVAL", "time", "As END, from the first emitted packet's time.");
pub const END_CALL: Arg = Arg::keyword(
    "END_CALL",
    "handler call",
    "A handler to write at the end. Default with an end time: `active false`.",
);
pub const SAMPLE: Arg =
    Arg::keyword("SAMPLE", "fraction", "Probability with which a packet is emitted. Default 1.");
pub const TIMING: Arg =
    Arg::keyword("TIMING", "bool", "Whether to keep the time between packets. Default false.");

/// Their handlers.
pub const SAMPLING_PROB: Handler =
    Handler::read("sampling_prob", "Probability with which a packet is emitted.").flags("alike");
pub const IS_ACTIVE: Handler =
    Handler::read_write("active", "Whether packets are emitted.").flags("checkbox");
pub const EXTEND_INTERVAL: Handler =
    Handler::write("extend_interval", "Moves the end time by this interval and becomes active.");
pub const FILE: [Handler; 3] = [
    Handler::read("filename", "The file's name.").flags("alike"),
    Handler::read("filesize", "The file's length in bytes, or `-` where it cannot be known.").flags("alike"),
    Handler::read("filepos", "Bytes of the uncompressed file that were read.").flags("alike"),
];
pub const TASK: [Handler; 3] = [handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];

/// Why packets are dropped.
pub const DROPS: &[DropReason] =
    &[DropReason::new("not-wanted", "The packet was for output 1, which is not connected.")];
const NOT_WANTED: usize = 0;

/// What follows a record's header, and what the packet is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of the header that do not belong to the packet.
    pub n_header: usize,
    /// Bytes behind the header that nobody wants.
    pub n_padding: usize,
    /// Bytes behind them that belong to the packet.
    pub n_data: usize,
    /// Length of the packet on the wire; 0 if it is not told.
    pub wire_len: u32,
}

/// A kind of traces.
pub trait Trace: Send + Sized + 'static {
    /// What is said when START and START_AFTER are given.
    const STARTS: &'static str;

    /// A trace of which no argument was read.
    fn new() -> Self;
    /// Reads those arguments of this kind that come behind argument `after` in its table: mistakes are told in that order.
    fn configure(&mut self, conf: &mut Configure<'_>, after: &str);
    /// Judges what [`Trace::configure`] has read, when all arguments are read.
    fn check(&mut self, conf: &mut Configure<'_>, filename: &str) -> Result<(), Failed>;
    /// Judges the same again when the file has been opened.
    fn start(&self, _keeps_time: bool) -> Result<(), String> {
        Ok(())
    }
    /// Bytes of a record's header.
    fn header_len(&self) -> usize;
    /// A record's time in nanoseconds since the epoch.
    fn time_ns(&self, header: &[u8]) -> i64;
    /// What a record is; the error says why there can be no more. What is to be told goes to `tell`.
    fn cell(&mut self, header: &[u8], tell: &mut dyn FnMut(Doubt)) -> Result<Cell, Option<String>>;
    /// Marks and annotates a packet; false if it is for output 1.
    fn finish(&self, packet: &mut Packet, header: &[u8]) -> bool;
    /// Where in the file to begin.
    fn begin(&self) -> u64 {
        0
    }
    /// The link type of the last packet, as the handler `encap` tells it.
    fn encap(&self) -> String;
}

/// Something doubtful about a record.
pub struct Doubt {
    /// As told when the graph starts.
    pub at_start: [String; 2],
    /// As told while packets flow, behind the element's name.
    pub later: String,
}

/// A source.
pub struct TraceSource<T> {
    trace: T,
    cells: Cells,
    /// Whether the file is one that another element has begun to read.
    goes_on: bool,
    window: Window,
    sample: u32,
    is_active: bool,
    keeps_time: bool,
    end_call: Option<EndCall>,
    /// The packet that comes next.
    next: Option<Packet>,
    /// Where the last record that was looked at begins.
    record_at: u64,
    /// Steady time of a packet with timestamp 0.
    offset_ns: i64,
    /// The record that is being read: its header, and what belongs to the packet.
    header: Vec<u8>,
    data: Vec<u8>,
    /// Packets for output 1 that were read before anything could be emitted.
    held: Batch,
    /// If the output is push.
    task: Option<TaskId>,
    timer: Option<TimerId>,
    is_started: bool,
}
