//! Where `print` prints: the standard output or a file.

use std::fs::{File, OpenOptions};
use std::io::Write;

use args::next_word;
use element::output::{reason, StandardOutput};

/// Where to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination<'t> {
    /// The standard output.
    Stdout,
    /// A file, which is emptied first.
    File(&'t str),
    /// The end of a file.
    EndOfFile(&'t str),
}

/// An open destination.
pub enum Sink {
    /// The standard output.
    Stdout,
    /// A file.
    File(File),
}

/// Splits `>FILE text` and `>>FILE text` into destination and text.
pub fn split_redirection(text: &str) -> (Destination<'_>, &str) {
    let Some(rest) = text.strip_prefix('>') else { return (Destination::Stdout, text) };
    let (is_append, rest) = rest.strip_prefix('>').map_or((false, rest), |rest| (true, rest));
    let (file, text) = next_word(rest);
    let destination = match file {
        "" | "-" => Destination::Stdout,
        _ if is_append => Destination::EndOfFile(file),
        _ => Destination::File(file),
    };
    (destination, text)
}

impl Destination<'_> {
    /// Opens it.
    pub fn open(self) -> Result<Sink, String> {
        let (path, is_append) = match self {
            Destination::Stdout => return Ok(Sink::Stdout),
            Destination::File(path) => (path, false),
            Destination::EndOfFile(path) => (path, true),
        };
        let mut options = OpenOptions::new();
        options.create(true).write(true).append(is_append).truncate(!is_append);
        let file = options.open(path).map_err(|error| format!("{path}: {}", reason(&error)))?;
        Ok(Sink::File(file))
    }
}

/// Prints; what cannot be printed is lost, as nobody could be told.
pub fn print_to(sink: &mut Sink, text: &[u8]) {
    let _ = match sink {
        Sink::Stdout => {
            let mut stdout = StandardOutput;
            stdout.write_all(text).and_then(|()| stdout.flush())
        }
        Sink::File(file) => file.write_all(text),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirections_are_split_off() {
        assert_eq!(split_redirection("a >b"), (Destination::Stdout, "a >b"));
        assert_eq!(split_redirection(">f a b"), (Destination::File("f"), "a b"));
        assert_eq!(split_redirection(">> f a b"), (Destination::EndOfFile("f"), "a b"));
        assert_eq!(split_redirection(">- a"), (Destination::Stdout, "a"));
    }
}
