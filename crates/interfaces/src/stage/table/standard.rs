//! The standard streams as interfaces.

use std::os::fd::AsFd;

use sys::pipe::{self, Kind, StandardStream};
use sys::standard;

use super::{descriptor, inputs, Ends, Format};

/// Standard input; it must be there, and be no terminal.
pub(super) fn input(format: Format) -> Result<Ends, String> {
    const LABEL: &str = "standard input";
    if standard::was_closed(StandardStream::Input) {
        return Err(format!("{LABEL} is closed: give packets by a pipe (`weir read FILE | ...`)"));
    }
    let fd = std::io::stdin();
    let kind = pipe::kind(&fd).map_err(|error| error.to_string())?;
    if kind == Kind::Character && std::io::IsTerminal::is_terminal(&fd) {
        return Err(format!(
            "{LABEL} is a terminal: give packets by a pipe (`weir read FILE | ...`), or name another interface \
             (`--if left=KIND`)"
        ));
    }
    let ends = descriptor::stream(fd.as_fd(), LABEL, format, (true, kind == Kind::Socket))?;
    // Only this interface keeps the pipe open, so that its writer learns of our end.
    let _ = pipe::replace_standard(StandardStream::Input);
    Ok(ends)
}

/// Standard output; it must be there, and be neither a terminal nor a file that is read.
pub(super) fn output(format: Format) -> Result<Ends, String> {
    const LABEL: &str = "standard output";
    if standard::was_closed(StandardStream::Output) {
        return Err(format!(
            "{LABEL} is closed: give packets to a pipe (`... | weir write FILE`), or to /dev/null"
        ));
    }
    let fd = std::io::stdout();
    let kind = pipe::kind(&fd).map_err(|error| error.to_string())?;
    if kind == Kind::Character && std::io::IsTerminal::is_terminal(&fd) {
        return Err(format!(
            "{LABEL} is a terminal: give packets to a pipe (`... | weir write FILE`, `... | weir print`), or name \
             another interface (`--if right=KIND`)"
        ));
    }
    inputs::refuse(inputs::of(&fd), LABEL)?;
    let ends = descriptor::stream(fd.as_fd(), LABEL, format, (kind == Kind::Socket, true))?;
    let _ = pipe::replace_standard(StandardStream::Output);
    Ok(ends)
}
