//! The lexer: bytes to tokens, with file, line and column.

mod directive;
mod token;

use std::sync::Arc;

use args::is_space;
use graph::{Diagnostics, Place};

use crate::scope::is_name;
pub(crate) use token::{Kind, Token};

/// A place in a file that is being read.
#[derive(Clone, Debug)]
pub(crate) struct Lexer {
    text: Arc<str>,
    original_name: Arc<str>,
    name: Arc<str>,
    line: u32,
    at: usize,
    /// Where the line that holds `at` starts.
    line_start: usize,
    /// Up to where the line's characters were counted, and how many there are.
    counted: (usize, usize),
    /// Line and column of the last token.
    token: (u32, u32),
    /// Where the last token starts, in bytes.
    token_start: usize,
}

impl Lexer {
    pub fn new(name: &str, text: &str) -> Lexer {
        let name: Arc<str> = if name.is_empty() { "config".into() } else { name.into() };
        let original_name = name.clone();
        Lexer {
            text: text.into(),
            original_name,
            name,
            line: 1,
            at: 0,
            line_start: 0,
            counted: (0, 0),
            token: (1, 1),
            token_start: 0,
        }
    }

    /// The place of the last token; its column is known if no line ended since.
    pub fn place(&self) -> Place {
        let column = if self.token.0 == self.line { self.token.1 } else { 0 };
        Place { file: Some(self.name.clone()), line: self.line, column }
    }

    pub fn file_name(&self) -> &str {
        &self.name
    }

    /// How far the text was read, in bytes.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Where the last token starts, in bytes.
    pub fn token_start(&self) -> usize {
        self.token_start
    }

    /// Whether the last token begins a byte-order mark, which editors put in front of a text; it is none of the language.
    pub fn is_at_mark(&self) -> bool {
        self.token_start == 0 && self.text.starts_with('\u{feff}')
    }

    /// The text from byte `start` to where it was read.
    pub fn text_since(&self, start: usize) -> String {
        String::from_utf8_lossy(self.text.as_bytes().get(start..self.at).unwrap_or_default()).into_owned()
    }

    /// Reads the next token.
    pub fn next(&mut self, diagnostics: &mut Diagnostics) -> Token {
        self.skip_blank(diagnostics);
        self.mark_token();
        let start = self.at;
        let Some(byte) = self.peek(0) else {
            return Token { kind: Kind::End, text: String::new() };
        };
        if is_word(byte) {
            return self.word();
        }
        if byte == b'$' && self.peek(1).is_some_and(is_name) {
            self.at += 1;
            while self.peek(0).is_some_and(is_name) {
                self.at += 1;
            }
            return Token { kind: Kind::Variable, text: self.text_since(start + 1) };
        }
        if byte == b'$' {
            self.at += 1;
            return Token { kind: Kind::Variable, text: String::new() };
        }
        let (kind, len) = match (byte, self.peek(1), self.peek(2)) {
            (b'-', Some(b'>'), _) => (Kind::Arrow, 2),
            (b'=', Some(b'>'), _) => (Kind::DoubleArrow, 2),
            (b':', Some(b':'), _) => (Kind::Colons, 2),
            (b'|', Some(b'|'), _) => (Kind::Bars, 2),
            (b'.', Some(b'.'), Some(b'.')) => (Kind::Dots, 3),
            _ => (Kind::Byte(byte), 1),
        };
        self.at += len;
        let text = match kind {
            Kind::Byte(byte) => printable(byte),
            _ => self.text_since(start),
        };
        Token { kind, text }
    }

