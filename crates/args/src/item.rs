//! One argument of a configuration, and whether it is taken.

use crate::split::{is_space, trim_start};

/// One argument as written.
pub(crate) struct Item {
    pub text: String,
    pub state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Free, and without a keyword.
    Plain,
    /// Free, and starting with a word of this length that may be a keyword.
    Keyword(usize),
    /// Taken by its position.
    TakenByPosition,
    /// Taken by its keyword.
    TakenByKeyword,
}

impl Item {
    /// A free argument.
    pub fn new(text: String) -> Item {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'.' | b'?' | b'!');
        let starts = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
        let len = if starts { text.bytes().take_while(|&b| is_word(b)).count() } else { 0 };
        let has_value = text.as_bytes().get(len).is_some_and(|&b| is_space(b))
            && text.bytes().skip(len).any(|b| !is_space(b));
        let state = if len > 0 && has_value { State::Keyword(len) } else { State::Plain };
        Item { text, state }
    }

    /// What follows the keyword, if the argument is free and has this keyword.
    pub fn value_of(&self, name: &str) -> Option<&str> {
        match self.state {
            State::Keyword(len) if self.text.get(..len) == Some(name) => self.text.get(len..).map(trim_start),
            _ => None,
        }
    }
}

impl State {
    /// Whether nothing took the argument.
    pub fn is_free(self) -> bool {
        matches!(self, State::Plain | State::Keyword(_))
    }
}
