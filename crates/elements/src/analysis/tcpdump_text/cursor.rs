//! The rest of a line that is being read.

/// A rest.
#[derive(Clone, Copy)]
pub struct Cursor<'l>(pub &'l str);

impl Cursor<'_> {
    /// Skips a prefix; whether it was there.
    pub fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Skips a word if a digit follows; whether it does.
    pub fn eat_word_before_digit(&mut self, word: &str) -> bool {
        let mut ahead = *self;
        let is_there = ahead.eat(word) && ahead.has_digit();
        if is_there {
            *self = ahead;
        }
        is_there
    }

    /// Skips what is in brackets, if it begins with `prefix` and a space follows: up to that.
    pub fn eat_bracket(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix).and_then(|rest| rest.split_once(']'));
        let rest = rest.map(|(_, rest)| rest).filter(|rest| rest.starts_with(' '));
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Skips characters.
    pub fn skip(&mut self, n: usize) {
        self.0 = self.0.char_indices().nth(n).and_then(|(at, _)| self.0.get(at..)).unwrap_or("");
    }

    /// Skips all of these characters.
    pub fn skip_all(&mut self, characters: &[char]) {
        self.0 = self.0.trim_start_matches(characters);
    }

    /// Whether a digit comes.
    pub fn has_digit(&self) -> bool {
        self.0.starts_with(|next: char| next.is_ascii_digit())
    }

    /// Reads a number, saturated.
    pub fn number(&mut self) -> Option<u32> {
        let (value, rest) = args::integer_prefix(self.0)?;
        self.0 = rest;
        Some(u32::try_from(value).unwrap_or(u32::MAX))
    }

    /// Reads a number in hexadecimal digits, saturated.
    pub fn hexadecimal(&mut self) -> u32 {
        let end = self.0.find(|next: char| !next.is_ascii_hexdigit()).unwrap_or(self.0.len());
        let (digits, rest) = self.0.split_at(end);
        self.0 = rest;
        digits.chars().filter_map(|digit| digit.to_digit(16)).fold(0u32, |value, digit| {
            if value >> 28 == 0 {
                value << 4 | digit
            } else {
                u32::MAX
            }
        })
    }
}
