//! What can be wrong with a capture.

use std::{error, fmt, io};

/// Why a capture, or the rest of it, cannot be read. Every record before the fault was delivered.
#[derive(Debug)]
pub enum CaptureError {
    /// The file cannot be opened.
    Open {
        /// Its name as the user gave it.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Reading or decompressing failed; of the kind `WouldBlock`, it may be tried again.
    Read {
        /// Position in the uncompressed stream.
        offset: u64,
        /// The system's or the decompressor's reason.
        source: io::Error,
    },
    /// There is not a single byte.
    Empty,
    /// The stream ends within its first header.
    TooShort {
        /// Bytes that there are.
        len: u64,
    },
    /// The first four bytes are no capture format's.
    Magic {
        /// The bytes as a big-endian number.
        value: u32,
    },
    /// A version of the format that nobody defined.
    Version {
        /// Where the version stands.
        offset: u64,
        /// Major version.
        major: u16,
        /// Minor version.
        minor: u16,
    },
    /// A number in the capture that cannot be right.
    Corrupt {
        /// Where the record or block that holds it starts.
        offset: u64,
        /// The number's name.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What it should have been.
        rule: Rule,
    },
    /// The stream ends within a record, as when its writer was stopped.
    Truncated {
        /// Where the record starts.
        offset: u64,
        /// Bytes that the record needs at least.
        wanted: u64,
        /// Bytes that there are.
        got: u64,
    },
    /// A position that cannot be gone to: beyond the end, or behind in a stream.
    Seek {
        /// The position asked for.
        offset: u64,
        /// The furthest that can be gone to (a file) or the first (a stream).
        bound: u64,
    },
}

/// What a number in a capture must satisfy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Not greater than this.
    AtMost(u64),
    /// Not less than this.
    AtLeast(u64),
    /// Less than this.
    Below(u64),
    /// Exactly this.
    Equal(u64),
    /// A multiple of this.
    MultipleOf(u64),
}

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CaptureError::Open { path, source } => write!(f, "{path}: {}", sys::reason(source)),
            CaptureError::Read { offset, source } => write!(f, "byte {offset}: {}", sys::reason(source)),
            CaptureError::Empty => f.write_str("empty file"),
            CaptureError::TooShort { len } => write!(f, "not a capture: only {len} bytes"),
            CaptureError::Magic { value } => match compression(*value) {
                Some((name, cat, true)) => {
                    let ways = format_args!("`weir read FILE`, or `{cat} FILE | weir ...`");
                    write!(f, "compressed with {name}, which is read from a file only: {ways}")
                }
                Some((name, cat, false)) => {
                    write!(f, "compressed with {name}: `{cat} FILE | weir ...` reads it")
                }
                None => write!(f, "not a capture: it starts with {value:#010x}"),
            },
            CaptureError::Version { offset, major, minor } => {
                write!(f, "byte {offset}: unknown version {major}.{minor}")
            }
            CaptureError::Corrupt { offset, what, value, rule } => {
                write!(f, "byte {offset}: {what} is {value}, must be {rule}")
            }
            CaptureError::Truncated { offset, wanted, got } => {
                write!(f, "byte {offset}: truncated record, {got} of at least {wanted} bytes")
            }
            CaptureError::Seek { offset, bound } => write!(f, "cannot go to byte {offset}, bound is {bound}"),
        }
    }
}

/// The compression of data that begins with this number, the program that undoes it, and whether files so compressed are read.
fn compression(magic: u32) -> Option<(&'static str, &'static str, bool)> {
    match magic {
        0x1f8b_0000..=0x1f8b_ffff => Some(("gzip", "zcat", true)),
        0x425a_6800..=0x425a_68ff => Some(("bzip2", "bzcat", true)),
        0xfd37_7a58 => Some(("xz", "xzcat", false)),
        0x28b5_2ffd => Some(("zstd", "zstdcat", false)),
        _ => None,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rule::AtMost(limit) => write!(f, "at most {limit}"),
            Rule::AtLeast(limit) => write!(f, "at least {limit}"),
            Rule::Below(0) => f.write_str("one that was described before"),
            Rule::Below(limit) => write!(f, "below {limit}"),
            Rule::Equal(value) => write!(f, "{value}"),
            Rule::MultipleOf(unit) => write!(f, "a multiple of {unit}"),
        }
    }
}

impl error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            CaptureError::Open { source, .. } | CaptureError::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
