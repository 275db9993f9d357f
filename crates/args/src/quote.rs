//! Quoting: turning bytes into a double-quoted string and back.

use std::fmt::{self, Write};

use crate::split::{is_comment, skip_comment, uncomment_from};

/// Removes comments, outer spaces and one level of quoting.
///
/// Quoted parts are replaced by their contents; backslash escapes count inside double quotes, and `\<hex>` strings
/// also outside of quotes. The result need not be text.
pub fn unquote(quoted: &str) -> Vec<u8> {
    let (bytes, _) = uncomment_from(quoted.as_bytes(), 0, false);
    if !bytes.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'\\')) {
        return bytes.into_owned();
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut quote = None;
    let mut pos = 0;
    while let Some(&byte) = bytes.get(pos) {
        pos += 1;
        match (byte, quote) {
            (b'"' | b'\'', None) => quote = Some(byte),
            (b'"' | b'\'', Some(open)) if open == byte => quote = None,
            (b'\\', Some(b'"')) if pos < bytes.len() => pos = escape(&bytes, pos, &mut out),
            (b'\\', None) if bytes.get(pos) == Some(&b'<') => pos = escape(&bytes, pos, &mut out),
            _ => out.push(byte),
        }
    }
    out
}

/// [`unquote`] as text; bytes that are not UTF-8 become replacement characters.
pub fn unquote_text(quoted: &str) -> String {
    String::from_utf8(unquote(quoted)).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// A double-quoted string that [`unquote`] turns back into `bytes`, on one line.
pub fn quote(bytes: impl AsRef<[u8]>) -> String {
    quote_with(bytes.as_ref(), false)
}

/// [`quote`], but line feeds stay as they are.
pub fn quote_lines(bytes: impl AsRef<[u8]>) -> String {
    quote_with(bytes.as_ref(), true)
}

/// Bytes that are shown as [`quote`] has them.
pub struct Quoted<'b>(pub &'b [u8]);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0, false)
    }
}

fn quote_with(bytes: &[u8], keep_newlines: bool) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    // Writing to a String cannot fail.
    let _ = write_quoted(&mut out, bytes, keep_newlines);
    out
}

fn write_quoted(out: &mut impl Write, bytes: &[u8], keep_newlines: bool) -> fmt::Result {
    out.write_char('"')?;
    for &byte in bytes {
        match byte {
            b'\\' | b'"' | b'$' => write!(out, "\\{}", char::from(byte))?,
            b'\t' => out.write_str("\\t")?,
            b'\r' => out.write_str("\\r")?,
            b'\n' if keep_newlines => out.write_char('\n')?,
            b'\n' => out.write_str("\\n")?,
            32..=126 => out.write_char(char::from(byte))?,
            _ => write!(out, "\\{byte:03o}")?,
        }
    }
    out.write_char('"')
}

/// Appends what the escape means whose character after the backslash is at `pos`; tells where it ends.
fn escape(bytes: &[u8], pos: usize, out: &mut Vec<u8>) -> usize {
    let Some(&byte) = bytes.get(pos) else { return pos };
    let plain = match byte {
        b'\r' => return pos + 1 + usize::from(bytes.get(pos + 1) == Some(&b'\n')),
        b'\n' => return pos + 1,
        b'0'..=b'7' => return octal(bytes, pos, out),
        b'x' => return hex_character(bytes, pos + 1, out),
        b'<' => return hex_string(bytes, pos + 1, out),
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        other => other,
    };
    out.push(plain);
    pos + 1
}

fn octal(bytes: &[u8], pos: usize, out: &mut Vec<u8>) -> usize {
    let digits = bytes.iter().skip(pos).take(3).take_while(|b| (b'0'..=b'7').contains(b));
    let (value, n) =
        digits.fold((0u8, 0), |(value, n), b| (value.wrapping_mul(8).wrapping_add(b - b'0'), n + 1));
    out.push(value);
    pos + n
}

fn hex_character(bytes: &[u8], pos: usize, out: &mut Vec<u8>) -> usize {
    let digits = bytes.iter().skip(pos).map_while(|&b| hex_digit(b));
    let (value, n) =
        digits.fold((0u8, 0), |(value, n), digit| (value.wrapping_mul(16).wrapping_add(digit), n + 1));
    out.push(value);
    pos + n
}

/// Appends the bytes of a `\<hex>` string; an odd last digit is ignored, and so is what is no digit.
fn hex_string(bytes: &[u8], mut pos: usize, out: &mut Vec<u8>) -> usize {
    let mut high = None;
    while let Some(&byte) = bytes.get(pos) {
        if byte == b'>' {
            return pos + 1;
        }
        if let Some(digit) = hex_digit(byte) {
            match high.take() {
                Some(first) => out.push(first << 4 | digit),
                None => high = Some(digit),
            }
        }
        pos = if is_comment(bytes, pos) { skip_comment(bytes, pos) } else { pos + 1 };
    }
    pos
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(quoted: &str, expect: Expect) {
        expect.assert_eq(&unquote(quoted).escape_ascii().to_string());
    }

    #[test]
    fn quotes_are_removed_and_escapes_expanded() {
        check(r#""\n" abc /* 123 */ '/* def */'"#, expect![[r"\n abc /* def */"]]);
        check(r#"a"b c"d'e "f'"#, expect![[r#"ab cde \"f"#]]);
        check(r#""\101\x41\x141\8\"\$\,\q""#, expect![[r#"AAA8\"$,q"#]]);
        check(r#"a\n\101"#, expect![[r"a\\n\\101"]]);
        check("\"a\\\nb\\\r\nc\"", expect!["abc"]);
        check(r#""a\"#, expect![[r"a\\"]]);
    }

    #[test]
    fn hex_strings_are_expanded_anywhere_but_in_single_quotes() {
        check(r"\<48656c6C 6f 2 /* And finally */ 1>", expect!["Hello!"]);
        check(r#""\<4865>"x\<6C6"#, expect!["Hexl"]);
        check(r"'\<4865>'", expect![[r"\\<4865>"]]);
    }

    #[test]
    fn quoting_escapes_what_a_configuration_could_misread() {
        assert_eq!(quote(""), "\"\"");
        assert_eq!(quote("a\"$\\b\n\r\t\u{1}é"), "\"a\\\"\\$\\\\b\\n\\r\\t\\001\\303\\251\"");
        assert_eq!(quote_lines("a\nb"), "\"a\nb\"");
    }

    proptest! {
        #[test]
        fn unquoting_undoes_quoting(bytes: Vec<u8>) {
            prop_assert_eq!(unquote(&quote(&bytes)), bytes.clone());
            prop_assert_eq!(unquote(&quote_lines(&bytes)), bytes);
        }

        #[test]
        fn any_text_unquotes(text in "[a-f0-9x<>/*\"'\\\\\n é]{0,24}") {
            unquote_text(&text);
        }
    }
}
