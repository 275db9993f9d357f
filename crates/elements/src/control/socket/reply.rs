//! Replies: message lines with a code, and data.

use std::io::Write;

use element::spoken;

/// What a reply says of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Ok = 200,
    OkWithWarnings = 220,
    Syntax = 500,
    Unimplemented = 501,
    NoSuchElement = 510,
    NoSuchHandler = 511,
    HandlerError = 520,
    DataTooBig = 521,
    LlrpcError = 522,
    Permission = 530,
    NoRouter = 540,
    Unspecified = 590,
}

/// The reply to a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    text: Vec<u8>,
}

impl Reply {
    /// One line.
    pub fn line(code: Code, message: &str) -> Reply {
        let mut reply = Reply::default();
        reply.add(code, message, false);
        reply
    }

    /// One line that says another will follow, though none does: Click answers one mistake like this.
    pub fn unfinished(code: Code, message: &str) -> Reply {
        let mut reply = Reply::default();
        reply.add(code, message, true);
        reply
    }

    /// A line for each message.
    pub fn lines(code: Code, messages: &[&str]) -> Reply {
        let mut reply = Reply::default();
        for (idx, message) in messages.iter().enumerate() {
            reply.add(code, message, idx + 1 < messages.len());
        }
        reply
    }

    /// A line, and below it what a handler told.
    pub fn with_messages(code: Code, message: &str, told: &[String]) -> Reply {
        let told: Vec<_> = told.iter().map(|text| spoken(text)).collect();
        let told = told.iter().flat_map(|text| text.lines());
        let heading = format!("{message}:");
        let all: Vec<&str> = std::iter::once(heading.as_str()).chain(told).collect();
        if all.len() == 1 {
            return Reply::line(code, message);
        }
        Reply::lines(code, &all)
    }

    /// A line, and data.
    pub fn data(message: &str, data: &[u8]) -> Reply {
        let mut reply = Reply::line(Code::Ok, message);
        // Writing to a Vec cannot fail.
        let _ = write!(reply.text, "DATA {}\r\n", data.len());
        reply.text.extend_from_slice(data);
        reply
    }

    /// A reply after another.
    pub fn then(mut self, other: Reply) -> Reply {
        self.text.extend(other.text);
        self
    }

    /// The bytes to send.
    pub fn as_bytes(&self) -> &[u8] {
        &self.text
    }

    fn add(&mut self, code: Code, message: &str, is_followed: bool) {
        let dash = if is_followed { '-' } else { ' ' };
        let _ = write!(self.text, "{}{dash}{}\r\n", code as u32, printable(message));
    }
}

/// A text in which every byte can be seen: `^A` is a control character, `\200` a byte beyond ASCII.
pub fn printable(text: &str) -> String {
    let show = |byte: u8| match byte {
        32..127 => char::from(byte).to_string(),
        0..32 => format!("^{}", char::from(byte + 64)),
        _ => format!("\\{byte:03o}"),
    };
    text.bytes().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(reply: &Reply) -> String {
        String::from_utf8_lossy(reply.as_bytes()).replace("\r\n", "|")
    }

    #[test]
    fn replies_end_with_a_line_without_a_dash() {
        assert_eq!(shown(&Reply::lines(Code::Ok, &["a", "b"])), "200-a|200 b|");
        let told = ["x\n{a}y".to_string()];
        assert_eq!(shown(&Reply::with_messages(Code::HandlerError, "e", &told)), "520-e:|520-x|520 y|");
        assert_eq!(shown(&Reply::with_messages(Code::HandlerError, "e", &[])), "520 e|");
        assert_eq!(shown(&Reply::data("ok", "é\n".as_bytes())), "200 ok|DATA 3|é\n");
        assert_eq!(shown(&Reply::line(Code::Syntax, "a\tb")), "500 a^Ib|");
    }
}
