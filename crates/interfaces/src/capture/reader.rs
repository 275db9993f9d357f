//! The reader: records from a file, standard input or any other stream.

use super::compression::{decompress, HEAD_LEN};
use super::decoder::{Advance, Decoder};
use super::{CaptureError, Record};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use sys::standard::Blocking;

/// Reads the records of a capture, plain or compressed, in big reads and without an allocation a packet.
pub struct Reader {
    decoder: Decoder,
    input: Input,
}

enum Input {
    /// A plain file, or whatever is open as standard input.
    File(Blocking<File>),
    /// A decompressor, or a stream of the caller's.
    Stream(Box<dyn Read + Send>),
}

impl Reader {
    /// Opens a capture file, or standard input if `path` is `-`, and reads its headers.
    pub fn open(path: &str) -> Result<Reader, CaptureError> {
        let file = if path == "-" {
            io::stdin().as_fd().try_clone_to_owned().map(File::from)
        } else {
            File::open(path).inspect(sys::file_lock::share)
        };
        Reader::of_file(file.map_err(|source| CaptureError::Open { path: path.to_owned(), source })?)
    }

    /// Reads the headers of a capture that is open.
    pub fn of_file(file: File) -> Result<Reader, CaptureError> {
        let mut file = Blocking(file);
        let head = read_head(&mut file)?;
        match decompress(&head, file) {
            Ok(stream) => Reader::start(Input::Stream(stream), &[]),
            Err(file) => Reader::start(Input::File(file), &head),
        }
    }

    /// Reads a capture's headers from a stream, and decompresses it if need be.
    pub fn new(mut input: impl Read + Send + 'static) -> Result<Reader, CaptureError> {
        let head = read_head(&mut input)?;
        match decompress(&head, input) {
            Ok(stream) => Reader::start(Input::Stream(stream), &[]),
            Err(input) => Reader::start(Input::Stream(Box::new(input)), &head),
        }
    }

    /// The next record, or `None` at the end. After an error, unless it is of the kind `WouldBlock`, there are no more.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        self.next_record_if(true)
    }

    /// The same, but an error of the kind `WouldBlock` where it had to wait for whoever writes a pipe, and may not.
    #[inline]
    pub fn next_record_if(&mut self, may_wait: bool) -> Result<Option<Record<'_>>, CaptureError> {
        loop {
            match self.decoder.advance()? {
                Advance::Record(found, place) => return Ok(Some(self.decoder.record(&found, place))),
                Advance::NeedInput if may_wait => self.fill()?,
                Advance::NeedInput => self.fill_now()?,
                Advance::End => return Ok(None),
            }
        }
    }

    /// What takes the capture apart, for who reads with [`Reader::fill`] what it needs.
    pub fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    /// Link type of the capture's first interface, see [`super::link`].
    pub fn link_type(&self) -> u32 {
        self.decoder.link_type()
    }

    /// Most bytes of a packet that the capture's first interface recorded; 0 for no limit.
    pub fn snaplen(&self) -> u32 {
        self.decoder.snaplen()
    }

    /// Position in the uncompressed stream, where the next record starts.
    pub fn position(&self) -> u64 {
        self.decoder.position()
    }

    /// Refuses records with more captured bytes than `len` as corrupt.
    pub fn set_max_captured_len(&mut self, len: u32) {
        self.decoder.set_max_captured_len(len);
    }

    /// Length of the file; `None` if it is compressed or not a regular file.
    pub fn file_len(&self) -> Option<u64> {
        match &self.input {
            Input::File(Blocking(file)) => {
                file.metadata().ok().filter(|facts| facts.is_file()).map(|facts| facts.len())
            }
            Input::Stream(_) => None,
        }
    }

    /// Goes to `offset` of the uncompressed stream, where a record must start; a stream can only be gone ahead in.
    pub fn seek(&mut self, offset: u64) -> Result<(), CaptureError> {
        if let Some(len) = self.file_len().filter(|len| offset > *len && *len > 0) {
            return Err(CaptureError::Seek { offset, bound: len });
        }
        if let Input::File(Blocking(file)) = &mut self.input {
            if file.seek(SeekFrom::Start(offset)).is_ok() {
                self.decoder.restart_at(offset);
                return Ok(());
            }
        }
        self.decoder.skip_to(offset)
    }

    /// Takes in the `head` that was read already, then the capture's headers.
    fn start(input: Input, head: &[u8]) -> Result<Reader, CaptureError> {
        let mut reader = Reader { decoder: Decoder::new(), input };
        if !head.is_empty() {
            let room = reader.decoder.room();
            let len = head.len().min(room.len());
            room.iter_mut().zip(head).for_each(|(place, byte)| *place = *byte);
            reader.decoder.fill(len);
        }
        while !reader.decoder.read_headers()? {
            reader.fill()?;
        }
        Ok(reader)
    }

    /// As [`Reader::fill`], if there is something to be read now. A decompressor is read from in any case.
    #[cold]
    fn fill_now(&mut self) -> Result<(), CaptureError> {
        match &self.input {
            Input::File(Blocking(file)) if !sys::poll::is_readable(file.as_fd()) => {
                let source = io::ErrorKind::WouldBlock.into();
                Err(CaptureError::Read { offset: self.decoder.position(), source })
            }
            _ => self.fill(),
        }
    }

    /// Reads once, or finds that the capture ends.
    #[cold]
    pub fn fill(&mut self) -> Result<(), CaptureError> {
        let room = self.decoder.room();
        let result = match &mut self.input {
            Input::File(file) => read(file, room),
            Input::Stream(stream) => read(stream, room),
        };
        match result {
            Ok(len) => self.decoder.fill(len),
            Err(source) => {
                if source.kind() != io::ErrorKind::WouldBlock {
                    self.decoder.fail();
                }
                return Err(CaptureError::Read { offset: self.decoder.position(), source });
            }
        }
        Ok(())
    }
}

/// Reads the first bytes of a stream, which tell whether it is compressed.
fn read_head(input: &mut impl Read) -> Result<Vec<u8>, CaptureError> {
    let mut head = Vec::with_capacity(HEAD_LEN);
    let result = input.take(HEAD_LEN as u64).read_to_end(&mut head);
    result.map_err(|source| CaptureError::Read { offset: 0, source })?;
    Ok(head)
}

/// One read, begun again when a signal interrupts it.
fn read(input: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
