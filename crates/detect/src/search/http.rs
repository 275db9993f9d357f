//! The parts of a message of HTTP/1 (RFC 9112), as it travels: nothing is decoded.

use std::ops::Range;

use memchr::memmem;

use crate::rules::payload::Part;

/// Bytes in which the end of the header is looked for.
const MAX_HEADER: usize = 8192;

/// Where a message's parts are.
#[derive(Clone, Debug)]
pub struct Message {
    is_request: bool,
    /// The three words of the first line.
    words: [Range<usize>; 3],
    line: Range<usize>,
    header: Range<usize>,
    /// `None` if the header is not over yet.
    body: Option<Range<usize>>,
}

impl Message {
    /// The message that begins at `origin`; `None` if it is none.
    pub fn of(buf: &[u8], origin: usize) -> Option<Message> {
        let bytes = buf.get(origin..buf.len().min(origin + MAX_HEADER))?;
        let line_end = memmem::find(bytes, b"\n").unwrap_or(bytes.len());
        let line = bytes.get(..line_end)?.trim_ascii_end();
        let first = memchr::memchr(b' ', line).filter(|at| *at > 0)?;
        let rest = line.get(first + 1..)?;
        let is_request = !line.starts_with(b"HTTP/");
        // In a request the version comes last; in a response the reason, which may have spaces.
        let second = match is_request {
            true => memmem::rfind(rest, b" HTTP/").filter(|_| is_token(line.get(..first)))?,
            false => memchr::memchr(b' ', rest).unwrap_or(rest.len()),
        };
        let third = (first + 1 + second + 1).min(line.len());
        let at = |from: usize, to: usize| origin + from..origin + to;
        let header_begin = (line_end + 1).min(bytes.len());
        let end = memmem::find(bytes.get(header_begin.saturating_sub(2)..)?, b"\r\n\r\n");
        let header_end = end.map(|at| (header_begin.saturating_sub(2) + at + 2).max(header_begin));
        Some(Message {
            is_request,
            words: [at(0, first), at(first + 1, first + 1 + second), at(third, line.len())],
            line: at(0, line.len()),
            header: at(header_begin, header_end.unwrap_or(bytes.len())),
            body: header_end.map(|end| origin + end + 2..buf.len()),
        })
    }

    /// Where a part is, if it is there.
    pub fn part(&self, buf: &[u8], part: Part) -> Option<Range<usize>> {
        let [first, second, third] = self.words.clone();
        let word = |is_there: bool, range| is_there.then_some(range);
        match part {
            Part::All => None,
            Part::Method => word(self.is_request, first),
            Part::Uri => word(self.is_request, second),
            Part::StatusCode => word(!self.is_request, second),
            Part::StatusMessage => word(!self.is_request, third),
            Part::FirstLine => Some(self.line.clone()),
            Part::Header => Some(self.header.clone()),
            Part::Body => self.body.clone(),
            Part::Cookie if self.is_request => self.field(buf, "cookie"),
            Part::Cookie => self.field(buf, "set-cookie"),
            Part::Field(name) => self.field(buf, name),
        }
    }

    /// The value of the first header field with this name.
    fn field(&self, buf: &[u8], name: &str) -> Option<Range<usize>> {
        let mut at = self.header.start;
        for line in buf.get(self.header.clone())?.split_inclusive(|byte| *byte == b'\n') {
            let begin = at;
            at += line.len();
            let Some(value) =
                line.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            else {
                continue;
            };
            let Some(rest) = line.get(value.len()..).and_then(|rest| rest.strip_prefix(b":")) else {
                continue;
            };
            let n_spaces = rest.len() - rest.trim_ascii_start().len();
            let from = begin + name.len() + 1 + n_spaces;
            return Some(from..from + rest.trim_ascii().len());
        }
        None
    }
}

fn is_token(word: Option<&[u8]>) -> bool {
    word.is_some_and(|word| word.iter().all(u8::is_ascii_alphanumeric))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_found() {
        let request = b"xxGET /a?b HTTP/1.1\r\nHost: one.test\r\nCookie:  a=b \r\n\r\nbody";
        let message = Message::of(request, 2).expect("HTTP");
        let part = |part| {
            message.part(request, part).map(|range| String::from_utf8_lossy(&request[range]).into_owned())
        };
        assert_eq!(part(Part::Method).as_deref(), Some("GET"));
        assert_eq!(part(Part::Uri).as_deref(), Some("/a?b"));
        assert_eq!(part(Part::Header).as_deref(), Some("Host: one.test\r\nCookie:  a=b \r\n"));
        assert_eq!(part(Part::Cookie).as_deref(), Some("a=b"));
        assert_eq!(part(Part::Field("host")).as_deref(), Some("one.test"));
        assert_eq!(part(Part::Body).as_deref(), Some("body"));
        assert_eq!(part(Part::StatusCode), None);
        let response = b"HTTP/1.1 404 Not Found\r\n\r\n";
        let message = Message::of(response, 0).expect("HTTP");
        let part = |part| {
            message.part(response, part).map(|range| String::from_utf8_lossy(&response[range]).into_owned())
        };
        assert_eq!(part(Part::StatusCode).as_deref(), Some("404"));
        assert_eq!(part(Part::StatusMessage).as_deref(), Some("Not Found"));
        assert_eq!(part(Part::Header).as_deref(), Some(""));
    }

    proptest! {
        #[test]
        fn any_bytes_have_parts_inside_or_none(text in "(GET|HTTP/1.1|) ?[ a/\r\n:-]{0,10}( HTTP/1.1)?(\r\n|\n|)[\r\na: ]{0,20}", origin in 0usize..40) {
            let buf = text.as_bytes();
            if let Some(message) = Message::of(buf, origin) {
                for part in [Part::Method, Part::Uri, Part::Header, Part::Body, Part::Cookie, Part::Field("a"), Part::FirstLine, Part::StatusMessage] {
                    if let Some(range) = message.part(buf, part) {
                        prop_assert!(buf.get(range.clone()).is_some(), "{part:?} {range:?} of {text:?}");
                    }
                }
            }
        }
    }
}
