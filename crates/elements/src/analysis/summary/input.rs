//! Where a dump is read from: a file, which may be compressed, standard input or a given text.

use element::output::reason;
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, ErrorKind, Read, Seek};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use sys::standard::Blocking;

/// A text that is read line by line, or a binary file that is read record by record.
pub struct Input {
    name: String,
    /// The text that is given instead of a file.
    text: Option<Arc<[u8]>>,
    reader: Option<Box<dyn BufRead + Send>>,
    /// A program that uncompresses the file.
    child: Option<Child>,
    size: Option<u64>,
    position: u64,
    n_lines: u32,
    has_records: bool,
    /// A line that was looked at and will be read again.
    peeked: Option<Vec<u8>>,
}

/// What Click reads of a stream at a time.
const BUFFER: usize = 32768;
/// What Click maps of a file at a time.
const MAPPED: usize = 4 << 20;

/// How a file is compressed.
enum Compression {
    Gzip,
    /// By what only this program understands.
    Other(&'static str),
}

impl Input {
    /// Input from a file, or from standard input if the name is `-`; not open yet.
    pub fn new(name: String) -> Input {
        let (reader, child, size, peeked) = (None, None, None, None);
        Input { name, text: None, reader, child, size, position: 0, n_lines: 0, has_records: false, peeked }
    }

    /// Input from a text.
    pub fn from_data(data: Vec<u8>) -> Input {
        let text: Arc<[u8]> = data.into();
        let reader = Box::new(Cursor::new(text.clone()));
        Input { text: Some(text), reader: Some(reader), ..Input::new("<data>".to_string()) }
    }

    /// Whether it is of the same file or text.
    pub fn is_of_same(&self, other: &Input) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }

    /// Opens the file; false if there is none, or it is empty, and that is allowed.
    pub fn open(&mut self, may_be_missing: bool) -> Result<bool, String> {
        if self.reader.is_some() {
            return Ok(true);
        }
        if self.is_stdin() {
            self.reader = Some(Box::new(BufReader::new(Blocking(std::io::stdin()))));
        } else {
            let file = match File::open(&self.name) {
                Err(error) if error.kind() == ErrorKind::NotFound && may_be_missing => return Ok(false),
                file => file.map_err(|error| format!("{}: {}", self.name, reason(&error)))?,
            };
            let size = file.metadata().ok().filter(|data| data.is_file()).map(|data| data.len());
            self.read_file(file, size).map_err(|error| self.at(&reason(&error)))?;
        }
        let is_empty = match self.reader.as_mut().map(|reader| reader.fill_buf().map(<[u8]>::is_empty)) {
            Some(Ok(is_empty)) => is_empty,
            Some(Err(error)) => return Err(self.at(&reason(&error))),
            None => true,
        };
        match is_empty {
            true if !may_be_missing => Err(self.at("empty file")),
            is_empty => Ok(!is_empty),
        }
    }

