//! Splitting configuration strings into arguments and words, minding quotes, comments and `\<hex>` strings.
//!
//! Text is cut at ASCII characters only, so pieces of valid UTF-8 stay valid UTF-8.

use std::borrow::Cow;

/// Splits a configuration string at its unquoted commas.
///
/// Every argument loses its comments and outer spaces. An empty last argument is ignored.
pub fn split_args(config: &str) -> Vec<String> {
    let mut args = Vec::new();
    let mut pos = 0;
    while pos < config.len() {
        let (arg, end) = uncomment_from(config.as_bytes(), pos, true);
        if !arg.is_empty() || end < config.len() {
            args.push(text(arg));
        }
        pos = end + 1;
    }
    args
}

/// Splits a text at its unquoted spaces; comments count as spaces.
pub fn split_words(words: &str) -> Vec<String> {
    let mut rest = words;
    let mut list = Vec::new();
    loop {
        let (word, after) = next_word(rest);
        if word.is_empty() {
            return list;
        }
        list.push(word.to_string());
        rest = after;
    }
}

/// The first word of a text and what follows it, without the spaces and comments around them.
///
/// The word is empty if the text holds only spaces and comments.
pub fn next_word(words: &str) -> (&str, &str) {
    let bytes = words.as_bytes();
    let start = skip_comment_space(bytes, 0);
    let end = skip_word(bytes, start);
    let after = skip_comment_space(bytes, end);
    (words.get(start..end).unwrap_or(""), words.get(after..).unwrap_or(""))
}

/// The last word of a text and what precedes it, without the spaces and comments around them.
pub fn last_word(words: &str) -> (&str, &str) {
    let bytes = words.as_bytes();
    let (mut start, mut end, mut before) = (0, 0, 0);
    let mut pos = skip_comment_space(bytes, 0);
    while pos < bytes.len() {
        (before, start) = (end, pos);
        end = skip_word(bytes, pos);
        pos = skip_comment_space(bytes, end);
    }
    (words.get(start..end).unwrap_or(""), words.get(..before).unwrap_or(""))
}

/// Joins arguments with commas; the opposite of [`split_args`] for arguments without unquoted commas.
pub fn join_args<S: AsRef<str>>(args: &[S]) -> String {
    args.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}

/// Joins words with spaces.
pub fn join_words<S: AsRef<str>>(words: &[S]) -> String {
    words.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(" ")
}

/// Removes outer spaces, and replaces each comment with its neighbouring spaces by one space.
pub fn uncomment(config: &str) -> String {
    text(uncomment_from(config.as_bytes(), 0, false).0)
}

/// Whether a byte is a space in the C locale.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0b' | b'\x0c' | b'\r')
}

pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// Uncomments from `pos` to an unquoted comma (if `at_comma`) or the end; tells where it stopped.
pub(crate) fn uncomment_from(bytes: &[u8], pos: usize, at_comma: bool) -> (Cow<'_, [u8]>, usize) {
    let mut pos = skip_comment_space(bytes, pos);
    let mut done: Vec<u8> = Vec::new();
    let (mut left, mut right, mut closed) = (pos, pos, false);
    while let Some(&byte) = bytes.get(pos) {
        if is_space(byte) {
            pos += 1;
        } else if is_comment(bytes, pos) {
            pos = skip_comment(bytes, pos);
            closed = true;
        } else if byte == b',' && at_comma {
            break;
        } else {
            if closed {
                done.extend_from_slice(piece(bytes, left, right));
                done.push(b' ');
                (left, closed) = (pos, false);
            }
            pos = skip_quoted_or_byte(bytes, pos);
            pos += bytes[pos.min(bytes.len())..].iter().take_while(|&&byte| is_plain(byte)).count();
            right = pos;
        }
    }
    let last = piece(bytes, left, right);
    if done.is_empty() {
        return (Cow::Borrowed(last), pos);
    }
    done.extend_from_slice(last);
    (Cow::Owned(done), pos)
}

/// Whether a byte means nothing but itself, wherever it is: most bytes do.
fn is_plain(byte: u8) -> bool {
    !is_space(byte) && !matches!(byte, b',' | b'/' | b'\'' | b'"' | b'\\')
}

/// The position after the spaces and comments at `pos`.
pub fn skip_comment_space(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = bytes.get(pos) {
        if is_space(byte) {
            pos += 1;
        } else if is_comment(bytes, pos) {
            pos = skip_comment(bytes, pos);
        } else {
            break;
        }
    }
    pos
}

/// Whether a comment starts at `pos`.
pub fn is_comment(bytes: &[u8], pos: usize) -> bool {
    bytes.get(pos) == Some(&b'/') && matches!(bytes.get(pos + 1), Some(b'/' | b'*'))
}

/// The position after the comment that starts at `pos`.
pub fn skip_comment(bytes: &[u8], pos: usize) -> usize {
    let body = bytes.get(pos + 2..).unwrap_or(&[]);
    let end = if bytes.get(pos + 1) == Some(&b'*') {
        body.windows(2).position(|pair| pair == b"*/").map(|at| pos + 2 + at + 2)
    } else {
        body.iter().position(|b| matches!(b, b'\n' | b'\r')).map(|at| {
            let newline = pos + 2 + at;
            let crlf = bytes.get(newline) == Some(&b'\r') && bytes.get(newline + 1) == Some(&b'\n');
            newline + 1 + usize::from(crlf)
        })
    };
    end.unwrap_or(bytes.len())
}

