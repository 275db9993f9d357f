//! Reads `content` with its modifiers.

use memchr::memmem::Finder;

use super::payload::{Content, Part, PayloadKind, PayloadTest};
use super::text::Mistake;

/// Offsets and the like, as in Snort.
const MAX_OFFSET: i32 = 65_535;

/// A test of the payload that later options may still modify.
pub enum Draft {
    /// `content`.
    Content(ContentDraft),
    /// Anything else.
    Test(PayloadTest),
}

/// `content` as far as it is known.
pub struct ContentDraft {
    part: Part,
    bytes: Vec<u8>,
    is_negated: bool,
    ignores_case: bool,
    is_fast: bool,
    is_first: bool,
    is_last: bool,
    offset: Option<i32>,
    depth: Option<u32>,
    distance: Option<i32>,
    within: Option<u32>,
}

/// Whether an option modifies the content before it.
pub fn is_modifier(name: &str) -> bool {
    matches!(
        name,
        "nocase" | "fast_pattern" | "startswith" | "endswith" | "offset" | "depth" | "distance" | "within"
    )
}

impl Draft {
    /// `content`: quoted, maybe negated.
    pub fn content(text: &str, part: Part) -> Result<Draft, Mistake> {
        let (is_negated, text) = negation(text);
        let bytes = bytes(unquote(text)?)?;
        if bytes.is_empty() {
            return Err(Mistake::new("the content is empty", "write what is searched"));
        }
        Ok(Draft::Content(ContentDraft {
            part,
            bytes,
            is_negated,
            ignores_case: false,
            is_fast: false,
            is_first: false,
            is_last: false,
            offset: None,
            depth: None,
            distance: None,
            within: None,
        }))
    }

    /// Says in which part it is searched.
    pub fn set_part(&mut self, part: Part) {
        match self {
            Draft::Content(content) => content.part = part,
            Draft::Test(test) => test.part = part,
        }
    }
}

/// The finished tests of a rule.
pub fn finish(drafts: Vec<Draft>) -> Result<Vec<PayloadTest>, Mistake> {
    let mut tests = Vec::new();
    for draft in drafts {
        tests.push(match draft {
            Draft::Content(content) => content.finish()?,
            Draft::Test(test) => test,
        });
    }
    let mut is_wanted = false;
    for test in tests.iter_mut().rev() {
        test.wants_all = is_wanted;
        let moves = test.moves() && !test.is_negated;
        // What may be anywhere behind is behind the first place if it is behind any.
        let takes_any = matches!(&test.kind, PayloadKind::Content(content) if content.depth.is_none());
        is_wanted = if moves { test.is_relative && !takes_any } else { is_wanted || test.is_relative };
    }
    Ok(tests)
}

impl PayloadTest {
    /// Whether what comes after may be relative to it.
    fn moves(&self) -> bool {
        matches!(self.kind, PayloadKind::Content(_) | PayloadKind::Pattern(_) | PayloadKind::Jump(_))
    }
}

impl ContentDraft {
    /// Applies a modifier.
    pub fn modify(&mut self, name: &str, value: &str) -> Result<(), Mistake> {
        let number = || {
            let wrong = || {
                let message = format!("`{name}` needs a number, not `{value}`");
                Mistake::new(message, "write a number from -65535 to 65535")
            };
            let number: i32 = value.trim().parse().map_err(|_| wrong())?;
            (-MAX_OFFSET..=MAX_OFFSET).contains(&number).then_some(number).ok_or_else(wrong)
        };
        let size = || {
            let size = u32::try_from(number()?).unwrap_or(0);
            let message = format!("`{name}` leaves no room for {} bytes", self.bytes.len());
            let fits = size as usize >= self.bytes.len();
            fits.then_some(size).ok_or_else(|| Mistake::new(message, "give the content's length at least"))
        };
        match name {
            "nocase" => self.ignores_case = true,
            "fast_pattern" if self.is_negated => {
                let help = "let a content that must be there be the fast pattern";
                return Err(Mistake::new("a content that must not be there is no fast pattern", help));
            }
            "fast_pattern" => self.is_fast = true,
            "startswith" => self.is_first = true,
            "endswith" => self.is_last = true,
            "offset" => self.offset = Some(number()?),
            "depth" => self.depth = Some(size()?),
            "distance" => self.distance = Some(number()?),
            _ => self.within = Some(size()?),
        }
        Ok(())
    }

