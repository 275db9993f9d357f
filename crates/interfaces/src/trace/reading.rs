//! How records become packets.

use args::Timestamp;
use element::{annotation, failure, Batch, Ctx, Packet};

use super::{Doubt, Trace, TraceSource, NOT_WANTED};
use crate::capture::CaptureError;
use crate::dump_source::ALWAYS;
use crate::dump_window::Place;

/// Records to look at before others get their turn.
const MAX_TRIES: usize = 4096;
/// How often the handler at the end may put the end off at once.
const MAX_EXTENSIONS: usize = 1000;

/// What reading ahead has come to.
pub(super) enum Ahead {
    /// There is a packet.
    More,
    /// There is a packet, after which nothing is to be read.
    Last,
    /// There is nothing.
    Nothing,
    /// There was no packet among many records.
    Later,
}

/// What a record is.
enum Record {
    Packet(Packet),
    PassedOver,
    End,
}

impl Ahead {
    /// Whether nothing is to be read after it.
    pub fn is_last(&self) -> bool {
        matches!(self, Ahead::Last | Ahead::Nothing)
    }
}

impl<T: Trace> TraceSource<T> {
    /// Reads the packet that comes next.
    pub(super) fn read_ahead(&mut self, ctx: &mut Ctx<'_>) -> Ahead {
        self.next = None;
        let mut goes_on = true;
        for _ in 0..MAX_TRIES {
            if !goes_on {
                return Ahead::Nothing;
            }
            match self.read_record(ctx, &mut goes_on) {
                Record::Packet(packet) => {
                    self.next = Some(packet);
                    return if goes_on { Ahead::More } else { Ahead::Last };
                }
                Record::PassedOver => {}
                Record::End => return Ahead::Nothing,
            }
        }
        Ahead::Later
    }

    /// Reads a record; `goes_on` becomes false if the end time is reached and the source inactive.
    fn read_record(&mut self, ctx: &mut Ctx<'_>, goes_on: &mut bool) -> Record {
        let wire_len = match self.fill(ctx) {
            Ok(Some(wire_len)) => wire_len,
            Ok(None) => return Record::End,
            Err(_) if failure::is_told_as_click() => return Record::End,
            Err(message) => {
                ctx.complain(&format!("{}: {message}", self.cells.name()));
                failure::note();
                return Record::End;
            }
        };
        let time_ns = self.trace.time_ns(&self.header);
        if !self.is_within(ctx, Timestamp::from_nanos(time_ns), goes_on) {
            return Record::PassedOver;
        }
        if self.sample < ALWAYS && ctx.random() & (ALWAYS - 1) >= self.sample {
            return Record::PassedOver;
        }
        let mut packet = Packet::from_bytes(&self.data);
        packet.set_timestamp_ns(time_ns);
        if wire_len != 0 {
            packet.set_anno_u32(annotation::EXTRA_LENGTH, wire_len.wrapping_sub(packet.len() as u32));
        }
        if self.trace.finish(&mut packet, &self.header) {
            return Record::Packet(packet);
        }
        if self.is_started {
            self.emit_other(ctx, Batch::of(packet));
        } else if self.held.room() > 0 {
            self.held.push(packet);
        }
        Record::PassedOver
    }

    /// Reads a record's bytes; its length on the wire, or nothing at the end of the file.
    fn fill(&mut self, ctx: &mut Ctx<'_>) -> Result<Option<u32>, String> {
        let begin = self.cells.position();
        self.record_at = begin;
        self.header.clear();
        self.data.clear();
        let told = |error: CaptureError| match error {
            CaptureError::Read { source, .. } => element::output::reason(&source),
            error => error.to_string(),
        };
        if !self.cells.read(self.trace.header_len(), begin, &mut self.header).map_err(told)? {
            return Ok(None);
        }
        let mut doubts = Vec::new();
        let cell = self.trace.cell(&self.header, &mut |doubt| doubts.push(doubt));
        doubts.iter().for_each(|doubt| self.tell(ctx, doubt));
        let cell = match cell {
            Ok(cell) => cell,
            Err(Some(why)) => return Err(format!("byte {begin}: {why}")),
            Err(None) => return Ok(None),
        };
        self.cells.read(cell.n_padding, begin, &mut self.data).map_err(told)?;
        self.data.clear();
        self.data.extend_from_slice(self.header.get(cell.n_header..).unwrap_or_default());
        self.cells.read(cell.n_data, begin, &mut self.data).map_err(told)?;
        Ok(Some(cell.wire_len))
    }

    /// Whether a time is one of those that are wanted. Whoever is told of the end may put it off.
    fn is_within(&mut self, ctx: &mut Ctx<'_>, time: Timestamp, goes_on: &mut bool) -> bool {
        if !self.window.is_settled() {
            self.window.settle(time);
        }
        for _ in 0..MAX_EXTENSIONS {
            match self.window.place(time) {
                Place::Before => return false,
                Place::Within => return true,
                Place::After => {
                    self.end(ctx, true);
                    *goes_on &= self.is_active;
                }
            }
        }
        true
    }

    pub(super) fn emit_other(&self, ctx: &mut Ctx<'_>, batch: Batch) {
        ctx.emit_or_drop(1, NOT_WANTED, batch);
    }

    fn tell(&self, ctx: &mut Ctx<'_>, doubt: &Doubt) {
        if self.is_started {
            return ctx.chatter(&format!("{}: {}", ctx.own_declaration(), doubt.later));
        }
        let [warning, advice] = &doubt.at_start;
        ctx.warn(warning);
        ctx.tell(advice);
    }
}
