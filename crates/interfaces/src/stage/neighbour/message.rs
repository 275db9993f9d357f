//! What neighbours tell each other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sys::unix::{recv_fds, send_fds};

use crate::stage::joint::Line;

/// First bytes of each message: what it is part of, and the version.
const MAGIC: [u8; 7] = *b"weir-2\n";
/// The writer offers memory.
pub const HELLO: u8 = 1;
/// The reader takes it.
pub const WELCOME: u8 = 2;
/// The writer goes on in the ring.
pub const SWITCH: u8 = 3;
/// The writer laid a cable between both stacks.
pub const CABLE: u8 = 4;
/// The writer moves packets between both stacks' taps.
pub const PUMP: u8 = 5;
/// The reader asks the writer to undo that.
pub const PART: u8 = 6;
/// The writer has undone it.
pub const PARTED: u8 = 7;
/// The number in a HELLO that asks for the ring and nothing else.
pub const RING_ONLY: u64 = 1;
/// Bytes of a message: magic, kind, a number, a device's name.
const MESSAGE: usize = 32;
/// Bytes of a device's name with the zero behind it (linux/if.h).
const NAME: usize = 16;
const EAGAIN: i32 = 11;

/// What neighbours tell each other, but for the descriptors that come with it.
pub struct Message {
    pub kind: u8,
    pub number: u64,
    pub name: String,
}

/// What came of listening.
pub enum Heard {
    Message(Message, Vec<OwnedFd>),
    /// Nothing was said.
    Nothing,
    /// The connection has ended, or something else than a message came.
    End,
}

impl Message {
    /// A message without a name.
    pub fn new(kind: u8, number: u64) -> Message {
        Message { kind, number, name: String::new() }
    }

    /// Says it.
    pub fn send(&self, line: &Line, fds: &[BorrowedFd<'_>]) -> sys::Result<usize> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(self.kind);
        bytes.extend(self.number.to_ne_bytes());
        bytes.extend(self.name.bytes().take(NAME - 1));
        bytes.resize(MESSAGE, 0);
        send_fds(line.as_fd(), &bytes, fds)
    }

    /// The message that the bytes are, if they are one.
    fn read(bytes: &[u8]) -> Option<Message> {
        let (magic, rest) = bytes.split_first_chunk::<7>()?;
        let (kind, rest) = rest.split_first()?;
        let (number, name) = rest.split_first_chunk::<8>()?;
        let name = name.split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?.to_string();
        (*magic == MAGIC).then_some(Message { kind: *kind, number: u64::from_ne_bytes(*number), name })
    }
}

/// Whether the next message is of this kind. It is still there afterwards.
pub fn is_next(line: &Line, kind: u8) -> bool {
    let mut bytes = [0; MESSAGE];
    let n = sys::unix::peek(line.as_fd(), &mut bytes).unwrap_or(0);
    Message::read(bytes.get(..n).unwrap_or_default()).is_some_and(|message| message.kind == kind)
}

/// Takes the next message.
pub fn hear(line: &Line) -> Heard {
    let mut bytes = [0; MESSAGE];
    match recv_fds(line.as_fd(), &mut bytes) {
        Ok((n, fds)) => match Message::read(bytes.get(..n).unwrap_or_default()) {
            Some(message) => Heard::Message(message, fds),
            None => Heard::End,
        },
        Err(error) if error.errno() == Some(EAGAIN) => Heard::Nothing,
        Err(_) => Heard::End,
    }
}