    /// Reads a configuration string, to before the parenthesis that closes it.
    pub fn config(&mut self, diagnostics: &mut Diagnostics) -> String {
        let mut config = String::new();
        let mut start = self.at;
        let mut depth = 1u32;
        while let Some(byte) = self.peek(0) {
            match byte {
                b'(' => depth = depth.saturating_add(1),
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                b'\n' | b'\r' => {
                    self.newline();
                    continue;
                }
                b'#' if self.at_line_start() => {
                    config.push_str(&self.text_since(start));
                    self.directive(diagnostics);
                    start = self.at;
                    continue;
                }
                b'/' if self.skip_comment() => continue,
                b'\'' | b'"' => {
                    self.quoted(byte);
                    continue;
                }
                b'\\' if self.peek(1) == Some(b'<') => {
                    self.hex();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        config.push_str(&self.text_since(start));
        config
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn mark_token(&mut self) {
        let is_on_line = (self.line_start..=self.at).contains(&self.counted.0);
        let (from, n_before) = if is_on_line { self.counted } else { (self.line_start, 0) };
        let further = self.text.as_bytes().get(from..self.at).unwrap_or_default();
        let n_chars = n_before + further.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        self.counted = (self.at, n_chars);
        self.token_start = self.at;
        self.token = (self.line, u32::try_from(n_chars + 1).unwrap_or(0));
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || matches!(self.text.as_bytes()[self.at - 1], b'\n' | b'\r')
    }

    /// Passes a line's end.
    fn newline(&mut self) {
        if self.peek(0) == Some(b'\r') && self.peek(1) == Some(b'\n') {
            self.at += 1;
        }
        self.at += 1;
        self.line = self.line.wrapping_add(1);
        self.line_start = self.at;
    }

    /// Passes one byte, which may be a line's end.
    fn advance(&mut self) {
        match self.peek(0) {
            Some(b'\n' | b'\r') => self.newline(),
            _ => self.at += 1,
        }
    }

    fn skip_blank(&mut self, diagnostics: &mut Diagnostics) {
        while let Some(byte) = self.peek(0) {
            if is_space(byte) {
                self.advance();
            } else if byte == b'#' && self.at_line_start() {
                self.directive(diagnostics);
            } else if !self.skip_comment() {
                return;
            }
        }
    }

    /// Passes a comment, if one starts here.
    fn skip_comment(&mut self) -> bool {
        match (self.peek(0), self.peek(1)) {
            (Some(b'/'), Some(b'/')) => {
                self.skip_line();
                true
            }
            (Some(b'/'), Some(b'*')) => {
                self.at += 2;
                while self.peek(0).is_some() {
                    if self.peek(0) == Some(b'*') && self.peek(1) == Some(b'/') {
                        self.at += 2;
                        break;
                    }
                    self.advance();
                }
                true
            }
            _ => false,
        }
    }

    fn skip_line(&mut self) {
        while let Some(byte) = self.peek(0) {
            if matches!(byte, b'\n' | b'\r') {
                self.newline();
                return;
            }
            self.at += 1;
        }
    }

    fn quoted(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            if byte == quote {
                self.at += 1;
                return;
            }
            if byte == b'\\' && quote == b'"' && self.peek(1) == Some(b'<') {
                self.hex();
            } else if byte == b'\\' && quote == b'"' && self.peek(1).is_some() {
                self.at += 1;
                self.skip_escaped();
            } else {
                self.advance();
            }
        }
    }

    /// Click passes an escaped byte without counting the line that it may end; so the line numbers stay the same.
    fn skip_escaped(&mut self) {
        if matches!(self.peek(0), Some(b'\n' | b'\r')) {
            self.line_start = self.at + 1;
        }
        self.at += 1;
    }

    fn hex(&mut self) {
        self.at += 2;
        while let Some(byte) = self.peek(0) {
            if byte == b'>' {
                self.at += 1;
                return;
            }
            if !self.skip_comment() {
                self.advance();
            }
        }
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        loop {
            while self.peek(0).is_some_and(is_word) {
                self.at += 1;
            }
            if !(self.peek(0) == Some(b'/') && self.peek(1).is_some_and(is_word)) {
                break;
            }
            self.at += 1;
        }
        let text = self.text_since(start);
        let kind = match text.as_str() {
            "elementclass" => Kind::ElementClass,
            "require" => Kind::Require,
            "provide" => Kind::Provide,
            "define" => Kind::Define,
            _ => Kind::Identifier,
        };
        Token { kind, text }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@')
}

/// A byte as Click prints it in messages.
fn printable(byte: u8) -> String {
    match byte {
        32..=126 => char::from(byte).to_string(),
        0..=31 => format!("^{}", char::from(byte + 64)),
        _ => format!("\\{byte:03o}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(text: &str, expected: Expect) {
        let mut lexer = Lexer::new("f", text);
        let mut diagnostics = Diagnostics::default();
        let mut lines = Vec::new();
        loop {
            let token = lexer.next(&mut diagnostics);
            lines.push(format!("{} {:?} {}", lexer.place(), token.kind, token.text));
            if token.is(b'(') {
                lines.push(format!("config {:?}", lexer.config(&mut diagnostics)));
            }
            if token.kind == Kind::End {
                break;
            }
        }
        lines.extend(diagnostics.list.iter().map(|d| format!("{} {}", d.place, d.message)));
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn tokens_have_places() {
        check(
            "a/b@1::Cé->\r\n$x ... || require/x \n",
            expect![[r#"
                f:1:1 Identifier a/b@1
                f:1:6 Colons ::
                f:1:8 Identifier C
                f:1:9 Byte(195) \303
                f:1:10 Byte(169) \251
                f:1:10 Arrow ->
                f:2:1 Variable x
                f:2:4 Dots ...
                f:2:8 Bars ||
                f:2:11 Identifier require/x
                f:3:1 End "#]],
        );
    }

    #[test]
    fn configuration_strings_are_verbatim() {
        check(
            "A(a(b)\"c)\\\"\" ')' /* ) */ \\<29 // )\n 29>) ; B(\n# 7 \"g\"\nx)\ny",
            expect![[r#"
                f:1:1 Identifier A
                f:1:2 Byte(40) (
                config "a(b)\"c)\\\"\" ')' /* ) */ \\<29 // )\n 29>"
                f:2:5 Byte(41) )
                f:2:7 Byte(59) ;
                f:2:9 Identifier B
                f:2:10 Byte(40) (
                config "\n\nx"
                g:7:2 Byte(41) )
                g:8:1 Identifier y
                g:8:2 End "#]],
        );
    }

    #[test]
    fn line_directives() {
        check(
            "#line 10 \"g\\\"h\"\na\n# 3\nb\n#foo\nc\n#line 1 \"\"\nd",
            expect![[r#"
                g"h:10:1 Identifier a
                g"h:3:1 Identifier b
                g"h:5:1 Identifier c
                f:1:1 Identifier d
                f:1:2 End 
                g"h:4:1 unknown preprocessor directive"#]],
        );
    }
}
