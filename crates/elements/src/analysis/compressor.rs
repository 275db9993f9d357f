//! Compressing files that are complete, on a thread of its own.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use element::output::reason;
use flate2::write::GzEncoder;

/// Puts `FILE.gz` in the place of each `FILE`; the first that cannot be compressed is the last.
#[derive(Default)]
pub struct Compressor {
    worker: Option<Worker>,
}

struct Worker {
    names: Sender<String>,
    thread: JoinHandle<Result<(), String>>,
}

impl Compressor {
    /// Compresses a file soon. Tells what became of an earlier one if that could not be compressed.
    pub fn add(&mut self, name: String) -> Result<(), String> {
        if self.worker.is_none() {
            self.worker = Some(start().map_err(|error| reason(&error))?);
        }
        match &self.worker {
            Some(worker) if worker.names.send(name).is_err() => self.finish(),
            _ => Ok(()),
        }
    }

    /// Waits until all files are compressed.
    pub fn finish(&mut self) -> Result<(), String> {
        let Some(Worker { names, thread }) = self.worker.take() else { return Ok(()) };
        drop(names);
        thread.join().unwrap_or_else(|_| Err("compressor stopped".to_string()))
    }
}

fn start() -> io::Result<Worker> {
    let (names, to_do) = mpsc::channel::<String>();
    let work = move || {
        to_do
            .iter()
            .try_for_each(|name| compress(&name).map_err(|error| format!("{name}: {}", reason(&error))))
    };
    let thread = sys::thread::start("compressor", sys::thread::STACK, work)?;
    Ok(Worker { names, thread })
}

/// Compresses a file under another name, so that one that comes in its place meanwhile is left alone. A file that is gone had
/// the name of one before.
fn compress(name: &str) -> io::Result<()> {
    let moved = format!("{name}~");
    match fs::rename(name, &moved) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        renamed => renamed?,
    }
    let mut input = File::open(&moved)?;
    let output = BufWriter::new(File::create(format!("{name}.gz"))?);
    let mut encoder = GzEncoder::new(output, flate2::Compression::default());
    io::copy(&mut input, &mut encoder)?;
    encoder.finish()?.flush()?;
    fs::remove_file(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_compressed_is_told_of() {
        let mut compressor = Compressor::default();
        assert_eq!(compressor.finish(), Ok(()));
        let added = compressor.add("/dev/null/x".to_string());
        let told = [added, compressor.finish()].into_iter().find_map(Result::err);
        assert_eq!(told, Some("/dev/null/x: Not a directory".to_string()));
    }
}
