//! The terminal on standard error.

use rustix::process::getpgrp;
use rustix::termios::{tcgetpgrp, tcgetwinsize};

/// Columns of a terminal that does not tell.
const WIDTH: usize = 80;

/// Whether the terminal's foreground process group is this process's.
pub fn is_in_foreground() -> bool {
    tcgetpgrp(std::io::stderr()).is_ok_and(|group| group == getpgrp())
}

/// How many columns it has.
pub fn width() -> usize {
    let columns = tcgetwinsize(std::io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 {
        WIDTH
    } else {
        columns
    }
}
