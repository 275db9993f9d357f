//! The source of packets in a capture file: what is read of it, from where to where, and what is told of its faults.

use std::io::ErrorKind;
use std::ops::RangeInclusive;

use args::Timestamp;
use element::{annotation, at_declared_file, failure, Ctx, Packet};

use crate::capture::{link, CaptureError, Reader, Record};
use crate::dump_window::{Place, Window};
use element::output::reason;

/// Bits of the fraction in a sampling probability.
pub const SAMPLE_BITS: u32 = 28;
/// The sampling probability 1.
pub const ALWAYS: u32 = 1 << SAMPLE_BITS;

/// Why a file that is read and not mapped is not gone on in.
const OUT_OF_RANGE: &str = "FILEPOS out of range";
/// Bytes of a record's header, and of records that are too long for Click, whose lengths have a sign.
const RECORD_HEADER: u64 = 16;
const TOO_LONG: RangeInclusive<u64> = RECORD_HEADER + u16::MAX as u64 + 1..=RECORD_HEADER + i32::MAX as u64;

/// A capture file that is being read.
pub struct DumpSource {
    /// The name as it was given.
    pub filename: String,
    /// What is read of the file, by time.
    pub window: Window,
    /// Probability with which a packet is read.
    pub sample: u32,
    /// Whether Click would map the file: there it may be gone on in behind its end.
    maps: bool,
    /// Where the last packet's record starts.
    pub packet_filepos: u64,
    /// The time of the packet that has settled the window, until it is taken.
    pub first_time: Option<Timestamp>,
    reader: Option<Reader>,
    /// Where Click stands, if faults are told as by Click, after one: behind the header of a record that cannot be, or behind all of
    /// the file if the record is cut off.
    fault_position: Option<u64>,
}

/// What a look at the file yields. Packets come with their link types.
pub enum Found {
    /// A packet.
    Packet(Packet, u32),
    /// The first packet after the end time.
    PastEnd(Packet, u32),
    /// A record that is not to be read.
    PassedOver,
    /// Nothing has been written behind what was read.
    NothingYet,
    /// The file cannot be read further; what there is to tell.
    Fault(String),
    /// The end of the file.
    End,
}

impl DumpSource {
    /// A source that is not open yet.
    pub fn new(filename: String, window: Window, sample: u32) -> DumpSource {
        DumpSource {
            filename,
            window,
            sample,
            maps: true,
            packet_filepos: 0,
            first_time: None,
            reader: None,
            fault_position: None,
        }
    }

    /// The same, of a file that Click would map or not.
    pub fn mapped(mut self, maps: bool) -> DumpSource {
        self.maps = maps;
        self
    }

