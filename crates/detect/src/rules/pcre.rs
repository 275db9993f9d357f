//! Reads `pcre`.

use regex::bytes::RegexBuilder;

use super::patterns::{negation, unquote};
use super::payload::{Part, Pattern, PayloadKind, PayloadTest};
use super::text::Mistake;

/// Bytes that compiled patterns may take each.
const MAX_PATTERN_MEMORY: usize = 4 << 20;
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

/// `pcre`: quoted, between slashes, flags behind.
pub fn pattern(text: &str, part: Part) -> Result<PayloadTest, Mistake> {
    let (is_negated, text) = negation(text);
    let text = unquote(text)?;
    let wrong = || Mistake::new("the pattern is not between slashes", "write `pcre:\"/PATTERN/flags\"`");
    let text = text.strip_prefix('m').filter(|rest| !rest.starts_with('/')).unwrap_or(text);
    let delimiter = text.chars().next().filter(|c| c.is_ascii_punctuation()).ok_or_else(wrong)?;
    let rest = text.get(1..).unwrap_or_default();
    let (pattern, flags) = rest.rsplit_once(delimiter).ok_or_else(wrong)?;
    let mut builder_flags = PatternFlags::default();
    flags.chars().try_for_each(|flag| builder_flags.set(flag))?;
    let translated = translate(pattern, &builder_flags);
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
    Ok(PayloadTest {
        kind,
        part: builder_flags.part.unwrap_or(part),
        is_negated,
        is_relative: builder_flags.is_relative,
        wants_all: false,
    })
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
    ends_strictly: bool,
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
            'E' => self.ends_strictly = true,
            // There are no limits to override, and bytes are raw.
            'O' | 'B' => {}
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
fn translate(pattern: &str, flags: &PatternFlags) -> String {
    let mut text = String::with_capacity(pattern.len() + 8);
    let mut chars = pattern.chars().peekable();
    let (mut in_class, mut class_is_new) = (false, false);
    while let Some(c) = chars.next() {
        let was_new = std::mem::replace(&mut class_is_new, false);
        match c {
            '\\' => match chars.next() {
                Some(c @ ('<' | '>')) => text.push(c),
                Some('e') => text.push_str("\\x1b"),
                Some('h') => text.push_str("[\\x20\\t]"),
                Some(' ') => text.push_str("\\x20"),
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
            // Before a line end that is the last byte, too.
            '$' if !in_class && !flags.is_multi_line && !flags.ends_strictly => text.push_str("(?:\\n?\\z)"),
            ' ' if in_class => text.push_str("\\x20"),
            '#' if in_class => text.push_str("\\#"),
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
