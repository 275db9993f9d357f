//! Tests of the payload.

use memchr::memmem::Finder;
use regex::bytes::Regex;

use super::header::Range;

/// A test of the payload. It may be relative to the end of what the test before it found.
#[derive(Clone, Debug)]
pub struct PayloadTest {
    /// What is tested.
    pub kind: PayloadKind,
    /// In which part of the payload.
    pub part: Part,
    /// Whether it must not be so.
    pub is_negated: bool,
    /// Whether it counts from the end of what was found before, instead of from the beginning.
    pub is_relative: bool,
    /// Whether all places where it is found matter, because of tests relative to it.
    pub wants_all: bool,
}

/// A part of the payload: all, or one of HTTP's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Part {
    /// All.
    #[default]
    All,
    /// A request's method.
    Method,
    /// A request's target.
    Uri,
    /// A response's status.
    StatusCode,
    /// A response's reason.
    StatusMessage,
    /// The first line.
    FirstLine,
    /// All header fields.
    Header,
    /// The field with this name, in lower case.
    Field(&'static str),
    /// Cookies.
    Cookie,
    /// The body.
    Body,
}

/// What is tested.
#[derive(Clone, Debug)]
pub enum PayloadKind {
    /// `content`.
    Content(Box<Content>),
    /// `pcre`.
    Pattern(Pattern),
    /// `isdataat`: whether there are more than so many bytes.
    HasMore(u32),
    /// `byte_test`.
    Number(NumberTest),
    /// `byte_jump`.
    Jump(Jump),
    /// `urilen` and `bsize`: how many bytes the part has.
    Len(Range),
}

/// `content` with what modifies it.
#[derive(Clone, Debug)]
pub struct Content {
    /// What is searched; in lower case if case does not matter.
    pub bytes: Box<[u8]>,
    /// Searches it.
    pub finder: Finder<'static>,
    /// `nocase`.
    pub ignores_case: bool,
    /// `offset` or `distance`: where it may begin.
    pub offset: i32,
    /// `depth` or `within`: within how many bytes from there it must end.
    pub depth: Option<u32>,
    /// `endswith`.
    pub is_last: bool,
    /// Whether it was written with `offset`, `depth` or `startswith`, and so counts from the beginning.
    pub is_anchored: bool,
    /// `fast_pattern`.
    pub is_fast: bool,
}

/// `pcre`.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The pattern.
    pub regex: Regex,
    /// Whether it begins where the payload does.
    pub is_anchored: bool,
}

/// Where a number stands, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Number of bytes.
    pub n_bytes: u32,
    /// Where it begins.
    pub offset: i32,
    /// How it is written.
    pub format: Format,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The most significant byte first.
    BigEndian,
    /// The least significant byte first.
    LittleEndian,
    /// In digits to this base; 0 tells by a prefix.
    Digits(u32),
}

/// How numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Equal.
    Equal,
    /// Less.
    Less,
    /// Greater.
    Greater,
    /// Less or equal.
    LessOrEqual,
    /// Greater or equal.
    GreaterOrEqual,
    /// A bit in common.
    And,
    /// Not the same bits.
    Xor,
}

/// `byte_test`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberTest {
    /// The number in the payload.
    pub field: Field,
    /// How it is compared.
    pub compare: Compare,
    /// With what.
    pub value: u64,
}

/// `byte_jump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jump {
    /// The number in the payload.
    pub field: Field,
    /// What it is multiplied by.
    pub multiplier: u32,
    /// The next multiple of four is taken.
    pub is_aligned: bool,
    /// Counted from the beginning instead of from behind the number.
    pub from_beginning: bool,
    /// Added at last.
    pub post_offset: i32,
}

impl Field {
    /// The number, if it is there; counted from `at`. With it comes where it ends.
    pub fn read(&self, payload: &[u8], at: usize) -> Option<(u64, usize)> {
        let begin = at.checked_add_signed(self.offset as isize)?;
        let end = begin.checked_add(self.n_bytes as usize)?;
        let bytes = payload.get(begin..end)?;
        let value = match self.format {
            Format::BigEndian => bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            Format::LittleEndian => bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)),
            Format::Digits(base) => digits(bytes, base)?,
        };
        Some((value, end))
    }
}

fn digits(bytes: &[u8], base: u32) -> Option<u64> {
    let n_text = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or(bytes.len());
    let text = std::str::from_utf8(bytes.get(..n_text)?).ok()?.trim();
    let (text, base) = match (base, text) {
        (0 | 16, text) if text.starts_with("0x") => (text.get(2..)?, 16),
        (0, text) if text.len() > 1 && text.starts_with('0') => (text, 8),
        (0, text) => (text, 10),
        (base, text) => (text, base),
    };
    let end = text.find(|c: char| !c.is_digit(base)).unwrap_or(text.len());
    u64::from_str_radix(text.get(..end)?, base).ok()
}

impl NumberTest {
    /// Whether the number in the payload passes; `None` if there is none.
    pub fn passes(&self, payload: &[u8], at: usize) -> Option<bool> {
        let (found, _) = self.field.read(payload, at)?;
        Some(match self.compare {
            Compare::Equal => found == self.value,
            Compare::Less => found < self.value,
            Compare::Greater => found > self.value,
            Compare::LessOrEqual => found <= self.value,
            Compare::GreaterOrEqual => found >= self.value,
            Compare::And => found & self.value != 0,
            Compare::Xor => found ^ self.value != 0,
        })
    }
}

impl Jump {
    /// Where it leads, within the payload.
    pub fn target(&self, payload: &[u8], at: usize, beginning: usize) -> Option<usize> {
        let (value, end) = self.field.read(payload, at)?;
        let mut value = value.checked_mul(u64::from(self.multiplier))?;
        if self.is_aligned {
            value = value.checked_next_multiple_of(4)?;
        }
        let from = if self.from_beginning { beginning } else { end };
        let target = from.checked_add(usize::try_from(value).ok()?)?;
        target.checked_add_signed(self.post_offset as isize).filter(|target| *target <= payload.len())
    }
}
