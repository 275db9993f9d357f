//! Capture files and named pipes.

use std::fmt::Display;
use std::fs::{File, FileType, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

use element::output::reason;
use element::Batch;
use packet::Ring;
use sys::poll::Poller;

use super::descriptor::{self, reopened};
use super::framing::{is_text, Format, Framer, Pause, READ_LEN};
use super::pipe_in::PipeIn;
use super::pipe_out::PipeOut;
use super::records::Records;
use super::table::{self, Ends};
use super::{Dispatch, Input, Output, Receipt};
use crate::capture::{self, Reader};

/// A named pipe to read, which need not have a writer yet.
pub fn fifo_in(path: &str) -> Result<Ends, String> {
    let words = |error: &std::io::Error| format!("{path}: {}", reason(error));
    let file =
        OpenOptions::new().read(true).custom_flags(sys::pipe::NONBLOCK).open(path).map_err(|e| words(&e))?;
    check_fifo(&file, path)?;
    let input = PipeIn::awaiting_writer(file, path.to_string()).map_err(|error| error.to_string())?;
    Ok((Some(Box::new(input)), None))
}

/// A named pipe to write; waits until it has a reader.
pub fn fifo_out(path: &str, format: Format) -> Result<Ends, String> {
    let file = OpenOptions::new().write(true).open(path);
    let file = file.map_err(|error| format!("{path}: {}", reason(&error)))?;
    check_fifo(&file, path).map_err(|error| error + ", which begins it anew")?;
    let output = PipeOut::new(reopened(file.as_fd(), false)?, path.to_string(), format);
    Ok((None, Some(Box::new(output.map_err(|error| error.to_string())?))))
}

/// Refuses what is no named pipe.
fn check_fifo(file: &File, path: &str) -> Result<(), String> {
    let kind = file.metadata().map_err(|error| format!("{path}: {}", reason(&error)))?.file_type();
    if kind.is_fifo() {
        return Ok(());
    }
    Err(mismatch(path, kind, "named pipe"))
}

/// What is told where something else is than was said: what it is, and what to say.
pub fn mismatch(path: &str, kind: FileType, due: &str) -> String {
    let (what, say) = match kind {
        kind if kind.is_file() => ("a file", "file"),
        kind if kind.is_fifo() => ("a named pipe", "fifo"),
        kind if kind.is_socket() => ("a socket", "unix"),
        kind if kind.is_dir() => return format!("{path} is a folder, no {due}"),
        _ => ("a device", "file"),
    };
    format!("{path} is {what}, no {due}: say {say}:{path}")
}

/// A file of packets: a capture, plain or compressed, or lines of text. It is opened once: what was read of a pipe cannot be
/// read again.
pub fn input(path: &str) -> Result<Ends, String> {
    let words = |error: std::io::Error| format!("{path}: {}", reason(&error));
    let mut file = File::open(path).inspect(sys::file_lock::share).map_err(words)?;
    let kind = file.metadata().map_err(words)?.file_type();
    if kind.is_dir() {
        return Err(format!("{path}: Is a directory"));
    }
    if !kind.is_file() {
        return descriptor::stream(file.as_fd(), path, Format::default(), (true, false));
    }
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(READ_LEN as u64).read_to_end(&mut head).map_err(words)?;
    file.rewind().map_err(words)?;
    if !head.is_empty() && is_text(&head) {
        let input = PipeIn::new(file, path.to_string()).map_err(|error| error.to_string())?;
        return Ok((Some(Box::new(input)), None));
    }
    let reader = Reader::of_file(file).map_err(|error| format!("{path}: {error}"))?;
    Ok((Some(Box::new(FileIn::new(reader, path))), None))
}

/// A file to write packets to, compressed if its name ends with `.gz` or `.bz2`. What it holds goes when the first packet comes, or the
/// end: a stage before this one may read it, which is seen then.
pub fn output(path: &str, format: Format) -> Result<Ends, String> {
    let words = |error: std::io::Error| format!("{path}: {}", reason(&error));
    let file = Some(capture::Output::create_kept(path).map_err(words)?);
    let framer = Framer::new(format);
    let mut pending = Vec::new();
    framer.begin(&mut pending);
    Ok((None, Some(Box::new(FileOut { file, framer, pending, path: path.to_string() }))))
}

/// A capture that is read.
struct FileIn {
    reader: Reader,
    records: Records,
    path: String,
    /// What follows the packets that were read last.
    end: Option<Receipt>,
}

impl FileIn {
    fn new(mut reader: Reader, path: &str) -> FileIn {
        reader.decoder().keep_unmeasured();
        FileIn { reader, records: Records::default(), path: path.to_string(), end: None }
    }

    /// Takes packets from what was read, and reads on if that is too little.
    fn take(&mut self, batch: &mut Batch, max: usize) -> Option<Receipt> {
        let fault = |message: &dyn Display| Some(Receipt::Fault(format!("{}: {message}", self.path)));
        match self.records.take(self.reader.decoder(), batch, max) {
            Pause::Enough => None,
            Pause::NeedInput => self.reader.fill().err().and_then(|error| fault(&error)),
            Pause::End => Some(Receipt::End),
            Pause::Fault(message) => fault(&message),
        }
    }
}

impl Input for FileIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        while batch.len() < max && self.end.is_none() {
            self.end = self.take(batch, max);
            for note in self.records.notes.drain(..) {
                let told = table::told(format_args!("{}: {note}", self.path));
                element::output::tell(format_args!("{told}"));
            }
        }
        if batch.is_empty() {
            self.end.replace(Receipt::End).unwrap_or(Receipt::Nothing)
        } else {
            Receipt::Packets
        }
    }

    /// A file never lets wait.
    fn watch(&self, _poller: &mut Poller) -> sys::Result<()> {
        Ok(())
    }

    fn unwatch(&self, _poller: &mut Poller) {}

    fn joint(&self) -> &'static str {
        "file"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn n_bad(&self) -> u64 {
        self.records.n_bad
    }
}

/// A capture that is written.
struct FileOut {
    /// `None` once it is finished.
    file: Option<capture::Output>,
    framer: Framer,
    pending: Vec<u8>,
    path: String,
}

impl FileOut {
    fn write(&mut self) -> std::io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let result = file.write_all(&self.pending);
        self.pending.clear();
        result
    }
}

impl Output for FileOut {
    fn send(&mut self, waiting: &mut Ring, _poller: &mut Poller) -> Dispatch {
        while let Some(packet) = waiting.pop_front() {
            self.framer.packet(&mut self.pending, &packet);
        }
        match self.write() {
            Ok(()) => Dispatch::All,
            Err(error) => {
                self.file = None;
                Dispatch::Fault(format!("{}: {}", self.path, reason(&error)))
            }
        }
    }

    fn watch(&self, _poller: &mut Poller) -> sys::Result<()> {
        Ok(())
    }

    fn set_blocked(&mut self, _poller: &mut Poller, _is_blocked: bool) {}

    fn unwatch(&self, _poller: &mut Poller) {}

    fn finish(&mut self, _poller: &mut Poller) -> Dispatch {
        let result = self.write();
        let Some(file) = self.file.take() else { return Dispatch::All };
        match result.and_then(|()| file.finish()) {
            Ok(()) => Dispatch::All,
            Err(error) => Dispatch::Fault(format!("{}: {}", self.path, reason(&error))),
        }
    }

    fn joint(&self) -> &'static str {
        "file"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn n_bad(&self) -> u64 {
        self.framer.n_bad
    }

    fn why_bad(&self) -> Option<String> {
        self.framer.why_bad()
    }
}
