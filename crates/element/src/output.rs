//! Texts that elements write to files, or to the standard output that all of them share.

use std::fs::File;
use std::io::{BufWriter, Result, Stdout, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

pub use sys::reason;
pub use sys::standard::Blocking;

/// What elements wrote to standard output since it was last flushed.
static BUFFER: LazyLock<Mutex<BufWriter<Blocking<Stdout>>>> =
    LazyLock::new(|| Mutex::new(BufWriter::new(Blocking(std::io::stdout()))));

/// Standard output, in the order in which elements write to it. Elements flush what they wrote in their `cleanup`.
pub struct StandardOutput;

impl StandardOutput {
    fn lock() -> MutexGuard<'static, BufWriter<Blocking<Stdout>>> {
        BUFFER.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for StandardOutput {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        StandardOutput::lock().write(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        StandardOutput::lock().flush()
    }
}

/// Says why a file must not be written.
type Guard = fn(&str) -> std::result::Result<(), String>;

/// What is asked before a file is written.
static GUARD: OnceLock<Guard> = OnceLock::new();

/// Has `guard` asked before a file is written from now on: this process may be reading it.
pub fn guard_files(guard: Guard) {
    // A process has one.
    let _ = GUARD.set(guard);
}

/// Whether the file called `name` may be written; an error says why not.
pub fn check_file(name: &str) -> std::result::Result<(), String> {
    GUARD.get().map_or(Ok(()), |guard| guard(name))
}

/// Makes or empties the file called `name`; `-` is standard output.
pub fn create_text_file(name: &str) -> std::result::Result<Box<dyn Write + Send>, String> {
    if name == "-" {
        return Ok(Box::new(StandardOutput));
    }
    check_file(name)?;
    let file = File::create(name).map_err(|error| format!("{name}: {}", reason(&error)))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Writes a line to standard error; if nobody can receive it, it is lost.
pub fn tell(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_made_is_named() {
        let error = create_text_file("/nonexistent/x").err().expect("there is no such folder");
        assert_eq!(error, "/nonexistent/x: No such file or directory");
    }
}
