//! Lines of a preprocessor, which tell the file and line that the text comes from.

use args::unquote_text;
use graph::Diagnostics;

use super::Lexer;

impl Lexer {
    /// A preprocessor's `# LINE "FILE"` or `#line LINE "FILE"`; stops before the line's end.
    pub fn directive(&mut self, diagnostics: &mut Diagnostics) {
        self.mark_token();
        self.at += 1;
        self.skip_tabs();
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(b"line ") || rest.starts_with(b"line\t") {
            self.at += 5;
            self.skip_tabs();
        }
        if !self.peek(0).is_some_and(|byte| byte.is_ascii_digit()) {
            diagnostics.error(&self.place(), "unknown preprocessor directive").help(
                "a line that starts with `#` must be `#line NUMBER \"FILE\"`; comments start with `//`",
            );
            self.skip_line();
            return;
        }
        let mut line = 0u32;
        while let Some(digit) = self.peek(0).filter(u8::is_ascii_digit) {
            line = line.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'));
            self.at += 1;
        }
        self.skip_tabs();
        if self.peek(0) == Some(b'"') {
            self.directive_name();
        }
        while self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
            self.at += 1;
        }
        // The line's end is still to come and will be counted.
        self.line = line.wrapping_sub(1);
    }

    fn directive_name(&mut self) {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0).filter(|byte| !matches!(byte, b'"' | b'\n' | b'\r')) {
            self.at += 1;
            if byte == b'\\' && self.peek(0).is_some_and(|byte| !matches!(byte, b'\n' | b'\r')) {
                self.at += 1;
            }
        }
        let name = unquote_text(&(self.text_since(start) + "\""));
        self.name = if name.is_empty() { self.original_name.clone() } else { name.into() };
    }

    fn skip_tabs(&mut self) {
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }
}
