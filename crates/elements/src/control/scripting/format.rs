//! Numbers and words as text: `sprintf`.

use args::{integer, next_word, string, unquote_text};

/// Most digits or spaces of a number.
const MAX_NUMBER_WIDTH: usize = 128;
/// Most characters of a padded word.
const MAX_WIDTH: usize = 65536;

/// The flags, width and precision of a conversion.
#[derive(Clone, Copy, Debug, Default)]
struct Conversion {
    is_left: bool,
    is_zero_padded: bool,
    is_alternate: bool,
    is_plus: bool,
    is_space: bool,
    width: usize,
    precision: Option<usize>,
    /// `h`, for 16 bits; longer ones are what numbers have anyway.
    is_short: bool,
}

/// The format string's bytes and what is left of the values.
struct Source<'t> {
    format: std::iter::Peekable<std::str::Chars<'t>>,
    values: &'t str,
}

fn syntax_error() -> String {
    "syntax error".to_string()
}

/// `FORMAT VALUE...`: the values put into the format as printf(3) does.
pub fn sprintf(text: &str) -> Result<String, String> {
    let (format, values) = next_word(text);
    let format = unquote_text(format);
    let mut source = Source { format: format.chars().peekable(), values };
    let mut output = String::new();
    while let Some(c) = source.format.next() {
        match c {
            '%' => output += &source.conversion()?,
            _ => output.push(c),
        }
    }
    if source.values.is_empty() {
        Ok(output)
    } else {
        Err(syntax_error())
    }
}

impl Source<'_> {
    fn value(&mut self) -> &str {
        let (word, rest) = next_word(self.values);
        self.values = rest;
        word
    }

    /// What stands after a percent sign.
    fn conversion(&mut self) -> Result<String, String> {
        let mut conversion = Conversion::default();
        while let Some(flag) = self.format.next_if(|c| "0#- +".contains(*c)) {
            conversion.set_flag(flag);
        }
        // A `*` in place of a number is refused, as Click does not get past it.
        conversion.width = self.number().unwrap_or(0);
        if self.format.next_if_eq(&'.').is_some() {
            conversion.precision = self.number();
        }
        while let Some(flag) = self.format.next_if(|c| "hlLq".contains(*c)) {
            conversion.is_short = flag == 'h';
        }
        match self.format.next() {
            Some(c @ ('o' | 'x' | 'X' | 'u')) => {
                let value = integer::<u64>(self.value()).map_err(|_| syntax_error())?;
                let value = if conversion.is_short { u64::from(value as u16) } else { value };
                Ok(conversion.number(value, false, c))
            }
            Some('d' | 'i') => {
                let value = integer::<i64>(self.value()).map_err(|_| syntax_error())?;
                let value = if conversion.is_short { i64::from(value as i16) } else { value };
                Ok(conversion.number(value.unsigned_abs(), value < 0, 'd'))
            }
            Some('%') => Ok(conversion.pad("%".to_string())),
            Some('s') => {
                let word = string(self.value()).map_err(|_| syntax_error())?;
                let word = word.split('\0').next().unwrap_or("");
                Ok(conversion.pad(word.chars().take(conversion.precision.unwrap_or(usize::MAX)).collect()))
            }
            _ => Err(syntax_error()),
        }
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while let Some(digit) = self.format.next_if(char::is_ascii_digit) {
            let digit = digit.to_digit(10).unwrap_or(0) as usize;
            number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit));
        }
        number
    }
}

impl Conversion {
    fn set_flag(&mut self, flag: char) {
        match flag {
            '0' => self.is_zero_padded = true,
            '#' => self.is_alternate = true,
            '-' => self.is_left = true,
            ' ' => self.is_space = true,
            _ => self.is_plus = true,
        }
    }

    /// Pads to the width.
    fn pad(&self, text: String) -> String {
        let missing = self.width.min(MAX_WIDTH).saturating_sub(text.chars().count());
        let fill = if self.is_zero_padded { "0" } else { " " };
        match self.is_left {
            true => text + &" ".repeat(missing),
            false => fill.repeat(missing) + &text,
        }
    }

    /// A number, as Click's own formatter has it.
    fn number(mut self, value: u64, is_negative: bool, conversion: char) -> String {
        self.width = self.width.min(MAX_NUMBER_WIDTH);
        let mut digits = match conversion {
            'o' => format!("{value:o}"),
            'x' => format!("{value:x}"),
            'X' => format!("{value:X}"),
            _ => value.to_string(),
        };
        let prefix = match conversion {
            'x' | 'X' if self.is_alternate && value != 0 => format!("0{conversion}"),
            _ => String::new(),
        };
        let sign = match (is_negative, self.is_plus, self.is_space) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let n_digits = match self.precision {
            Some(precision) => precision.min(MAX_NUMBER_WIDTH - 4),
            None if self.is_zero_padded => self.width.saturating_sub(prefix.len() + sign.len()),
            None => 0,
        };
        digits = "0".repeat(n_digits.saturating_sub(digits.len())) + &digits;
        if conversion == 'o' && self.is_alternate && digits.as_bytes().get(1) != Some(&b'0') {
            digits.insert(0, '0');
        }
        self.pad(format!("{sign}{prefix}{digits}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&sprintf(text).unwrap_or_else(|error| format!("error: {error}")));
    }

    #[test]
    fn values_are_formatted() {
        check(
            r#""%05d|%-5x|%+d|% d|%#x|%s|%5.3d" 12 255 3 4 16 "a b" 7"#,
            expect!["00012|ff   |+3| 4|0x10|a b|  007"],
        );
        check("%hd|%hx|%ld 70000 0x1ffff -9", expect!["4464|ffff|-9"]);
        check("%5d|%-4d|%.3x 1 2 3", expect!["    1|2   |003"]);
        check("%#o|%#o|%3%|%.2s|%03s 9 8 abc x", expect!["011|10|  %|ab|00x"]);
    }

    #[test]
    fn wrong_formats_are_refused() {
        check("%d", expect!["error: syntax error"]);
        check("%y 1", expect!["error: syntax error"]);
        check("% 1", expect!["error: syntax error"]);
        check("%d 1 2", expect!["error: syntax error"]);
        check("%u -1", expect!["error: syntax error"]);
        check("%*d 5 6", expect!["error: syntax error"]);
        check("%.*s 2 abcd", expect!["error: syntax error"]);
    }

    proptest::proptest! {
        #[test]
        fn any_format_is_safe(text in "[%0-9*.# +lhdxosu\" é-]{0,24}") {
            let _ = sprintf(&text);
        }
    }
}
