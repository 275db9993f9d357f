//! Reading and writing streams without waiting.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sys::pipe::{Kind, PipeId};

use crate::alignment::gap;

/// An open pipe, socket or file that does not block.
pub struct Stream {
    file: File,
    kind: Kind,
    /// How messages call it.
    label: String,
}

impl Stream {
    /// The stream of `file`, which must not block.
    pub fn new(file: File, label: String) -> sys::Result<Stream> {
        let kind = sys::pipe::kind(&file)?;
        Ok(Stream { file, kind, label })
    }

    /// Which pipe it is, if it is one.
    pub fn id(&self) -> Option<PipeId> {
        match self.kind {
            Kind::Pipe(id) => Some(id),
            _ => None,
        }
    }

    /// Whether it is this pipe.
    pub fn is(&self, id: PipeId) -> bool {
        self.id() == Some(id)
    }

    /// Something to show a neighbour that this process has the pipe.
    pub fn proof(&self) -> io::Result<OwnedFd> {
        sys::pipe::proof(&self.file)
    }

    /// What packets go through.
    pub fn joint(&self) -> &'static str {
        match self.kind {
            Kind::Pipe(_) => "pipe",
            Kind::Socket => "socket",
            _ => "file",
        }
    }

    /// A message about it.
    pub fn tell(&self, message: &str) -> String {
        format!("{}: {message}", self.label)
    }

    /// What is told of an operation on it that failed.
    pub fn fault(&self, error: &io::Error) -> String {
        self.tell(&element::output::reason(error))
    }

    /// Reads once.
    pub fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Bytes that were made and not yet written.
#[derive(Default)]
pub struct Pending {
    bytes: Vec<u8>,
    /// Those already written, or never to be.
    n_written: usize,
}

/// How a write went.
#[derive(Debug)]
pub enum Writing {
    /// Everything is written.
    All,
    /// The rest must wait.
    Blocked,
    /// Nobody reads.
    Closed,
    /// It failed.
    Fault(io::Error),
}

impl Pending {
    /// Where to append what is to be written.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How many bytes are there, written or not.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing is to be written.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == self.n_written
    }

    /// Forgets what was written.
    fn clear(&mut self) {
        self.bytes.clear();
        self.n_written = gap(&self.bytes, 0);
        self.bytes.resize(self.n_written, 0);
    }

    /// Writes as much as there is room for.
    pub fn write(&mut self, stream: &mut Stream) -> Writing {
        loop {
            let rest = self.bytes.get(self.n_written..).unwrap_or_default();
            if rest.is_empty() {
                self.clear();
                return Writing::All;
            }
            match stream.file.write(rest) {
                Ok(n) => self.n_written += n,
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return Writing::Blocked,
                    ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => return Writing::Closed,
                    _ => return Writing::Fault(error),
                },
            }
        }
    }
}
