//! Reads `content` with its modifiers, and `pcre`.

use memchr::memmem::Finder;
use regex::bytes::RegexBuilder;

use super::payload::{Content, Part, Pattern, PayloadKind, PayloadTest};
use super::text::Mistake;

/// Bytes that compiled patterns may take each.
const MAX_PATTERN_MEMORY: usize = 4 << 20;
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

    /// `pcre`: quoted, between slashes, flags behind.
    pub fn pattern(text: &str, part: Part) -> Result<Draft, Mistake> {
        let (is_negated, text) = negation(text);
        let text = unquote(text)?;
        let wrong = || Mistake::new("the pattern is not between slashes", "write `pcre:\"/PATTERN/flags\"`");
        let text = text.strip_prefix('m').filter(|rest| !rest.starts_with('/')).unwrap_or(text);
        let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation()).ok_or_else(wrong)?;
        let rest = text.get(1..).unwrap_or_default();
        let (pattern, flags) = rest.rsplit_once(delimiter).ok_or_else(wrong)?;
        let mut builder_flags = PatternFlags::default();
        flags.chars().try_for_each(|flag| builder_flags.set(flag))?;
        let translated = translate(pattern);
        let anchor = if builder_flags.is_anchored { "\\A" } else { "" };
        let regex = RegexBuilder::new(&format!("{anchor}(?:{translated})"))
            .unicode(false)
            .case_insensitive(builder_flags.ignores_case)
            .dot_matches_new_line(builder_flags.dot_is_all)
            .multi_line(builder_flags.is_multi_line)
            .ignore_whitespace(builder_flags.ignores_space)
            .swap_greed(builder_flags.is_ungreedy)
            .size_limit(MAX_PATTERN_MEMORY)
            .dfa_size_limit(MAX_PATTERN_MEMORY)
            .build()
            .map_err(|error| refusal(pattern, &error))?;
        let begins = translated.starts_with('^') && !builder_flags.is_multi_line;
        let is_anchored = builder_flags.is_anchored || begins;
        let kind =
            PayloadKind::Pattern(Pattern { regex, is_anchored: is_anchored && !builder_flags.is_relative });
        Ok(Draft::Test(PayloadTest {
            kind,
            part: builder_flags.part.unwrap_or(part),
            is_negated,
            is_relative: builder_flags.is_relative,
            wants_all: false,
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
        let kind = PayloadKind::Content(content);
        Ok(PayloadTest { kind, part: self.part, is_negated: self.is_negated, is_relative, wants_all: false })
    }
}

/// A leading `!` and the rest.
fn negation(text: &str) -> (bool, &str) {
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

/// Flags of patterns that name a part of HTTP.
const FLAGS: &[(&str, Part)] = &[
    ("UI", Part::Uri),
    ("PQ", Part::Body),
    ("HD", Part::Header),
    ("M", Part::Method),
    ("CK", Part::Cookie),
    ("S", Part::StatusCode),
    ("Y", Part::StatusMessage),
    ("V", Part::Field("user-agent")),
    ("W", Part::Field("host")),
];

/// Options that name a part: Snort's, behind a content, and after `.` Suricata's, before it.
const PARTS: &[(&str, Part)] = &[
    ("http_uri", Part::Uri),
    ("http_raw_uri", Part::Uri),
    ("http_method", Part::Method),
    ("http_header", Part::Header),
    ("http_raw_header", Part::Header),
    ("http_cookie", Part::Cookie),
    ("http_raw_cookie", Part::Cookie),
    ("http_client_body", Part::Body),
    ("http_server_body", Part::Body),
    ("http_stat_code", Part::StatusCode),
    ("http_stat_msg", Part::StatusMessage),
    ("http_user_agent", Part::Field("user-agent")),
    ("http_host", Part::Field("host")),
    ("http_raw_host", Part::Field("host")),
    ("http_content_type", Part::Field("content-type")),
    ("http_referer", Part::Field("referer")),
    ("http_accept", Part::Field("accept")),
    ("http_connection", Part::Field("connection")),
    ("http_request_line", Part::FirstLine),
    ("http.uri", Part::Uri),
    ("http.uri.raw", Part::Uri),
    ("http.method", Part::Method),
    ("http.header", Part::Header),
    ("http.header.raw", Part::Header),
    ("http.cookie", Part::Cookie),
    ("http.request_body", Part::Body),
    ("http.response_body", Part::Body),
    ("http.stat_code", Part::StatusCode),
    ("http.stat_msg", Part::StatusMessage),
    ("http.user_agent", Part::Field("user-agent")),
    ("http.host", Part::Field("host")),
    ("http.host.raw", Part::Field("host")),
    ("http.content_type", Part::Field("content-type")),
    ("http.content_len", Part::Field("content-length")),
    ("http.referer", Part::Field("referer")),
    ("http.accept", Part::Field("accept")),
    ("http.accept_lang", Part::Field("accept-language")),
    ("http.accept_enc", Part::Field("accept-encoding")),
    ("http.connection", Part::Field("connection")),
    ("http.location", Part::Field("location")),
    ("http.server", Part::Field("server")),
    ("http.request_line", Part::FirstLine),
    ("http.response_line", Part::FirstLine),
    ("file_data", Part::Body),
    ("file.data", Part::Body),
    ("pkt_data", Part::All),
];

/// The part that an option names, and whether it is about the content before it rather than those behind.
pub fn part(name: &str) -> Option<(Part, bool)> {
    let (_, part) = PARTS.iter().find(|(known, _)| *known == name)?;
    Some((*part, name.starts_with("http_")))
}

#[derive(Default)]
struct PatternFlags {
    ignores_case: bool,
    dot_is_all: bool,
    is_multi_line: bool,
    ignores_space: bool,
    is_ungreedy: bool,
    is_anchored: bool,
    is_relative: bool,
    part: Option<Part>,
}

impl PatternFlags {
    fn set(&mut self, flag: char) -> Result<(), Mistake> {
        match flag {
            'i' => self.ignores_case = true,
            's' => self.dot_is_all = true,
            'm' => self.is_multi_line = true,
            'x' => self.ignores_space = true,
            'G' => self.is_ungreedy = true,
            'A' => self.is_anchored = true,
            'R' => self.is_relative = true,
            // `$` matches at the very end only, there are no limits to override, and bytes are raw.
            'E' | 'O' | 'B' => {}
            flag => match FLAGS.iter().find(|(letters, _)| letters.contains(flag)) {
                Some((_, part)) => self.part = Some(*part),
                None => {
                    let message = format!("`{flag}` is no flag of a pattern");
                    return Err(Mistake::new(
                        message,
                        "the flags are imsxGAEROB, and UIPHDMCKSYVWQ for parts of HTTP",
                    ));
                }
            },
        }
        Ok(())
    }
}

fn refusal(pattern: &str, error: &regex::Error) -> Mistake {
    let reason = error.to_string();
    if reason.contains("look-around") || reason.contains("backreferences") {
        let what = if reason.contains("look-around") { "look-around" } else { "backreferences" };
        let message = format!("the pattern `{pattern}` has {what}, which cannot be searched in bounded time");
        return Mistake::new(message, "write it without, or as several contents");
    }
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return Mistake::new(
            format!("the pattern `{pattern}` is too large"),
            "repeat less, or a smaller class",
        );
    }
    let reason = reason.lines().last().unwrap_or("").trim_start_matches("error: ").to_string();
    Mistake::new(format!("the pattern `{pattern}` is wrong: {reason}"), "correct the pattern")
}

/// A PCRE pattern as the `regex` crate takes it: that has sets of classes, and `\<` for the beginning of a word.
fn translate(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    let (mut in_class, mut class_is_new) = (false, false);
    while let Some(c) = chars.next() {
        let was_new = std::mem::replace(&mut class_is_new, false);
        match c {
            '\\' => match chars.next() {
                Some(c @ ('<' | '>')) => text.push(c),
                Some('e') => text.push_str("\\x1b"),
                Some('h') => text.push_str("[ \\t]"),
                Some('Z') => text.push_str("(?:\\n?\\z)"),
                Some(c) if c.is_ascii_punctuation() || c.is_ascii_alphanumeric() => text.extend(['\\', c]),
                Some(c) => text.push(c),
                None => text.push('\\'),
            },
            '[' if !in_class => {
                text.push(c);
                (in_class, class_is_new) = (true, true);
            }
            '^' if in_class && was_new => {
                text.push(c);
                class_is_new = true;
            }
            // First in a class it stands for itself.
            ']' if in_class && was_new => text.push_str("\\]"),
            ']' => {
                text.push(c);
                in_class = false;
            }
            // An atomic group only says where not to try again.
            '(' if !in_class && chars.clone().take(2).eq("?>".chars()) => {
                text.push_str("(?:");
                chars.nth(1);
            }
            '[' if chars.peek() != Some(&':') => text.push_str("\\["),
            '[' => {
                text.push(c);
                for c in chars.by_ref() {
                    text.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '&' | '~' if in_class => text.extend(['\\', c]),
            '-' if in_class && chars.peek() == Some(&'-') => text.push_str("\\-"),
            '{' if !in_class && !is_repetition(chars.clone()) => text.push_str("\\{"),
            c => text.push(c),
        }
    }
    text
}

/// Whether what follows `{` is `N}`, `N,}` or `N,M}`.
fn is_repetition(chars: std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let inside: String = chars.take(12).take_while(|c| *c != '}').collect();
    let (least, most) = inside.split_once(',').unwrap_or((&inside, ""));
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    !least.is_empty() && is_number(least) && is_number(most)
}
