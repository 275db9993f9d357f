//! Compressed captures: gzip and bzip2, told by their first bytes when read and by the file name when written.

use super::kept::Kept;
use bzip2::read::MultiBzDecoder;
use bzip2::write::BzEncoder;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

/// First bytes that tell compressed data apart.
pub const HEAD_LEN: usize = 10;

/// Decompresses `input` if its first bytes, `head`, say that it is compressed; gives it back if not.
pub fn decompress<R: Read + Send + 'static>(head: &[u8], input: R) -> Result<Box<dyn Read + Send>, R> {
    let whole = |input| io::Cursor::new(head.to_vec()).chain(input);
    match head {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(whole(input)))),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y'] => {
            Ok(Box::new(MultiBzDecoder::new(whole(input))))
        }
        _ => Err(input),
    }
}

/// Whether the name of a file says that it is pcapng, compressed or not.
pub fn is_named_pcapng(path: &str) -> bool {
    let plain = [".gz", ".bz2"].iter().find_map(|ending| path.strip_suffix(ending)).unwrap_or(path);
    plain.ends_with(".pcapng")
}

/// A file to write a capture to, compressed if its name ends with `.gz` or `.bz2`.
pub enum Output {
    /// Written as it is.
    Plain(Kept),
    /// Compressed with gzip.
    Gzip(GzEncoder<Kept>),
    /// Compressed with bzip2.
    Bzip2(BzEncoder<Kept>),
}

impl Output {
    /// Creates the file, or takes standard output if `path` is `-`.
    pub fn create(path: &str) -> io::Result<Output> {
        if path == "-" {
            let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
            return Ok(Output::Plain(file.into()));
        }
        File::create(path).map(|file| Output::of_file(file.into(), path))
    }

    /// As [`Output::create`], but what a file holds stays until something is written, or until the end: see [`Kept`].
    pub fn create_kept(path: &str) -> io::Result<Output> {
        match path {
            "-" => Output::create(path),
            path => Kept::open(path).map(|file| Output::of_file(file, path)),
        }
    }

    fn of_file(file: Kept, path: &str) -> Output {
        if path.ends_with(".gz") {
            Output::Gzip(GzEncoder::new(file, flate2::Compression::default()))
        } else if path.ends_with(".bz2") {
            Output::Bzip2(BzEncoder::new(file, bzip2::Compression::default()))
        } else {
            Output::Plain(file)
        }
    }

    /// Whether a file still holds what was in it before.
    pub fn is_kept(&self) -> bool {
        match self {
            Output::Plain(file) => file.is_kept(),
            Output::Gzip(encoder) => encoder.get_ref().is_kept(),
            Output::Bzip2(encoder) => encoder.get_ref().is_kept(),
        }
    }

    /// Writes what compression still holds back; without it a compressed file is not complete.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Output::Plain(mut file) => file.empty().and_then(|()| file.flush()),
            Output::Gzip(encoder) => encoder.finish()?.flush(),
            Output::Bzip2(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Plain(file) => file.write(bytes),
            Output::Gzip(encoder) => encoder.write(bytes),
            Output::Bzip2(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Plain(file) => file.flush(),
            Output::Gzip(encoder) => encoder.flush(),
            Output::Bzip2(encoder) => encoder.flush(),
        }
    }
}
