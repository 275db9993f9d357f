//! How ToDump writes: the file that is begun, what goes into it, and what follows an error.

use std::io;

use element::output::reason;
use element::{annotation, failure, Batch, Ctx, Packet};

use super::ToDump;
use crate::capture::{Encoder, Output, Timestamp, Writer};
use crate::segment::segment;
use crate::stage::table;

impl ToDump {
    pub(super) fn create(&mut self) -> Result<(), String> {
        let told = |error: io::Error| format!("{}: {}", self.filename, reason(&error));
        let is_file = |path: &str| std::fs::metadata(path).map_or(true, |about| about.is_file());
        if self.rotation.is_asked() && (self.filename == "-" || !is_file(&self.filename)) {
            return Err(format!("{}: not a file, of which there could be several", self.filename));
        }
        table::refuse_input(&self.filename)?;
        if self.goes_on.is_some() && std::fs::metadata(&self.filename).is_ok_and(|about| about.is_file()) {
            // The old element will still write the rest of its packets, to a file that has no name then.
            std::fs::remove_file(&self.filename).map_err(told)?;
        }
        // In a stage, whoever is to be written may still read the file.
        let create = if table::is_stage() { Output::create_kept } else { Output::create };
        let mut writer = self.begin(create).map_err(told)?;
        if self.is_unbuffered && !writer.get_ref().is_some_and(Output::is_kept) {
            let told = format!("{}: unable to write file header", self.filename);
            // Click has no reason there.
            let reason =
                |error| if table::is_stage() { format!(": {}", reason(&error)) } else { String::new() };
            writer.flush().map_err(|error| told + &reason(error))?;
        }
        self.writer = Some(writer);
        Ok(())
    }

    fn begin(&self, create: fn(&str) -> io::Result<Output>) -> io::Result<Writer<Output>> {
        let encoder = Encoder::new(self.format, self.precision, self.link_type, self.snaplen);
        create(&self.filename).map(|out| Writer::new(out, encoder))
    }

    /// Puts the full file aside and begins another one.
    #[cold]
    fn rotate(&mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            self.rotation.note_full();
            writer.finish()?.finish()?;
            self.written = self.traffic;
        }
        self.rotation.make_room(&self.filename)?;
        self.writer = Some(self.begin(Output::create)?);
        Ok(())
    }

    pub(super) fn write_batch(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if !self.is_active {
            self.n_lost += batch.len() as u64;
        }
        if !self.is_active || batch.is_empty() {
            return;
        }
        let (mut result, mut n_left) = (Ok(()), batch.len() as u64);
        for packet in batch.iter() {
            if self.segments && packet.has_offload() {
                segment(packet, |part| {
                    if result.is_ok() {
                        result = self.write_packet(ctx, &part);
                    }
                });
            } else {
                result = self.write_packet(ctx, packet);
            }
            if result.is_err() {
                break;
            }
            n_left -= 1;
        }
        if self.is_unbuffered && result.is_ok() {
            result = self.writer.as_mut().map_or(Ok(()), Writer::flush);
            if result.is_ok() {
                self.written = self.traffic;
            }
        }
        if let Err(error) = result {
            self.is_active = false;
            self.n_lost += n_left;
            self.complain(ctx, &error);
        }
    }

    #[inline]
    fn write_packet(&mut self, ctx: &mut Ctx<'_>, packet: &Packet) -> io::Result<()> {
        if self.rotation.is_asked() {
            let len = packet.len().min(self.snaplen as usize);
            if !self.rotation.has_room(len) {
                self.rotate()?;
            }
            self.rotation.note(len);
        }
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let time = match packet.timestamp_ns() {
            0 => ctx.now_ns(),
            time => time,
        };
        let time = args::Timestamp::from_nanos(time);
        let time = Timestamp { seconds: time.sec(), nanoseconds: time.nsec() };
        let extra = if self.counts_extra { packet.anno_u32(annotation::EXTRA_LENGTH) } else { 0 };
        let wire_len = (packet.len() as u32).wrapping_add(extra);
        let n_pending = writer.n_pending();
        writer.write(time, wire_len, packet.data())?;
        if writer.n_pending() < n_pending {
            self.written = self.traffic;
        }
        self.count += 1;
        self.traffic.add(packet);
        Ok(())
    }

    /// Writes again after an error: first what was left over then, so that the file stays whole.
    pub(super) fn resume(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let result = match &mut self.writer {
            Some(writer) => writer.flush(),
            // The next file could not be begun.
            None => self.rotate(),
        };
        if let Err(error) = &result {
            self.complain(ctx, error);
        }
        self.is_active = result.is_ok();
        result.map_err(|error| format!("{}: {}", self.filename, reason(&error)))?;
        if let Some(puller) = &self.puller {
            ctx.schedule(puller.task);
        }
        Ok(())
    }

    #[cold]
    pub(super) fn complain(&mut self, ctx: &mut Ctx<'_>, error: &io::Error) {
        ctx.complain(&format!("ToDump({}): {}", self.filename, reason(error)));
        failure::note();
        self.n_failures += 1;
        self.traffic = self.written;
    }
}