    /// Whether the file is standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self.filename.as_str(), "" | "-")
    }

    /// The name to tell.
    pub fn print_filename(&self) -> &str {
        match self.filename.as_str() {
            "" | "-" => "<stdin>",
            name => name,
        }
    }

    /// Opens the file; the error is in Click's words.
    pub fn open(&mut self, filepos: u64) -> Result<(), String> {
        let path = if self.filename.is_empty() { "-" } else { &self.filename };
        let mut reader = Reader::open(path).map_err(|error| self.refusal(&error))?;
        if failure::is_told_as_click() && reader.file_len().is_some() {
            reader.decoder().expect_single();
        }
        if filepos > 0 {
            let offset = filepos.min(reader.file_len().unwrap_or(u64::MAX));
            if offset < filepos && !self.maps {
                return Err(OUT_OF_RANGE.to_string());
            }
            reader.seek(offset).map_err(|error| self.at(&error.to_string()))?;
        }
        self.reader = Some(reader);
        Ok(())
    }

    /// Whether it draws random numbers: it passes over packets at random.
    pub fn draws(&self) -> bool {
        self.sample < ALWAYS
    }

    /// Closes the file.
    pub fn close(&mut self) {
        self.reader = None;
    }

    /// The link type that the file begins with.
    pub fn link_type(&self) -> u32 {
        self.reader.as_ref().map_or(link::NONE, Reader::link_type)
    }

    /// The file's length, where it can be known.
    pub fn file_len(&self) -> Option<u64> {
        self.reader.as_ref().and_then(Reader::file_len)
    }

    /// Where the next record starts.
    pub fn position(&self) -> u64 {
        self.fault_position.unwrap_or_else(|| self.reader.as_ref().map_or(0, Reader::position))
    }

    /// Goes to a place of the file where a record starts.
    pub fn seek(&mut self, offset: u64) -> Result<(), String> {
        let name = self.print_filename().to_string();
        let Some(reader) = &mut self.reader else { return Err("no file is open".to_string()) };
        let len = reader.file_len().unwrap_or(u64::MAX);
        if offset > len && !(self.maps && failure::is_told_as_click()) {
            return Err(OUT_OF_RANGE.to_string());
        }
        let offset = offset.min(len);
        self.fault_position = None;
        reader.seek(offset).map_err(|error| format!("{name}: {error}"))
    }

    /// Looks at the next record; there is none yet if it had to wait for one and must not.
    #[inline]
    pub fn next(&mut self, ctx: &mut Ctx<'_>, may_wait: bool) -> Found {
        let Some(reader) = &mut self.reader else { return Found::End };
        self.packet_filepos = reader.position();
        let record = match reader.next_record_if(may_wait) {
            Ok(Some(record)) => record,
            Ok(None) => return Found::End,
            Err(error) => {
                if failure::is_told_as_click() {
                    self.fault_position = position_after(&error, self.file_len());
                }
                return self.fault(&error);
            }
        };
        self.packet_filepos = record.offset;
        let time = Timestamp::new(record.timestamp.seconds, record.timestamp.nanoseconds);
        if !self.window.is_settled() {
            self.window.settle(time);
            self.first_time = Some(time);
        }
        match self.window.place(time) {
            Place::Before => return Found::PassedOver,
            Place::After => return Found::PastEnd(packet_of(&record, time), record.link_type),
            Place::Within => {}
        }
        if is_left_out(self.sample, ctx) {
            return Found::PassedOver;
        }
        Found::Packet(packet_of(&record, time), record.link_type)
    }

    /// Whether the next packet is none of the sample.
    pub fn leaves_out(&self, ctx: &mut Ctx<'_>) -> bool {
        is_left_out(self.sample, ctx)
    }

    /// The file is faulty: Click's words first, then where and what, unless Click leaves that untold.
    #[cold]
    fn fault(&self, error: &CaptureError) -> Found {
        let name = self.print_filename();
        let is_told_as_click = failure::is_told_as_click();
        match error {
            CaptureError::Read { source, .. } if source.kind() == ErrorKind::WouldBlock => Found::NothingYet,
            CaptureError::Read { source, .. } if is_told_as_click && name.ends_with(".gz") => {
                Found::Fault(format!("\ngzip: {name}: {}", gzip_says(source)))
            }
            error if is_told_as_click && is_bad_header(error) => {
                Found::Fault(format!("{name}: bad packet header; giving up"))
            }
            CaptureError::Truncated { .. } | CaptureError::Corrupt { .. } if is_told_as_click => Found::End,
            CaptureError::Corrupt { .. } => {
                Found::Fault(format!("{name}: bad packet header; giving up\n{name}: {error}"))
            }
            error => Found::Fault(format!("{name}: {error}")),
        }
    }

    fn refusal(&self, error: &CaptureError) -> String {
        let what = match error {
            CaptureError::Open { source, .. } => {
                return format!("{}: {}", self.print_filename(), reason(source));
            }
            CaptureError::Read { source, .. } => reason(source),
            CaptureError::TooShort { .. } => "not a tcpdump file (too short)".to_string(),
            CaptureError::Magic { .. } => "not a tcpdump file (bad magic number)".to_string(),
            CaptureError::Version { major, .. } => format!("unknown major version {major}"),
            other => other.to_string(),
        };
        self.at(&what)
    }

    /// What is told of the file when it has just been opened.
    pub fn at(&self, message: &str) -> String {
        at_declared_file(self.print_filename(), message)
    }

    /// Whether the file is open.
    pub fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Goes on in the file of another one, where that stands; what is read of it stays as it is here.
    pub fn go_on_from(&mut self, old: &mut DumpSource) {
        std::mem::swap(self, old);
        self.sample = old.sample;
        if !self.window.is_like(&old.window) {
            std::mem::swap(&mut self.window, &mut old.window);
        }
    }
}

/// Whether a record is none to Click, as it is too long, whether all of it is there or not. Lengths have a sign there, and nothing is
/// behind one that is negative.
fn is_bad_header(error: &CaptureError) -> bool {
    match error {
        CaptureError::Truncated { wanted, got, .. } => *got >= RECORD_HEADER && TOO_LONG.contains(wanted),
        CaptureError::Corrupt { value, .. } => *value <= i32::MAX as u64,
        _ => false,
    }
}

/// Where Click stands after a fault, if that is not where the record begins.
fn position_after(error: &CaptureError, file_len: Option<u64>) -> Option<u64> {
    match error {
        CaptureError::Truncated { offset, .. } | CaptureError::Corrupt { offset, .. }
            if is_bad_header(error) =>
        {
            Some(offset + RECORD_HEADER)
        }
        CaptureError::Truncated { .. } => file_len,
        _ => None,
    }
}

/// Draws whether a packet is none of a sample.
#[inline]
fn is_left_out(sample: u32, ctx: &mut Ctx<'_>) -> bool {
    sample < ALWAYS && ctx.random() & (ALWAYS - 1) >= sample
}

/// What the program gzip, which Click calls, tells of a file.
fn gzip_says(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "unexpected end of file".to_string(),
        ErrorKind::InvalidInput if error.to_string().contains("checksum") => {
            "invalid compressed data--crc error".to_string()
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            "invalid compressed data--format violated".to_string()
        }
        _ => reason(error),
    }
}

/// A packet of a record's bytes.
#[inline]
fn packet_of(record: &Record<'_>, time: Timestamp) -> Packet {
    let mut packet = Packet::from_bytes(record.data);
    packet.set_timestamp_ns(time.as_nanos());
    let extra = record.wire_len.saturating_sub(record.data.len() as u32);
    if extra > 0 {
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
    }
    packet.set_mac_offset(0);
    packet
}
