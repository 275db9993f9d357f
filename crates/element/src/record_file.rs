//! Files of what elements tell of packets and flows. A full disk does not stop packets, but is told, once.

use std::io::{Error, ErrorKind, Write};

use crate::output::{create_text_file, reason};
use crate::{failure, Ctx};

/// A file of records, or standard output. Once it cannot be written, nothing more is.
pub struct RecordFile {
    name: String,
    file: Option<Box<dyn Write + Send>>,
    fault: Option<Error>,
}

impl RecordFile {
    /// Makes or empties the file called `name`; `-` is standard output.
    pub fn create(name: &str) -> Result<RecordFile, String> {
        Ok(RecordFile { name: name.to_string(), file: Some(create_text_file(name)?), fault: None })
    }

    /// Adds to it.
    pub fn write(&mut self, bytes: &[u8]) {
        let result = self.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        self.note(result);
    }

    /// Hands what was added to the system.
    pub fn flush(&mut self) {
        let result = self.file.as_mut().map_or(Ok(()), |file| file.flush());
        self.note(result);
    }

    fn note(&mut self, result: std::io::Result<()>) {
        if let Err(error) = result {
            self.file = None;
            // A reader of standard output that goes away has seen enough.
            self.fault = Some(error).filter(|error| error.kind() != ErrorKind::BrokenPipe);
        }
    }

    /// Tells that it cannot be written, unless that was told.
    #[inline]
    pub fn tell_fault(&mut self, ctx: &mut Ctx<'_>) {
        if self.fault.is_some() {
            self.tell(ctx);
        }
    }

    #[cold]
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        let Some(error) = self.fault.take().filter(|_| !failure::is_told_as_click()) else { return };
        let name = if self.name == "-" { "standard output" } else { &self.name };
        ctx.chatter(&format!("{name}: {}; no more is written to it", reason(&error)));
        failure::note();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_fault_is_kept_until_it_is_told() {
        let mut file = RecordFile::create("/dev/full").unwrap();
        file.write(b"a line\n");
        assert!(file.fault.is_none(), "it is still in memory");
        file.flush();
        assert_eq!(file.fault.as_ref().map(reason).as_deref(), Some("No space left on device"));
        file.fault = None;
        file.write(b"another\n");
        file.flush();
        assert!(file.fault.is_none(), "nothing more is written");
    }
}
