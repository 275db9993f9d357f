//! Reading and writing streams without waiting.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};

/// Reads once.
pub fn read(file: &mut File, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Bytes that were made and not yet written.
#[derive(Default)]
pub struct Pending {
    pub bytes: Vec<u8>,
    /// Those already written.
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
    /// Writes as much as there is room for.
    pub fn write(&mut self, file: &mut File) -> Writing {
        loop {
            let rest = self.bytes.get(self.n_written..).unwrap_or_default();
            if rest.is_empty() {
                self.bytes.clear();
                self.n_written = 0;
                return Writing::All;
            }
            match file.write(rest) {
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