/// The position after the quoted string or `\<hex>` string that starts at `pos`, or else after one byte.
pub(crate) fn skip_quoted_or_byte(bytes: &[u8], pos: usize) -> usize {
    match bytes.get(pos) {
        Some(b'\'') => skip_single_quote(bytes, pos),
        Some(b'"') => skip_double_quote(bytes, pos),
        Some(b'\\') if bytes.get(pos + 1) == Some(&b'<') => skip_backslash(bytes, pos),
        _ => pos + 1,
    }
}

/// The position after the word that starts at `pos`; a comment or an unquoted space ends a word.
fn skip_word(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = bytes.get(pos) {
        if is_space(byte) || is_comment(bytes, pos) {
            break;
        }
        pos = skip_quoted_or_byte(bytes, pos);
    }
    pos
}

fn skip_single_quote(bytes: &[u8], pos: usize) -> usize {
    let close = bytes.iter().skip(pos + 1).position(|&b| b == b'\'');
    close.map_or(bytes.len(), |at| pos + 1 + at + 1)
}

fn skip_double_quote(bytes: &[u8], pos: usize) -> usize {
    let mut pos = pos + 1;
    while let Some(&byte) = bytes.get(pos) {
        match byte {
            b'\\' => pos = skip_backslash(bytes, pos),
            b'"' => return pos + 1,
            _ => pos += 1,
        }
    }
    bytes.len()
}

/// The position after the backslash escape that starts at `pos`.
fn skip_backslash(bytes: &[u8], pos: usize) -> usize {
    match bytes.get(pos + 1) {
        None => pos + 1,
        Some(b'<') => skip_hex(bytes, pos + 2),
        Some(b'\r') if bytes.get(pos + 2) == Some(&b'\n') => pos + 3,
        Some(_) => pos + 2,
    }
}

/// The position after the `>` that ends a `\<hex>` string, whose inside starts at `pos`.
fn skip_hex(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'>' {
            return pos + 1;
        }
        pos = if is_comment(bytes, pos) { skip_comment(bytes, pos) } else { pos + 1 };
    }
    bytes.len()
}

fn piece(bytes: &[u8], left: usize, right: usize) -> &[u8] {
    bytes.get(left..right).unwrap_or(&[])
}

fn text(bytes: Cow<'_, [u8]>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(config: &str, expect: Expect) {
        expect.assert_eq(&format!("{:?}", split_args(config)));
    }

    fn check_words(config: &str, expect: Expect) {
        expect.assert_eq(&format!("{:?}", split_words(config)));
    }

    #[test]
    fn arguments_end_at_unquoted_commas() {
        check("a, b, c", expect![[r#"["a", "b", "c"]"#]]);
        check("  a /*?*/ b,  c, ", expect![[r#"["a b", "c"]"#]]);
        check("\"x, y\" // ?", expect![[r#"["\"x, y\""]"#]]);
        check("'x, \\', y", expect![[r#"["'x, \\'", "y"]"#]]);
        check(r"\<01, 02>, 3", expect![[r#"["\\<01, 02>", "3"]"#]]);
        check(r"a\, b", expect![[r#"["a\\", "b"]"#]]);
    }

    #[test]
    fn only_an_empty_last_argument_is_ignored() {
        check("", expect!["[]"]);
        check(" ", expect!["[]"]);
        check(",", expect![[r#"[""]"#]]);
        check(",,a,", expect![[r#"["", "", "a"]"#]]);
        check("/* nothing */", expect!["[]"]);
    }

    #[test]
    fn unfinished_quotes_and_comments_run_to_the_end() {
        check("a, \"b, c", expect![[r#"["a", "\"b, c"]"#]]);
        check("a, /* b, c", expect![[r#"["a"]"#]]);
        check("a, // b, c", expect![[r#"["a"]"#]]);
        check("a, // b\n c, \"\\", expect![[r#"["a", "c", "\"\\"]"#]]);
        check("/*/ a */ b", expect![[r#"["b"]"#]]);
    }

    #[test]
    fn words_end_at_unquoted_spaces_and_comments() {
        check_words("a  b, c", expect![[r#"["a", "b,", "c"]"#]]);
        check_words("  'a /*?*/ b'c", expect![[r#"["'a /*?*/ b'c"]"#]]);
        check_words("a/*x*/b // c", expect![[r#"["a", "b"]"#]]);
        check_words(r#"\<61 62> "c d""#, expect![[r#"["\\<61 62>", "\"c d\""]"#]]);
    }

    #[test]
    fn words_can_be_taken_from_either_end() {
        assert_eq!(next_word("  a  b c "), ("a", "b c "));
        assert_eq!(last_word("  a  'b c' d // e"), ("d", "  a  'b c'"));
        assert_eq!(last_word("a"), ("a", ""));
        assert_eq!(last_word(" "), ("", ""));
    }

    #[test]
    fn comments_become_one_space() {
        assert_eq!(uncomment("  a  b  "), "a  b");
        assert_eq!(uncomment("  a /* whatever */   // whatever\n    b  "), "a b");
        assert_eq!(uncomment("  \" /*???  */ \"  "), "\" /*???  */ \"");
    }

    proptest! {
        #[test]
        fn any_text_splits(config in "[a-c,/*\"'\\\\<>\n\r é]{0,24}") {
            for arg in split_args(&config) {
                prop_assert_eq!(uncomment(&arg), arg);
            }
            split_words(&config);
            last_word(&config);
        }

        #[test]
        fn joined_arguments_split_again(args in prop::collection::vec("[a-z]{1,5}( [a-z0-9]{1,3})?", 0..6)) {
            prop_assert_eq!(split_args(&join_args(&args)), args);
        }
    }
}
