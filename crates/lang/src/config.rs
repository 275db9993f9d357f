//! Configuration strings: comments, quotes, arguments at commas, words at spaces.

/// Whether `byte` is white space to Click (C's `isspace`).
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Whether `byte` may be in a variable's name.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether a comment starts at `at`.
pub(crate) fn is_comment(text: &[u8], at: usize) -> bool {
    text.get(at) == Some(&b'/') && matches!(text.get(at + 1), Some(b'/' | b'*'))
}

/// Where the comment that starts at `at` ends.
pub(crate) fn skip_comment(text: &[u8], at: usize) -> usize {
    let body = &text[(at + 2).min(text.len())..];
    let len = if text.get(at + 1) == Some(&b'/') {
        match body.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(end) if body[end..].starts_with(b"\r\n") => end + 2,
            Some(end) => end + 1,
            None => body.len(),
        }
    } else {
        body.windows(2).position(|pair| pair == b"*/").map_or(body.len(), |end| end + 2)
    };
    (at + 2 + len).min(text.len())
}

/// The first place from `at` that is neither white space nor comment.
pub(crate) fn skip_space(text: &[u8], mut at: usize) -> usize {
    while at < text.len() {
        if is_space(text[at]) {
            at += 1;
        } else if is_comment(text, at) {
            at = skip_comment(text, at);
        } else {
            break;
        }
    }
    at
}

/// Where the quoted string, `\<hex>` string or single character that starts at `at` ends.
fn skip_item(text: &[u8], at: usize) -> usize {
    match text[at] {
        b'\'' => text[at + 1..].iter().position(|byte| *byte == b'\'').map_or(text.len(), |end| at + end + 2),
        b'"' => skip_double_quote(text, at),
        b'\\' if text.get(at + 1) == Some(&b'<') => skip_backslash(text, at),
        _ => at + 1,
    }
}

fn skip_double_quote(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at = skip_backslash(text, at),
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn skip_backslash(text: &[u8], at: usize) -> usize {
    match text.get(at + 1) {
        None => at + 1,
        Some(b'<') => {
            let mut at = at + 2;
            while at < text.len() {
                if text[at] == b'>' {
                    return at + 1;
                }
                at = if is_comment(text, at) { skip_comment(text, at) } else { at + 1 };
            }
            text.len()
        }
        Some(b'\r') if text.get(at + 2) == Some(&b'\n') => at + 3,
        Some(_) => at + 2,
    }
}

/// The text from `at` without outer white space, with comments turned into single spaces, and where it ends: at a
/// comma outside quotes if `to_comma`, else at the end.
fn uncomment_from(text: &[u8], at: usize, to_comma: bool) -> (Vec<u8>, usize) {
    let mut at = skip_space(text, at);
    let mut clean = Vec::new();
    let (mut left, mut right) = (at, at);
    let mut after_comment = false;
    while at < text.len() {
        if is_space(text[at]) {
            at += 1;
        } else if is_comment(text, at) {
            at = skip_comment(text, at);
            after_comment = true;
        } else if text[at] == b',' && to_comma {
            break;
        } else {
            if after_comment {
                clean.extend_from_slice(&text[left..right]);
                clean.push(b' ');
                left = at;
                after_comment = false;
            }
            at = skip_item(text, at).min(text.len());
            right = at;
        }
    }
    clean.extend_from_slice(&text[left..right]);
    (clean, at)
}

fn string(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Splits a configuration string into arguments at commas; an empty last argument does not count.
pub(crate) fn arguments(config: &str) -> Vec<String> {
    let text = config.as_bytes();
    let mut list = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let (argument, end) = uncomment_from(text, at, true);
        if !argument.is_empty() || end < text.len() {
            list.push(string(argument));
        }
        at = end + 1;
    }
    list
}

/// Takes the first word from the front of `text`: the word, and what follows the white space after it.
pub(crate) fn shift_word(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let start = skip_space(bytes, 0);
    let mut end = start;
    while end < bytes.len() && !is_space(bytes[end]) && !is_comment(bytes, end) {
        end = skip_item(bytes, end).min(bytes.len());
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    (&text[start..end], &text[skip_space(bytes, end)..])
}

/// Splits a text into words at white space outside quotes.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let mut list = Vec::new();
    let mut rest = text;
    loop {
        let (word, after) = shift_word(rest);
        if word.is_empty() {
            return list;
        }
        list.push(word);
        rest = after;
    }
}

/// Takes one level of quotes away.
pub(crate) fn unquote(text: &str) -> String {
    let (text, _) = uncomment_from(text.as_bytes(), 0, false);
    let mut plain = Vec::with_capacity(text.len());
    let mut quote = None;
    let mut at = 0;
    while let Some(byte) = text.get(at).copied() {
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (_, Some(open)) if byte == open => quote = None,
            (b'\\', Some(b'"')) if at + 1 < text.len() => {
                at = unescape(&text, at, &mut plain);
                continue;
            }
            (b'\\', None) if text.get(at + 1) == Some(&b'<') => {
                at = unescape(&text, at, &mut plain);
                continue;
            }
            _ => plain.push(byte),
        }
        at += 1;
    }
    string(plain)
}

