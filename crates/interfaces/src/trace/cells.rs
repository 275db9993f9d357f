//! A file of cells: plain or compressed, read from its beginning.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::os::fd::AsFd;

use element::at_place;
use element::output::reason;
use sys::standard::Blocking;

use crate::capture::{decompress, CaptureError, HEAD_LEN};

/// A file of cells.
pub struct Cells {
    name: String,
    reader: Option<Box<dyn Read + Send>>,
    len: Option<u64>,
    position: u64,
}

impl Cells {
    /// A file that is not open yet; `-` is standard input.
    pub fn new(name: String) -> Cells {
        Cells { name, reader: None, len: None, position: 0 }
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self.name.as_str(), "" | "-")
    }

    /// The name to tell.
    pub fn name(&self) -> &str {
        if self.is_stdin() {
            "<stdin>"
        } else {
            &self.name
        }
    }

    /// Opens the file; the error is in Click's words.
    pub fn open(&mut self) -> Result<(), String> {
        let file = match self.is_stdin() {
            true => None,
            false => {
                let file = File::open(&self.name);
                Some(file.map_err(|error| format!("{}: {}", self.name(), reason(&error)))?)
            }
        };
        self.start(file).map_err(|error| at_place(self.name(), &reason(&error)))?;
        match self.reader {
            Some(_) => Ok(()),
            None => Err(at_place(self.name(), "empty file")),
        }
    }

    /// Begins to read a file, or else standard input.
    fn start(&mut self, file: Option<File>) -> std::io::Result<()> {
        let Some(mut file) = file else {
            let file = std::io::stdin().as_fd().try_clone_to_owned().map(File::from)?;
            let mut reader = BufReader::new(Blocking(file));
            if !reader.fill_buf()?.is_empty() {
                self.reader = Some(Box::new(reader));
            }
            return Ok(());
        };
        let mut head = Vec::new();
        Read::by_ref(&mut file).take(HEAD_LEN as u64).read_to_end(&mut head)?;
        if head.is_empty() {
            return Ok(());
        }
        self.reader = Some(match decompress(&head, file) {
            Ok(stream) => Box::new(BufReader::new(stream)),
            Err(mut file) => {
                self.len = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
                match file.rewind() {
                    Ok(()) => Box::new(BufReader::new(file)),
                    // What cannot be gone back in was begun to be read.
                    Err(_) => Box::new(BufReader::new(std::io::Cursor::new(head).chain(file))),
                }
            }
        });
        Ok(())
    }

    /// Ends the reading.
    pub fn close(&mut self) {
        self.reader = None;
    }

    /// Whether it is the same file.
    pub fn is_of_same(&self, other: &Cells) -> bool {
        self.name == other.name
    }

    /// Whether there may be more to read.
    pub fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Bytes of the file, if it is a plain one.
    pub fn len(&self) -> Option<u64> {
        self.len.filter(|_| self.is_open())
    }

    /// Bytes that were read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Passes over bytes up to a position.
    pub fn skip_to(&mut self, position: u64) -> Result<(), String> {
        let n = position.saturating_sub(self.position);
        let Some(reader) = &mut self.reader else { return Ok(()) };
        match std::io::copy(&mut reader.take(n), &mut std::io::sink()) {
            Ok(passed) => {
                self.position += passed;
                Ok(())
            }
            Err(error) => Err(format!("{}: {}", self.name(), reason(&error))),
        }
    }

    /// Adds `n` bytes to `bytes`; false at the end of the file. What the file has too few bytes for began at `begin`.
    pub fn read(&mut self, n: usize, begin: u64, bytes: &mut Vec<u8>) -> Result<bool, CaptureError> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let result = reader.take(n as u64).read_to_end(bytes);
        let n_read = result.map_err(|source| CaptureError::Read { offset: self.position, source })?;
        self.position += n_read as u64;
        match self.position - begin {
            _ if n_read == n => Ok(true),
            0 => Ok(false),
            got => Err(CaptureError::Truncated { offset: begin, wanted: got + (n - n_read) as u64, got }),
        }
    }
}
