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

/// Adds the messages in `bytes` to `answers`; the error number of the end if it is among them, 0 for success.
pub(super) fn collect(bytes: &[u8], sequence: u32, answers: &mut Vec<Message>) -> Option<i32> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let (Some(len), Some(kind)) = (u32_at(rest, 0), u16_at(rest, 4)) else { return Some(libc::EBADMSG) };
        let Some(payload) = rest.get(HEADER_LEN..len as usize) else { return Some(libc::EBADMSG) };
        // What answers an earlier request that was given up is passed over.
        if u32_at(rest, 8) == Some(sequence) {
            match i32::from(kind) {
                // Both carry a negative error number; a dump ends well without one on old kernels.
                libc::NLMSG_ERROR | libc::NLMSG_DONE => {
                    return Some(u32_at(payload, 0).map_or(0, |code| (code as i32).wrapping_neg()));
                }
                libc::NLMSG_NOOP => {}
                _ => answers.push(Message { kind, payload: payload.to_vec() }),
            }
        }
        rest = rest.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

/// Adds what the messages in `bytes` tell.
pub(super) fn tell(bytes: &[u8], news: &mut Vec<News>) {
    let mut rest = bytes;
    while let (Some(len), Some(kind), Some(flags), Some(by)) =
        (u32_at(rest, 0), u16_at(rest, 4), u16_at(rest, 6), u32_at(rest, 12))
    {
        let Some(payload) = rest.get(HEADER_LEN..len as usize) else { return };
        news.push(News {
            message: Message { kind, payload: payload.to_vec() },
            replaces: flags & libc::NLM_F_REPLACE as u16 != 0,
            was_asked_for: by != 0,
        });
        rest = rest.get((len as usize).next_multiple_of(4)..).unwrap_or_default();
    }
}

fn u16_at(bytes: &[u8], start: usize) -> Option<u16> {
    bytes.get(start..start + 2).and_then(|b| b.try_into().ok()).map(u16::from_ne_bytes)
}

fn u32_at(bytes: &[u8], start: usize) -> Option<u32> {
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