/// Appends what the escape at `at` stands for to `plain`; returns where it ends.
fn unescape(text: &[u8], at: usize, plain: &mut Vec<u8>) -> usize {
    match text[at + 1] {
        b'<' => unescape_hex(text, at + 2, plain),
        b'0'..=b'7' => {
            let digits = text[at + 1..].iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7'));
            let (value, n) =
                digits.fold((0u32, 0), |(value, n), digit| (value * 8 + u32::from(digit - b'0'), n + 1));
            plain.push(value as u8);
            at + 1 + n
        }
        b'x' => {
            let digits = text[at + 2..].iter().map_while(|byte| char::from(*byte).to_digit(16));
            let (value, n) = digits.fold((0u32, 0), |(value, n), digit| ((value << 4) | digit, n + 1));
            plain.push(value as u8);
            at + 2 + n
        }
        b'\r' => at + if text.get(at + 2) == Some(&b'\n') { 3 } else { 2 },
        escaped => {
            match escaped {
                b'\n' => {}
                b'a' => plain.push(7),
                b'b' => plain.push(8),
                b'f' => plain.push(12),
                b'n' => plain.push(b'\n'),
                b'r' => plain.push(b'\r'),
                b't' => plain.push(b'\t'),
                b'v' => plain.push(11),
                other => plain.push(other),
            }
            at + 2
        }
    }
}

fn unescape_hex(text: &[u8], mut at: usize, plain: &mut Vec<u8>) -> usize {
    let mut high = None;
    while at < text.len() {
        if text[at] == b'>' {
            return at + 1;
        }
        if is_comment(text, at) {
            at = skip_comment(text, at);
            continue;
        }
        if let Some(digit) = char::from(text[at]).to_digit(16) {
            match high.take() {
                None => high = Some(digit as u8),
                Some(high) => plain.push(high << 4 | digit as u8),
            }
        }
        at += 1;
    }
    at
}

/// Puts `text` between double quotes, such that [`unquote`] gives it back.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'\\' | b'"' | b'$' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b'\t' => quoted.push_str("\\t"),
            b'\r' => quoted.push_str("\\r"),
            b'\n' => quoted.push_str("\\n"),
            32..=126 => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether `text` is a word: printable, and without quotes, backslashes and commas.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| matches!(byte, 33..=126) && !matches!(byte, b'"' | b'\'' | b'\\' | b','))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arguments_split_at_commas_outside_quotes() {
        assert_eq!(arguments("a, b, c"), ["a", "b", "c"]);
        assert_eq!(arguments("  a /*?*/ b,  c, "), ["a b", "c"]);
        assert_eq!(arguments("\"x, y\" // ?"), ["\"x, y\""]);
        assert_eq!(arguments(",a,\\<2c /*>*/ 2c>"), ["", "a", "\\<2c /*>*/ 2c>"]);
        assert_eq!(arguments("'a,\\', b"), ["'a,\\'", "b"]);
        assert!(arguments(" /* nothing */ ").is_empty());
    }

    #[test]
    fn words_split_at_spaces_outside_quotes() {
        assert_eq!(words("a  b, c"), ["a", "b,", "c"]);
        assert_eq!(words("  'a /*?*/ b'c/**/d"), ["'a /*?*/ b'c", "d"]);
        assert_eq!(shift_word("$x  1 2 "), ("$x", "1 2 "));
    }

    #[test]
    fn quotes_and_escapes() {
        assert_eq!(unquote(r#""\n" abc /* 123 */ '/* def */'"#), "\n abc /* def */");
        assert_eq!(
            unquote(
                r#""\x41\102\<43 4 /*x*/4>\q\
e" \<46>"#
            ),
            "ABCDqe F"
        );
        assert_eq!(quote("a\"$\\\n\u{e9}"), r#""a\"\$\\\n\303\251""#);
    }

    proptest! {
        #[test]
        fn any_text_is_split_without_a_panic(text in "[a/*\"'\\\\<>, \\n\\r\u{e9}$x0-9]{0,40}") {
            for argument in arguments(&text) {
                unquote(&argument);
                words(&argument);
            }
            unquote(&text);
        }

        #[test]
        fn unquoting_undoes_quoting(text in "\\PC{0,30}") {
            prop_assert_eq!(unquote(&quote(&text)), text);
        }
    }
}
