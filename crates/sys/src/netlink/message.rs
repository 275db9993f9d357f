//! What the kernel answers and tells by itself, as it is read.

use super::HEADER_LEN;

/// Above the two bits that say how a value is written.
const NLA_TYPE_MASK: u16 = 0x3fff;

/// A message of the kernel: its kind, and its fixed part with the attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: u16,
    pub payload: Vec<u8>,
}

/// What changed in the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// The entry, as an answer tells it.
    pub message: Message,
    /// Whether it takes the place of another.
    pub replaces: bool,
    /// Whether a program asked for it by a socket such as [`super::Socket`], and it did not come of another change.
    pub was_asked_for: bool,
}

/// The attributes in `bytes`, kind and value; what is cut short ends them.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)? & NLA_TYPE_MASK;
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// A message as it lies among others.
#[derive(Clone, Copy)]
pub(crate) struct Raw<'a> {
    pub kind: u16,
    flags: u16,
    sequence: u32,
    /// Who asked for it; 0 if nobody did.
    by: u32,
    pub payload: &'a [u8],
}

impl<'a> Raw<'a> {
    /// The message that `bytes` begin with, and what is behind it; `None` if it is cut short.
    fn first(bytes: &'a [u8]) -> Option<(Raw<'a>, &'a [u8])> {
        let len = u32_at(bytes, 0)? as usize;
        let raw = Raw {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            by: u32_at(bytes, 12)?,
            payload: bytes.get(HEADER_LEN..len)?,
        };
        Some((raw, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
    }

    fn to_message(self) -> Message {
        Message { kind: self.kind, payload: self.payload.to_vec() }
    }
}

/// The messages in `bytes`, in order. One that is cut short is `None`, and the last.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = Option<Raw<'_>>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let first = Raw::first(rest);
        rest = first.map_or(&[][..], |(_, behind)| behind);
        Some(first.map(|(raw, _)| raw))
    })
}

/// Adds the messages in `bytes` to `answers`; the error number of the end if it is among them, 0 for success.
pub(super) fn collect(bytes: &[u8], sequence: u32, answers: &mut Vec<Message>) -> Option<i32> {
    for raw in messages(bytes) {
        let Some(raw) = raw else { return Some(libc::EBADMSG) };
        // What answers an earlier request that was given up is passed over.
        if raw.sequence != sequence {
            continue;
        }
        match i32::from(raw.kind) {
            // Both carry a negative error number; a dump ends well without one on old kernels.
            libc::NLMSG_ERROR | libc::NLMSG_DONE => {
                return Some(u32_at(raw.payload, 0).map_or(0, |code| (code as i32).wrapping_neg()));
            }
            libc::NLMSG_NOOP => {}
            _ => answers.push(raw.to_message()),
        }
    }
    None
}

/// Adds what the messages in `bytes` tell, up to one that is cut short.
pub(super) fn tell(bytes: &[u8], news: &mut Vec<News>) {
    news.extend(messages(bytes).map_while(|raw| raw).map(|raw| News {
        message: raw.to_message(),
        replaces: raw.flags & libc::NLM_F_REPLACE as u16 != 0,
        was_asked_for: raw.by != 0,
    }));
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    bytes.get(start..start + 2).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes)
}

pub(crate) fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
    bytes.get(start..start + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::Request;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn attributes_that_were_written_are_read() {
        let mut request = Request::new("test", 16, 0, &[]);
        let nest = request.begin(18);
        request.attr(3, b"abcde").attr(4, &[]);
        request.end(nest);
        request.attr(9, &[1, 2, 3, 4]);
        let outer: Vec<_> = attributes(&request.finish(0, 0)[HEADER_LEN..]).collect();
        assert_eq!((outer[0].0, outer[1]), (18, (9, &[1u8, 2, 3, 4][..])));
        assert_eq!(attributes(outer[0].1).collect::<Vec<_>>(), [(3, &b"abcde"[..]), (4, &[])]);
    }

    fn message(kind: i32, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut request = Request::new("test", kind as u16, 0, payload);
        request.finish(sequence, 0).to_vec()
    }

    #[test]
    fn answers_end_with_an_error_number_or_a_message_that_says_so() {
        let mut answers = Vec::new();
        let refused = message(libc::NLMSG_ERROR, 7, &(-libc::EPERM).to_ne_bytes());
        assert_eq!(collect(&refused, 7, &mut answers), Some(libc::EPERM));
        assert_eq!(collect(&refused, 8, &mut answers), None);
        let dump = [message(16, 7, b"four"), message(libc::NLMSG_DONE, 7, &[0; 4])].concat();
        assert_eq!(collect(&dump, 7, &mut answers), Some(0));
        assert_eq!(answers, [Message { kind: 16, payload: b"four".to_vec() }]);
        assert_eq!(collect(&dump[..18], 7, &mut answers), Some(libc::EBADMSG));
        assert_eq!(collect(&[1], 7, &mut answers), Some(libc::EBADMSG));
    }

    proptest! {
        #[test]
        fn no_answer_panics(answer in proptest::collection::vec(any::<u8>(), 0..64)) {
            collect(&answer, 0, &mut Vec::new());
            tell(&answer, &mut Vec::new());
            attributes(&answer).count();
        }
    }
}
