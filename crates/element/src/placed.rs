//! Notes in front of messages, as Click writes them: `{l:FILE:LINE}` is a place of the message's own, such as an input file,
//! under whose name it is told instead of the element's. Other notes, `{NAME}` and `<LEVEL>`, are dropped.

use std::borrow::Cow;

/// The note of a message about a file with whose name the element is declared.
const DECLARED: &str = "{declared}";

/// A message without its notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The place's name, if it has one.
    pub place: Option<String>,
    /// Whether the element is declared with the name, as `FromDump(FILE)`.
    pub is_declared: bool,
    /// The message.
    pub message: &'a str,
}

/// A message about a place, for [`crate::Element::initialize`] to tell or to fail with.
pub fn at_place(place: &str, message: &str) -> String {
    let mut text = String::from("{l:");
    for c in place.chars() {
        match c {
            '\\' | '}' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
    text + "}" + message
}

/// A message about a file with whose name the element is declared from now on.
pub fn at_declared_file(name: &str, message: &str) -> String {
    format!("{DECLARED}{}", at_place(name, message))
}

impl<'a> Placed<'a> {
    /// Takes the notes off a message.
    pub fn new(text: &'a str) -> Placed<'a> {
        let mut placed = Placed { place: None, is_declared: text.starts_with(DECLARED), message: text };
        while let Some((note, rest)) = note(placed.message) {
            if let Some(place) = note.strip_prefix("{l:") {
                placed.place = Some(unescaped(place.strip_suffix('}').unwrap_or(place)));
            }
            placed.message = rest;
        }
        placed.place = placed.place.take().filter(|place| !clean(place).is_empty());
        placed
    }

    /// The place as it stands in front of a line, if there is one.
    fn prefix(&self) -> String {
        self.place.as_deref().map(|place| format!("{}: ", clean(place))).unwrap_or_default()
    }
}

/// The notes of a message, and what follows them.
pub fn split_notes(text: &str) -> (&str, &str) {
    let message = Placed::new(text).message;
    text.split_at(text.len() - message.len())
}

/// What is printed of a text, a line or several: places in front of the lines that have one, no other notes.
pub fn spoken(text: &str) -> Cow<'_, str> {
    let begins_with_note = |line: &str| line.starts_with(['{', '<']);
    if !begins_with_note(text) && !text.contains("\n{") && !text.contains("\n<") {
        return Cow::Borrowed(text);
    }
    let lines = text.split('\n').map(|line| {
        let placed = Placed::new(line);
        placed.prefix() + placed.message
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// A place without the colon and blanks at its end.
fn clean(place: &str) -> &str {
    let place = place.trim_ascii_end();
    place.strip_suffix(':').unwrap_or(place)
}

fn unescaped(place: &str) -> String {
    let mut text = String::new();
    let mut chars = place.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some(c) => text.push(c),
                None => text.push('\\'),
            },
            c => text.push(c),
        }
    }
    text
}

/// The note that a text begins with, braces and all, and what follows it.
fn note(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let end = match bytes {
        [b'<', ..] => {
            let begin = 1 + usize::from(matches!(bytes.get(1), Some(b'-' | b'+')));
            let n_whole = digits(begin);
            let mut end = begin + n_whole;
            if bytes.get(end) == Some(&b'.') {
                let n_parts = digits(end + 1);
                end += 1 + n_parts;
                if n_whole + n_parts == 0 {
                    return None;
                }
            } else if n_whole == 0 {
                return None;
            }
            end
        }
        [b'{', b'}', ..] => 1,
        [b'{', rest @ ..] => {
            let len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
            match bytes.get(1 + len) {
                Some(b'}') if len > 0 => 1 + len,
                Some(b':') if len > 0 => end_of_value(bytes, 2 + len)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    let closes = matches!(bytes.get(end), Some(b'>' | b'}'));
    let is_closed = closes && (bytes.first() == Some(&b'<')) == (bytes.get(end) == Some(&b'>'));
    if is_closed {
        text.split_at_checked(end + 1)
    } else {
        None
    }
}

/// Where the brace is that ends a value, if it is on the same line.
fn end_of_value(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin;
    loop {
        match bytes.get(at)? {
            b'}' => return Some(at),
            b'\n' => return None,
            b'\\' if bytes.get(at + 1).is_some_and(|next| *next != b'\n') => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_can_be_taken_apart() {
        for place in ["a: b:1", "a}\\n\nb"] {
            let placed =
                |is_declared| Placed { place: Some(place.into()), is_declared, message: "empty file" };
            assert_eq!(Placed::new(&at_place(place, "empty file")), placed(false));
            assert_eq!(Placed::new(&at_declared_file(place, "empty file")), placed(true));
        }
        let plain = "a: b:1: empty file";
        assert_eq!(Placed::new(plain), Placed { place: None, is_declared: false, message: plain });
    }

    #[test]
    fn lines_are_spoken_with_their_places_and_without_other_notes() {
        let cases = [
            ("{l:foo:3}x", "foo:3: x"),
            ("{l:foo: }x\n<3>{a}{l:b} y\n", "foo: x\nb:  y\n"),
            ("{a} b {c}", " b {c}"),
            ("<-3>q", "q"),
            ("<1.5>{}{a:b\\}c}q", "q"),
            ("{l:}q", "q"),
        ];
        for (text, expected) in cases {
            assert_eq!(spoken(text), expected, "{text}");
        }
        for text in
            ["12:30: x", "{a", "{a b}", "{\"a\":1}", "<>", "<.>x", "<3x>", "{a:b\n}", "a {b}", "{é}", ""]
        {
            assert_eq!(spoken(text), text);
        }
    }
}
