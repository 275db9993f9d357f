//! What can be wrong with a ring that the other side writes to.

use std::fmt;

/// The other side broke the ring's rules; nothing more is read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Corrupt {
    /// The producer's position is not within a ring's length of the consumer's, or not aligned.
    Tail { tail: u64, head: u64 },
    /// The consumer's position lies outside what was published.
    Head { head: u64, tail: u64 },
    /// What should be a record at this offset carries no record's mark.
    Mark { offset: usize },
    /// A record at this offset is longer than a record may be, than what was published, or than the rest of the ring.
    Len { offset: usize, len: u32 },
    /// A record says that it was shorter on the wire than it is here.
    WireLen { offset: usize, len: u32, wire_len: u32 },
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the neighbour broke the rules of the shared ring: ")?;
        match self {
            Self::Tail { tail, head } => {
                write!(f, "its write position {tail} does not go with the read position {head}")
            }
            Self::Head { head, tail } => {
                write!(f, "its read position {head} does not go with the write position {tail}")
            }
            Self::Mark { offset } => write!(f, "there is no record at offset {offset}"),
            Self::Len { offset, len } => write!(f, "the record at offset {offset} cannot have {len} bytes"),
            Self::WireLen { offset, len, wire_len } => {
                write!(
                    f,
                    "the record at offset {offset} has {len} bytes, more than the {wire_len} on the wire"
                )
            }
        }
    }
}

impl std::error::Error for Corrupt {}