    fn read_file(&mut self, mut file: File, size: Option<u64>) -> std::io::Result<()> {
        let mut magic = Vec::new();
        if size.is_some() {
            Read::by_ref(&mut file).take(10).read_to_end(&mut magic)?;
            file.rewind()?;
        }
        self.reader = Some(match compression(&magic) {
            None => {
                self.size = size;
                Box::new(BufReader::new(file))
            }
            Some(Compression::Gzip) => {
                Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(file))))
            }
            Some(Compression::Other(program)) => {
                let mut child = Command::new(program).stdin(file).stdout(Stdio::piped()).spawn()?;
                let output = child.stdout.take();
                self.child = Some(child);
                match output {
                    Some(output) => Box::new(BufReader::new(output)),
                    None => Box::new(std::io::empty()),
                }
            }
        });
        Ok(())
    }

    /// Whether there may be more to read.
    pub fn is_open(&self) -> bool {
        self.reader.is_some()
    }

    /// Ends the reading.
    pub fn close(&mut self) {
        self.reader = None;
        self.peeked = None;
        self.size = None;
        if let Some(mut child) = self.child.take() {
            // It ends by itself, as nobody reads what it writes.
            let _ = child.wait();
        }
    }

    /// Whether it is standard input.
    pub fn is_stdin(&self) -> bool {
        matches!(self.name.as_str(), "" | "-")
    }

    /// Its name for people.
    pub fn name(&self) -> &str {
        match self.name.as_str() {
            "" | "-" => "<stdin>",
            name => name,
        }
    }

    /// Size of the file in bytes, if it is an open plain file.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Bytes read so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// A message about what was read last, with its place in front.
    pub fn at(&self, message: &str) -> String {
        let record = if self.has_records { "record " } else { "" };
        element::at_place(&format!("{}:{record}{}", self.name(), self.n_lines), message)
    }

    /// From here on there are binary records.
    pub fn begin_records(&mut self) {
        self.has_records = true;
        self.n_lines = 1;
    }

    /// Looks at the first line, which will be read again. As in Click, what is not in one buffer with the line's end is passed
    /// over then: a line without an end, and the beginning of one that is longer than a buffer.
    pub fn look_at_first_line(&mut self) -> std::io::Result<Vec<u8>> {
        let mut line = Vec::new();
        if self.fill_line(&mut line)? {
            let n_passed = self.passed_over(&line)?;
            let rest = line.get(n_passed..).unwrap_or_default();
            self.peeked = (!rest.is_empty()).then(|| rest.to_vec());
            self.position += n_passed as u64;
        }
        Ok(line)
    }

    /// The bytes of a first line that stand in buffers before the one in which its end was found.
    fn passed_over(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let buffer = match (&self.text, self.size) {
            (Some(text), _) => text.len().max(1),
            (None, Some(_)) => MAPPED,
            (None, None) => BUFFER,
        };
        // A carriage return is the end only when the byte behind it has been seen.
        let seen = match line {
            [.., b'\n'] => line.len(),
            [.., b'\r'] if !self.is_at_end()? => line.len() + 1,
            _ => return Ok(line.len()),
        };
        Ok((seen - 1) / buffer * buffer)
    }

    fn is_at_end(&mut self) -> std::io::Result<bool> {
        self.reader.as_mut().map_or(Ok(true), |reader| Ok(reader.fill_buf()?.is_empty()))
    }

    /// Reads a line with its end, which is a line feed, a carriage return or both; false at the end.
    pub fn read_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<bool> {
        line.clear();
        match self.peeked.take() {
            Some(peeked) => *line = peeked,
            None => {
                if !self.fill_line(line)? {
                    return Ok(false);
                }
            }
        }
        self.position += line.len() as u64;
        self.n_lines = self.n_lines.wrapping_add(1);
        Ok(true)
    }

    fn fill_line(&mut self, line: &mut Vec<u8>) -> std::io::Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        loop {
            let buf = reader.fill_buf()?;
            let end = buf.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let n = end.map_or(buf.len(), |end| end + 1);
            line.extend_from_slice(buf.get(..n).unwrap_or(buf));
            reader.consume(n);
            if end.is_some() || n == 0 {
                break;
            }
        }
        if line.last() == Some(&b'\r') && reader.fill_buf()?.first() == Some(&b'\n') {
            line.push(b'\n');
            reader.consume(1);
        }
        Ok(!line.is_empty())
    }

    /// Reads `n` bytes; false if there are fewer.
    pub fn read_bytes(&mut self, n: usize, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
        bytes.clear();
        let Some(reader) = &mut self.reader else { return Ok(false) };
        reader.take(n as u64).read_to_end(bytes)?;
        self.position += bytes.len() as u64;
        Ok(bytes.len() == n)
    }

    /// Counts a record.
    pub fn count_record(&mut self) {
        self.n_lines = self.n_lines.wrapping_add(1);
    }
}

fn compression(magic: &[u8]) -> Option<Compression> {
    match magic {
        [0x1F, 0x8B, _, ..] => Some(Compression::Gzip),
        [0x1F, 0x9D, _, ..] => Some(Compression::Other("zcat")),
        [b'B', b'Z', b'h', b'0'..=b'9', 0x17, ..] => Some(Compression::Other("bzcat")),
        [b'B', b'Z', b'h', b'0'..=b'9', b'1', b'A', b'Y', b'&', b'S', b'Y'] => {
            Some(Compression::Other("bzcat"))
        }
        _ => None,
    }
}