    fn finish(self) -> Result<PayloadTest, Mistake> {
        let is_relative = self.distance.is_some() || self.within.is_some();
        let is_absolute = self.offset.is_some() || self.depth.is_some() || self.is_first;
        if is_relative && is_absolute {
            let message = "a content counts from the beginning and from the content before it";
            return Err(Mistake::new(message, "use offset and depth, or distance and within"));
        }
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let depth = if self.is_first { Some(len) } else { self.depth.or(self.within) };
        let mut bytes = self.bytes;
        if self.ignores_case {
            bytes.make_ascii_lowercase();
        }
        let content = Content {
            finder: Finder::new(&bytes).into_owned(),
            bytes: bytes.into(),
            ignores_case: self.ignores_case,
            offset: self.offset.or(self.distance).unwrap_or(0),
            depth,
            is_last: self.is_last,
            is_anchored: is_absolute,
            is_fast: self.is_fast,
        };
        let kind = PayloadKind::Content(Box::new(content));
        Ok(PayloadTest { kind, part: self.part, is_negated: self.is_negated, is_relative, wants_all: false })
    }
}

/// A leading `!` and the rest.
pub fn negation(text: &str) -> (bool, &str) {
    let text = text.trim();
    text.strip_prefix('!').map_or((false, text), |rest| (true, rest.trim()))
}

/// What is between quotes.
pub fn unquote(text: &str) -> Result<&str, Mistake> {
    let text = text.trim();
    text.strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(|| Mistake::new(format!("`{text}` is not in quotes"), "put it between double quotes"))
}

/// Where the quoted text at the beginning ends.
pub fn end_of_quotes(text: &str) -> usize {
    let (mut is_inside, mut is_escaped) = (false, false);
    for (i, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' if is_inside => return i + 1,
            b'"' => is_inside = true,
            _ => {}
        }
    }
    text.len()
}

/// A text without the backslashes that escape.
pub fn unescape(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        plain.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    plain
}

/// The bytes that a content stands for: text, `|hex|` and `\` before `"`, `;`, `:`, `\` and `|`.
fn bytes(text: &str) -> Result<Vec<u8>, Mistake> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        match byte {
            b'|' => {
                let end = rest.iter().position(|byte| *byte == b'|').ok_or_else(|| {
                    Mistake::new("the bytes after `|` have no end", "close them with `|`, or write `|7C|`")
                })?;
                let (hex, after) = rest.split_at(end);
                rest = after.get(1..).unwrap_or_default();
                hex_bytes(hex, &mut bytes)?;
            }
            b'\\' => {
                let (escaped, after) = rest.split_first().ok_or_else(|| {
                    Mistake::new("a backslash escapes nothing", "write `\\\\` for a backslash")
                })?;
                bytes.push(*escaped);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    Ok(bytes)
}

fn hex_bytes(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), Mistake> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let value = |digit: u8| char::from(digit).to_digit(16);
    for pair in digits.chunks(2) {
        let (high, low) = (pair.first().copied().and_then(value), pair.get(1).copied().and_then(value));
        let (Some(high), Some(low)) = (high, low) else {
            let message = format!("`{}` are no bytes", String::from_utf8_lossy(text));
            return Err(Mistake::new(message, "write pairs of hexadecimal digits, as in `|0d 0a|`"));
        };
        bytes.push((high << 4 | low) as u8);
    }
    Ok(())
}
