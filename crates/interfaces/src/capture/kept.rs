//! A file that is written anew, and keeps what it holds until then.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};

use sys::standard::Blocking;

/// A file to write to. What it holds may be kept until something is written, as whoever is to be written may still read it.
pub struct Kept {
    file: File,
    content: Content,
}

/// What was in a file before.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    Gone,
    IsThere,
    /// It stays, and nothing is ever written.
    IsRead,
}

impl Kept {
    /// Opens a file whose content goes when something is written, or at the end.
    pub fn open(path: &str) -> io::Result<Kept> {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        let facts = file.metadata()?;
        let content = if facts.is_file() && facts.len() > 0 { Content::IsThere } else { Content::Gone };
        Ok(Kept { file, content })
    }

    /// Whether the file still holds what was in it before.
    pub fn is_kept(&self) -> bool {
        self.content != Content::Gone
    }

    /// Empties the file, if that was not done yet; fails, and will, if a stage of weir reads it.
    pub fn empty(&mut self) -> io::Result<()> {
        if self.content == Content::IsThere && sys::file_lock::is_shared(&self.file) {
            self.content = Content::IsRead;
        }
        match self.content {
            Content::Gone => return Ok(()),
            Content::IsThere => self.file.set_len(0)?,
            Content::IsRead => {
                return Err(io::Error::other("it is being read by weir; write to another one"));
            }
        }
        self.content = Content::Gone;
        Ok(())
    }
}

impl From<File> for Kept {
    /// A file of which nothing is to be kept.
    fn from(file: File) -> Kept {
        Kept { file, content: Content::Gone }
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.empty()?;
        Blocking(&self.file).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_holds_goes_with_the_first_byte_and_stays_for_good_if_it_is_read_then() {
        let path = std::env::temp_dir().join(format!("weir-kept-{}", std::process::id()));
        let path = path.to_str().unwrap();
        std::fs::write(path, "before").unwrap();
        let mut file = Kept::open(path).unwrap();
        assert_eq!((file.is_kept(), std::fs::read(path).unwrap()), (true, b"before".to_vec()));
        file.write_all(b"x").unwrap();
        file.write_all(b"y").unwrap();
        assert_eq!((file.is_kept(), std::fs::read(path).unwrap()), (false, b"xy".to_vec()));

        let mut file = Kept::open(path).unwrap();
        let reader = File::open(path).inspect(sys::file_lock::share).unwrap();
        assert!(file.write_all(b"z").is_err());
        drop(reader);
        assert!(file.write_all(b"z").is_err() && file.empty().is_err());
        assert_eq!(std::fs::read(path).unwrap(), b"xy");
        std::fs::remove_file(path).unwrap();
    }
}
