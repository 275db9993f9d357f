//! The decoder: capture bytes in, records out, without any I/O.

use super::buffer::Buffer;
use super::pcap::{self, Pcap};
use super::pcapng::Pcapng;
use super::{link, CaptureError, Found, Record, Step, MAX_CAPTURED_LEN};

/// Bytes of a short frame.
const SHORT: usize = 64;

/// Turns the bytes of a capture stream, as they come, into records; tells the formats apart by the first bytes.
///
/// Write input to [`room`](Decoder::room), tell how much with [`fill`](Decoder::fill), and take records until more
/// input is asked for. Memory stays bounded whatever the bytes claim.
#[derive(Debug)]
pub struct Decoder {
    buffer: Buffer,
    format: Format,
    max_captured_len: u32,
    keeps_unmeasured: bool,
    /// Bytes still to pass over.
    to_skip: u64,
    /// Bytes that the window must hold before the next step can be taken.
    need: usize,
    is_ended: bool,
    is_failed: bool,
}

/// How far a [`Decoder`] came.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A record.
    Record(Record<'a>),
    /// It needs more input first.
    NeedInput,
    /// There are no more records.
    End,
}

/// As [`Progress`], without a borrow.
pub(super) enum Advance {
    Record(Found, Place),
    NeedInput,
    End,
}

/// Where a record lies: in the storage and in the stream.
#[derive(Clone, Copy)]
pub(super) struct Place {
    start: usize,
    offset: u64,
}

#[derive(Debug)]
enum Format {
    Unknown,
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// The frames that [`Decoder::plain_frames`] finds.
#[derive(Debug)]
pub struct PlainFrames<'a> {
    pcap: &'a Pcap,
    max_len: usize,
    rest: &'a [u8],
}

impl PlainFrames<'_> {
    /// Copies the next frame to the start of `to`: its length, and its time in nanoseconds. What else is in `to` may change, too.
    #[inline(always)]
    pub fn copy_to(&mut self, to: &mut [u8]) -> Option<(usize, i64)> {
        let (from, len, time_ns) = self.pcap.plain(self.rest, self.max_len)?;
        match (to.first_chunk_mut::<SHORT>(), from.first_chunk::<SHORT>()) {
            // Copied without asking how long it is.
            (Some(to), Some(from)) if len <= SHORT => *to = *from,
            _ => to.get_mut(..len)?.copy_from_slice(from.get(..len)?),
        }
        self.rest = from.get(len..)?;
        Some((len, time_ns))
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder::new()
    }
}

impl Decoder {
    /// A decoder at the start of a stream.
    pub fn new() -> Self {
        Decoder {
            buffer: Buffer::new(),
            format: Format::Unknown,
            max_captured_len: MAX_CAPTURED_LEN,
            keeps_unmeasured: false,
            to_skip: 0,
            need: pcap::HEADER_LEN,
            is_ended: false,
            is_failed: false,
        }
    }

    /// Refuses records with more captured bytes than `len` as corrupt.
    pub fn set_max_captured_len(&mut self, len: u32) {
        self.max_captured_len = len;
    }

    /// Takes all that was captured of a packet that had no bytes, as its record says, for the packet: as libpcap does, and Click does
    /// not.
    pub fn keep_unmeasured(&mut self) {
        self.keeps_unmeasured = true;
        if let Format::Pcap(pcap) = &mut self.format {
            pcap.keeps_unmeasured = true;
        }
    }

    /// Takes what looks like the header of another capture for a record, as Click does.
    pub fn expect_single(&mut self) {
        if let Format::Pcap(pcap) = &mut self.format {
            pcap.is_single = true;
        }
    }

    /// Where to write the next input; never empty.
    pub fn room(&mut self) -> &mut [u8] {
        self.buffer.room(self.need)
    }

