//! Requests and answers on a graph's socket.

use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sys::unix::MAX_PATH;

/// What follows a graph's name in that of its socket.
const ENDING: &str = ".sock";

/// What follows the last record of a tap: a header such as no packet has.
pub const TAP_END: [u8; 16] = [0xff; 16];

/// What stands between records of a tap where `n` packets were left out: a number, and a length that no packet has.
pub fn tap_gap(n: u64) -> [u8; 16] {
    (u128::from(n) | u128::from(u32::MAX) << 64).to_le_bytes()
}

/// How many packets were left out, if this is what says so.
pub fn gap_of_tap(header: [u8; 16]) -> Option<u64> {
    let n = u128::from_le_bytes(header) as u64;
    (header == tap_gap(n)).then_some(n)
}

/// What a client asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Ask {
    /// Read a handler.
    Read {
        /// `ELEMENT.HANDLER` or a global handler.
        handler: String,
        /// Parameter, or empty.
        parameter: String,
    },
    /// Write a handler.
    Write {
        /// `ELEMENT.HANDLER` or a global handler.
        handler: String,
        /// Value.
        value: String,
    },
    /// Trace packets: a [`crate::watch::Told`] a line, and an [`Answer`] at the end.
    Trace {
        /// Number of packets.
        count: u32,
        /// tcpdump filter, or empty.
        filter: String,
    },
    /// Copy the packets that leave a port, as a capture stream that ends with [`TAP_END`] and has a [`tap_gap`] where
    /// packets were not read in time.
    Tap {
        /// `ELEMENT` or `ELEMENT[PORT]`.
        edge: String,
        /// Link type of the capture.
        link_type: u32,
    },
    /// Change the graph: the answer is an [`super::live::Outcome`].
    Change {
        /// How.
        #[serde(flatten)]
        edit: super::live::Edit,
        /// Whether only to tell what would be done.
        dry: bool,
    },
    /// Tell the graphs that ran, a [`super::live::Past`] each.
    History,
    /// Let a handler be written for each step of a change, or no longer.
    Subscribe {
        /// The handler.
        handler: String,
        /// The only element that it is to hear of.
        element: Option<String>,
        /// Whether the subscription ends.
        ends: bool,
    },
    /// Look at the value of a handler from time to time.
    Watch {
        /// What the watch is called.
        name: String,
        /// The handler.
        handler: String,
        /// When there is an event.
        #[serde(flatten)]
        threshold: events::Threshold,
    },
    /// Look at it no longer.
    Unwatch {
        /// The watch.
        name: String,
    },
    /// Tell the watches, an [`events::Told`] each.
    Watches,
    /// Tell of events as they happen: an [`events::Event`] a line, and an [`Answer`] when the graph ends.
    Events,
    /// Tell what a stage is and how it fares: a [`crate::stage::status::Status`].
    Status,
    /// Let the packets of an interface that go through the kernel come back into the stage.
    Part {
        /// The interface.
        interface: String,
    },
    /// Keep other commands from changing what is next to a stage for as long as the connection lasts.
    Hold,
    /// Prepare a stage for being taken out of its chain.
    Retire,
    /// Have a stage that was started for it take its place between two others: it does so even if who started it dies meanwhile.
    TakePlace {
        /// The stage to the left.
        left: u32,
        /// The stage to the right.
        right: u32,
        /// Where the pipe can be opened that the left one is to write to.
        to: String,
        /// Where the one can be opened that the right one is to read.
        from: String,
    },
    /// Let an interface of a stage go on in another pipe.
    Succeed {
        /// The interface.
        interface: String,
        /// Where the pipe can be opened, such as `/proc/PID/fd/N`.
        path: String,
    },
}

/// The answer's first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Answer {
    /// A value, or an empty text where there is none to give.
    Ok(String),
    /// Why not.
    Error(String),
}

/// The socket of a graph.
pub fn path(name: &str) -> Result<PathBuf, String> {
    let name = checked_name(name)?;
    let path = folder()?.join(file_name(&name));
    match path.as_os_str().len().saturating_sub(MAX_PATH) {
        0 => Ok(path),
        n_over => Err(format!(
            "`{name}` is no name for a graph; it may have {} letters here, as the path of its socket has {MAX_PATH} bytes at most",
            name.len().saturating_sub(n_over)
        )),
    }
}

/// What the socket of a graph is called in the folder of the sockets.
pub fn file_name(name: &str) -> String {
    format!("{name}{ENDING}")
}

/// Checks what a graph is to be called.
pub fn checked_name(name: &str) -> Result<String, String> {
    match name.starts_with('.') || !is_plain(name) {
        true => Err(format!("`{name}` is no name for a graph; use ASCII letters, digits, `-`, `_` and `.`")),
        false => Ok(name.to_string()),
    }
}

/// Whether a name has letters, digits, `-`, `_` and `.` only.
pub fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// The graphs that run and have names, by name, connected.
pub fn running() -> Result<Vec<(String, UnixStream)>, String> {
    let connected = |name: String| Some((UnixStream::connect(path(&name).ok()?).ok()?, name));
    Ok(names()?.into_iter().filter_map(connected).map(|(stream, name)| (name, stream)).collect())
}

/// The graphs that have names, in the order of the alphabet, and those that had when they were killed.
pub fn names() -> Result<Vec<String>, String> {
    let folder = folder()?;
    let entries = std::fs::read_dir(&folder)
        .map_err(|error| format!("{}: {}", folder.display(), element::output::reason(&error)))?;
    let files = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        files.filter_map(|file| Some(file.strip_suffix(ENDING)?.to_string())).collect();
    names.sort();
    Ok(names)
}

/// The folder of the sockets.
pub fn folder() -> Result<PathBuf, String> {
    sys::runtime_dir::open().map_err(|error| error.to_string())
}