    /// Takes in `len` bytes of input that were written to the room; 0 bytes are the end of the stream.
    pub fn fill(&mut self, len: usize) {
        self.is_ended |= len == 0;
        self.buffer.fill(len);
    }

    /// The next record. After an error there are no more.
    #[inline(always)]
    pub fn next_record(&mut self) -> Result<Progress<'_>, CaptureError> {
        Ok(match self.advance()? {
            Advance::Record(found, place) => Progress::Record(self.record(&found, place)),
            Advance::NeedInput => Progress::NeedInput,
            Advance::End => Progress::End,
        })
    }

    /// Has `take` read the next records as long as they are the most ordinary ones, of Ethernet frames of `max_len` bytes at most;
    /// not if the first is none. [`Decoder::next_record`] has all that is left.
    #[inline]
    pub fn plain_frames(&mut self, max_len: usize, take: impl FnOnce(&mut PlainFrames<'_>)) {
        let Format::Pcap(pcap) = &self.format else { return };
        if !pcap.may_be_plain() || self.to_skip > 0 || self.is_failed {
            return;
        }
        let window = self.buffer.window();
        let max_len = max_len.min(self.max_captured_len.min(u16::MAX.into()) as usize);
        if pcap.plain(window, max_len).is_none() {
            return;
        }
        let mut frames = PlainFrames { pcap, max_len, rest: window };
        take(&mut frames);
        let n_read = window.len() - frames.rest.len();
        self.buffer.consume(n_read as u64);
    }

    /// Link type of the capture's first interface, or [`link::NONE`] before its description was read.
    pub fn link_type(&self) -> u32 {
        match &self.format {
            Format::Unknown => link::NONE,
            Format::Pcap(pcap) => pcap.link_type,
            Format::Pcapng(pcapng) => pcapng.first_interface().map_or(link::NONE, |i| i.link_type),
        }
    }

    /// Most bytes of a packet that the capture's first interface recorded; 0 for no limit, or before it is known.
    pub fn snaplen(&self) -> u32 {
        match &self.format {
            Format::Unknown => 0,
            Format::Pcap(pcap) => pcap.snaplen,
            Format::Pcapng(pcapng) => pcapng.first_interface().map_or(0, |i| i.snaplen),
        }
    }

    /// Position in the stream of the next byte that no record was made of yet.
    pub fn position(&self) -> u64 {
        self.buffer.offset().saturating_add(self.to_skip)
    }

    /// Goes to `offset`, ahead in the stream, where a record must start. Input goes on where it was.
    pub fn skip_to(&mut self, offset: u64) -> Result<(), CaptureError> {
        let position = self.buffer.offset();
        self.to_skip = offset.checked_sub(position).ok_or(CaptureError::Seek { offset, bound: position })?;
        Ok(())
    }

    /// Goes to `offset`, where a record must start and where the next input is from.
    pub fn restart_at(&mut self, offset: u64) {
        self.buffer.restart_at(offset);
        (self.to_skip, self.is_ended, self.is_failed) = (0, false, false);
    }

    /// Reads the capture's headers; returns whether the link type is known, or never will be.
    ///
    /// No packet is passed over: before the first interface is described, a packet is an error.
    pub fn read_headers(&mut self) -> Result<bool, CaptureError> {
        while self.link_type() == link::NONE {
            match self.advance_once()? {
                Some(Advance::NeedInput) => return Ok(false),
                Some(_) => break,
                None => {}
            }
        }
        Ok(true)
    }

    #[inline(always)]
    pub(super) fn advance(&mut self) -> Result<Advance, CaptureError> {
        loop {
            if let Some(advance) = self.advance_once()? {
                return Ok(advance);
            }
        }
    }

    /// Borrows a record's bytes; they stay in place until the next call of [`Decoder::room`].
    #[inline(always)]
    pub(super) fn record(&self, found: &Found, place: Place) -> Record<'_> {
        Record {
            timestamp: found.timestamp,
            wire_len: found.wire_len,
            data: self.buffer.storage(place.start + found.data_at, found.data_len),
            interface: found.interface,
            link_type: found.link_type,
            offset: place.offset,
        }
    }

    /// Marks the stream as failed, so that nothing more is read from it.
    pub(super) fn fail(&mut self) {
        self.is_failed = true;
    }

    /// Takes one step; `None` if it led to the next one.
    #[inline(always)]
    fn advance_once(&mut self) -> Result<Option<Advance>, CaptureError> {
        if self.is_failed {
            return Ok(Some(Advance::End));
        }
        let result = self.run();
        self.is_failed = result.is_err();
        result
    }

    #[inline(always)]
    fn run(&mut self) -> Result<Option<Advance>, CaptureError> {
        if self.to_skip > 0 {
            self.to_skip -= self.buffer.consume(self.to_skip);
            if self.to_skip > 0 {
                self.need = 1;
                return self.out_of_input(self.to_skip).map(Some);
            }
        }
        let (window, offset) = (self.buffer.window(), self.buffer.offset());
        // What comes of a pcap record stays in registers, as it is not mixed with what comes of other formats.
        match &mut self.format {
            Format::Pcap(pcap) => {
                let step = pcap.step(window, offset, self.max_captured_len)?;
                self.after(step)
            }
            Format::Pcapng(pcapng) => {
                let step = pcapng.step(window, offset, self.max_captured_len)?;
                self.after(step)
            }
            Format::Unknown => {
                let step = self.recognise()?;
                self.after(step)
            }
        }
    }

    #[inline(always)]
    fn after(&mut self, step: Step) -> Result<Option<Advance>, CaptureError> {
        match step {
            Step::Need(len) => {
                self.need = len;
                return self.out_of_input(len as u64).map(Some);
            }
            Step::Skip(len) => self.to_skip = len,
            Step::Restart => self.format = Format::Unknown,
            Step::Record(found) => {
                let place = Place { start: self.buffer.start(), offset: self.buffer.offset() };
                self.to_skip = found.len as u64 - self.buffer.consume(found.len as u64);
                return Ok(Some(Advance::Record(found, place)));
            }
        }
        Ok(None)
    }

    /// Finds out the format from the first bytes.
    fn recognise(&mut self) -> Result<Step, CaptureError> {
        let window = self.buffer.window();
        let Some(header) = window.get(..pcap::HEADER_LEN) else { return Ok(Step::Need(pcap::HEADER_LEN)) };
        if Pcapng::starts(header) {
            self.format = Format::Pcapng(Pcapng::new());
            return Ok(Step::Skip(0));
        }
        let Some(mut pcap) = Pcap::from_header(header)? else {
            let value = header.first_chunk().map_or(0, |magic| u32::from_be_bytes(*magic));
            return Err(CaptureError::Magic { value });
        };
        pcap.keeps_unmeasured = self.keeps_unmeasured;
        self.format = Format::Pcap(pcap);
        Ok(Step::Skip(pcap::HEADER_LEN as u64))
    }

    /// The window holds too little: more input is needed, or the stream ended here, well or badly.
    fn out_of_input(&self, wanted: u64) -> Result<Advance, CaptureError> {
        let got = self.buffer.window().len() as u64;
        match self.format {
            _ if !self.is_ended => Ok(Advance::NeedInput),
            Format::Unknown if got == 0 => Err(CaptureError::Empty),
            Format::Unknown => Err(CaptureError::TooShort { len: got }),
            _ if got == 0 && self.is_at_boundary() => Ok(Advance::End),
            _ => Err(CaptureError::Truncated { offset: self.buffer.offset(), wanted, got }),
        }
    }

    /// Whether a stream may end here: not within a block that is being passed over.
    fn is_at_boundary(&self) -> bool {
        self.to_skip == 0 && !matches!(&self.format, Format::Pcapng(pcapng) if pcapng.is_within_block())
    }
}
